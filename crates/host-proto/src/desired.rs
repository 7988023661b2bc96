//! The desired state of a host: everything that it should run, as one document (STATE-1). The control plane computes
//! it, it travels whole (R26), the host keeps it encrypted and works towards it. It is the wire form and the input of
//! `reconcile` at once. Fields are only ever added; what a reader does not know it ignores.
//!
//! Mesh peers, ingress routes for names, certificates and ACME have their places; hosts that do not know them yet leave
//! them alone.

mod net;
mod registry;
mod replica;
mod section;
mod volume;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use net::{
    Action, Certificate, Chain, Dns, DnsPolicy, DnsRecord, DnsValue, Egress, FirewallRule, Network, Peer,
    PortRange, Protocol, RecordType, Route, RouteKind, Upstream, Where,
};
pub use registry::registry_of;
pub use replica::{
    Attachment, DesiredRun, Health, HealthCheck, Image, Kind, Logging, Mount, MountSource, Pull, ReplicaSpec,
    Resources, Restart, RestartPolicy, Security, Stop, Ulimit, UpdateOrder,
};
pub use section::{Section, SectionHashes};
pub use volume::{VolumeKind, volume_kind};

use crate::id::{FileId, ReplicaId, ServiceId, VolumeId};
use crate::secret::Secret;

/// What a host should run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DesiredState {
    /// Which history the generation counts in: made at install and at each restore; compared for equality only (R31).
    pub epoch: String,
    /// Higher than anything that the host applied in this epoch (CONNECT-4, STATE-6).
    pub generation: u64,
    /// Reserved for differences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_generation: Option<u64>,
    /// Add and change, remove nothing (STATE-7).
    #[serde(default)]
    pub adopt: bool,
    /// How many objects may be removed at most (R33).
    #[serde(default)]
    pub removals: Removals,
    /// SHA-256 of each section, to be echoed by the host.
    #[serde(default)]
    pub section_hashes: SectionHashes,
    /// Replicas that may not start, even from the cache (R85).
    #[serde(default)]
    pub fenced_replica_ids: Vec<ReplicaId>,
    /// Whether the host takes part.
    #[serde(default)]
    pub mode: Mode,
    /// Networks of projects on this host.
    #[serde(default)]
    pub networks: Vec<Network>,
    /// What may pass beside what the networks say; everything else is refused.
    #[serde(default)]
    pub firewall: Vec<FirewallRule>,
    /// The other hosts of the mesh.
    #[serde(default)]
    pub peers: Vec<Peer>,
    /// What names the containers can ask for.
    #[serde(default)]
    pub dns: Dns,
    /// Volumes to keep.
    #[serde(default)]
    pub volumes: Vec<Volume>,
    /// Files and secrets that replicas see.
    #[serde(default)]
    pub files: Vec<File>,
    /// Containers.
    #[serde(default)]
    pub replicas: Vec<ReplicaSpec>,
    /// Ports and names that traffic comes in by.
    #[serde(default)]
    pub routes: Vec<Route>,
    /// Certificates for routes.
    #[serde(default)]
    pub certificates: Vec<Certificate>,
    /// Credentials for registries.
    #[serde(default)]
    pub registry: Registry,
    /// When old images go.
    #[serde(default)]
    pub gc: Gc,
}

impl DesiredState {
    /// A state that asks for nothing.
    pub fn empty(epoch: impl Into<String>, generation: u64) -> Self {
        Self {
            epoch: epoch.into(),
            generation,
            base_generation: None,
            adopt: false,
            removals: Removals::default(),
            section_hashes: SectionHashes::default(),
            fenced_replica_ids: Vec::new(),
            mode: Mode::Normal,
            networks: Vec::new(),
            firewall: Vec::new(),
            peers: Vec::new(),
            dns: Dns::default(),
            volumes: Vec::new(),
            files: Vec::new(),
            replicas: Vec::new(),
            routes: Vec::new(),
            certificates: Vec::new(),
            registry: Registry::default(),
            gc: Gc::default(),
        }
    }

    /// The file with this identifier.
    pub fn file(&self, id: &FileId) -> Option<&File> {
        self.files.iter().find(|file| file.id == *id)
    }

    /// The volume with this identifier.
    pub fn volume(&self, id: &VolumeId) -> Option<&Volume> {
        self.volumes.iter().find(|volume| volume.id == *id)
    }
}

/// How many of our objects a host may remove at most to reach a state (R33): an empty list that comes from a fault must
/// not empty a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Removals {
    /// Containers.
    pub replicas: u32,
    /// Volumes; they are removed only with `state: delete` besides.
    pub volumes: u32,
    /// Networks.
    pub networks: u32,
    /// Routes.
    pub routes: u32,
    /// Certificates.
    pub certificates: u32,
}

/// Whether a host takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// As usual.
    #[default]
    Normal,
    /// Gets nothing new.
    Cordoned,
    /// Is being emptied.
    Draining,
    /// Is out of service.
    Maintenance,
    /// A later version's word: treated as `Normal`.
    #[serde(other)]
    Unknown,
}

/// A volume of a project on this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Volume {
    /// Its identifier, kept as a label.
    pub id: VolumeId,
    /// The engine's name for it.
    pub name: String,
    /// The engine's driver; `local` unless it says otherwise.
    #[serde(default = "local")]
    pub driver: String,
    /// The driver's options.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// Whether it is kept.
    #[serde(default)]
    pub state: VolumeState,
    /// Must equal the identifier for a removal to take place (R43).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delete_confirmation: Option<String>,
    /// Who uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_service_id: Option<ServiceId>,
}

impl Volume {
    /// What its options make of it.
    pub fn kind(&self) -> VolumeKind<'_> {
        volume_kind(&self.options)
    }
}

fn local() -> String {
    "local".to_owned()
}

/// Whether a volume is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VolumeState {
    /// Kept, made when it is missing. A volume that is not listed at all is kept too: it is only no longer made.
    #[default]
    Present,
    /// To be removed, when the confirmation is right.
    Delete,
    /// A later version's word: treated as `Present`.
    #[serde(other)]
    Unknown,
}

/// A file that replicas see, read-only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Its identifier: another one when the content is another.
    pub id: FileId,
    /// SHA-256 of the content, 64 hexadecimal digits.
    pub sha256: String,
    /// Length of the content in bytes.
    pub size_bytes: u64,
    /// The content in base64; absent when it is to be fetched by its hash (R25).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline_b64: Option<Secret>,
    /// Unix permissions, as in 0o400.
    #[serde(default = "readable")]
    pub mode: u32,
    /// Owner within the container.
    #[serde(default)]
    pub uid: u32,
    /// Group within the container.
    #[serde(default)]
    pub gid: u32,
    /// Kept in memory only, never on disk outside the encrypted cache.
    #[serde(default)]
    pub secret: bool,
}

fn readable() -> u32 {
    0o444
}

/// Credentials for registries.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Registry {
    /// The control plane's own registry, when there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// One entry for each registry that needs a password.
    pub auth: Vec<RegistryAuth>,
}

/// The credential for one registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegistryAuth {
    /// Host and port as they stand in an image reference; `docker.io` for references without one.
    pub registry: String,
    /// Who pulls.
    pub username: String,
    /// Its password or token.
    pub password: Secret,
}

/// When old images go (R43).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Gc {
    /// Images of this many releases of each service stay.
    pub keep_releases: u32,
    /// Begins when the disk is this full, in percent.
    pub disk_high_pct: u8,
    /// Ends when the disk is this full, in percent.
    pub disk_low_pct: u8,
    /// Nothing younger goes, in milliseconds.
    pub min_age_ms: u64,
}

impl Default for Gc {
    fn default() -> Self {
        Self { keep_releases: 3, disk_high_pct: 80, disk_low_pct: 70, min_age_ms: 600_000 }
    }
}
