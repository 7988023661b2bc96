//! What decisions look at beside the project: the hosts as they are now.

use std::collections::{BTreeMap, BTreeSet};

use host_proto::desired::Protocol;
use host_proto::id::{NetworkId, ReplicaId, RouteId};
use host_proto::message::LeftVolume;
use host_proto::report::ItemResult;
use model::UnixMillis;
use model::hosting::{Host, Replica};

use crate::blocks::Blocks;

/// Whether a host can be told anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It is connected, or was a moment ago (OFF-1).
    Online,
    /// The server started a moment ago, and the host may be on its way back (OFF-4): nothing is decided about it yet.
    Awaited,
    /// It is offline, and nobody knows for how long.
    Gone,
}

impl Presence {
    /// Why nobody knows what runs on a host, in words; `None` when it is known. `engine_down`: no container engine answers
    /// there.
    pub fn blindness(self, host: &str, engine_down: bool) -> Option<String> {
        match self {
            Self::Gone => Some(format!("host {host} is offline")),
            Self::Awaited => Some(format!("host {host} has not connected since the server started")),
            Self::Online => engine_down.then(|| format!("no container engine answers on host {host}")),
        }
    }
}

/// The replicas that each route of a host leads to.
pub type Routes = BTreeMap<RouteId, BTreeSet<ReplicaId>>;

/// Replicas of a host that its names and ports do not lead to any more, and since when it says so.
pub type Drained = BTreeMap<ReplicaId, UnixMillis>;

/// Networks of a host from which nothing outside is reached.
pub type Closed = BTreeSet<NetworkId>;

/// A host as it is now.
#[derive(Debug, Clone)]
pub struct HostView {
    /// The host.
    pub host: Host,
    /// Whether it can be told anything.
    pub presence: Presence,
    /// It is connected, and no container engine answers there.
    pub engine_down: bool,
    /// How many replicas of all projects it has.
    pub replicas: usize,
    /// Ports that services of other projects have on it, with the service's name as `project/service`.
    pub ports: BTreeMap<(u16, Protocol), String>,
    /// Ports on which something listens there that is not ours.
    pub foreign_ports: BTreeSet<u16>,
    /// Blocks of addresses that it has left for networks.
    pub blocks: Blocks,
    /// How many containers it has that nobody knows.
    pub unknown: usize,
    /// Volumes that it has and nobody knows; `None` until it says which.
    pub left_volumes: Option<Vec<LeftVolume>>,
    /// Items of its state that did not simply succeed.
    pub items: Vec<ItemResult>,
    /// Routes of the state that it has said of that it is applied, and the replicas that each led to; those which failed
    /// are among the items.
    pub routes: Routes,
    /// Networks that are closed in the state that it has said of that it is applied.
    pub closed: Closed,
    /// Replicas that are drained and that the state which it has said of that it is applied leads nobody to.
    pub drained: Drained,
}

/// The name of the host of a replica, if that host is gone.
pub(crate) fn gone<'a>(hosts: &'a [HostView], replica: &Replica) -> Option<&'a str> {
    let view = hosts.iter().find(|view| view.host.id == replica.host_id)?;
    (view.presence == Presence::Gone).then_some(view.host.name.as_str())
}

/// How long ago something was, in milliseconds; 0 when it lies ahead.
pub(crate) fn age_ms(now: UnixMillis, then: UnixMillis) -> u64 {
    u64::try_from(now.0.saturating_sub(then.0)).unwrap_or(0)
}
