//! Volumes: made when they are missing, kept when the state does not list them any more, deleted only when it says so with
//! the right confirmation (R43).

use host_proto::DesiredState;
use host_proto::desired::{MountSource, ReplicaSpec, Volume, VolumeState};
use host_proto::message::LeftVolume;

use crate::action::Action;
use crate::actual::{Actual, Seen};
use crate::item::{Item, Phase};
use crate::networks::{NameState, name_state, when_gone};
use crate::plan::{Planner, Step, Why};

/// Plans the volumes that are missing.
pub(crate) fn make(planner: &mut Planner<'_>) {
    for volume in &planner.desired.volumes {
        if volume.state == VolumeState::Delete {
            continue;
        }
        let (item, title) = named(volume);
        match name_state(&planner.actual.volumes, volume.id.as_str(), &volume.name) {
            NameState::Ours => {}
            NameState::Held(why) => planner.hold(item, title, why),
            NameState::Free => match forgotten(planner, volume) {
                Some(other) => {
                    let why = format!(
                        "this host has {other}, made for a volume of this name and not known to the control plane: it may have \
                         the data. Copy what is needed, remove it with docker volume rm, and deploy again"
                    );
                    planner.hold(item, title, Why::Refused(why));
                }
                None => {
                    let action =
                        Action::CreateVolume { volume: volume.id.clone(), name: volume.name.clone() };
                    planner.step(Step {
                        item,
                        title,
                        phase: Phase::Volumes,
                        needs: Vec::new(),
                        actions: vec![action],
                    });
                }
            },
        }
    }
}

/// A volume of ours that was made under the same name for another identifier, which the control plane does not know: it was
/// restored, and what it makes anew would begin without the data that is there.
fn forgotten<'p>(planner: &Planner<'p>, volume: &Volume) -> Option<&'p str> {
    let Seen::Known(listed) = &planner.actual.volumes else { return None };
    let stem = stem(&volume.name, volume.id.as_str())?;
    let is_forgotten = |id: &str| {
        let known = planner.desired.volumes.iter().any(|it| it.id.as_str() == id);
        let mounts = |spec: &ReplicaSpec| {
            let of = |source: &MountSource| matches!(source, MountSource::Volume { volume_id } if volume_id.as_str() == id);
            spec.mounts.iter().any(|mount| of(&mount.source))
        };
        let unclaimed = |spec: &&ReplicaSpec| planner.allowed.unclaimed.contains(&spec.replica_id);
        !known || planner.desired.replicas.iter().filter(unclaimed).any(mounts)
    };
    let mut others = listed.ours.iter().filter(|(id, _)| id.as_str() != volume.id.as_str());
    let same = others.find(|(id, name)| self::stem(name, id) == Some(stem) && is_forgotten(id));
    same.map(|(_, name)| name.as_str())
}

/// The volumes that are there and that a state does not list, in order, at most so many; `None` while nobody knows which
/// there are. `own`: the state as the control plane said it.
pub fn left(own: &DesiredState, actual: &Actual, most: usize) -> Option<Vec<LeftVolume>> {
    let listed = actual.volumes.known()?;
    let known = |id: &str| own.volumes.iter().any(|volume| volume.id.as_str() == id);
    let ours = listed.ours.iter().filter(|(id, _)| !known(id)).filter_map(|(id, name)| {
        Some(LeftVolume { volume_id: id.parse().ok()?, name: name.clone(), host_id: None })
    });
    let others = listed.of_others.iter().filter_map(|it| {
        let host_id = Some(it.host.clone());
        Some(LeftVolume { volume_id: it.id.parse().ok()?, name: it.name.clone(), host_id })
    });
    let mut left: Vec<LeftVolume> = ours.chain(others).take(most).collect();
    left.sort();
    Some(left)
}

/// What the name of a volume says of its project and its own name there: all but the end of its identifier.
fn stem<'n>(name: &'n str, id: &str) -> Option<&'n str> {
    let (stem, tail) = name.rsplit_once('-')?;
    (!tail.is_empty() && id.to_ascii_lowercase().ends_with(tail)).then_some(stem)
}

fn named(volume: &Volume) -> (Item, String) {
    (Item::Volume(volume.id.clone()), format!("volume {}", volume.name))
}

/// Plans the deletions that the state asks for.
pub(crate) fn delete(planner: &mut Planner<'_>) {
    let doomed = planner.desired.volumes.iter().filter(|volume| volume.state == VolumeState::Delete);
    let listed = match &planner.actual.volumes {
        Seen::Known(listed) => listed,
        // A volume of which nothing is said counts as gone.
        Seen::Unknown(why) => {
            doomed.map(named).for_each(|(item, title)| planner.hold(item, title, Why::Unknown(why.clone())));
            return;
        }
    };
    let there: Vec<(&Volume, &String)> =
        doomed.filter_map(|volume| listed.ours.get(volume.id.as_str()).map(|name| (volume, name))).collect();
    let count = u32::try_from(there.len()).unwrap_or(u32::MAX);
    let over = count > planner.allowed.removals.volumes;
    if over && planner.removal_lock().is_none() {
        planner.plan.refused.volumes = count;
    }
    for (volume, name) in there {
        let (item, title) = named(volume);
        let lock = planner.removal_lock().or(over.then_some(Why::Budget));
        match lock.map_or_else(|| may_go(planner, volume, name), Err) {
            Err(why) => planner.hold(item, title, why),
            Ok(needs) => {
                let actions = vec![Action::DeleteVolume { name: name.clone() }];
                planner.step(Step { item, title, phase: Phase::Cleanup, needs, actions });
            }
        }
    }
}

fn may_go(planner: &Planner<'_>, volume: &Volume, name: &str) -> Result<Vec<Item>, Why> {
    if volume.delete_confirmation.as_deref() != Some(volume.id.as_str()) {
        return Err(Why::Refused("not deleted: the confirmation does not name this volume".to_owned()));
    }
    let containers = match &planner.actual.containers {
        Seen::Unknown(why) => return Err(Why::Unknown(why.clone())),
        Seen::Known(containers) => containers,
    };
    let users = || containers.iter().filter(|container| container.volumes.contains(name));
    when_gone(planner, users())
        .ok_or_else(|| Why::Waits(users().map(|user| format!("{} to be gone", user.name)).collect()))
}
