//! Saved views: queries of the list of agents under a name, the same for everybody.

use api::views::{NewView, View, ViewList, ViewQuery};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use model::{Role, Selector};
use store::{ViewAdded, ViewRow};

use super::caller::Caller;
use super::context::Context;
use super::problem::ApiError;
use super::request::{Body, PathPart};
use crate::clock::{self, rfc3339};

/// Longest name, in characters.
const MAX_NAME: usize = 100;
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
    let name = name.trim().to_owned();
    if name.is_empty() || name.chars().count() > MAX_NAME || name.chars().any(char::is_control) {
        let detail = format!("name must have 1 to {MAX_NAME} characters and none that cannot be seen");
        return Err(ApiError::unprocessable(Some("name".to_owned()), detail));
    }
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

/// The query as it is stored.
fn checked(query: &ViewQuery) -> Result<String, ApiError> {
    let wrong = |field: &str, detail: String| ApiError::unprocessable(Some(field.to_owned()), detail);
    if let Some(selector) = &query.selector {
        Selector::parse(selector).map_err(|error| wrong("query.selector", error.to_string()))?;
    }
    let text = serde_json::to_string(query).map_err(|error| ApiError::internal(&error))?;
    if text.len() > MAX_QUERY {
        return Err(wrong("query", format!("a query has at most {MAX_QUERY} bytes")));
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
