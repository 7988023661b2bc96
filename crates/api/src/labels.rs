//! Labels: what operators say of agents, beside what agents say of themselves. `PUT /agents/{uid}/labels` for one,
//! `POST /labels` for many. Selectors see a label as one more value of its key.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Body and answer of `PUT /agents/{uid}/labels`: all labels of one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Labels {
    /// At most 64. Keys: `[A-Za-z0-9][A-Za-z0-9._/-]{0,62}`; values: at most 63 bytes.
    pub labels: BTreeMap<String, String>,
}

/// Body of `POST /labels`: changes labels of the agents that meet the selector, or of those that are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LabelChange {
    /// The agents that meet it; empty: every agent. Excludes `agents`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// These agents, by instance_uid. Excludes `selector`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<Vec<String>>,
    /// Labels to set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// Keys to remove.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
}

/// Answer of `POST /labels`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LabelOutcome {
    /// How many agents were meant.
    pub matched: u64,
    /// How many of them have other labels now.
    pub changed: u64,
    /// How many of them would have had more than 64 labels, and keep those that they had.
    #[serde(default)]
    pub full: u64,
}
