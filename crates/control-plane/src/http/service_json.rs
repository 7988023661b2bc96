//! Services and replicas as the API writes them, with the state words that people see.

use std::collections::{BTreeMap, BTreeSet};

use api::services::{Replica as ReplicaJson, Service as ServiceJson};
use host_proto::id::HostId;
use host_proto::report::ReplicaState;
use model::hosting::{Phase, ProjectWorld, Replica, Service};
use scheduler::{Presence, words};

use super::context::Context;
use super::problem::ApiError;
use crate::hosts::LiveHosts;

/// A host as those who look at its replicas see it.
pub(super) struct HostSeen {
    pub(super) name: String,
    pub(super) presence: Presence,
    /// It is connected, and no container engine answers there.
    pub(super) engine_down: bool,
}

impl HostSeen {
    /// As its connection shows it at this moment.
    pub(super) fn new(live: &LiveHosts, id: &HostId, name: String) -> Self {
        Self { name, presence: live.presence(id), engine_down: live.is_without_engine(id) }
    }

    /// Why nobody knows what its replicas do, in words; `None` when it is known.
    fn blindness(&self) -> Option<String> {
        self.presence.blindness(&self.name, self.engine_down)
    }

    /// Whether what its replicas do is known.
    pub(super) fn is_known(&self) -> bool {
        self.blindness().is_none()
    }
}

/// The hosts, with what is known of their connections at one moment.
pub(super) type Hosts = BTreeMap<HostId, HostSeen>;

pub(super) async fn hosts(context: &Context) -> Result<Hosts, ApiError> {
    let hosts = context.store.hosts().await?.into_iter();
    let live = &context.services.live;
    Ok(hosts
        .map(|host| {
            let seen = HostSeen::new(live, &host.id, host.name);
            (host.id, seen)
        })
        .collect())
}

/// A host's name; empty if it was removed a moment ago.
pub(super) fn host_name(hosts: &Hosts, id: &HostId) -> String {
    hosts.get(id).map(|host| host.name.clone()).unwrap_or_default()
}

pub(super) fn service(
    context: &Context,
    world: &ProjectWorld,
    service: &Service,
    hosts: &Hosts,
) -> ServiceJson {
    let wanted = world.wanted(service);
    let current = service.current.as_ref().and_then(|id| world.releases.get(id));
    let shown = current.or(wanted.release);
    let replicas: Vec<ReplicaJson> =
        world.replicas_of(&service.id).map(|it| replica(world, service, it, hosts)).collect();
    let works = |it: &&ReplicaJson| matches!(&*it.state, "healthy" | "running") && it.phase == "serving";
    let ready = u32::try_from(replicas.iter().filter(works).count()).unwrap_or(u32::MAX);
    let in_deployment =
        world.deployment.as_ref().is_some_and(|it| it.items.iter().any(|item| item.service_id == service.id));
    let words: Vec<&str> = replicas.iter().map(|it| &*it.state).collect();
    let state = if in_deployment { "updating" } else { service_state(wanted.count, ready, &words) };
    let lacks =
        || context.services.waits_for(&service.id).or_else(|| strands(world.replicas_of(&service.id), hosts));
    ServiceJson {
        id: service.id.to_string(),
        project: world.project.name.clone(),
        name: service.name.clone(),
        state: state.to_owned(),
        image: shown.map(|it| it.spec.container.image.short()).unwrap_or_default(),
        release: current.map(|it| it.number),
        wanted: wanted.count,
        ready,
        waits_for: if ready < wanted.count { lacks() } else { None },
        ports: shown.map(|it| it.spec.ports.iter().map(words::port).collect()).unwrap_or_default(),
        volumes: shown.iter().flat_map(|it| it.spec.volumes()).map(str::to_owned).collect(),
        replicas,
    }
}

fn replica(world: &ProjectWorld, service: &Service, replica: &Replica, hosts: &Hosts) -> ReplicaJson {
    let report = replica.report.as_ref();
    let host = hosts.get(&replica.host_id);
    let blindness = host.map_or_else(|| Some("its host is gone".to_owned()), HostSeen::blindness);
    let is_known = blindness.is_none();
    let said = report.and_then(|it| it.last_error.clone().or_else(|| it.held_reason.clone()));
    ReplicaJson {
        id: replica.id.to_string(),
        name: scheduler::desired::container_name(
            &world.project.name,
            &service.name,
            replica.number,
            &replica.id,
        ),
        project: world.project.name.clone(),
        service: service.name.clone(),
        number: replica.number,
        state: state(replica, is_known).to_owned(),
        phase: replica.phase.as_str().to_owned(),
        host: host_name(hosts, &replica.host_id),
        host_online: host.is_some_and(|host| host.presence == Presence::Online),
        release: world.release_of(replica).map_or(0, |it| it.number),
        container: report.and_then(|it| it.container_id.clone()),
        addresses: replica.addresses.iter().map(|it| it.ip.to_string()).collect(),
        restarts: report.map_or(0, |it| it.restarts),
        started_at: report.and_then(|it| it.started_at.clone()),
        exit_code: report.and_then(|it| it.exit_code),
        reason: blindness.or(said),
        last_lines: report.map(|it| it.last_log_lines.clone()).unwrap_or_default(),
    }
}

/// The word that people see for a service without a deployment, by those of its replicas.
fn service_state(wanted: u32, ready: u32, replicas: &[&str]) -> &'static str {
    match (wanted, ready) {
        (0, _) => "stopped",
        // Without a check nobody knows more than that its processes run.
        (wanted, ready) if ready >= wanted => match replicas.contains(&"running") {
            true => "running",
            false => "healthy",
        },
        // That none is known to work is no failure of its own when its hosts are away.
        (_, 0) => match !replicas.is_empty() && replicas.iter().all(|it| *it == "stranded") {
            true => "stranded",
            false => "failed",
        },
        _ => "degraded",
    }
}

/// Why replicas are stranded.
fn strands<'a>(replicas: impl Iterator<Item = &'a Replica>, hosts: &Hosts) -> Option<String> {
    let why: BTreeSet<String> =
        replicas.filter_map(|replica| hosts.get(&replica.host_id)?.blindness()).collect();
    (!why.is_empty()).then(|| why.into_iter().collect::<Vec<_>>().join("; "))
}

/// The word that people see for a replica.
fn state(replica: &Replica, is_known: bool) -> &'static str {
    match replica.state() {
        // Its host said all else before it went away, or its engine did, and nobody moves it.
        _ if !is_known => "stranded",
        ReplicaState::Creating | ReplicaState::Held | ReplicaState::Starting => "starting",
        ReplicaState::Running if replica.is_ready() && !replica.is_checked() => "running",
        ReplicaState::Running if replica.is_ready() => "healthy",
        ReplicaState::Running => "starting",
        ReplicaState::Unhealthy => "unhealthy",
        ReplicaState::Exited | ReplicaState::Removed | ReplicaState::Removing => "stopped",
        ReplicaState::Restarting | ReplicaState::Failed | ReplicaState::Stuck => "failed",
        ReplicaState::Unknown if replica.phase == Phase::Removing => "stopped",
        ReplicaState::Unknown => "starting",
    }
}

#[cfg(test)]
mod tests {
    use super::{HostSeen, service_state, state};
    use host_proto::id::{ReleaseId, ReplicaId, ServiceId};
    use host_proto::report::{HealthState, ReplicaReport, ReplicaState};
    use model::UnixMillis;
    use model::hosting::{Phase, Replica};
    use scheduler::Presence;

    fn replica(said: ReplicaState, health: HealthState) -> Replica {
        let ids: (ReplicaId, ServiceId, ReleaseId) =
            ("rep_1".parse().unwrap(), "svc_1".parse().unwrap(), "rel_1".parse().unwrap());
        let report = ReplicaReport { health, ..ReplicaReport::of(ids.clone(), "h", said) };
        Replica {
            id: ids.0,
            service_id: ids.1,
            release_id: ids.2,
            host_id: "hst_1".parse().unwrap(),
            number: 1,
            phase: Phase::Serving,
            phase_since: UnixMillis(0),
            addresses: Vec::new(),
            created_at: UnixMillis(0),
            report: Some(report),
            reported_since: None,
        }
    }

    #[test]
    fn h21_what_a_host_said_before_it_went_offline_is_not_told_as_if_it_were_so() {
        let is_known = |presence, engine_down| {
            let host = HostSeen { name: "h1".to_owned(), presence, engine_down };
            host.is_known()
        };
        let healthy = replica(ReplicaState::Running, HealthState::Healthy);
        assert_eq!(state(&healthy, is_known(Presence::Online, false)), "healthy");
        for said in [ReplicaState::Running, ReplicaState::Failed, ReplicaState::Creating] {
            let replica = replica(said, HealthState::Healthy);
            assert_eq!(state(&replica, is_known(Presence::Gone, false)), "stranded");
            // Nor what the database of a server says that started a moment ago.
            assert_eq!(state(&replica, is_known(Presence::Awaited, false)), "stranded");
            assert_eq!(state(&replica, is_known(Presence::Online, true)), "stranded");
        }
    }

    #[test]
    fn a_service_is_as_good_as_what_is_known_of_its_replicas() {
        assert_eq!(service_state(0, 0, &[]), "stopped");
        assert_eq!(service_state(2, 2, &["healthy", "healthy"]), "healthy");
        assert_eq!(service_state(2, 2, &["healthy", "running"]), "running");
        assert_eq!(service_state(2, 1, &["healthy", "stranded"]), "degraded");
        assert_eq!(service_state(2, 0, &["stranded", "stranded"]), "stranded");
        // Not its host's fault alone.
        assert_eq!(service_state(2, 0, &["failed", "stranded"]), "failed");
        assert_eq!(service_state(1, 0, &[]), "failed");
    }
}
