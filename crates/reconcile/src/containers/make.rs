//! A replica without the right container: what must be there before one is made, and what must be gone.

use host_proto::desired::{DesiredRun, Kind, MountSource, Pull, ReplicaSpec, VolumeState};
use host_proto::id::NetworkId;

use super::removal::ladder;
use super::{Grouped, leaving, title};
use crate::action::Action;
use crate::actual::{Container, ContainerState};
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

/// Containers that must give something back first: the turn of a singleton, or an address. One that is made and not
/// started takes nobody's turn.
pub(super) fn turns(
    planner: &Planner<'_>,
    spec: &ReplicaSpec,
    grouped: &Grouped<'_>,
) -> Result<Vec<Item>, Why> {
    let leaving = leaving(planner);
    let once = spec.kind == Kind::Singleton && spec.desired == DesiredRun::Running;
    let mut waits = Vec::new();
    for other in grouped.main.values().filter(|other| other.replica_id != spec.replica_id) {
        let twin = once && other.service_id == spec.service_id && other.is_active();
        let address =
            spec.networks.iter().any(|wanted| other.networks.values().any(|ip| *ip == Some(wanted.ip)));
        if leaving.contains(&other.id) && (twin || address) {
            waits.push(Item::Replica(other.replica_id.clone()));
        } else if twin {
            return Err(Why::Waits(vec![format!("{} to be gone, since it runs once only", other.name)]));
        }
    }
    Ok(waits)
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
