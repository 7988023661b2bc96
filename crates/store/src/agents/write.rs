//! What the control plane asks to have written of an agent. How it is written: `apply`.

use bytes::Bytes;
use model::{AgentParts, SessionEpoch, Transport, UnixMillis};
use opamp_proto::{AgentCapabilities, InstanceUid, Part};

/// A change of one agent. What is `None` stays as it is (S2).
#[derive(Debug, Clone, PartialEq)]
pub struct AgentWrite {
    /// Whose.
    pub uid: InstanceUid,
    /// By which session. Not applied when the row is of a newer one.
    pub epoch: SessionEpoch,
    /// When the agent was heard. Written along with other changes, never alone.
    pub last_seen: UnixMillis,
    /// Its last sequence number. Written along with other changes, never alone.
    pub sequence_num: u64,
    /// Its capabilities.
    pub capabilities: Option<AgentCapabilities>,
    /// The session, when it is new: takes away any mark of the last one.
    pub session: Option<SessionStart>,
    /// A turn in the session.
    pub mark: Option<Mark>,
    /// The encoded parts that changed.
    pub parts: AgentParts,
}

/// How a session began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionStart {
    /// What the agent speaks.
    pub transport: Transport,
    /// Where it comes from, `address:port`.
    pub peer_address: String,
    /// When.
    pub since: UnixMillis,
}

/// A turn in an agent's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It is overdue since then.
    Silent(UnixMillis),
    /// It was overdue and is heard again.
    Heard,
    /// Its session ended then.
    Disconnected(UnixMillis),
}

impl AgentWrite {
    /// A write that changes nothing yet.
    pub fn new(uid: InstanceUid, epoch: SessionEpoch, last_seen: UnixMillis) -> Self {
        Self {
            uid,
            epoch,
            last_seen,
            sequence_num: 0,
            capabilities: None,
            session: None,
            mark: None,
            parts: AgentParts::default(),
        }
    }

    /// The status of a remote configuration, when it asks for nothing else.
    pub(super) fn only_status(&self) -> Option<&Bytes> {
        let is_alone = self.capabilities.is_none() && self.session.is_none() && self.mark.is_none();
        let mut parts = self.parts.iter();
        match (is_alone, parts.next(), parts.next()) {
            (true, Some((Part::RemoteConfigStatus, bytes)), None) => Some(bytes),
            _ => None,
        }
    }

    /// Whether it asks for nothing, as a heartbeat does. Such a write is not carried out.
    pub fn is_empty(&self) -> bool {
        self.capabilities.is_none() && self.session.is_none() && self.mark.is_none() && self.parts.is_empty()
    }
}

/// What became of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WriteReport {
    /// Rows that were written.
    pub written: usize,
    /// Writes that would not have changed anything, and were not carried out.
    pub unchanged: usize,
    /// Writes of a session that is not the newest.
    pub stale: usize,
    /// Agents without a row: never enrolled, or forgotten since. They must enrol again.
    pub unknown: Vec<InstanceUid>,
    /// Agents that were found to be the successors of others.
    pub replaced: Vec<Replaced>,
}

/// One agent that came in the place of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replaced {
    /// The agent that is gone.
    pub old: InstanceUid,
    /// The agent that came.
    pub new: InstanceUid,
}
