//! Where a new replica goes: every host that cannot take it says why, the others are compared.

use std::collections::BTreeMap;
use std::fmt;

use host_proto::desired::VolumeKind;
use host_proto::id::HostId;
use model::hosting::{FileKind, HostMode, ProjectWorld, Release, Service};
use model::service::{MountSource, VolumeSpec};
use model::{Attributes, Selector};

use crate::blocks::place_of;
use crate::left;
use crate::spread;
use crate::world::{HostView, Presence};

/// Why a host cannot take a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It is not connected.
    Offline,
    /// The server started a moment ago, and it has not connected yet.
    Awaited,
    /// It gets nothing new.
    Cordoned,
    /// The service names another host.
    NotNamed {
        /// Which.
        wanted: String,
    },
    /// Its labels do not match.
    Labels {
        /// What is asked.
        selector: String,
    },
    /// A volume of the service lives elsewhere.
    VolumeElsewhere {
        /// Which volume.
        volume: String,
        /// Where.
        host: String,
    },
    /// Another service has the port there.
    PortTaken {
        /// The port, as `8080/tcp`.
        port: String,
        /// Whose it is.
        by: String,
    },
    /// Something that is not ours listens there.
    PortForeign {
        /// The port, as `8080/tcp`.
        port: String,
    },
    /// The host does not allow that path.
    PathNotAllowed {
        /// Which.
        path: String,
    },
    /// Less memory than is to be reserved.
    Memory {
        /// What is asked, in bytes.
        asked: u64,
        /// What it has in all, in bytes.
        has: u64,
    },
    /// No engine answers there.
    NoEngine,
    /// A network of the service has no addresses there, and there are none left.
    NoBlock {
        /// Which network.
        network: String,
        /// In what, and what has them.
        why: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offline => f.write_str("is offline"),
            Self::Awaited => f.write_str("has not connected since the server started"),
            Self::Cordoned => f.write_str("is cordoned and gets nothing new"),
            Self::NotNamed { wanted } => write!(f, "is not the host {wanted} that the service names"),
            Self::Labels { selector } => write!(f, "has no labels that match {selector}"),
            Self::VolumeElsewhere { volume, host } => {
                write!(f, "does not have the volume {volume}, which is on {host}")
            }
            Self::PortTaken { port, by } => write!(f, "has port {port} in use by {by}"),
            Self::PortForeign { port } => {
                write!(f, "has port {port} in use by a program that is not Muster's")
            }
            Self::PathNotAllowed { path } => {
                write!(f, "does not allow the path {path} (muster hosts set NAME --allow-path {path})")
            }
            Self::Memory { asked, has } => {
                write!(f, "has {} MiB of memory, {} MiB are to be reserved", has >> 20, asked >> 20)
            }
            Self::NoBlock { network, why } => {
                write!(f, "has no block of addresses left for the network {network} {why}")
            }
            Self::NoEngine => f.write_str("has no container engine that answers"),
        }
    }
}

/// Where a replica goes, or why nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The host; none when every one refuses.
    pub host: Option<HostId>,
    /// What each of the others said, by name.
    pub refusals: BTreeMap<String, Refusal>,
    /// Whether it is one that the project is on already: hosts that it is not on could not have been chosen.
    pub at_home: bool,
    /// Why it can run on no host at all now, whatever each of them could take.
    pub nowhere: Option<String>,
    /// Why not becomes another thing by itself, and soon.
    pub soon: bool,
}

impl Placed {
    const fn nowhere(why: String) -> Self {
        Self { host: None, refusals: BTreeMap::new(), at_home: true, nowhere: Some(why), soon: false }
    }

    /// In one sentence, when there is no host.
    pub fn why_not(&self) -> String {
        if let Some(why) = &self.nowhere {
            return why.clone();
        }
        if self.refusals.is_empty() {
            return "there is no host yet: muster hosts add shows the command that joins one".to_owned();
        }
        let each: Vec<String> = self.refusals.iter().map(|(name, why)| format!("{name} {why}")).collect();
        format!("no host can take it: {}", each.join("; "))
    }
}

/// Chooses the host of a new replica of a release. Hosts that have something of the project come first, since projects do
/// not reach across hosts without a mesh; then those with fewer replicas of the service, then with fewer in all. A service
/// that asks to be [spread] looks at that before anything else. `coming`: where others of it go that were decided just now.
pub fn place(
    world: &ProjectWorld,
    service: &Service,
    release: &Release,
    hosts: &[HostView],
    coming: &[HostId],
) -> Placed {
    if let Some(lacks) = lacks(release) {
        return Placed::nowhere(lacks);
    }
    let lying = match left::lying(world, release, hosts) {
        Ok(lying) => lying,
        Err(unclear) => {
            return Placed { at_home: false, soon: unclear.soon, ..Placed::nowhere(unclear.why) };
        }
    };
    let mut refusals = BTreeMap::new();
    let mut can = Vec::new();
    for view in hosts {
        match refusal(world, service, release, view, (hosts, &lying)) {
            Some(refusal) => drop(refusals.insert(view.host.name.clone(), refusal)),
            None => can.push(view),
        }
    }
    // Any host may have what a volume begins with.
    let anywhere = left::made_by(world, release).next().is_some();
    let at_home = world.hosts();
    let here = spread::counted(world, service, release, hosts, coming);
    let chosen = can.into_iter().min_by_key(|view| {
        let same =
            world.replicas_of(&service.id).filter(|it| it.host_id == view.host.id && it.stays()).count();
        let away = !at_home.contains(&view.host.id);
        (here.as_ref().map(|it| it.rank(view)), away, same, view.replicas, view.host.id.clone())
    });
    Placed {
        // What is spread goes to hosts that the project is not on yet.
        at_home: here.is_none() && !anywhere && chosen.is_some_and(|view| at_home.contains(&view.host.id)),
        host: chosen.map(|view| view.host.id.clone()),
        soon: chosen.is_none() && refusals.values().any(|it| *it == Refusal::Awaited),
        refusals,
        nowhere: None,
    }
}

/// What a release names and does not say what it is, so that none of its replicas can be made: one that is made without
/// its volume writes its data where it is lost, and one in another network is open to whom it should not be.
pub fn lacks(release: &Release) -> Option<String> {
    let container = &release.spec.container;
    let file = || {
        let named = container.mounts.iter().filter_map(|mount| match &mount.source {
            MountSource::Secret { secret, .. } => Some((FileKind::Secret, secret)),
            MountSource::Config { config, .. } => Some((FileKind::Config, config)),
            MountSource::Volume { .. } | MountSource::HostPath { .. } | MountSource::Tmpfs { .. } => None,
        });
        let mut missing = named.filter(|(kind, name)| !release.files.contains_key(&(*kind, (*name).clone())));
        missing.next().map(|(kind, name)| format!("{} {name}", kind.as_str()))
    };
    let what = release.spec.shared.lacks(container).or_else(file)?;
    let which = if release.number == 0 { "it".to_owned() } else { format!("its release {}", release.number) };
    Some(format!("{which} names the {what} and does not say what that is: deploy files that do"))
}

/// Why a host cannot take a replica of a release; `None`: it can.
fn refusal(
    world: &ProjectWorld,
    service: &Service,
    release: &Release,
    view: &HostView,
    others: Others<'_>,
) -> Option<Refusal> {
    let host = &view.host;
    let placement = &release.spec.placement;
    if let Some(wanted) = placement.host.as_ref().filter(|wanted| **wanted != host.name) {
        return Some(Refusal::NotNamed { wanted: wanted.clone() });
    }
    match view.presence {
        Presence::Online => {}
        Presence::Awaited => return Some(Refusal::Awaited),
        Presence::Gone => return Some(Refusal::Offline),
    }
    if host.mode == HostMode::Cordoned {
        return Some(Refusal::Cordoned);
    }
    if host.facts.docker.is_none() {
        return Some(Refusal::NoEngine);
    }
    if let Some(selector) = placement.selector.as_ref().filter(|text| !selects(text, view)) {
        return Some(Refusal::Labels { selector: selector.clone() });
    }
    if let Some(asked) = placement.reserve.memory_bytes.filter(|asked| *asked > host.facts.memory_bytes) {
        return Some(Refusal::Memory { asked, has: host.facts.memory_bytes });
    }
    mounts(world, release, view, others)
        .or_else(|| ports(world, service, release, view))
        .or_else(|| networks(world, release, view))
}

fn networks(world: &ProjectWorld, release: &Release, view: &HostView) -> Option<Refusal> {
    let networks = &release.spec.shared.networks;
    let first = networks.iter().find(|it| place_of(world, view, &it.name).is_none())?;
    let full = view.blocks.next().is_none();
    full.then(|| Refusal::NoBlock { network: first.name.clone(), why: view.blocks.why_none() })
}

fn selects(text: &str, view: &HostView) -> bool {
    Selector::parse(text)
        .is_ok_and(|selector| selector.matches_labelled(&Attributes::default(), &view.host.labels))
}

/// All hosts, and on which of them volumes lie that have no place.
type Others<'a> = (&'a [HostView], &'a BTreeMap<&'a str, &'a HostId>);

fn mounts(
    world: &ProjectWorld,
    release: &Release,
    view: &HostView,
    (hosts, lying): Others<'_>,
) -> Option<Refusal> {
    for mount in &release.spec.container.mounts {
        match &mount.source {
            MountSource::Volume { volume, .. } => {
                let place = world.volumes.iter().find(|it| it.spec.name == *volume && !it.doomed);
                // A volume can be a path of the host by another name.
                let spec = place.map(|it| &it.spec).or_else(|| release.spec.shared.volume(volume));
                match spec.map(VolumeSpec::kind) {
                    Some(VolumeKind::HostPath(path)) if !allows(&view.host.allowed_paths, path) => {
                        return Some(Refusal::PathNotAllowed { path: path.to_owned() });
                    }
                    // Compose files with such a volume are refused; one that was stored before that is not mounted either.
                    Some(VolumeKind::Refused(_)) => {
                        return Some(Refusal::PathNotAllowed { path: format!("volume {volume}") });
                    }
                    _ => {}
                }
                let lies_on =
                    place.map(|place| &place.host_id).or_else(|| lying.get(volume.as_str()).copied());
                if let Some(id) = lies_on.filter(|id| **id != view.host.id) {
                    let name = hosts.iter().find(|other| other.host.id == *id);
                    let host = name.map_or_else(|| id.to_string(), |it| it.host.name.clone());
                    return Some(Refusal::VolumeElsewhere { volume: volume.clone(), host });
                }
            }
            MountSource::HostPath { path, .. } if !allows(&view.host.allowed_paths, path) => {
                return Some(Refusal::PathNotAllowed { path: path.clone() });
            }
            MountSource::HostPath { .. }
            | MountSource::Tmpfs { .. }
            | MountSource::Secret { .. }
            | MountSource::Config { .. } => {}
        }
    }
    None
}

/// Whether a path is one that a host allows, or below one.
pub fn allows(allowed: &[String], path: &str) -> bool {
    allowed.iter().any(|root| {
        let root = root.trim_end_matches('/');
        path == root || path.strip_prefix(root).is_some_and(|rest| rest.starts_with('/'))
    })
}

fn ports(world: &ProjectWorld, service: &Service, release: &Release, view: &HostView) -> Option<Refusal> {
    // Ports that this service already has there are its own, even if they look foreign from outside.
    let here =
        |other: &Service| world.replicas_of(&other.id).any(|it| it.host_id == view.host.id && it.stays());
    for port in &release.spec.ports {
        let key = (port.host, port.protocol.into());
        let text = format!("{}/{}", port.host, port.protocol);
        if let Some(by) = view.ports.get(&key) {
            return Some(Refusal::PortTaken { port: text, by: by.clone() });
        }
        let mut ours = false;
        for other in world.services.iter().filter(|other| here(other)) {
            let current = other.current.as_ref().and_then(|id| world.releases.get(id));
            let has = |it: &Release| it.spec.ports.iter().any(|its| its.collides(port));
            let wanted = world.wanted(other).release;
            let takes = current.is_some_and(has) || wanted.is_some_and(has);
            if takes && other.id != service.id && wanted.is_some_and(has) {
                let by = format!("{}/{}", world.project.name, other.name);
                return Some(Refusal::PortTaken { port: text, by });
            }
            ours |= takes;
        }
        if !ours && view.foreign_ports.contains(&port.host) {
            return Some(Refusal::PortForeign { port: text });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_allowed_with_what_lies_below_it_and_not_with_what_only_begins_like_it() {
        let allowed = ["/srv/data".to_owned(), "/mnt/".to_owned()];
        for path in ["/srv/data", "/srv/data/a", "/mnt/a"] {
            assert!(allows(&allowed, path), "{path}");
        }
        for path in ["/srv", "/srv/database", "/", "", "/etc"] {
            assert!(!allows(&allowed, path), "{path}");
        }
    }
}
