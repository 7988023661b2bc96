//! The last lines of hosts themselves (REQ-9): kept here, so that they can be read while a host is away.

use std::collections::HashSet;

use host_proto::id::HostId;
use host_proto::limits::HOST_LOG_LINES;
use host_proto::message::{HostLogLevel, HostLogLine, HostLogSource};

use super::json;
use crate::error::StoreError;
use crate::store::Store;
use crate::writer::Durability;

/// How many lines of a host may be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinesAllowed {
    /// So many that are new.
    pub most: u32,
    /// So many were left out before these.
    pub missed: u64,
}

impl Store {
    /// Adds lines of a host and drops what is older than the last 500; how many were written. Of more new lines than are
    /// allowed the last ones are, after a line that says how many are missing. May be lost in a crash.
    pub async fn add_host_log(
        &self,
        id: HostId,
        lines: Vec<HostLogLine>,
        allowed: LinesAllowed,
    ) -> Result<u32, StoreError> {
        self.write(Durability::Behind, lines.len(), move |db| {
            let last: i64 = db
                .conn
                .prepare_cached("SELECT coalesce(max(id), 0) FROM host_log WHERE host_id = ?1")?
                .query_row([id.as_str()], |row| row.get(0))?;
            let known: HashSet<String> = db
                .conn
                .prepare_cached("SELECT line FROM host_log WHERE host_id = ?1")?
                .query_map([id.as_str()], |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            let mut new = Vec::new();
            for line in &lines {
                let text = json::text(line, "log line")?;
                if !known.contains(&text) {
                    new.push((line.ts_us, text));
                }
            }
            let surplus = new.len().saturating_sub(usize::try_from(allowed.most).unwrap_or(usize::MAX));
            new.drain(..surplus);
            let missing = allowed.missed.saturating_add(surplus as u64);
            if let Some(at) = new.first().map(|(at, _)| *at).filter(|_| missing > 0) {
                new.insert(0, (at, json::text(&dropped(at, missing), "log line")?));
            }
            let mut insert =
                db.conn.prepare_cached("INSERT INTO host_log (host_id, id, line) VALUES (?1, ?2, ?3)")?;
            let mut number = last;
            for (_, text) in &new {
                number += 1;
                insert.execute((id.as_str(), number, text))?;
            }
            let keep = i64::try_from(HOST_LOG_LINES).unwrap_or(i64::MAX);
            db.conn
                .prepare_cached("DELETE FROM host_log WHERE host_id = ?1 AND id <= ?2")?
                .execute((id.as_str(), number - keep))?;
            Ok(u32::try_from(new.len()).unwrap_or(u32::MAX))
        })
        .await
    }

    /// The last lines of a host, oldest first.
    pub async fn host_log(&self, id: HostId, limit: u32) -> Result<Vec<HostLogLine>, StoreError> {
        self.read(move |reader| {
            let sql = "SELECT line FROM (SELECT id, line FROM host_log WHERE host_id = ?1 ORDER BY id DESC LIMIT ?2)
                       ORDER BY id";
            let mut statement = reader.conn.prepare_cached(sql)?;
            json::rows(&mut statement, (id.as_str(), limit), |row| json::read(row, 0, "log line"))
        })
        .await
    }
}

/// The line in the place of lines that are missing.
fn dropped(at: u64, count: u64) -> HostLogLine {
    HostLogLine {
        ts_us: at,
        level: HostLogLevel::Warn,
        source: HostLogSource::Agent,
        replica_id: None,
        release_id: None,
        text: format!("{count} lines were dropped: they came too fast"),
    }
}
