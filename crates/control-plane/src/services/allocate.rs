//! What was decided gets its identifiers and addresses. The controller is the only one that gives any, so what is free
//! when it looks is free when it writes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use host_proto::id::{NetworkId, ReplicaId, VolumeId};
use model::UnixMillis;
use model::hosting::{Address, NetworkPlace, ProjectWorld, Release, Replica, VolumePlace};
use model::service::NetworkSpec;
use scheduler::address::free_ip;
use scheduler::blocks::{known_place, lost};
use scheduler::left::{Left, left};
use scheduler::place::lacks;
use scheduler::{Change, HostView};
use store::{ProjectWrite, StoreError};

use super::Services;

/// What was given in this step.
struct Given {
    networks: Vec<NetworkPlace>,
    volumes: Vec<VolumePlace>,
    /// On each network, the last of which is where the search goes on.
    addresses: BTreeMap<NetworkId, Vec<Ipv4Addr>>,
    writes: Vec<ProjectWrite>,
}

impl Services {
    /// The writes of what was decided.
    pub(super) async fn allocated(
        &self,
        world: &ProjectWorld,
        hosts: &[HostView],
        changes: Vec<Change>,
        now: UnixMillis,
    ) -> Result<Vec<ProjectWrite>, StoreError> {
        let mut given = Given {
            networks: Vec::new(),
            volumes: world.volumes.clone(),
            addresses: BTreeMap::new(),
            writes: Vec::new(),
        };
        let deployment = world.deployment.as_ref().map(|it| it.id);
        for change in changes {
            let write = match change {
                Change::Add { service_id, release_id, number, host_id, phase } => {
                    let Some(release) = world.releases.get(&release_id) else { continue };
                    let Some(host) = hosts.iter().find(|view| view.host.id == host_id) else { continue };
                    // Nobody is sent to a host without all that its release names.
                    if let Some(lacks) = lacks(release) {
                        tracing::error!(host = %host_id, "no replica is made: {lacks}");
                        continue;
                    }
                    self.volumes(world, release, (host, hosts), &mut given, now)?;
                    let addresses = self.addresses(world, release, host, &mut given).await?;
                    let Some(addresses) = addresses else {
                        tracing::error!(host = %host_id, "no addresses are left for another network or replica");
                        continue;
                    };
                    ProjectWrite::Add(Box::new(Replica {
                        id: ReplicaId::generate(unsigned(now), random()?),
                        service_id,
                        release_id,
                        host_id,
                        number,
                        phase,
                        phase_since: now,
                        addresses,
                        created_at: now,
                        report: None,
                        reported_since: None,
                    }))
                }
                Change::Phase { replica_id, phase } => ProjectWrite::Phase(replica_id, phase),
                Change::Adopt { replica_id, release_id } => ProjectWrite::Adopt(replica_id, release_id),
                Change::Forget(id) => ProjectWrite::Forget(id),
                Change::Leave { network_id, .. } => {
                    let Some(place) = world.networks.iter().find(|it| it.id == network_id) else { continue };
                    self.live.refuses(&place.host_id, place.subnet);
                    ProjectWrite::Leave(network_id)
                }
                Change::Item { service_id, outcome } => match deployment {
                    Some(id) => ProjectWrite::Item(id, service_id, outcome),
                    None => continue,
                },
                Change::Deployment { state, reason } => match deployment {
                    Some(id) => ProjectWrite::Deployment(id, state, reason),
                    None => continue,
                },
            };
            given.writes.push(write);
        }
        Ok(given.writes)
    }

    /// Volumes of a release get a place where its first replica runs. One that lies there already, and that nobody knew, is
    /// taken over with its identifier.
    fn volumes(
        &self,
        world: &ProjectWorld,
        release: &Release,
        (view, hosts): (&HostView, &[HostView]),
        given: &mut Given,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        let host = &view.host.id;
        for spec in &release.spec.shared.volumes {
            let is_it = |it: &VolumePlace| it.spec.name == spec.name && it.host_id == *host && !it.doomed;
            if given.volumes.iter().any(is_it) {
                continue;
            }
            let id = match left(world, &spec.name, hosts) {
                Left::There(there, it) if there.host.id == *host => {
                    tracing::warn!(%host, "{} takes over the volume {}", world.project.name, it.name);
                    it.volume_id.clone()
                }
                _ => VolumeId::generate(unsigned(now), random()?),
            };
            let place = VolumePlace {
                id,
                project_id: world.project.id.clone(),
                host_id: host.clone(),
                spec: spec.clone(),
                doomed: false,
                created_at: now,
            };
            given.volumes.push(place.clone());
            given.writes.push(ProjectWrite::Volume(place));
        }
        Ok(())
    }

    /// An address on each network of a release; `None` when there is none left.
    async fn addresses(
        &self,
        world: &ProjectWorld,
        release: &Release,
        view: &HostView,
        given: &mut Given,
    ) -> Result<Option<Vec<Address>>, StoreError> {
        let mut addresses = Vec::new();
        for spec in &release.spec.shared.networks {
            let Some(place) = self.network(world, spec, view, given)? else { return Ok(None) };
            let now = given.addresses.get(&place.id).map(Vec::as_slice).unwrap_or_default();
            let mut used: BTreeSet<Ipv4Addr> = now.iter().copied().collect();
            let theirs = world.replicas.iter().flat_map(|it| &it.addresses);
            used.extend(theirs.filter(|it| it.network_id == place.id).map(|it| it.ip));
            let after = match now.last() {
                Some(ip) => Some(*ip),
                None => self.store.last_address(place.id.clone()).await?,
            };
            let Some(ip) = free_ip(place.subnet, &used, after) else { return Ok(None) };
            given.addresses.entry(place.id.clone()).or_default().push(ip);
            addresses.push(Address { network_id: place.id, ip });
        }
        Ok(Some(addresses))
    }

    /// The place of a network on a host: the one that is there, whatever is said of it now, if nothing else has its addresses.
    fn network(
        &self,
        world: &ProjectWorld,
        spec: &NetworkSpec,
        view: &HostView,
        given: &mut Given,
    ) -> Result<Option<NetworkPlace>, StoreError> {
        let host = &view.host.id;
        if let Some(place) = given.networks.iter().find(|it| it.spec.name == spec.name && it.host_id == *host)
        {
            return Ok(Some(place.clone()));
        }
        if let Some(place) = known_place(world, host, &spec.name) {
            let Some(why) = lost(world, view, place) else { return Ok(Some(place.clone())) };
            let name = &spec.name;
            tracing::warn!(%host, "the network {name} of {} gets other addresses: {why}", world.project.name);
            given.writes.push(ProjectWrite::Leave(place.id.clone()));
        }
        let mut blocks = view.blocks.clone();
        blocks.ours.extend(given.networks.iter().filter(|it| it.host_id == *host).map(|it| it.subnet));
        let Some(subnet) = blocks.next() else { return Ok(None) };
        let place = NetworkPlace {
            id: NetworkId::generate(unsigned(crate::clock::now()), random()?),
            project_id: world.project.id.clone(),
            host_id: host.clone(),
            spec: spec.clone(),
            subnet,
        };
        given.networks.push(place.clone());
        given.writes.push(ProjectWrite::Network(place.clone()));
        Ok(Some(place))
    }
}

/// Random bytes, for identifiers and secrets that are stored.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], StoreError> {
    crate::random::bytes().map_err(|source| StoreError::File {
        action: "get random bytes from",
        path: "/dev/urandom".into(),
        source,
    })
}

pub(crate) fn unsigned(now: UnixMillis) -> u64 {
    u64::try_from(now.0).unwrap_or(0)
}
