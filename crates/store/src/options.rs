//! How to open the database.

use std::path::PathBuf;
use std::time::Duration;

/// Where the database is and what it is opened for.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// The database file; made when it does not exist. Its directory must exist.
    pub path: PathBuf,
    /// Where the copy goes that is made before a schema is upgraded; made when it does not exist.
    pub backup_dir: PathBuf,
    /// The version of this build, written beside each schema that it makes.
    pub build: String,
    /// What it is opened for.
    pub purpose: Purpose,
    /// Threads that read, at least 1. Each has a page cache of up to 1 MiB.
    pub readers: usize,
    /// The most bytes that the database file may have; `None`: what the disk has. A write beyond answers
    /// [`crate::StoreError::Full`].
    pub max_size: Option<u64>,
    /// How long a write waits for another process that holds the database.
    pub busy_timeout: Duration,
}

/// What a database is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// To serve agents: takes the lock that only one server can have, and the next server epoch.
    Serve,
    /// To read or change a few rows beside a server that may be running.
    Administer,
}

impl OpenOptions {
    /// To serve agents from this file, with back-ups in `backups` beside it and three readers.
    pub fn serve(path: impl Into<PathBuf>, build: impl Into<String>) -> Self {
        let path = path.into();
        Self {
            backup_dir: path.with_file_name("backups"),
            path,
            build: build.into(),
            purpose: Purpose::Serve,
            readers: 3,
            max_size: None,
            busy_timeout: Duration::from_secs(5),
        }
    }

    /// To change a few rows beside a server that may be running.
    pub fn administer(path: impl Into<PathBuf>, build: impl Into<String>) -> Self {
        Self { purpose: Purpose::Administer, readers: 1, ..Self::serve(path, build) }
    }
}
