//! /api/v1/users: who may sign in. For administrators.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A user as administrators see it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Account {
    /// The name to sign in with.
    pub name: String,
    /// `viewer`, `operator` or `admin`.
    pub role: String,
    /// RFC 3339.
    pub created_at: String,
    /// Whether the user may not sign in; the user's API tokens do not work either.
    pub disabled: bool,
    /// A password that was made for the user, only in the answer that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
}

/// Answer of `GET /users`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AccountList {
    /// Every user by name.
    pub items: Vec<Account>,
}

/// Body of `POST /users`.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAccount {
    /// `[a-z0-9][a-z0-9._@-]{0,62}`.
    pub name: String,
    /// `viewer`, `operator` or `admin`.
    pub role: String,
    /// At least 12 characters; one is made when it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
}

/// Body of `PATCH /users/{name}`; what is absent stays.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountChange {
    /// `viewer`, `operator` or `admin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Whether the user may not sign in. The sessions of one who is disabled end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<bool>,
    /// Another password; the user's sessions end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password: Option<NewPassword>,
}

/// A password that someone else is given.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum NewPassword {
    /// `true`: one is made, and is in the answer.
    Make(bool),
    /// This one.
    Is(String),
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Account").field("name", &self.name).field("role", &self.role).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for NewAccount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewAccount").field("name", &self.name).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for AccountChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AccountChange").field("role", &self.role).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for NewPassword {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NewPassword(…)")
    }
}
