//! /api/v1/services and /api/v1/replicas.

use api::services::{
    Release as ReleaseJson, ReleaseList, Rollback, Scale, Service as ServiceJson, ServiceList,
};
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use model::Role;
use model::hosting::{ProjectWorld, Release};
use scheduler::words;

use super::caller::Caller;
use super::context::Context;
use super::problem::ApiError;
use super::projects::{begun, find};
use super::request::{Body, Parameters, PathParts};
use super::service_json;
use crate::clock::rfc3339;

/// So many releases are shown.
const RELEASES: u32 = 200;

/// Lists services with their replicas.
#[utoipa::path(get, path = "/services", operation_id = "list_services", tag = "services",
    params(("project" = Option<String>, Query, description = "Only of this project.")),
    responses((status = OK, description = "By project and name.", body = ServiceList)))]
pub(super) async fn list(
    State(context): State<Context>,
    _: Caller,
    parameters: Parameters,
) -> Result<Json<ServiceList>, ApiError> {
    let parameters = parameters.only(&["project"])?;
    let hosts = service_json::hosts(&context).await?;
    let projects = match parameters.get("project") {
        Some(name) => vec![find(&context, name).await?.project],
        None => context.store.projects().await?,
    };
    let mut items = Vec::new();
    for project in projects {
        let Some(world) = context.store.project(project.id.as_str()).await? else { continue };
        items.extend(world.services.iter().map(|it| service_json::service(&context, &world, it, &hosts)));
    }
    Ok(Json(ServiceList { items }))
}

/// Shows a service.
#[utoipa::path(get, path = "/services/{project}/{service}", operation_id = "show_service", tag = "services",
    params(("project" = String, Path, description = "The project's name."),
        ("service" = String, Path, description = "The service's name.")),
    responses((status = OK, description = "The service.", body = ServiceJson)))]
pub(super) async fn show(
    State(context): State<Context>,
    _: Caller,
    PathParts((project, name)): PathParts<(String, String)>,
) -> Result<Json<ServiceJson>, ApiError> {
    let hosts = service_json::hosts(&context).await?;
    let (world, service) = one(&context, &project, &name).await?;
    Ok(Json(service_json::service(&context, &world, &service, &hosts)))
}

/// Lists the releases of a service.
#[utoipa::path(get, path = "/services/{project}/{service}/releases", operation_id = "list_releases", tag = "services",
    params(("project" = String, Path, description = "The project's name."),
        ("service" = String, Path, description = "The service's name.")),
    responses((status = OK, description = "The newest first, at most 200.", body = ReleaseList)))]
pub(super) async fn releases(
    State(context): State<Context>,
    _: Caller,
    PathParts((project, name)): PathParts<(String, String)>,
) -> Result<Json<ReleaseList>, ApiError> {
    let (_, service) = one(&context, &project, &name).await?;
    let releases = context.store.releases(service.id.clone(), RELEASES).await?;
    let good = context.store.good_releases(service.id.clone()).await?;
    let replaced = context.store.replaced_releases(service.id.clone()).await?;
    let before = |release: &Release| {
        let id = replaced.get(&release.id)?;
        releases.iter().find(|it| it.id == *id)
    };
    let items = releases.iter().map(|release| ReleaseJson {
        number: release.number,
        image: release.spec.container.image.short(),
        current: service.current.as_ref() == Some(&release.id),
        served: good.contains(&release.id) && release.spec.scale.count() > 0,
        replicas: release.spec.scale.count(),
        author: release.author.clone(),
        message: release.message.clone(),
        created_at: rfc3339(release.created_at),
        changes: before(release)
            .map(|before| words::changes(&before.spec, &release.spec))
            .unwrap_or_default(),
    });
    Ok(Json(ReleaseList { items: items.collect() }))
}

/// Goes to an older release. For operators.
#[utoipa::path(post, path = "/services/{project}/{service}/rollback", operation_id = "roll_back_service",
    tag = "services", request_body = Rollback,
    params(("project" = String, Path, description = "The project's name."),
        ("service" = String, Path, description = "The service's name.")),
    responses((status = CREATED, description = "It has begun.", body = api::services::Deployment),
        (status = NO_CONTENT, description = "It runs that release already.")))]
pub(super) async fn roll_back(
    State(context): State<Context>,
    caller: Caller,
    PathParts((project, name)): PathParts<(String, String)>,
    Body(body): Body<Rollback>,
) -> Result<Response, ApiError> {
    caller.require(Role::Operator)?;
    let outline = context.services.plan_rollback(&project, &name, body.to).await?;
    let entry = caller.entry("service.rollback", format!("service/{project}/{name}"));
    let message = if body.message.is_empty() { "roll back".to_owned() } else { body.message };
    let begun_now = context.services.begin_outlined(&outline, &caller.name(), &message, &entry).await?;
    begun(&context, begun_now).await
}

/// Sets how many replicas a service has. The next deployment of its files sets it to what they say. For operators.
#[utoipa::path(post, path = "/services/{project}/{service}/scale", operation_id = "scale_service", tag = "services",
    request_body = Scale,
    params(("project" = String, Path, description = "The project's name."),
        ("service" = String, Path, description = "The service's name.")),
    responses((status = CREATED, description = "It has begun.", body = api::services::Deployment),
        (status = NO_CONTENT, description = "It has that many already.")))]
pub(super) async fn scale(
    State(context): State<Context>,
    caller: Caller,
    PathParts((project, name)): PathParts<(String, String)>,
    Body(body): Body<Scale>,
) -> Result<Response, ApiError> {
    caller.require(Role::Operator)?;
    let outline = context.services.plan_scale(&project, &name, body.replicas).await?;
    let entry = caller.entry("service.scale", format!("service/{project}/{name}"));
    let message = format!("scale {name} to {}", body.replicas);
    let begun_now = context.services.begin_outlined(&outline, &caller.name(), &message, &entry).await?;
    begun(&context, begun_now).await
}

/// Removes a service; its volumes stay. For operators.
#[utoipa::path(delete, path = "/services/{project}/{service}", operation_id = "remove_service", tag = "services",
    params(("project" = String, Path, description = "The project's name."),
        ("service" = String, Path, description = "The service's name.")),
    responses((status = CREATED, description = "Its replicas stop.", body = api::services::Deployment)))]
pub(super) async fn remove(
    State(context): State<Context>,
    caller: Caller,
    PathParts((project, name)): PathParts<(String, String)>,
) -> Result<Response, ApiError> {
    caller.require(Role::Operator)?;
    let outline = context.services.plan_removal(&project, Some(&name)).await?;
    let entry = caller.entry("service.remove", format!("service/{project}/{name}"));
    let message = format!("remove {name}");
    let begun_now = context.services.begin_outlined(&outline, &caller.name(), &message, &entry).await?;
    begun(&context, begun_now).await
}

/// A service with all that belongs to its project.
pub(super) async fn one(
    context: &Context,
    project: &str,
    name: &str,
) -> Result<(ProjectWorld, model::hosting::Service), ApiError> {
    let world = find(context, project).await?;
    let service = world.service(name).cloned();
    let service =
        service.ok_or_else(|| ApiError::not_found(format!("there is no service {project}/{name}")))?;
    Ok((world, service))
}
