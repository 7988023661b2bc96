//! What decisions look at: stored rows and the hosts as they are now, as `scheduler` wants them. Most decisions are about
//! the hosts that a project is on already, and only those are read then: a step must not cost more the more hosts there are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use host_proto::id::{HostId, ProjectId, VolumeId};
use host_proto::message::LeftVolume;
use model::hosting::ProjectWorld;
use scheduler::{Blocks, HostView};
use store::StoreError;

use super::Services;

/// Which hosts, and what of them.
#[derive(Debug, Clone)]
pub(crate) struct Wanted<'a> {
    /// Ports of other projects than this one are in the way.
    pub(crate) project: &'a ProjectId,
    /// These hosts; `None`: all.
    pub(crate) among: Option<BTreeSet<HostId>>,
    /// Whether ports matter.
    pub(crate) ports: bool,
}

impl<'a> Wanted<'a> {
    /// The hosts that a project is on.
    pub(crate) fn at_home(world: &'a ProjectWorld, ports: bool) -> Self {
        let among = Some(world.hosts().into_iter().cloned().collect());
        Self { project: &world.project.id, among, ports }
    }

    /// All hosts instead.
    pub(crate) fn everywhere(self) -> Self {
        Self { among: None, ..self }
    }
}

impl Services {
    /// Hosts, with what other projects have on them.
    pub(crate) async fn host_views(&self, wanted: &Wanted<'_>) -> Result<Vec<HostView>, StoreError> {
        let among = wanted.among.as_ref().map(|ids| ids.iter().cloned().collect::<Vec<_>>());
        if among.as_ref().is_some_and(Vec::is_empty) {
            return Ok(Vec::new());
        }
        let loads = self.store.host_loads(among, wanted.ports).await?;
        let left = self.left_volumes(loads.iter().map(|load| &load.host.id)).await?;
        let views = loads.into_iter().map(|load| {
            let mut ports = BTreeMap::new();
            for other in load.ports.iter().filter(|it| it.project_id != *wanted.project) {
                for port in &other.spec.ports {
                    ports.insert((port.host, port.protocol.into()), other.service.clone());
                }
            }
            let live = self.live.for_decisions(&load.host.id);
            HostView {
                presence: live.presence,
                engine_down: live.engine_down,
                replicas: load.replicas,
                ports,
                foreign_ports: live.foreign_ports,
                items: live.items,
                routes: live.routes,
                closed: live.closed,
                drained: live.drained,
                unknown: live.unknown,
                left_volumes: left.get(&load.host.id).cloned(),
                blocks: Blocks {
                    range: self.networks,
                    ours: load.subnets,
                    near: crate::hosts::local_subnets(&load.host.facts),
                    taken: live.taken,
                    refused: live.refused,
                },
                host: load.host,
            }
        });
        Ok(views.collect())
    }

    /// What these hosts say they have of volumes, and nobody knows. A host is not believed that it has what belongs to a
    /// project already.
    pub(crate) async fn left_volumes(
        &self,
        hosts: impl Iterator<Item = &HostId>,
    ) -> Result<BTreeMap<HostId, Vec<LeftVolume>>, StoreError> {
        let said = hosts.filter_map(|id| Some((id.clone(), self.live.left_volumes(id)?)));
        let said: Vec<(HostId, Arc<[LeftVolume]>)> = said.collect();
        let ids: Vec<VolumeId> =
            said.iter().flat_map(|(_, left)| left.iter().map(|it| it.volume_id.clone())).collect();
        let known = if ids.is_empty() { BTreeSet::new() } else { self.store.known_volumes(ids).await? };
        let unknown = |left: &[LeftVolume]| {
            left.iter().filter(|it| !known.contains(&it.volume_id)).cloned().collect::<Vec<_>>()
        };
        Ok(said.into_iter().map(|(id, left)| (id, unknown(&left))).collect())
    }
}

/// Whether any release of a project publishes ports.
pub(crate) fn has_ports(world: &ProjectWorld) -> bool {
    world.releases.values().any(|release| !release.spec.ports.is_empty())
}
