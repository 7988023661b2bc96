//! All routes in one place.

use std::time::Duration;

use axum::extract::DefaultBodyLimit;
use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate};

use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::context::Context;
use super::problem::ApiError;
use super::request::MAX_BODY;
use super::{
    agent_history, agents, api_tokens, assignments, audit, configs, console, drafts, event_stream, headers,
    health, host_door, hosts, idempotency, labels, metrics, openapi, overrides, overview, preconditions,
    project_files, projects, reach, rollouts, service_logs, services, session, tokens, users, views,
};
use crate::hosts::install::INSTALL_PATH;

/// No answer takes longer, except a stream.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The resources of the API, each with its description. A route that is not added here by `routes!` would miss in the
/// document, and a test says so.
fn resources() -> OpenApiRouter<Context> {
    let timed = OpenApiRouter::new()
        .merge(access())
        .routes(routes!(overview::show))
        .routes(routes!(agents::list))
        .routes(routes!(agents::attribute_keys))
        .routes(routes!(agents::show, agents::forget))
        .routes(routes!(agent_history::timeline))
        .routes(routes!(agent_history::messages))
        .routes(routes!(labels::show, labels::replace))
        .routes(routes!(labels::change))
        .routes(routes!(views::list, views::create))
        .routes(routes!(views::remove))
        .routes(routes!(configs::list, configs::create))
        .routes(routes!(configs::import))
        .routes(routes!(drafts::check_draft))
        .routes(routes!(drafts::diff_drafts))
        .routes(routes!(configs::show, configs::change, configs::remove))
        .routes(routes!(configs::revisions, configs::add_revision))
        .routes(routes!(configs::show_revision))
        .routes(routes!(configs::diff_revisions))
        .routes(routes!(assignments::list, assignments::create))
        .routes(routes!(reach::preview))
        .routes(routes!(assignments::show, assignments::change, assignments::remove))
        .routes(routes!(assignments::set_revision))
        .routes(routes!(rollouts::pause))
        .routes(routes!(rollouts::resume))
        .routes(routes!(rollouts::abort))
        .routes(routes!(reach::agents))
        .routes(routes!(overrides::pin, overrides::unpin))
        .routes(routes!(openapi::show))
        .merge(hosting())
        .layer(middleware::from_fn(in_time));
    timed.routes(routes!(event_stream::follow)).layer(DefaultBodyLimit::max(MAX_BODY))
}

/// Who may do what, and who did.
fn access() -> OpenApiRouter<Context> {
    OpenApiRouter::new()
        .routes(routes!(session::log_in, session::show, session::log_out))
        .routes(routes!(session::change_password))
        .routes(routes!(users::list, users::create))
        .routes(routes!(users::show, users::change, users::delete))
        .routes(routes!(api_tokens::list, api_tokens::create))
        .routes(routes!(api_tokens::revoke))
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::revoke))
        .routes(routes!(audit::list))
        .routes(routes!(audit::export))
}

/// Hosts and what runs on them.
fn hosting() -> OpenApiRouter<Context> {
    OpenApiRouter::new()
        .routes(routes!(hosts::list))
        .routes(routes!(hosts::show, hosts::change, hosts::remove))
        .routes(routes!(hosts::log))
        .routes(routes!(hosts::tokens, hosts::create_token))
        .routes(routes!(hosts::revoke_token))
        .routes(routes!(projects::list))
        .routes(routes!(projects::show, projects::remove))
        .routes(routes!(projects::plan))
        .routes(routes!(projects::deploy))
        .routes(routes!(projects::deployments))
        .routes(routes!(projects::show_deployment))
        .routes(routes!(projects::abort))
        .routes(routes!(services::list))
        .routes(routes!(services::show, services::remove))
        .routes(routes!(services::releases))
        .routes(routes!(services::roll_back))
        .routes(routes!(services::scale))
        .routes(routes!(service_logs::show))
        .routes(routes!(project_files::list))
        .routes(routes!(project_files::set, project_files::remove))
        .routes(routes!(project_files::registries, project_files::set_registry))
        .routes(routes!(project_files::remove_registry))
}

/// Where machines become hosts and hosts connect.
fn host_door() -> Router<Context> {
    Router::new()
        .route(host_proto::join::JOIN_PATH, post(host_door::join))
        .route(host_proto::join::CONNECT_PATH, get(host_door::connect))
        .route(INSTALL_PATH, get(host_door::script))
        .route("/api/agent/v1/binary/{arch}", get(host_door::binary))
}

/// The API's router, and the document that describes it.
fn api() -> (Router<Context>, OpenApi) {
    let whole = OpenApiRouter::with_openapi(openapi::frame()).nest(openapi::BASE, resources());
    let (router, document) = whole.split_for_parts();
    (router.method_not_allowed_fallback(method_not_allowed), openapi::complete(document))
}

/// What `GET /api/v1/openapi.json` answers.
#[cfg(test)]
pub(super) fn document() -> OpenApi {
    api().1
}

/// API and console.
pub(crate) fn router(context: Context) -> Router {
    // Compressing a stream of events or of lines would hold them back.
    let lines = NotForContentType::const_new("application/x-ndjson");
    let worth_it = DefaultPredicate::new().and(NotForContentType::SSE).and(lines);
    let (api, document) = api();
    api.layer(middleware::from_fn_with_state(context.clone(), idempotency::once))
        .layer(middleware::from_fn(preconditions::gate))
        .layer(Extension(preconditions::Versioned::of(&document)))
        .layer(Extension(openapi::Text::of(&document)))
        .merge(host_door())
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(metrics::show))
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(console::serve)
        .layer(CompressionLayer::new().compress_when(worth_it))
        .layer(middleware::from_fn(headers::secure))
        .with_state(context)
}

async fn method_not_allowed() -> ApiError {
    ApiError::method_not_allowed()
}

async fn in_time(request: Request, next: Next) -> Response {
    match tokio::time::timeout(TIMEOUT, next.run(request)).await {
        Ok(response) => response,
        Err(_) => ApiError::unavailable("the answer took too long", Duration::from_secs(5)).into_response(),
    }
}
