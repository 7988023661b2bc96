//! Errors as problem details (RFC 9457). Every error of the API, whoever finds it, has this shape.

use std::time::Duration;

use api::configs::ConfigProblem;
use api::problem::{CONTENT_TYPE, Problem};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use store::StoreError;

use crate::configs::ChangeError;
use crate::services::deploy::DeployError;

/// What a handler answers instead of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError {
    status: StatusCode,
    kind: &'static str,
    detail: String,
    field: Option<String>,
    retry_after: Option<Duration>,
    problems: Vec<ConfigProblem>,
}

impl ApiError {
    const fn new(status: StatusCode, kind: &'static str, detail: String) -> Self {
        Self { status, kind, detail, field: None, retry_after: None, problems: Vec::new() }
    }

    /// 400: a query parameter or path part is wrong.
    pub(crate) fn parameter(field: impl Into<String>, detail: impl Into<String>) -> Self {
        let error = Self::new(StatusCode::BAD_REQUEST, "bad-parameter", detail.into());
        Self { field: Some(field.into()), ..error }
    }

    /// 400: the body is no JSON.
    pub(crate) fn malformed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed-body", detail.into())
    }

    /// 401: nobody is logged in.
    pub(crate) fn not_logged_in() -> Self {
        let detail = "log in first: the session is missing, has ended, or was ended";
        Self::new(StatusCode::UNAUTHORIZED, "not-logged-in", detail.to_owned())
    }

    /// 401: no host token, or one that is not good (CONNECT-8).
    pub(crate) fn not_a_host() -> Self {
        let detail = "the host token is missing, unknown, revoked or too old: join the machine again";
        Self::new(StatusCode::UNAUTHORIZED, "not-a-host", detail.to_owned())
    }

    /// 401: a login that failed.
    pub(crate) fn wrong_login() -> Self {
        let detail = "the user name or the password is wrong";
        Self::new(StatusCode::UNAUTHORIZED, "wrong-login", detail.to_owned())
    }

    /// The same as 422 that names the field, if it is [`Self::wrong_login`]: the caller is logged in, only the
    /// password that came with the request is wrong.
    pub(crate) fn or_wrong_password(self, field: &str) -> Self {
        match self.kind {
            "wrong-login" => Self::unprocessable(Some(field.to_owned()), "the password is wrong"),
            _ => self,
        }
    }

    /// 403: a write with a cookie and without its CSRF token.
    pub(crate) fn csrf() -> Self {
        let detail = "a write with a cookie needs the x-csrf-token header with the session's token";
        Self::new(StatusCode::FORBIDDEN, "csrf", detail.to_owned())
    }

    /// 403: a write that a page of another site sent.
    pub(crate) fn foreign() -> Self {
        let detail = "a write with a cookie comes from the console's own pages: where a proxy changes Host, \
            start the server with --public-url";
        Self::new(StatusCode::FORBIDDEN, "csrf", detail.to_owned())
    }

    /// 403: the role does not allow it.
    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", detail.into())
    }

    /// 404.
    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", detail.into())
    }

    /// 405.
    pub(crate) fn method_not_allowed() -> Self {
        let detail = "this resource does not know this method";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", detail.to_owned())
    }

    /// 409.
    pub(crate) fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", detail.into())
    }

    /// 409: what was to be built upon is not the newest any more.
    pub(crate) fn outdated(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "changed-meanwhile", detail.into())
    }

    /// 409: the same request, sent a moment ago, is still being worked on.
    pub(crate) fn in_progress() -> Self {
        let detail = "the same request is being worked on: ask again for its answer".to_owned();
        let error = Self::new(StatusCode::CONFLICT, "in-progress", detail);
        Self { retry_after: Some(Duration::from_secs(1)), ..error }
    }

    /// 422: an idempotency key that belongs to another request.
    pub(crate) fn key_reused() -> Self {
        let detail = "this idempotency-key was used for another request: take a new one".to_owned();
        let error = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency-key-reused", detail);
        Self { field: Some("idempotency-key".to_owned()), ..error }
    }

    /// 412: If-Match names another version.
    pub(crate) fn changed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PRECONDITION_FAILED, "changed-meanwhile", detail.into())
    }

    /// 413.
    pub(crate) fn too_large(limit: usize) -> Self {
        let detail = format!("the body is longer than {limit} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", detail)
    }

    /// 415.
    pub(crate) fn not_json() -> Self {
        let detail = "the body must be JSON, with content-type: application/json";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not-json", detail.to_owned())
    }

    /// 422: JSON, but not what is asked for here.
    pub(crate) fn unprocessable(field: Option<String>, detail: impl Into<String>) -> Self {
        let error = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid-body", detail.into());
        Self { field, ..error }
    }

    /// The same with what is wrong in which file.
    #[must_use]
    pub(crate) fn with_problems(self, problems: Vec<ConfigProblem>) -> Self {
        Self { problems, ..self }
    }

    /// 429.
    pub(crate) fn too_many(wait: Duration) -> Self {
        let detail = format!("too many attempts, try again in {} s", seconds(wait));
        let error = Self::new(StatusCode::TOO_MANY_REQUESTS, "too-many-attempts", detail);
        Self { retry_after: Some(wait), ..error }
    }

    /// 503.
    pub(crate) fn unavailable(detail: impl Into<String>, wait: Duration) -> Self {
        let error = Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail.into());
        Self { retry_after: Some(wait), ..error }
    }

    /// 500: our fault. The cause is in the log, not in the answer.
    pub(crate) fn internal(error: &(dyn std::error::Error + 'static)) -> Self {
        tracing::error!(error, "a request of the API failed");
        let detail = "the server failed; its log says why".to_owned();
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }
}

impl From<ChangeError> for ApiError {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Store(error) => error.into(),
            ChangeError::Unknown(_) => Self::not_found(error.to_string()),
            ChangeError::Meanwhile => Self::changed(error.to_string()),
            ChangeError::State(_) => Self::conflict(error.to_string()),
        }
    }
}

impl From<DeployError> for ApiError {
    fn from(error: DeployError) -> Self {
        match error {
            DeployError::Files(problems) => {
                let detail = format!("the Compose files cannot be deployed: {}", said(&problems));
                Self::unprocessable(Some("files".to_owned()), detail)
                    .with_problems(problems.into_iter().map(problem).collect())
            }
            DeployError::Input(detail) => Self::unprocessable(None, detail),
            DeployError::Refused(reasons) => Self::conflict(reasons.join("; ")),
            DeployError::Unknown(detail) => Self::not_found(detail),
            DeployError::Store(error) => error.into(),
            DeployError::File(error) => Self::internal(&error),
        }
    }
}

/// The first error of a list, and how many more there are.
fn said(problems: &[model::compose::Problem]) -> String {
    let errors: Vec<&model::compose::Problem> =
        problems.iter().filter(|it| it.severity == model::config::check::Severity::Error).collect();
    match errors.as_slice() {
        [] => "they have problems".to_owned(),
        [first] => first.to_string(),
        [first, rest @ ..] => format!("{first} (and {} more)", rest.len()),
    }
}

fn problem(problem: model::compose::Problem) -> ConfigProblem {
    let path = if problem.path.is_empty() { String::new() } else { format!("{}: ", problem.path) };
    ConfigProblem {
        file: problem.file,
        line: problem.line,
        column: problem.column,
        severity: problem.severity.to_string(),
        message: format!("{path}{}", problem.text),
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Cursor => {
                Self::parameter("cursor", "the cursor does not belong to this list: begin anew")
            }
            StoreError::Changed(_) => Self::changed(error.to_string()),
            StoreError::Missing(_) => Self::not_found(error.to_string()),
            StoreError::Exists(_) | StoreError::LastAdmin => Self::conflict(error.to_string()),
            error if error.is_retryable() => {
                tracing::error!(error = &error as &dyn std::error::Error, "the database does not answer");
                Self::unavailable(format!("the database does not answer: {error}"), Duration::from_secs(5))
            }
            StoreError::Closed => Self::unavailable("the server is stopping", Duration::from_secs(5)),
            error => Self::internal(&error),
        }
    }
}

/// Rounded up, so that nobody comes too early.
fn seconds(wait: Duration) -> u64 {
    u64::try_from(wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX).max(1)
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let problem = Problem {
            kind: format!("urn:muster:problem:{}", self.kind),
            title: self.status.canonical_reason().unwrap_or("Error").to_owned(),
            status: self.status.as_u16(),
            detail: self.detail,
            field: self.field,
            problems: self.problems,
        };
        let mut response = (self.status, axum::Json(problem)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
        if let Some(wait) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds(wait)));
        }
        response
    }
}
