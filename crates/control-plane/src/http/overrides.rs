//! Overrides: single agents that are pinned to a revision, whatever assignments say.

use api::assignments::{NewOverride, Override as OverrideJson};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use model::Role;
use opamp_proto::InstanceUid;
use serde_json::json;
use store::Override;

use super::assignments::revision_of;
use super::caller::Caller;
use super::context::Context;
use super::problem::ApiError;
use super::request::{Body, PathPart};
use crate::clock::{self, rfc3339};

/// Pins an agent to a revision, whatever assignments say. For operators.
#[utoipa::path(put, path = "/agents/{uid}/config", operation_id = "pin_agent", tag = "assignments",
    params(("uid" = String, Path, description = "The agent's instance_uid.")), request_body = NewOverride,
    responses((status = OK, description = "It is pinned.", body = OverrideJson)))]
pub(super) async fn pin(
    State(context): State<Context>,
    caller: Caller,
    PathPart(uid): PathPart,
    Body(NewOverride { config, revision }): Body<NewOverride>,
) -> Result<Json<OverrideJson>, ApiError> {
    caller.require(Role::Operator)?;
    let uid = super::agents::instance_uid(&uid)?;
    known_agent(&context, uid).await?;
    let (row, number) = revision_of(&context, &config, revision).await?;
    let entry = caller.entry("agent.pin", format!("agent/{uid}"));
    let entry = entry.with(None, Some(json!({ "config": config, "revision": number })));
    let to = Override { uid, revision: row.id, created_by: caller.name(), created_at: clock::now() };
    let json = OverrideJson {
        config,
        revision: number,
        created_by: to.created_by.clone(),
        created_at: rfc3339(to.created_at),
    };
    context.configs.pin(&context.server, uid, Some(to), entry).await?;
    Ok(Json(json))
}

/// Lets an agent go that was pinned: assignments decide again. For operators.
#[utoipa::path(delete, path = "/agents/{uid}/config", operation_id = "unpin_agent", tag = "assignments",
    params(("uid" = String, Path, description = "The agent's instance_uid.")),
    responses((status = NO_CONTENT, description = "Assignments decide about it.")))]
pub(super) async fn unpin(
    State(context): State<Context>,
    caller: Caller,
    PathPart(uid): PathPart,
) -> Result<StatusCode, ApiError> {
    caller.require(Role::Operator)?;
    let uid = super::agents::instance_uid(&uid)?;
    let entry = caller.entry("agent.unpin", format!("agent/{uid}"));
    match context.configs.pin(&context.server, uid, None, entry).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(ApiError::not_found(format!("agent {uid} is not pinned"))),
    }
}

async fn known_agent(context: &Context, uid: InstanceUid) -> Result<(), ApiError> {
    let binding = context.store.agent_binding(uid).await?;
    binding.map(drop).ok_or_else(|| ApiError::not_found(format!("there is no agent {uid}")))
}
