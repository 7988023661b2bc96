//! /api/v1/audit: who changed what.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

/// Query of `GET /audit` and of its export. Every field is optional.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AuditFilter {
    /// The actor's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// An action such as `config.create`, or all of a noun: `config`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// An object such as `config/otel`, or all of a noun: `config`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Not before this moment, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Before this moment, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

impl AuditFilter {
    /// The filter as it stands in a URL: `name=value` joined by `&`; empty when nothing is asked for.
    pub fn to_query_string(&self) -> String {
        let Self { actor, action, object, since, until } = self;
        let all =
            [("actor", actor), ("action", action), ("object", object), ("since", since), ("until", until)];
        let given = all.into_iter().filter_map(|(name, value)| {
            value.as_ref().map(|value| format!("{name}={}", crate::client::path_part(value)))
        });
        given.collect::<Vec<_>>().join("&")
    }
}

/// An entry of the audit trail.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditItem {
    /// Its number, decimal text; later entries have higher ones.
    pub id: String,
    /// When, RFC 3339.
    pub at: String,
    /// Who.
    pub actor: AuditActor,
    /// From which address; empty for the server itself.
    pub address: String,
    /// What was done: `config.create`.
    pub action: String,
    /// To what: `config/otel`.
    pub object: String,
    /// What mattered before; secrets and the texts of configurations never stand here.
    pub before: Option<Value>,
    /// What mattered after.
    pub after: Option<Value>,
}

/// Who changed something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AuditActor {
    /// `user`, `token` (a program with an API token) or `system` (the server, or whoever has its machine).
    pub kind: String,
    /// The user's name, or the token's label and number.
    pub name: String,
}

/// Answer of `GET /audit`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditPage {
    /// The newest first.
    pub items: Vec<AuditItem>,
    /// Where the next page begins; `null` on the last one.
    pub next_cursor: Option<String>,
    /// How many entries match on all pages.
    pub total: u64,
}
