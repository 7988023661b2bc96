//! /api/v1/session: log in, ask who one is, log out.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Body of `POST /session`.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// The user's name, such as `admin`.
    pub username: String,
    /// The password in clear; it is only compared.
    pub password: String,
    /// Whether the answer shall hold a bearer token (for the CLI) beside the cookie.
    #[serde(default)]
    pub want_token: bool,
}

/// Answer of `POST` and `GET /session`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Session {
    /// Who is logged in.
    pub user: User,
    /// What a write with a cookie sends as `x-csrf-token`.
    pub csrf: String,
    /// When the session ends, RFC 3339.
    pub expires_at: String,
    /// The bearer token, only in the answer to a login that asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// A person who may log in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct User {
    /// The name that they log in with.
    pub name: String,
    /// What they may do: `viewer`, `operator` or `admin`.
    pub role: String,
}

/// Body of `POST /session/password`.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PasswordChange {
    /// The password that is in force.
    pub current: String,
    /// The one that shall be: at least 12 characters, at most 1,024 bytes.
    pub new: String,
}

impl std::fmt::Debug for PasswordChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PasswordChange").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").field("username", &self.username).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("user", &self.user)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}
