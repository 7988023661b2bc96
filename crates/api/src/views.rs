//! /api/v1/views: queries of the list of agents that were given a name.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Answer of `GET /views`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ViewList {
    /// Every view, by name.
    pub items: Vec<View>,
}

/// A saved view.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct View {
    /// Its id.
    pub id: String,
    /// Its name; no two have the same.
    pub name: String,
    /// What it shows.
    pub query: ViewQuery,
    /// Who made it.
    pub created_by: String,
    /// When, RFC 3339.
    pub created_at: String,
}

/// Body of `POST /views`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewView {
    /// 1 to 100 characters.
    pub name: String,
    /// What it shows.
    pub query: ViewQuery,
}

/// The part of [`crate::agents::AgentQuery`] that a view keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ViewQuery {
    /// Selector over attributes and labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// State of the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Health.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<String>,
    /// State of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_state: Option<String>,
    /// Name of the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// Order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort: Option<String>,
    /// The columns that the console shows, by its ids for them, at most 32; empty: those that it shows at first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
}
