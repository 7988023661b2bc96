//! What decisions look at: stored rows and the hosts as they are now, as `scheduler` wants them. Most decisions are about
//! the hosts that a project is on already, and only those are read then: a step must not cost more the more hosts there are.

use std::collections::{BTreeMap, BTreeSet};

use host_proto::id::{HostId, ProjectId};
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
}

/// Whether any release of a project publishes ports.
pub(crate) fn has_ports(world: &ProjectWorld) -> bool {
    world.releases.values().any(|release| !release.spec.ports.is_empty())
}
