//! /api/v1/tokens: enrolment tokens. A token's text exists only in the answer that made it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An enrolment token as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Token {
    /// Its id, shown in lists and used to revoke it.
    pub id: String,
    /// What the operator called it.
    pub label: String,
    /// RFC 3339.
    pub created_at: String,
    /// After this moment it enrols nobody new; agents that it enrolled stay. `null`: never.
    pub expires_at: Option<String>,
    /// Since this moment it is worth nothing. `null`: not revoked.
    pub revoked_at: Option<String>,
    /// The last time that an agent was enrolled with it.
    pub last_used_at: Option<String>,
    /// How many agents are bound to it.
    pub agents: u64,
}

/// Answer of `GET /tokens`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenList {
    /// Every token, newest first.
    pub items: Vec<Token>,
}

/// Body of `POST /tokens`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// 1 to 100 characters.
    pub label: String,
    /// Seconds until it closes for new agents. Absent or `null`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<u64>,
}

/// Answer of `POST /tokens`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatedToken {
    /// The token as it will be listed.
    #[serde(flatten)]
    pub item: Token,
    /// Its text. It is not stored and cannot be shown again.
    pub token: String,
}

impl std::fmt::Debug for CreatedToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CreatedToken").field("item", &self.item).finish_non_exhaustive()
    }
}
