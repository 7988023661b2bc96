//! What goes on beside a state that only adopts (STATE-7). A control plane that was restored from an older back-up knows
//! less than its hosts run: what the state before it asked for, and it has never named, is *unclaimed*. That runs on, is
//! started again after a reboot, and is reached by its ports and names, until a state comes that does not adopt.
//!
//! It follows from the replicas that are unclaimed and nothing else: networks, volumes, files, rules, names and ports are
//! unclaimed as far as those stand on them. Nothing is made for it: a replica whose container is gone is no longer served.

use std::collections::BTreeSet;
use std::net::IpAddr;

use host_proto::DesiredState;
use host_proto::desired::{
    DesiredRun, DnsRecord, FirewallRule, Kind, Mount, MountSource, ReplicaSpec, Route, VolumeState, Where,
};
use host_proto::id::{NetworkId, ReplicaId};
use host_proto::message::{TakenBlock, Taker};

use crate::actual::{Actual, Container, Seen};
use crate::firewall::Subnet;

/// What a host works towards while it adopts.
#[derive(Debug, Clone, PartialEq)]
pub struct Adopted {
    /// The server's state and beside it what is unclaimed. Numbers, hashes and budgets are those of the server's state.
    pub state: DesiredState,
    /// The replicas in it that the server does not name.
    pub unclaimed: BTreeSet<ReplicaId>,
}

/// What of an earlier state `own` does not name; `None` when it names all. Given again with each further state of the
/// same history, so that what that history named once and takes away is not held by what was before it.
pub fn unclaimed(before: &DesiredState, own: &DesiredState) -> Option<DesiredState> {
    let named: BTreeSet<&ReplicaId> =
        own.replicas.iter().map(|spec| &spec.replica_id).chain(&own.fenced_replica_ids).collect();
    let left = |spec: &&ReplicaSpec| {
        spec.desired == DesiredRun::Running
            && !named.contains(&spec.replica_id)
            && !before.fenced_replica_ids.contains(&spec.replica_id)
    };
    let replicas: Vec<ReplicaSpec> = before.replicas.iter().filter(left).cloned().collect();
    (!replicas.is_empty()).then(|| standing_on(before, replicas))
}

/// What a host works towards: its own state, and what is unclaimed and was seen. Nothing seen yet means that all is there.
/// A replica that is `moving` may be made this moment.
///
/// - What the state names itself is as the state says.
/// - A route or a name of both leads to the replicas of both.
/// - A replica of the state that may not run beside an unclaimed one gets no traffic before it runs.
/// - Of two ports with the same number, and two networks in the same block, the unclaimed one stands first.
pub fn with_unclaimed(
    own: &DesiredState,
    unclaimed: &DesiredState,
    seen: Option<&[Container]>,
    moving: impl Fn(&ReplicaId) -> bool,
) -> Adopted {
    let of = |id: &ReplicaId| seen.and_then(|all| all.iter().find(|it| it.replica_id == *id));
    let there =
        |spec: &&ReplicaSpec| seen.is_none() || of(&spec.replica_id).is_some() || moving(&spec.replica_id);
    let replicas = unclaimed.replicas.iter().filter(there).cloned().collect();
    let mut rest = standing_on(unclaimed, replicas);
    let ids = rest.replicas.iter().map(|spec| spec.replica_id.clone()).collect();
    let runs = |id: &ReplicaId| of(id).is_some_and(Container::is_active);
    let waits = |spec: &&ReplicaSpec| {
        !runs(&spec.replica_id) && rest.replicas.iter().any(|other| excludes(spec, other))
    };
    let mut state = own.clone();
    let waiting: Vec<ReplicaSpec> = state.replicas.iter().filter(waits).cloned().collect();
    lead_away(&mut state, &waiting);

    first(&mut state.networks, rest.networks, |it, other| it.id == other.id);
    beside(&mut state.volumes, rest.volumes, |it, other| it.id == other.id);
    beside(&mut state.files, rest.files, |it, other| it.id == other.id);
    beside(&mut state.firewall, rest.firewall, |it, other| it.id == other.id);
    beside(&mut state.registry.auth, rest.registry.auth, |it, other| it.registry == other.registry);
    state.replicas.append(&mut rest.replicas);
    for route in &mut rest.routes {
        if let Some(same) = state.routes.iter().find(|it| it.id == route.id) {
            route.upstreams.extend(same.upstreams.iter().cloned());
            *route = Route { upstreams: std::mem::take(&mut route.upstreams), ..same.clone() };
        }
    }
    state.routes.retain(|it| !rest.routes.iter().any(|other| other.id == it.id));
    first(&mut state.routes, rest.routes, |it, other| it.id == other.id);
    for record in rest.dns.records {
        match state.dns.records.iter_mut().find(|it| same_name(it, &record)) {
            None => state.dns.records.push(record),
            Some(same) => beside(&mut same.values, record.values, |it, other| it == other),
        }
    }
    state.dns.records.retain(|record| !record.values.is_empty());
    Adopted { state, unclaimed: ids }
}

/// Blocks of addresses that a server which does not name these networks has to keep off. They are counted among those that
/// are taken.
pub fn take_blocks(adopted: &Adopted, own: &DesiredState, actual: &mut Actual, most: usize) {
    let Seen::Known(taken) = &mut actual.taken else { return };
    for network in &adopted.state.networks {
        let known = own.networks.iter().any(|it| it.id == network.id);
        if !known && network.subnet.parse::<Subnet>().is_ok() {
            let (block, name) = (network.subnet.clone(), network.name.clone());
            taken.insert(0, TakenBlock { by: Taker::Network, block, name });
        }
    }
    taken.truncate(most);
}

/// Whether a replica may not run beside another one: of the same service, and it is one that runs once only or writes where
/// the other one does. Those of one release that differ in their number were made to run beside each other.
pub(crate) fn excludes(spec: &ReplicaSpec, other: &ReplicaSpec) -> bool {
    let together = spec.release_id == other.release_id && spec.number != other.number;
    let has = |mount: &Mount| lasting(other).any(|its| its.source == mount.source);
    let writes = || lasting(spec).filter(|mount| !mount.read_only).any(has);
    spec.service_id == other.service_id && !together && (spec.kind == Kind::Singleton || writes())
}

/// What outlives a replica and is mounted in it: volumes, and paths of the host.
fn lasting(spec: &ReplicaSpec) -> impl Iterator<Item = &Mount> {
    spec.mounts
        .iter()
        .filter(|mount| matches!(mount.source, MountSource::Volume { .. } | MountSource::HostPath { .. }))
}

/// The part of a state that these of its replicas stand on.
fn standing_on(all: &DesiredState, replicas: Vec<ReplicaSpec>) -> DesiredState {
    let mounts: Vec<&MountSource> =
        replicas.iter().flat_map(|spec| &spec.mounts).map(|mount| &mount.source).collect();
    let networks: BTreeSet<&NetworkId> =
        replicas.iter().flat_map(|spec| &spec.networks).map(|attachment| &attachment.network_id).collect();
    let ids: BTreeSet<&ReplicaId> = replicas.iter().map(|spec| &spec.replica_id).collect();
    let mut part = DesiredState::empty(all.epoch.clone(), all.generation);
    let listed = |it: &&host_proto::desired::Network| networks.contains(&it.id);
    part.networks = all.networks.iter().filter(listed).cloned().collect();
    part.firewall = all.firewall.iter().filter(|rule| concerns(rule, &networks)).cloned().collect();
    let mounted = |it: &&host_proto::desired::Volume| {
        let used =
            |mount: &&MountSource| matches!(mount, MountSource::Volume { volume_id } if *volume_id == it.id);
        it.state != VolumeState::Delete && mounts.iter().any(used)
    };
    part.volumes = all.volumes.iter().filter(mounted).cloned().collect();
    let seen = |it: &&host_proto::desired::File| {
        mounts.iter().any(|mount| matches!(mount, MountSource::File { file_id } if *file_id == it.id))
    };
    part.files = all.files.iter().filter(seen).cloned().collect();
    for route in &all.routes {
        let led = |it: &&host_proto::desired::Upstream| ids.contains(&it.replica_id);
        let upstreams: Vec<_> = route.upstreams.iter().filter(led).cloned().collect();
        if !upstreams.is_empty() {
            part.routes.push(Route { upstreams, ..route.clone() });
        }
    }
    part.dns.records.clone_from(&all.dns.records);
    keep_names(&mut part.dns.records, |network, ip| owns(&replicas, network, ip));
    let pulled = |it: &&host_proto::desired::RegistryAuth| {
        replicas.iter().any(|spec| it.is_for(spec.image.registry()))
    };
    part.registry.auth = all.registry.auth.iter().filter(pulled).cloned().collect();
    part.replicas = replicas;
    part
}

/// Whether a rule is about one of these networks, and none that is not among them.
fn concerns(rule: &FirewallRule, networks: &BTreeSet<&NetworkId>) -> bool {
    let ends = [&rule.src, &rule.dst];
    let mut named = ends.iter().filter_map(|end| match end {
        Where::Network(id) => Some(id),
        Where::Any | Where::Cidr(_) => None,
    });
    named.clone().next().is_some() && named.all(|id| networks.contains(id))
}

fn owns(replicas: &[ReplicaSpec], network: &NetworkId, ip: IpAddr) -> bool {
    let mut all = replicas.iter().flat_map(|spec| &spec.networks);
    all.any(|attachment| attachment.network_id == *network && IpAddr::V4(attachment.ip) == ip)
}

fn keep_names(records: &mut Vec<DnsRecord>, keep: impl Fn(&NetworkId, IpAddr) -> bool) {
    for record in &mut *records {
        record.values.retain(|value| keep(&value.network_id, value.ip));
    }
    records.retain(|record| !record.values.is_empty());
}

/// No port and no name leads to these replicas.
fn lead_away(state: &mut DesiredState, replicas: &[ReplicaSpec]) {
    if replicas.is_empty() {
        return;
    }
    for route in &mut state.routes {
        route.upstreams.retain(|it| !replicas.iter().any(|spec| spec.replica_id == it.replica_id));
    }
    keep_names(&mut state.dns.records, |network, ip| !owns(replicas, network, ip));
}

fn same_name(one: &DnsRecord, other: &DnsRecord) -> bool {
    (&one.project_id, &one.name, one.kind) == (&other.project_id, &other.name, other.kind)
}

/// Adds what the list does not have, behind it.
fn beside<T>(list: &mut Vec<T>, more: Vec<T>, same: impl Fn(&T, &T) -> bool) {
    for item in more {
        if !list.iter().any(|it| same(it, &item)) {
            list.push(item);
        }
    }
}

/// Adds what the list does not have, before it.
fn first<T>(list: &mut Vec<T>, more: Vec<T>, same: impl Fn(&T, &T) -> bool) {
    let mut all: Vec<T> = more.into_iter().filter(|item| !list.iter().any(|it| same(it, item))).collect();
    all.append(list);
    *list = all;
}
