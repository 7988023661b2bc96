//! A replica without the right container: what must be there before one is made, and what must be gone.

use host_proto::desired::{DesiredRun, Kind, Mount, MountSource, Pull, ReplicaSpec, VolumeState};
use host_proto::id::NetworkId;

use super::removal::ladder;
use super::{Grouped, leaving, title};
use crate::action::Action;
use crate::actual::{Container, ContainerState};
use crate::adoption::excludes;
use crate::images::pull_name;
use crate::item::{Item, Phase};
use crate::plan::{Planner, Step, Why};

/// Plans a new container, in place of `old` if there is one.
pub(super) fn create(
    planner: &mut Planner<'_>,
    spec: &ReplicaSpec,
    grouped: &Grouped<'_>,
    old: Option<&Container>,
) {
    let item = Item::Replica(spec.replica_id.clone());
    pull(planner, spec);
    let begin = replacing(planner, spec, old)
        .and_then(|()| before(planner, spec, grouped))
        .and_then(|waits| planner.needs(waits));
    let needs = match begin {
        Ok(needs) => needs,
        Err(why) => return planner.hold(item, title(spec), why),
    };
    let mut actions = Vec::new();
    if let Some(old) = old {
        actions.extend(ladder(old, Some(spec.stop.grace_ms), planner.memory.failures(&item)));
    }
    let name = spec.name.clone();
    actions.push(Action::CreateContainer { replica: spec.replica_id.clone(), name: name.clone() });
    if spec.desired == DesiredRun::Running {
        actions.push(Action::Start { container: name });
    }
    planner.step(Step { item, title: title(spec), phase: Phase::Replicas, needs, actions });
}

/// Whether the container that is there may go. One that is dead cannot run again, so adopting does not keep it.
fn replacing(planner: &Planner<'_>, spec: &ReplicaSpec, old: Option<&Container>) -> Result<(), Why> {
    let Some(old) = old else { return Ok(()) };
    if old.state == ContainerState::Removing {
        return Err(Why::Busy);
    }
    if !planner.allowed.fresh {
        return Err(Why::NotFresh);
    }
    let same = old.spec_hash == spec.spec_hash;
    if planner.allowed.adopt && !same { Err(Why::Adopt) } else { Ok(()) }
}

/// Everything that must have been done before, or why it cannot be.
fn before(planner: &Planner<'_>, spec: &ReplicaSpec, grouped: &Grouped<'_>) -> Result<Vec<Item>, Why> {
    if spec.desired == DesiredRun::Running {
        may_start(planner, spec, grouped, true)?;
    }
    for attachment in &spec.networks {
        network_name(planner, &attachment.network_id)?;
    }
    listed(planner, spec)?;
    let mut waits = sources(spec);
    waits.push(Item::Image(pull_name(&spec.image)));
    waits.extend(turns(planner, spec, grouped)?);
    Ok(waits)
}

/// Whether a replica may be started: not when it is fenced (R85), and the first time only when what it depends on is
/// ready. Replicas of other hosts are the control plane's business.
pub(super) fn may_start(
    planner: &Planner<'_>,
    spec: &ReplicaSpec,
    grouped: &Grouped<'_>,
    first: bool,
) -> Result<(), Why> {
    if planner.desired.fenced_replica_ids.contains(&spec.replica_id) {
        return Err(Why::Fenced);
    }
    if !first || spec.depends_on.is_empty() {
        return Ok(());
    }
    let unready: Vec<String> = planner
        .desired
        .replicas
        .iter()
        .filter(|other| spec.depends_on.contains(&other.replica_id))
        .filter(|other| {
            let container = grouped.main.get(&other.replica_id);
            !container
                .is_some_and(|it| it.spec_hash == other.spec_hash && it.is_ready_by(&other.health.check))
        })
        .map(|other| format!("{} to be ready", title(other)))
        .collect();
    if unready.is_empty() { Ok(()) } else { Err(Why::Waits(unready)) }
}

/// Containers that must give something back first: the turn of a singleton, an address, or a volume. One that is made and
/// not started takes nobody's turn.
pub(super) fn turns(
    planner: &Planner<'_>,
    spec: &ReplicaSpec,
    grouped: &Grouped<'_>,
) -> Result<Vec<Item>, Why> {
    let leaving = leaving(planner);
    let once = spec.kind == Kind::Singleton && spec.desired == DesiredRun::Running;
    let mut waits = Vec::new();
    for other in grouped.main.values().filter(|other| other.replica_id != spec.replica_id) {
        let unclaimed = planner.allowed.unclaimed.contains(&other.replica_id);
        let twin = once && other.service_id == spec.service_id && (other.is_active() || unclaimed);
        let address =
            spec.networks.iter().find(|wanted| other.networks.values().any(|ip| *ip == Some(wanted.ip)));
        let volume = in_the_way(planner, spec, other);
        if leaving.contains(&other.id) && (twin || address.is_some() || volume.is_some()) {
            waits.push(Item::Replica(other.replica_id.clone()));
        } else if let Some(why) = volume {
            return Err(why);
        } else if twin {
            return Err(Why::Waits(vec![format!("{} to be gone, since it runs once only", other.name)]));
        } else if let (Some(address), true) = (address, unclaimed) {
            return Err(in_use(planner, format!("address {}", address.ip), other));
        }
    }
    Ok(waits)
}

/// The same for one that ran before: only the volume counts.
pub(super) fn volumes_are_free(
    planner: &Planner<'_>,
    spec: &ReplicaSpec,
    grouped: &Grouped<'_>,
) -> Result<Vec<Item>, Why> {
    let leaving = leaving(planner);
    let mut waits = Vec::new();
    for other in grouped.main.values().filter(|other| other.replica_id != spec.replica_id) {
        match in_the_way(planner, spec, other) {
            None => {}
            Some(_) if leaving.contains(&other.id) => waits.push(Item::Replica(other.replica_id.clone())),
            Some(why) => return Err(why),
        }
    }
    Ok(waits)
}

/// Why a replica may not run beside a container that has a volume which it writes to. How those that the control plane names
/// take turns is its own business; of what it does not name it knows nothing, so it cannot have meant both to run.
fn in_the_way(planner: &Planner<'_>, spec: &ReplicaSpec, other: &Container) -> Option<Why> {
    let listed = planner.desired.replicas.iter().find(|it| it.replica_id == other.replica_id);
    let unclaimed = |id| planner.allowed.unclaimed.contains(id);
    let stranger = listed.is_none() || unclaimed(&other.replica_id);
    let may_run = other.is_active() || unclaimed(&other.replica_id);
    if spec.desired != DesiredRun::Running
        || spec.service_id != other.service_id
        || stranger == unclaimed(&spec.replica_id)
        || !may_run
        || listed.is_some_and(|listed| !excludes(spec, listed))
    {
        return None;
    }
    if !stranger {
        return Some(Why::Waits(vec![format!(
            "{} to be gone, since it writes to the same place",
            other.name
        )]));
    }
    let name = |mount: &Mount| match &mount.source {
        MountSource::Volume { volume_id } => planner.desired.volume(volume_id).map(|it| it.name.as_str()),
        _ => None,
    };
    let written = spec.mounts.iter().filter(|mount| !mount.read_only).filter_map(name);
    let held = written.into_iter().find(|name| other.volumes.contains(*name));
    match (held, listed) {
        (Some(name), _) => Some(in_use(planner, format!("volume `{name}`"), other)),
        (None, Some(_)) if spec.kind != Kind::Singleton => {
            Some(in_use(planner, "what it writes to".to_owned(), other))
        }
        (None, _) => None,
    }
}

fn in_use(planner: &Planner<'_>, what: String, by: &Container) -> Why {
    Why::InUse { what, by: by.name.clone(), adopting: planner.allowed.adopt }
}

/// Networks, volumes and files that a container stands on.
pub(crate) fn sources(spec: &ReplicaSpec) -> Vec<Item> {
    let networks = spec.networks.iter().map(|attachment| Item::Network(attachment.network_id.clone()));
    let mounts = spec.mounts.iter().filter_map(|mount| match &mount.source {
        MountSource::Volume { volume_id } => Some(Item::Volume(volume_id.clone())),
        MountSource::File { file_id } => Some(Item::File(file_id.clone())),
        MountSource::Tmpfs { .. } | MountSource::HostPath { .. } => None,
    });
    networks.chain(mounts).collect()
}

/// The engine's name of a network of the state.
pub(super) fn network_name<'a>(planner: &Planner<'a>, id: &NetworkId) -> Result<&'a str, Why> {
    let network = planner.desired.networks.iter().find(|network| network.id == *id);
    network
        .map(|network| network.name.as_str())
        .ok_or_else(|| Why::Refused(format!("the state does not list its network {id}")))
}

/// Whether the state lists the volumes and files that it mounts.
fn listed(planner: &Planner<'_>, spec: &ReplicaSpec) -> Result<(), Why> {
    for mount in &spec.mounts {
        match &mount.source {
            MountSource::Volume { volume_id } => {
                let volume = planner.desired.volume(volume_id);
                if volume.is_none_or(|volume| volume.state == VolumeState::Delete) {
                    return Err(Why::Refused(format!("the state does not keep its volume {volume_id}")));
                }
            }
            MountSource::File { file_id } if planner.desired.file(file_id).is_none() => {
                return Err(Why::Refused(format!("the state does not list its file {file_id}")));
            }
            MountSource::File { .. } | MountSource::Tmpfs { .. } | MountSource::HostPath { .. } => {}
        }
    }
    Ok(())
}

/// Plans the image, once for all replicas that run it.
fn pull(planner: &mut Planner<'_>, spec: &ReplicaSpec) {
    let image = pull_name(&spec.image);
    let item = Item::Image(image.clone());
    let there = planner.actual.images.contains(&image);
    // What is named by its digest cannot have become another one.
    let again = spec.image.pull == Pull::Always && spec.image.digest.is_none();
    if (there && !again) || planner.is_planned(&item) || planner.plan.mentions(&item) {
        return;
    }
    let title = format!("image {image}");
    if spec.image.pull == Pull::Never {
        return planner.hold(item, title, Why::Refused("not on this host, and may not be pulled".to_owned()));
    }
    let actions = vec![Action::PullImage { image }];
    planner.step(Step { item, title, phase: Phase::Replicas, needs: Vec::new(), actions });
}
