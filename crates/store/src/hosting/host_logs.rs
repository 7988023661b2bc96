//! The last lines of hosts themselves (REQ-9): kept here, so that they can be read while a host is away.

use std::collections::HashSet;

use host_proto::id::HostId;
use host_proto::limits::HOST_LOG_LINES;
use host_proto::message::HostLogLine;

use super::json;
use crate::error::StoreError;
use crate::store::Store;
use crate::writer::Durability;

impl Store {
    /// Adds lines of a host and drops what is older than the last 500. May be lost in a crash.
    pub async fn add_host_log(&self, id: HostId, lines: Vec<HostLogLine>) -> Result<(), StoreError> {
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
            let mut insert =
                db.conn.prepare_cached("INSERT INTO host_log (host_id, id, line) VALUES (?1, ?2, ?3)")?;
            let mut number = last;
            for line in &lines {
                let text = json::text(line, "log line")?;
                if !known.contains(&text) {
                    number += 1;
                    insert.execute((id.as_str(), number, text))?;
                }
            }
            let keep = i64::try_from(HOST_LOG_LINES).unwrap_or(i64::MAX);
            db.conn
                .prepare_cached("DELETE FROM host_log WHERE host_id = ?1 AND id <= ?2")?
                .execute((id.as_str(), number - keep))?;
            Ok(())
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
