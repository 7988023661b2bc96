//! A project with all that belongs to it.

use std::collections::{BTreeMap, BTreeSet};

use host_proto::id::{HostId, ReleaseId, ReplicaId, ServiceId};

use super::{Deployment, DeploymentState, NetworkPlace, Project, Release, Replica, Service, VolumePlace};

/// A project with all that belongs to it: what decisions look at, and what the database reads in one go.
#[derive(Debug, Clone)]
pub struct ProjectWorld {
    /// The project.
    pub project: Project,
    /// Its services, by name.
    pub services: Vec<Service>,
    /// Releases that are spoken of: current ones, those of the deployment, those of replicas.
    pub releases: BTreeMap<ReleaseId, Release>,
    /// Its replicas.
    pub replicas: Vec<Replica>,
    /// The places of its networks.
    pub networks: Vec<NetworkPlace>,
    /// The places of its volumes.
    pub volumes: Vec<VolumePlace>,
    /// The deployment that is not over.
    pub deployment: Option<Deployment>,
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
