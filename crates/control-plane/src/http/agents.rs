//! /api/v1/agents: the inventory.

use api::agents::{AgentDetail, AgentPage, AgentQuery as AgentParameters, AttributeKeyQuery, AttributeKeys};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use model::{ConfigState, Role, Selector};
use opamp_proto::InstanceUid;
use store::{AgentQuery, AgentSort, Forgotten, HealthFilter, SortKey};

use super::caller::Caller;
use super::context::Context;
use super::problem::ApiError;
use super::request::{Parameters, PathPart};

const PARAMETERS: [&str; 10] =
    ["selector", "q", "state", "health", "config_state", "config", "replaced", "sort", "limit", "cursor"];
/// Longer selectors and texts are refused before they are read.
const MAX_TEXT: usize = 4096;

/// Lists agents.
#[utoipa::path(get, path = "/agents", operation_id = "list_agents", tag = "agents", params(AgentParameters),
    responses((status = OK, description = "A page of the inventory.", body = AgentPage)))]
pub(super) async fn list(
    State(context): State<Context>,
    _: Caller,
    parameters: Parameters,
) -> Result<Json<AgentPage>, ApiError> {
    Ok(Json(context.fleet.list(query(parameters)?).await?))
}

fn query(parameters: Parameters) -> Result<AgentQuery, ApiError> {
    let parameters = parameters.only(&PARAMETERS)?;
    for name in ["selector", "q", "cursor"] {
        if parameters.get(name).is_some_and(|text| text.len() > MAX_TEXT) {
            return Err(ApiError::parameter(name, format!("{name} is longer than {MAX_TEXT} bytes")));
        }
    }
    let defaults = AgentQuery::default();
    let selector = match parameters.get("selector") {
        Some(text) => {
            Selector::parse(text).map_err(|error| ApiError::parameter("selector", error.to_string()))?
        }
        None => Selector::everything(),
    };
    Ok(AgentQuery {
        selector,
        text: parameters.get("q").map(str::to_owned),
        state: parameters.parse("state", "connected, silent or disconnected", |text| text.parse().ok())?,
        health: parameters.parse("health", "healthy, unhealthy or unknown", health)?,
        config_state: parameters.parse("config_state", &config_state_words(), |text| text.parse().ok())?,
        config: parameters.get("config").map(str::to_owned),
        include_replaced: parameters
            .parse("replaced", "true or false", |text| text.parse().ok())?
            .unwrap_or(false),
        sort: parameters.parse("sort", &sort_words(), AgentSort::parse)?.unwrap_or(defaults.sort),
        cursor: parameters.parse("cursor", "the next_cursor of the page before", |text| text.parse().ok())?,
        limit: parameters.parse("limit", "a number from 1 to 500", limit)?.unwrap_or(defaults.limit),
        ..defaults
    })
}

pub(super) fn health(text: &str) -> Option<HealthFilter> {
    match text {
        "healthy" => Some(HealthFilter::Healthy),
        "unhealthy" => Some(HealthFilter::Unhealthy),
        "unknown" => Some(HealthFilter::Unknown),
        _ => None,
    }
}

pub(super) fn config_state_words() -> String {
    format!("one of {}", ConfigState::ALL.map(ConfigState::as_str).join(", "))
}

pub(super) fn sort_words() -> String {
    let words = SortKey::ALL.map(SortKey::as_str).join(", ");
    format!("one of {words}, with - before it for the reverse")
}

fn limit(text: &str) -> Option<u32> {
    text.parse().ok().filter(|limit| (1..=AgentQuery::MAX_LIMIT).contains(limit))
}

/// Lists the keys of attributes and labels that agents have: what a selector can name.
#[utoipa::path(get, path = "/agents/attribute-keys", operation_id = "list_attribute_keys", tag = "agents",
    params(AttributeKeyQuery),
    responses((status = OK, description = "The keys, in their order.", body = AttributeKeys)))]
pub(super) async fn attribute_keys(
    State(context): State<Context>,
    _: Caller,
    parameters: Parameters,
) -> Result<Json<AttributeKeys>, ApiError> {
    let parameters = parameters.only(&["prefix", "limit"])?;
    let prefix = parameters.get("prefix").unwrap_or_default();
    if prefix.len() > MAX_TEXT {
        return Err(ApiError::parameter("prefix", format!("prefix is longer than {MAX_TEXT} bytes")));
    }
    let items = context.store.attribute_keys(prefix.to_owned(), parameters.limit()?).await?;
    Ok(Json(AttributeKeys { items }))
}

/// Shows one agent in full.
#[utoipa::path(get, path = "/agents/{uid}", operation_id = "show_agent", tag = "agents",
    params(("uid" = String, Path, description = "The agent's instance_uid.")),
    responses((status = OK, description = "The agent.", body = AgentDetail)))]
pub(super) async fn show(
    State(context): State<Context>,
    _: Caller,
    PathPart(uid): PathPart,
) -> Result<Json<AgentDetail>, ApiError> {
    let uid = instance_uid(&uid)?;
    let agent = context.fleet.detail(uid).await?;
    agent.map(Json).ok_or_else(|| unknown(uid))
}

/// Forgets an agent that is not connected. For operators.
#[utoipa::path(delete, path = "/agents/{uid}", operation_id = "forget_agent", tag = "agents",
    params(("uid" = String, Path, description = "The agent's instance_uid.")),
    responses((status = NO_CONTENT, description = "It is gone; when it comes back, it must enrol.")))]
pub(super) async fn forget(
    State(context): State<Context>,
    caller: Caller,
    PathPart(uid): PathPart,
) -> Result<StatusCode, ApiError> {
    caller.require(Role::Operator)?;
    let uid = instance_uid(&uid)?;
    match context.fleet.forget(uid, caller.entry("agent.forget", format!("agent/{uid}"))).await? {
        Forgotten::Done => {
            context.configs.forget_labels(&[uid]).await;
            tracing::info!(agent = %uid, user = %caller.name(), "agent {uid} was forgotten");
            Ok(StatusCode::NO_CONTENT)
        }
        Forgotten::Connected => Err(ApiError::conflict(
            "the agent is connected and would only come back: stop it first, or revoke its token",
        )),
        Forgotten::Unknown => Err(unknown(uid)),
    }
}

pub(super) fn instance_uid(text: &str) -> Result<InstanceUid, ApiError> {
    text.parse().map_err(|error: opamp_proto::uid::InvalidUid| ApiError::parameter("uid", error.to_string()))
}

pub(super) fn unknown(uid: InstanceUid) -> ApiError {
    ApiError::not_found(format!("there is no agent {uid}"))
}
