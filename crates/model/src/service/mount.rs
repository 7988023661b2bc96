//! What is mounted into a replica: volumes, paths of the host, memory, and files with secrets or configurations.

use serde::{Deserialize, Serialize};

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// The path in the container, absolute and without `.` and `..`.
    pub target: String,
    /// What is there.
    pub source: MountSource,
    /// Whether the replica may only read it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

/// What a mount shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum MountSource {
    /// A volume of the project, which lives on one host and outlives replicas.
    Volume {
        /// Its name in the project.
        volume: String,
        /// Whether an empty volume stays empty, instead of getting what the image has at the target.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        no_copy: bool,
    },
    /// A path of the host, only where the host allows it.
    HostPath {
        /// Absolute, without `.` and `..`.
        path: String,
        /// Whether a missing directory is made.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        create: bool,
    },
    /// Memory that goes with the replica.
    Tmpfs {
        /// How much; without one half of the host's memory.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size_bytes: Option<u64>,
        /// Permission bits; without them 0o1777.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
    },
    /// A file with a secret, in memory.
    Secret {
        /// Its name in the project.
        secret: String,
        /// Whose it is.
        #[serde(default)]
        access: FileAccess,
    },
    /// A file with a configuration.
    Config {
        /// Its name in the project.
        config: String,
        /// Whose it is.
        #[serde(default)]
        access: FileAccess,
    },
}

/// Whose a file is in the container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileAccess {
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Permission bits.
    pub mode: u32,
}

impl Default for FileAccess {
    /// Root's, and everybody in the container reads it, as Compose has it: containers seldom run as the owner.
    fn default() -> Self {
        Self { uid: 0, gid: 0, mode: 0o444 }
    }
}
