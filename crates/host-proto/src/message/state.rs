//! What a host says about a desired state.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::desired::Section;
use crate::id::{HostId, ReplicaId, VolumeId};
use crate::message::TakenBlock;
use crate::report::{ItemResult, Outcome, RefusedReason, ReplicaReport};

/// How a state was applied (STATE-2): at the end of each apply, and when that changes later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StateApplied {
    /// Of which epoch.
    pub epoch: String,
    /// Which state.
    pub generation: u64,
    /// How.
    pub result: Outcome,
    /// Why nothing, or less, was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_reason: Option<RefusedReason>,
    /// Each section.
    #[serde(default)]
    pub sections: BTreeMap<Section, SectionResult>,
    /// Items that did not simply succeed (STATE-10).
    #[serde(default)]
    pub items: Vec<ItemResult>,
    /// Replicas that changed since the last message.
    #[serde(default)]
    pub replicas: Vec<ReplicaReport>,
    /// Replicas whose containers are gone.
    #[serde(default)]
    pub removed: Vec<ReplicaId>,
    /// What a look at the own network says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub net_selftest: Option<NetSelftest>,
    /// As in [`Foreign`](super::Foreign), when the engine answers: networks of others come and go while a host is connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Vec<TakenBlock>>,
    /// Volumes of ours that the state does not list, when the engine answers, at most
    /// [`LEFT_VOLUMES`](crate::limits::LEFT_VOLUMES). Agents before it say nothing of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_volumes: Option<Vec<LeftVolume>>,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
}

/// A volume that was made for a desired state and that the one of now does not list: its control plane was restored and does
/// not know it, or it was made when the machine was another host. It is kept in any case (R43).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LeftVolume {
    /// What it was made for.
    pub volume_id: VolumeId,
    /// The engine's name for it.
    pub name: String,
    /// The host that it was made for, when that is not the one that says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_id: Option<HostId>,
}

/// How a section was applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectionResult {
    /// Whether all of it is as it should be.
    pub ok: bool,
    /// The hash that was sent with it.
    #[serde(default)]
    pub hash: String,
    /// What kept all of it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What a look at the own network says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NetSelftest {
    /// Names are answered.
    pub dns_ok: bool,
    /// The engine's own rules are there (R48).
    pub docker_firewall_ok: bool,
    /// Ours are.
    pub firewall_ok: bool,
}

/// How replicas stand, when that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaStatus {
    /// Those that changed; with [`ReplicaState::Removed`](crate::report::ReplicaState::Removed) those that are gone.
    pub replicas: Vec<ReplicaReport>,
}

/// The operator removed this host (R7): it forgets its token, its containers stay until `uninstall`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HostRemoved {
    /// Why, for people.
    pub reason: String,
}
