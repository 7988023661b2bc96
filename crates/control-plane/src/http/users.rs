//! /api/v1/users: who may sign in. For administrators.

use api::users::{Account, AccountChange, AccountList, NewAccount, NewPassword};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use model::{Role, User};
use store::{NewUser, StoreError, UserChange};
use zeroize::Zeroizing;

use super::caller::Caller;
use super::context::Context;
use super::passwords::{generated, hashed};
use super::problem::ApiError;
use super::request::{Body, PathPart};
use super::version::{IfMatch, Tagged};
use crate::clock::{self, rfc3339};

/// Lists users. For administrators.
#[utoipa::path(get, path = "/users", operation_id = "list_users", tag = "access",
    responses((status = OK, description = "Every user by name.", body = AccountList)))]
pub(super) async fn list(
    State(context): State<Context>,
    caller: Caller,
) -> Result<Json<AccountList>, ApiError> {
    caller.require(Role::Admin)?;
    let users = context.store.users().await?;
    Ok(Json(AccountList { items: users.into_iter().map(|user| account(user, None)).collect() }))
}

/// Shows a user. For administrators.
#[utoipa::path(get, path = "/users/{name}", operation_id = "show_user", tag = "access",
    params(("name" = String, Path, description = "The user's name.")),
    responses((status = OK, description = "The user, with its version as ETag.", body = Account)))]
pub(super) async fn show(
    State(context): State<Context>,
    caller: Caller,
    PathPart(name): PathPart,
) -> Result<Tagged<Json<Account>>, ApiError> {
    caller.require(Role::Admin)?;
    let user = context.store.user_by_name(name).await?.ok_or_else(unknown)?;
    Ok(Tagged(user.version, Json(account(user, None))))
}

/// Makes a user. For administrators who are logged in.
#[utoipa::path(post, path = "/users", operation_id = "create_user", tag = "access", request_body = NewAccount,
    responses((status = CREATED, description = "The user. A password that was made is shown only now.",
        body = Account)))]
pub(super) async fn create(
    State(context): State<Context>,
    caller: Caller,
    Body(new): Body<NewAccount>,
) -> Result<(StatusCode, Tagged<Json<Account>>), ApiError> {
    caller.require(Role::Admin)?;
    caller.require_person()?;
    let NewAccount { name, role: wanted, password } = new;
    let role = role("role", &wanted)?;
    if !model::name::is_user_name(&name) {
        let detail = "name must have 1 to 63 characters of a-z, 0-9, dot, underscore, @ and hyphen, \
            and begin with a letter or digit";
        return Err(ApiError::unprocessable(Some("name".to_owned()), detail));
    }
    let (shown, password_hash) = match password {
        Some(password) => (None, hashed(&context, "password", Zeroizing::new(password)).await?),
        None => generated(&context).await.map(|(password, hash)| (Some(password), hash))?,
    };
    let entry = caller.entry("user.create", format!("user/{name}"));
    let new = NewUser { name, role, password_hash, created_at: clock::now() };
    let user = context.store.create_user(new, entry).await?;
    tracing::info!(user = %user.name, by = %caller.name(), "user {} was made", user.name);
    Ok((StatusCode::CREATED, Tagged(user.version, Json(account(user, shown)))))
}

/// Changes a user. For administrators who are logged in; a program may only disable.
#[utoipa::path(patch, path = "/users/{name}", operation_id = "change_user", tag = "access",
    request_body = AccountChange,
    params(("name" = String, Path, description = "The user's name.")),
    responses((status = OK, description = "The user. A password that was made is shown only now.",
        body = Account)))]
pub(super) async fn change(
    State(context): State<Context>,
    caller: Caller,
    PathPart(name): PathPart,
    IfMatch(expected): IfMatch,
    Body(change): Body<AccountChange>,
) -> Result<Tagged<Json<Account>>, ApiError> {
    caller.require(Role::Admin)?;
    let AccountChange { role: wanted, disabled, password } = change;
    if wanted.is_some() || password.is_some() || disabled == Some(false) {
        caller.require_person()?;
    }
    let role = wanted.map(|wanted| role("role", &wanted)).transpose()?;
    let (shown, password_hash) = match password {
        None | Some(NewPassword::Make(false)) => (None, None),
        Some(NewPassword::Make(true)) => {
            generated(&context).await.map(|(password, hash)| (Some(password), Some(hash)))?
        }
        Some(NewPassword::Is(text)) => {
            (None, Some(hashed(&context, "password", Zeroizing::new(text)).await?))
        }
    };
    let entry = caller.entry("user.change", format!("user/{name}"));
    let change = UserChange { role, disabled, password_hash, keep_session: None };
    let changed = context.store.change_user(name, change, expected, entry).await;
    let user = changed.map_err(or_unknown)?;
    context.access_was_taken();
    tracing::info!(user = %user.name, by = %caller.name(), "user {} was changed", user.name);
    Ok(Tagged(user.version, Json(account(user, shown))))
}

/// Removes a user. The user's sessions end and API tokens are revoked. For administrators.
#[utoipa::path(delete, path = "/users/{name}", operation_id = "delete_user", tag = "access",
    params(("name" = String, Path, description = "The user's name.")),
    responses((status = NO_CONTENT, description = "The user is gone.")))]
pub(super) async fn delete(
    State(context): State<Context>,
    caller: Caller,
    PathPart(name): PathPart,
    IfMatch(expected): IfMatch,
) -> Result<StatusCode, ApiError> {
    caller.require(Role::Admin)?;
    let entry = caller.entry("user.delete", format!("user/{name}"));
    context.store.delete_user(&name, expected, entry).await.map_err(or_unknown)?;
    context.access_was_taken();
    tracing::info!(user = %name, by = %caller.name(), "user {name} was removed");
    Ok(StatusCode::NO_CONTENT)
}

fn unknown() -> ApiError {
    ApiError::not_found("there is no such user")
}

fn or_unknown(error: StoreError) -> ApiError {
    match error {
        StoreError::Missing(_) => unknown(),
        other => other.into(),
    }
}

/// A role in a body.
pub(super) fn role(field: &str, text: &str) -> Result<Role, ApiError> {
    let unprocessable =
        |error: model::user::UnknownRole| ApiError::unprocessable(Some(field.to_owned()), error.to_string());
    text.parse().map_err(unprocessable)
}

fn account(user: User, password: Option<String>) -> Account {
    let User { id: _, name, role, password_hash: _, created_at, disabled_at, version: _ } = user;
    Account {
        name,
        role: role.as_str().to_owned(),
        created_at: rfc3339(created_at),
        disabled: disabled_at.is_some(),
        password,
    }
}
