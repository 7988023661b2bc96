//! /api/v1/agents/{uid}/timeline and /messages: what happened to an agent, and what it says right now.

use std::time::Duration;

use api::history::{Messages, Timeline};
use axum::Json;
use axum::extract::State;
use model::Role;

use super::agents::{instance_uid, unknown};
use super::caller::Caller;
use super::context::Context;
use super::problem::ApiError;
use super::request::PathPart;
use crate::clock;

/// Shows what happened to an agent and why, the newest first.
#[utoipa::path(get, path = "/agents/{uid}/timeline", operation_id = "show_timeline", tag = "agents",
    params(("uid" = String, Path, description = "The agent's instance_uid.")),
    responses((status = OK, description = "The turns that are known.", body = Timeline)))]
pub(super) async fn timeline(
    State(context): State<Context>,
    _: Caller,
    PathPart(uid): PathPart,
) -> Result<Json<Timeline>, ApiError> {
    let uid = instance_uid(&uid)?;
    context.fleet.timeline(uid).await?.map(Json).ok_or_else(|| unknown(uid))
}

/// Shows an agent's last messages, both ways. For operators. They are kept only while somebody asks: the first answer is
/// empty.
#[utoipa::path(get, path = "/agents/{uid}/messages", operation_id = "show_messages", tag = "agents",
    params(("uid" = String, Path, description = "The agent's instance_uid.")),
    responses((status = OK, description = "The messages since somebody watches.", body = Messages)))]
pub(super) async fn messages(
    State(context): State<Context>,
    caller: Caller,
    PathPart(uid): PathPart,
) -> Result<Json<Messages>, ApiError> {
    caller.require(Role::Operator)?;
    let uid = instance_uid(&uid)?;
    if context.store.agent_binding(uid).await?.is_none() {
        return Err(unknown(uid));
    }
    let look = context.server.handler().watched.look(uid, clock::now());
    let wait = Duration::from_secs(60);
    let look =
        look.ok_or_else(|| ApiError::unavailable("as many agents are watched at once as may be", wait))?;
    Ok(Json(crate::fleet::messages(look)))
}
