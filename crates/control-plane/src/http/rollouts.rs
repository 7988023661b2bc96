//! The verbs of a rollout: stopped, resumed and ended by an operator.

use api::assignments::{Assignment as AssignmentJson, Reason};
use axum::extract::State;
use axum::response::Response;
use model::Role;

use super::assignments::{answer, assignment_id};
use super::caller::Caller;
use super::context::Context;
use super::problem::ApiError;
use super::request::{Body, PathPart};
use super::version::IfMatch;

/// The longest reason, in characters.
const MAX_REASON: usize = 500;

/// Stops a rollout until somebody resumes it. For operators.
#[utoipa::path(post, path = "/assignments/{id}/pause", operation_id = "pause_assignment", tag = "assignments",
    params(("id" = String, Path, description = "The assignment's id.")), request_body = Reason,
    responses((status = OK, description = "It is paused.", body = AssignmentJson)))]
pub(super) async fn pause(
    State(context): State<Context>,
    caller: Caller,
    PathPart(id): PathPart,
    version: IfMatch,
    Body(reason): Body<Reason>,
) -> Result<Response, ApiError> {
    caller.require(Role::Operator)?;
    let (id, entry) = (assignment_id(&id)?, caller.entry("assignment.pause", format!("assignment/{id}")));
    let text = reason_text(reason, || format!("paused by {}", caller.name()))?;
    let paused = context.configs.pause(&context.server, id, version.0, text, entry).await?;
    answer(&context, paused).await
}

/// Goes on with a rollout that is paused, and forgives what was seen so far. For operators.
#[utoipa::path(post, path = "/assignments/{id}/resume", operation_id = "resume_assignment", tag = "assignments",
    params(("id" = String, Path, description = "The assignment's id.")),
    responses((status = OK, description = "It goes on.", body = AssignmentJson)))]
pub(super) async fn resume(
    State(context): State<Context>,
    caller: Caller,
    PathPart(id): PathPart,
    version: IfMatch,
) -> Result<Response, ApiError> {
    caller.require(Role::Operator)?;
    let (id, entry) = (assignment_id(&id)?, caller.entry("assignment.resume", format!("assignment/{id}")));
    let resumed = context.configs.resume(&context.server, id, version.0, entry).await?;
    answer(&context, resumed).await
}

/// Ends a rollout where it is: who has the new revision keeps it, nobody else gets it. For operators.
#[utoipa::path(post, path = "/assignments/{id}/abort", operation_id = "abort_assignment", tag = "assignments",
    params(("id" = String, Path, description = "The assignment's id.")), request_body = Reason,
    responses((status = OK, description = "It is over.", body = AssignmentJson)))]
pub(super) async fn abort(
    State(context): State<Context>,
    caller: Caller,
    PathPart(id): PathPart,
    version: IfMatch,
    Body(reason): Body<Reason>,
) -> Result<Response, ApiError> {
    caller.require(Role::Operator)?;
    let (id, entry) = (assignment_id(&id)?, caller.entry("assignment.abort", format!("assignment/{id}")));
    let text = reason_text(reason, || format!("aborted by {}", caller.name()))?;
    let aborted = context.configs.abort(&context.server, id, version.0, text, entry).await?;
    answer(&context, aborted).await
}

fn reason_text(reason: Reason, otherwise: impl FnOnce() -> String) -> Result<String, ApiError> {
    let text = reason.reason.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let Some(text) = text else { return Ok(otherwise()) };
    if text.chars().count() > MAX_REASON || model::name::seen(&text).is_err() {
        let detail =
            format!("a reason has at most {MAX_REASON} characters on one line, all of which can be seen");
        return Err(ApiError::unprocessable(Some("reason".to_owned()), detail));
    }
    Ok(text)
}
