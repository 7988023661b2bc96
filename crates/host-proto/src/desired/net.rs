//! Networks, firewall, peers, names and routes of a desired state.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::id::{CertificateId, HostId, NetworkId, ProjectId, ReplicaId, RouteId, RuleId};
use crate::secret::Secret;

/// A network of a project on this host: one bridge of the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// Its identifier, kept as a label. Another one when anything below changes that an engine keeps (R35): all but `egress`.
    pub id: NetworkId,
    /// The engine's name for it.
    pub name: String,
    /// The interface's name: at most 15 bytes.
    pub bridge: String,
    /// Whose it is.
    pub project_id: ProjectId,
    /// The project's name, as it stands in DNS.
    pub project: String,
    /// Its addresses, as `10.208.4.0/24`.
    pub subnet: String,
    /// The bridge's own address: what containers ask for names.
    pub gateway: Ipv4Addr,
    /// Largest packet in bytes; the engine's default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Whether its containers may reach what lies outside the project.
    #[serde(default)]
    pub egress: Egress,
    /// The interface that the engine shall trust to deliver for containers (R47).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusted_interface: Option<String>,
    /// Whether the host answers names on the gateway.
    #[serde(default = "yes")]
    pub internal_dns: bool,
}

fn yes() -> bool {
    true
}

/// Whether containers may reach what lies outside their project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Egress {
    /// The world, but no other project and no service of a host.
    #[default]
    Allow,
    /// Nothing.
    Deny,
    /// A later version's word: treated as `Deny`.
    #[serde(other)]
    Unknown,
}

/// What may pass beside what the networks say. What no rule names is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirewallRule {
    /// Its identifier.
    pub id: RuleId,
    /// Where it stands.
    pub chain: Chain,
    /// What happens.
    pub action: Action,
    /// Which protocol; every when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proto: Option<Protocol>,
    /// Who sends.
    pub src: Where,
    /// Who receives.
    pub dst: Where,
    /// Destination ports; every when empty.
    #[serde(default)]
    pub ports: Vec<PortRange>,
    /// Why it is there, for people.
    #[serde(default)]
    pub comment: String,
}

/// Where a rule stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Chain {
    /// From the mesh into networks.
    MeshIn,
    /// Into a network of this host.
    NetIn,
    /// Out of a network of this host.
    NetOut,
    /// From networks to the host itself.
    HostIn,
    /// A later version's word: the rule is reported as not applied.
    #[serde(other)]
    Unknown,
}

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Passes.
    Accept,
    /// Is refused with an answer, so that the sender knows at once.
    Reject,
    /// A later version's word: treated as `Reject`.
    #[serde(other)]
    Unknown,
}

/// A transport protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// One end of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Where {
    /// Everything.
    Any,
    /// A block of addresses, as `10.208.4.0/24`.
    Cidr(String),
    /// A network of this host.
    Network(NetworkId),
}

/// Ports from `first` to `last`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortRange {
    /// First port.
    pub first: u16,
    /// Last port.
    pub last: u16,
}

/// Another host of the mesh.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// Who it is.
    pub host_id: HostId,
    /// Its WireGuard key in base64; peers are matched by all of it (R55).
    pub public_key: String,
    /// The addresses behind it.
    pub allowed_ips: Vec<String>,
    /// Where it may be reached, best first.
    #[serde(default)]
    pub endpoints: Vec<SocketAddr>,
    /// Seconds between packets that keep a way through NAT open; none when 0.
    #[serde(default)]
    pub keepalive_s: u16,
    /// The host that relays to it (R54).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via_host_id: Option<HostId>,
    /// A key shared by the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub psk: Option<Secret>,
}

/// What names the containers can ask for. The snapshot is the only writer: it replaces what was there (R60).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Dns {
    /// The zone below which projects have their names: `web.<project>.<domain>`.
    pub domain: String,
    /// How long an answer may be kept, in seconds (R59: 2 to 5).
    pub ttl_s: u32,
    /// The records.
    pub records: Vec<DnsRecord>,
    /// Where other names are asked for; the host's own servers when empty (R58).
    pub upstreams: Vec<SocketAddr>,
}

impl Default for Dns {
    fn default() -> Self {
        Self { domain: "internal".to_owned(), ttl_s: 2, records: Vec::new(), upstreams: Vec::new() }
    }
}

/// A name within a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DnsRecord {
    /// The project that may ask.
    pub project_id: ProjectId,
    /// The name without the project's and the zone's: `web`, `web-1`.
    pub name: String,
    /// Which kind.
    #[serde(rename = "type")]
    pub kind: RecordType,
    /// The answers.
    pub values: Vec<DnsValue>,
    /// In which order they are given.
    #[serde(default)]
    pub policy: DnsPolicy,
}

/// Which kind of record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RecordType {
    /// IPv4 addresses.
    A,
    /// IPv6 addresses.
    #[serde(rename = "AAAA")]
    Aaaa,
    /// A later version's word: not served.
    #[serde(other)]
    Unknown,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DnsValue {
    /// The address.
    pub ip: IpAddr,
    /// The network that the address is of: only its containers get this answer.
    pub network_id: NetworkId,
    /// Where it lives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_id: Option<HostId>,
}

/// In which order answers are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DnsPolicy {
    /// Another order each time.
    #[default]
    Shuffle,
    /// Those of this host first.
    Nearest,
    /// A later version's word: treated as `Shuffle`.
    #[serde(other)]
    Unknown,
}

/// A port or name that traffic comes in by. Ports that a service publishes are routes of kind `tcp` and `udp`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// Its identifier.
    pub id: RouteId,
    /// What kind of traffic.
    pub kind: RouteKind,
    /// Where the host listens for `tcp` and `udp`; every address when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen_ip: Option<IpAddr>,
    /// On which port; needed for `tcp` and `udp`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen_port: Option<u16>,
    /// Names, for `http`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Who answers. Empty: connections are refused.
    pub upstreams: Vec<Upstream>,
}

/// What kind of traffic a route carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteKind {
    /// HTTP, by name.
    Http,
    /// TCP connections.
    Tcp,
    /// UDP packets.
    Udp,
    /// A later version's word: reported as not applied.
    #[serde(other)]
    Unknown,
}

/// A replica that answers for a route.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Upstream {
    /// Which.
    pub replica_id: ReplicaId,
    /// Its address.
    pub ip: IpAddr,
    /// Its port.
    pub port: u16,
}

/// A certificate for routes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// Its identifier.
    pub id: CertificateId,
    /// The names that it is for.
    pub names: Vec<String>,
    /// Certificate and intermediates.
    pub chain_pem: String,
    /// Its private key.
    pub key_pem: Secret,
}
