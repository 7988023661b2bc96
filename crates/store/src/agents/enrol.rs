//! Enrolment: binds an instance_uid to the credential that it came with, and makes its row.

use model::{CredentialId, UnixMillis};

use super::write::AgentWrite;

/// An agent that presents a credential.
#[derive(Debug, Clone, PartialEq)]
pub struct Enrolment {
    /// The credential that it presented.
    pub credential: CredentialId,
    /// Now.
    pub now: UnixMillis,
    /// Its first state; written with the new row in one transaction. Not used when the agent is known already.
    pub first: AgentWrite,
}

/// What became of an enrolment. All but the first two leave the database as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnrolOutcome {
    /// A new agent: its row is made, with its first state, and bound to the credential. Durable.
    Enrolled,
    /// A known agent whose own credential was revoked: bound to this one now. Durable; its state is not written.
    Rebound {
        /// The credential that was revoked.
        from: CredentialId,
    },
    /// A known agent, bound to this very credential. Its state is not written.
    Known,
    /// A known agent that is bound to another credential, which is still good. It must be refused.
    BoundToOther {
        /// The credential that it is bound to.
        credential: CredentialId,
    },
    /// The credential has expired and the agent is new, or bound to another one. It must be refused.
    Expired,
    /// The credential was revoked. The agent must be refused.
    Revoked,
    /// There is no such credential.
    NoCredential,
}

impl EnrolOutcome {
    /// Whether the agent may stay.
    pub const fn is_admitted(self) -> bool {
        matches!(self, Self::Enrolled | Self::Rebound { .. } | Self::Known)
    }
}
