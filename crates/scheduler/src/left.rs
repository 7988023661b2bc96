//! Volumes that hosts have and the control plane does not know, as it was restored from a back-up that is older than they
//! are. When a project that the back-up does not know is deployed again, a volume of its name begins with their data: it
//! is taken over, and its service runs where it lies. Nobody guesses: while it is not clear whether there is one, which of
//! several it is, or who else writes to it, no volume of that name is made.

use std::collections::BTreeMap;

use host_proto::desired::VolumeKind;
use host_proto::id::HostId;
use host_proto::message::LeftVolume;
use model::hosting::{ProjectWorld, Release};
use model::service::{MountSource, VolumeSpec};

use crate::desired::volume_name;
use crate::world::{HostView, Presence};

/// What hosts have of a volume that is to be made.
#[derive(Debug, Clone)]
pub enum Left<'a> {
    /// Nothing: it begins empty.
    Nothing,
    /// It lies on a host, and is taken over.
    There(&'a HostView, &'a LeftVolume),
    /// It may not be made now.
    Unclear(Unclear),
}

/// Why a volume may not be made now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unclear {
    /// In words.
    pub why: String,
    /// It becomes clear by itself.
    pub soon: bool,
}

/// What hosts have of the volume of a project that the project has no place for. `hosts` are all that there are.
pub fn left<'a>(world: &ProjectWorld, volume: &str, hosts: &'a [HostView]) -> Left<'a> {
    let mut there = hosts.iter().flat_map(|view| of(world, volume, view).map(move |it| (view, it)));
    let first = there.next();
    if let (Some((view, one)), Some((next, other))) = (first, there.next()) {
        let why = format!(
            "{} has the volume {} and {} has {}, and this server knows neither: remove the one that is not wanted (docker volume \
             rm), and the other one is taken over",
            view.host.name, one.name, next.host.name, other.name
        );
        return Left::Unclear(Unclear { why, soon: false });
    }
    // Whoever has said nothing yet may have another one.
    if let Some(unclear) = hosts.iter().find_map(|view| unheard(volume, view)) {
        return Left::Unclear(unclear);
    }
    let Some((view, one)) = first else { return Left::Nothing };
    if view.unknown == 0 {
        return Left::There(view, one);
    }
    let (host, name) = (&view.host.name, &one.name);
    let what = format!("{host} has the volume {name}, which this server does not know, and");
    let why = match view.host.adopting {
        true => format!(
            "{what} containers that it does not know and that may write to it: muster hosts set {host} --adopting=false removes \
             those and keeps the volume, which is taken over then"
        ),
        false => {
            format!("{what} containers that may write to it are being removed there: try again in a moment")
        }
    };
    Left::Unclear(Unclear { why, soon: !view.host.adopting })
}

/// The volumes that a host has under the name of one that is to be made, and that were made for this host.
fn of<'a>(world: &ProjectWorld, volume: &str, view: &'a HostView) -> impl Iterator<Item = &'a LeftVolume> {
    view.left_volumes.iter().flatten().filter(move |it| {
        let is_it =
            it.host_id.is_none() && it.name == volume_name(&world.project.name, volume, &it.volume_id);
        is_it && world.volumes.iter().all(|place| place.id != it.volume_id)
    })
}

/// The volume of that name that was made on a machine for another host, which nobody takes over.
pub fn of_another<'a>(project: &str, volume: &str, left: &'a [LeftVolume]) -> Option<&'a LeftVolume> {
    let mut others = left.iter().filter(|it| it.host_id.is_some());
    others.find(|it| it.name == volume_name(project, volume, &it.volume_id))
}

/// A host that may have volumes that this server does not know has not said which it has.
fn unheard(volume: &str, view: &HostView) -> Option<Unclear> {
    let is_silent = view.left_volumes.is_none() || view.engine_down;
    if !(view.host.adopting && is_silent) {
        return None;
    }
    let name = &view.host.name;
    let (state, soon) = match view.presence {
        Presence::Gone => ("is offline", false),
        Presence::Awaited => ("has not connected yet", true),
        Presence::Online if view.engine_down => ("has no container engine that answers", false),
        Presence::Online => ("has not said yet which volumes it has", true),
    };
    let why = format!(
        "{name} {state}, and may have a volume {volume} with data that this server does not know, as it is older than what \
         {name} runs: wait for it, or say that it is not needed (muster hosts set {name} --adopting=false)"
    );
    Some(Unclear { why, soon })
}

/// The volumes of a release that its project has no place for, as far as their data lies on a host and is theirs alone.
pub fn made_by<'a>(world: &'a ProjectWorld, release: &'a Release) -> impl Iterator<Item = &'a str> {
    release.spec.container.mounts.iter().filter_map(|mount| {
        let MountSource::Volume { volume, .. } = &mount.source else { return None };
        let is_there = world.volumes.iter().any(|it| it.spec.name == *volume && !it.doomed);
        let kind = release.spec.shared.volume(volume).map(VolumeSpec::kind);
        (!is_there && kind == Some(VolumeKind::Directory)).then_some(volume.as_str())
    })
}

/// On which hosts volumes of a release lie that are taken over; or why one of them may not be made now, so that the release
/// can run nowhere.
pub(crate) fn lying<'a>(
    world: &'a ProjectWorld,
    release: &'a Release,
    hosts: &'a [HostView],
) -> Result<BTreeMap<&'a str, &'a HostId>, Unclear> {
    let mut lying = BTreeMap::new();
    for volume in made_by(world, release) {
        match left(world, volume, hosts) {
            Left::Nothing => {}
            Left::There(view, _) => drop(lying.insert(volume, &view.host.id)),
            Left::Unclear(unclear) => return Err(unclear),
        }
    }
    Ok(lying)
}
