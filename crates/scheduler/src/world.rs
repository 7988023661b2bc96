//! What decisions look at beside the project: the hosts as they are now.

use std::collections::{BTreeMap, BTreeSet};

use host_proto::desired::Protocol;
use host_proto::report::ItemResult;
use model::UnixMillis;
use model::hosting::Host;

/// A host as it is now.
#[derive(Debug, Clone)]
pub struct HostView {
    /// The host.
    pub host: Host,
    /// Whether it is connected, or was a moment ago (OFF-1).
    pub online: bool,
    /// How many replicas of all projects it has.
    pub replicas: usize,
    /// Ports that services of other projects have on it, with the service's name as `project/service`.
    pub ports: BTreeMap<(u16, Protocol), String>,
    /// Ports on which something listens there that is not ours.
    pub foreign_ports: BTreeSet<u16>,
    /// Items of its state that did not simply succeed.
    pub items: Vec<ItemResult>,
}

/// How long ago something was, in milliseconds; 0 when it lies ahead.
pub(crate) fn age_ms(now: UnixMillis, then: UnixMillis) -> u64 {
    u64::try_from(now.0.saturating_sub(then.0)).unwrap_or(0)
}
