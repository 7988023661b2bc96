//! What a host says about its replicas and about each item of a desired state.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::desired::Section;
use crate::id::{ReleaseId, ReplicaId, ServiceId};

/// What a host observed of one replica: every container with our labels has one, also when it does not run (CONNECT-3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaReport {
    /// Which.
    pub replica_id: ReplicaId,
    /// Of which service.
    pub service_id: ServiceId,
    /// In which release.
    pub release_id: ReleaseId,
    /// The hash that the container was made from: what really runs (R27).
    pub spec_hash: String,
    /// The engine's id; absent while there is no container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_id: Option<String>,
    /// What it does.
    pub state: ReplicaState,
    /// Whether it works.
    #[serde(default)]
    pub health: HealthState,
    /// When it was started, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// Whether the kernel ended it for lack of memory.
    #[serde(default)]
    pub oom_killed: bool,
    /// How often the engine started it again.
    #[serde(default)]
    pub restarts: u64,
    /// Its address on its first network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<IpAddr>,
    /// The image that it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_digest: Option<String>,
    /// What went wrong last, in the engine's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// What it printed last when it failed, at most ten lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_log_lines: Vec<String>,
    /// Why it was not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_reason: Option<String>,
}

impl ReplicaReport {
    /// A report that says no more than this, as of a replica without a container.
    pub fn of(ids: (ReplicaId, ServiceId, ReleaseId), spec_hash: &str, state: ReplicaState) -> Self {
        let (replica_id, service_id, release_id) = ids;
        Self {
            replica_id,
            service_id,
            release_id,
            spec_hash: spec_hash.to_owned(),
            container_id: None,
            state,
            health: HealthState::None,
            started_at: None,
            exit_code: None,
            oom_killed: false,
            restarts: 0,
            ip: None,
            image_digest: None,
            last_error: None,
            last_log_lines: Vec::new(),
            held_reason: None,
        }
    }
}

/// What a container does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplicaState {
    /// Its image is fetched, or it is made.
    Creating,
    /// It waits for something, `held_reason` says what.
    Held,
    /// It runs and is not known to be healthy yet.
    Starting,
    /// It runs; healthy, or nothing is asked.
    Running,
    /// It runs and its check fails.
    Unhealthy,
    /// The engine starts it again and again.
    Restarting,
    /// It ended.
    Exited,
    /// It cannot be made, started or removed; `last_error` says why.
    Failed,
    /// It cannot be stopped.
    Stuck,
    /// It is being removed.
    Removing,
    /// It is gone.
    Removed,
    /// A later version's word.
    #[serde(other)]
    Unknown,
}

/// What a check says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HealthState {
    /// Nothing is asked.
    #[default]
    None,
    /// Not known yet.
    Starting,
    /// It works.
    Healthy,
    /// It does not.
    Unhealthy,
    /// A later version's word.
    #[serde(other)]
    Unknown,
}

/// How a whole state was applied (STATE-2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All of it.
    Applied,
    /// Some items failed or wait; the others are done (STATE-10).
    Partial,
    /// Nothing could be done: the engine does not answer.
    Failed,
    /// Nothing was done on purpose.
    Refused,
    /// A later version's word.
    #[serde(other)]
    Unknown,
}

/// Why a host did nothing, or less than it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusedReason {
    /// The generation is not higher than what was applied in this epoch (STATE-6).
    StaleGeneration,
    /// More would have been removed than the state allows (R33); what is added was added.
    RefusedRemovals,
    /// A later version's word.
    #[serde(other)]
    Unknown,
}

/// How one item of a state was applied. Only those that did not simply succeed are told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemResult {
    /// In which section.
    pub section: Section,
    /// Its identifier in the state.
    pub id: String,
    /// What a person calls it: `network shop/back`, `port 8080/tcp`.
    pub name: String,
    /// How it stands.
    pub state: ItemState,
    /// Why, in the words of the engine or kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How often it was tried.
    #[serde(default)]
    pub attempts: u32,
    /// When it is tried again, in milliseconds from now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_in_ms: Option<u64>,
}

/// How an item stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemState {
    /// As it should be.
    Applied,
    /// Waits for another item, or for a fresh state.
    Held,
    /// Failed; is tried again.
    Failed,
    /// Will not be done: a foreign object stands in the way, or this version cannot.
    Refused,
    /// A later version's word.
    #[serde(other)]
    Unknown,
}
