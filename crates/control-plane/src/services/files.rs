//! Secrets and configurations of projects: sealed as soon as they are here, each content a version of its own.

use host_proto::id::{FileId, ProjectId};
use model::hosting::{FileKind, FileVersion};
use store::{AuditEntry, NewFile, StoreError};

use super::Services;
use super::allocate::{random, unsigned};
use crate::clock;
use crate::secrets::SealError;

/// The longest content of a file, in bytes.
pub(crate) const MAX_FILE: usize = 512 * 1024;

/// Why a file cannot be kept.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It cannot be sealed.
    #[error("it cannot be sealed")]
    Seal(#[from] SealError),
}

/// A file of a project to be kept.
pub(crate) struct Content<'a> {
    pub(crate) project: &'a ProjectId,
    pub(crate) kind: FileKind,
    pub(crate) name: &'a str,
    pub(crate) bytes: &'a [u8],
    pub(crate) author: &'a str,
}

/// The name that a file is sealed under.
pub(crate) fn sealed_as(id: &FileId) -> String {
    format!("project-file/{id}")
}

/// The name that the password of a registry is sealed under.
pub(crate) fn registry_sealed_as(registry: &str) -> String {
    format!("registry/{registry}")
}

impl Services {
    /// What tells contents of files apart without telling what they are.
    pub(crate) fn fingerprint(&self, kind: FileKind, name: &str, bytes: &[u8]) -> [u8; 32] {
        self.sealer.fingerprint(&format!("project-file/{}/{name}", kind.as_str()), bytes)
    }

    /// Keeps a content; the version that has it already, if one does.
    pub(crate) async fn keep(
        &self,
        content: Content<'_>,
        entry: AuditEntry,
    ) -> Result<(FileVersion, bool), FileError> {
        let now = clock::now();
        let id = FileId::generate(unsigned(now), random()?);
        let new = NewFile {
            sealed: self.sealer.seal(&sealed_as(&id), content.bytes)?,
            id,
            project_id: content.project.clone(),
            kind: content.kind,
            name: content.name.to_owned(),
            fingerprint: self.fingerprint(content.kind, content.name, content.bytes),
            size_bytes: u64::try_from(content.bytes.len()).unwrap_or(u64::MAX),
            created_by: content.author.to_owned(),
            created_at: now,
        };
        Ok(self.store.put_file(new, entry).await?)
    }
}
