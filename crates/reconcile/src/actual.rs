//! What was seen on the host. What could not be seen is *unknown*, never *gone* (R29). Made by `host-drivers`; what is
//! to be done about it stands in `plan`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use host_proto::desired::HealthCheck;
use host_proto::id::{FileId, HostId, ReleaseId, ReplicaId, ServiceId};
use host_proto::message::TakenBlock;
use host_proto::report::HealthState;

/// What was seen, or why nothing was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen<T> {
    /// Seen.
    Known(T),
    /// Not seen, for this reason: nothing may be concluded from it.
    Unknown(String),
}

impl<T> Seen<T> {
    /// What was seen.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unknown(_) => None,
        }
    }
}

/// What was seen on a host. Only objects with our label are named in full; of others only the names count, since a name
/// can be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actual {
    /// Our containers, also those that do not run.
    pub containers: Seen<Vec<Container>>,
    /// Networks.
    pub networks: Seen<Listed>,
    /// Blocks of addresses that are in use beside those of our networks: to be told, nothing is done about them here.
    pub taken: Seen<Vec<TakenBlock>>,
    /// Volumes.
    pub volumes: Seen<Listed>,
    /// Those images that were looked for and found, by what they were looked for (see [`crate::images::pull_name`]).
    pub images: BTreeSet<String>,
    /// Files in our directories.
    pub files: Seen<BTreeMap<FileId, FileSeen>>,
}

impl Actual {
    /// Nothing is known, for this reason.
    pub fn unknown(why: &str) -> Self {
        Self {
            containers: Seen::Unknown(why.to_owned()),
            networks: Seen::Unknown(why.to_owned()),
            taken: Seen::Unknown(why.to_owned()),
            volumes: Seen::Unknown(why.to_owned()),
            images: BTreeSet::new(),
            files: Seen::Unknown(why.to_owned()),
        }
    }

    /// An empty host.
    pub fn empty() -> Self {
        Self {
            containers: Seen::Known(Vec::new()),
            networks: Seen::Known(Listed::default()),
            taken: Seen::Known(Vec::new()),
            volumes: Seen::Known(Listed::default()),
            images: BTreeSet::new(),
            files: Seen::Known(BTreeMap::new()),
        }
    }

    /// Takes in what the host's own checks say (`http`, `tcp`): the engine knows nothing of them.
    pub fn set_health(&mut self, health: &BTreeMap<ReplicaId, HealthState>) {
        let Seen::Known(containers) = &mut self.containers else { return };
        for container in containers {
            if let Some(state) = health.get(&container.replica_id) {
                container.health = *state;
            }
        }
    }
}

/// How a file of ours was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSeen {
    /// Complete, in its place, with the mode and owner that the state wants; or the state does not list it.
    Right,
    /// There, and not as it should be.
    Wrong,
}

/// Networks or volumes of an engine: ours by identifier, others by name only.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listed {
    /// Ours: identifier (as the label says it) to name.
    pub ours: BTreeMap<String, String>,
    /// Names that others have taken.
    pub foreign: BTreeSet<String>,
    /// Those among the foreign that a control plane made for another host: the machine was that one once, or is it too.
    pub of_others: Vec<OfOther>,
}

/// An object that was made for another host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfOther {
    /// Its identifier, as the label says it.
    pub id: String,
    /// The engine's name for it.
    pub name: String,
    /// Which host.
    pub host: HostId,
}

impl Listed {
    /// The identifier that holds this name among ours.
    pub(crate) fn holder(&self, name: &str) -> Option<&str> {
        self.ours.iter().find(|(_, held)| *held == name).map(|(id, _)| id.as_str())
    }
}

/// A container of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// The engine's id.
    pub id: String,
    /// The engine's name, without a slash.
    pub name: String,
    /// Which replica it is.
    pub replica_id: ReplicaId,
    /// Of which service.
    pub service_id: ServiceId,
    /// In which release.
    pub release_id: ReleaseId,
    /// What people call it: `shop/web`.
    pub title: String,
    /// What it was made from.
    pub spec_hash: String,
    /// What it does.
    pub state: ContainerState,
    /// Whether it works.
    pub health: HealthState,
    /// How it ended last, as far as the list says.
    pub exit_code: Option<i64>,
    /// The image's id.
    pub image: String,
    /// The networks that it stands in, by name; the address is absent while it does not run.
    pub networks: BTreeMap<String, Option<Ipv4Addr>>,
    /// Names of the volumes that it holds.
    pub volumes: BTreeSet<String>,
    /// The files of ours that it sees.
    pub files: BTreeSet<FileId>,
    /// What only a closer look shows; absent until there was one.
    pub details: Option<Details>,
}

impl Container {
    /// Whether it has processes.
    pub const fn is_active(&self) -> bool {
        matches!(self.state, ContainerState::Running | ContainerState::Restarting | ContainerState::Paused)
    }

    /// Its health. Where the host itself has to ask and has not yet, it is not known.
    pub fn health_by(&self, check: &HealthCheck) -> HealthState {
        let asked_by_us = matches!(check, HealthCheck::Http { .. } | HealthCheck::Tcp { .. });
        if asked_by_us && self.health == HealthState::None { HealthState::Starting } else { self.health }
    }

    /// Whether it runs and works, or runs and nothing is asked (the readiness of R68).
    pub fn is_ready_by(&self, check: &HealthCheck) -> bool {
        self.state == ContainerState::Running
            && matches!(self.health_by(check), HealthState::None | HealthState::Healthy)
    }
}

/// What a container does, in the engine's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContainerState {
    /// Made and never started.
    Created,
    /// Runs.
    Running,
    /// Frozen by a person; left as it is.
    Paused,
    /// Ended, and the engine starts it again.
    Restarting,
    /// Is being removed.
    Removing,
    /// Ended.
    Exited,
    /// The engine failed to remove it.
    Dead,
    /// A word that is not known here; left as it is.
    Unknown,
}

/// What only a closer look at a container shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Details {
    /// When it was started last, RFC 3339.
    pub started_at: Option<String>,
    /// How it ended last.
    pub exit_code: Option<i64>,
    /// Whether the kernel ended it for lack of memory.
    pub oom_killed: bool,
    /// What the engine says went wrong.
    pub error: Option<String>,
    /// How often the engine started it again.
    pub restarts: u64,
    /// Its first process, while it runs: where its counters are found.
    pub pid: Option<u32>,
    /// What it printed last when it failed, at most ten lines.
    pub last_log_lines: Vec<String>,
}
