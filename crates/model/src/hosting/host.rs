//! A host: a machine that joined. Whether it is online is not stored: it follows from the connection.

use std::net::Ipv4Addr;

use host_proto::id::HostId;
use host_proto::message::Facts;

use crate::credential::TokenHash;
use crate::label::Labels;
use crate::time::UnixMillis;

/// A machine that joined.
#[derive(Debug, Clone, PartialEq)]
pub struct Host {
    /// Who it is, for ever.
    pub id: HostId,
    /// What people call it; unique, and theirs to change.
    pub name: String,
    /// `/etc/machine-id` at its join.
    pub machine_id: String,
    /// Made by the agent at its first join.
    pub instance_id: String,
    /// WireGuard key in base64.
    pub wg_public_key: String,
    /// Its address in the mesh; never changes (R55).
    pub mesh_ip: Ipv4Addr,
    /// Set by operators; selectors of services match them.
    pub labels: Labels,
    /// What it said about itself last.
    pub facts: Facts,
    /// The program that it ran last.
    pub agent_version: String,
    /// Whether it gets anything new.
    pub mode: HostMode,
    /// Paths of it that containers may see; none: no path.
    pub allowed_paths: Vec<String>,
    /// Adds and changes, removes nothing, until an operator says otherwise: after a restore (STATE-7, R32).
    pub adopting: bool,
    /// The history that its generations count in, when that is not the database's: once it had applied a state that the
    /// database never numbered (R26, R31).
    pub epoch: Option<String>,
    /// The highest generation that was sent to it, or that it said it had.
    pub generation: u64,
    /// When it joined.
    pub joined_at: UnixMillis,
    /// When it was heard last, as far as it was written down.
    pub last_seen: Option<UnixMillis>,
    /// Counts changes by people.
    pub version: u64,
}

/// Whether a host gets anything new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostMode {
    /// It does.
    #[default]
    Normal,
    /// It keeps what it has and gets nothing new.
    Cordoned,
}

impl HostMode {
    /// The word in the API and in the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Cordoned => "cordoned",
        }
    }

    /// The mode of a word.
    pub fn of(word: &str) -> Option<Self> {
        [Self::Normal, Self::Cordoned].into_iter().find(|mode| mode.as_str() == word)
    }
}

/// The number of a join token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JoinTokenId(pub i64);

/// What a machine joins with: once (JOIN-3), within its time (JOIN-9).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinToken {
    /// Its number.
    pub id: JoinTokenId,
    /// SHA-256 of its text.
    pub sha256: TokenHash,
    /// The name that the host shall have; its hostname when empty.
    pub host_name: String,
    /// Whose place the machine takes: a machine that was made anew (R3).
    pub for_host: Option<HostId>,
    /// Who made it.
    pub created_by: String,
    /// When.
    pub created_at: UnixMillis,
    /// From when it is refused.
    pub expires_at: UnixMillis,
    /// When it was revoked.
    pub revoked_at: Option<UnixMillis>,
    /// When a machine joined with it, and which host that is.
    pub used: Option<(UnixMillis, HostId)>,
}

/// How a join token stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinTokenState {
    /// A machine may join with it.
    Waiting,
    /// One has.
    Used,
    /// Too late.
    Expired,
    /// Taken back.
    Revoked,
}

impl JoinToken {
    /// How it stands at a moment.
    pub fn state(&self, now: UnixMillis) -> JoinTokenState {
        if self.revoked_at.is_some() {
            JoinTokenState::Revoked
        } else if self.used.is_some() {
            JoinTokenState::Used
        } else if now >= self.expires_at {
            JoinTokenState::Expired
        } else {
            JoinTokenState::Waiting
        }
    }
}

impl JoinTokenState {
    /// The word in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Used => "used",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}
