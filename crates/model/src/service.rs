//! What a service is to run, as a release stores it: the container, how many of it, where, how it is updated and which
//! ports it has. The document is our own: Compose files are read into it by [`crate::compose`], and nothing in it is
//! Compose's. What would only be a default is not written, so that a field that is added later changes no hash.
//!
//! Reading order: here, [`image`], [`mount`], [`net`], [`health`], [`limits`], [`rollout`], [`project`].

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub mod health;
pub mod image;
pub mod limits;
pub mod mount;
pub mod net;
pub mod project;
pub mod rollout;

pub use health::{Check, Health};
pub use image::{ImageRef, InvalidImage, Pull, is_registry};
pub use limits::{Logging, Resources, Restart, Security, Stop, Ulimit};
pub use mount::{FileAccess, Mount, MountSource};
pub use net::{Attachment, ExtraHost, HostAddress, Port, Protocol};
pub use project::{DEFAULT_NETWORK, NetworkSpec, Shared, VolumeSpec};
pub use rollout::{Condition, Dependency, Order, Placement, Reservation, Scale, Spread, Update};

/// The version of the document that this program writes, and the newest that it reads.
pub const FORMAT: u32 = 1;
/// The most replicas of a service.
pub const MAX_REPLICAS: u32 = 1000;
/// The longest name of a project, a service, a network or a volume, in bytes. `<service>-<number>` is a label of DNS,
/// which has at most 63.
pub const MAX_NAME: usize = 55;

/// What a service is to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceSpec {
    /// The version of this document: [`FORMAT`].
    pub format: u32,
    /// What each replica is. A change of it replaces the replicas; a change of anything else does not.
    pub container: ContainerSpec,
    /// How many replicas.
    pub scale: Scale,
    /// On which hosts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub placement: Placement,
    /// How one release follows another.
    pub update: Update,
    /// Ports of the host that lead to the replicas, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<Port>,
    /// Services of the same project that come first, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<Dependency>,
    /// What the networks and volumes are that it names. No part of the container: a network is opened and closed where it
    /// is.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shared: Shared,
}

/// What each replica of a service is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContainerSpec {
    /// The image.
    pub image: ImageRef,
    /// When the image is fetched.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pull: Pull,
    /// Instead of the image's entrypoint. An empty list takes it away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<Vec<String>>,
    /// Instead of the image's command. An empty list takes it away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// An absolute path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<String>,
    /// A name or number, with a group after a colon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The name that the container has for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// Environment variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Labels of the container. None begins with `muster.`, which are ours.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// What is mounted, by target; no target occurs twice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Mount>,
    /// Networks of the project, by name; no network occurs twice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<Attachment>,
    /// Lines of the container's hosts file, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_hosts: Vec<ExtraHost>,
    /// How to see whether a replica is well. Without one the image's own check stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<Health>,
    /// How much of the host a replica may use.
    #[serde(default, skip_serializing_if = "is_default")]
    pub resources: Resources,
    /// Limits of its processes, by the names of `setrlimit` in lower case.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ulimits: BTreeMap<String, Ulimit>,
    /// What happens when it exits.
    #[serde(default, skip_serializing_if = "is_default")]
    pub restart: Restart,
    /// How it is stopped.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stop: Stop,
    /// How much of its output is kept.
    #[serde(default, skip_serializing_if = "is_default")]
    pub logging: Logging,
    /// What it may do.
    #[serde(default, skip_serializing_if = "is_default")]
    pub security: Security,
    /// Whether a small first process passes signals on and collects dead children.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub init: bool,
}

/// Why a stored document is not read.
#[derive(Debug, thiserror::Error)]
pub enum InvalidSpec {
    /// It is no document of this kind.
    #[error("is no document of a service")]
    Json(#[from] serde_json::Error),
    /// A newer program wrote it.
    #[error("has format {0}; this program reads up to {FORMAT}")]
    Newer(u32),
}

impl ServiceSpec {
    /// The document as it is stored. The same specification always gives the same text.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// Reads a stored document.
    pub fn from_json(text: &str) -> Result<Self, InvalidSpec> {
        /// Read first, since a newer document may have another shape.
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let Version { format } = serde_json::from_str(text)?;
        if format > FORMAT {
            return Err(InvalidSpec::Newer(format));
        }
        Ok(serde_json::from_str(text)?)
    }

    /// The names of the volumes that its replicas share, each once.
    pub fn volumes(&self) -> BTreeSet<&str> {
        self.container.volume_names()
    }

    /// Whether replicas must not be started elsewhere on their own: there is to be only one, or they have data.
    pub fn is_bound(&self) -> bool {
        self.scale == Scale::Singleton || self.container.has_volume()
    }
}

impl ContainerSpec {
    /// A replica of this image and nothing else.
    pub fn new(image: ImageRef) -> Self {
        Self {
            image,
            pull: Pull::default(),
            entrypoint: None,
            command: None,
            working_dir: None,
            user: None,
            hostname: None,
            env: BTreeMap::new(),
            labels: BTreeMap::new(),
            mounts: Vec::new(),
            networks: Vec::new(),
            extra_hosts: Vec::new(),
            health: None,
            resources: Resources::default(),
            ulimits: BTreeMap::new(),
            restart: Restart::default(),
            stop: Stop::default(),
            logging: Logging::default(),
            security: Security::default(),
            init: true,
        }
    }

    /// What `spec_hash` is the hash of: equal containers give equal texts. Files are named and not contained, so that
    /// whoever hashes adds which versions of them are meant.
    pub fn canonical(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// Whether data of it outlives a replica.
    pub fn has_volume(&self) -> bool {
        let lasts =
            |mount: &Mount| matches!(mount.source, MountSource::Volume { .. } | MountSource::HostPath { .. });
        self.mounts.iter().any(lasts)
    }
}

/// What people should know of several replicas with volumes: these are on one host. Nothing when there is one replica, or no
/// volume.
pub fn shared_volumes(replicas: u32, volumes: &[&str], host: Option<&str>) -> Option<String> {
    let (noun, verb) = match volumes {
        [] => return None,
        [_] => ("volume", "is"),
        _ => ("volumes", "are"),
    };
    let names = volumes.join(", ");
    let host = host.filter(|name| !name.is_empty()).unwrap_or("one host");
    let words = format!(
        "its {replicas} replicas share the {noun} {names}, which {verb} on {host}: all of them run there"
    );
    (replicas > 1).then_some(words)
}

/// Whether a text can name a project, a service, a network, a volume or a file of a project:
/// `[a-z0-9]([a-z0-9_-]*[a-z0-9])?` with at most [`MAX_NAME`] bytes. Names go into names of DNS and of containers.
pub fn is_name(text: &str) -> bool {
    let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    text.len() <= MAX_NAME
        && bytes.first().is_some_and(plain)
        && bytes.last().is_some_and(plain)
        && bytes.iter().all(|byte| plain(byte) || matches!(byte, b'_' | b'-'))
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn yes() -> bool {
    true
}

// Serde passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_true(value: &bool) -> bool {
    *value
}

#[cfg(test)]
mod tests;
