//! Removes agents, and bulky texts that nobody refers to any more.

use model::UnixMillis;
use opamp_proto::InstanceUid;
use rusqlite::{Connection, OptionalExtension};

use super::pending::Pending;
use super::{attributes, labels};
use crate::audit::{self, AuditEntry};
use crate::error::StoreError;
use crate::store::Store;
use crate::value::{self, signed};
use crate::writer::{Db, Durability};

/// What became of a wish to forget an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgotten {
    /// It is gone; when it comes back, it must enrol.
    Done,
    /// It is connected, and stays.
    Connected,
    /// There is no such agent.
    Unknown,
}

impl Store {
    /// Forgets a disconnected agent. Durable.
    pub async fn forget_agent(&self, uid: InstanceUid, entry: AuditEntry) -> Result<Forgotten, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let found = db
                .conn
                .prepare_cached("SELECT id, owner_epoch, disconnected_at FROM agent WHERE uid = ?1")?
                .query_row([uid.as_bytes()], |row| {
                    Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, Option<i64>>(2)?))
                })
                .optional()?;
            match found {
                None => Ok(Forgotten::Unknown),
                Some((_, owner, None)) if owner == signed(db.epoch) => Ok(Forgotten::Connected),
                Some((id, ..)) => {
                    remove(db, &[(id, uid)])?;
                    audit::record(db, &entry)?;
                    Ok(Forgotten::Done)
                }
            }
        })
        .await
    }

    /// Forgets agents that are disconnected since before `before`, at most `limit`, the longest gone first;
    /// which. Call again when the answer is as long as the limit.
    pub async fn expire_agents(
        &self,
        before: UnixMillis,
        limit: u32,
    ) -> Result<Vec<InstanceUid>, StoreError> {
        self.write(Durability::Behind, limit as usize, move |db| {
            let expired = expired(db, before, limit)?;
            remove(db, &expired)?;
            Ok(expired.into_iter().map(|(_, uid)| uid).collect())
        })
        .await
    }

    /// Removes up to `limit` bulky texts that no agent refers to; how many. Call it once in a while.
    pub async fn sweep_blobs(&self, limit: u32) -> Result<usize, StoreError> {
        self.write(Durability::Behind, limit as usize, move |db| {
            let removed = sweep(db.conn, limit)?;
            db.caches.forget_blobs();
            Ok(removed)
        })
        .await
    }
}

/// An agent of an older start of a server ended when that start was last alive, or was heard later.
fn expired(db: &Db<'_>, before: UnixMillis, limit: u32) -> Result<Vec<(i64, InstanceUid)>, StoreError> {
    let mut statement = db.conn.prepare_cached(
        "SELECT id, uid FROM (
             SELECT a.id, a.uid, CASE
                 WHEN a.disconnected_at IS NOT NULL THEN a.disconnected_at
                 WHEN a.owner_epoch = ?1 THEN NULL
                 ELSE max(a.last_seen, coalesce(s.alive_at, a.last_seen)) END AS ended
             FROM agent a LEFT JOIN server_start s ON s.epoch = a.owner_epoch) AS gone
         WHERE ended < ?2 ORDER BY ended, id LIMIT ?3",
    )?;
    let mut rows = statement.query((signed(db.epoch), before.0, limit))?;
    let mut expired = Vec::new();
    while let Some(row) = rows.next()? {
        expired.push((row.get(0)?, value::uid(&row.get::<_, [u8; 16]>(1)?)?));
    }
    Ok(expired)
}

fn remove(db: &mut Db<'_>, agents: &[(i64, InstanceUid)]) -> Result<(), StoreError> {
    // What earlier calls left to do may speak of these agents.
    Pending::flush(db)?;
    for (id, uid) in agents {
        remove_report(db, *id)?;
        labels::remove_all(db, (*id, *uid))?;
        remove_row(db.conn, *uid)?;
    }
    Ok(())
}

/// Removes the row, and what its neighbours in a line of replacements say of it.
fn remove_row(conn: &Connection, uid: InstanceUid) -> Result<(), StoreError> {
    for sql in ["DELETE FROM agent_override WHERE uid = ?1", "DELETE FROM assignment_grant WHERE uid = ?1"] {
        conn.prepare_cached(sql)?.execute([uid.as_bytes()])?;
    }
    let (by, of) = conn
        .prepare_cached("DELETE FROM agent WHERE uid = ?1 RETURNING replaced_by, replaces")?
        .query_row([uid.as_bytes()], |row| {
        Ok((row.get::<_, Option<Vec<u8>>>(0)?, row.get::<_, Option<Vec<u8>>>(1)?))
    })?;
    for (sql, other) in [
        ("UPDATE agent SET replaces = NULL WHERE uid = ?1 AND replaces = ?2", by),
        ("UPDATE agent SET replaced_by = NULL WHERE uid = ?1 AND replaced_by = ?2", of),
    ] {
        if let Some(other) = other {
            conn.prepare_cached(sql)?.execute((other, uid.as_bytes()))?;
        }
    }
    Ok(())
}

fn remove_report(db: &mut Db<'_>, id: i64) -> Result<(), StoreError> {
    let removed = db
        .conn
        .prepare_cached(
            "DELETE FROM agent_report WHERE agent_id = ?1
             RETURNING description, effective_config, package_statuses, available_components",
        )?
        .query_row([id], |row| {
            let blobs: [Option<i64>; 3] = [row.get(1)?, row.get(2)?, row.get(3)?];
            Ok((row.get::<_, Option<Vec<u8>>>(0)?, blobs))
        })
        .optional()?;
    let Some((description, blobs)) = removed else { return Ok(()) };
    for blob in blobs.into_iter().flatten() {
        db.conn
            .prepare_cached("INSERT INTO blob_unused (id) VALUES (?1) ON CONFLICT DO NOTHING")?
            .execute([blob])?;
    }
    let attributes = attributes::decode(description.as_deref());
    for (key, value) in attributes::index_rows(&attributes) {
        let key = db.caches.key_id(db.conn, key)?;
        db.pending.index.remove(key, &value, id);
    }
    Ok(())
}

/// Bulky texts that someone let go of: those that nobody else has are removed.
fn sweep(conn: &Connection, limit: u32) -> Result<usize, StoreError> {
    let mut select = conn.prepare_cached(
        "SELECT u.id, EXISTS (SELECT 1 FROM agent_report r WHERE r.effective_config = u.id)
             OR EXISTS (SELECT 1 FROM agent_report r WHERE r.package_statuses = u.id)
             OR EXISTS (SELECT 1 FROM agent_report r WHERE r.available_components = u.id)
         FROM blob_unused u ORDER BY u.id LIMIT ?1",
    )?;
    let rows = select.query_map([limit], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?)))?;
    let candidates = rows.collect::<Result<Vec<_>, _>>()?;
    let mut removed = 0;
    for (id, used) in candidates {
        if !used {
            removed += conn.prepare_cached("DELETE FROM blob WHERE id = ?1")?.execute([id])?;
        }
        conn.prepare_cached("DELETE FROM blob_unused WHERE id = ?1")?.execute([id])?;
    }
    Ok(removed)
}
