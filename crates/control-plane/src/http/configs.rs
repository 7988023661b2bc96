//! /api/v1/configs: configurations, their revisions and differences. What a configuration may hold is
//! `model::config`'s matter, files that are not kept are in [`super::drafts`], who gets it is in
//! [`super::assignments`].

use api::configs::{
    ConfigDetail, ConfigImport, ConfigPage, ConfigPatch, ConfigQuery, Diff, DiffQuery, File, NewConfig,
    NewFile, NewRevision, Revision, RevisionList,
};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use model::Role;
use model::config::{ConfigFiles, diff};
use model::redact::redact_file;
use opamp_proto::Part;
use opamp_proto::wire::{EffectiveConfig, Message as _};
use serde_json::json;
use store::{Added, Changed, ConfigRow, Seen, StoredFile};

use super::caller::Caller;
use super::config_json::{self, files_of};
use super::context::Context;
use super::drafts::{accepted, aside};
use super::problem::ApiError;
use super::request::{LargeBody, Parameters, PathPart, PathParts};
use super::version::{IfMatch, Tagged};
use crate::clock;

/// The longest message and description, in characters.
const MAX_TEXT: usize = 1000;

/// Lists configurations.
#[utoipa::path(get, path = "/configs", operation_id = "list_configs", tag = "configs", params(ConfigQuery),
    responses((status = OK, description = "A page of them, by name.", body = ConfigPage)))]
pub(super) async fn list(
    State(context): State<Context>,
    _: Caller,
    parameters: Parameters,
) -> Result<Json<ConfigPage>, ApiError> {
    let parameters = parameters.only(&["q", "limit", "cursor"])?;
    let limit = parameters.limit()?;
    let text = parameters.get("q").map(str::to_owned);
    let page = context.store.configs(text, parameters.get("cursor").map(str::to_owned), limit).await?;
    Ok(Json(ConfigPage {
        items: page.items.iter().map(config_json::summary).collect(),
        next_cursor: page.next,
        total: page.total,
    }))
}

/// Makes a configuration with its first revision. For operators.
#[utoipa::path(post, path = "/configs", operation_id = "create_config", tag = "configs", request_body = NewConfig,
    responses((status = CREATED, description = "It is there.", body = ConfigDetail)))]
pub(super) async fn create(
    State(context): State<Context>,
    caller: Caller,
    LargeBody(new): LargeBody<NewConfig>,
) -> Result<Response, ApiError> {
    caller.require(Role::Operator)?;
    let NewConfig { name, description, message, files } = new;
    let files = accepted(files)?;
    made(&context, &caller, "config.create", name, description, message, files).await
}

/// Makes a configuration of what an agent runs. For operators.
#[utoipa::path(post, path = "/configs/import", operation_id = "import_config", tag = "configs",
    request_body = ConfigImport,
    responses((status = CREATED, description = "It is there.", body = ConfigDetail)))]
pub(super) async fn import(
    State(context): State<Context>,
    caller: Caller,
    LargeBody(new): LargeBody<ConfigImport>,
) -> Result<Response, ApiError> {
    caller.require(Role::Operator)?;
    let ConfigImport { agent, name, message } = new;
    let uid = agent.parse().map_err(|error: opamp_proto::uid::InvalidUid| {
        ApiError::unprocessable(Some("agent".to_owned()), error.to_string())
    })?;
    let found = context.store.get_agent(uid).await?;
    let found = found.ok_or_else(|| ApiError::not_found(format!("there is no agent {uid}")))?;
    let effective = found.parts.get(Part::EffectiveConfig).cloned();
    let effective = effective.and_then(|bytes| EffectiveConfig::decode(bytes).ok());
    let files = effective.and_then(|config| config.config_map).unwrap_or_default().config_map;
    if files.is_empty() {
        return Err(ApiError::conflict("the agent has not reported an effective configuration"));
    }
    let text = |body: bytes::Bytes| String::from_utf8(body.to_vec());
    let mut taken = Vec::new();
    for (name, file) in files {
        let Ok(body) = text(file.body) else {
            return Err(ApiError::conflict(format!("the agent's file {name:?} is no text")));
        };
        let content_type = (!file.content_type.is_empty()).then_some(file.content_type);
        taken.push(NewFile { name, content_type, body });
    }
    let message = message.unwrap_or_else(|| format!("imported from agent {uid}"));
    made(&context, &caller, "config.import", name, None, Some(message), accepted(taken)?).await
}

async fn made(
    context: &Context,
    caller: &Caller,
    action: &'static str,
    name: String,
    description: Option<String>,
    message: Option<String>,
    files: ConfigFiles,
) -> Result<Response, ApiError> {
    let name = config_name(name)?;
    let description = text("description", description)?;
    let new = revision(caller, text("message", message)?, &files);
    let entry = caller.entry(action, format!("config/{name}"));
    let entry = entry.with(None, Some(json!({ "revision": 1, "hash": hex::encode(files.hash()) })));
    let row = context.store.create_config(&name, description, new, entry).await?;
    context.hub.configs_changed([name]);
    Ok((StatusCode::CREATED, Tagged(row.version, Json(config_json::detail(&row, &files)))).into_response())
}

/// Shows a configuration with the files of its last revision.
#[utoipa::path(get, path = "/configs/{name}", operation_id = "show_config", tag = "configs",
    params(("name" = String, Path, description = "The configuration's name.")),
    responses((status = OK, description = "The configuration.", body = ConfigDetail)))]
pub(super) async fn show(
    State(context): State<Context>,
    caller: Caller,
    PathPart(name): PathPart,
) -> Result<Response, ApiError> {
    let row = find(&context, &name).await?;
    let (_, files) = numbered(&context, &row, row.latest.number).await?;
    let mut detail = config_json::detail(&row, &files);
    mask_for(&caller, &mut detail.files);
    Ok(Tagged(row.version, Json(detail)).into_response())
}

/// Describes a configuration anew. For operators.
#[utoipa::path(patch, path = "/configs/{name}", operation_id = "change_config", tag = "configs",
    params(("name" = String, Path, description = "The configuration's name.")), request_body = ConfigPatch,
    responses((status = OK, description = "The configuration as it is now.", body = ConfigDetail)))]
pub(super) async fn change(
    State(context): State<Context>,
    caller: Caller,
    PathPart(name): PathPart,
    version: IfMatch,
    LargeBody(patch): LargeBody<ConfigPatch>,
) -> Result<Response, ApiError> {
    caller.require(Role::Operator)?;
    let description = text("description", patch.description)?;
    let entry = caller.entry("config.describe", format!("config/{name}"));
    let changed = context.store.describe_config(&name, description, version.0, entry).await?;
    let row = done(changed, &name)?;
    context.hub.configs_changed([name.clone()]);
    let (_, files) = numbered(&context, &row, row.latest.number).await?;
    Ok(Tagged(row.version, Json(config_json::detail(&row, &files))).into_response())
}

/// Removes a configuration that is not in use, with all its revisions. For operators.
#[utoipa::path(delete, path = "/configs/{name}", operation_id = "delete_config", tag = "configs",
    params(("name" = String, Path, description = "The configuration's name.")),
    responses((status = NO_CONTENT, description = "It is gone.")))]
pub(super) async fn remove(
    State(context): State<Context>,
    caller: Caller,
    PathPart(name): PathPart,
    version: IfMatch,
) -> Result<StatusCode, ApiError> {
    caller.require(Role::Operator)?;
    let entry = caller.entry("config.delete", format!("config/{name}"));
    done(context.store.delete_config(&name, version.0, entry).await?, &name)?;
    context.hub.configs_changed([name]);
    Ok(StatusCode::NO_CONTENT)
}

/// Lists the revisions of a configuration, the newest first.
#[utoipa::path(get, path = "/configs/{name}/revisions", operation_id = "list_revisions", tag = "configs",
    params(("name" = String, Path, description = "The configuration's name."),
        ("before" = Option<u32>, Query, description = "Only revisions with smaller numbers."),
        ("limit" = Option<u32>, Query, description = "1 to 500, 100 when absent.")),
    responses((status = OK, description = "Revisions.", body = RevisionList)))]
pub(super) async fn revisions(
    State(context): State<Context>,
    _: Caller,
    PathPart(name): PathPart,
    parameters: Parameters,
) -> Result<Json<RevisionList>, ApiError> {
    let parameters = parameters.only(&["before", "limit"])?;
    let before = parameters.parse("before", "the number of a revision", |text| text.parse().ok())?;
    let row = find(&context, &name).await?;
    let history = context.store.revisions(row.id, before, parameters.limit()?).await?;
    Ok(Json(RevisionList { items: history.into_iter().map(config_json::history).collect() }))
}

/// Adds a revision. For operators.
#[utoipa::path(post, path = "/configs/{name}/revisions", operation_id = "create_revision", tag = "configs",
    params(("name" = String, Path, description = "The configuration's name.")), request_body = NewRevision,
    responses((status = CREATED, description = "The revision.", body = Revision),
        (status = OK, description = "The last revision has the same files; none was made.", body = Revision)))]
pub(super) async fn add_revision(
    State(context): State<Context>,
    caller: Caller,
    PathPart(name): PathPart,
    IfMatch(versions): IfMatch,
    LargeBody(new): LargeBody<NewRevision>,
) -> Result<Response, ApiError> {
    caller.require(Role::Operator)?;
    let NewRevision { message, files, based_on } = new;
    let files = accepted(files)?;
    let new = revision(&caller, text("message", message)?, &files);
    let entry = caller.entry("config.revise", format!("config/{name}"));
    let added = context
        .store
        .add_revision(&name, Seen { revision: based_on, versions }, new, entry)
        .await?
        .ok_or_else(|| unknown(&name))?;
    let (status, row) = match added {
        Added::Revision(row) => (StatusCode::CREATED, row),
        Added::Unchanged(row) => (StatusCode::OK, row),
        Added::Outdated(latest) => {
            let number = latest.number;
            return Err(ApiError::outdated(format!(
                "revision {number} of {name} was made meanwhile by {}; look at it, then base yours on it",
                latest.author
            )));
        }
    };
    context.hub.configs_changed([name.clone()]);
    Ok((status, Json(config_json::revision(&name, row, &files))).into_response())
}

/// Shows a revision.
#[utoipa::path(get, path = "/configs/{name}/revisions/{number}", operation_id = "show_revision", tag = "configs",
    params(("name" = String, Path, description = "The configuration's name."),
        ("number" = u32, Path, description = "The revision's number.")),
    responses((status = OK, description = "The revision.", body = Revision)))]
pub(super) async fn show_revision(
    State(context): State<Context>,
    caller: Caller,
    PathParts((name, number)): PathParts<(String, u32)>,
) -> Result<Json<Revision>, ApiError> {
    let row = find(&context, &name).await?;
    let (row, files) = numbered(&context, &row, number).await?;
    let mut revision = config_json::revision(&name, row, &files);
    mask_for(&caller, &mut revision.files);
    Ok(Json(revision))
}

/// Tells two revisions apart.
#[utoipa::path(get, path = "/configs/{name}/diff", operation_id = "diff_config", tag = "configs",
    params(("name" = String, Path, description = "The configuration's name."), DiffQuery),
    responses((status = OK, description = "What differs, secrets masked.", body = Diff)))]
pub(super) async fn diff_revisions(
    State(context): State<Context>,
    _: Caller,
    PathPart(name): PathPart,
    parameters: Parameters,
) -> Result<Json<Diff>, ApiError> {
    let parameters = parameters.only(&["from", "to"])?;
    let number = |which| parameters.parse(which, "the number of a revision", |text| text.parse::<u32>().ok());
    let row = find(&context, &name).await?;
    let to = number("to")?.unwrap_or(row.latest.number);
    let from = number("from")?.unwrap_or_else(|| to.saturating_sub(1).max(1));
    let ((_, from), (_, to)) = (numbered(&context, &row, from).await?, numbered(&context, &row, to).await?);
    Ok(Json(config_json::diff(aside(move || diff(&from, &to)).await?)))
}

/// Who may not write configurations has no use for the secrets in them.
fn mask_for(caller: &Caller, files: &mut [File]) {
    if caller.role() < Role::Operator {
        files.iter_mut().for_each(|file| file.body = redact_file(&file.content_type, &file.body).text);
    }
}

pub(super) async fn find(context: &Context, name: &str) -> Result<ConfigRow, ApiError> {
    context.store.config(name).await?.ok_or_else(|| unknown(name))
}

/// A revision of a configuration by its number.
pub(super) async fn numbered(
    context: &Context,
    row: &ConfigRow,
    number: u32,
) -> Result<(store::RevisionRow, ConfigFiles), ApiError> {
    let found = context.store.revision(row.id, number).await?;
    let (row, files) =
        found.ok_or_else(|| ApiError::not_found(format!("{} has no revision {number}", row.name)))?;
    Ok((row, files_of(files)?))
}

pub(super) fn unknown(name: &str) -> ApiError {
    let name: String = name.chars().take(64).collect();
    ApiError::not_found(format!("there is no configuration {name:?}"))
}

fn done(changed: Changed<ConfigRow>, name: &str) -> Result<ConfigRow, ApiError> {
    match changed {
        Changed::Done(row) => Ok(row),
        Changed::Meanwhile => {
            Err(ApiError::changed("the configuration was changed meanwhile, read it again"))
        }
        Changed::Unknown => Err(unknown(name)),
        Changed::InUse(uses) => Err(ApiError::conflict(format!(
            "{uses} assignments or overrides use the configuration: remove them first"
        ))),
    }
}

fn revision(caller: &Caller, message: String, files: &ConfigFiles) -> store::NewRevision {
    let stored = files.iter().map(|file| StoredFile {
        name: file.name.clone(),
        content_type: file.content_type.clone(),
        body: file.body.clone().into_bytes(),
    });
    store::NewRevision {
        author: caller.name(),
        message,
        created_at: clock::now(),
        hash: files.hash().to_vec(),
        files: stored.collect(),
    }
}

pub(super) fn config_name(name: String) -> Result<String, ApiError> {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-');
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    match begins && name.len() <= 63 && name.chars().all(is_inner) {
        true => Ok(name),
        false => Err(ApiError::unprocessable(
            Some("name".to_owned()),
            "a name has 1 to 63 lower-case letters, digits, '.', '_' and '-', and begins with a letter or digit",
        )),
    }
}

/// A text for people; it may have lines.
fn text(field: &'static str, text: Option<String>) -> Result<String, ApiError> {
    let text = text.unwrap_or_default().trim().to_owned();
    let is_odd = |c: char| model::name::is_unseen(c) && c != '\n';
    if text.chars().count() > MAX_TEXT || text.chars().any(is_odd) {
        let detail = format!("{field} has at most {MAX_TEXT} characters and none that cannot be seen");
        return Err(ApiError::unprocessable(Some(field.to_owned()), detail));
    }
    Ok(text)
}
