//! What a driver can be asked to do. An action names things by their identifiers and holds no content, so that a plan can
//! be printed; whoever does it looks the content up in the desired state that the plan was made from.

use std::fmt;
use std::net::Ipv4Addr;

use host_proto::id::{FileId, NetworkId, ReplicaId, VolumeId};

/// One call to the engine or the file system.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// Makes a network. It is never changed afterwards (R35).
    CreateNetwork {
        /// Which of the state.
        network: NetworkId,
        /// The engine's name.
        name: String,
    },
    /// Removes a network of ours that nothing uses.
    RemoveNetwork {
        /// The engine's name.
        name: String,
    },
    /// Makes a volume.
    CreateVolume {
        /// Which of the state.
        volume: VolumeId,
        /// The engine's name.
        name: String,
    },
    /// Deletes a volume and all that is in it. Only ever with a confirmation (R43).
    DeleteVolume {
        /// The engine's name.
        name: String,
    },
    /// Writes a file.
    WriteFile {
        /// Which of the state.
        file: FileId,
    },
    /// Removes a file that no replica sees any more.
    RemoveFile {
        /// Which.
        file: FileId,
    },
    /// Fetches an image.
    PullImage {
        /// What is asked for, with the digest when there is one (R44).
        image: String,
    },
    /// Makes a replica's container, attached to all its networks and not started.
    CreateContainer {
        /// Which of the state.
        replica: ReplicaId,
        /// The engine's name.
        name: String,
    },
    /// Attaches a container to a network.
    Connect {
        /// The engine's id or name of the container.
        container: String,
        /// The engine's name of the network.
        network: String,
        /// The container's address there.
        ip: Ipv4Addr,
    },
    /// Starts a container.
    Start {
        /// The engine's id or name.
        container: String,
    },
    /// Asks a container to end, and kills it when that takes too long.
    Stop {
        /// The engine's id.
        container: String,
        /// How long it may take; as the container itself says when absent.
        grace_ms: Option<u64>,
    },
    /// Kills a container.
    Kill {
        /// The engine's id.
        container: String,
    },
    /// Removes a container; its volumes stay.
    RemoveContainer {
        /// The engine's id.
        container: String,
        /// Also when it runs.
        force: bool,
    },
}

impl Action {
    /// Whether a container that may run does not afterwards.
    pub const fn stops(&self) -> bool {
        matches!(self, Self::Stop { .. } | Self::Kill { .. } | Self::RemoveContainer { .. })
    }

    /// Whether it takes something away that was there: only with a fresh state (STATE-5).
    pub const fn takes_away(&self) -> bool {
        matches!(
            self,
            Self::RemoveNetwork { .. }
                | Self::DeleteVolume { .. }
                | Self::RemoveFile { .. }
                | Self::Stop { .. }
                | Self::Kill { .. }
                | Self::RemoveContainer { .. }
        )
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CreateNetwork { name, .. } | Self::CreateVolume { name, .. } => write!(f, "create {name}"),
            Self::CreateContainer { name, .. } => write!(f, "create container {name}"),
            Self::RemoveNetwork { name } => write!(f, "remove {name}"),
            Self::DeleteVolume { name } => write!(f, "delete {name} and all that is in it"),
            Self::WriteFile { .. } => f.write_str("write"),
            Self::RemoveFile { .. } => f.write_str("remove"),
            Self::PullImage { .. } => f.write_str("pull"),
            Self::Connect { network, ip, .. } => write!(f, "attach to {network} as {ip}"),
            Self::Start { .. } => f.write_str("start"),
            Self::Stop { grace_ms: Some(ms), .. } => write!(f, "stop within {} s", ms.div_ceil(1000)),
            Self::Stop { grace_ms: None, .. } => f.write_str("stop"),
            Self::Kill { .. } => f.write_str("kill"),
            Self::RemoveContainer { force: false, .. } => f.write_str("remove"),
            Self::RemoveContainer { force: true, .. } => f.write_str("remove by force"),
        }
    }
}
