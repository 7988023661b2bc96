//! Brings a database to this build's schema. A file with rows is copied first; a newer schema is refused.
//! Every released schema stays a fixture in `tests/fixtures`, which later builds open.

use std::path::Path;

use model::UnixMillis;
use rusqlite::{Connection, OptionalExtension};

use crate::backup;
use crate::error::StoreError;
use crate::options::OpenOptions;

/// The schemas in order; the first is 1. What is released is never edited, only followed by another.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_foundation.sql"),
    include_str!("../migrations/0002_configurations.sql"),
    include_str!("../migrations/0003_hosts.sql"),
    include_str!("../migrations/0004_names_of_services.sql"),
    include_str!("../migrations/0005_history_of_hosts.sql"),
    include_str!("../migrations/0006_changes_of_revisions.sql"),
];

/// "mstr", so that another program's database is not taken for ours.
const APPLICATION_ID: i32 = 0x6d73_7472;

/// The newest schema of this build.
fn supported() -> u32 {
    u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX)
}

/// Refuses a file that is something else, before anything is written to it.
pub(crate) fn check_ours(conn: &Connection, path: &Path) -> Result<(), StoreError> {
    let not_ours = |reason: String| StoreError::NotOurs { path: path.to_owned(), reason };
    let id =
        conn.query_row("PRAGMA application_id", [], |row| row.get::<_, i32>(0)).map_err(
            |error| match error.sqlite_error_code() {
                Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt) => {
                    not_ours(error.to_string())
                }
                _ => StoreError::from(error),
            },
        )?;
    let tables = conn.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get::<_, i64>(0))?;
    if id == APPLICATION_ID || (id == 0 && tables == 0) {
        return Ok(());
    }
    Err(not_ours("it belongs to another program".to_owned()))
}

pub(crate) fn run(conn: &Connection, options: &OpenOptions, now: UnixMillis) -> Result<(), StoreError> {
    let found = schema(conn, &options.path)?;
    if found == supported() {
        return Ok(());
    }
    let backup = match found {
        0 => String::new(),
        found => backup::before_upgrade(conn, options, found, now)?.display().to_string(),
    };
    conn.execute_batch("PRAGMA synchronous = FULL; BEGIN IMMEDIATE")?;
    let outcome = upgrade(conn, options, now, &backup);
    match &outcome {
        Ok(()) => conn.execute_batch("COMMIT; PRAGMA synchronous = NORMAL")?,
        Err(_) => conn.execute_batch("ROLLBACK; PRAGMA synchronous = NORMAL")?,
    }
    outcome
}

/// The file's schema; 0 when it has none yet, an error when it is newer than this build.
pub(crate) fn schema(conn: &Connection, path: &Path) -> Result<u32, StoreError> {
    let exists = conn
        .query_row("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migration'", [], |_| Ok(()))
        .optional()?;
    if exists.is_none() {
        return Ok(0);
    }
    let newest = conn
        .query_row("SELECT version, build, backup FROM migration ORDER BY version DESC LIMIT 1", [], |row| {
            Ok((row.get::<_, u32>(0)?, row.get(1)?, row.get::<_, String>(2)?))
        })
        .optional()?;
    match newest {
        None => Err(StoreError::NotOurs { path: path.to_owned(), reason: "it has no schema".to_owned() }),
        Some((found, written_by, backup)) if found > supported() => Err(StoreError::NewerSchema {
            path: path.to_owned(),
            found,
            supported: supported(),
            written_by,
            backup: if backup.is_empty() { "there is none".to_owned() } else { backup },
        }),
        Some((found, ..)) => Ok(found),
    }
}

fn upgrade(
    conn: &Connection,
    options: &OpenOptions,
    now: UnixMillis,
    backup: &str,
) -> Result<(), StoreError> {
    // Read again inside the transaction: another process may have been quicker.
    let found = schema(conn, &options.path)?;
    for (version, sql) in (1u32..).zip(MIGRATIONS).skip(found as usize) {
        conn.execute_batch(sql)?;
        conn.execute(
            "INSERT INTO migration (version, build, applied_at, backup) VALUES (?1, ?2, ?3, ?4)",
            (version, &options.build, now.0, backup),
        )?;
    }
    conn.execute_batch(&format!("PRAGMA application_id = {APPLICATION_ID}"))?;
    Ok(())
}
