//! Files that are not kept: checked before they are, and told apart. Also what makes files fit to be kept.

use api::configs::{Check, ConfigProblem, Diff, Draft, DraftDiff, NewFile};
use axum::Json;
use model::config::{ConfigFile, ConfigFiles, Severity, check, diff};

use super::caller::Caller;
use super::config_json::{self, problem};
use super::problem::ApiError;
use super::request::LargeBody;

/// Checks files without keeping them.
#[utoipa::path(post, path = "/configs/check", operation_id = "check_config", tag = "configs", request_body = Draft,
    responses((status = OK, description = "What is wrong with them.", body = Check)))]
pub(super) async fn check_draft(
    _: Caller,
    LargeBody(draft): LargeBody<Draft>,
) -> Result<Json<Check>, ApiError> {
    let look = || match files(draft.files) {
        Ok(files) => problems(&files),
        Err(error) => vec![problem((&error).into())],
    };
    let problems = aside(look).await?;
    Ok(Json(Check { valid: problems.iter().all(|one| one.severity != "error"), problems }))
}

/// Tells two drafts apart.
#[utoipa::path(post, path = "/configs/diff", operation_id = "diff_drafts", tag = "configs",
    request_body = DraftDiff, responses((status = OK, description = "What differs, secrets masked.", body = Diff)))]
pub(super) async fn diff_drafts(
    _: Caller,
    LargeBody(DraftDiff { from, to }): LargeBody<DraftDiff>,
) -> Result<Json<Diff>, ApiError> {
    let read = |draft: Draft| files(draft.files).map_err(|error| refused(vec![problem((&error).into())]));
    let (from, to) = (read(from)?, read(to)?);
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
