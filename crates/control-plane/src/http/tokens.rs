//! /api/v1/tokens: enrolment tokens. Making and revoking one is durable before the answer leaves, and reaches the
//! connections of agents at once.

use std::time::Duration;

use api::tokens::{CreatedToken, NewToken, Token, TokenList};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use model::{Credential, CredentialId, EnrolmentToken, Role};
use opamp_server::CloseReason;
use serde_json::json;
use store::NewCredential;

use super::caller::Caller;
use super::context::Context;
use super::problem::ApiError;
use super::request::{Body, PathPart, label};
use crate::clock::{self, rfc3339};

/// A hundred years: "never" by another name, and sums of moments stay in range.
const MAX_LIFE: u64 = 100 * 366 * 86_400;

/// Lists enrolment tokens.
#[utoipa::path(get, path = "/tokens", operation_id = "list_tokens", tag = "access",
    responses((status = OK, description = "Every token, newest first.", body = TokenList)))]
pub(super) async fn list(State(context): State<Context>, _: Caller) -> Result<Json<TokenList>, ApiError> {
    context.store.touch_credentials(context.credentials.take_uses()).await?;
    let tokens = context.store.credentials().await?;
    Ok(Json(TokenList { items: tokens.into_iter().map(token).collect() }))
}

/// Makes an enrolment token. For operators.
#[utoipa::path(post, path = "/tokens", operation_id = "create_token", tag = "access", request_body = NewToken,
    responses((status = CREATED, description = "The token, with its text, which is shown only now.",
        body = CreatedToken)))]
pub(super) async fn create(
    State(context): State<Context>,
    caller: Caller,
    Body(new): Body<NewToken>,
) -> Result<(StatusCode, Json<CreatedToken>), ApiError> {
    caller.require(Role::Operator)?;
    let NewToken { label: wanted, expires_in_seconds } = new;
    let label = label("label", &wanted)?;
    if expires_in_seconds.is_some_and(|seconds| !(1..=MAX_LIFE).contains(&seconds)) {
        let days = MAX_LIFE / 86_400;
        let detail = format!(
            "a token lives for a second at least and for {days} days at most, or for ever when nothing is said"
        );
        return Err(ApiError::unprocessable(Some("expires_in_seconds".to_owned()), detail));
    }
    let text = crate::random::bytes()
        .map(EnrolmentToken::from_random)
        .map_err(|error| ApiError::internal(&error))?;
    let created_at = clock::now();
    let expires_at = expires_in_seconds.map(|seconds| created_at.after(Duration::from_secs(seconds)));
    let hash = text.hash();
    let told = json!({ "label": label, "expires_at": expires_at.map(rfc3339) });
    let entry = caller.entry("token.create", "token").with(None, Some(told));
    let new = NewCredential { label, hash, created_at, expires_at };
    let credential = context.store.create_credential(new, entry).await?;
    context.credentials.add(hash, &credential);
    tracing::info!(token = credential.id.0, user = %caller.name(), "enrolment token {} was made", credential.id);
    let created = CreatedToken { item: token(credential), token: text.as_str().to_owned() };
    Ok((StatusCode::CREATED, Json(created)))
}

/// Revokes an enrolment token and ends the sessions of agents that it let in (REVOKE-2). For operators.
#[utoipa::path(delete, path = "/tokens/{id}", operation_id = "revoke_token", tag = "access",
    params(("id" = String, Path, description = "The token's id.")),
    responses((status = NO_CONTENT, description = "It is worth nothing any more.")))]
pub(super) async fn revoke(
    State(context): State<Context>,
    caller: Caller,
    PathPart(id): PathPart,
) -> Result<StatusCode, ApiError> {
    caller.require(Role::Operator)?;
    let number = id.parse().map_err(|_| ApiError::parameter("id", "the id of a token is a number"))?;
    let id = CredentialId(number);
    let revoked = context.store.revoke_credential(id, caller.entry("token.revoke", "token")).await?;
    if revoked.is_none() {
        return Err(ApiError::not_found(format!("there is no enrolment token {id}")));
    }
    context.credentials.revoke(id);
    tracing::info!(token = id.0, user = %caller.name(), "enrolment token {id} was revoked");
    end_sessions(&context, id);
    Ok(StatusCode::NO_CONTENT)
}

/// Closes the WebSockets with 1008: all agents of a connection came with the same token. A polling agent has no
/// connection: its session ends, and its next request is answered with 401 (REVOKE-3).
fn end_sessions(context: &Context, id: CredentialId) {
    context.server.agents().for_each(|agent| {
        if agent.principal().credential.id == id {
            agent.close(CloseReason::Policy);
            if agent.transport() == opamp_server::Transport::Http {
                context.server.end(agent, CloseReason::Policy);
            }
        }
    });
}

fn token(credential: Credential) -> Token {
    let Credential { id, label, created_at, expires_at, revoked_at, last_used_at, agents } = credential;
    Token {
        id: id.to_string(),
        label,
        created_at: rfc3339(created_at),
        expires_at: expires_at.map(rfc3339),
        revoked_at: revoked_at.map(rfc3339),
        last_used_at: last_used_at.map(rfc3339),
        agents,
    }
}
