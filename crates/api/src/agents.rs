//! /api/v1/agents: the inventory as a list and one agent in full.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

/// Query of `GET /agents/attribute-keys`. Every field is optional.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AttributeKeyQuery {
    /// What the keys begin with, whatever the case.
    pub prefix: Option<String>,
    /// 1 to 500, 100 when absent.
    pub limit: Option<u32>,
}

/// Answer of `GET /agents/attribute-keys`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AttributeKeys {
    /// Keys of attributes and labels that some agent has, in their order.
    pub items: Vec<String>,
}

/// Query of `GET /agents`. Every field is optional; names are those of the query parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AgentQuery {
    /// Kubernetes label-selector over attributes: `service.name=web,env in (prod, stage),!canary`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Free text: part of the name, host, instance id or instance_uid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// `connected`, `silent` or `disconnected`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// `healthy`, `unhealthy` or `unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<String>,
    /// State of its configuration: `in sync`, `offered`, `applying`, `failed`, `drifted`, `not configurable` or
    /// `unmanaged`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_state: Option<String>,
    /// Name of the configuration that it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// Whether agents that another one replaced are listed too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<bool>,
    /// `name`, `last_seen`, …; a leading `-` reverses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort: Option<String>,
    /// 1 to 500, 100 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

impl AgentQuery {
    /// The query as it stands in a URL, without the question mark; empty when nothing is asked for.
    pub fn to_query_string(&self) -> String {
        let Self { selector, q, state, health, config_state, config, replaced, sort, limit, cursor } = self;
        let text = |name: &'static str, value: &Option<String>| {
            value.as_ref().map(|value| format!("{name}={}", crate::client::path_part(value)))
        };
        let parts = [
            text("selector", selector),
            text("q", q),
            text("state", state),
            text("health", health),
            text("config_state", config_state),
            text("config", config),
            replaced.map(|replaced| format!("replaced={replaced}")),
            text("sort", sort),
            limit.map(|limit| format!("limit={limit}")),
            text("cursor", cursor),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("&")
    }
}

/// Answer of `GET /agents`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentPage {
    /// The page's agents.
    pub items: Vec<AgentSummary>,
    /// Where the next page begins; `null` on the last one.
    pub next_cursor: Option<String>,
    /// How many agents match on all pages.
    pub total: u64,
}

/// An agent as one row.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentSummary {
    /// The agent's identity: a UUID as text.
    pub instance_uid: String,
    /// `service.name`.
    pub name: Option<String>,
    /// `service.namespace`.
    pub namespace: Option<String>,
    /// `service.version`.
    pub version: Option<String>,
    /// `service.instance.id`.
    pub instance_id: Option<String>,
    /// `host.name`.
    pub host: Option<String>,
    /// `os.type`.
    pub os: Option<String>,
    /// `connected`, `silent` or `disconnected`.
    pub state: String,
    /// `websocket` or `http`: how it was connected last.
    pub transport: Option<String>,
    /// Where it connected from.
    pub peer_address: Option<String>,
    /// Since when it is connected; `null` while it is not.
    pub connected_since: Option<String>,
    /// The last time that anything came from it.
    pub last_seen: Option<String>,
    /// Its last health report; `null` when it never reported health.
    pub healthy: Option<bool>,
    /// The status text of that report.
    pub health_status: Option<String>,
    /// What it says about the remote configuration; `null` when it said nothing.
    pub remote_config: Option<RemoteConfig>,
    /// The capabilities' names as the specification spells them.
    pub capabilities: Vec<String>,
    /// The agent that came in this one's place.
    pub replaced_by: Option<String>,
    /// The agent in whose place this one came.
    pub replaces: Option<String>,
    /// What operators say of it.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// What it is given and how that went.
    #[serde(default)]
    pub config: AgentConfig,
}

/// The configuration that an agent is given, and how far it is with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentConfig {
    /// `in sync`, `offered`, `applying`, `failed`, `drifted`, `not configurable` or `unmanaged`.
    pub state: String,
    /// Name of the configuration.
    pub config: Option<String>,
    /// Number of the revision.
    pub revision: Option<u32>,
    /// The assignment that gives it.
    pub assignment: Option<String>,
    /// Whether the agent is pinned to the revision.
    #[serde(rename = "override")]
    pub pinned: bool,
    /// Why it failed or cannot be configured, in words.
    pub reason: Option<String>,
}

/// What an agent says about its remote configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RemoteConfig {
    /// `unset`, `applied`, `applying` or `failed`.
    pub status: String,
    /// Why it failed.
    pub error: Option<String>,
}

/// Answer of `GET /agents/{uid}`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentDetail {
    /// What the list shows.
    #[serde(flatten)]
    pub summary: AgentSummary,
    /// Its attributes.
    pub description: Description,
    /// All capability bits as sent, decimal text (JSON numbers end at 2^53).
    pub capability_bits: String,
    /// The bits that this version does not know, decimal text.
    pub unknown_capability_bits: String,
    /// The health tree.
    pub health: Option<Health>,
    /// What it runs now, secrets masked.
    pub effective_config: Option<EffectiveConfig>,
    /// Components that it has.
    pub components: Option<Components>,
    /// As reported.
    pub package_statuses: Option<Value>,
    /// As reported.
    pub connection_settings_status: Option<Value>,
    /// Custom message capabilities that it supports.
    pub custom_capabilities: Vec<String>,
    /// The remote configuration's status in full.
    pub remote_config_status: Option<RemoteConfigStatus>,
    /// The sequence number of its last message; `null` while it is not connected here.
    pub sequence_num: Option<u64>,
    /// When its instance_uid was bound to a credential.
    pub enrolled_at: Option<String>,
    /// Which credential.
    pub credential: Option<CredentialRef>,
    /// The first time that it was heard.
    pub first_seen: Option<String>,
    /// What it is given; `null` when it is unmanaged.
    #[serde(default)]
    pub offered: Option<Offered>,
    /// Where what it runs differs from what it is given; `null` when that cannot be said.
    #[serde(default)]
    pub drift: Option<Vec<Drift>>,
}

/// The configuration that an agent is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Offered {
    /// Its name.
    pub config: String,
    /// Number of the revision.
    pub revision: u32,
    /// The hash that the agent reports for it, hex.
    pub hash: String,
    /// Its files, secrets masked.
    pub files: Vec<ConfigFile>,
}

/// A place where an agent runs something else than it is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Drift {
    /// The keys that lead there, such as `exporters.otlp.endpoint`, or the name of a file.
    pub path: String,
    /// What it is given there, secrets masked.
    pub offered: String,
    /// What it runs; `null` when it has nothing there.
    pub effective: Option<String>,
}

/// An agent's attributes in the order in which it sent them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Description {
    /// They say which agent it is.
    pub identifying: Vec<Attribute>,
    /// They say where and how it runs.
    pub non_identifying: Vec<Attribute>,
}

/// One attribute with its type.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Attribute {
    /// Its name, such as `host.name`.
    pub key: String,
    /// `string`, `bool`, `int`, `double`, `bytes`, `array`, `map` or `empty`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its value: int as decimal text, bytes as base64, a double that is no number as text.
    pub value: Value,
}

/// The health of a component and of those below it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// As reported.
    pub healthy: bool,
    /// Human readable, may be empty.
    pub status: String,
    /// May be empty.
    pub last_error: String,
    /// When the component started.
    pub start_time: Option<String>,
    /// When the status was taken.
    pub status_time: Option<String>,
    /// Attributes of the component.
    pub attributes: Vec<Attribute>,
    /// Components below this one.
    #[schema(no_recursion)]
    pub components: BTreeMap<String, Health>,
}

/// What an agent runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EffectiveConfig {
    /// Its files.
    pub files: Vec<ConfigFile>,
    /// SHA-256 of the report, hex.
    pub hash: String,
}

/// One file of a configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConfigFile {
    /// Its name, empty for an agent with a single file.
    pub name: String,
    /// MIME type, may be empty.
    pub content_type: String,
    /// The text, secrets masked.
    pub body: String,
    /// Whether anything was masked.
    pub redacted: bool,
    /// `utf8`, or `base64` when the body is no text.
    pub encoding: String,
}

/// Components that an agent has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Components {
    /// The agent's hash of the list, hex.
    pub hash: String,
    /// Name → {metadata, components}.
    pub tree: Value,
}

/// The remote configuration's status in full.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RemoteConfigStatus {
    /// Hash of the configuration that it is about, hex.
    pub hash: String,
    /// `unset`, `applied`, `applying` or `failed`.
    pub status: String,
    /// Why it failed.
    pub error: Option<String>,
}

/// The credential that an agent is bound to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CredentialRef {
    /// The enrolment token's id.
    pub id: String,
    /// Its label.
    pub label: String,
}
