//! /api/v1/session: log in, ask who one is, log out.

use std::time::Duration;

use api::session::{Login, PasswordChange, Session, User};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use model::{TokenHash, UnixMillis};
use store::{Actor, ActorKind, AuditEntry, Expected, NewSession, UserChange};
use zeroize::Zeroizing;

use super::caller::Caller;
use super::client_address::Client;
use super::context::Context;
use super::passwords::{MAX_PASSWORD, hashed};
use super::problem::ApiError;
use super::request::Body;
use crate::auth::{COOKIE, SessionSecret, Verdict, is_foreign};
use crate::clock::{self, rfc3339};

/// A working day with room on both sides; the cookie does not outlive it.
const CONSOLE_LIFETIME: Duration = Duration::from_secs(14 * 3600);
/// A command line is logged in for a month.
const TOKEN_LIFETIME: Duration = Duration::from_secs(30 * 86_400);
/// Longer names are not looked at.
const MAX_NAME: usize = 256;

/// Logs in.
#[utoipa::path(post, path = "/session", operation_id = "log_in", tag = "access", request_body = Login, security(()),
    responses((status = OK, description = "The session. The cookie is set unless a token was asked for.",
        body = Session)))]
pub(super) async fn log_in(
    State(context): State<Context>,
    client: Client,
    headers: HeaderMap,
    Body(login): Body<Login>,
) -> Result<Response, ApiError> {
    // Another site's page must not log a browser in as somebody else.
    if is_foreign(&headers, &context.about.public_url) {
        return Err(ApiError::foreign());
    }
    let Login { username, password, want_token } = login;
    let password = Zeroizing::new(password);
    for (field, text, most) in
        [("username", username.as_str(), MAX_NAME), ("password", password.as_str(), MAX_PASSWORD)]
    {
        if text.is_empty() || text.len() > most {
            let detail = format!("{field} must have 1 to {most} bytes");
            return Err(ApiError::unprocessable(Some(field.to_owned()), detail));
        }
    }
    let user = verify(&context, client, &username, password).await?;
    let secret = SessionSecret::generate().map_err(|error| ApiError::internal(&error))?;
    let lifetime = if want_token { TOKEN_LIFETIME } else { CONSOLE_LIFETIME };
    let created_at = clock::now();
    let expires_at = created_at.after(lifetime);
    let csrf_hash = TokenHash::of(&secret.csrf());
    let session = NewSession { hash: secret.hash(), user: user.id, csrf_hash, created_at, expires_at };
    context.store.create_session(session, logged_in(client, &user, created_at)).await?;
    tracing::info!(user = %user.name, address = %client.address.ip(), "user {} logged in", user.name);
    let answer = Session {
        user: User { name: user.name, role: user.role.as_str().to_owned() },
        csrf: secret.csrf(),
        expires_at: rfc3339(expires_at),
        token: want_token.then(|| secret.as_str().to_owned()),
    };
    // Who wants a token keeps it; a cookie beside it would be a second key to the same door.
    let cookie = (!want_token).then(|| cookie(&context, client, secret.as_str(), lifetime));
    Ok((cookie.unwrap_or_default(), Json(answer)).into_response())
}

/// The entry of a login: there is no caller yet.
fn logged_in(client: Client, user: &model::User, at: UnixMillis) -> AuditEntry {
    AuditEntry {
        at,
        actor: Actor { kind: ActorKind::User, name: user.name.clone() },
        address: client.address.ip().to_string(),
        action: "session.begin",
        object: format!("user/{}", user.name),
        before: None,
        after: None,
    }
}

/// Checks a login against the budgets, then the password.
async fn verify(
    context: &Context,
    client: Client,
    username: &str,
    password: Zeroizing<String>,
) -> Result<model::User, ApiError> {
    let address = client.address.ip();
    let attempt = context.throttle.take(address, username, clock::now()).map_err(ApiError::too_many)?;
    let user = context.store.user_by_name(username).await?;
    let hash = user.as_ref().map(|user| user.password_hash.clone());
    match (context.passwords.verify(password, hash).await, user) {
        // Whether a user is disabled is told to nobody who does not know the password, nor to one who does.
        (Verdict::Right, Some(user)) if user.disabled_at.is_none() => {
            context.throttle.succeeded(attempt, clock::now());
            Ok(user)
        }
        (Verdict::Busy, _) => Err(ApiError::too_many(Duration::from_secs(2))),
        _ => {
            // The name that was tried may be a password typed into the wrong field.
            context.server.handler().counters.login_failed();
            tracing::warn!(%address, "a login from {address} failed");
            Err(ApiError::wrong_login())
        }
    }
}

fn cookie(context: &Context, client: Client, value: &str, lifetime: Duration) -> HeaderMap {
    let secure = if context.about.secure || client.secure { "; Secure" } else { "" };
    let seconds = lifetime.as_secs();
    let text = format!("{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
    let value = HeaderValue::try_from(text).ok();
    value.into_iter().map(|value| (header::SET_COOKIE, value)).collect()
}

/// Says who is logged in.
#[utoipa::path(get, path = "/session", operation_id = "show_session", tag = "access",
    responses((status = OK, description = "The session.", body = Session)))]
pub(super) async fn show(caller: Caller) -> Json<Session> {
    let ends = match caller.api_token() {
        None => caller.session().ok().map(|session| session.expires_at),
        Some(token) => token.expires_at,
    };
    Json(Session {
        user: User { name: caller.user_name().to_owned(), role: caller.role().as_str().to_owned() },
        csrf: caller.presented().secret().csrf(),
        // An API token may have no end: then this is the last moment that can be written.
        expires_at: rfc3339(ends.unwrap_or(UnixMillis(i64::MAX))),
        token: None,
    })
}

/// Logs out.
#[utoipa::path(delete, path = "/session", operation_id = "log_out", tag = "access",
    responses((status = NO_CONTENT, description = "The session has ended.")))]
pub(super) async fn log_out(
    State(context): State<Context>,
    client: Client,
    caller: Caller,
) -> Result<Response, ApiError> {
    let hash = caller.session()?.hash;
    let entry = caller.entry("session.end", format!("user/{}", caller.user_name()));
    context.store.delete_session(hash, entry).await?;
    context.access_was_taken();
    Ok((StatusCode::NO_CONTENT, cookie(&context, client, "", Duration::ZERO)).into_response())
}

/// Changes one's own password and ends one's other sessions.
#[utoipa::path(post, path = "/session/password", operation_id = "change_own_password", tag = "access",
    request_body = PasswordChange,
    responses((status = NO_CONTENT, description = "The new password is in force.")))]
pub(super) async fn change_password(
    State(context): State<Context>,
    client: Client,
    caller: Caller,
    Body(change): Body<PasswordChange>,
) -> Result<StatusCode, ApiError> {
    let (session, name) = (caller.session()?, caller.user_name());
    let PasswordChange { current, new } = change;
    let (current, new) = (Zeroizing::new(current), Zeroizing::new(new));
    if current.is_empty() || current.len() > MAX_PASSWORD {
        let detail = format!("current must have 1 to {MAX_PASSWORD} bytes");
        return Err(ApiError::unprocessable(Some("current".to_owned()), detail));
    }
    // Whoever found an open console must not learn the password by trying, so this counts like a login.
    let verified = verify(&context, client, name, current).await;
    verified.map_err(|error| error.or_wrong_password("current"))?;
    let change = UserChange {
        password_hash: Some(hashed(&context, "new", new).await?),
        keep_session: Some(session.hash),
        ..UserChange::default()
    };
    let entry = caller.entry("user.change-password", format!("user/{name}"));
    context.store.change_user(name, change, Expected::Any, entry).await?;
    context.access_was_taken();
    Ok(StatusCode::NO_CONTENT)
}
