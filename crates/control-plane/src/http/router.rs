//! All routes in one place.

use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, NotForContentType, Predicate};

use super::context::Context;
use super::problem::ApiError;
use super::request::MAX_BODY;
use super::{agents, console, event_stream, headers, overview, session, tokens};

/// No answer takes longer, except a stream.
const TIMEOUT: Duration = Duration::from_secs(60);

/// API and console.
pub(crate) fn router(context: Context) -> Router {
    let api = Router::new()
        .route("/session", post(session::log_in).get(session::show).delete(session::log_out))
        .route("/overview", get(overview::show))
        .route("/agents", get(agents::list))
        .route("/agents/{uid}", get(agents::show).delete(agents::forget))
        .route("/tokens", get(tokens::list).post(tokens::create))
        .route("/tokens/{id}", delete(tokens::revoke))
        .layer(middleware::from_fn(in_time))
        .route("/events", get(event_stream::follow))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .method_not_allowed_fallback(method_not_allowed);
    // Compressing a stream of events would hold them back.
    let worth_it = DefaultPredicate::new().and(NotForContentType::SSE);
    Router::new()
        .nest("/api/v1", api)
        .route("/healthz", get(overview::healthz))
        .route("/readyz", get(overview::readyz))
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
