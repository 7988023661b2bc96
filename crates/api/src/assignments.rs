//! /api/v1/assignments: which agents get which configuration, rollouts to another revision, the preview of what
//! would happen, and overrides of single agents. The files themselves are [`crate::configs`].

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Query of `GET /assignments`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AssignmentQuery {
    /// Only assignments of this configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// Only assignments in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// 1 to 500, 100 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Answer of `GET /assignments`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AssignmentPage {
    /// The page's assignments, highest priority first.
    pub items: Vec<Assignment>,
    /// Where the next page begins; `null` on the last one.
    pub next_cursor: Option<String>,
    /// How many match on all pages.
    pub total: u64,
}

/// A configuration for all agents that meet a selector.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Assignment {
    /// Its id.
    pub id: String,
    /// The configuration's name.
    pub config: String,
    /// Who gets it; empty: every agent.
    pub selector: String,
    /// The highest one that matches an agent wins; of two equal ones the older.
    pub priority: i32,
    /// `rolling`, `paused`, `done`, `aborted` or `clearing`.
    pub state: String,
    /// The revision that it gives or is going to; while a rollout runs its target, else the settled one.
    pub revision: u32,
    /// What every agent gets that no rollout has released another one for; `null` before the first is done.
    pub settled_revision: Option<u32>,
    /// How much of the eligible agents one batch releases, 1 to 100.
    pub batch_percent: u32,
    /// Why it waits for an operator; `null` unless `paused`.
    pub pause: Option<Pause>,
    /// How far it is.
    pub progress: Progress,
    /// Who made it.
    pub created_by: String,
    /// When, RFC 3339.
    pub created_at: String,
    /// Its last change, RFC 3339: of one that is paused or over, since when, unless its selector or priority was changed after.
    pub updated_at: String,
}

/// Why a rollout waits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Pause {
    /// `failed`, `health lost`, `no answer`, `left` or `operator`.
    pub kind: String,
    /// The instance_uid of the agent that stopped it.
    pub agent: Option<String>,
    /// `service.name` of that agent.
    pub agent_name: Option<String>,
    /// `host.name` of that agent.
    pub host: Option<String>,
    /// The reason in words.
    pub text: String,
}

/// Agents of an assignment, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Progress {
    /// Meet the selector.
    pub matched: u64,
    /// Of those, can be configured and get nothing else.
    pub eligible: u64,
    /// Of those, have been released for the target.
    pub released: u64,
    /// Run the target revision.
    pub applied: u64,
    /// Were offered it and have not answered, or said that they are at it.
    pub applying: u64,
    /// Said that they could not.
    pub failed: u64,
    /// Are connected and not released yet.
    pub waiting: u64,
    /// Are not connected.
    pub offline: u64,
    /// Cannot be configured remotely.
    pub incapable: u64,
    /// Get something else from a stronger assignment or an override.
    pub outranked: u64,
}

/// Body of `POST /assignments`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAssignment {
    /// The configuration's name.
    pub config: String,
    /// Absent: the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// Who gets it; empty: every agent.
    pub selector: String,
    /// Absent: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// 1 to 100. Absent: 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_percent: Option<u32>,
}

/// Body of `PATCH /assignments/{id}`. What is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AssignmentPatch {
    /// Who gets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Its rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// 1 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_percent: Option<u32>,
}

/// Body of `POST /assignments/{id}/revision`: a rollout to another revision, newer or older.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetRevision {
    /// The revision's number.
    pub revision: u32,
    /// 1 to 100. Absent: as the assignment says, and all at once for an older revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_percent: Option<u32>,
}

/// Body of `POST /assignments/{id}/pause` and `/abort`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// Why, for those who come later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Query of `DELETE /assignments/{id}`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DeleteAssignment {
    /// Whether the agents are told to forget the configuration. Absent: they run on with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clear: Option<bool>,
}

/// Query of `GET /assignments/{id}/agents`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AssignedQuery {
    /// A state of an agent's configuration, or `waiting`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// 1 to 500, 100 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Answer of `GET /assignments/{id}/agents`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AssignedPage {
    /// The page's agents.
    pub items: Vec<AssignedAgent>,
    /// Where the next page begins; `null` on the last one.
    pub next_cursor: Option<String>,
    /// How many there are on all pages.
    pub total: u64,
}

/// An agent as its assignment sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AssignedAgent {
    /// Its identity.
    pub instance_uid: String,
    /// `service.name`.
    pub name: Option<String>,
    /// `host.name`.
    pub host: Option<String>,
    /// `connected`, `silent` or `disconnected`.
    pub connection: String,
    /// The state of its configuration, as in [`crate::agents::AgentConfig`].
    pub state: String,
    /// The revision that it is to have now.
    pub revision: Option<u32>,
    /// Why it failed.
    pub error: Option<String>,
    /// Whether the rollout has released it.
    pub released: bool,
}

/// Body of `POST /assignments/preview`: what would happen if this assignment were made or changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviewRequest {
    /// The configuration's name.
    pub config: String,
    /// Absent: the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// Who gets it; empty: every agent.
    pub selector: String,
    /// Absent: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// 1 to 100. Absent: 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_percent: Option<u32>,
    /// The assignment that would be changed. Absent: a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignment: Option<String>,
    /// How many agents the answer names, 0 to 500; 100 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Answer of `POST /assignments/preview`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Preview {
    /// How many agents meet the selector.
    pub matched: u64,
    /// How many would be given this revision by this assignment.
    pub gets: u64,
    /// Of those, how many do not have it yet.
    pub changes: u64,
    /// Of those, how many are not connected: they get it when they come back.
    pub offline: u64,
    /// How many match and cannot be configured.
    pub incapable: u64,
    /// How many match and get something else from a stronger assignment.
    pub outranked: u64,
    /// How many match and are pinned to a revision.
    pub overridden: u64,
    /// How many batches the rollout would have.
    pub batches: u32,
    /// The first agents; those that would change come first.
    pub agents: Vec<PreviewAgent>,
    /// How many there are in all.
    pub total: u64,
}

/// What would happen to one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PreviewAgent {
    /// Its identity.
    pub instance_uid: String,
    /// `service.name`.
    pub name: Option<String>,
    /// `host.name`.
    pub host: Option<String>,
    /// `connected`, `silent` or `disconnected`.
    pub connection: String,
    /// `gets`, `has it`, `offline`, `not configurable`, `outranked` or `overridden`.
    pub outcome: String,
    /// Why, in words, where the outcome alone does not say it.
    pub reason: Option<String>,
    /// What it is given now.
    pub now: Option<RevisionRef>,
    /// How it stands with that, as `AssignedAgent.state`; `null`: nothing was decided about it yet.
    pub state: Option<String>,
}

/// A revision by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RevisionRef {
    /// The configuration's name.
    pub config: String,
    /// The revision's number.
    pub revision: u32,
}

/// Body of `PUT /agents/{uid}/config`: pins one agent to a revision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewOverride {
    /// The configuration's name.
    pub config: String,
    /// Absent: the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
}

/// Answer of `PUT /agents/{uid}/config`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Override {
    /// The configuration's name.
    pub config: String,
    /// The revision that the agent is pinned to.
    pub revision: u32,
    /// Who did it.
    pub created_by: String,
    /// When, RFC 3339.
    pub created_at: String,
}
