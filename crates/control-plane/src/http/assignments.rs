//! /api/v1/assignments: who gets which configuration, how rollouts go on, previews; and overrides of single agents.

use api::assignments::{
    AssignedAgent, AssignedPage, AssignedQuery, Assignment as AssignmentJson, AssignmentPage,
    AssignmentPatch, AssignmentQuery, DeleteAssignment, NewAssignment, NewOverride, Override as OverrideJson,
    Preview, PreviewAgent, PreviewRequest, Reason, RevisionRef, SetRevision,
};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use model::assignment::{DEFAULT_BATCH_PERCENT, rollout::batch_size};
use model::{Assignment, AssignmentId, AssignmentState, ConfigState, Role, Selector};
use opamp_proto::InstanceUid;
use serde_json::json;
use store::{AgentQuery, Override, PreviewOutcome, RevisionRow};

use super::caller::Caller;
use super::config_json;
use super::configs::unknown as unknown_config;
use super::context::Context;
use super::problem::ApiError;
use super::request::{Body, Parameters, PathPart};
use super::version::{IfMatch, Tagged};
use crate::clock::{self, rfc3339};
use crate::configs::{NewRollout, Plan};

/// The longest reason, in characters.
const MAX_REASON: usize = 500;

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
    let (plan, counts) = (context.configs.plan(), context.store.assignment_counts().await?);
    let all: Vec<_> = plan
        .assignments()
        .iter()
        .filter(|one| state.is_none_or(|state| one.state == state))
        .map(|one| config_json::assignment(&plan, one, &counts, 0))
        .filter(|one| parameters.get("config").is_none_or(|name| one.config == name))
        .collect();
    let total = all.len();
    let items: Vec<_> = all.into_iter().skip(after).take(limit).collect();
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
    let changed = context.configs.amend(&context.server, id, version.single(), amend, entry).await?;
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
    let changed =
        context.configs.set_revision(&context.server, id, version.single(), row.id, batch, entry).await?;
    answer(&context, changed).await
}

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
    let paused = context.configs.pause(&context.server, id, version.single(), text, entry).await?;
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
    let resumed = context.configs.resume(&context.server, id, version.single(), entry).await?;
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
    let aborted = context.configs.abort(&context.server, id, version.single(), text, entry).await?;
    answer(&context, aborted).await
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
    context.configs.unassign(&context.server, id, version.single(), clear, entry).await?;
    Ok(if clear { StatusCode::ACCEPTED } else { StatusCode::NO_CONTENT })
}

/// Lists the agents about which an assignment decides.
#[utoipa::path(get, path = "/assignments/{id}/agents", operation_id = "list_assigned_agents", tag = "assignments",
    params(("id" = String, Path, description = "The assignment's id."), AssignedQuery),
    responses((status = OK, description = "A page of them, by name.", body = AssignedPage)))]
pub(super) async fn agents(
    State(context): State<Context>,
    _: Caller,
    PathPart(id): PathPart,
    parameters: Parameters,
) -> Result<Json<AssignedPage>, ApiError> {
    let parameters = parameters.only(&["state", "limit", "cursor"])?;
    let plan = context.configs.plan();
    let found = find(&plan, &id)?;
    let state = parameters.parse("state", "a state of a configuration, or waiting", |text| match text {
        "waiting" => Some(ConfigState::Unmanaged),
        other => other.parse().ok(),
    })?;
    let query = AgentQuery {
        assignment: Some(found.id),
        config_state: state.filter(|state| *state != ConfigState::Unmanaged),
        waiting: state == Some(ConfigState::Unmanaged),
        cursor: parameters.parse("cursor", "the next_cursor of the page before", |text| text.parse().ok())?,
        limit: parameters.limit()?,
        ..AgentQuery::default()
    };
    let page = context.fleet.list(query).await?;
    let goal = found.goal().and_then(|id| plan.revision(id)).map(|known| known.number);
    let items = page.items.into_iter().map(|agent| AssignedAgent {
        released: agent.config.revision.is_some() && agent.config.revision == goal,
        instance_uid: agent.instance_uid,
        name: agent.name,
        host: agent.host,
        connection: agent.state,
        state: agent.config.state,
        revision: agent.config.revision,
        error: agent.config.reason,
    });
    Ok(Json(AssignedPage { items: items.collect(), next_cursor: page.next_cursor, total: page.total }))
}

/// Says who would get a revision, and who would not and why. Nothing is changed.
#[utoipa::path(post, path = "/assignments/preview", operation_id = "preview_assignment", tag = "assignments",
    request_body = PreviewRequest, responses((status = OK, description = "Who would get it.", body = Preview)))]
pub(super) async fn preview(
    State(context): State<Context>,
    _: Caller,
    Body(request): Body<PreviewRequest>,
) -> Result<Json<Preview>, ApiError> {
    let PreviewRequest { config, revision, selector: text, priority, batch_percent, assignment, limit } =
        request;
    let (row, _) = revision_of(&context, &config, revision).await?;
    let plan = context.configs.plan();
    let like = assignment.as_deref().map(|id| find(&plan, id)).transpose()?;
    let percent =
        percent(batch_percent)?.or(like.map(|one| one.batch_percent)).unwrap_or(DEFAULT_BATCH_PERCENT);
    let priority = priority.or(like.map(|one| one.priority)).unwrap_or(0);
    let limit = limit.unwrap_or(100).clamp(1, 500);
    let found = context
        .configs
        .preview(like.map(|one| one.id), &selector(&text)?, priority, Some(row.id), limit)
        .await?;
    let batches = match found.gets {
        0 => 0,
        gets => gets.div_ceil(batch_size(gets, percent)),
    };
    Ok(Json(Preview {
        matched: found.matched,
        gets: found.gets,
        changes: found.gets,
        offline: found.offline,
        incapable: found.not_configurable,
        outranked: found.outranked,
        overridden: found.overridden,
        batches: u32::try_from(batches).unwrap_or(u32::MAX),
        total: found.matched,
        agents: found.agents.into_iter().map(|agent| preview_agent(&plan, agent)).collect(),
    }))
}

fn preview_agent(plan: &Plan, agent: store::PreviewAgent) -> PreviewAgent {
    let said = |text: String| (!text.is_empty()).then_some(text);
    let (outcome, reason) = match agent.outcome {
        PreviewOutcome::Gets => ("gets", None),
        PreviewOutcome::Has => ("has it", None),
        PreviewOutcome::Offline => ("offline", Some("it gets it when it comes back".to_owned())),
        PreviewOutcome::NotConfigurable => {
            ("not configurable", Some("the agent does not accept remote configuration".to_owned()))
        }
        PreviewOutcome::Overridden => {
            ("overridden", Some("it is pinned to a revision of its own".to_owned()))
        }
        PreviewOutcome::Outranked(id) => ("outranked", Some(format!("assignment {id} has precedence"))),
    };
    let now = agent.now.and_then(|place| place.revision).and_then(|id| plan.revision(id));
    PreviewAgent {
        instance_uid: agent.uid.to_string(),
        name: said(agent.name),
        host: said(agent.host),
        connection: if agent.connected { "connected" } else { "disconnected" }.to_owned(),
        outcome: outcome.to_owned(),
        reason,
        now: now.map(|known| RevisionRef { config: known.config.clone(), revision: known.number }),
    }
}

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

/// A revision of a configuration, the last one when no number is given.
async fn revision_of(
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
    let counts = context.store.assignment_counts().await?;
    let selector = &assignment.selector;
    let preview =
        context.configs.preview(Some(assignment.id), selector, assignment.priority, None, 1).await?;
    Ok(config_json::assignment(&plan, assignment, &counts, preview.outranked))
}

async fn answer(context: &Context, assignment: Assignment) -> Result<Response, ApiError> {
    let json = one(context, &assignment).await?;
    Ok(Tagged(assignment.version, Json(json)).into_response())
}

fn find<'p>(plan: &'p Plan, id: &str) -> Result<&'p Assignment, ApiError> {
    let id = assignment_id(id)?;
    plan.assignment(id).ok_or_else(|| ApiError::not_found(format!("there is no assignment {id}")))
}

fn assignment_id(text: &str) -> Result<AssignmentId, ApiError> {
    let number =
        text.parse().map_err(|_| ApiError::parameter("id", "the id of an assignment is a number"))?;
    Ok(AssignmentId(number))
}

fn selector(text: &str) -> Result<Selector, ApiError> {
    Selector::parse(text)
        .map_err(|error| ApiError::unprocessable(Some("selector".to_owned()), error.to_string()))
}

fn percent(percent: Option<u32>) -> Result<Option<u8>, ApiError> {
    let Some(percent) = percent else { return Ok(None) };
    match u8::try_from(percent) {
        Ok(percent @ 1..=100) => Ok(Some(percent)),
        _ => Err(ApiError::unprocessable(
            Some("batch_percent".to_owned()),
            "a batch has 1 to 100 percent of the agents",
        )),
    }
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
