//! What writes leave to be done later, once for all of them: the index of attributes, and the search for
//! replacements, which reads that index.
//!
//! Most calls leave it to the end of their transaction. Enrolments come one by one, each waits for the disk, and the
//! values of a new agent lie all over the index: they leave it for up to a second, to a transaction that nobody waits
//! for. Until then the setting [`UNINDEXED`] holds the first row that the index may not know; it is written in the
//! transaction of the enrolment and removed in the one that brings the index up to date, so that after a crash the
//! next start knows what to add. Whoever reads has it brought up to date first: see `Store::read`.

use std::time::{Duration, Instant};

use model::CredentialId;
use rusqlite::{Connection, OptionalExtension};

use super::attributes::{self, IndexChanges};
use super::replace::{self, Came};
use super::statements::CredentialMarks;
use super::write::Replaced;
use crate::error::StoreError;
use crate::writer::Db;

/// The setting that says from which row on the index may be incomplete.
const UNINDEXED: &str = "unindexed_from";
/// Agents after which the index is brought up to date although more are coming.
const MAX_AGENTS: usize = 4_000;
/// How long it may be behind.
const MAX_AGE: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Pending {
    pub(super) index: IndexChanges,
    /// The credential asked for last: agents that come together mostly bring the same.
    pub(super) credential: Option<(CredentialId, Option<CredentialMarks>)>,
    /// New agents, which may be successors of old ones.
    pub(super) came: Vec<Came>,
    /// Agents that went, whose successors may be here already.
    pub(super) went: Vec<i64>,
    /// What the setting says, and since when.
    unindexed: Option<(i64, Instant)>,
    /// What was left to do is not known any more and must be read from the rows.
    is_lost: bool,
}

impl Pending {
    /// What an earlier run, or a transaction that was rolled back, left to be done.
    pub(crate) fn load(conn: &Connection) -> Result<Self, StoreError> {
        let from = conn
            .query_row("SELECT value FROM setting WHERE name = ?1", [UNINDEXED], |row| {
                row.get::<_, String>(0)
            })
            .optional()?;
        let Some(from) = from else { return Ok(Self::default()) };
        let from = from.parse().map_err(|_| StoreError::Corrupt("mark of the index"))?;
        Ok(Self { unindexed: Some((from, Instant::now())), is_lost: true, ..Self::default() })
    }

    /// A new row, whose values the index will get later.
    pub(super) fn defer(db: &mut Db<'_>, id: i64) -> Result<(), StoreError> {
        if db.pending.unindexed.is_none_or(|(from, _)| id < from) {
            db.statements.put_setting.get()?.execute((UNINDEXED, id.to_string()))?;
            let since = db.pending.unindexed.map_or_else(Instant::now, |(_, since)| since);
            db.pending.unindexed = Some((id, since));
        }
        Ok(())
    }

    /// Whether anything was left for later transactions.
    pub(crate) const fn is_behind(&self) -> bool {
        self.unindexed.is_some()
    }

    /// Whether it must not wait longer.
    pub(crate) fn is_due(&self) -> bool {
        self.came.len() >= MAX_AGENTS || self.unindexed.is_some_and(|(_, since)| since.elapsed() >= MAX_AGE)
    }

    /// Does what is left; the replacements that were found.
    pub(crate) fn flush(db: &mut Db<'_>) -> Result<Vec<Replaced>, StoreError> {
        let mut pending = std::mem::take(&mut db.pending);
        if let Some((from, _)) = pending.unindexed {
            if pending.is_lost {
                pending.find_again(db, from)?;
            }
            db.statements.delete_setting.get()?.execute([UNINDEXED])?;
        }
        pending.index.write(&mut db.statements)?;
        let mut replaced = Vec::new();
        for came in pending.came {
            replaced.extend(replace::find_predecessor(db, came)?);
        }
        for id in pending.went {
            replaced.extend(replace::find_successor(db, id)?);
        }
        Ok(replaced)
    }

    /// Reads from the rows what the index may not know. What it knows already changes nothing.
    fn find_again(&mut self, db: &mut Db<'_>, from: i64) -> Result<(), StoreError> {
        let mut select = db.conn.prepare_cached(
            "SELECT agent_id, description FROM agent_report
             WHERE agent_id >= ?1 AND description IS NOT NULL ORDER BY agent_id",
        )?;
        let mut rows = select.query([from])?;
        while let Some(row) = rows.next()? {
            let id = row.get(0)?;
            let attributes = attributes::decode(row.get_ref(1)?.as_blob_or_null().unwrap_or_default());
            for (key, value) in attributes::index_rows(&attributes) {
                let key = db.caches.key_id(db.conn, key)?;
                self.index.add(key, &value, id);
            }
            self.came.push(Came::Row(id));
        }
        Ok(())
    }

    /// Forgets what was read of a credential: it has just been changed, or can be by another process.
    pub(crate) fn credential_changed(&mut self) {
        self.credential = None;
    }
}
