//! If-Match on what has no versions. A change that is meant for one version must not be carried out where nothing can
//! be compared: it is refused, as one for a version that does not exist. Where versions are compared: `version`.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{MatchedPath, Request};
use axum::http::{Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use utoipa::openapi::OpenApi;
use utoipa::openapi::path::HttpMethod;

use super::openapi::operations;
use super::problem::ApiError;

/// The operations that compare versions, by their ids. The document says so of them.
pub(super) const VERSIONED: [&str; 13] = [
    "abort_assignment",
    "change_assignment",
    "change_config",
    "change_host",
    "change_user",
    "create_revision",
    "delete_assignment",
    "delete_config",
    "delete_user",
    "pause_assignment",
    "resume_assignment",
    "set_assignment_revision",
    "set_labels",
];

/// Methods and paths of these operations.
#[derive(Debug, Clone)]
pub(super) struct Versioned(Arc<BTreeSet<(&'static str, String)>>);

impl Versioned {
    pub(super) fn of(document: &OpenApi) -> Self {
        let mut found = BTreeSet::new();
        for (path, item) in &document.paths.paths {
            for (method, operation) in operations(&mut item.clone()) {
                if operation.operation_id.as_deref().is_some_and(|id| VERSIONED.contains(&id)) {
                    found.insert((name(&method), path.clone()));
                }
            }
        }
        Self(Arc::new(found))
    }
}

const fn name(method: &HttpMethod) -> &'static str {
    match method {
        HttpMethod::Put => "PUT",
        HttpMethod::Post => "POST",
        HttpMethod::Patch => "PATCH",
        HttpMethod::Delete => "DELETE",
        _ => "GET",
    }
}

/// Refuses a change for one version of what has none. `*` means any version, and is taken.
pub(super) async fn gate(
    Extension(Versioned(versioned)): Extension<Versioned>,
    request: Request,
    next: Next,
) -> Response {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let wants = request.headers().get(header::IF_MATCH).is_some_and(|tag| tag.as_bytes() != b"*");
    if wants && !is_read {
        let path = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
        if !versioned.iter().any(|(method, known)| *method == request.method().as_str() && known == path) {
            let detail = "this has no versions that If-Match could mean: leave the header out";
            return ApiError::changed(detail).into_response();
        }
    }
    next.run(request).await
}
