//! A database that nobody uses: the copy in a back-up. Looked at without being changed, and told that it was restored.

use std::path::{Path, PathBuf};
use std::time::Duration;

use model::UnixMillis;
use rusqlite::{Connection, OpenFlags, OptionalExtension};

use crate::backup;
use crate::error::StoreError;
use crate::migrate;

/// The setting that says when the database was restored, in milliseconds since 1970.
pub const RESTORED_AT: &str = "restored_at";
/// The setting that says when the back-up was made that it was restored from, in milliseconds since 1970.
pub const RESTORED_FROM: &str = "restored_from";

/// How far a restored server's epoch is raised. The server that is lost may have started so often since the back-up
/// was made: what it said must not seem newer than what the restored one says.
const EPOCHS: i64 = 1_000;

/// A database file that no server has open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseCopy {
    path: PathBuf,
    schema: u32,
}

/// How much of each kind of thing a database knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Agents.
    pub agents: u64,
    /// Configurations.
    pub configs: u64,
    /// Hosts.
    pub hosts: u64,
    /// Projects.
    pub projects: u64,
    /// Their services.
    pub services: u64,
}

impl DatabaseCopy {
    /// Copies a database, which may be in use. The copy is consistent and appears under its name when it is whole.
    /// Blocks.
    pub fn make(from: &Path, to: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let copied = Connection::open_with_flags(from, flags).map_err(StoreError::from).and_then(|conn| {
            conn.busy_timeout(Duration::from_secs(10))?;
            migrate::check_ours(&conn, from)?;
            backup::copy(&conn, to)
        });
        copied.map_err(|error| error.of(from))?;
        Self::open(to)
    }

    /// Looks at a copy. A schema newer than this build's is refused.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let mut copy = Self { path: path.to_owned(), schema: 0 };
        let conn = copy.look()?;
        let looked = migrate::check_ours(&conn, path).and_then(|()| migrate::schema(&conn, path));
        copy.schema = looked.map_err(|error| error.of(path))?;
        Ok(copy)
    }

    /// Its schema.
    pub const fn schema(&self) -> u32 {
        self.schema
    }

    /// A setting.
    pub fn setting(&self, name: &str) -> Result<Option<String>, StoreError> {
        let conn = self.look()?;
        let value = conn.query_row("SELECT value FROM setting WHERE name = ?1", [name], |row| row.get(0));
        value.optional().map_err(|error| StoreError::from(error).of(&self.path))
    }

    /// How much of each kind of thing it knows. A database of an earlier version has no tables for some of them: none.
    pub fn counts(&self) -> Result<Counts, StoreError> {
        let conn = self.look()?;
        let count = |table: &str| -> Result<u64, StoreError> {
            let is_there = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1";
            if conn.query_row(is_there, [table], |row| row.get::<_, i64>(0))? == 0 {
                return Ok(0);
            }
            let count = format!("SELECT count(*) FROM {table}");
            Ok(u64::try_from(conn.query_row(&count, [], |row| row.get::<_, i64>(0))?).unwrap_or(0))
        };
        let counted = || -> Result<Counts, StoreError> {
            Ok(Counts {
                agents: count("agent")?,
                configs: count("config")?,
                hosts: count("host")?,
                projects: count("project")?,
                services: count("service")?,
            })
        };
        counted().map_err(|error| error.of(&self.path))
    }

    /// Reads every page; what is wrong, in SQLite's words.
    pub fn check(&self) -> Result<Option<String>, StoreError> {
        let found = self.look()?.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0));
        let found = found.map_err(|error| StoreError::from(error).of(&self.path))?;
        Ok((found != "ok").then_some(found))
    }

    /// Whether the database could be written now: [`StoreError::Busy`] when another process holds it.
    pub fn try_write(&self) -> Result<(), StoreError> {
        let tried = || -> Result<(), StoreError> {
            let conn = Connection::open_with_flags(&self.path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            conn.busy_timeout(Duration::from_secs(1))?;
            Ok(conn.execute_batch("BEGIN IMMEDIATE; ROLLBACK")?)
        };
        tried().map_err(|error| error.of(&self.path))
    }

    /// Notes for good that this database was restored, and raises the epoch of the server that will start on it.
    pub fn mark_restored(&self, now: UnixMillis, made_at: UnixMillis) -> Result<(), StoreError> {
        let marked = || -> Result<(), StoreError> {
            let conn = Connection::open(&self.path)?;
            conn.execute_batch("PRAGMA synchronous = FULL; BEGIN IMMEDIATE")?;
            conn.execute(
                "INSERT INTO server_start (epoch, started_at, alive_at)
                 SELECT coalesce(max(epoch), 0) + ?1, ?2, ?2 FROM server_start",
                (EPOCHS, now.0),
            )?;
            for (name, at) in [(RESTORED_AT, now), (RESTORED_FROM, made_at)] {
                conn.execute(
                    "INSERT INTO setting (name, value) VALUES (?1, ?2)
                     ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                    (name, at.0.to_string()),
                )?;
            }
            conn.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")?;
            Ok(())
        };
        marked().map_err(|error| error.of(&self.path))
    }

    /// A connection that reads. Where there is no log beside the database, it makes no files and takes no lock.
    fn look(&self) -> Result<Connection, StoreError> {
        let mut log = self.path.as_os_str().to_owned();
        log.push("-wal");
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        if Path::new(&log).exists() {
            let conn = Connection::open_with_flags(&self.path, flags)?;
            conn.busy_timeout(Duration::from_secs(5))?;
            return Ok(conn);
        }
        let path = self.path.to_string_lossy();
        let path = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
        let uri = format!("file:{path}?immutable=1");
        Ok(Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?)
    }
}
