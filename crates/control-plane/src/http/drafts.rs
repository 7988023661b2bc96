//! Files that are not kept: checked before they are, and told apart. Also what makes files fit to be kept.

use api::configs::{Check, CheckRequest, ConfigProblem, Diff, Draft, DraftDiff, NewFile};
use axum::Json;
use axum::extract::State;
use model::config::{ConfigFile, ConfigFiles, Severity, check, diff};

use super::caller::Caller;
use super::config_json::{self, problem};
use super::configs::{config_name, find, numbered};
use super::context::Context;
use super::problem::ApiError;
use super::request::LargeBody;

/// Checks files without keeping them, and says what saving them would do.
#[utoipa::path(post, path = "/configs/check", operation_id = "check_config", tag = "configs",
    request_body = CheckRequest,
    responses((status = OK, description = "What is wrong with them.", body = Check)))]
pub(super) async fn check_draft(
    State(context): State<Context>,
    _: Caller,
    LargeBody(CheckRequest { files: sent, config }): LargeBody<CheckRequest>,
) -> Result<Json<Check>, ApiError> {
    let look = || match files(sent) {
        Ok(files) => (problems(&files), Some(files)),
        Err(error) => (vec![problem((&error).into())], None),
    };
    let (problems, files) = aside(look).await?;
    let valid = problems.iter().all(|one| one.severity != "error");
    let (outcome, revision) = match (config, files.filter(|_| valid)) {
        (Some(name), Some(files)) => {
            let (outcome, revision) = saving(&context, &name, &files).await?;
            (Some(outcome.to_owned()), Some(revision))
        }
        _ => (None, None),
    };
    Ok(Json(Check { valid, problems, outcome, revision }))
}

/// What saving these files would do, and the number of the latest revision then. Every role may ask: what is stored is
/// compared as it is, and the answer holds none of it.
async fn saving(context: &Context, name: &str, files: &ConfigFiles) -> Result<(&'static str, u32), ApiError> {
    Ok(match context.store.config(name).await? {
        None => {
            config_name(name.to_owned())?;
            ("created", 1)
        }
        Some(row) if row.latest.hash == files.hash() => ("unchanged", row.latest.number),
        Some(row) => ("changed", row.latest.number + 1),
    })
}

/// Tells a draft apart from another one, or from a revision.
#[utoipa::path(post, path = "/configs/diff", operation_id = "diff_drafts", tag = "configs",
    request_body = DraftDiff, responses((status = OK, description = "What differs, secrets masked.", body = Diff)))]
pub(super) async fn diff_drafts(
    State(context): State<Context>,
    _: Caller,
    LargeBody(DraftDiff { from, config, revision, to }): LargeBody<DraftDiff>,
) -> Result<Json<Diff>, ApiError> {
    let read = |draft: Draft| files(draft.files).map_err(|error| refused(vec![problem((&error).into())]));
    let from = match (from, config) {
        (Some(draft), None) => read(draft)?,
        (None, Some(name)) => {
            let row = find(&context, &name).await?;
            numbered(&context, &row, revision.unwrap_or(row.latest.number)).await?.1
        }
        _ => {
            let detail = "give either from, with files, or config";
            return Err(ApiError::unprocessable(Some("from".to_owned()), detail));
        }
    };
    let to = read(to)?;
    Ok(Json(config_json::diff(aside(move || diff(&from, &to)).await?)))
}

/// Work that may take some milliseconds, not on a thread that answers others.
pub(super) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| ApiError::internal(&error))
}

fn files(files: Vec<NewFile>) -> Result<ConfigFiles, model::config::InvalidFiles> {
    ConfigFiles::try_new(
        files.into_iter().map(|file| ConfigFile::new(file.name, file.content_type, file.body)),
    )
}

fn problems(files: &ConfigFiles) -> Vec<ConfigProblem> {
    check(files).into_iter().map(problem).collect()
}

/// Files without an error in them.
pub(super) fn accepted(new: Vec<NewFile>) -> Result<ConfigFiles, ApiError> {
    let files = files(new).map_err(|error| refused(vec![problem((&error).into())]))?;
    let problems = problems(&files);
    match problems.iter().any(|one| one.severity == Severity::Error.as_str()) {
        true => Err(refused(problems)),
        false => Ok(files),
    }
}

fn refused(problems: Vec<ConfigProblem>) -> ApiError {
    let first = problems.iter().find(|one| one.severity == Severity::Error.as_str());
    let detail = first.map_or_else(String::new, |one| match one.line {
        0 => format!("{}: {}", one.file, one.message),
        line => format!("{}:{line}:{}: {}", one.file, one.column, one.message),
    });
    ApiError::unprocessable(Some("files".to_owned()), detail.trim_start_matches(": ").to_owned())
        .with_problems(problems)
}
