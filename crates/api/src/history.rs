//! /api/v1/agents/{uid}/timeline and /messages: what happened to one agent, and what it and the server say right now.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::audit::AuditActor;

/// Answer of `GET /agents/{uid}/timeline`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Timeline {
    /// The newest first. What is known of changes by people and programs is the audit trail's; of the agent itself
    /// only the last turn of each kind is kept.
    pub items: Vec<TimelineItem>,
}

/// A turn in an agent's life, with its cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TimelineItem {
    /// When, RFC 3339.
    pub at: String,
    /// What happened: an action of the audit trail such as `agent.pin` or `assignment.set-revision`, or
    /// `agent.first-seen`, `agent.enrolled`, `agent.connected`, `agent.disconnected`, `agent.health`, `agent.released`.
    pub action: String,
    /// What was changed: `agent/…`, `assignment/7`.
    pub object: String,
    /// Who changed it; `null` for what the agent did itself, and what a rollout did.
    pub actor: Option<AuditActor>,
    /// The same in words, where there is more to say.
    pub text: Option<String>,
    /// What mattered before, as in the audit trail.
    pub before: Option<Value>,
    /// What mattered after.
    pub after: Option<Value>,
}

/// Answer of `GET /agents/{uid}/messages`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Messages {
    /// Asking begins to keep the agent's messages, and keeps on until this moment; ask again before it, RFC 3339.
    pub kept_until: String,
    /// The newest first, at most 20.
    pub items: Vec<AgentMessage>,
}

/// A message between an agent and the server, decoded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentMessage {
    /// When it passed, RFC 3339.
    pub at: String,
    /// `from agent` or `to agent`.
    pub direction: String,
    /// Its length in bytes, without framing and before compression.
    pub size: u64,
    /// Its fields by the names of the specification. Configurations have secrets masked, connection settings and custom
    /// messages say only that they are there. `null` when it was too long to be kept.
    pub body: Option<Value>,
}
