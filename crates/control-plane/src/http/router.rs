//! All routes in one place.

use std::time::Duration;

use axum::extract::DefaultBodyLimit;
use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
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
    agents, api_tokens, assignments, audit, configs, console, event_stream, headers, health, idempotency,
    labels, metrics, openapi, overview, session, tokens, users, views,
};

/// No answer takes longer, except a stream.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The resources of the API, each with its description. A route that is not added here by `routes!` would miss in the
/// document, and a test says so.
fn resources() -> OpenApiRouter<Context> {
    let timed = OpenApiRouter::new()
        .merge(access())
        .routes(routes!(overview::show))
        .routes(routes!(agents::list))
        .routes(routes!(agents::show, agents::forget))
        .routes(routes!(labels::replace))
        .routes(routes!(labels::change))
        .routes(routes!(views::list, views::create))
        .routes(routes!(views::remove))
        .routes(routes!(configs::list, configs::create))
        .routes(routes!(configs::import))
        .routes(routes!(configs::check_draft))
        .routes(routes!(configs::diff_drafts))
        .routes(routes!(configs::show, configs::change, configs::remove))
        .routes(routes!(configs::revisions, configs::add_revision))
        .routes(routes!(configs::show_revision))
        .routes(routes!(configs::diff_revisions))
        .routes(routes!(assignments::list, assignments::create))
        .routes(routes!(assignments::preview))
        .routes(routes!(assignments::show, assignments::change, assignments::remove))
        .routes(routes!(assignments::set_revision))
        .routes(routes!(assignments::pause))
        .routes(routes!(assignments::resume))
        .routes(routes!(assignments::abort))
        .routes(routes!(assignments::agents))
        .routes(routes!(assignments::pin, assignments::unpin))
        .routes(routes!(openapi::show))
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
    // Compressing a stream of events would hold them back.
    let worth_it = DefaultPredicate::new().and(NotForContentType::SSE);
    let (api, document) = api();
    api.layer(middleware::from_fn_with_state(context.clone(), idempotency::once))
        .layer(Extension(openapi::Text::of(&document)))
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
