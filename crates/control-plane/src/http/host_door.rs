//! /api/agent/v1: where machines become hosts and hosts connect. No session and no API token opens anything here, a join
//! token or a host token does.

use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use host_proto::Trim;
use host_proto::id::HostId;
use host_proto::join::{
    JoinAnswer, JoinError, JoinRequest, MAX_JOIN, MeshAddress, RegistryAddress, TrustAnchor,
};
use host_proto::secret::Secret;
use model::TokenHash;
use serde_json::json;
use store::{Actor, ActorKind, AuditEntry, JoinAttempt, Joined};
use tokio::time::Instant;
use tokio_util::io::ReaderStream;

use super::client_address::Client;
use super::context::Context;
use super::problem::ApiError;
use super::request::PathPart;
use crate::clock;
use crate::hosts::link::{self, Arrival};
use crate::services::allocate::{random, unsigned};

/// The UDP port of the mesh.
const MESH_PORT: u16 = 51820;
/// Longest name of a host.
const MAX_NAME: usize = 63;

/// Makes a machine a host (JOIN-2 to JOIN-4).
pub(super) async fn join(
    State(context): State<Context>,
    client: Client,
    request: Request<Body>,
) -> Result<Response, ApiError> {
    let address = client.address.ip();
    // Guessing is limited like logins are, and every address for itself (JOIN-9).
    let attempt = match context.throttle.take(address, "join", clock::now()) {
        Ok(attempt) => attempt,
        Err(wait) => {
            return Ok(refused(JoinError::RateLimited, "too many attempts to join", None, Some(wait)));
        }
    };
    let bytes = axum::body::to_bytes(request.into_body(), MAX_JOIN).await;
    let bytes = bytes.map_err(|_| ApiError::too_large(MAX_JOIN))?;
    let mut request: JoinRequest = serde_json::from_slice(&bytes).map_err(|error| {
        ApiError::malformed(format!("not a join request: {error}", error = place(&error)))
    })?;
    request.facts.trim();
    if let Err(text) = sane(&request) {
        return Err(ApiError::unprocessable(None, text));
    }
    let token = crate::random::bytes::<32>().map_err(|error| ApiError::internal(&error))?;
    let host_token = link::host_token(&token);
    let joined =
        context.store.join(wanted(&context, &request, &host_token)?, entry(address.to_string())).await?;
    match joined {
        Joined::Host { host, again } => {
            context.throttle.succeeded(attempt, clock::now());
            tracing::info!(host = %host.id, %address, again, "the machine at {address} is host {} now", host.name);
            if !again {
                // The machine that was this host before has no token any more, and must not hear another word.
                context.services.live.forget(&host.id, "another machine has joined in its place");
            }
            crate::hosts::tell_of_silence(&context.hub, &host.id, Instant::now());
            let answer = JoinAnswer {
                host_id: host.id.clone(),
                name: host.name.clone(),
                host_token: Secret::new(host_token),
                mesh: MeshAddress {
                    ip: host.mesh_ip.into(),
                    subnet: context.services.mesh.to_string(),
                    listen_port: MESH_PORT,
                    mtu_max: 1420,
                },
                registry: RegistryAddress::default(),
                connect_url: connect_url(&context.about.public_url),
                trust_anchors: anchors(&context),
            };
            Ok((StatusCode::CREATED, axum::Json(answer)).into_response())
        }
        Joined::Invalid => {
            let text = "the join token is unknown, was revoked, or joined another machine";
            Ok(refused(JoinError::JoinTokenInvalid, text, None, None))
        }
        Joined::Expired => {
            let text = "the join token has expired";
            Ok(refused(JoinError::JoinTokenExpired, text, None, None))
        }
        Joined::Duplicate(id) => {
            let text = "the token, or this machine, is another host's: a token joins one machine, and a machine is one host";
            tracing::warn!(%address, existing = %id, "the machine at {address} tried to join as a host that exists");
            Ok(refused(JoinError::DuplicateHost, text, Some(&id), None))
        }
        Joined::Full => {
            let text = format!("no address is left in {}", context.services.mesh);
            Ok(refused(JoinError::SubnetExhausted, &text, None, None))
        }
    }
}

fn wanted(context: &Context, request: &JoinRequest, host_token: &str) -> Result<JoinAttempt, ApiError> {
    let now = clock::now();
    let wished = request.requested_name.as_deref().unwrap_or(&request.facts.hostname);
    Ok(JoinAttempt {
        token: TokenHash::of(request.join_token.expose()),
        machine_id: request.machine_id.clone(),
        instance_id: request.instance_id.clone(),
        wg_public_key: request.wg_public_key.clone(),
        facts: request.facts.clone(),
        agent_version: String::new(),
        wished_name: host_name(wished),
        new_id: HostId::generate(unsigned(now), random()?),
        host_token: TokenHash::of(host_token),
        mesh: context.services.mesh,
        now,
    })
}

/// Takes the connection of a host (CONNECT-1).
pub(super) async fn connect(
    State(context): State<Context>,
    client: Client,
    mut request: Request<Body>,
) -> Result<Response, ApiError> {
    let address = client.address.ip();
    let token = bearer(request.headers()).ok_or_else(unauthorized)?;
    let hash = TokenHash::of(token);
    let link = context.store.host_of_token(hash, clock::now()).await?;
    let Some(link) = link else {
        tracing::warn!(%address, "a host at {address} shows a token that is unknown, revoked or too old");
        return Err(unauthorized());
    };
    let Some((response, accepted)) = link::accept(&mut request) else {
        return Err(ApiError::parameter("upgrade", "this is a WebSocket: connect with an upgrade"));
    };
    let (services, stopping) = (context.services.clone(), context.stopping.clone());
    tokio::spawn(async move {
        let Some(socket) = accepted.open().await else { return };
        link::serve(services, Arrival { link, token: hash, address }, socket, stopping).await;
    });
    Ok(response)
}

/// The script that makes a machine a host.
pub(super) async fn script(State(context): State<Context>) -> Result<Response, ApiError> {
    let text = tokio::task::spawn_blocking(move || {
        context.agents.script(&context.about.public_url, context.about.authority_pem.as_deref())
    })
    .await
    .map_err(|error| ApiError::internal(&error))?;
    let kind =
        [(header::CONTENT_TYPE, "text/x-shellscript; charset=utf-8"), (header::CACHE_CONTROL, "no-store")];
    Ok((kind, text).into_response())
}

/// The agent for a processor.
pub(super) async fn binary(
    State(context): State<Context>,
    PathPart(arch): PathPart,
) -> Result<Response, ApiError> {
    let agents = context.agents.clone();
    let found = tokio::task::spawn_blocking(move || agents.all().get(&arch).cloned()).await;
    let found = found.map_err(|error| ApiError::internal(&error))?;
    let found = found.ok_or_else(|| ApiError::not_found("there is no agent for this processor here"))?;
    let file = tokio::fs::File::open(&found.path).await.map_err(|error| ApiError::internal(&error))?;
    let mut response = Response::new(Body::from_stream(ReaderStream::new(file)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(found.size));
    if let Ok(tag) = HeaderValue::try_from(format!("\"{}\"", found.sha256)) {
        headers.insert(header::ETAG, tag);
    }
    Ok(response)
}

fn unauthorized() -> ApiError {
    ApiError::not_a_host()
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// `https://muster.example` as `wss://muster.example/api/agent/v1/connect`.
fn connect_url(public: &str) -> String {
    let rest = public.strip_prefix("https://").map(|rest| ("wss", rest));
    let (scheme, rest) =
        rest.or_else(|| public.strip_prefix("http://").map(|rest| ("ws", rest))).unwrap_or(("wss", public));
    format!("{scheme}://{rest}{}", host_proto::join::CONNECT_PATH)
}

fn anchors(context: &Context) -> Vec<TrustAnchor> {
    match (&context.about.authority_pem, &context.about.ca_fingerprint) {
        (Some(pem), Some(_)) => vec![TrustAnchor::Ca { pem: pem.clone() }],
        _ => vec![TrustAnchor::System],
    }
}

/// What a problem document of this door looks like: with the code that agents act on.
fn refused(error: JoinError, text: &str, existing: Option<&HostId>, wait: Option<Duration>) -> Response {
    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::UNAUTHORIZED);
    let body = json!({
        "type": "urn:muster:problem:join",
        "title": status.canonical_reason().unwrap_or("Refused"),
        "status": error.status(),
        "detail": text,
        "code": error,
        "existing_host_id": existing.map(HostId::as_str),
    });
    let mut response = (status, axum::Json(body)).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(api::problem::CONTENT_TYPE));
    if let Some(wait) = wait {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wait.as_secs().max(1)));
    }
    response
}

fn entry(address: String) -> AuditEntry {
    let actor = Actor { kind: ActorKind::System, name: "join token".to_owned() };
    AuditEntry {
        at: clock::now(),
        actor,
        address,
        action: "host.join",
        object: "host".to_owned(),
        before: None,
        after: None,
    }
}

/// Texts that go into the database and onto screens are short and can be seen.
fn sane(request: &JoinRequest) -> Result<(), String> {
    let texts = [
        ("machine_id", &request.machine_id),
        ("instance_id", &request.instance_id),
        ("wg_public_key", &request.wg_public_key),
    ];
    for (name, text) in texts {
        let good = (8..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if !good {
            return Err(format!("{name} must have 8 to 128 characters that can be seen"));
        }
    }
    Ok(())
}

/// A host's name as DNS would have it; `host` when nothing is left.
pub(super) fn host_name(wish: &str) -> String {
    let kept: String = wish
        .chars()
        .map(|c| c.to_ascii_lowercase())
        .filter(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.'))
        .take(MAX_NAME)
        .collect();
    let name = kept.trim_matches(['-', '.']);
    if name.is_empty() { "host".to_owned() } else { name.to_owned() }
}

/// Where a body is wrong, without what it says: it contains a token.
fn place(error: &serde_json::Error) -> String {
    format!("line {}, column {}", error.line(), error.column())
}
