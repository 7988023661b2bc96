//! Labels of one agent and of many. Selectors see them at once: agents whose configuration they decide are offered
//! another one.

use api::labels::{LabelChange, LabelOutcome, Labels};
use axum::Json;
use axum::extract::State;
use model::label::{self, InvalidLabel};
use model::{Role, Selector};
use serde_json::json;
use store::{AuditEntry, LabelReport, LabelTarget};

use super::agents::{instance_uid, unknown};
use super::caller::Caller;
use super::context::Context;
use super::problem::ApiError;
use super::request::{Body, PathPart};
use super::version::{IfMatch, Tagged};

/// The most agents that one request names; more are meant by a selector.
const MAX_NAMED: usize = 1000;

/// Shows the labels of an agent.
#[utoipa::path(get, path = "/agents/{uid}/labels", operation_id = "show_labels", tag = "agents",
    params(("uid" = String, Path, description = "The agent's instance_uid.")),
    responses((status = OK, description = "The labels, with their version as ETag.", body = Labels)))]
pub(super) async fn show(
    State(context): State<Context>,
    _: Caller,
    PathPart(uid): PathPart,
) -> Result<Tagged<Json<Labels>>, ApiError> {
    let uid = instance_uid(&uid)?;
    let labels = context.store.labels(uid).await?;
    if labels.is_empty() && context.store.agent_binding(uid).await?.is_none() {
        return Err(unknown(uid));
    }
    Ok(Tagged(label::version(&labels), Json(Labels { labels })))
}

/// Replaces the labels of an agent. For operators.
#[utoipa::path(put, path = "/agents/{uid}/labels", operation_id = "set_labels", tag = "agents",
    request_body = Labels,
    params(("uid" = String, Path, description = "The agent's instance_uid.")),
    responses((status = OK, description = "The labels as they are now.", body = Labels)))]
pub(super) async fn replace(
    State(context): State<Context>,
    caller: Caller,
    PathPart(uid): PathPart,
    IfMatch(versions): IfMatch,
    Body(Labels { labels }): Body<Labels>,
) -> Result<Tagged<Json<Labels>>, ApiError> {
    caller.require(Role::Operator)?;
    let uid = instance_uid(&uid)?;
    let change = model::LabelChange::replacing(labels.clone()).map_err(|error| invalid("labels", &error))?;
    let entry = caller.entry("label.change", format!("agent/{uid}"));
    let report = carry_out(&context, LabelTarget::One(uid, versions), change, entry).await?;
    if report.matched == 0 {
        return Err(unknown(uid));
    }
    Ok(Tagged(label::version(&labels), Json(Labels { labels })))
}

/// Sets and removes labels of many agents. For operators.
#[utoipa::path(post, path = "/labels", operation_id = "change_labels", tag = "agents",
    request_body = LabelChange,
    responses((status = OK, description = "How many agents were meant and changed.", body = LabelOutcome)))]
pub(super) async fn change(
    State(context): State<Context>,
    caller: Caller,
    Body(body): Body<LabelChange>,
) -> Result<Json<LabelOutcome>, ApiError> {
    caller.require(Role::Operator)?;
    let told = json!({
        "selector": &body.selector, "agents": &body.agents, "set": &body.set, "remove": &body.remove,
    });
    let LabelChange { selector, agents, set, remove } = body;
    let change = model::LabelChange::try_new(set, remove).map_err(|error| invalid("set", &error))?;
    if change.is_empty() {
        return Err(ApiError::unprocessable(Some("set".to_owned()), "say which labels to set or to remove"));
    }
    let entry = caller.entry("label.change", "agents").with(None, Some(told));
    let report = carry_out(&context, target(selector, agents)?, change, entry).await?;
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let LabelReport { matched, changed, full } = report;
    Ok(Json(LabelOutcome { matched: count(matched), changed: count(changed.len()), full: count(full.len()) }))
}

async fn carry_out(
    context: &Context,
    target: LabelTarget,
    change: model::LabelChange,
    entry: AuditEntry,
) -> Result<LabelReport, ApiError> {
    let report = context.configs.label(&context.server, target, change, entry).await?;
    context.hub.changed(report.changed.iter().map(|(uid, _)| *uid));
    Ok(report)
}

fn target(selector: Option<String>, agents: Option<Vec<String>>) -> Result<LabelTarget, ApiError> {
    let wrong = |field: &str, detail: String| ApiError::unprocessable(Some(field.to_owned()), detail);
    match (selector, agents) {
        (Some(text), None) => {
            let selector = Selector::parse(&text).map_err(|error| wrong("selector", error.to_string()))?;
            Ok(LabelTarget::Selector(selector))
        }
        (None, Some(uids)) if uids.len() <= MAX_NAMED => {
            let uids = uids.iter().map(|uid| uid.parse());
            let uids: Result<_, opamp_proto::uid::InvalidUid> = uids.collect();
            uids.map(LabelTarget::Agents).map_err(|error| wrong("agents", error.to_string()))
        }
        (None, Some(_)) => {
            Err(wrong("agents", format!("name at most {MAX_NAMED} agents, or give a selector")))
        }
        (Some(_), Some(_)) | (None, None) => {
            Err(wrong("selector", "give either a selector, which may be empty, or agents".to_owned()))
        }
    }
}

fn invalid(field: &str, error: &InvalidLabel) -> ApiError {
    ApiError::unprocessable(Some(field.to_owned()), error.to_string())
}
