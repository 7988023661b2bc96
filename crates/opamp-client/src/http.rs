//! The plain HTTP transport: one request at a time over a connection that is kept (CLOSE-7). Also what the
//! WebSocket handshake shares with it: HTTP/1.1 on a dialled stream, status codes in words, redirects.

use std::io::Read;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use opamp_proto::InstanceUid;
use opamp_proto::agent::Failure;
use tokio::task::JoinHandle;

use crate::dial::{Way, dial, late_alert};
use crate::endpoint::Endpoint;

/// The media type of every request and response (HTTP-14).
const PROTOBUF: &str = "application/x-protobuf";

/// Requests smaller than this do not get smaller.
const GZIP_FROM: usize = 1024;

/// How much of an error's body is read, so that the connection can be used again (`C12`).
const DRAIN: usize = 64 * 1024;

/// An open HTTP/1.1 connection.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
    /// Where it leads; not the configured endpoint after a redirect.
    endpoint: Endpoint,
    used: bool,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connection {
    pub(crate) async fn open(way: &Way, endpoint: &Endpoint) -> Result<Self, Failure> {
        let stream = dial(endpoint, way.tls.as_ref()).await?;
        let (sender, connection) = handshake(TokioIo::new(stream))
            .await
            .map_err(|error| Failure::Broken(hyper_error(endpoint, &error)))?;
        // The end of the connection shows in the sender; `with_upgrades` lets a WebSocket leave it.
        let driver = tokio::spawn(async move { drop(connection.with_upgrades().await) });
        Ok(Self { sender, driver, endpoint: endpoint.clone(), used: false })
    }

    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, hyper::Error> {
        self.sender.ready().await?;
        self.sender.send_request(request).await
    }

    /// Lets the stream go its own way after an upgrade.
    pub(crate) fn release(mut self) -> JoinHandle<()> {
        std::mem::replace(&mut self.driver, tokio::spawn(std::future::ready(())))
    }
}

/// Sends one message and gives the body of the answer. Leaves the connection in `slot` when it can be used
/// again.
pub(crate) async fn exchange(
    way: &Way,
    slot: &mut Option<Connection>,
    instance_uid: InstanceUid,
    payload: &Bytes,
) -> Result<Bytes, Failure> {
    let mut endpoint =
        slot.as_ref().map_or_else(|| way.endpoint.clone(), |connection| connection.endpoint.clone());
    for _ in 0..=way.max_redirects {
        let headers = attempt_headers(way, &endpoint).await?;
        let request = || post(way, &endpoint, &headers, instance_uid, payload);
        let (connection, response) = send_once(way, slot, &endpoint, request).await?;
        let status = response.status();
        if let Some(next) = redirect(&endpoint, &response)? {
            tracing::debug!(to = %next, "the server redirects");
            endpoint = next;
            continue;
        }
        let answer = read(way, &endpoint, response).await;
        let usable =
            answer.is_ok() || (status != StatusCode::OK && !matches!(answer, Err(Failure::Protocol(_))));
        *slot = usable.then_some(connection);
        return answer;
    }
    Err(too_many_redirects(way))
}

/// Over the kept connection, or over a new one when that turns out to be closed: a server may close an idle
/// connection at any time, also while the request is on its way. The body is the same (`C1`).
async fn send_once(
    way: &Way,
    slot: &mut Option<Connection>,
    endpoint: &Endpoint,
    request: impl Fn() -> Result<Request<Full<Bytes>>, Failure>,
) -> Result<(Connection, Response<Incoming>), Failure> {
    if let Some(mut connection) =
        slot.take().filter(|kept| kept.endpoint == *endpoint && !kept.sender.is_closed())
    {
        match connection.send(request()?).await {
            Ok(response) => return Ok((connection, response)),
            Err(error) if connection.used => tracing::debug!(%error, "the kept connection was closed"),
            Err(error) => return Err(Failure::Broken(hyper_error(endpoint, &error))),
        }
    }
    let mut connection = Connection::open(way, endpoint).await?;
    let response =
        connection.send(request()?).await.map_err(|error| Failure::Broken(hyper_error(endpoint, &error)))?;
    connection.used = true;
    Ok((connection, response))
}

/// The application's headers, unless the endpoint is one that they were not meant for (`C19`).
pub(crate) async fn attempt_headers(way: &Way, endpoint: &Endpoint) -> Result<HeaderMap, Failure> {
    let mut headers = if way.endpoint.trusts(endpoint) {
        way.headers
            .headers()
            .await
            .map_err(|text| Failure::Broken(format!("the headers cannot be had: {text}")))?
    } else {
        HeaderMap::new()
    };
    let host = HeaderValue::from_str(&endpoint.authority())
        .map_err(|_| Failure::Broken("the endpoint's host cannot stand in a Host header".to_owned()))?;
    headers.insert(header::HOST, host);
    if let Ok(agent) = HeaderValue::from_str(&way.user_agent) {
        headers.entry(header::USER_AGENT).or_insert(agent);
    }
    Ok(headers)
}

fn post(
    way: &Way,
    endpoint: &Endpoint,
    headers: &HeaderMap,
    instance_uid: InstanceUid,
    payload: &Bytes,
) -> Result<Request<Full<Bytes>>, Failure> {
    let compressed = (way.gzip_requests && payload.len() >= GZIP_FROM).then(|| gzip(payload)).flatten();
    let mut request = Request::builder().method(Method::POST).uri(endpoint.target());
    if let Some(all) = request.headers_mut() {
        all.extend(headers.clone());
        all.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROTOBUF));
        all.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        if compressed.is_some() {
            all.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        if let Ok(uid) = HeaderValue::from_str(&instance_uid.to_string()) {
            all.insert("opamp-instance-uid", uid);
        }
    }
    let body = compressed.unwrap_or_else(|| payload.clone());
    request
        .body(Full::new(body))
        .map_err(|error| Failure::Broken(format!("the request cannot be made: {error}")))
}

fn gzip(payload: &[u8]) -> Option<Bytes> {
    let mut encoder = flate2::read::GzEncoder::new(payload, flate2::Compression::fast());
    let mut compressed = Vec::new();
    encoder.read_to_end(&mut compressed).ok()?;
    Some(compressed.into())
}

async fn read(way: &Way, endpoint: &Endpoint, response: Response<Incoming>) -> Result<Bytes, Failure> {
    let (head, body) = response.into_parts();
    if head.status != StatusCode::OK {
        let failure = status_failure(endpoint, head.status, &head.headers);
        let drained = Limited::new(body, DRAIN).collect().await.is_ok();
        return Err(if drained { failure } else { unread(failure) });
    }
    let kind = head.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if kind
        .is_some_and(|kind| !kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(PROTOBUF))
    {
        let kind: String = kind.unwrap_or_default().chars().take(100).collect();
        return Err(Failure::Protocol(format!("{endpoint} answers with {kind:?}, so it is no OpAMP server")));
    }
    let limit = way.max_message;
    let too_large = || Failure::Protocol(format!("the server's answer is larger than {limit} bytes"));
    let body = Limited::new(body, limit).collect().await.map_err(|error| {
        if error.is::<http_body_util::LengthLimitError>() {
            too_large()
        } else {
            Failure::Broken(format!("the connection to {} broke during the answer", endpoint.authority()))
        }
    })?;
    let body = body.to_bytes();
    match head.headers.get(header::CONTENT_ENCODING).map(HeaderValue::as_bytes) {
        None | Some(b"identity" | b"") => Ok(body),
        Some(coding) if coding.eq_ignore_ascii_case(b"gzip") => gunzip(&body, limit).map_err(|damaged| {
            damaged.map_or_else(too_large, |error| {
                Failure::Protocol(format!("the answer's gzip is damaged: {error}"))
            })
        }),
        Some(_) => Err(Failure::Protocol("the answer has a Content-Encoding other than gzip".to_owned())),
    }
}

/// A failure after which the connection holds unread bytes; the caller drops it for a protocol failure only,
/// and an endless error body is one.
fn unread(failure: Failure) -> Failure {
    match failure {
        Failure::Status { code, retry_after, text } => {
            tracing::debug!(code, "the body of an error was too long to read");
            Failure::Status { code, retry_after, text }
        }
        other => other,
    }
}

/// `Err(None)`: too large. `C26`: never more than the limit is held.
fn gunzip(body: &[u8], limit: usize) -> Result<Bytes, Option<std::io::Error>> {
    let mut inflated = Vec::new();
    let bound = limit as u64 + 1;
    flate2::read::MultiGzDecoder::new(body).take(bound).read_to_end(&mut inflated).map_err(Some)?;
    if inflated.len() > limit { Err(None) } else { Ok(inflated.into()) }
}

/// Where a redirect leads, if the answer is one.
pub(crate) fn redirect(
    endpoint: &Endpoint,
    response: &Response<Incoming>,
) -> Result<Option<Endpoint>, Failure> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
    let location = location.ok_or_else(|| {
        Failure::Broken(format!("{} redirects without saying where to", endpoint.authority()))
    })?;
    endpoint.redirected(location).map(Some).map_err(Failure::Broken)
}

pub(crate) fn too_many_redirects(way: &Way) -> Failure {
    Failure::Broken(format!("{} redirects more than {} times", way.endpoint, way.max_redirects))
}

/// A refusal in words (`C20`).
pub(crate) fn status_failure(endpoint: &Endpoint, status: StatusCode, headers: &HeaderMap) -> Failure {
    let text = match status.as_u16() {
        401 => {
            "the server does not accept the credentials (401); check the token or the Authorization header"
                .to_owned()
        }
        403 => "the server forbids access to this agent (403)".to_owned(),
        404 => format!("there is no OpAMP endpoint at {endpoint} (404); the usual path is /v1/opamp"),
        405 | 426 => format!("{endpoint} does not take this transport ({})", status.as_u16()),
        413 => "the message is too large for the server (413)".to_owned(),
        429 => "the server asks for fewer requests (429)".to_owned(),
        503 => "the server is overloaded or down for maintenance (503)".to_owned(),
        // Go's HTTP server says this, with status 400, to plain HTTP on a TLS port.
        400 if !endpoint.is_tls() => {
            format!("{endpoint} calls the request bad (400); if it expects TLS, use {}", tls_url(endpoint))
        }
        code => format!("{endpoint} answers with status {code}"),
    };
    Failure::Status { code: status.as_u16(), retry_after: retry_after(headers, SystemTime::now()), text }
}

/// `Retry-After` in both of its forms; a date in the past is zero, anything else nothing (`C5`).
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

pub(crate) fn hyper_error(endpoint: &Endpoint, error: &hyper::Error) -> String {
    let authority = endpoint.authority();
    if let Some(text) = late_alert(endpoint, error) {
        return text;
    }
    if error.is_parse() {
        let hint = if endpoint.is_tls() {
            String::new()
        } else {
            format!("; if it expects TLS, use {}", tls_url(endpoint))
        };
        return format!("{authority} does not answer in HTTP{hint}");
    }
    if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
        let hint = if endpoint.is_tls() {
            String::new()
        } else {
            format!("; if it expects TLS, use {}", tls_url(endpoint))
        };
        return format!("{authority} closed the connection without an answer{hint}");
    }
    match std::error::Error::source(error) {
        Some(cause) => format!("the connection to {authority} broke: {cause}"),
        None => format!("the connection to {authority} broke: {error}"),
    }
}

fn tls_url(endpoint: &Endpoint) -> String {
    endpoint.to_string().replacen("ws://", "wss://", 1).replacen("http://", "https://", 1)
}
