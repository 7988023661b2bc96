//! /api/v1/api-tokens: tokens for programs that call this API. Everybody has own ones, administrators see all.

use api::api_tokens::{ApiToken, ApiTokenList, CreatedApiToken, NewApiToken};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use model::{ApiTokenId, ApiTokenText, Role};
use serde_json::json;

use super::caller::Caller;
use super::context::Context;
use super::problem::ApiError;
use super::request::{Body, PathPart, label};
use super::users::role;
use crate::clock::{self, rfc3339};
use crate::config::parse_duration;

/// Lists API tokens: one's own, for administrators everybody's.
#[utoipa::path(get, path = "/api-tokens", operation_id = "list_api_tokens", tag = "access",
    responses((status = OK, description = "The tokens, the newest first.", body = ApiTokenList)))]
pub(super) async fn list(
    State(context): State<Context>,
    caller: Caller,
) -> Result<Json<ApiTokenList>, ApiError> {
    let owner = (caller.role() < Role::Admin).then(|| caller.user_name().to_owned());
    let tokens = context.store.api_tokens(owner).await?;
    Ok(Json(ApiTokenList { items: tokens.into_iter().map(item).collect() }))
}

/// Makes an API token, which may do no more than its maker. For people: a program's token makes no other tokens.
#[utoipa::path(post, path = "/api-tokens", operation_id = "create_api_token", tag = "access",
    request_body = NewApiToken,
    responses((status = CREATED, description = "The token, with its text, which is shown only now.",
        body = CreatedApiToken)))]
pub(super) async fn create(
    State(context): State<Context>,
    caller: Caller,
    Body(new): Body<NewApiToken>,
) -> Result<(StatusCode, Json<CreatedApiToken>), ApiError> {
    caller.require_person()?;
    let NewApiToken { label: wanted, role: wanted_role, expires_in } = new;
    let (label, role) = (label("label", &wanted)?, role("role", &wanted_role)?);
    if role > caller.role() {
        let detail = format!("a token may do no more than its maker, who is {}", caller.role());
        return Err(ApiError::unprocessable(Some("role".to_owned()), detail));
    }
    let life = expires_in.map(|text| {
        parse_duration(&text).filter(|life| !life.is_zero()).ok_or_else(|| {
            let detail = "expires_in must be a duration such as 90s, 15m, 12h or 90d";
            ApiError::unprocessable(Some("expires_in".to_owned()), detail)
        })
    });
    let (created_at, life) = (clock::now(), life.transpose()?);
    let text = crate::random::bytes().map(ApiTokenText::from_random);
    let text = text.map_err(|error| ApiError::internal(&error))?;
    let expires_at = life.map(|life| created_at.after(life));
    let owner = caller.user_name().to_owned();
    let told = json!({
        "label": label, "role": role.as_str(), "owner": owner, "expires_at": expires_at.map(rfc3339),
    });
    let entry = caller.entry("api-token.create", "api-token").with(None, Some(told));
    let new = store::NewApiToken { label, role, owner, hash: text.hash(), created_at, expires_at };
    let token = context.store.create_api_token(new, entry).await?;
    tracing::info!(token = token.id.0, by = %caller.name(), "API token {} was made", token.id);
    Ok((StatusCode::CREATED, Json(CreatedApiToken { item: item(token), token: text.as_str().to_owned() })))
}

/// Revokes an API token: one's own, for administrators anybody's. It is worth nothing at once.
#[utoipa::path(delete, path = "/api-tokens/{id}", operation_id = "revoke_api_token", tag = "access",
    params(("id" = String, Path, description = "The token's id.")),
    responses((status = NO_CONTENT, description = "It is worth nothing any more; its streams end.")))]
pub(super) async fn revoke(
    State(context): State<Context>,
    caller: Caller,
    PathPart(id): PathPart,
) -> Result<StatusCode, ApiError> {
    let number = id.parse().map_err(|_| ApiError::parameter("id", "the id of a token is a number"))?;
    let id = ApiTokenId(number);
    let token = context.store.api_token(id).await?;
    // Another's token is as good as none to whoever may not see it.
    let may = |token: &model::ApiToken| caller.role() >= Role::Admin || token.owner == caller.user_name();
    if !token.is_some_and(|token| may(&token)) {
        return Err(ApiError::not_found(format!("there is no API token {id}")));
    }
    context.store.revoke_api_token(id, caller.entry("api-token.revoke", "api-token")).await?;
    context.access_was_taken();
    tracing::info!(token = id.0, by = %caller.name(), "API token {id} was revoked");
    Ok(StatusCode::NO_CONTENT)
}

fn item(token: model::ApiToken) -> ApiToken {
    let model::ApiToken { id, label, role, owner, created_at, expires_at, revoked_at, last_used_at } = token;
    ApiToken {
        id: id.to_string(),
        label,
        role: role.as_str().to_owned(),
        created_by: owner,
        created_at: rfc3339(created_at),
        expires_at: expires_at.map(rfc3339),
        revoked_at: revoked_at.map(rfc3339),
        last_used_at: last_used_at.map(rfc3339),
    }
}
