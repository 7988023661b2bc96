//! Who sent a request: a person with a session or a program with an API token. Handlers take a [`Caller`] as an
//! argument, ask it with `require` for the role that they need, and let it begin their entry of the audit trail.

use std::net::IpAddr;

use axum::extract::FromRequestParts;
use axum::http::Method;
use axum::http::request::Parts;
use model::{ApiToken, Role, Session, UserId};
use store::{Actor, ActorKind, AuditEntry};

use super::client_address::Client;
use super::context::Context;
use super::problem::ApiError;
use crate::auth::{Access, Presented, is_foreign};
use crate::clock;

/// Someone who was recognised; a write was proved to be meant.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    access: Access,
    presented: Presented,
    address: IpAddr,
}

impl Caller {
    /// What the caller may do.
    pub(crate) const fn role(&self) -> Role {
        match &self.access {
            Access::Person(session) => session.role,
            Access::Program(access) => access.role,
        }
    }

    /// Refuses whoever has a lesser role.
    pub(crate) fn require(&self, needed: Role) -> Result<(), ApiError> {
        if self.role() >= needed {
            return Ok(());
        }
        Err(ApiError::forbidden(format!("this needs the role {needed}, yours is {}", self.role())))
    }

    /// The user whose rights these are: the one who is logged in, or the API token's owner.
    pub(crate) fn user_name(&self) -> &str {
        match &self.access {
            Access::Person(session) => &session.user_name,
            Access::Program(access) => &access.token.owner,
        }
    }

    /// The number of that user, where it is known: an API token knows its owner by name.
    pub(crate) const fn user_id(&self) -> UserId {
        match &self.access {
            Access::Person(session) => session.user,
            Access::Program(_) => UserId(0),
        }
    }

    /// Who the author of a change is, in words: a user's name, or an API token's label and number.
    pub(crate) fn name(&self) -> String {
        match &self.access {
            Access::Person(session) => session.user_name.clone(),
            Access::Program(access) => access.token.name(),
        }
    }

    /// The session of a person; refuses programs.
    pub(crate) fn session(&self) -> Result<&Session, ApiError> {
        match &self.access {
            Access::Person(session) => Ok(session),
            Access::Program(_) => Err(ApiError::forbidden("this needs a login, an API token does not do")),
        }
    }

    /// Refuses programs where a way into the API is made that would outlive their token: docs/decisions/0016.
    pub(crate) fn require_person(&self) -> Result<(), ApiError> {
        match &self.access {
            Access::Person(_) => Ok(()),
            Access::Program(_) => Err(ApiError::forbidden(
                "this needs a login: what opens the API is made by people, so that it cannot outlive a token",
            )),
        }
    }

    /// The API token of a program.
    pub(crate) const fn api_token(&self) -> Option<&ApiToken> {
        match &self.access {
            Access::Person(_) => None,
            Access::Program(access) => Some(&access.token),
        }
    }

    /// What was shown.
    pub(crate) const fn presented(&self) -> &Presented {
        &self.presented
    }

    /// The beginning of an entry: now, by this caller, from its address. `action` is `noun.verb`, `object` is
    /// `noun/name`.
    pub(crate) fn entry(&self, action: &'static str, object: impl Into<String>) -> AuditEntry {
        let kind = match &self.access {
            Access::Person(_) => ActorKind::User,
            Access::Program(_) => ActorKind::Token,
        };
        AuditEntry {
            at: clock::now(),
            actor: Actor { kind, name: self.name() },
            address: self.address.to_string(),
            action,
            object: object.into(),
            before: None,
            after: None,
        }
    }
}

impl FromRequestParts<Context> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, context: &Context) -> Result<Self, ApiError> {
        // Something around the handler may have asked already.
        if let Some(known) = parts.extensions.get::<Self>() {
            return Ok(known.clone());
        }
        let Client { address, secure: _ } = Client::from_request_parts(parts, context).await?;
        let presented = Presented::find(&parts.headers).ok_or_else(ApiError::not_logged_in)?;
        let access = Access::of(&context.store, &presented, clock::now()).await?;
        let access = access.ok_or_else(ApiError::not_logged_in)?;
        let is_read = matches!(parts.method, Method::GET | Method::HEAD);
        if !is_read && !presented.may_write(&parts.headers) {
            return Err(ApiError::csrf());
        }
        let by_itself = matches!(presented, Presented::Cookie(_));
        if !is_read && by_itself && is_foreign(&parts.headers, &context.about.public_url) {
            return Err(ApiError::foreign());
        }
        let caller = Self { access, presented, address: address.ip() };
        parts.extensions.insert(caller.clone());
        Ok(caller)
    }
}
