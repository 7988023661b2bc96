//! A container that should exist.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use crate::id::{FileId, NetworkId, ReleaseId, ReplicaId, ServiceId, VolumeId};
use crate::secret::Secret;

/// A container that should exist. `spec_hash` stands for all that an engine cannot change in a running container: a
/// container with another hash is another container, and has another replica id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaSpec {
    /// Which replica.
    pub replica_id: ReplicaId,
    /// Of which service.
    pub service_id: ServiceId,
    /// In which release.
    pub release_id: ReleaseId,
    /// The project's name, for labels and people.
    pub project: String,
    /// The service's name, for labels and people.
    pub service: String,
    /// The replica's number within the service, from 1.
    pub number: u32,
    /// The container's name at the engine.
    pub name: String,
    /// SHA-256 over what the container is made of; made by the control plane, compared by the host (R27).
    pub spec_hash: String,
    /// Whether it should run.
    #[serde(default)]
    pub desired: DesiredRun,
    /// What it is.
    #[serde(default)]
    pub kind: Kind,
    /// What it runs.
    pub image: Image,
    /// Arguments; those of the image when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// Program; that of the image when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<Vec<String>>,
    /// Working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// User, as `name`, `uid` or `uid:gid`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Its own name for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// Environment; values may be secret.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, Secret>,
    /// Volumes, files and memory that it sees.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Mount>,
    /// Networks that it stands in; the first one is its way out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<Attachment>,
    /// More names that it knows, as `name:address`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra_hosts: Vec<String>,
    /// What it may use.
    #[serde(default)]
    pub resources: Resources,
    /// What the engine does when it ends.
    #[serde(default)]
    pub restart: Restart,
    /// How one knows that it works.
    #[serde(default)]
    pub health: Health,
    /// How it is stopped.
    #[serde(default)]
    pub stop: Stop,
    /// Which goes first when it is replaced; for people, the control plane decides.
    #[serde(default)]
    pub update_order: UpdateOrder,
    /// Labels of its owner's; ours are added and cannot be overridden.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// How much of what it prints is kept.
    #[serde(default)]
    pub logging: Logging,
    /// What it is allowed.
    #[serde(default)]
    pub security: Security,
    /// Whether a small init reaps its children.
    #[serde(default = "yes")]
    pub init: bool,
    /// Replicas of other services that must be ready before it is started the first time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<ReplicaId>,
}

fn yes() -> bool {
    true
}

/// Whether a replica should run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DesiredRun {
    /// It runs.
    #[default]
    Running,
    /// It exists and does not run.
    Stopped,
    /// It does not exist.
    Absent,
    /// A later version's word: left as it is.
    #[serde(other)]
    Unknown,
}

/// What a replica is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One of several, or of one.
    #[default]
    Service,
    /// Never two at a time, never moved without a person (OFF-2).
    Singleton,
    /// A later version's word: treated as `Service`.
    #[serde(other)]
    Unknown,
}

/// What a replica runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// The reference that a person wrote, for people and for pulling.
    #[serde(rename = "ref")]
    pub reference: String,
    /// `sha256:…` of the manifest where a registry gave one, or the image's id when it was made on the host (R44).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// When it is pulled.
    #[serde(default)]
    pub pull: Pull,
}

/// When an image is pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pull {
    /// When the host has none.
    #[default]
    Missing,
    /// Before the container is made.
    Always,
    /// Never: the host must have it.
    Never,
    /// A later version's word: treated as `Missing`.
    #[serde(other)]
    Unknown,
}

/// Something that a replica sees in its file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// What.
    #[serde(flatten)]
    pub source: MountSource,
    /// Where, an absolute path.
    pub target: String,
    /// Whether it may only read.
    #[serde(default)]
    pub read_only: bool,
}

/// What is mounted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MountSource {
    /// A volume of this state.
    Volume {
        /// Which.
        volume_id: VolumeId,
    },
    /// A file of this state.
    File {
        /// Which.
        file_id: FileId,
    },
    /// Memory.
    Tmpfs {
        /// At most this many bytes; the kernel's default when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size_bytes: Option<u64>,
    },
    /// A path of the host, where its operator allows that.
    HostPath {
        /// Absolute.
        path: String,
    },
}

/// A network that a replica stands in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Which.
    pub network_id: NetworkId,
    /// Its address there.
    pub ip: Ipv4Addr,
    /// More names for it there; they are records of the state's DNS too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
}

/// What a replica may use. Absent: no limit of ours.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Resources {
    /// Thousandths of a processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_millis: Option<u64>,
    /// Memory in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Memory and swap together in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_swap_bytes: Option<u64>,
    /// Memory that it should have at least, in bytes: for placement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_reserved_bytes: Option<u64>,
    /// Processes and threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pids: Option<u64>,
    /// Bytes of /dev/shm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shm_bytes: Option<u64>,
    /// Limits by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ulimits: BTreeMap<String, Ulimit>,
}

/// A limit of the kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ulimit {
    /// What holds.
    pub soft: i64,
    /// How far it may be raised.
    pub hard: i64,
}

/// What the engine does when a container ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Restart {
    /// Whether.
    pub policy: RestartPolicy,
    /// How often at most, for `on_failure`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
}

/// Whether an engine starts a container again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RestartPolicy {
    /// Always, also after a boot, until it is stopped on purpose (R38).
    #[default]
    UnlessStopped,
    /// After a failure.
    OnFailure,
    /// Never.
    No,
    /// A later version's word: treated as `UnlessStopped`.
    #[serde(other)]
    Unknown,
}

/// How one knows that a replica works. Times in milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Health {
    /// What is asked.
    #[serde(flatten)]
    pub check: HealthCheck,
    /// Between two questions.
    pub interval_ms: u64,
    /// For an answer.
    pub timeout_ms: u64,
    /// Failures do not count this long after the start.
    pub start_period_ms: u64,
    /// So many failures in a row make it unhealthy.
    pub retries: u32,
    /// So many successes in a row make it healthy, for `http` and `tcp` (R68).
    pub success_threshold: u32,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            check: HealthCheck::None,
            interval_ms: 30_000,
            timeout_ms: 30_000,
            start_period_ms: 0,
            retries: 3,
            success_threshold: 1,
        }
    }
}

/// What is asked to know whether a replica works.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "check", rename_all = "snake_case")]
pub enum HealthCheck {
    /// What the image says; nothing when it says nothing.
    #[default]
    None,
    /// Nothing, even if the image says something.
    Disabled,
    /// A command within the container, run by the engine.
    Exec {
        /// With `CMD` or `CMD-SHELL` first, as the engine wants it.
        command: Vec<String>,
    },
    /// A request by the host to the container's address.
    Http {
        /// Path with a leading slash.
        path: String,
        /// Port.
        port: u16,
        /// Statuses that are right; 200 to 399 when empty.
        #[serde(default)]
        expect: Vec<u16>,
    },
    /// A connection by the host to the container's address.
    Tcp {
        /// Port.
        port: u16,
    },
    /// A later version's word: treated as `None`.
    #[serde(other)]
    Unknown,
}

/// How a replica is stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stop {
    /// The signal; the image's own when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// How long it may take before it is killed, in milliseconds.
    pub grace_ms: u64,
}

impl Default for Stop {
    fn default() -> Self {
        Self { signal: None, grace_ms: 10_000 }
    }
}

/// Which goes first when a replica is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateOrder {
    /// The new one works before the old one goes.
    #[default]
    StartFirst,
    /// Never two at a time.
    StopFirst,
    /// A later version's word: treated as `StopFirst`.
    #[serde(other)]
    Unknown,
}

/// How much of what a replica prints is kept on its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Logging {
    /// Bytes of one file.
    pub max_size_bytes: u64,
    /// Files.
    pub max_files: u32,
}

impl Default for Logging {
    fn default() -> Self {
        Self { max_size_bytes: 10 * 1024 * 1024, max_files: 3 }
    }
}

/// What a replica is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Security {
    /// Capabilities beyond the engine's usual ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cap_add: Vec<String>,
    /// Capabilities that it does not get.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cap_drop: Vec<String>,
    /// Whether its own file system is read-only.
    pub read_only_root: bool,
    /// Whether it may not gain privileges by setuid programs.
    pub no_new_privileges: bool,
    /// Kernel settings of its namespaces.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctls: BTreeMap<String, String>,
}

impl Default for Security {
    fn default() -> Self {
        Self {
            cap_add: Vec::new(),
            cap_drop: Vec::new(),
            read_only_root: false,
            no_new_privileges: true,
            sysctls: BTreeMap::new(),
        }
    }
}
