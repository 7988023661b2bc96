//! What a replica may use and do, and how it ends.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// How much of the host a replica may use. None: no limit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Resources {
    /// Thousandths of a processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_millis: Option<u64>,
    /// Memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Memory and swap together; not below the memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_swap_bytes: Option<u64>,
    /// Processes and threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pids: Option<u32>,
    /// Size of `/dev/shm`; none: what the engine gives, which is 64 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shm_bytes: Option<u64>,
}

/// A limit of processes. -1: none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ulimit {
    /// What holds.
    pub soft: i64,
    /// How far the process may raise it.
    pub hard: i64,
}

/// What happens when a replica exits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "policy", rename_all = "snake_case")]
pub enum Restart {
    /// It is started again.
    #[default]
    Always,
    /// It is started again unless it exited with 0.
    OnFailure {
        /// So often at most; none: always.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_retries: Option<u32>,
    },
    /// Nothing.
    Never,
}

/// How a replica is stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// The first signal, such as `SIGTERM`; none: what the image says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// After that long it is killed.
    pub grace_ms: u64,
}

impl Default for Stop {
    fn default() -> Self {
        Self { signal: None, grace_ms: 10_000 }
    }
}

/// How much of a replica's output its host keeps. None: what the host keeps anyway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Logging {
    /// The size of one file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_size_bytes: Option<u64>,
    /// How many files, the one that is written included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_files: Option<u32>,
}

/// What a replica may do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Security {
    /// Capabilities that are given, in upper case without `CAP_`; `ALL` too.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub cap_add: BTreeSet<String>,
    /// Capabilities that are taken away.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub cap_drop: BTreeSet<String>,
    /// Whether the image's files can only be read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only_root: bool,
    /// Whether programs cannot gain rights, through setuid for instance.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_new_privileges: bool,
    /// Kernel settings of the container's own namespaces.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctls: BTreeMap<String, String>,
}
