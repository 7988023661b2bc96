//! /api/v1/assignments: who gets which configuration. Rollouts are stopped and resumed in `rollouts`, whom an
//! assignment reaches is in `reach`, overrides of single agents in `overrides`.

use api::assignments::{
    Assignment as AssignmentJson, AssignmentPage, AssignmentPatch, AssignmentQuery, DeleteAssignment,
    NewAssignment, SetRevision,
};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use model::assignment::DEFAULT_BATCH_PERCENT;
use model::{Assignment, AssignmentId, AssignmentState, Role, Selector};
use serde_json::json;
use store::RevisionRow;

use super::caller::Caller;
use super::config_json;
use super::configs::unknown as unknown_config;
use super::context::Context;
use super::problem::ApiError;
use super::request::{Body, Parameters, PathPart};
use super::version::{IfMatch, Tagged};
use crate::configs::{NewRollout, Plan};

/// Lists assignments, those that win first.
#[utoipa::path(get, path = "/assignments", operation_id = "list_assignments", tag = "assignments",
    params(AssignmentQuery),
    responses((status = OK, description = "A page of them.", body = AssignmentPage)))]
pub(super) async fn list(
    State(context): State<Context>,
    _: Caller,
    parameters: Parameters,
) -> Result<Json<AssignmentPage>, ApiError> {
    let parameters = parameters.only(&["config", "state", "limit", "cursor"])?;
    let state: Option<AssignmentState> =
        parameters.parse("state", "rolling, paused, done, aborted or clearing", |text| text.parse().ok())?;
    let after = parameters.parse("cursor", "the next_cursor of the page before", |text| text.parse().ok())?;
    let (after, limit): (usize, _) = (after.unwrap_or(0), parameters.limit()? as usize);
    let plan = context.configs.plan();
    let outranked = context.configs.outranked(&plan).await?;
    let is_of = |one: &&Assignment| {
        let config = one.goal().and_then(|id| plan.revision(id)).map(|known| known.config.as_str());
        parameters.get("config").is_none_or(|name| config == Some(name))
    };
    let is_in = |one: &&Assignment| state.is_none_or(|state| one.state == state);
    let all: Vec<_> = plan.assignments().iter().filter(is_in).filter(is_of).collect();
    let total = all.len();
    let page: Vec<_> = all.into_iter().skip(after).take(limit).collect();
    let figures = config_json::Figures::of(&context, &plan, page.iter().copied()).await?;
    let json = |one: &Assignment| {
        config_json::assignment(&figures, one, outranked.get(&one.id).copied().unwrap_or(0))
    };
    let items: Vec<_> = page.into_iter().map(json).collect();
    let next = after + items.len();
    let next_cursor = (next < total).then(|| next.to_string());
    Ok(Json(AssignmentPage { items, next_cursor, total: total as u64 }))
}

/// Assigns a revision to the agents of a selector: a rollout begins. For operators.
#[utoipa::path(post, path = "/assignments", operation_id = "create_assignment", tag = "assignments",
    request_body = NewAssignment,
    responses((status = CREATED, description = "The rollout is under way.", body = AssignmentJson)))]
pub(super) async fn create(
    State(context): State<Context>,
    caller: Caller,
    Body(new): Body<NewAssignment>,
) -> Result<Response, ApiError> {
    caller.require(Role::Operator)?;
    let NewAssignment { config, revision, selector: text, priority, batch_percent } = new;
    let (row, number) = revision_of(&context, &config, revision).await?;
    let (priority, batch_percent) = (priority.unwrap_or(0), percent(batch_percent)?);
    let told = json!({ "config": config, "revision": number, "selector": text, "priority": priority,
        "batch_percent": batch_percent.unwrap_or(DEFAULT_BATCH_PERCENT) });
    let rollout = NewRollout {
        config: row.config,
        revision: row.id,
        selector: selector(&text)?,
        priority,
        batch_percent: batch_percent.unwrap_or(DEFAULT_BATCH_PERCENT),
        author: caller.name(),
    };
    let entry = caller.entry("assignment.create", "assignment").with(None, Some(told));
    let made = context.configs.assign(&context.server, rollout, entry).await?;
    let json = one(&context, &made).await?;
    Ok((StatusCode::CREATED, Tagged(made.version, Json(json))).into_response())
}

/// Shows an assignment and how far its agents are.
#[utoipa::path(get, path = "/assignments/{id}", operation_id = "show_assignment", tag = "assignments",
    params(("id" = String, Path, description = "The assignment's id.")),
    responses((status = OK, description = "The assignment.", body = AssignmentJson)))]
pub(super) async fn show(
    State(context): State<Context>,
    _: Caller,
    PathPart(id): PathPart,
) -> Result<Response, ApiError> {
    let plan = context.configs.plan();
    let found = find(&plan, &id)?;
    answer(&context, found.clone()).await
}

/// Changes to whom an assignment applies, or how large its batches are. For operators.
#[utoipa::path(patch, path = "/assignments/{id}", operation_id = "change_assignment", tag = "assignments",
    params(("id" = String, Path, description = "The assignment's id.")), request_body = AssignmentPatch,
    responses((status = OK, description = "The assignment as it is now.", body = AssignmentJson)))]
pub(super) async fn change(
    State(context): State<Context>,
    caller: Caller,
    PathPart(id): PathPart,
    version: IfMatch,
    Body(patch): Body<AssignmentPatch>,
) -> Result<Response, ApiError> {
    caller.require(Role::Operator)?;
    let (id, entry) = (assignment_id(&id)?, caller.entry("assignment.change", format!("assignment/{id}")));
    let to = patch.selector.as_deref().map(selector).transpose()?;
    let batch_percent = percent(patch.batch_percent)?;
    let amend = move |assignment: &mut Assignment| {
        if let Some(selector) = to {
            assignment.selector = selector;
        }
        assignment.priority = patch.priority.unwrap_or(assignment.priority);
        assignment.batch_percent = batch_percent.unwrap_or(assignment.batch_percent);
    };
    let changed = context.configs.amend(&context.server, id, version.0, amend, entry).await?;
    answer(&context, changed).await
}

/// Brings an assignment to another revision; an older one rolls back. For operators.
#[utoipa::path(post, path = "/assignments/{id}/revision", operation_id = "set_assignment_revision",
    tag = "assignments", params(("id" = String, Path, description = "The assignment's id.")),
    request_body = SetRevision,
    responses((status = OK, description = "The rollout is under way.", body = AssignmentJson)))]
pub(super) async fn set_revision(
    State(context): State<Context>,
    caller: Caller,
    PathPart(id): PathPart,
    version: IfMatch,
    Body(SetRevision { revision, batch_percent }): Body<SetRevision>,
) -> Result<Response, ApiError> {
    caller.require(Role::Operator)?;
    let plan = context.configs.plan();
    let found = find(&plan, &id)?;
    let row = context.store.revision(found.config, revision).await?.map(|(row, _)| row);
    let row =
        row.ok_or_else(|| ApiError::not_found(format!("the configuration has no revision {revision}")))?;
    // Going back is for everybody at once: a bad revision is to go, and the older one is known.
    let goal = found.goal().and_then(|id| plan.revision(id)).map(|known| known.number);
    let is_back = goal.is_some_and(|goal| revision < goal);
    let (id, batch) = (found.id, percent(batch_percent)?.or(is_back.then_some(100)));
    let entry = caller.entry("assignment.set-revision", format!("assignment/{id}"));
    let changed = context.configs.set_revision(&context.server, id, version.0, row.id, batch, entry).await?;
    answer(&context, changed).await
}

/// Takes an assignment away: its agents run on, or with `clear` get the empty configuration first. For operators.
#[utoipa::path(delete, path = "/assignments/{id}", operation_id = "delete_assignment", tag = "assignments",
    params(("id" = String, Path, description = "The assignment's id."), DeleteAssignment),
    responses((status = NO_CONTENT, description = "It is gone."),
        (status = ACCEPTED, description = "Its agents are being cleared; it goes when they are.")))]
pub(super) async fn remove(
    State(context): State<Context>,
    caller: Caller,
    PathPart(id): PathPart,
    version: IfMatch,
    parameters: Parameters,
) -> Result<StatusCode, ApiError> {
    caller.require(Role::Operator)?;
    let parameters = parameters.only(&["clear"])?;
    let clear = parameters.parse("clear", "true or false", |text| text.parse().ok())?.unwrap_or(false);
    let action = if clear { "assignment.clear" } else { "assignment.delete" };
    let (id, entry) = (assignment_id(&id)?, caller.entry(action, format!("assignment/{id}")));
    context.configs.unassign(&context.server, id, version.0, clear, entry).await?;
    Ok(if clear { StatusCode::ACCEPTED } else { StatusCode::NO_CONTENT })
}

/// A revision of a configuration, the last one when no number is given.
pub(super) async fn revision_of(
    context: &Context,
    config: &str,
    number: Option<u32>,
) -> Result<(RevisionRow, u32), ApiError> {
    let row = context.store.config(config).await?.ok_or_else(|| unknown_config(config))?;
    let Some(number) = number else { return Ok((row.latest.clone(), row.latest.number)) };
    let found = context.store.revision(row.id, number).await?.map(|(row, _)| (row, number));
    found.ok_or_else(|| ApiError::not_found(format!("{config} has no revision {number}")))
}

async fn one(context: &Context, assignment: &Assignment) -> Result<AssignmentJson, ApiError> {
    let plan = context.configs.plan();
    let figures = config_json::Figures::of(context, &plan, [assignment]).await?;
    let selector = &assignment.selector;
    let preview =
        context.configs.preview(Some(assignment.id), selector, assignment.priority, None, 1).await?;
    Ok(config_json::assignment(&figures, assignment, preview.outranked))
}

pub(super) async fn answer(context: &Context, assignment: Assignment) -> Result<Response, ApiError> {
    let json = one(context, &assignment).await?;
    Ok(Tagged(assignment.version, Json(json)).into_response())
}

pub(super) fn find<'p>(plan: &'p Plan, id: &str) -> Result<&'p Assignment, ApiError> {
    let id = assignment_id(id)?;
    plan.assignment(id).ok_or_else(|| ApiError::not_found(format!("there is no assignment {id}")))
}

pub(super) fn assignment_id(text: &str) -> Result<AssignmentId, ApiError> {
    let number =
        text.parse().map_err(|_| ApiError::parameter("id", "the id of an assignment is a number"))?;
    Ok(AssignmentId(number))
}

pub(super) fn selector(text: &str) -> Result<Selector, ApiError> {
    Selector::parse(text)
        .map_err(|error| ApiError::unprocessable(Some("selector".to_owned()), error.to_string()))
}

pub(super) fn percent(percent: Option<u32>) -> Result<Option<u8>, ApiError> {
    let Some(percent) = percent else { return Ok(None) };
    match u8::try_from(percent) {
        Ok(percent @ 1..=100) => Ok(Some(percent)),
        _ => Err(ApiError::unprocessable(
            Some("batch_percent".to_owned()),
            "a batch has 1 to 100 percent of the agents",
        )),
    }
}
