//! What an agent keeps over a restart of its process: its identity and what it did with the last remote
//! configuration. How it is stored is the driver's affair.

use bytes::Bytes;

use crate::uid::InstanceUid;
use crate::wire::RemoteConfigStatuses;

/// What has to be in storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// Who the agent is.
    pub instance_uid: InstanceUid,
    /// The remote configuration that was received last, if any was.
    pub remote_config: Option<SavedConfig>,
}

/// What became of the last remote configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedConfig {
    /// The server's `config_hash`.
    pub hash: Bytes,
    /// Applying, applied or failed.
    pub status: RemoteConfigStatuses,
    /// Why it failed; empty otherwise.
    pub error: String,
    /// How many processes of this agent ended while they applied it.
    pub interruptions: u32,
}
