//! What a host is told: the desired state as it follows from what is stored. Networks and volumes that something uses,
//! files, replicas in every phase but the last, the ports and names that lead to those which work.

mod names;
mod replicas;
mod routes;

use std::collections::{BTreeMap, BTreeSet};

use host_proto::desired::{
    DesiredState, Dns, Egress, File, Gc, Mode, Network, Registry, RegistryAuth, Removals, Volume, VolumeState,
};
use host_proto::id::{FileId, NetworkId, ReplicaId, VolumeId};
use host_proto::secret::Secret;
use model::hosting::{
    Host, HostMode, NetworkPlace, Phase, ProjectWorld, Release, Replica, Service, VolumePlace,
};

pub use routes::{route_of, routes_of};

use crate::blocks::is_internal;
use crate::world::Closed;

/// The zone of names that only containers see.
pub const DOMAIN: &str = "internal";
/// How long an answer may be kept, in seconds (R59).
pub const TTL_S: u32 = 2;
/// A host may remove so many networks that nothing wants: nothing is lost with one, and an address range that stays is in the
/// way of the next project that is given it. The agent removes none that a container is on.
const NETWORKS: u32 = 1_024;

/// All that the state of one host follows from.
#[derive(Debug, Clone)]
pub struct HostWorld<'a> {
    /// The host.
    pub host: &'a Host,
    /// The history that generations count in.
    pub epoch: &'a str,
    /// The number of this state.
    pub generation: u64,
    /// Projects that have something on the host.
    pub projects: &'a [ProjectWorld],
    /// The files that their replicas see.
    pub files: &'a BTreeMap<FileId, FileContent>,
    /// Credentials for registries.
    pub registries: &'a [RegistryAuth],
    /// Replicas that the host has and nobody knows: they go, once the host may remove anything.
    pub unknown: usize,
}

/// A file as a host gets it.
#[derive(Debug, Clone)]
pub struct FileContent {
    /// SHA-256 of the content, in hexadecimal.
    pub sha256: String,
    /// Length in bytes.
    pub size_bytes: u64,
    /// The content in base64.
    pub b64: Secret,
    /// Whether it is a secret.
    pub secret: bool,
}

/// Computes the desired state of a host, without its hashes.
pub fn desired_state(world: &HostWorld<'_>) -> DesiredState {
    let mut state = DesiredState::empty(world.epoch, world.generation);
    state.adopt = world.host.adopting;
    state.mode = match world.host.mode {
        HostMode::Normal => Mode::Normal,
        HostMode::Cordoned => Mode::Cordoned,
    };
    state.gc = Gc::default();
    state.dns = Dns { domain: DOMAIN.to_owned(), ttl_s: TTL_S, ..Dns::default() };
    let mut removals = Removals { replicas: small(world.unknown), networks: NETWORKS, ..Removals::default() };
    for project in world.projects {
        add_project(world, project, &mut state, &mut removals);
    }
    state.removals = removals;
    // A host is told the credentials that its own images need, and no others.
    let needs = |auth: &&RegistryAuth| state.replicas.iter().any(|spec| auth.is_for(spec.image.registry()));
    let auth = world.registries.iter().filter(needs).cloned().collect();
    state.registry = Registry { address: None, auth };
    state.files.sort_by(|a, b| a.id.cmp(&b.id));
    state.files.dedup_by(|a, b| a.id == b.id);
    state
}

fn add_project(
    world: &HostWorld<'_>,
    project: &ProjectWorld,
    state: &mut DesiredState,
    removals: &mut Removals,
) {
    let here: Vec<_> = project.replicas.iter().filter(|it| it.host_id == world.host.id).collect();
    removals.replicas += small(here.iter().filter(|it| it.phase == Phase::Removing).count());
    let running: Vec<_> = here.iter().copied().filter(|it| it.phase != Phase::Removing).collect();
    let used: BTreeSet<&NetworkId> =
        here.iter().flat_map(|it| it.addresses.iter().map(|address| &address.network_id)).collect();
    for place in project.networks.iter().filter(|it| it.host_id == world.host.id) {
        if used.contains(&place.id) {
            state.networks.push(network(project, place));
        }
    }
    for place in project.volumes.iter().filter(|it| it.host_id == world.host.id) {
        removals.volumes += u32::from(place.doomed);
        state.volumes.push(volume(project, place));
    }
    for replica in &running {
        let Some(release) = project.release_of(replica) else { continue };
        let Some(service) = project.services.iter().find(|it| it.id == replica.service_id) else { continue };
        let built = replicas::replica(project, service, release, replica, world.host);
        state.files.extend(built.files.iter().filter_map(|file| content(world, file)));
        state.replicas.push(built.spec);
    }
    routes::add(project, world.host, state, removals);
    names::add(project, &running, &mut state.dns.records);
}

fn content(world: &HostWorld<'_>, wanted: &replicas::FileUse) -> Option<File> {
    let content = world.files.get(&wanted.file)?;
    Some(File {
        id: wanted.id.clone(),
        sha256: content.sha256.clone(),
        size_bytes: content.size_bytes,
        inline_b64: Some(content.b64.clone()),
        mode: wanted.access.mode,
        uid: wanted.access.uid,
        gid: wanted.access.gid,
        secret: content.secret,
    })
}

fn network(project: &ProjectWorld, place: &NetworkPlace) -> Network {
    Network {
        id: place.id.clone(),
        name: format!("muster-{}-{}-{}", project.project.name, place.spec.name, tail(place.id.as_str())),
        bridge: bridge(&place.id),
        project_id: project.project.id.clone(),
        project: project.project.name.clone(),
        subnet: place.subnet.to_string(),
        gateway: place.subnet.gateway(),
        mtu: None,
        egress: if is_internal(project, place) { Egress::Deny } else { Egress::Allow },
        trusted_interface: None,
        internal_dns: true,
    }
}

/// How many bytes a replica takes in a state.
pub(crate) fn bytes_of(
    project: &ProjectWorld,
    service: &Service,
    release: &Release,
    replica: &Replica,
    host: &Host,
) -> usize {
    let built = replicas::replica(project, service, release, replica, host);
    serde_json::to_vec(&built.spec).map_or(0, |text| text.len())
}

/// The networks of a state from which nothing outside is reached.
pub fn closed_of(state: &DesiredState) -> Closed {
    let closed = state.networks.iter().filter(|it| it.egress != Egress::Allow);
    closed.map(|it| it.id.clone()).collect()
}

fn volume(project: &ProjectWorld, place: &VolumePlace) -> Volume {
    Volume {
        id: place.id.clone(),
        name: volume_name(&project.project.name, &place.spec.name, &place.id),
        driver: "local".to_owned(),
        options: place.spec.options.clone(),
        state: if place.doomed { VolumeState::Delete } else { VolumeState::Present },
        delete_confirmation: place.doomed.then(|| place.id.to_string()),
        owner_service_id: None,
    }
}

/// The engine's name for a volume of a project.
pub(crate) fn volume_name(project: &str, volume: &str, id: &VolumeId) -> String {
    format!("muster-{project}-{volume}-{}", tail(id.as_str()))
}

/// The name of a network's interface: at most 15 bytes, and with a beginning that the firewall knows.
pub fn bridge(id: &NetworkId) -> String {
    format!("mst{}", &crate::hash::spec_hash(id.as_str(), [])[..10])
}

/// The end of an identifier, in lower case: enough to tell apart what has the same name.
pub(crate) fn tail(id: &str) -> String {
    let from = id.len().saturating_sub(6);
    id.get(from..).unwrap_or(id).to_ascii_lowercase()
}

/// The name of a replica's container.
pub fn container_name(project: &str, service: &str, number: u32, id: &ReplicaId) -> String {
    format!("{project}-{service}-{number}-{}", tail(id.as_str()))
}

fn small(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
