//! Copies of the database while it is in use, through SQLite's own backup.

use std::path::{Path, PathBuf};
use std::time::Duration;

use model::UnixMillis;
use rusqlite::{Connection, OpenFlags, backup::Backup};

use crate::error::StoreError;
use crate::options::OpenOptions;
use crate::store::Store;

/// Pages per step: about 4 MB.
const STEP_PAGES: std::ffi::c_int = 1024;

impl Store {
    /// Writes a consistent copy to a new file, which appears under its name only when it is whole. Writers
    /// and readers go on meanwhile.
    pub async fn backup(&self, to: impl Into<PathBuf>) -> Result<(), StoreError> {
        let (from, to, busy) = (self.path().to_owned(), to.into(), self.busy_timeout());
        let copied = tokio::task::spawn_blocking(move || {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let conn = Connection::open_with_flags(&from, flags)?;
            conn.busy_timeout(busy)?;
            copy(&conn, &to)
        });
        copied.await.unwrap_or(Err(StoreError::Closed))
    }
}

/// The copy that is made before a schema is upgraded.
pub(crate) fn before_upgrade(
    conn: &Connection,
    options: &OpenOptions,
    schema: u32,
    now: UnixMillis,
) -> Result<PathBuf, StoreError> {
    let directory = &options.backup_dir;
    std::fs::create_dir_all(directory).map_err(|source| StoreError::File {
        action: "make the directory",
        path: directory.clone(),
        source,
    })?;
    let to = directory.join(format!("muster-schema-{schema}-{}.db", now.0));
    copy(conn, &to)?;
    Ok(to)
}

/// One read transaction around all steps: without it each write of another connection would start the copy anew.
pub(crate) fn copy(from: &Connection, to: &Path) -> Result<(), StoreError> {
    let failed = |action| move |source| StoreError::File { action, path: to.to_owned(), source };
    if to.exists() {
        return Err(StoreError::Exists("the back-up's file"));
    }
    let mut name = to.as_os_str().to_owned();
    name.push(".part");
    let part = PathBuf::from(name);
    // Made by us with narrow rights first: the copy holds all that the database holds.
    make_private(&part).map_err(failed("write"))?;
    let outcome = copy_pages(from, &part);
    if outcome.is_err() {
        // The copy is worthless; that it could not be removed as well says nothing new.
        let _ = std::fs::remove_file(&part);
    }
    outcome?;
    std::fs::File::open(&part).and_then(|file| file.sync_all()).map_err(failed("write"))?;
    std::fs::rename(&part, to).map_err(failed("write"))
}

fn copy_pages(from: &Connection, part: &Path) -> Result<(), StoreError> {
    let mut target = Connection::open(part)?;
    target.execute_batch("PRAGMA synchronous = OFF")?;
    from.execute_batch("BEGIN")?;
    from.query_row("SELECT count(*) FROM migration", [], |_| Ok(()))?;
    let copied = Backup::new(from, &mut target)
        .and_then(|backup| backup.run_to_completion(STEP_PAGES, Duration::ZERO, None));
    from.execute_batch("COMMIT")?;
    copied?;
    Ok(())
}

fn make_private(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}
