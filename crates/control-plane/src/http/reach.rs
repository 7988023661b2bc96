//! Whom an assignment reaches: its agents as they are, and a preview of those that it would have.

use api::assignments::{
    AssignedAgent, AssignedPage, AssignedQuery, Preview, PreviewAgent, PreviewRequest, RevisionRef,
};
use axum::Json;
use axum::extract::State;
use model::ConfigState;
use model::assignment::{DEFAULT_BATCH_PERCENT, rollout::batch_size};
use store::{AgentQuery, PreviewOutcome};

use super::assignments::{find, percent, revision_of, selector};
use super::caller::Caller;
use super::context::Context;
use super::problem::ApiError;
use super::request::{Body, Parameters, PathPart};
use crate::configs::Plan;

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
    let state = agent.now.as_ref().map(|place| place.state.as_str().to_owned());
    let now = agent.now.and_then(|place| place.revision).and_then(|id| plan.revision(id));
    PreviewAgent {
        instance_uid: agent.uid.to_string(),
        name: said(agent.name),
        host: said(agent.host),
        connection: if agent.connected { "connected" } else { "disconnected" }.to_owned(),
        outcome: outcome.to_owned(),
        reason,
        now: now.map(|known| RevisionRef { config: known.config.clone(), revision: known.number }),
        state,
    }
}
