//! Services and replicas as the API writes them, with the state words that people see.

use std::collections::BTreeMap;

use api::services::{Replica as ReplicaJson, Service as ServiceJson};
use host_proto::id::HostId;
use host_proto::report::ReplicaState;
use model::hosting::{Phase, ProjectWorld, Replica, Service};
use scheduler::words;

use super::context::Context;
use super::problem::ApiError;

/// The names of hosts.
pub(super) type HostNames = BTreeMap<HostId, String>;

pub(super) async fn host_names(context: &Context) -> Result<HostNames, ApiError> {
    Ok(context.store.hosts().await?.into_iter().map(|host| (host.id, host.name)).collect())
}

pub(super) fn service(
    context: &Context,
    world: &ProjectWorld,
    service: &Service,
    names: &HostNames,
) -> ServiceJson {
    let wanted = world.wanted(service);
    let current = service.current.as_ref().and_then(|id| world.releases.get(id));
    let shown = current.or(wanted.release);
    let replicas: Vec<ReplicaJson> =
        world.replicas_of(&service.id).map(|it| replica(context, world, service, it, names)).collect();
    let works = |it: &&ReplicaJson| matches!(&*it.state, "healthy" | "running") && it.phase == "serving";
    let ready = u32::try_from(replicas.iter().filter(works).count()).unwrap_or(u32::MAX);
    let in_deployment =
        world.deployment.as_ref().is_some_and(|it| it.items.iter().any(|item| item.service_id == service.id));
    let state = match (in_deployment, wanted.count, ready) {
        (true, ..) => "updating",
        (false, 0, _) => "stopped",
        // Without a check nobody knows more than that its processes run.
        (false, count, ready) if ready >= count => match replicas.iter().any(|it| it.state == "running") {
            true => "running",
            false => "healthy",
        },
        (false, _, 0) => "failed",
        (false, ..) => "degraded",
    };
    ServiceJson {
        id: service.id.to_string(),
        project: world.project.name.clone(),
        name: service.name.clone(),
        state: state.to_owned(),
        image: shown.map(|it| it.spec.container.image.short()).unwrap_or_default(),
        release: current.map(|it| it.number),
        wanted: wanted.count,
        ready,
        waits_for: context.services.waits_for(&service.id).filter(|_| ready < wanted.count),
        ports: shown.map(|it| it.spec.ports.iter().map(words::port).collect()).unwrap_or_default(),
        volumes: shown.iter().flat_map(|it| it.spec.volumes()).map(str::to_owned).collect(),
        replicas,
    }
}

fn replica(
    context: &Context,
    world: &ProjectWorld,
    service: &Service,
    replica: &Replica,
    names: &HostNames,
) -> ReplicaJson {
    let report = replica.report.as_ref();
    let online = context.services.live.look(&replica.host_id).online;
    let reason = report.and_then(|it| it.last_error.clone().or_else(|| it.held_reason.clone()));
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
        state: state(replica).to_owned(),
        phase: replica.phase.as_str().to_owned(),
        host: names.get(&replica.host_id).cloned().unwrap_or_default(),
        host_online: online,
        release: world.release_of(replica).map_or(0, |it| it.number),
        container: report.and_then(|it| it.container_id.clone()),
        addresses: replica.addresses.iter().map(|it| it.ip.to_string()).collect(),
        restarts: report.map_or(0, |it| it.restarts),
        started_at: report.and_then(|it| it.started_at.clone()),
        exit_code: report.and_then(|it| it.exit_code),
        reason,
        last_lines: report.map(|it| it.last_log_lines.clone()).unwrap_or_default(),
    }
}

/// The word that people see.
pub(super) fn state(replica: &Replica) -> &'static str {
    match replica.state() {
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
