//! The plain HTTP transport: one request, one message, one answer (HTTP-1 to HTTP-23).

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use opamp_proto::InstanceUid;

use crate::agent::Peer;
use crate::budget::Held;
use crate::exchange::{Outcome, Via};
use crate::gzip::{self, InflateError};
use crate::handler::Handler;
use crate::server::Shared;
use crate::service::{PROTOBUF, text, unauthorized, unavailable};
use crate::traffic::Reason;

/// What a busy server says when the application names no time.
const COME_BACK: Duration = Duration::from_secs(30);

/// Answers one plain request.
pub(crate) async fn exchange<H, B>(
    shared: Arc<Shared<H>>,
    principal: H::Principal,
    peer: Arc<Peer>,
    request: Request<B>,
) -> Response<Full<Bytes>>
where
    H: Handler,
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let (head, body) = request.into_parts();
    let limit = shared.settings.max_message.bytes();
    let mut held = Held::nothing(shared.budget.clone());
    let message = match read(&head.headers, body, limit, &mut held).await {
        Ok(message) => message,
        Err(response) => return *response,
    };
    let mut via = Via::new(shared, principal, peer, None);
    let hint = named_uid(&head.headers);
    via.flow().received(message.len());
    let body = match via.handle(&message, hint).await {
        Outcome::Answer { bytes, wake: _ } => bytes,
        Outcome::BadRequest(answer) => {
            via.shared.traffic.refused(Reason::BadRequest).add(1);
            via.encode(&answer)
        }
        Outcome::Unauthorized(why) => return unauthorized(why),
        Outcome::Busy(_, overload) => return unavailable(overload.retry_after.unwrap_or(COME_BACK)),
    };
    drop(held);
    via.flow().sent(body.len());
    respond(&head.headers, body)
}

/// The instance_uid that the request names (HTTP-21): used only when the body tells none.
fn named_uid(headers: &HeaderMap) -> Option<InstanceUid> {
    headers.get("opamp-instance-uid")?.to_str().ok()?.parse().ok()
}

/// 200 with the answer, packed if the client takes it (HTTP-23).
fn respond(request: &HeaderMap, body: Bytes) -> Response<Full<Bytes>> {
    let gzip = request.contains_key(header::ACCEPT_ENCODING) && gzip::accepts_gzip(request);
    let body = if gzip { gzip::deflate(&body) } else { body };
    let mut response = Response::new(Full::new(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, PROTOBUF);
    if gzip {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

type Refused = Box<Response<Full<Bytes>>>;

fn too_big(limit: usize) -> Refused {
    let text =
        text(StatusCode::PAYLOAD_TOO_LARGE, format!("a message may have at most {limit} bytes, unpacked"));
    Box::new(text)
}

/// Reads and unpacks a body.
async fn read<B>(headers: &HeaderMap, body: B, limit: usize, held: &mut Held) -> Result<Bytes, Refused>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    let gzip = match headers.get(header::CONTENT_ENCODING).map(HeaderValue::as_bytes) {
        None => false,
        Some(coding) if coding.eq_ignore_ascii_case(b"identity") || coding.is_empty() => false,
        Some(coding) if coding.eq_ignore_ascii_case(b"gzip") || coding.eq_ignore_ascii_case(b"x-gzip") => {
            true
        }
        Some(_) => {
            let why = "the Content-Encoding must be gzip or identity";
            return Err(Box::new(text(StatusCode::UNSUPPORTED_MEDIA_TYPE, why.into())));
        }
    };
    let packed = collect(body, limit, held).await?;
    if !gzip {
        return Ok(packed);
    }
    gzip::inflate(&packed, limit, held).map_err(|error| match error {
        InflateError::Damaged => Box::new(text(StatusCode::BAD_REQUEST, "the gzip data is damaged".into())),
        InflateError::TooBig => too_big(limit),
        InflateError::Busy => Box::new(unavailable(COME_BACK)),
    })
}

/// Reads a body up to a limit. One that came in a single piece is not copied.
async fn collect<B>(mut body: B, limit: usize, held: &mut Held) -> Result<Bytes, Refused>
where
    B: http_body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    if body.size_hint().lower() > limit as u64 {
        return Err(too_big(limit));
    }
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            Box::new(text(StatusCode::BAD_REQUEST, format!("the request's body broke off: {error}")))
        })?;
        let Ok(data) = frame.into_data() else { continue };
        let total = first.len() + rest.len() + data.len();
        if total > limit {
            return Err(too_big(limit));
        }
        if !held.grow_to(total) {
            return Err(Box::new(unavailable(COME_BACK)));
        }
        match first.is_empty() && rest.is_empty() {
            true => first = data,
            false => {
                if rest.is_empty() {
                    rest.extend_from_slice(&std::mem::take(&mut first));
                }
                rest.extend_from_slice(&data);
            }
        }
    }
    Ok(if rest.is_empty() { first } else { rest.freeze() })
}
