//! Counters of a host and its replicas (REQ-8): they only grow, so that a lost message loses nothing (R87).

use serde::{Deserialize, Serialize};

use super::session::DockerFacts;
use crate::id::ReplicaId;

/// What a host measured.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Metrics {
    /// Counts from 1 since the agent's start.
    pub seq: u64,
    /// When, RFC 3339.
    pub at: String,
    /// The machine.
    pub host: HostMetrics,
    /// The engine.
    pub engine: EngineMetrics,
    /// The agent itself and its children.
    pub agent: AgentMetrics,
    /// Running replicas.
    pub replicas: Vec<ReplicaMetrics>,
    /// So many messages like this were dropped before (R24).
    pub dropped_before: u64,
}

/// The machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HostMetrics {
    /// Processor time in use since boot, all processors, in microseconds.
    pub cpu_busy_us: u64,
    /// Processor time in all since boot, in microseconds.
    pub cpu_total_us: u64,
    /// Load of the last minute.
    pub load1: f64,
    /// Memory in bytes.
    pub mem_total_bytes: u64,
    /// Memory that could be had, in bytes.
    pub mem_available_bytes: u64,
    /// Swap in use, in bytes.
    pub swap_used_bytes: u64,
    /// File systems.
    pub disk: Vec<DiskMetrics>,
    /// Interfaces, ours left out.
    pub net: Vec<NetMetrics>,
}

/// A file system.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskMetrics {
    /// Where it is mounted.
    pub mount: String,
    /// Bytes in all.
    pub total_bytes: u64,
    /// Bytes that are free for us.
    pub free_bytes: u64,
    /// Files that could be made in all.
    pub inodes_total: u64,
    /// Files that can still be made.
    pub inodes_free: u64,
}

/// An interface.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NetMetrics {
    /// Its name.
    pub iface: String,
    /// Bytes that came in.
    pub rx_bytes: u64,
    /// Bytes that went out.
    pub tx_bytes: u64,
    /// Packets that were dropped on their way in.
    pub rx_drops: u64,
}

/// The engine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EngineMetrics {
    /// Containers, foreign ones too.
    pub containers: u64,
    /// Whether it answers.
    pub up: bool,
    /// What it is; absent while it does not answer. An engine can come, go and be another one while a host is connected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facts: Option<DockerFacts>,
}

/// The agent itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentMetrics {
    /// Resident memory in bytes.
    pub rss_bytes: u64,
    /// Processor time in microseconds, its ended children with it.
    pub cpu_us: u64,
    /// Reconciles since its start.
    pub reconciles: u64,
    /// Those that changed something.
    pub reconciles_with_changes: u64,
    /// How long the last one took, in microseconds.
    pub reconcile_last_us: u64,
    /// Connections since its start.
    pub connects: u64,
}

/// A running replica.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaMetrics {
    /// Which.
    pub replica_id: ReplicaId,
    /// Processor time in microseconds.
    #[serde(default)]
    pub cpu_us: u64,
    /// Memory in bytes, without what the kernel could drop.
    #[serde(default)]
    pub mem_bytes: u64,
    /// Its limit; 0 if none.
    #[serde(default)]
    pub mem_limit_bytes: u64,
    /// Bytes that came in.
    #[serde(default)]
    pub rx_bytes: u64,
    /// Bytes that went out.
    #[serde(default)]
    pub tx_bytes: u64,
    /// Processes and threads.
    #[serde(default)]
    pub pids: u64,
}
