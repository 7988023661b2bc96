//! How often a server wrote to its database: the count of transactions that SQLite itself keeps in the index of its
//! write-ahead log, so that every write is in it, whoever made it.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use anyhow::Context;

/// Where the header of the index has its count (`iChange` of `WalIndexHdr`), in the machine's byte order.
const CHANGES: u64 = 8;

/// The database of a server that runs.
#[derive(Debug)]
pub(super) struct Commits(PathBuf);

impl Commits {
    /// Of the database in this data folder.
    pub(super) fn of(data: &Path) -> anyhow::Result<Self> {
        let mut indexes = std::fs::read_dir(data)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.to_string_lossy().ends_with(".db-shm"));
        let index = indexes.next().with_context(|| format!("no database is open in {}", data.display()))?;
        Ok(Self(index))
    }

    /// Transactions that wrote something, so far.
    pub(super) fn count(&self) -> anyhow::Result<u32> {
        let mut bytes = [0; 4];
        File::open(&self.0)?.read_exact_at(&mut bytes, CHANGES)?;
        Ok(u32::from_ne_bytes(bytes))
    }
}
