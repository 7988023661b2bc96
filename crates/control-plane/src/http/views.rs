//! Saved views: queries of the list of agents under a name, the same for everybody.

use api::views::{NewView, View, ViewList, ViewQuery};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use model::name::seen;
use model::{ConfigState, Role, Selector};
use store::{AgentSort, ViewAdded, ViewRow};

use super::agents::{config_state_words, health, sort_words};
use super::caller::Caller;
use super::context::Context;
use super::problem::ApiError;
use super::request::{Body, PathPart, label};
use crate::clock::{self, rfc3339};

/// The most columns; the console has half as many.
const MAX_COLUMNS: usize = 32;
/// Longest query, in bytes of JSON: a selector has up to 4096.
const MAX_QUERY: usize = 8192;

/// Lists saved views.
#[utoipa::path(get, path = "/views", operation_id = "list_views", tag = "agents",
    responses((status = OK, description = "Every view, by name.", body = ViewList)))]
pub(super) async fn list(State(context): State<Context>, _: Caller) -> Result<Json<ViewList>, ApiError> {
    let views = context.store.views().await?;
    Ok(Json(ViewList { items: views.into_iter().map(view).collect() }))
}

/// Saves a view. For operators.
#[utoipa::path(post, path = "/views", operation_id = "create_view", tag = "agents", request_body = NewView,
    responses((status = CREATED, description = "The view.", body = View)))]
pub(super) async fn create(
    State(context): State<Context>,
    caller: Caller,
    Body(NewView { name, query }): Body<NewView>,
) -> Result<(StatusCode, Json<View>), ApiError> {
    caller.require(Role::Operator)?;
    let name = label("name", &name)?;
    let query = checked(&query)?;
    let new = store::NewView { name, query, created_by: caller.name(), created_at: clock::now() };
    match context.store.create_view(new, caller.entry("view.create", "view")).await? {
        ViewAdded::View(row) => Ok((StatusCode::CREATED, Json(view(row)))),
        ViewAdded::NameTaken => Err(ApiError::conflict("there is a view of this name: remove it first")),
        ViewAdded::Full => {
            Err(ApiError::conflict("there are as many views as there may be: remove some first"))
        }
    }
}

/// Removes a view. For operators.
#[utoipa::path(delete, path = "/views/{id}", operation_id = "delete_view", tag = "agents",
    params(("id" = String, Path, description = "The view's id.")),
    responses((status = NO_CONTENT, description = "It is gone.")))]
pub(super) async fn remove(
    State(context): State<Context>,
    caller: Caller,
    PathPart(id): PathPart,
) -> Result<StatusCode, ApiError> {
    caller.require(Role::Operator)?;
    let number = id.parse().map_err(|_| ApiError::parameter("id", "the id of a view is a number"))?;
    match context.store.delete_view(number, caller.entry("view.delete", "view")).await? {
        Some(_) => Ok(StatusCode::NO_CONTENT),
        None => Err(ApiError::not_found(format!("there is no view {number}"))),
    }
}

/// The query as it is stored: whatever the list of agents would refuse is refused here, and what cannot be seen.
fn checked(query: &ViewQuery) -> Result<String, ApiError> {
    let ViewQuery { selector, q, state, health: health_word, config_state, config, sort, columns } = query;
    let wrong = |field: &str, detail: String| {
        ApiError::unprocessable(Some(format!("query.{field}")), format!("{field} {detail}"))
    };
    let texts = [
        ("selector", selector),
        ("q", q),
        ("state", state),
        ("health", health_word),
        ("config_state", config_state),
        ("config", config),
        ("sort", sort),
    ];
    for (field, text) in texts.iter().filter_map(|(field, text)| Some((field, text.as_ref()?))) {
        seen(text).map_err(|error| wrong(field, error.to_string()))?;
    }
    if let Some(selector) = selector {
        let field = Some("query.selector".to_owned());
        Selector::parse(selector).map_err(|error| ApiError::unprocessable(field, error.to_string()))?;
    }
    let must = |field: &str, text: &Option<String>, good: fn(&str) -> bool, words: &str| match text {
        Some(text) if !good(text) => Err(wrong(field, format!("must be {words}"))),
        _ => Ok(()),
    };
    let is_state = |text: &str| text.parse::<model::ConnectionState>().is_ok();
    must("state", state, is_state, "connected, silent or disconnected")?;
    must("health", health_word, |text| health(text).is_some(), "healthy, unhealthy or unknown")?;
    must("config_state", config_state, |text| text.parse::<ConfigState>().is_ok(), &config_state_words())?;
    must("sort", sort, |text| AgentSort::parse(text).is_some(), &sort_words())?;
    let is_column =
        |name: &String| (1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic());
    if columns.len() > MAX_COLUMNS || !columns.iter().all(is_column) {
        let detail = format!("are at most {MAX_COLUMNS}, each of 1 to 64 visible ASCII characters");
        return Err(wrong("columns", detail));
    }
    let text = serde_json::to_string(query).map_err(|error| ApiError::internal(&error))?;
    if text.len() > MAX_QUERY {
        let detail = format!("a query has at most {MAX_QUERY} bytes");
        return Err(ApiError::unprocessable(Some("query".to_owned()), detail));
    }
    Ok(text)
}

/// A query that a newer version wrote may have parts that this one does not know; the view then shows all agents.
fn view(row: ViewRow) -> View {
    let ViewRow { id, view: store::NewView { name, query, created_by, created_at } } = row;
    View {
        id: id.to_string(),
        name,
        query: serde_json::from_str(&query).unwrap_or_default(),
        created_by,
        created_at: rfc3339(created_at),
    }
}
