//! What a host says of its replicas: what was seen, what waits and what failed, in one item each (CONNECT-3, R27). And the
//! watch for containers that an engine starts again and again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use host_proto::desired::{DesiredRun, ReplicaSpec, Section};
use host_proto::id::ReplicaId;
use host_proto::report::{HealthState, ReplicaReport, ReplicaState};
use host_proto::{DesiredState, Moment};

use crate::actual::{Actual, Container, ContainerState, Seen};
use crate::containers::sources;
use crate::images::pull_name;
use crate::item::Item;
use crate::memory::Memory;
use crate::plan::{Plan, Why};

/// Restarts are counted over this long.
pub const CRASH_WINDOW: Duration = Duration::from_secs(60);
/// So many restarts within the window are a crash loop.
pub const CRASHES: usize = 3;
/// A container that has run this long since its last restart is out of the loop.
pub const STEADY_AFTER: Duration = Duration::from_secs(10);

/// Sees containers that are started again and again, although each single look finds them running.
#[derive(Debug, Clone, Default)]
pub struct CrashWatch {
    seen: BTreeMap<String, Restarts>,
}

#[derive(Debug, Clone)]
struct Restarts {
    count: u64,
    at: VecDeque<Moment>,
}

impl CrashWatch {
    /// Takes in a look at the containers.
    pub fn observe(&mut self, now: Moment, actual: &Actual) {
        let Seen::Known(containers) = &actual.containers else { return };
        let there: BTreeSet<&str> = containers.iter().map(|container| container.id.as_str()).collect();
        self.seen.retain(|id, _| there.contains(id.as_str()));
        for container in containers {
            let Some(count) = container.details.as_ref().map(|details| details.restarts) else { continue };
            let seen = self
                .seen
                .entry(container.id.clone())
                .or_insert_with(|| Restarts { count, at: VecDeque::new() });
            // The engine counts from zero again after a start by hand.
            for _ in 0..count.saturating_sub(seen.count).min(CRASHES as u64) {
                seen.at.push_back(now);
            }
            seen.count = count;
            while seen.at.len() > CRASHES || seen.at.front().is_some_and(|at| now.since(*at) > CRASH_WINDOW) {
                seen.at.pop_front();
            }
        }
    }

    /// Whether a container is in a crash loop.
    pub fn is_looping(&self, now: Moment, container: &str) -> bool {
        self.seen.get(container).is_some_and(|seen| {
            seen.at.len() >= CRASHES && seen.at.back().is_some_and(|at| now.since(*at) < STEADY_AFTER)
        })
    }
}

/// What reports are made from.
#[derive(Debug, Clone, Copy)]
pub struct Sight<'a> {
    /// What is wanted; absent before the first state.
    pub desired: Option<&'a DesiredState>,
    /// What was seen.
    pub actual: &'a Actual,
    /// What waits.
    pub plan: &'a Plan,
    /// What was tried.
    pub memory: &'a Memory,
    /// Who is started again and again.
    pub crashes: &'a CrashWatch,
    /// The time of the look.
    pub now: Moment,
}

/// One item for each container of ours and for each replica of the state that has none. `None` while the engine does not
/// answer: nothing is known then (R29).
pub fn reports(sight: &Sight<'_>) -> Option<Vec<ReplicaReport>> {
    let containers = sight.actual.containers.known()?;
    let specs: BTreeMap<&ReplicaId, &ReplicaSpec> = sight
        .desired
        .iter()
        .flat_map(|desired| &desired.replicas)
        .map(|spec| (&spec.replica_id, spec))
        .collect();
    let mut reports: BTreeMap<&ReplicaId, ReplicaReport> = BTreeMap::new();
    for container in containers {
        let spec = specs.get(&container.replica_id).copied();
        let right = spec.is_some_and(|spec| spec.spec_hash == container.spec_hash);
        if right || !reports.contains_key(&container.replica_id) {
            reports.insert(&container.replica_id, of_container(sight, container, spec));
        }
    }
    for spec in specs.into_values() {
        let wanted = matches!(spec.desired, DesiredRun::Running | DesiredRun::Stopped);
        if wanted && !reports.contains_key(&spec.replica_id) {
            reports.insert(&spec.replica_id, without_container(sight, spec));
        }
    }
    Some(reports.into_values().collect())
}

fn of_container(sight: &Sight<'_>, container: &Container, spec: Option<&ReplicaSpec>) -> ReplicaReport {
    let item = Item::Replica(container.replica_id.clone());
    let health = spec.map_or(container.health, |spec| container.health_by(&spec.health.check));
    let failed = failure(sight, &item, spec);
    let held = held(sight, &item);
    let state = state_of(sight, container, health, spec);
    let details = container.details.clone().unwrap_or_default();
    let runs = container.state == ContainerState::Running;
    ReplicaReport {
        replica_id: container.replica_id.clone(),
        service_id: container.service_id.clone(),
        release_id: container.release_id.clone(),
        spec_hash: container.spec_hash.clone(),
        container_id: Some(container.id.clone()),
        state,
        health: if runs { health } else { HealthState::None },
        started_at: details.started_at,
        exit_code: details.exit_code.or(container.exit_code),
        oom_killed: details.oom_killed,
        restarts: details.restarts,
        ip: address(container, spec),
        image_digest: spec
            .and_then(|spec| spec.image.digest.clone())
            .or_else(|| Some(container.image.clone())),
        last_error: failed.or(details.error),
        last_log_lines: details.last_log_lines,
        held_reason: held,
    }
}

fn state_of(
    sight: &Sight<'_>,
    container: &Container,
    health: HealthState,
    spec: Option<&ReplicaSpec>,
) -> ReplicaState {
    let item = Item::Replica(container.replica_id.clone());
    let unwanted = spec.is_none_or(|spec| spec.desired != DesiredRun::Running);
    if unwanted && sight.memory.is_stuck(&item) {
        return ReplicaState::Stuck;
    }
    if unwanted && container.is_active() && sight.memory.is_busy(&item) {
        return ReplicaState::Removing;
    }
    match container.state {
        ContainerState::Running if sight.crashes.is_looping(sight.now, &container.id) => {
            ReplicaState::Restarting
        }
        ContainerState::Running => match health {
            HealthState::Unhealthy => ReplicaState::Unhealthy,
            HealthState::Starting => ReplicaState::Starting,
            HealthState::None | HealthState::Healthy | HealthState::Unknown => ReplicaState::Running,
        },
        ContainerState::Paused => ReplicaState::Running,
        ContainerState::Restarting => ReplicaState::Restarting,
        ContainerState::Removing => ReplicaState::Removing,
        ContainerState::Created | ContainerState::Exited if sight.memory.failures(&item) > 0 => {
            ReplicaState::Failed
        }
        ContainerState::Created if waits(sight, &item) => ReplicaState::Held,
        ContainerState::Created => ReplicaState::Creating,
        ContainerState::Exited => ReplicaState::Exited,
        ContainerState::Dead => ReplicaState::Failed,
        ContainerState::Unknown => ReplicaState::Unknown,
    }
}

fn without_container(sight: &Sight<'_>, spec: &ReplicaSpec) -> ReplicaReport {
    let item = Item::Replica(spec.replica_id.clone());
    let failed = failure(sight, &item, Some(spec));
    let state = match &failed {
        Some(_) => ReplicaState::Failed,
        None if waits(sight, &item) => ReplicaState::Held,
        None => ReplicaState::Creating,
    };
    let ids = (spec.replica_id.clone(), spec.service_id.clone(), spec.release_id.clone());
    let held_reason = held(sight, &item);
    ReplicaReport { last_error: failed, held_reason, ..ReplicaReport::of(ids, &spec.spec_hash, state) }
}

/// The last error of the replica itself, of its image, of what it is attached to, or of what the plan says cannot be.
fn failure(sight: &Sight<'_>, item: &Item, spec: Option<&ReplicaSpec>) -> Option<String> {
    let own = sight.memory.attempts(item).map(|attempts| attempts.error.clone());
    let image = || {
        let image = pull_name(&spec?.image);
        let attempts = sight.memory.attempts(&Item::Image(image.clone()))?;
        Some(format!("image {image}: {}", attempts.error))
    };
    let refused = || match why(sight, item)? {
        Why::Refused(reason) => Some(reason.clone()),
        _ => None,
    };
    own.or_else(image).or_else(|| source(sight, spec?)).or_else(refused)
}

/// The last error of a network, volume or file that a replica needs.
fn source(sight: &Sight<'_>, spec: &ReplicaSpec) -> Option<String> {
    sources(spec).into_iter().find_map(|item| {
        let attempts = sight.memory.attempts(&item)?;
        let listed = sight.desired?;
        let name = match &item {
            Item::Network(id) => listed.networks.iter().find(|it| it.id == *id).map(|it| &it.name),
            Item::Volume(id) => listed.volumes.iter().find(|it| it.id == *id).map(|it| &it.name),
            _ => None,
        };
        let name = name.map(|name| format!(" {name}")).unwrap_or_default();
        let kind = match item.section() {
            Section::Networks => "network",
            Section::Volumes => "volume",
            _ => "a file of it",
        };
        Some(format!("{kind}{name}: {}", attempts.error))
    })
}

fn why<'a>(sight: &Sight<'a>, item: &Item) -> Option<&'a Why> {
    sight.plan.held.iter().find(|held| held.item == *item).map(|held| &held.why)
}

/// Why it waits; nothing when a step is under way.
fn held(sight: &Sight<'_>, item: &Item) -> Option<String> {
    why(sight, item).filter(|why| !matches!(why, Why::Busy)).map(ToString::to_string)
}

/// Whether it waits for something other than a step that is under way.
fn waits(sight: &Sight<'_>, item: &Item) -> bool {
    match why(sight, item) {
        None | Some(Why::Busy) => false,
        Some(Why::Needs { reason, .. }) => *reason != Why::Busy.to_string(),
        Some(_) => true,
    }
}

fn address(container: &Container, spec: Option<&ReplicaSpec>) -> Option<IpAddr> {
    let seen: BTreeSet<IpAddr> = container.networks.values().flatten().map(|ip| IpAddr::V4(*ip)).collect();
    let first = spec.and_then(|spec| spec.networks.first()).map(|attachment| IpAddr::V4(attachment.ip));
    first.filter(|ip| seen.contains(ip)).or_else(|| seen.first().copied())
}
