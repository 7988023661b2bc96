//! Idempotency-Key: a POST that is sent again, because its answer got lost, does its work once and gets the first
//! answer again. Around every POST of the API; handlers know nothing of it. How: docs/decisions/0010.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequestParts, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use opamp_proto::hash::sha256;
use serde::{Deserialize, Serialize};
use store::answers::actor_of;
use store::{Claim, KeyedRequest};

use super::caller::Caller;
use super::context::Context;
use super::openapi::BASE;
use super::problem::ApiError;
use crate::clock;

/// The request's header.
pub(super) const KEY: &str = "idempotency-key";
/// Tells that an answer is a repetition.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// How long an answer is kept.
pub(crate) const KEPT: Duration = Duration::from_secs(24 * 3600);
/// Work that took longer has died: no answer takes longer than a minute.
const STALE: Duration = Duration::from_secs(120);
/// A longer body is refused. More than any resource takes, which has its own limit.
const MAX_REQUEST: usize = 8 * 1024 * 1024;
/// A longer answer is not kept, only that the work was done.
const MAX_ANSWER: usize = 4 * 1024 * 1024;
/// How long sending a body may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The headers of an answer that are kept with it.
const HEADERS: [HeaderName; 4] =
    [header::CONTENT_TYPE, header::ETAG, header::LOCATION, header::CACHE_CONTROL];

/// What is kept of an answer, in front of its body.
#[derive(Serialize, Deserialize)]
struct Head {
    headers: Vec<(String, String)>,
    /// Whether the body is missing, since it was too long.
    cut: bool,
}

/// Does the work of a request with a key once.
pub(super) async fn once(State(context): State<Context>, request: Request, next: Next) -> Response {
    let is_login = request.uri().path() == format!("{BASE}/session");
    if request.method() != Method::POST || is_login || !request.headers().contains_key(KEY) {
        return next.run(request).await;
    }
    match keyed(&context, request).await {
        Ok(Keyed::Stranger(request)) => next.run(request).await,
        Ok(Keyed::Known(keyed, request)) => work(context, keyed, request, next).await,
        Err(error) => error.into_response(),
    }
}

enum Keyed {
    /// Nobody whom we know: the handler says so in its own words, and nothing is kept.
    Stranger(Request),
    Known(KeyedRequest, Request),
}

async fn keyed(context: &Context, request: Request) -> Result<Keyed, ApiError> {
    let (mut parts, body) = request.into_parts();
    let Ok(caller) = Caller::from_request_parts(&mut parts, context).await else {
        return Ok(Keyed::Stranger(Request::from_parts(parts, body)));
    };
    let key = key(&parts.headers)?;
    let body = match tokio::time::timeout(PATIENCE, to_bytes(body, MAX_REQUEST)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return Err(ApiError::too_large(MAX_REQUEST)),
        Err(_) => return Err(ApiError::malformed("the body did not come in time")),
    };
    let actor = actor_of(caller.user_id(), caller.api_token().map(|token| token.id), caller.role());
    let target = parts.uri.path_and_query().map_or("", |target| target.as_str());
    let hash = fingerprint(target, &parts.headers, &body);
    let request = Request::from_parts(parts, Body::from(body));
    Ok(Keyed::Known(KeyedRequest { actor, key, hash }, request))
}

/// 1 to 128 visible ASCII characters, once.
fn key(headers: &HeaderMap) -> Result<String, ApiError> {
    let mut values = headers.get_all(KEY).into_iter();
    let key = values.next().and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_good = (1..=128).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_good || values.next().is_some() {
        return Err(ApiError::parameter(
            KEY,
            "idempotency-key must be 1 to 128 visible ASCII characters, once",
        ));
    }
    Ok(key.to_owned())
}

/// All that makes two requests the same one.
fn fingerprint(target: &str, headers: &HeaderMap, body: &[u8]) -> [u8; 32] {
    let header = |name: HeaderName| headers.get(name).map_or(&b""[..], HeaderValue::as_bytes);
    let (media, version) = (header(header::CONTENT_TYPE), header(header::IF_MATCH));
    sha256(&[target.as_bytes(), media, version, body].join(&0))
}

async fn work(context: Context, keyed: KeyedRequest, request: Request, next: Next) -> Response {
    let now = clock::now();
    let claim = context.store.claim_answer(keyed.clone(), now, now.before(KEPT), now.before(STALE)).await;
    match claim {
        Ok(Claim::Yours) => {}
        Ok(Claim::Done { status, answer }) => return replay(&context, &keyed, status, answer),
        Ok(Claim::Working) => return ApiError::in_progress().into_response(),
        Ok(Claim::OtherRequest) => return ApiError::key_reused().into_response(),
        Err(error) => return ApiError::from(error).into_response(),
    }
    // On a task of its own: when the client hangs up, which is what keys are for, the work is still done and its
    // answer kept.
    let done = tokio::spawn(async move {
        let response = next.run(request).await;
        remember(&context, keyed, response).await
    });
    done.await.unwrap_or_else(|error| ApiError::internal(&error).into_response())
}

/// Keeps an answer that tells of work. One that does not has changed nothing, and the same request may do better
/// later.
async fn remember(context: &Context, keyed: KeyedRequest, response: Response) -> Response {
    let (parts, body) = response.into_parts();
    // Our own handlers' bodies are whole and in memory.
    let body = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let kept = if parts.status.is_success() {
        keep(context, keyed, &parts, &body).await
    } else {
        context.store.release_answer(keyed).await.map_err(ApiError::from)
    };
    if kept.is_err() {
        // Why is in the log. The work is done; only a repetition will not know.
        tracing::warn!("an answer could not be kept for repetitions of its request");
    }
    Response::from_parts(parts, Body::from(body))
}

async fn keep(
    context: &Context,
    keyed: KeyedRequest,
    parts: &axum::http::response::Parts,
    body: &Bytes,
) -> Result<(), ApiError> {
    let answer = sealed(context, &keyed, &parts.headers, body)?;
    Ok(context.store.keep_answer(keyed, parts.status.as_u16(), answer).await?)
}

/// An answer may hold a token or a password that is shown once: it is sealed like any other secret.
fn sealed(
    context: &Context,
    keyed: &KeyedRequest,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<Vec<u8>, ApiError> {
    let kept = HEADERS.iter().filter_map(|name| Some((name, headers.get(name)?.to_str().ok()?)));
    let headers = kept.map(|(name, value)| (name.as_str().to_owned(), value.to_owned())).collect();
    let cut = body.len() > MAX_ANSWER;
    let mut text = serde_json::to_vec(&Head { headers, cut }).map_err(|error| ApiError::internal(&error))?;
    text.push(b'\n');
    if !cut {
        text.extend_from_slice(body);
    }
    let sealed = context.sealer.seal(&sealed_name(keyed), &text);
    sealed.map(|sealed| sealed.ciphertext).map_err(|error| ApiError::internal(&error))
}

fn sealed_name(keyed: &KeyedRequest) -> String {
    format!("answer/{}/{}", keyed.actor, keyed.key)
}

fn replay(context: &Context, keyed: &KeyedRequest, status: u16, answer: Vec<u8>) -> Response {
    opened(context, keyed, status, answer).unwrap_or_else(|error| error.into_response())
}

fn opened(
    context: &Context,
    keyed: &KeyedRequest,
    status: u16,
    answer: Vec<u8>,
) -> Result<Response, ApiError> {
    let name = sealed_name(keyed);
    let text = context.sealer.open_own(&name, answer).map_err(|error| ApiError::internal(&error))?;
    let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
    let head: Head = serde_json::from_slice(&text[..end]).map_err(|error| ApiError::internal(&error))?;
    if head.cut {
        return Err(ApiError::conflict(
            "this was done, but the answer was too long to be kept: read the resource",
        ));
    }
    let body = text.get(end + 1..).unwrap_or_default().to_vec();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    for (name, value) in head.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_visible_ascii_and_given_once() {
        let read = |keys: &[&str]| {
            key(&keys.iter().map(|key| (KEY.parse().unwrap(), key.parse().unwrap())).collect())
        };
        assert_eq!(read(&["a-1!"]).unwrap(), "a-1!");
        assert!(read(&[&"x".repeat(128)]).is_ok());
        for wrong in [&[""][..], &["a b"], &["é"], &["a", "a"], &[&"x".repeat(129)]] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn another_path_body_or_version_is_another_request() {
        let none = HeaderMap::new();
        let version: HeaderMap = [(header::IF_MATCH, "\"1\"".parse().unwrap())].into_iter().collect();
        let all = [
            fingerprint("/a", &none, b"x"),
            fingerprint("/a?q", &none, b"x"),
            fingerprint("/a", &none, b"y"),
            fingerprint("/a", &version, b"x"),
        ];
        for (place, one) in all.iter().enumerate() {
            assert!(!all[..place].contains(one));
        }
        assert_eq!(all[0], fingerprint("/a", &none, b"x"));
    }
}
