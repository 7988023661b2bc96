//! /api/v1/configs: configurations, their immutable revisions, checks and differences.
//! Who gets a configuration is [`crate::assignments`]; what an agent runs is in [`crate::agents`].

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Query of `GET /configs`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ConfigQuery {
    /// Part of the name or of the description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// 1 to 500, 100 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Answer of `GET /configs`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConfigPage {
    /// The page's configurations, by name.
    pub items: Vec<ConfigSummary>,
    /// Where the next page begins; `null` on the last one.
    pub next_cursor: Option<String>,
    /// How many match on all pages.
    pub total: u64,
}

/// A configuration as one row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConfigSummary {
    /// Its name: `[a-z0-9][a-z0-9._-]{0,62}`.
    pub name: String,
    /// What it is for; may be empty.
    pub description: String,
    /// The number of the latest revision.
    pub revision: u32,
    /// When the latest revision was written, RFC 3339.
    pub updated_at: String,
    /// Who wrote it.
    pub author: String,
    /// How many assignments use it.
    pub assignments: u64,
    /// How many agents are to have it, in any revision.
    pub agents: u64,
}

/// A configuration with the files of its latest revision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConfigDetail {
    /// What the list shows.
    #[serde(flatten)]
    pub summary: ConfigSummary,
    /// When it was created, RFC 3339.
    pub created_at: String,
    /// The files of the latest revision, by name.
    pub files: Vec<File>,
    /// The hash that agents report for the latest revision, hex.
    pub hash: String,
}

/// A file of a configuration, as it is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct File {
    /// Its name; empty only when the configuration has no other file.
    pub name: String,
    /// Its MIME type.
    pub content_type: String,
    /// Its text.
    pub body: String,
}

/// A file of a configuration, as it is sent to the server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewFile {
    /// Its name: at most 255 bytes, relative, without `..`. Empty only when there is no other file.
    #[serde(default)]
    pub name: String,
    /// Its MIME type. Absent: by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Its text.
    pub body: String,
}

/// Body of `POST /configs`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewConfig {
    /// Its name: `[a-z0-9][a-z0-9._-]{0,62}`.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Why the first revision was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// 1 to 64 files, 1 MiB together.
    pub files: Vec<NewFile>,
}

/// Body of `PATCH /configs/{name}`. What is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigPatch {
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Body of `POST /configs/import`: a configuration made of what an agent runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigImport {
    /// The instance_uid of the agent.
    pub agent: String,
    /// The name of the new configuration.
    pub name: String,
    /// Why the revision was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Answer of `GET /configs/{name}/revisions`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RevisionList {
    /// Every revision, newest first.
    pub items: Vec<RevisionSummary>,
}

/// A revision as one row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RevisionSummary {
    /// 1 for the first one.
    pub number: u32,
    /// Who wrote it.
    pub author: String,
    /// Why; may be empty.
    pub message: String,
    /// When, RFC 3339.
    pub created_at: String,
    /// The hash that agents report for it, hex.
    pub hash: String,
    /// Its files without their text.
    pub files: Vec<FileSummary>,
    /// How many assignments give it to somebody.
    pub assignments: u64,
}

/// A file without its text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileSummary {
    /// Its name.
    pub name: String,
    /// Its MIME type.
    pub content_type: String,
    /// How long its text is, in bytes.
    pub size: u64,
}

/// A revision in full.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Revision {
    /// The configuration's name.
    pub config: String,
    /// 1 for the first one.
    pub number: u32,
    /// Who wrote it.
    pub author: String,
    /// Why; may be empty.
    pub message: String,
    /// When, RFC 3339.
    pub created_at: String,
    /// The hash that agents report for it, hex.
    pub hash: String,
    /// Its files, by name.
    pub files: Vec<File>,
}

/// Body of `POST /configs/{name}/revisions`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRevision {
    /// Why it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// All files, also those that stay as they are.
    pub files: Vec<NewFile>,
    /// The revision that the writer saw; refused when it is not the latest any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub based_on: Option<u32>,
}

/// Body of `POST /configs/check`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckRequest {
    /// The files.
    pub files: Vec<NewFile>,
    /// The configuration that they are for: the answer says what saving them would do. It need not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
}

/// A side of `POST /configs/diff`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Draft {
    /// The files.
    pub files: Vec<NewFile>,
}

/// Answer of `POST /configs/check`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Check {
    /// Whether it would be accepted: no problem is an error.
    pub valid: bool,
    /// What was found, by file and line.
    pub problems: Vec<ConfigProblem>,
    /// What saving them would do: `created`, `changed` or `unchanged`. Only when `config` was given and they are valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// The number of the revision that would be the latest then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
}

/// Something that is wrong or odd in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConfigProblem {
    /// The name of the file.
    pub file: String,
    /// Its line, from 1; 0 when it is about the whole file.
    pub line: u32,
    /// The column in characters, from 1; 0 when it is about the whole line.
    pub column: u32,
    /// `error` (it is not accepted) or `warning`.
    pub severity: String,
    /// What is wrong.
    pub message: String,
}

/// Query of `GET /configs/{name}/diff`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DiffQuery {
    /// A revision's number. Absent: the one before `to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u32>,
    /// A revision's number. Absent: the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<u32>,
}

/// Body of `POST /configs/diff`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DraftDiff {
    /// What was. Excludes `config`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Draft>,
    /// What was is a revision of this configuration, as the server has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// Which one, with `config`. Absent: the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// What is to be.
    pub to: Draft,
}

/// The difference between two sets of files: of their text, and of what it means to a Collector.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Diff {
    /// The files that differ.
    pub files: Vec<FileDiff>,
    /// The components and pipelines that differ; empty when neither side is a Collector's configuration.
    pub changes: Vec<Change>,
}

/// The difference of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileDiff {
    /// Its name.
    pub name: String,
    /// `added`, `removed` or `changed`.
    pub change: String,
    /// Every line of both sides, in order.
    pub lines: Vec<DiffLine>,
}

/// One line of a difference.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiffLine {
    /// `same`, `added` or `removed`.
    pub kind: String,
    /// Its number in the old text, from 1.
    pub old: Option<u32>,
    /// Its number in the new text, from 1.
    pub new: Option<u32>,
    /// The line without its end.
    pub text: String,
}

/// A component or pipeline that differs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Change {
    /// `receiver`, `processor`, `exporter`, `connector`, `extension`, `pipeline`, `service` or `other`.
    pub area: String,
    /// Its name, such as `otlp/backend`.
    pub name: String,
    /// `added`, `removed` or `changed`.
    pub change: String,
    /// What differs in it, in words; may be empty.
    pub detail: String,
}
