//! Messages about the connection itself.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::desired::SectionHashes;
use crate::id::SessionId;
use crate::report::ReplicaReport;
use crate::secret::Secret;

/// A version of the protocol: another major is another URL, minors only add.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProtocolVersion {
    /// What must be the same.
    pub major: u16,
    /// What the smaller of the two decides.
    pub minor: u16,
}

impl ProtocolVersion {
    /// What this crate speaks.
    pub const CURRENT: Self = Self { major: 1, minor: 0 };
}

/// The first message of a host (CONNECT-3), at most five seconds after the upgrade.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// What it speaks.
    pub protocol: ProtocolVersion,
    /// What it can: `deflate`, `logs`, `nft`, `netd`…
    #[serde(default)]
    pub features: Vec<String>,
    /// Which program.
    pub agent: AgentBuild,
    /// Which machine.
    pub identity: Identity,
    /// Its clock, RFC 3339; only to see how far it is off (R9).
    pub time_at: String,
    /// What the machine is.
    pub facts: Facts,
    /// In which epoch it applied something last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<String>,
    /// What it applied last, 0 if nothing.
    #[serde(default)]
    pub generation: u64,
    /// Which sections it has applied.
    #[serde(default)]
    pub section_hashes: SectionHashes,
    /// Whether it runs from its cache.
    #[serde(default)]
    pub from_cache: bool,
    /// How old that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_age_ms: Option<u64>,
    /// Every container with our labels, also those that do not run.
    #[serde(default)]
    pub replicas: Vec<ReplicaReport>,
    /// Whether the list of replicas is true: false while the engine does not answer (R29).
    #[serde(default = "yes")]
    pub replicas_known: bool,
    /// What else lives there; never touched.
    #[serde(default)]
    pub foreign: Foreign,
}

fn yes() -> bool {
    true
}

/// Which program speaks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentBuild {
    /// Its version.
    pub version: String,
    /// The processor that it was built for: `x86_64`, `aarch64`.
    pub arch: String,
    /// The system: `linux`.
    pub os: String,
    /// When it was started, RFC 3339.
    pub started_at: String,
}

/// Which machine speaks (R11, R12).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// `/etc/machine-id`.
    pub machine_id: String,
    /// Made at the first join.
    pub instance_id: String,
    /// The kernel's, another one at each boot.
    pub boot_id: String,
    /// WireGuard key in base64.
    pub wg_public_key: String,
    /// What the last `hello_ack` gave; absent at the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_secret_prev: Option<Secret>,
}

/// What a machine is. All of it is for people and placement.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Its name.
    pub hostname: String,
    /// The kernel's release.
    pub kernel: String,
    /// The processor: `x86_64`, `aarch64`.
    pub arch: String,
    /// The system's name and version, as `Debian GNU/Linux 12 (bookworm)`.
    pub os_release: String,
    /// Processors.
    pub cpu_count: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// File systems that matter to us.
    pub disk: Vec<Disk>,
    /// The engine; absent while it does not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docker: Option<DockerFacts>,
    /// What carries the mesh.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wg: Option<WireGuardFacts>,
    /// Addresses that the world can reach.
    pub public_ips: Vec<IpAddr>,
    /// Other addresses.
    pub private_ips: Vec<IpAddr>,
    /// What it runs in: `none`, `kvm`, `lxc`…
    pub virtualization: String,
}

/// A file system.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Disk {
    /// Where it is mounted.
    pub mount: String,
    /// Bytes in all.
    pub total_bytes: u64,
    /// Bytes that are free for us.
    pub free_bytes: u64,
    /// Which kind.
    pub fs: String,
}

/// The container engine.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DockerFacts {
    /// Its version.
    pub version: String,
    /// Oldest API that it speaks.
    pub api_min: String,
    /// Newest API that it speaks.
    pub api_max: String,
    /// The one in use.
    pub api: String,
    /// How it keeps images.
    pub storage_driver: String,
    /// What it filters with: `iptables`, `nftables`.
    pub firewall_backend: String,
    /// `1` or `2`.
    pub cgroup_version: String,
    /// Whether containers outlive it.
    pub live_restore: bool,
    /// Where it keeps its data.
    pub root_dir: String,
}

/// What carries the mesh.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WireGuardFacts {
    /// `kernel`, `userspace` or `none`.
    pub mode: String,
}

/// What else lives on a host. Counts, ports and blocks of addresses only; never touched.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Foreign {
    /// Containers without our labels.
    pub containers: u32,
    /// Networks without our labels.
    pub networks: u32,
    /// Ports that something listens on.
    pub ports: Vec<u16>,
    /// Blocks of addresses that are in use there and are not those of our networks, at most
    /// [`TAKEN_BLOCKS`](crate::limits::TAKEN_BLOCKS). Agents before it say nothing of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<TakenBlock>,
}

/// A block of addresses that something on a host uses which is not ours.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TakenBlock {
    /// What uses it.
    pub by: Taker,
    /// The block: `172.17.0.0/16`.
    pub block: String,
    /// The name of the network or interface.
    #[serde(default)]
    pub name: String,
}

/// What uses a block of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Taker {
    /// A network of the engine, which makes no second one there.
    Network,
    /// An address of an interface.
    Interface,
    /// A route.
    Route,
    /// A later version's word.
    #[serde(other)]
    Unknown,
}

/// The answer to `hello` (CONNECT-4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelloAck {
    /// For logs of both sides.
    pub session_id: SessionId,
    /// To be kept before anything is applied, and shown with the next `hello` (R12).
    pub session_secret: Secret,
    /// What is spoken.
    pub protocol: ProtocolVersion,
    /// What both can.
    #[serde(default)]
    pub features: Vec<String>,
    /// The server's clock, RFC 3339 (R9).
    pub time_at: String,
    /// How often things happen.
    #[serde(default)]
    pub intervals: Intervals,
    /// What is too much.
    #[serde(default)]
    pub limits: Limits,
    /// Spread of the reconnects after a restart, in milliseconds (R17).
    #[serde(default)]
    pub reconnect_spread_ms: u64,
    /// A text for the host's log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// How often things happen, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Intervals {
    /// Each side pings (CONNECT-5).
    pub ping_ms: u64,
    /// Silence that ends a connection (CONNECT-5).
    pub dead_ms: u64,
    /// `metrics` (REQ-8).
    pub metrics_ms: u64,
    /// Reconciles without another reason (STATE-9).
    pub reconcile_ms: u64,
    /// `replica_status`, at most.
    pub status_ms: u64,
}

impl Default for Intervals {
    fn default() -> Self {
        Self { ping_ms: 20_000, dead_ms: 60_000, metrics_ms: 30_000, reconcile_ms: 30_000, status_ms: 1_000 }
    }
}

/// What is too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Bytes of a message (REQ-11).
    pub max_message_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_message_bytes: 16 * 1024 * 1024 }
    }
}

/// Are you there? Beside the WebSocket's own ping: answered by the task that reconciles (R18).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Ping {
    /// Counts.
    pub seq: u64,
    /// The sender's clock in microseconds, of any origin.
    pub t_us: u64,
}

/// The answer to `ping`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pong {
    /// As asked.
    pub seq: u64,
    /// As asked.
    pub t_us: u64,
    /// How long the last reconcile was late.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconcile_lag_ms: Option<u64>,
}

/// The connection ends on purpose.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Goodbye {
    /// Why, for people.
    pub reason: String,
    /// When to come back (R17).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconnect_after_ms: Option<u64>,
}

/// A new host token (TOKEN-1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRotate {
    /// The token.
    pub host_token: Secret,
    /// How long the old one works after the answer (TOKEN-2).
    pub grace_ms: u64,
}

/// Whether the new token is on disk (TOKEN-3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRotated {
    /// Whether.
    pub ok: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
