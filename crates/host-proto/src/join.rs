//! How a machine becomes a host: one request over HTTPS (JOIN-2) and its answer (JOIN-4).

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::id::HostId;
use crate::message::Facts;
use crate::secret::Secret;

/// Where a machine joins, with POST.
pub const JOIN_PATH: &str = "/api/agent/v1/join";
/// Where a host connects, with GET and an upgrade to WebSocket.
pub const CONNECT_PATH: &str = "/api/agent/v1/connect";
/// The WebSocket sub-protocol.
pub const SUBPROTOCOL: &str = "hostagent.v1";
/// Longest join request in bytes.
pub const MAX_JOIN: usize = 256 * 1024;

/// The request of a machine that wants to be a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JoinRequest {
    /// What an operator gave it; works once (JOIN-3).
    pub join_token: Secret,
    /// `/etc/machine-id`, unchanged.
    pub machine_id: String,
    /// Made once by the agent, at random.
    pub instance_id: String,
    /// The host's WireGuard key in base64; the private half never leaves the host.
    pub wg_public_key: String,
    /// Where the host might be reached by others.
    #[serde(default)]
    pub wg_endpoints: Vec<SocketAddr>,
    /// What the machine is.
    pub facts: Facts,
    /// The name that it would like; its hostname when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_name: Option<String>,
}

/// What a new host is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinAnswer {
    /// Who it is from now on.
    pub host_id: HostId,
    /// What people call it.
    pub name: String,
    /// What it shows from now on; shown once (JOIN-6).
    pub host_token: Secret,
    /// Its place in the mesh.
    pub mesh: MeshAddress,
    /// Where images of our own come from.
    #[serde(default)]
    pub registry: RegistryAddress,
    /// Where it connects: a `wss://` URL.
    pub connect_url: String,
    /// What the server's certificate is checked against from now on.
    #[serde(default)]
    pub trust_anchors: Vec<TrustAnchor>,
}

/// A host's place in the mesh; never changes for a host id (R55).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeshAddress {
    /// The host's own address.
    pub ip: std::net::IpAddr,
    /// The mesh, as `10.98.0.0/16`.
    pub subnet: String,
    /// The UDP port of WireGuard.
    pub listen_port: u16,
    /// Largest packet at most (R51).
    pub mtu_max: u32,
}

/// Where images of the control plane's own come from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RegistryAddress {
    /// Host and port; none when there is no such registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Its authority, when it is not a public one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_pem: Option<String>,
}

/// What a server's certificate is checked against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TrustAnchor {
    /// SHA-256 of an authority's public key, in hexadecimal: the chain must end there.
    Spki {
        /// 64 digits.
        sha256: String,
    },
    /// An authority's certificate.
    Ca {
        /// In PEM.
        pem: String,
    },
    /// The authorities that the host's system trusts.
    System,
    /// A later version's word: ignored.
    #[serde(other)]
    Unknown,
}

/// Why a machine did not become a host. Travels as a problem document with this `code`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JoinError {
    /// 401: no such token, revoked, or used by another machine's join.
    JoinTokenInvalid,
    /// 410: too late.
    JoinTokenExpired,
    /// 409: the token, or this machine, is another host's (JOIN-7).
    DuplicateHost,
    /// 422: this machine cannot be a host.
    UnsupportedOs,
    /// 507: no addresses left.
    SubnetExhausted,
    /// 429: too many attempts (JOIN-9).
    RateLimited,
    /// A later version's word.
    #[serde(other)]
    Unknown,
}

impl JoinError {
    /// The HTTP status that goes with it.
    pub const fn status(self) -> u16 {
        match self {
            Self::JoinTokenInvalid | Self::Unknown => 401,
            Self::JoinTokenExpired => 410,
            Self::DuplicateHost => 409,
            Self::UnsupportedOs => 422,
            Self::SubnetExhausted => 507,
            Self::RateLimited => 429,
        }
    }
}
