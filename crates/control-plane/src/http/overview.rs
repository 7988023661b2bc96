//! /api/v1/overview: the server and its fleet in a few figures.

use api::assignments::Assignment;
use api::overview::{Failure, Overview, VersionCount};
use axum::Json;
use axum::extract::State;
use model::AssignmentState;

use super::caller::Caller;
use super::config_json;
use super::context::{About, Context};
use super::problem::ApiError;
use crate::clock;
use crate::configs::FailureGroup;

/// Shows the server and its fleet in a few figures.
#[utoipa::path(get, path = "/overview", operation_id = "show_overview", tag = "server",
    responses((status = OK, description = "The figures.", body = Overview)))]
pub(super) async fn show(State(context): State<Context>, _: Caller) -> Result<Json<Overview>, ApiError> {
    let About {
        version,
        restored_at,
        ca_fingerprint,
        opamp_endpoint,
        public_url,
        secure: _,
        authority_pem: _,
    } = context.about.clone();
    // Nearly each goes through all agents, and the store reads on several threads.
    let (agents, config, versions, rollouts) = tokio::try_join!(
        context.fleet.counts(),
        context.fleet.config_counts(),
        context.store.version_counts(20),
        async { Ok(rollouts(&context).await) },
    )?;
    Ok(Json(Overview {
        version,
        uptime_seconds: context.started.elapsed().as_secs(),
        agents,
        ca_fingerprint,
        opamp_endpoint,
        public_url,
        restored_at,
        config,
        rollouts: rollouts?,
        versions: versions.into_iter().map(version_count).collect(),
        failures: context.configs.failures.groups(clock::now(), 10).into_iter().map(failure).collect(),
    }))
}

/// The assignments that are on their way.
async fn rollouts(context: &Context) -> Result<Vec<Assignment>, ApiError> {
    let plan = context.configs.plan();
    let is_open = |state| !matches!(state, AssignmentState::Done | AssignmentState::Aborted);
    let open: Vec<_> = plan.assignments().iter().filter(|one| is_open(one.state)).collect();
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let figures = config_json::Figures::of(context, &plan, open.iter().copied()).await?;
    let outranked = context.configs.outranked(&plan).await?;
    let json = |one: &model::Assignment| {
        config_json::assignment(&figures, one, outranked.get(&one.id).copied().unwrap_or(0))
    };
    Ok(open.into_iter().map(json).collect())
}

fn version_count(count: store::VersionCount) -> VersionCount {
    let store::VersionCount { name, version, agents } = count;
    VersionCount { name, version, agents }
}

fn failure(group: FailureGroup) -> Failure {
    let FailureGroup { reason, agents, example } = group;
    Failure { error: reason, agents, example: example.to_string() }
}
