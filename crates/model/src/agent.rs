//! An agent as the control plane knows it: the facts that lists show, and all that it reported.
//! The database row behind it is `store`'s, the JSON is `api`'s.

use bytes::Bytes;
use opamp_proto::{AgentCapabilities, InstanceUid, Part};

use crate::attribute::Attributes;
use crate::credential::CredentialId;
use crate::label::Labels;
use crate::remote_config::RemoteConfigState;
use crate::state::{ConnectionState, Transport};
use crate::time::UnixMillis;

/// What is read from well-known attributes (DESC-2, DESC-3). Empty text means "not said".
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentFacts {
    /// `service.name`.
    pub name: String,
    /// `service.namespace`.
    pub namespace: String,
    /// `service.version`.
    pub version: String,
    /// `service.instance.id`.
    pub instance_id: String,
    /// `host.name`.
    pub host: String,
    /// `host.id`.
    pub host_id: String,
    /// `os.type`.
    pub os: String,
}

impl From<&Attributes> for AgentFacts {
    fn from(attributes: &Attributes) -> Self {
        let mut facts = Self::default();
        for attribute in attributes.iter() {
            let fact = match attribute.key.as_str() {
                "service.name" => &mut facts.name,
                "service.namespace" => &mut facts.namespace,
                "service.version" => &mut facts.version,
                "service.instance.id" => &mut facts.instance_id,
                "host.name" => &mut facts.host,
                "host.id" => &mut facts.host_id,
                "os.type" => &mut facts.os,
                _ => continue,
            };
            if fact.is_empty() {
                *fact = attribute.value.to_string();
            }
        }
        facts
    }
}

/// One line of a list of agents.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSummary {
    /// Its identity.
    pub uid: InstanceUid,
    /// From its attributes.
    pub facts: AgentFacts,
    /// Derived from the owner's epoch and the marks in the row.
    pub state: ConnectionState,
    /// What it speaks, or spoke last.
    pub transport: Transport,
    /// Where it comes or came from, `address:port`; empty when not known.
    pub peer_address: String,
    /// Since when the session lasts; `None` when it is disconnected.
    pub connected_since: Option<UnixMillis>,
    /// When it was heard last. For a connected agent this is when something of it was written last; only its
    /// server knows better, since heartbeats are not written.
    pub last_seen: UnixMillis,
    /// When the session ended; `None` when it is connected.
    pub disconnected_at: Option<UnixMillis>,
    /// `None` when it reported no health.
    pub healthy: Option<bool>,
    /// The status text of its health.
    pub health_status: String,
    /// `None` when it said nothing of a remote configuration.
    pub remote_config: Option<RemoteConfigState>,
    /// As it reported them, unknown bits included.
    pub capabilities: AgentCapabilities,
    /// The agent that came in its place.
    pub replaced_by: Option<InstanceUid>,
    /// The agent in whose place it came.
    pub replaces: Option<InstanceUid>,
    /// What operators say of it.
    pub labels: Labels,
}

/// Everything that is stored of an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentDetail {
    /// What lists show.
    pub summary: AgentSummary,
    /// The last sequence number (SEQ-1).
    pub sequence_num: u64,
    /// When its row was made.
    pub first_seen: UnixMillis,
    /// When it was bound to the credential that it has now.
    pub enrolled_at: UnixMillis,
    /// The credential that it is bound to.
    pub credential: CredentialRef,
    /// What it reported, encoded.
    pub parts: AgentParts,
}

/// A credential as an agent's page names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialRef {
    /// Its id.
    pub id: CredentialId,
    /// What the operator called it.
    pub label: String,
}

/// The parts of AgentToServer that status compression can omit, encoded as they came (COMP-3, INTEROP-4);
/// `None` when the agent never sent one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentParts([Option<Bytes>; 8]);

impl AgentParts {
    /// The encoded part.
    pub fn get(&self, part: Part) -> Option<&Bytes> {
        self.0[part as usize].as_ref()
    }

    /// Sets or removes a part.
    pub fn set(&mut self, part: Part, bytes: Option<Bytes>) {
        self.0[part as usize] = bytes;
    }

    /// The parts with one more.
    #[must_use]
    pub fn with(mut self, part: Part, bytes: impl Into<Bytes>) -> Self {
        self.set(part, Some(bytes.into()));
        self
    }

    /// The parts that are there.
    pub fn iter(&self) -> impl Iterator<Item = (Part, &Bytes)> {
        Part::ALL.into_iter().filter_map(|part| self.get(part).map(|bytes| (part, bytes)))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }
}
