//! A replica as the control plane knows it: what was decided about it, and what its host says.

use std::net::Ipv4Addr;

use host_proto::id::{HostId, NetworkId, ReleaseId, ReplicaId, ServiceId};
use host_proto::report::{HealthState, ReplicaReport, ReplicaState};

use crate::time::UnixMillis;

/// One container that should exist on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    /// Its identifier.
    pub id: ReplicaId,
    /// Of which service.
    pub service_id: ServiceId,
    /// In which release.
    pub release_id: ReleaseId,
    /// Where.
    pub host_id: HostId,
    /// Its number within the service, from 1.
    pub number: u32,
    /// How far its life is.
    pub phase: Phase,
    /// Since when.
    pub phase_since: UnixMillis,
    /// Its addresses.
    pub addresses: Vec<Address>,
    /// When it was made.
    pub created_at: UnixMillis,
    /// What its host said last.
    pub report: Option<ReplicaReport>,
    /// Since when the report is what it is, as far as state and health go.
    pub reported_since: Option<UnixMillis>,
}

/// An address of a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// On which network.
    pub network_id: NetworkId,
    /// Which.
    pub ip: Ipv4Addr,
}

/// How far the life of a replica is. It only goes forward.
///
/// ```text
/// Starting ── ready ──▶ Serving ── replaced, or too many ──▶ Draining ── nobody comes any more ──▶ Removing ──▶ gone
///   ▲ └────────────────── failed, or not wanted any more ───────────────────────────────────────────▲
///   │ the one before is gone                                                                        │
/// Preparing ────────────── failed, or not wanted any more ──────────────────────────────────────────┘
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Its image and its container are made beside the replica that it replaces; it starts when that one is gone.
    Preparing,
    /// It is made and not ready yet: nothing is sent to it.
    Starting,
    /// It was ready.
    Serving,
    /// It runs, names and ports lead to it no longer.
    Draining,
    /// Its host is told to remove it.
    Removing,
}

impl Phase {
    /// The word in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Preparing => "preparing",
            Self::Starting => "starting",
            Self::Serving => "serving",
            Self::Draining => "draining",
            Self::Removing => "removing",
        }
    }

    /// The phase of a word.
    pub fn of(word: &str) -> Option<Self> {
        [Self::Preparing, Self::Starting, Self::Serving, Self::Draining, Self::Removing]
            .into_iter()
            .find(|phase| phase.as_str() == word)
    }
}

impl Replica {
    /// What its host says that it does.
    pub fn state(&self) -> ReplicaState {
        self.report.as_ref().map_or(ReplicaState::Creating, |report| report.state)
    }

    /// Whether it works as far as is known: it runs, and its check, if it has one, is green.
    pub fn is_ready(&self) -> bool {
        self.report.as_ref().is_some_and(|report| {
            report.state == ReplicaState::Running
                && matches!(report.health, HealthState::None | HealthState::Healthy)
        })
    }

    /// Whether it has a check.
    pub fn is_checked(&self) -> bool {
        self.report.as_ref().is_some_and(|report| report.health != HealthState::None)
    }

    /// Whether its host has made a container for it, whatever that does.
    pub fn is_made(&self) -> bool {
        self.report.as_ref().is_some_and(|report| report.container_id.is_some())
    }

    /// Whether it is meant to stay.
    pub fn stays(&self) -> bool {
        self.is_coming() || self.phase == Phase::Serving
    }

    /// Whether it is on its way and did not serve yet.
    pub fn is_coming(&self) -> bool {
        matches!(self.phase, Phase::Preparing | Phase::Starting)
    }
}
