//! Back-ups: one file with the database and the authority's certificate, and a manifest with their checksums. A
//! compressed tar, so that it can be looked into with other tools. The master key is not in it: who finds a back-up
//! must not be able to open the secrets in it.

mod make;
mod restore;

use serde::{Deserialize, Serialize};

pub use make::{Made, backup};
pub use restore::{Restored, restore};
pub use store::Counts;

/// The first entry.
const MANIFEST: &str = "manifest.json";
/// Its longest size in bytes.
const MAX_MANIFEST: u64 = 64 * 1024;
/// The files that a back-up of this build can have: nothing else is ever written to a disk from an archive.
const FILES: [&str; 2] = [crate::config::DATABASE, crate::config::CA_FILE];
/// The shape of the archive.
const FORMAT: u32 = 1;

/// What an archive holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Manifest {
    format: u32,
    /// When it was made, in milliseconds since 1970.
    made_at: i64,
    /// The version that made it.
    build: String,
    /// The database's schema.
    schema: u32,
    /// The key that the secrets in it are sealed with.
    key_id: Option<String>,
    files: Vec<Entry>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    name: String,
    size: u64,
    /// SHA-256, hex.
    sha256: String,
}

/// Why there is no back-up, or nothing was restored. Nothing is left behind of either.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// There is no database.
    #[error("--data-dir: there is no database at {}; name the server's directory", .0.display())]
    NoDatabase(std::path::PathBuf),
    /// The file is there already.
    #[error("--to: {} exists already; a back-up never takes the place of another file", .0.display())]
    Exists(std::path::PathBuf),
    /// The directory is not empty.
    #[error("--data-dir: {} is not empty; restore into a new directory, then start the server on that one", .0.display())]
    NotEmpty(std::path::PathBuf),
    /// The file is no whole back-up.
    #[error("{} is no whole back-up: {reason}", path.display())]
    Damaged {
        /// The file.
        path: std::path::PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Another format than this build's.
    #[error("{} has format {found}, this build reads format {FORMAT}: use muster {build} or newer", path.display())]
    Format {
        /// The file.
        path: std::path::PathBuf,
        /// Its format.
        found: u32,
        /// The version that made it.
        build: String,
    },
    /// The key file is not the right one.
    #[error(transparent)]
    Key(#[from] crate::secrets::KeyError),
    /// The database cannot be copied or read.
    #[error(transparent)]
    Store(#[from] store::StoreError),
    /// A file cannot be read or written.
    #[error("cannot {action} {}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: std::path::PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

/// Makes errors that name a file.
fn at<'p>(action: &'static str, path: &'p std::path::Path) -> impl Fn(std::io::Error) -> ArchiveError + 'p {
    move |source| ArchiveError::File { action, path: path.to_owned(), source }
}
