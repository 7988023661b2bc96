//! Problem details (RFC 9457): the one shape of every error under /api/v1.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::configs::ConfigProblem;

/// The media type of an error body.
pub const CONTENT_TYPE: &str = "application/problem+json";

/// What went wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// A stable name for the kind of problem: `urn:muster:problem:<word>`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The kind in words, the same for every occurrence.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// This occurrence in words, with what to do next where that is known.
    pub detail: String,
    /// The query parameter, path part or body field that is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What is wrong in which file, when files of a configuration were refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<ConfigProblem>,
}
