//! What the store knows of configurations, and what can become of a change.

use model::{ConfigId, RevisionId, UnixMillis};

use crate::version::Expected;

/// A configuration with what its last revision says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigRow {
    /// Its number.
    pub id: ConfigId,
    /// Its name; unique.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// When it was made.
    pub created_at: UnixMillis,
    /// Counts changes of the description and the revisions.
    pub version: u64,
    /// Its last revision.
    pub latest: RevisionRow,
    /// How many assignments it has.
    pub assignments: u64,
    /// How many agents are to run one of its revisions.
    pub agents: u64,
}

/// A revision without its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisionRow {
    /// Its number over all configurations.
    pub id: RevisionId,
    /// Whose it is.
    pub config: ConfigId,
    /// Its number within its configuration, from 1.
    pub number: u32,
    /// Who wrote it.
    pub author: String,
    /// Why.
    pub message: String,
    /// When.
    pub created_at: UnixMillis,
    /// The `config_hash` of its files.
    pub hash: Vec<u8>,
}

/// A revision in a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRow {
    /// The revision.
    pub revision: RevisionRow,
    /// Name, type and length of its files.
    pub files: Vec<(String, String, u64)>,
    /// How many assignments settled on it or go there.
    pub assignments: u64,
}

/// One file of a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFile {
    /// Its name; empty for the only one.
    pub name: String,
    /// Its MIME type.
    pub content_type: String,
    /// Its content.
    pub body: Vec<u8>,
}

/// A revision to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRevision {
    /// Who writes it.
    pub author: String,
    /// Why.
    pub message: String,
    /// When.
    pub created_at: UnixMillis,
    /// The `config_hash` of the files.
    pub hash: Vec<u8>,
    /// The files.
    pub files: Vec<StoredFile>,
}

/// What the author of a revision saw of its configuration.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seen {
    /// The number of the last revision; `None`: it does not matter.
    pub revision: Option<u32>,
    /// Versions of the configuration.
    pub versions: Expected,
}

/// What became of a new revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Added {
    /// It is written.
    Revision(RevisionRow),
    /// The last one has the same files; nothing was written.
    Unchanged(RevisionRow),
    /// It was based on another one than the last, which is this.
    Outdated(RevisionRow),
}

/// What became of a change that named the version it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed<T> {
    /// Done.
    Done(T),
    /// Somebody was quicker: nothing was changed.
    Meanwhile,
    /// There is no such thing.
    Unknown,
    /// It is in use by so many assignments and overrides, and stays.
    InUse(u64),
}

/// A page of configurations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigPage {
    /// They, by name.
    pub items: Vec<ConfigRow>,
    /// The name after which the next page begins.
    pub next: Option<String>,
    /// How many there are on all pages.
    pub total: u64,
}
