//! What an agent says of the remote configuration that it received last (RCFG-6).

use std::fmt;

use opamp_proto::wire::{self, RemoteConfigStatuses};

/// How far the agent is with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RemoteConfigStatus {
    /// Nothing is said, or a value newer than this version.
    Unset,
    /// It runs with it.
    Applied,
    /// It is at it.
    Applying,
    /// It could not.
    Failed,
}

impl RemoteConfigStatus {
    /// The status of a wire number.
    pub fn from_wire(number: i32) -> Self {
        match RemoteConfigStatuses::try_from(number) {
            Ok(RemoteConfigStatuses::Applied) => Self::Applied,
            Ok(RemoteConfigStatuses::Applying) => Self::Applying,
            Ok(RemoteConfigStatuses::Failed) => Self::Failed,
            Ok(RemoteConfigStatuses::Unset) | Err(_) => Self::Unset,
        }
    }

    /// The word in the API: `unset`, `applied`, `applying` or `failed`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unset => "unset",
            Self::Applied => "applied",
            Self::Applying => "applying",
            Self::Failed => "failed",
        }
    }
}

impl fmt::Display for RemoteConfigStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The agent's last word on its remote configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteConfigState {
    /// How far it is.
    pub status: RemoteConfigStatus,
    /// The `config_hash` that it speaks of; empty when it received none.
    pub hash: Vec<u8>,
    /// Why it failed; empty otherwise.
    pub error: String,
}

impl From<wire::RemoteConfigStatus> for RemoteConfigState {
    fn from(status: wire::RemoteConfigStatus) -> Self {
        let wire::RemoteConfigStatus { last_remote_config_hash, status, error_message } = status;
        Self {
            status: RemoteConfigStatus::from_wire(status),
            hash: last_remote_config_hash.to_vec(),
            error: error_message,
        }
    }
}
