//! What can go wrong between the control plane and its database, in words that an operator can act on.

use std::path::{Path, PathBuf};

/// Why the store did not do what it was asked. Nothing of a failed call is kept.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file was written by a newer build. It is not touched.
    #[error(
        "the database {} has schema {found}, this build knows schemas up to {supported}: \
         run muster {written_by} or newer, or go back to the copy made before the upgrade: {backup}",
        path.display()
    )]
    NewerSchema {
        /// The database.
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// The newest schema of this build.
        supported: u32,
        /// The version that wrote the schema.
        written_by: String,
        /// Where the copy lies that was made before the upgrade.
        backup: String,
    },
    /// The file is no database of ours, or it is damaged.
    #[error(
        "{} is no usable Muster database: {reason}; name another --data-dir, or put a back-up in its place",
        path.display()
    )]
    NotOurs {
        /// The file.
        path: PathBuf,
        /// What was found instead.
        reason: String,
    },
    /// Another server has it.
    #[error("the database {} is in use by another muster server", path.display())]
    InUse {
        /// The database.
        path: PathBuf,
    },
    /// No room for the database. Later writes work again once there is.
    #[error("the disk that holds the database is full")]
    Full(#[source] rusqlite::Error),
    /// The database cannot be written. Later writes work again once it can.
    #[error("the database is read-only, check the permissions of its file and directory")]
    ReadOnly(#[source] rusqlite::Error),
    /// The process has as many files open as it may. Later calls work again once it has fewer.
    #[error(
        "the database cannot be opened: this process has no file descriptor left; \
         raise the limit of open files (ulimit -n)"
    )]
    NoDescriptor(#[source] rusqlite::Error),
    /// A file of the database cannot be opened.
    #[error(
        "a file of the database cannot be opened, check that it is there and the permissions of its directory"
    )]
    CannotOpen(#[source] rusqlite::Error),
    /// What the file holds is not what was written to it.
    #[error(
        "the database {} is damaged: stop the server, keep the file aside, and put a back-up in its place \
         (copies made before upgrades are in backups beside it)",
        path.display()
    )]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
    },
    /// Another process holds the database for longer than we wait.
    #[error("the database is locked by another process")]
    Busy(#[source] rusqlite::Error),
    /// A file could not be read or written.
    #[error("cannot {action} {}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Something with this name is already there.
    #[error("{0} already exists")]
    Exists(&'static str),
    /// A row that must be there is not.
    #[error("{0} does not exist")]
    Missing(&'static str),
    /// A row is not what the change was meant for.
    #[error("{0} was changed meanwhile: read it again")]
    Changed(&'static str),
    /// Nobody could administer the server any more.
    #[error("this is the last administrator who can sign in: make another one first")]
    LastAdmin,
    /// A stored value makes no sense to this build.
    #[error("a stored {0} cannot be read")]
    Corrupt(&'static str),
    /// The page after this cursor cannot be given: it is damaged, or was made for another order.
    #[error("the cursor does not belong to this list")]
    Cursor,
    /// The store was closed.
    #[error("the database is closed")]
    Closed,
    /// Any other failure of the database.
    #[error("the database failed")]
    Database(#[source] rusqlite::Error),
}

impl StoreError {
    /// Whether the same call can succeed later without a change to it.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::Full(_) | Self::ReadOnly(_) | Self::Busy(_) | Self::NoDescriptor(_) | Self::InUse { .. }
        )
    }

    /// Says of which file it is, where that is not known yet.
    pub(crate) fn of(self, database: &Path) -> Self {
        match self {
            Self::Damaged { path, source } if path.as_os_str().is_empty() => {
                Self::Damaged { path: database.to_owned(), source }
            }
            other => other,
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        match error.sqlite_error_code() {
            Some(Code::DiskFull) => Self::Full(error),
            Some(Code::ReadOnly | Code::PermissionDenied) => Self::ReadOnly(error),
            Some(Code::CannotOpen) if no_descriptor_is_left() => Self::NoDescriptor(error),
            Some(Code::CannotOpen) => Self::CannotOpen(error),
            Some(Code::DatabaseCorrupt | Code::NotADatabase) => {
                Self::Damaged { path: PathBuf::new(), source: error }
            }
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => Self::Busy(error),
            _ => Self::Database(error),
        }
    }
}

/// SQLite does not say why it could not open a file, so the question is put to the system once more.
fn no_descriptor_is_left() -> bool {
    const PROCESS: i32 = 24;
    const SYSTEM: i32 = 23;
    let opened = std::fs::File::open("/dev/null");
    opened.is_err_and(|error| matches!(error.raw_os_error(), Some(PROCESS | SYSTEM)))
}
