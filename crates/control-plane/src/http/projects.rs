//! /api/v1/projects and /api/v1/deployments: what is deployed, and how that goes.

use api::services::{
    Deploy, DeployedService, Deployment as DeploymentJson, DeploymentList, Plan, Project as ProjectJson,
    ProjectList, Volume,
};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use model::Role;
use model::hosting::{Deployment, DeploymentId, DeploymentState, ItemOutcome, Phase, ProjectWorld, Replica};

use super::caller::Caller;
use super::context::Context;
use super::problem::ApiError;
use super::request::{HugeBody, Parameters, PathPart};
use super::service_json;
use crate::clock::rfc3339;
use crate::services::deploy::{DeployError, Wish};

/// Lists projects with their services.
#[utoipa::path(get, path = "/projects", operation_id = "list_projects", tag = "services",
    responses((status = OK, description = "Every project, by name.", body = ProjectList)))]
pub(super) async fn list(State(context): State<Context>, _: Caller) -> Result<Json<ProjectList>, ApiError> {
    let hosts = service_json::hosts(&context).await?;
    let mut items = Vec::new();
    for project in context.store.projects().await? {
        if let Some(world) = context.store.project(project.id.as_str()).await? {
            items.push(told(&context, world, &hosts).await?);
        }
    }
    Ok(Json(ProjectList { items }))
}

/// Shows a project.
#[utoipa::path(get, path = "/projects/{project}", operation_id = "show_project", tag = "services",
    params(("project" = String, Path, description = "The project's name.")),
    responses((status = OK, description = "The project.", body = ProjectJson)))]
pub(super) async fn show(
    State(context): State<Context>,
    _: Caller,
    PathPart(name): PathPart,
) -> Result<Json<ProjectJson>, ApiError> {
    let hosts = service_json::hosts(&context).await?;
    let world = find(&context, &name).await?;
    Ok(Json(told(&context, world, &hosts).await?))
}

/// Works out what a deployment would do. Nothing changes.
#[utoipa::path(post, path = "/projects/{project}/plan", operation_id = "plan_deployment", tag = "services",
    request_body = Deploy, params(("project" = String, Path, description = "The project's name.")),
    responses((status = OK, description = "What would happen.", body = Plan)))]
pub(super) async fn plan(
    State(context): State<Context>,
    _: Caller,
    PathPart(name): PathPart,
    HugeBody(body): HugeBody<Deploy>,
) -> Result<Json<Plan>, ApiError> {
    let name = project_name(&name)?;
    let wish = Wish::read(&name, body)?;
    match context.services.plan(&name, &wish).await {
        Ok(outline) => Ok(Json(outline.told())),
        // What cannot be worked out any further is a plan that would not begin.
        Err(DeployError::Refused(refusals)) => Ok(Json(Plan {
            project: name,
            services: Vec::new(),
            warnings: Vec::new(),
            refusals,
            text: Vec::new(),
        })),
        Err(error) => Err(error.into()),
    }
}

/// Deploys a project. For operators.
#[utoipa::path(post, path = "/projects/{project}/deployments", operation_id = "deploy", tag = "services",
    request_body = Deploy, params(("project" = String, Path, description = "The project's name.")),
    responses((status = CREATED, description = "It has begun.", body = DeploymentJson),
        (status = NO_CONTENT, description = "Everything is as it should be already.")))]
pub(super) async fn deploy(
    State(context): State<Context>,
    caller: Caller,
    PathPart(name): PathPart,
    HugeBody(body): HugeBody<Deploy>,
) -> Result<Response, ApiError> {
    caller.require(Role::Operator)?;
    let name = project_name(&name)?;
    let wish = Wish::read(&name, body)?;
    let entry = caller.entry("project.deploy", format!("project/{name}"));
    let (_, deployment) = context.services.deploy(&name, &wish, &caller.name(), &entry).await?;
    begun(&context, deployment).await
}

/// Removes a project: its services stop; its volumes are removed only with `volumes=true`. For operators; for administrators
/// with volumes.
#[utoipa::path(delete, path = "/projects/{project}", operation_id = "remove_project", tag = "services",
    params(("project" = String, Path, description = "The project's name."),
        ("volumes" = Option<bool>, Query, description = "Remove its volumes with all that is in them.")),
    responses((status = CREATED, description = "Its services stop; the deployment that does that.",
            body = DeploymentJson),
        (status = NO_CONTENT, description = "It is gone.")))]
pub(super) async fn remove(
    State(context): State<Context>,
    caller: Caller,
    PathPart(name): PathPart,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    let volumes =
        parameters.only(&["volumes"])?.parse("volumes", "true or false", |text| text.parse().ok())?;
    let volumes: bool = volumes.unwrap_or(false);
    caller.require(if volumes { Role::Admin } else { Role::Operator })?;
    let world = find(&context, &name).await?;
    let entry = caller.entry("project.remove", format!("project/{name}"));
    if volumes {
        context.services.doom_volumes(&world, &entry).await?;
    }
    if let Some(going) = world.deployment.as_ref().filter(|it| removes(it, &world)) {
        return begun(&context, Some(going.clone())).await;
    }
    let deployment = context.services.begin_removal(&name, &caller.name(), &entry).await?;
    if deployment.is_none() && world.replicas.is_empty() && world.volumes.is_empty() {
        context.store.remove_project(world.project.id, entry).await?;
        context.hub.projects_changed([name]);
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    begun(&context, deployment).await
}

/// Whether a deployment removes everything already.
fn removes(deployment: &Deployment, world: &ProjectWorld) -> bool {
    deployment.state == DeploymentState::Running
        && world.services.iter().all(|service| world.wanted(service).release.is_none())
}

/// Lists deployments.
#[utoipa::path(get, path = "/deployments", operation_id = "list_deployments", tag = "services",
    params(("project" = Option<String>, Query, description = "Only of this project."),
        ("before" = Option<String>, Query, description = "Only older ones than this number."),
        ("limit" = Option<u32>, Query, description = "At most so many, 1 to 500.")),
    responses((status = OK, description = "The newest first.", body = DeploymentList)))]
pub(super) async fn deployments(
    State(context): State<Context>,
    _: Caller,
    parameters: Parameters,
) -> Result<Json<DeploymentList>, ApiError> {
    let parameters = parameters.only(&["project", "before", "limit"])?;
    let limit = parameters.limit()?;
    let before = parameters.parse("before", "the number of a deployment", |text| text.parse().ok())?;
    let project = match parameters.get("project") {
        Some(name) => Some(find(&context, name).await?.project.id),
        None => None,
    };
    let found = context.store.deployments(project, before.unwrap_or(i64::MAX), limit).await?;
    let full = found.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
    let next = found.last().filter(|_| full).map(|it| it.id.0.to_string());
    let mut items = Vec::new();
    for deployment in found {
        items.push(told_deployment(&context, &deployment).await?);
    }
    Ok(Json(DeploymentList { items, next }))
}

/// Shows a deployment.
#[utoipa::path(get, path = "/deployments/{id}", operation_id = "show_deployment", tag = "services",
    params(("id" = String, Path, description = "The deployment's number.")),
    responses((status = OK, description = "How it goes.", body = DeploymentJson)))]
pub(super) async fn show_deployment(
    State(context): State<Context>,
    _: Caller,
    PathPart(id): PathPart,
) -> Result<Json<DeploymentJson>, ApiError> {
    let deployment = find_deployment(&context, &id).await?;
    Ok(Json(told_deployment(&context, &deployment).await?))
}

/// Stops a deployment that is under way: the services go back to what they ran. For operators.
#[utoipa::path(post, path = "/deployments/{id}/abort", operation_id = "abort_deployment", tag = "services",
    params(("id" = String, Path, description = "The deployment's number.")),
    responses((status = OK, description = "It goes back.", body = DeploymentJson)))]
pub(super) async fn abort(
    State(context): State<Context>,
    caller: Caller,
    PathPart(id): PathPart,
) -> Result<Json<DeploymentJson>, ApiError> {
    caller.require(Role::Operator)?;
    let deployment = find_deployment(&context, &id).await?;
    let entry = caller.entry("deployment.abort", format!("deployment/{id}"));
    let reason = format!("aborted by {}", caller.name());
    if !context.store.abort_deployment(deployment.id, reason, entry).await? {
        let state = deployment.state.as_str();
        return Err(ApiError::conflict(format!(
            "deployment {id} is {state}: only one that is running can be aborted"
        )));
    }
    context.services.look_at(deployment.project_id);
    let deployment = find_deployment(&context, &id).await?;
    Ok(Json(told_deployment(&context, &deployment).await?))
}

/// What a request that began a deployment answers.
pub(super) async fn begun(context: &Context, deployment: Option<Deployment>) -> Result<Response, ApiError> {
    match deployment {
        Some(deployment) => {
            let told = told_deployment(context, &deployment).await?;
            Ok((StatusCode::CREATED, Json(told)).into_response())
        }
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

pub(super) fn project_name(name: &str) -> Result<String, ApiError> {
    if model::service::is_name(name) {
        return Ok(name.to_owned());
    }
    let text = "a project's name has small letters, digits, _ and - inside, and at most 55 characters";
    Err(ApiError::parameter("project", text))
}

pub(super) async fn find(context: &Context, name: &str) -> Result<ProjectWorld, ApiError> {
    let found = context.store.project(name).await?;
    found.ok_or_else(|| ApiError::not_found(format!("there is no project {name}")))
}

async fn find_deployment(context: &Context, id: &str) -> Result<Deployment, ApiError> {
    let number: i64 =
        id.parse().map_err(|_| ApiError::parameter("id", "the id of a deployment is a number"))?;
    let found = context.store.deployment(DeploymentId(number)).await?;
    found.ok_or_else(|| ApiError::not_found(format!("there is no deployment {number}")))
}

async fn told(
    context: &Context,
    world: ProjectWorld,
    hosts: &service_json::Hosts,
) -> Result<ProjectJson, ApiError> {
    let used = |name: &str| {
        world.services.iter().filter_map(|it| world.wanted(it).release).any(|release| {
            release.spec.container.mounts.iter().any(|mount| {
                matches!(&mount.source, model::service::MountSource::Volume { volume, .. } if volume == name)
            })
        })
    };
    let volumes = world.volumes.iter().map(|it| Volume {
        name: it.spec.name.clone(),
        host: service_json::host_name(hosts, &it.host_id),
        used: used(&it.spec.name),
    });
    let deployment = match &world.deployment {
        Some(deployment) => Some(deployment_json(context, deployment, &world).await?),
        None => None,
    };
    Ok(ProjectJson {
        name: world.project.name.clone(),
        services: world.services.iter().map(|it| service_json::service(context, &world, it, hosts)).collect(),
        deployment,
        volumes: volumes.collect(),
        created_at: rfc3339(world.project.created_at),
    })
}

async fn told_deployment(context: &Context, deployment: &Deployment) -> Result<DeploymentJson, ApiError> {
    let world = find(context, deployment.project_id.as_str()).await?;
    deployment_json(context, deployment, &world).await
}

async fn deployment_json(
    context: &Context,
    deployment: &Deployment,
    world: &ProjectWorld,
) -> Result<DeploymentJson, ApiError> {
    let mut services = Vec::new();
    for item in &deployment.items {
        let releases = context.store.releases(item.service_id.clone(), 1000).await?;
        let number = |id: &Option<host_proto::id::ReleaseId>| {
            let id = id.as_ref()?;
            releases.iter().find(|it| it.id == *id).map(|it| it.number)
        };
        let target = item.to.as_ref().and_then(|id| releases.iter().find(|it| it.id == *id));
        let (new, old): (Vec<_>, Vec<_>) = world.replicas_of(&item.service_id).partition(|it| {
            let hash = world.release_of(it).map(|release| &release.container_hash);
            hash.is_some() && hash == target.map(|release| &release.container_hash)
        });
        let working = |all: &[&Replica]| {
            let working = all.iter().filter(|it| it.phase == Phase::Serving && it.is_ready());
            u32::try_from(working.count()).unwrap_or(u32::MAX)
        };
        let (state, reason) = match &item.outcome {
            ItemOutcome::Waiting => ("waiting", None),
            ItemOutcome::Done => ("done", None),
            ItemOutcome::Failed(why) => ("failed", Some(why.clone())),
        };
        let waits =
            (!deployment.state.is_over()).then(|| context.services.waits_for(&item.service_id)).flatten();
        // Why it takes its time, such as a registry that does not answer; it may still come right.
        let trouble =
            new.iter().filter(|it| !it.is_ready()).find_map(|it| it.report.as_ref()?.last_error.as_deref());
        let waits = waits.map(|what| match trouble {
            Some(trouble) => format!("{what}: {trouble}"),
            None => what,
        });
        services.push(DeployedService {
            name: item.service_name.clone(),
            from: number(&item.from),
            to: number(&item.to),
            state: state.to_owned(),
            reason,
            waits_for: waits,
            ready: working(&new),
            old_ready: working(&old),
            wanted: target.map_or(0, |release| release.spec.scale.count()),
        });
    }
    Ok(DeploymentJson {
        id: deployment.id.0.to_string(),
        project: world.project.name.clone(),
        state: deployment.state.as_str().to_owned(),
        reason: deployment.reason.clone(),
        services,
        created_by: deployment.created_by.clone(),
        message: deployment.message.clone(),
        created_at: rfc3339(deployment.created_at),
        finished_at: deployment.finished_at.map(rfc3339),
    })
}
