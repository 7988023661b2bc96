//! One HTTP request: told apart by transport (HTTP-15, HTTP-16), authenticated, handed on.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::Full;

use crate::agent::Peer;
use crate::handler::{ConnectRequest, Handler, Refusal};
use crate::http as plain;
use crate::server::{Shared, Transport};
use crate::traffic::Reason;
use crate::websocket;

/// The media type of plain requests and their answers (HTTP-14).
pub(crate) const PROTOBUF: HeaderValue = HeaderValue::from_static("application/x-protobuf");

/// The OpAMP endpoint as a tower service. A [`Peer`] in the request's extensions tells where it came from.
pub struct OpampService<H: Handler> {
    shared: Arc<Shared<H>>,
    check_path: bool,
}

impl<H: Handler> Clone for OpampService<H> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), check_path: self.check_path }
    }
}

impl<H: Handler> std::fmt::Debug for OpampService<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpampService").finish_non_exhaustive()
    }
}

impl<H: Handler> OpampService<H> {
    /// For an application that has its own paths.
    pub(crate) const fn mounted(shared: Arc<Shared<H>>) -> Self {
        Self { shared, check_path: false }
    }

    /// For a listener of our own.
    pub(crate) const fn at_its_path(shared: Arc<Shared<H>>) -> Self {
        Self { shared, check_path: true }
    }

    /// Answers one request.
    pub(crate) async fn answer<B>(self, request: Request<B>) -> Response<Full<Bytes>>
    where
        B: http_body::Body<Data = Bytes> + Send + Unpin,
        B::Error: std::fmt::Display,
    {
        let shared = self.shared.clone();
        let response = self.try_answer(request).await;
        if let Some(reason) = Reason::of(response.status()) {
            shared.traffic.refused(reason).add(1);
        }
        response
    }

    async fn try_answer<B>(self, mut request: Request<B>) -> Response<Full<Bytes>>
    where
        B: http_body::Body<Data = Bytes> + Send + Unpin,
        B::Error: std::fmt::Display,
    {
        if self.check_path && request.uri().path() != self.shared.settings.path {
            let path = &self.shared.settings.path;
            return text(StatusCode::NOT_FOUND, format!("there is nothing here; OpAMP is at {path}"));
        }
        let transport = match transport_of(request.method(), request.headers()) {
            Ok(transport) => transport,
            Err(response) => return *response,
        };
        let peer = request.extensions_mut().remove::<Arc<Peer>>().unwrap_or_default();
        let connect =
            ConnectRequest { method: request.method(), headers: request.headers(), peer: &peer, transport };
        let principal = match self.shared.handler.authenticate(&connect).await {
            Ok(principal) => principal,
            Err(refusal) => return refuse(refusal),
        };
        match transport {
            Transport::WebSocket => websocket::upgrade(self.shared, principal, peer, &mut request),
            Transport::Http => plain::exchange(self.shared, principal, peer, request).await,
        }
    }
}

impl<H, B> tower_service::Service<Request<B>> for OpampService<H>
where
    H: Handler,
    B: http_body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: std::fmt::Display,
{
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.answer(request).await) })
    }
}

/// Whether a header holds a token, compared without case.
fn lists(headers: &HeaderMap, name: header::HeaderName, token: &str) -> bool {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.split(',').any(|item| item.trim().eq_ignore_ascii_case(token)))
}

/// The media type without its parameters is Protobuf's.
fn is_protobuf(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|value| {
        let value = value.as_bytes();
        let media = value.split(|byte| *byte == b';').next().unwrap_or_default();
        media.trim_ascii().eq_ignore_ascii_case(PROTOBUF.as_bytes())
    })
}

/// HTTP-15 and HTTP-16, and a status of HTTP's own for what fits neither.
fn transport_of(method: &Method, headers: &HeaderMap) -> Result<Transport, Box<Response<Full<Bytes>>>> {
    let refuse = |status, why: &str| Err(Box::new(text(status, why.to_owned())));
    if is_protobuf(headers) {
        return match *method {
            Method::POST => Ok(Transport::Http),
            _ => refuse(StatusCode::METHOD_NOT_ALLOWED, "OpAMP over plain HTTP uses POST"),
        };
    }
    let handshake = *method == Method::GET
        && lists(headers, header::UPGRADE, "websocket")
        && lists(headers, header::CONNECTION, "upgrade");
    match *method {
        Method::GET if handshake => Ok(Transport::WebSocket),
        Method::GET => {
            let mut response = text(
                StatusCode::UPGRADE_REQUIRED,
                "this is an OpAMP endpoint: connect a WebSocket, or POST".into(),
            );
            response.headers_mut().insert(header::UPGRADE, HeaderValue::from_static("websocket"));
            Err(Box::new(response))
        }
        Method::POST => {
            refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the Content-Type must be application/x-protobuf")
        }
        _ => refuse(StatusCode::METHOD_NOT_ALLOWED, "OpAMP uses POST, or GET for a WebSocket"),
    }
}

/// A short answer for people.
pub(crate) fn text(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body + "\n")));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

/// Seconds for `Retry-After`, rounded up so that nobody comes too early, and at least one.
fn seconds(wait: Duration) -> HeaderValue {
    HeaderValue::from(wait.as_millis().div_ceil(1000).clamp(1, u128::from(u32::MAX)) as u64)
}

/// 503 with `Retry-After` (THROTTLE-6).
pub(crate) fn unavailable(wait: Duration) -> Response<Full<Bytes>> {
    let mut response = text(StatusCode::SERVICE_UNAVAILABLE, "too much to do at the moment".into());
    response.headers_mut().insert(header::RETRY_AFTER, seconds(wait));
    response
}

/// 401 with the challenge that HTTP demands (AUTH-3).
pub(crate) fn unauthorized(why: String) -> Response<Full<Bytes>> {
    let mut response = text(StatusCode::UNAUTHORIZED, why);
    let challenge = HeaderValue::from_static("Bearer realm=\"OpAMP\"");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    response
}

fn refuse(refusal: Refusal) -> Response<Full<Bytes>> {
    match refusal {
        Refusal::Unauthorized(why) => unauthorized(why),
        Refusal::Forbidden(why) => text(StatusCode::FORBIDDEN, why),
        Refusal::Unavailable(wait) => unavailable(wait),
        Refusal::TooMany(wait) => {
            let mut response = text(StatusCode::TOO_MANY_REQUESTS, "too many requests".into());
            response.headers_mut().insert(header::RETRY_AFTER, seconds(wait));
            response
        }
    }
}
