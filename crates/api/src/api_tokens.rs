//! /api/v1/api-tokens: tokens for programs that call this API. A token's text exists only in the answer that made it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An API token as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApiToken {
    /// Its id, shown in lists and used to revoke it.
    pub id: String,
    /// What its maker called it.
    pub label: String,
    /// `viewer`, `operator` or `admin`; it never may do more than its owner.
    pub role: String,
    /// The user that it belongs to.
    pub created_by: String,
    /// RFC 3339.
    pub created_at: String,
    /// When it ends by itself. `null`: never.
    pub expires_at: Option<String>,
    /// Since when it is worth nothing. `null`: not revoked.
    pub revoked_at: Option<String>,
    /// When it was used last, to the minute.
    pub last_used_at: Option<String>,
}

/// Answer of `GET /api-tokens`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApiTokenList {
    /// One's own tokens, for administrators everybody's; the newest first.
    pub items: Vec<ApiToken>,
}

/// Body of `POST /api-tokens`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewApiToken {
    /// 1 to 100 characters.
    pub label: String,
    /// `viewer`, `operator` or `admin`, not more than one's own.
    pub role: String,
    /// How long it works: `90s`, `15m`, `12h`, `90d`. Absent or `null`: until it is revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<String>,
}

/// Answer of `POST /api-tokens`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatedApiToken {
    /// The token as it will be listed.
    #[serde(flatten)]
    pub item: ApiToken,
    /// Its text. It is not stored and cannot be shown again.
    pub token: String,
}

impl std::fmt::Debug for CreatedApiToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CreatedApiToken").field("item", &self.item).finish_non_exhaustive()
    }
}
