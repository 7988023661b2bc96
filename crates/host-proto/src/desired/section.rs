//! The sections of a desired state and their hashes: what a host has applied is compared by them, and a state whose
//! hashes are all the same need not travel again (R26).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::DesiredState;

/// The hash of each section, by its name.
pub type SectionHashes = BTreeMap<Section, String>;

/// A part of the desired state that is applied, reported and compared on its own, in the order of STATE-2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Section {
    /// Networks.
    Networks,
    /// Firewall.
    Firewall,
    /// Mesh peers.
    Peers,
    /// Volumes.
    Volumes,
    /// Files and secrets.
    Files,
    /// Containers.
    Replicas,
    /// Routes.
    Routes,
    /// Certificates.
    Certificates,
    /// Names.
    Dns,
    /// A later version's word.
    #[serde(other)]
    Unknown,
}

impl Section {
    /// Every section, in the order in which they are applied (STATE-2).
    pub const ALL: [Self; 9] = [
        Self::Networks,
        Self::Firewall,
        Self::Peers,
        Self::Volumes,
        Self::Files,
        Self::Replicas,
        Self::Routes,
        Self::Certificates,
        Self::Dns,
    ];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Networks => "networks",
            Self::Firewall => "firewall",
            Self::Peers => "peers",
            Self::Volumes => "volumes",
            Self::Files => "files",
            Self::Replicas => "replicas",
            Self::Routes => "routes",
            Self::Certificates => "certificates",
            Self::Dns => "dns",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl DesiredState {
    /// Computes the hash of each section. The sender does that once and sends them along; a receiver echoes what it was
    /// sent, since it may know fewer fields than the sender.
    pub fn compute_hashes(&self) -> Result<SectionHashes, serde_json::Error> {
        let mut hashes = SectionHashes::new();
        for section in Section::ALL {
            hashes.insert(section, self.hash_of(section)?);
        }
        Ok(hashes)
    }

    /// Fills in the hash of each section, and gives what [`DesiredState::digest`] gives.
    pub fn seal(&mut self) -> String {
        // Serializing cannot fail: every map of the document has texts as keys.
        self.section_hashes = self.compute_hashes().unwrap_or_default();
        self.digest_with(&self.section_hashes)
    }

    /// One hash over all that a host could notice, numbers left out: two states with the same digest ask for the same.
    pub fn digest(&self) -> String {
        self.digest_with(&self.compute_hashes().unwrap_or_default())
    }

    fn digest_with(&self, hashes: &SectionHashes) -> String {
        let rest = (&self.epoch, self.adopt, &self.removals, &self.mode, &self.gc);
        let bytes = serde_json::to_vec(&(hashes, rest)).unwrap_or_default();
        hex::encode(Sha256::digest(&bytes))
    }

    fn hash_of(&self, section: Section) -> Result<String, serde_json::Error> {
        let bytes = match section {
            Section::Networks => serde_json::to_vec(&self.networks)?,
            Section::Firewall => serde_json::to_vec(&self.firewall)?,
            Section::Peers => serde_json::to_vec(&self.peers)?,
            Section::Volumes => serde_json::to_vec(&self.volumes)?,
            Section::Files => serde_json::to_vec(&self.files)?,
            Section::Replicas => {
                serde_json::to_vec(&(&self.replicas, &self.fenced_replica_ids, &self.registry))?
            }
            Section::Routes => serde_json::to_vec(&self.routes)?,
            Section::Certificates => serde_json::to_vec(&self.certificates)?,
            Section::Dns => serde_json::to_vec(&self.dns)?,
            Section::Unknown => Vec::new(),
        };
        Ok(hex::encode(Sha256::digest(&bytes)))
    }
}
