//! What decisions look at: one project with all that belongs to it, and the hosts as they are now.

use std::collections::{BTreeMap, BTreeSet};

use host_proto::desired::Protocol;
use host_proto::id::{HostId, ReleaseId, ReplicaId, ServiceId};
use host_proto::report::ItemResult;
use model::UnixMillis;
use model::hosting::{
    Deployment, DeploymentState, Host, NetworkPlace, Project, Release, Replica, Service, VolumePlace,
};

/// A project with all that belongs to it.
#[derive(Debug, Clone)]
pub struct ProjectWorld {
    /// The project.
    pub project: Project,
    /// Its services.
    pub services: Vec<Service>,
    /// Releases that are spoken of: current ones, those of the deployment, those of replicas.
    pub releases: BTreeMap<ReleaseId, Release>,
    /// Its replicas.
    pub replicas: Vec<Replica>,
    /// The places of its networks.
    pub networks: Vec<NetworkPlace>,
    /// The places of its volumes.
    pub volumes: Vec<VolumePlace>,
    /// The deployment that is under way.
    pub deployment: Option<Deployment>,
}

/// A host as it is now.
#[derive(Debug, Clone)]
pub struct HostView {
    /// The host.
    pub host: Host,
    /// Whether it is connected, or was a moment ago (OFF-1).
    pub online: bool,
    /// How many replicas of all projects it has.
    pub replicas: usize,
    /// Ports that services of other projects have on it, with the service's name as `project/service`.
    pub ports: BTreeMap<(u16, Protocol), String>,
    /// Ports on which something listens there that is not ours.
    pub foreign_ports: BTreeSet<u16>,
    /// Items of its state that did not simply succeed.
    pub items: Vec<ItemResult>,
}

/// What a service should run now.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Which release; none: nothing.
    pub release: Option<&'a Release>,
    /// How many replicas.
    pub count: u32,
}

impl ProjectWorld {
    /// What a service should run now: its new release while a deployment goes on, else its current one.
    pub fn wanted(&self, service: &Service) -> Wanted<'_> {
        let running = self.deployment.as_ref().filter(|it| it.state == DeploymentState::Running);
        let item = running.and_then(|it| it.items.iter().find(|item| item.service_id == service.id));
        let id = match item {
            Some(item) => item.to.as_ref(),
            None => service.current.as_ref(),
        };
        let release = id.and_then(|id| self.releases.get(id));
        Wanted { release, count: release.map_or(0, |release| release.spec.scale.count()) }
    }

    /// The replicas of a service.
    pub fn replicas_of<'a>(&'a self, service: &'a ServiceId) -> impl Iterator<Item = &'a Replica> {
        self.replicas.iter().filter(move |replica| replica.service_id == *service)
    }

    /// The service of a name.
    pub fn service(&self, name: &str) -> Option<&Service> {
        self.services.iter().find(|service| service.name == name)
    }

    /// The release of a replica.
    pub fn release_of(&self, replica: &Replica) -> Option<&Release> {
        self.releases.get(&replica.release_id)
    }

    /// The hosts that have replicas or volumes of this project.
    pub fn hosts(&self) -> BTreeSet<&HostId> {
        let replicas = self.replicas.iter().map(|replica| &replica.host_id);
        replicas.chain(self.volumes.iter().map(|volume| &volume.host_id)).collect()
    }

    /// The replica with this identifier.
    pub fn replica(&self, id: &ReplicaId) -> Option<&Replica> {
        self.replicas.iter().find(|replica| replica.id == *id)
    }
}

/// How long ago something was, in milliseconds; 0 when it lies ahead.
pub(crate) fn age_ms(now: UnixMillis, then: UnixMillis) -> u64 {
    u64::try_from(now.0.saturating_sub(then.0)).unwrap_or(0)
}
