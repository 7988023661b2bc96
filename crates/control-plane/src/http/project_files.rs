//! Secrets of projects and credentials for registries: contents come in and never go out again.

use api::services::{Registry, RegistryList, Secret as SecretJson, SecretList, SetRegistry, SetSecret};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use host_proto::id::ProjectId;
use model::Role;
use model::hosting::{FileKind, RegistryCredential};
use model::service::is_registry;

use super::caller::Caller;
use super::context::Context;
use super::problem::ApiError;
use super::projects::{find, project_name};
use super::request::{Body, LargeBody, PathPart, PathParts};
use crate::clock::{self, rfc3339};
use crate::services::allocate::{random, unsigned};
use crate::services::files::{Content, MAX_FILE, registry_sealed_as};

/// Lists the secrets of a project, without their contents.
#[utoipa::path(get, path = "/projects/{project}/secrets", operation_id = "list_secrets", tag = "services",
    params(("project" = String, Path, description = "The project's name.")),
    responses((status = OK, description = "By name.", body = SecretList)))]
pub(super) async fn list(
    State(context): State<Context>,
    _: Caller,
    PathPart(project): PathPart,
) -> Result<Json<SecretList>, ApiError> {
    let rows = find(&context, &project).await?;
    let files = context.store.files_of(rows.project.id.clone()).await?;
    let items = files.into_iter().filter(|file| file.kind == FileKind::Secret).map(|file| {
        let uses = |service: &&model::hosting::Service| {
            let release = service.current.as_ref().and_then(|id| rows.releases.get(id));
            release.is_some_and(|it| it.files.values().any(|id| *id == file.id))
        };
        SecretJson {
            used_by: rows.services.iter().filter(uses).map(|it| it.name.clone()).collect(),
            name: file.name.clone(),
            version: file.number,
            size_bytes: file.size_bytes,
            created_by: file.created_by.clone(),
            created_at: rfc3339(file.created_at),
        }
    });
    Ok(Json(SecretList { items: items.collect() }))
}

/// Sets a secret of a project; services that run get it with their next deployment. For operators.
#[utoipa::path(put, path = "/projects/{project}/secrets/{name}", operation_id = "set_secret", tag = "services",
    request_body = SetSecret,
    params(("project" = String, Path, description = "The project's name; it need not be deployed yet."),
        ("name" = String, Path, description = "The secret's name.")),
    responses((status = NO_CONTENT, description = "It is set.")))]
pub(super) async fn set(
    State(context): State<Context>,
    caller: Caller,
    PathParts((project, name)): PathParts<(String, String)>,
    LargeBody(body): LargeBody<SetSecret>,
) -> Result<StatusCode, ApiError> {
    caller.require(Role::Operator)?;
    let project = project_name(&project)?;
    let field = |text: String| ApiError::unprocessable(Some("content".to_owned()), text);
    if !model::service::is_name(&name) {
        let text = "a secret's name has small letters, digits, _ and - inside, and at most 55 characters";
        return Err(ApiError::parameter("name", text));
    }
    let bytes = STANDARD.decode(&body.content).map_err(|_| field("content must be base64".to_owned()))?;
    if bytes.len() > MAX_FILE {
        return Err(field(format!("a secret has at most {MAX_FILE} bytes")));
    }
    let now = clock::now();
    let id = ProjectId::generate(unsigned(now), random()?);
    let id = context.store.reserve_project(id, project.clone(), now).await?;
    let author = caller.name();
    let content =
        Content { project: &id, kind: FileKind::Secret, name: &name, bytes: &bytes, author: &author };
    let entry = caller.entry("secret.set", format!("secret/{project}/{name}"));
    context.services.keep(content, entry).await.map_err(|error| ApiError::internal(&error))?;
    context.hub.projects_changed([project]);
    Ok(StatusCode::NO_CONTENT)
}

/// Removes a secret; replicas that have it keep it until they are replaced. For operators.
#[utoipa::path(delete, path = "/projects/{project}/secrets/{name}", operation_id = "remove_secret", tag = "services",
    params(("project" = String, Path, description = "The project's name."),
        ("name" = String, Path, description = "The secret's name.")),
    responses((status = NO_CONTENT, description = "New deployments cannot name it any more.")))]
pub(super) async fn remove(
    State(context): State<Context>,
    caller: Caller,
    PathParts((project, name)): PathParts<(String, String)>,
) -> Result<StatusCode, ApiError> {
    caller.require(Role::Operator)?;
    let rows = find(&context, &project).await?;
    let entry = caller.entry("secret.remove", format!("secret/{project}/{name}"));
    let removed = context
        .store
        .remove_file(rows.project.id, FileKind::Secret, name.clone(), clock::now(), entry)
        .await?;
    if !removed {
        return Err(ApiError::not_found(format!("there is no secret {project}/{name}")));
    }
    context.hub.projects_changed([project]);
    Ok(StatusCode::NO_CONTENT)
}

/// Lists credentials for registries, without their passwords.
#[utoipa::path(get, path = "/registries", operation_id = "list_registries", tag = "services",
    responses((status = OK, description = "By registry.", body = RegistryList)))]
pub(super) async fn registries(
    State(context): State<Context>,
    _: Caller,
) -> Result<Json<RegistryList>, ApiError> {
    let all = context.store.registries().await?;
    let items = all.into_iter().map(|(credential, _)| Registry {
        registry: credential.registry,
        username: credential.username,
        created_by: credential.created_by,
        created_at: rfc3339(credential.created_at),
    });
    Ok(Json(RegistryList { items: items.collect() }))
}

/// Sets the credential for a registry. For administrators.
#[utoipa::path(put, path = "/registries", operation_id = "set_registry", tag = "services",
    request_body = SetRegistry, responses((status = NO_CONTENT, description = "Hosts pull with it from now on.")))]
pub(super) async fn set_registry(
    State(context): State<Context>,
    caller: Caller,
    Body(body): Body<SetRegistry>,
) -> Result<StatusCode, ApiError> {
    caller.require(Role::Admin)?;
    let SetRegistry { registry, username, password } = body;
    if registry.len() > 255 || !is_registry(&registry) {
        let text = "registry is a host name with a port where it needs one, such as registry.example:5000";
        return Err(ApiError::unprocessable(Some("registry".to_owned()), text));
    }
    if username.is_empty() || username.len() > 255 || username.chars().any(char::is_control) {
        let text = "username must have 1 to 255 characters that can be seen";
        return Err(ApiError::unprocessable(Some("username".to_owned()), text));
    }
    if password.is_empty() {
        let text = "the password is empty: a registry that anybody may read from needs no credential";
        return Err(ApiError::unprocessable(Some("password".to_owned()), text));
    }
    let sealed = context.sealer.seal(&registry_sealed_as(&registry), password.as_bytes());
    let sealed = sealed.map_err(|error| ApiError::internal(&error))?;
    let entry = caller.entry("registry.set", format!("registry/{registry}"));
    let credential =
        RegistryCredential { registry, username, created_by: caller.name(), created_at: clock::now() };
    context.store.put_registry(credential, sealed, entry).await?;
    context.services.live.connected().iter().for_each(|host| context.services.live.state_changed(host));
    Ok(StatusCode::NO_CONTENT)
}

/// Removes the credential for a registry. For administrators.
#[utoipa::path(delete, path = "/registries/{registry}", operation_id = "remove_registry", tag = "services",
    params(("registry" = String, Path, description = "Host and port.")),
    responses((status = NO_CONTENT, description = "Hosts pull without it from now on.")))]
pub(super) async fn remove_registry(
    State(context): State<Context>,
    caller: Caller,
    PathPart(registry): PathPart,
) -> Result<StatusCode, ApiError> {
    caller.require(Role::Admin)?;
    let entry = caller.entry("registry.remove", format!("registry/{registry}"));
    if !context.store.remove_registry(registry.clone(), entry).await? {
        return Err(ApiError::not_found(format!("there is no credential for {registry}")));
    }
    context.services.live.connected().iter().for_each(|host| context.services.live.state_changed(host));
    Ok(StatusCode::NO_CONTENT)
}
