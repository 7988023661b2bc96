//! How replicas are reached: networks of the project and ports of the host. Addresses are the server's to give.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// A network that replicas are on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Its name in the project.
    pub network: String,
    /// Further names of the service on this network, in order of the alphabet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
}

/// A port of the host that leads to the replicas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, PartialOrd, Ord)]
pub struct Port {
    /// The host's port, from 1.
    pub host: u16,
    /// The container's port, from 1.
    pub container: u16,
    /// TCP or UDP.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub protocol: Protocol,
    /// The host's address; none: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_ip: Option<IpAddr>,
}

/// TCP or UDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
}

impl From<Protocol> for host_proto::desired::Protocol {
    fn from(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Tcp => Self::Tcp,
            Protocol::Udp => Self::Udp,
        }
    }
}

/// A name in the container's hosts file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, PartialOrd, Ord)]
pub struct ExtraHost {
    /// The name.
    pub name: String,
    /// Where it leads.
    pub address: HostAddress,
}

/// Where a name in the hosts file leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum HostAddress {
    /// To this address.
    Ip(IpAddr),
    /// To the host that the replica is on.
    Gateway,
}

impl Port {
    /// Whether one host cannot have both.
    pub fn collides(&self, other: &Self) -> bool {
        let any = |ip: Option<IpAddr>| ip.is_none_or(|ip| ip.is_unspecified());
        self.host == other.host
            && self.protocol == other.protocol
            && (any(self.host_ip) || any(other.host_ip) || self.host_ip == other.host_ip)
    }
}

impl Protocol {
    /// `tcp` or `udp`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
