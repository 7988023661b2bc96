//! /api/v1/overview: the server and its fleet in a few figures.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::assignments::Assignment;

/// Answer of `GET /overview`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Overview {
    /// The server's version.
    pub version: String,
    /// Seconds since the server started.
    pub uptime_seconds: u64,
    /// How many agents are in which state.
    pub agents: AgentCounts,
    /// SHA-256 of the certificate authority's public key (SPKI), hex; `null` without TLS or with a certificate
    /// of one's own.
    pub ca_fingerprint: Option<String>,
    /// The URL that agents connect to.
    pub opamp_endpoint: String,
    /// The URL of console and API.
    pub public_url: String,
    /// When the server's data was restored from a back-up; `null` if it never was. What happened between the back-up
    /// and then is not known to it.
    #[serde(default)]
    pub restored_at: Option<String>,
    /// How many agents are how far with their configuration.
    #[serde(default)]
    pub config: ConfigCounts,
    /// Assignments on their way: `rolling`, `paused` or `clearing`.
    #[serde(default)]
    pub rollouts: Vec<Assignment>,
    /// The most frequent versions, at most 20.
    #[serde(default)]
    pub versions: Vec<VersionCount>,
    /// The most frequent reasons of agents that failed within the last hour and fail still, at most 10. After a restart of
    /// the server: since then.
    #[serde(default)]
    pub failures: Vec<Failure>,
}

/// Agents by state of their configuration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConfigCounts {
    /// Run what they are given.
    pub in_sync: u64,
    /// Were offered it and have not answered.
    pub offered: u64,
    /// Are at it.
    pub applying: u64,
    /// Could not.
    pub failed: u64,
    /// Said that they applied it and run something else.
    pub drifted: u64,
    /// Cannot be configured remotely.
    pub not_configurable: u64,
    /// Are given nothing.
    pub unmanaged: u64,
}

/// How many agents run a version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VersionCount {
    /// `service.name`; may be empty.
    pub name: String,
    /// `service.version`; may be empty.
    pub version: String,
    /// How many.
    pub agents: u64,
}

/// A reason why configurations failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Failure {
    /// What the agents said.
    pub error: String,
    /// How many said it.
    pub agents: u64,
    /// The instance_uid of one of them.
    pub example: String,
}

/// Agents by state. `unhealthy` counts those of the connected and silent ones that say they are not healthy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentCounts {
    /// Connected now.
    pub connected: u64,
    /// Connected as far as we know, but overdue.
    pub silent: u64,
    /// Gone.
    pub disconnected: u64,
    /// Connected or silent, and the last health report was not healthy. Of agents that are gone nobody knows.
    pub unhealthy: u64,
    /// All that are known.
    pub total: u64,
}
