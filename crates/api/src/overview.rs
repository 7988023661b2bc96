//! /api/v1/overview: the server and its fleet in a few figures.

use serde::{Deserialize, Serialize};

/// Answer of `GET /overview`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
}

/// Agents by state. `unhealthy` counts agents of any state whose last health report was not healthy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentCounts {
    /// Connected now.
    pub connected: u64,
    /// Connected as far as we know, but overdue.
    pub silent: u64,
    /// Gone.
    pub disconnected: u64,
    /// Last health report was not healthy.
    pub unhealthy: u64,
    /// All that are known.
    pub total: u64,
}
