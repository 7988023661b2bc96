//! What the services of a project share: networks and volumes, and what a release has to know of them. Secrets and
//! configurations are named by mounts and kept by whoever stores them.

use std::collections::{BTreeMap, BTreeSet};

use host_proto::desired::{VolumeKind, volume_kind};
use serde::{Deserialize, Serialize};

use super::{ContainerSpec, MountSource};

/// The network of services that name none.
pub const DEFAULT_NETWORK: &str = "default";

/// A network of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkSpec {
    /// Its name in the project.
    pub name: String,
    /// Whether nothing outside of it is reached from it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub internal: bool,
}

/// A volume of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumeSpec {
    /// Its name in the project.
    pub name: String,
    /// Options of the engine's local driver; empty: a directory of the engine.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}

impl VolumeSpec {
    /// What its options make of it. A path of the host must be allowed by that host.
    pub fn kind(&self) -> VolumeKind<'_> {
        volume_kind(&self.options)
    }
}

/// What the networks and volumes are that a service names. A release keeps it, so that it runs the same whatever later
/// files say of them, or when they name them no more.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shared {
    /// Networks, in the order in which the container has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<NetworkSpec>,
    /// Volumes, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<VolumeSpec>,
}

impl Shared {
    /// What a container needs of these. What is not among them is left out, and [`lacks`](Self::lacks) says so.
    pub fn of(container: &ContainerSpec, networks: &[NetworkSpec], volumes: &[VolumeSpec]) -> Self {
        let network = |name: &str| networks.iter().find(|it| it.name == name).cloned();
        let volume = |name: &str| volumes.iter().find(|it| it.name == name).cloned();
        Self {
            networks: container.network_names().into_iter().filter_map(network).collect(),
            volumes: container.volume_names().into_iter().filter_map(volume).collect(),
        }
    }

    /// A network by its name.
    pub fn network(&self, name: &str) -> Option<&NetworkSpec> {
        self.networks.iter().find(|it| it.name == name)
    }

    /// A volume by its name.
    pub fn volume(&self, name: &str) -> Option<&VolumeSpec> {
        self.volumes.iter().find(|it| it.name == name)
    }

    /// The first thing that a container names and of which nobody knows what it is: `network back`.
    pub fn lacks(&self, container: &ContainerSpec) -> Option<String> {
        let network = container.network_names().into_iter().find(|name| self.network(name).is_none());
        let volume = || container.volume_names().into_iter().find(|name| self.volume(name).is_none());
        let volume = || volume().map(|name| format!("volume {name}"));
        network.map(|name| format!("network {name}")).or_else(volume)
    }

    /// Whether nobody has written anything down: every release names a network, so it is one of before they kept this.
    pub fn is_unknown(&self) -> bool {
        self.networks.is_empty() && self.volumes.is_empty()
    }
}

impl ContainerSpec {
    /// The networks that it stands in.
    pub fn network_names(&self) -> Vec<&str> {
        let named: Vec<&str> = self.networks.iter().map(|it| it.network.as_str()).collect();
        if named.is_empty() { vec![DEFAULT_NETWORK] } else { named }
    }

    /// The volumes that it mounts, each once.
    pub fn volume_names(&self) -> BTreeSet<&str> {
        let volumes = self.mounts.iter().filter_map(|mount| match &mount.source {
            MountSource::Volume { volume, .. } => Some(volume.as_str()),
            _ => None,
        });
        volumes.collect()
    }
}
