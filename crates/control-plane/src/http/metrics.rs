//! `GET /metrics`: the page for monitoring, with any role's token, or without one where `--public-metrics` says so.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::caller::Caller;
use super::context::Context;
use super::problem::ApiError;
use crate::metrics::{CONTENT_TYPE, Snapshot, Sources, write};

/// The page.
pub(super) async fn show(State(context): State<Context>, request: Request) -> Result<Response, ApiError> {
    if !context.public_metrics {
        let (mut parts, _) = request.into_parts();
        Caller::from_request_parts(&mut parts, &context).await?;
    }
    let sources = Sources {
        version: context.about.version.clone(),
        event_streams: context.streams.count() as u64,
        certificate_ends: context.certificates.as_ref().and_then(|source| source.ends()),
        uptime: context.started.elapsed(),
    };
    let snapshot = Snapshot::take(&context.store, &context.server, &context.services, sources).await?;
    let page = write(snapshot).map_err(|error| ApiError::internal(&error))?;
    let mut response = page.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
