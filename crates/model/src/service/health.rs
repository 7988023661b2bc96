//! How to see whether a replica is well. A check inside the container is the engine's to run, the others are the
//! agent's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A check and when it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// What is checked.
    pub check: Check,
    /// From one check to the next.
    pub interval_ms: u64,
    /// After that long a check has failed.
    pub timeout_ms: u64,
    /// Failures in this time after the start do not count.
    pub start_period_ms: u64,
    /// So many failures in a row make a replica unhealthy.
    pub retries: u32,
    /// So many successes in a row make it healthy.
    pub success_threshold: u32,
}

/// What is checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Check {
    /// Nothing, and the image's own check is switched off.
    None,
    /// A command in the container: 0 is well.
    Exec {
        /// The program and its arguments.
        command: Vec<String>,
    },
    /// A request from the agent.
    Http {
        /// The container's port.
        port: u16,
        /// With a slash first.
        path: String,
        /// The Host header; without one the replica's address.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host_header: Option<String>,
        /// Further headers.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        headers: BTreeMap<String, String>,
        /// The status codes that are well; empty: 200 to 399.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        expect: Vec<u16>,
    },
    /// A connection from the agent.
    Tcp {
        /// The container's port.
        port: u16,
    },
}

impl Health {
    /// The times that engines take when nothing is said: every 30 s, 30 s for an answer, 3 failures.
    pub fn new(check: Check) -> Self {
        Self {
            check,
            interval_ms: 30_000,
            timeout_ms: 30_000,
            start_period_ms: 0,
            retries: 3,
            success_threshold: 1,
        }
    }

    /// How long a replica that starts may take before its update has failed, unless the update says it.
    pub fn patience_ms(&self) -> u64 {
        let one = self.interval_ms.saturating_add(self.timeout_ms);
        self.start_period_ms.saturating_add(one.saturating_mul(u64::from(self.retries)))
    }
}
