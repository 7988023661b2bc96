//! What a step is about, and when in a pass its turn is.

use std::fmt;

use host_proto::desired::Section;
use host_proto::id::{FileId, NetworkId, ReplicaId, VolumeId};

/// One thing that succeeds, fails and is tried again by itself (R30, STATE-10).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Item {
    /// A network.
    Network(NetworkId),
    /// A volume.
    Volume(VolumeId),
    /// A file.
    File(FileId),
    /// An image, by what it is pulled by.
    Image(String),
    /// A replica and its container.
    Replica(ReplicaId),
    /// A container that is one too many for its replica, by the engine's id.
    Container(String),
}

impl Item {
    /// The section of the state that it belongs to.
    pub const fn section(&self) -> Section {
        match self {
            Self::Network(_) => Section::Networks,
            Self::Volume(_) => Section::Volumes,
            Self::File(_) => Section::Files,
            Self::Image(_) | Self::Replica(_) | Self::Container(_) => Section::Replicas,
        }
    }

    /// Its identifier, as it is reported.
    pub fn id(&self) -> &str {
        match self {
            Self::Network(id) => id.as_str(),
            Self::Volume(id) => id.as_str(),
            Self::File(id) => id.as_str(),
            Self::Replica(id) => id.as_str(),
            Self::Image(name) | Self::Container(name) => name,
        }
    }
}

/// The order within a pass (STATE-2). The firewall belongs right after [`Phase::Networks`] (R34), ports and names after
/// [`Phase::Replicas`]; what is no longer needed goes last, since what uses it must go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Networks are made.
    Networks,
    /// Volumes are made.
    Volumes,
    /// Files are written.
    Files,
    /// Images are pulled, containers made, started, stopped and removed.
    Replicas,
    /// Networks, volumes and files that nothing uses are removed.
    Cleanup,
}

impl Phase {
    /// Every phase, in order.
    pub const ALL: [Self; 5] = [Self::Networks, Self::Volumes, Self::Files, Self::Replicas, Self::Cleanup];
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Networks => "networks",
            Self::Volumes => "volumes",
            Self::Files => "files",
            Self::Replicas => "replicas",
            Self::Cleanup => "no longer needed",
        })
    }
}
