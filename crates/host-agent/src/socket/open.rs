//! The handshake (CONNECT-1): a GET with the token, upgraded. An answer other than 101 keeps its status, its words and
//! what it says about when to come again.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use host_proto::Secret;
use host_proto::agent::Failure;
use host_proto::join::SUBPROTOCOL;
use host_proto::limits::{COMPRESS_FROM, MAX_MESSAGE};
use http::header::{self, HeaderMap, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use serde::Deserialize;
use yawc::{DeflatePool, Options, Role, WebSocket};

use super::pump::Pump;
use crate::dial::{Connection, Endpoint};

/// Read and write buffer, in bytes: most messages are small, and large ones make their own room.
const BUFFER: usize = 4096;
/// What is read of an answer that is no upgrade.
const MAX_ANSWER: usize = 16 * 1024;
/// What is offered. The window is the largest; a window is never kept from one message to the next (R23).
const EXTENSIONS: &str = "permessage-deflate; client_no_context_takeover; server_no_context_takeover";

/// Everything that a connection needs.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    pub(crate) endpoint: Endpoint,
    pub(crate) tls: Arc<ClientConfig>,
    pub(crate) token: Secret,
    pub(crate) user_agent: String,
}

pub(super) async fn open(way: &Way) -> Result<Pump, Failure> {
    let mut connection = Connection::open(&way.endpoint, &way.tls).await.map_err(Failure::Broken)?;
    let key = new_key()?;
    let request = request(way, &key)?;
    let mut response = connection.send(&way.endpoint, request).await.map_err(Failure::Broken)?;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Err(refused(response).await);
    }
    if response.headers().get(header::SEC_WEBSOCKET_ACCEPT) != Some(&accept_of(&key)) {
        let text = format!("{} does not complete the WebSocket handshake", way.endpoint);
        return Err(Failure::Protocol(text));
    }
    let extensions = response.headers().get(header::SEC_WEBSOCKET_EXTENSIONS);
    let extensions = extensions.and_then(|value| value.to_str().ok()).map(str::to_owned);
    let upgraded = hyper::upgrade::on(&mut response)
        .await
        .map_err(|error| Failure::Broken(format!("{}: {error}", way.endpoint)))?;
    let stream = TokioIo::new(upgraded);
    let socket =
        WebSocket::from_stream_with_extensions(stream, Role::Client, extensions.as_deref(), options())
            .map_err(|error| Failure::Protocol(format!("the WebSocket cannot be set up: {error}")))?;
    Ok(Pump::new(socket, connection))
}

fn options() -> Options {
    // The library's limits are exclusive. Its preset replaces all of the compression, so it comes first.
    let limit = MAX_MESSAGE + 1;
    Options::default()
        .with_balanced_compression()
        .with_compression_threshold(COMPRESS_FROM)
        .with_deflate_pool(DeflatePool::new(1))
        .with_server_max_window_bits(15)
        .with_client_max_window_bits(15)
        .server_no_context_takeover()
        .client_no_context_takeover()
        .with_limits(limit, limit)
        .with_read_buffer_capacity(BUFFER)
        .with_write_buffer_capacity(BUFFER)
        .with_utf8()
}

fn request(way: &Way, key: &HeaderValue) -> Result<Request<Full<Bytes>>, Failure> {
    let mut token = HeaderValue::from_str(&format!("Bearer {}", way.token.expose()))
        .map_err(|_| Failure::Protocol("the host token cannot be sent".to_owned()))?;
    token.set_sensitive(true);
    Request::get(way.endpoint.target())
        .header(header::HOST, way.endpoint.authority())
        .header(header::USER_AGENT, &way.user_agent)
        .header(header::AUTHORIZATION, token)
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_KEY, key)
        .header(header::SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL)
        .header(header::SEC_WEBSOCKET_EXTENSIONS, EXTENSIONS)
        .body(Full::new(Bytes::new()))
        .map_err(|error| Failure::Protocol(format!("the handshake cannot be made: {error}")))
}

/// What a problem document says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Problem {
    pub(crate) code: String,
    pub(crate) title: String,
    pub(crate) detail: String,
}

impl Problem {
    /// `duplicate_host: this token is that of another machine`.
    pub(crate) fn words(&self) -> String {
        let text = if self.detail.is_empty() { &self.title } else { &self.detail };
        match (self.code.is_empty(), text.is_empty()) {
            (true, _) => text.clone(),
            (false, true) => self.code.clone(),
            (false, false) => format!("{}: {text}", self.code),
        }
    }
}

/// Reads what a server says that does not do what it is asked.
pub(crate) async fn problem(response: Response<Incoming>) -> Problem {
    let status = response.status();
    let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
    let bytes = body.map(|body| body.to_bytes()).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_else(|_| {
        let line = String::from_utf8_lossy(&bytes);
        let line: String = line.lines().next().unwrap_or_default().chars().take(200).collect();
        let reason = status.canonical_reason().unwrap_or_default().to_owned();
        Problem { title: if line.trim().is_empty() { reason } else { line }, ..Problem::default() }
    })
}

async fn refused(response: Response<Incoming>) -> Failure {
    let (code, retry_after) = (response.status().as_u16(), retry_after(response.headers()));
    Failure::Status { code, retry_after, text: problem(response).await.words() }
}

/// `Retry-After` in seconds. A date would ask for a wall clock, which takes part in no decision here (R8).
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    text.trim().parse().ok().map(Duration::from_secs)
}

fn new_key() -> Result<HeaderValue, Failure> {
    let mut nonce = [0u8; 16];
    getrandom::fill(&mut nonce).map_err(|error| Failure::Broken(format!("no random numbers: {error}")))?;
    HeaderValue::from_str(&BASE64_STANDARD.encode(nonce)).map_err(|error| Failure::Broken(error.to_string()))
}

/// RFC 6455, section 4.2.2.
fn accept_of(key: &HeaderValue) -> HeaderValue {
    use sha1::Digest as _;
    const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    let digest = sha1::Sha1::new().chain_update(key.as_bytes()).chain_update(GUID).finalize();
    HeaderValue::from_str(&BASE64_STANDARD.encode(digest)).unwrap_or(HeaderValue::from_static(""))
}
