//! /api/v1/overview: the server and its fleet in a few figures; and whether the server is well.

use api::overview::{ConfigCounts, Overview};
use axum::Json;
use axum::extract::State;

use super::caller::Caller;
use super::context::{About, Context};
use super::problem::ApiError;

/// Shows the server and its fleet in a few figures.
#[utoipa::path(get, path = "/overview", operation_id = "show_overview", tag = "server",
    responses((status = OK, description = "The figures.", body = Overview)))]
pub(super) async fn show(State(context): State<Context>, _: Caller) -> Result<Json<Overview>, ApiError> {
    let About { version, ca_fingerprint, opamp_endpoint, public_url, secure: _ } = context.about.clone();
    Ok(Json(Overview {
        version,
        uptime_seconds: context.started.elapsed().as_secs(),
        agents: context.fleet.counts().await?,
        ca_fingerprint,
        opamp_endpoint,
        public_url,
        config: ConfigCounts::default(),
        rollouts: Vec::new(),
        versions: Vec::new(),
        failures: Vec::new(),
    }))
}

/// `GET /healthz`: the process lives.
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: the process can do its work, which needs the database.
pub(super) async fn readyz(State(context): State<Context>) -> Result<&'static str, ApiError> {
    context.store.setting("ready").await?;
    if context.server.handler().outgoing.is_failing() {
        let wait = std::time::Duration::from_secs(5);
        return Err(ApiError::unavailable("the database takes no writes", wait));
    }
    Ok("ready\n")
}
