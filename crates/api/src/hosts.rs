//! /api/v1/hosts and /api/v1/join-tokens: machines that joined, and what they join with.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Host {
    /// Its identifier, for ever.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// `online`, `offline`, `joining` (it never connected yet).
    pub state: String,
    /// Since when it is so, RFC 3339; `null`: it never connected.
    pub since: Option<String>,
    /// `normal` or `cordoned`: gets nothing new.
    pub mode: String,
    /// It adds and changes, and removes nothing, until somebody ends that: the server was restored from a back-up.
    pub adopting: bool,
    /// Set by operators.
    pub labels: BTreeMap<String, String>,
    /// Paths of it that containers may see.
    pub allowed_paths: Vec<String>,
    /// Its address in the mesh.
    pub mesh_ip: String,
    /// From where it is connected.
    pub address: Option<String>,
    /// The agent's version.
    pub agent_version: String,
    /// The system's name and version.
    pub os: String,
    /// The kernel's release.
    pub kernel: String,
    /// The processor: `x86_64`.
    pub arch: String,
    /// Processors.
    pub cpus: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Memory that could be had, in bytes.
    pub memory_available_bytes: Option<u64>,
    /// Share of its processors in use over the last interval, 0 to 1.
    pub cpu_used: Option<f64>,
    /// The disk of the engine, in bytes.
    pub disk_total_bytes: u64,
    /// What is free of it, in bytes.
    pub disk_free_bytes: u64,
    /// The engine's version; `null`: none answers.
    pub engine: Option<String>,
    /// How many replicas it should have.
    pub replicas: u32,
    /// How many of them work, as far as is known: none while it is offline, or no container engine answers there.
    pub ready: u32,
    /// The state that it applied last.
    pub generation: u64,
    /// Whether it has applied what it was told last.
    pub in_sync: bool,
    /// What is wrong there, one sentence each; the worst first.
    pub problems: Vec<String>,
    /// `/etc/machine-id`: an OpAMP agent with this `host.id` lives there.
    pub machine_id: String,
    /// How far its clock is off, in milliseconds; positive: ahead.
    pub clock_skew_ms: Option<i64>,
    /// RFC 3339.
    pub joined_at: String,
    /// When it was heard last, RFC 3339.
    pub last_seen: Option<String>,
    /// Counts changes by people; `ETag` of the host.
    pub version: u64,
}

/// Answer of `GET /hosts`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HostList {
    /// Every host, by name.
    pub items: Vec<Host>,
}

/// Body of `PATCH /hosts/{host}`. What is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeHost {
    /// Another name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// These labels and no others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// `normal` or `cordoned`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// These paths and no others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_paths: Option<Vec<String>>,
    /// `false`: the host may remove what it is not told to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adopting: Option<bool>,
}

/// A line of a host's own log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HostLogLine {
    /// RFC 3339.
    pub at: String,
    /// `error`, `warn`, `deploy`.
    pub level: String,
    /// `agent`, `docker`, `net`, `replica`.
    pub source: String,
    /// What.
    pub text: String,
}

/// Answer of `GET /hosts/{host}/log`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HostLog {
    /// The last lines, oldest first.
    pub items: Vec<HostLogLine>,
}

/// A join token as it is listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JoinToken {
    /// Its id.
    pub id: String,
    /// `waiting`, `used`, `expired`, `revoked`.
    pub state: String,
    /// The name that the host shall have; empty: its hostname.
    pub host_name: String,
    /// The host whose place a machine takes.
    pub for_host: Option<String>,
    /// Who made it.
    pub created_by: String,
    /// RFC 3339.
    pub created_at: String,
    /// RFC 3339.
    pub expires_at: String,
    /// RFC 3339.
    pub used_at: Option<String>,
    /// The host that joined with it.
    pub used_by: Option<String>,
}

/// Answer of `GET /join-tokens`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JoinTokenList {
    /// The newest first.
    pub items: Vec<JoinToken>,
}

/// Body of `POST /join-tokens`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewJoinToken {
    /// The name that the host shall have. Absent: its hostname.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_name: Option<String>,
    /// Seconds until it is refused; an hour when absent, a week at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<u64>,
    /// A host whose place the machine takes: one that was made anew. Its name and what runs there stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_host: Option<String>,
}

/// Answer of `POST /join-tokens`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CreatedJoinToken {
    /// The token as it will be listed.
    #[serde(flatten)]
    pub item: JoinToken,
    /// Its text, shown only now.
    pub token: String,
    /// What is pasted on the machine, with the token in it.
    pub command: String,
}

impl std::fmt::Debug for CreatedJoinToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CreatedJoinToken").field("item", &self.item).finish_non_exhaustive()
    }
}
