//! A project and what belongs to it: services with their releases, and the places of its networks and volumes on hosts.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;

use host_proto::id::{FileId, HostId, NetworkId, ProjectId, ReleaseId, ServiceId, VolumeId};

use crate::service::{NetworkSpec, ServiceSpec, VolumeSpec};
use crate::time::UnixMillis;

/// What one set of Compose files describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Its identifier.
    pub id: ProjectId,
    /// Its name; unique.
    pub name: String,
    /// Its networks, by name.
    pub networks: Vec<NetworkSpec>,
    /// Its volumes, by name.
    pub volumes: Vec<VolumeSpec>,
    /// When it was made.
    pub created_at: UnixMillis,
    /// Counts changes.
    pub version: u64,
}

/// A service of a project. What it runs is its current release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// Its identifier.
    pub id: ServiceId,
    /// Whose it is.
    pub project_id: ProjectId,
    /// Its name in the project.
    pub name: String,
    /// The release that the last deployment that succeeded left; none: nothing runs.
    pub current: Option<ReleaseId>,
    /// When it was made.
    pub created_at: UnixMillis,
}

/// What a service runs or ran; never changed after it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// Its identifier.
    pub id: ReleaseId,
    /// Whose it is.
    pub service_id: ServiceId,
    /// Counts from 1 within the service.
    pub number: u32,
    /// What it says.
    pub spec: ServiceSpec,
    /// Which version of each file is meant, by kind and name.
    pub files: BTreeMap<(FileKind, String), FileId>,
    /// SHA-256 of what each replica is: container and files. Releases with the same one have the same replicas.
    pub container_hash: String,
    /// Who made it.
    pub author: String,
    /// Why.
    pub message: String,
    /// When.
    pub created_at: UnixMillis,
}

/// What a file of a project is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// A secret: sealed in the store, in memory on hosts.
    Secret,
    /// A configuration.
    Config,
}

impl FileKind {
    /// The word in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::Config => "config",
        }
    }

    /// The kind of a word.
    pub fn of(word: &str) -> Option<Self> {
        [Self::Secret, Self::Config].into_iter().find(|kind| kind.as_str() == word)
    }
}

/// A version of a file of a project, without its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileVersion {
    /// Its identifier: another one for each content.
    pub id: FileId,
    /// Whose it is.
    pub project_id: ProjectId,
    /// What it is.
    pub kind: FileKind,
    /// Its name in the project.
    pub name: String,
    /// Counts from 1 for this name.
    pub number: u32,
    /// SHA-256 of the content.
    pub sha256: [u8; 32],
    /// Length of the content in bytes.
    pub size_bytes: u64,
    /// Who set it.
    pub created_by: String,
    /// When.
    pub created_at: UnixMillis,
}

/// A block of IPv4 addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subnet {
    /// Its first address.
    pub base: Ipv4Addr,
    /// How many leading bits are the same.
    pub prefix: u8,
}

/// A text that is no block of addresses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no block of IPv4 addresses, such as 10.208.0.0/12")]
pub struct BadSubnet(String);

impl Subnet {
    /// How many addresses it has.
    pub const fn size(self) -> u64 {
        1 << (32 - if self.prefix > 32 { 32 } else { self.prefix })
    }

    /// Its first address as a number.
    pub fn first(self) -> u32 {
        u32::from(self.base)
    }

    /// Whether the two have an address in common.
    pub fn overlaps(self, other: Self) -> bool {
        let (a, b) = (u64::from(self.first()), u64::from(other.first()));
        a < b + other.size() && b < a + self.size()
    }

    /// Whether an address is in it.
    pub fn contains(self, ip: Ipv4Addr) -> bool {
        let (ip, first) = (u64::from(u32::from(ip)), u64::from(self.first()));
        ip >= first && ip < first + self.size()
    }

    /// The part of a network that is left to the container engine: it gives addresses of it to containers of others which
    /// somebody attaches to the network, and never one that a replica is to have. The last quarter; nothing of a block of
    /// fewer than eight addresses.
    pub fn for_others(self) -> Option<Self> {
        let quarter = u32::try_from(self.size() / 4).ok().filter(|size| *size >= 2)?;
        let base = Ipv4Addr::from(self.first().saturating_add(quarter * 3));
        Some(Self { base, prefix: self.prefix + 2 })
    }

    /// The address of the bridge: the first that hosts may have.
    pub fn gateway(self) -> Ipv4Addr {
        Ipv4Addr::from(self.first().saturating_add(1))
    }
}

impl std::str::FromStr for Subnet {
    type Err = BadSubnet;

    fn from_str(text: &str) -> Result<Self, BadSubnet> {
        let bad = || BadSubnet(text.chars().take(64).collect());
        let (base, prefix) = text.split_once('/').ok_or_else(bad)?;
        let (base, prefix) =
            (base.parse::<Ipv4Addr>().map_err(|_| bad())?, prefix.parse::<u8>().map_err(|_| bad())?);
        let subnet = Self { base, prefix };
        if prefix > 32 || u64::from(subnet.first()) % subnet.size() != 0 { Err(bad()) } else { Ok(subnet) }
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
    }
}

/// A network of a project on a host. What an engine knows of it is never changed (R35); whether it is open is a matter of the
/// firewall and follows from the releases of those that stand in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkPlace {
    /// Its identifier.
    pub id: NetworkId,
    /// Whose it is.
    pub project_id: ProjectId,
    /// Where.
    pub host_id: HostId,
    /// What it is.
    pub spec: NetworkSpec,
    /// Its addresses.
    pub subnet: Subnet,
}

/// A volume of a project on a host. It stays when nobody uses it, until a person removes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumePlace {
    /// Its identifier.
    pub id: VolumeId,
    /// Whose it is.
    pub project_id: ProjectId,
    /// Where.
    pub host_id: HostId,
    /// What it is.
    pub spec: VolumeSpec,
    /// Whether a person wants it gone, with all that is in it.
    pub doomed: bool,
    /// When it was made.
    pub created_at: UnixMillis,
}

/// A credential for a registry, without its password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryCredential {
    /// Host and port as they stand in an image reference.
    pub registry: String,
    /// Who pulls.
    pub username: String,
    /// Who set it.
    pub created_by: String,
    /// When.
    pub created_at: UnixMillis,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subnet_is_read_and_shown_and_knows_its_neighbours() {
        let subnet: Subnet = "10.208.4.0/24".parse().unwrap();
        assert_eq!(
            (subnet.to_string().as_str(), subnet.gateway()),
            ("10.208.4.0/24", Ipv4Addr::new(10, 208, 4, 1))
        );
        assert!(subnet.overlaps("10.208.0.0/12".parse().unwrap()));
        assert!(!subnet.overlaps("10.208.5.0/24".parse().unwrap()));
        assert!(
            subnet.contains(Ipv4Addr::new(10, 208, 4, 255)) && !subnet.contains(Ipv4Addr::new(10, 208, 5, 0))
        );
        for bad in ["10.208.4.1/24", "10.0.0.0", "10.0.0.0/33", "x/8", "::/0"] {
            assert!(bad.parse::<Subnet>().is_err(), "{bad}");
        }
    }
}
