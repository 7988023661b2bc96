//! Hosts: who has joined, and what operators say about them.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use host_proto::id::{HostId, ProjectId};
use model::hosting::{Host, HostMode};
use model::{Labels, UnixMillis};
use rusqlite::{Connection, Row};
use serde_json::{Value, json};

use super::json;
use crate::audit::{self, AuditEntry};
use crate::error::StoreError;
use crate::store::Store;
use crate::value::{millis, optional_millis, signed, unsigned};
use crate::version::Expected;
use crate::writer::Durability;

pub(super) const COLUMNS: &str =
    "id, name, machine_id, instance_id, wg_public_key, mesh_ip, labels, facts, agent_version, mode,
    allowed_paths, adopting, generation, joined_at, last_seen, version, epoch";

/// What an operator changes about a host. What is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostChange {
    /// Another name.
    pub name: Option<String>,
    /// These labels and no others.
    pub labels: Option<Labels>,
    /// Whether it gets anything new.
    pub mode: Option<HostMode>,
    /// These paths and no others.
    pub allowed_paths: Option<Vec<String>>,
    /// Whether it only adopts.
    pub adopting: Option<bool>,
}

/// What keeps a host from being removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unless {
    /// Anything that is there.
    Used,
    /// What is meant to be there. What is to go from there does not count: of a host that is gone nobody hears when it has.
    Meant,
    /// Nothing.
    Never,
}

/// What became of a host that was to be removed.
#[derive(Debug, Clone, PartialEq)]
pub enum HostRemoved {
    /// It is removed; its name, key, machine and addresses are free (R2). The projects that had something there.
    Removed(Box<Host>, BTreeSet<ProjectId>),
    /// These services or volumes are still there.
    InUse(Vec<String>),
}

impl Store {
    /// Every host, by name.
    pub async fn hosts(&self) -> Result<Vec<Host>, StoreError> {
        self.read(|reader| {
            let sql = format!("SELECT {COLUMNS} FROM host ORDER BY name");
            json::rows(&mut reader.conn.prepare_cached(&sql)?, [], host)
        })
        .await
    }

    /// The host with this identifier or name.
    pub async fn host(&self, id_or_name: impl Into<String>) -> Result<Option<Host>, StoreError> {
        let key = id_or_name.into();
        self.read(move |reader| {
            let sql = format!("SELECT {COLUMNS} FROM host WHERE id = ?1 OR name = ?1");
            json::first(&mut reader.conn.prepare_cached(&sql)?, [&key], host)
        })
        .await
    }

    /// Changes what operators say about a host. Durable, with `entry` about it.
    pub async fn change_host(
        &self,
        id: HostId,
        change: HostChange,
        expected: Expected,
        entry: AuditEntry,
    ) -> Result<Host, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let before = by_id(db.conn, &id)?.ok_or(StoreError::Missing("host"))?;
            expected.check(before.version, "host")?;
            let mut after = before.clone();
            let HostChange { name, labels, mode, allowed_paths, adopting } = change.clone();
            after.name = name.unwrap_or(after.name);
            after.labels = labels.unwrap_or(after.labels);
            after.mode = mode.unwrap_or(after.mode);
            after.allowed_paths = allowed_paths.unwrap_or(after.allowed_paths);
            after.adopting = adopting.unwrap_or(after.adopting);
            after.version += 1;
            let mut update = db.conn.prepare_cached(
                "UPDATE OR IGNORE host SET name = ?2, labels = ?3, mode = ?4, allowed_paths = ?5, adopting = ?6,
                 version = ?7 WHERE id = ?1",
            )?;
            let labels = json::text(&after.labels, "label")?;
            let paths = json::text(&after.allowed_paths, "path")?;
            let row = (id.as_str(), &after.name, labels, after.mode.as_str(), paths, after.adopting);
            let changed = update.execute((row.0, row.1, row.2, row.3, row.4, row.5, signed(after.version)))?;
            if changed == 0 {
                return Err(StoreError::Exists("a host with this name"));
            }
            audit::record(db, &entry.with(Some(told(&before)), Some(told(&after))))?;
            Ok(after)
        })
        .await
    }

    /// Removes a host with its tokens and what is known to be on it, unless something there stands in the way. Durable,
    /// with `entry` about it.
    pub async fn remove_host(
        &self,
        id: HostId,
        unless: Unless,
        entry: AuditEntry,
    ) -> Result<HostRemoved, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let host = by_id(db.conn, &id)?.ok_or(StoreError::Missing("host"))?;
            let mut statement = db.conn.prepare_cached(
                "SELECT DISTINCT 'service ' || p.name || '/' || s.name FROM replica r JOIN service s ON s.id = r.service_id
                 JOIN project p ON p.id = r.project_id WHERE r.host_id = ?1 AND (?2 OR r.phase <> 'removing')
                 UNION SELECT 'volume ' || p.name || '/' || json_extract(v.spec, '$.name') FROM volume_place v
                 JOIN project p ON p.id = v.project_id WHERE v.host_id = ?1 AND (?2 OR NOT v.doomed) ORDER BY 1",
            )?;
            let users: Vec<String> = statement
                .query_map((id.as_str(), unless == Unless::Used), |row| row.get(0))?
                .collect::<Result<_, _>>()?;
            if !users.is_empty() && unless != Unless::Never {
                return Ok(HostRemoved::InUse(users));
            }
            let mut projects = BTreeSet::new();
            for table in ["replica", "volume_place", "network_place"] {
                let sql = format!("DELETE FROM {table} WHERE host_id = ?1 RETURNING project_id");
                let mut delete = db.conn.prepare_cached(&sql)?;
                projects.extend(json::rows(&mut delete, [id.as_str()], |row| json::parsed(row, 0, "project id"))?);
            }
            for project in &projects {
                let project: &ProjectId = project;
                let sql = "UPDATE project SET version = version + 1 WHERE id = ?1";
                db.conn.prepare_cached(sql)?.execute([project.as_str()])?;
            }
            for table in ["host_token", "host_log"] {
                db.conn.execute(&format!("DELETE FROM {table} WHERE host_id = ?1"), [id.as_str()])?;
            }
            db.conn.execute("DELETE FROM host WHERE id = ?1", [id.as_str()])?;
            audit::record(db, &entry.with(Some(told(&host)), None))?;
            Ok(HostRemoved::Removed(Box::new(host), projects))
        })
        .await
    }

    /// Notes when hosts were heard last. May be lost in a crash.
    pub async fn hosts_seen(&self, seen: Vec<(HostId, UnixMillis)>) -> Result<(), StoreError> {
        self.write(Durability::Behind, seen.len(), move |db| {
            let mut update = db.conn.prepare_cached("UPDATE host SET last_seen = ?2 WHERE id = ?1")?;
            for (id, at) in &seen {
                update.execute((id.as_str(), at.0))?;
            }
            Ok(())
        })
        .await
    }

    /// Every host adopts from now on, in the history of this database: it is an older one than what hosts run (STATE-13,
    /// R31).
    pub async fn hosts_adopt(&self) -> Result<(), StoreError> {
        self.write(Durability::Durable, 1, |db| {
            db.conn.execute("UPDATE host SET adopting = 1, epoch = NULL", [])?;
            Ok(())
        })
        .await
    }

    /// A host adopts from now on, in a history of its own that begins anew: it has applied a state that this database never
    /// numbered (R26). Durable before the first state of that history is sent.
    pub async fn host_adopts(&self, id: HostId, epoch: String) -> Result<(), StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let sql = "UPDATE host SET adopting = 1, epoch = ?2, generation = 0 WHERE id = ?1";
            match db.conn.prepare_cached(sql)?.execute((id.as_str(), &epoch))? {
                0 => Err(StoreError::Missing("host")),
                _ => Ok(()),
            }
        })
        .await
    }
}

pub(super) fn by_id(conn: &Connection, id: &HostId) -> Result<Option<Host>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM host WHERE id = ?1");
    json::first(&mut conn.prepare_cached(&sql)?, [id.as_str()], host)
}

pub(super) fn insert(conn: &Connection, host: &Host) -> Result<(), StoreError> {
    let mut insert = conn.prepare_cached(
        "INSERT INTO host (id, name, machine_id, instance_id, wg_public_key, mesh_ip, labels, facts, agent_version, mode,
         allowed_paths, adopting, generation, boot_id, ratchet, joined_at, version)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, '', '{}', ?14, ?15)",
    )?;
    insert.execute(rusqlite::params![
        host.id.as_str(),
        host.name,
        host.machine_id,
        host.instance_id,
        host.wg_public_key,
        host.mesh_ip.to_string(),
        json::text(&host.labels, "label")?,
        json::text(&host.facts, "fact")?,
        host.agent_version,
        host.mode.as_str(),
        json::text(&host.allowed_paths, "path")?,
        host.adopting,
        signed(host.generation),
        host.joined_at.0,
        signed(host.version),
    ])?;
    Ok(())
}

pub(super) fn host(row: &Row<'_>) -> Result<Host, StoreError> {
    let mode: String = row.get(9)?;
    Ok(Host {
        id: json::parsed(row, 0, "host id")?,
        name: row.get(1)?,
        machine_id: row.get(2)?,
        instance_id: row.get(3)?,
        wg_public_key: row.get(4)?,
        mesh_ip: json::parsed::<Ipv4Addr>(row, 5, "address")?,
        labels: json::read(row, 6, "label")?,
        facts: json::read(row, 7, "fact")?,
        agent_version: row.get(8)?,
        mode: HostMode::of(&mode).ok_or(StoreError::Corrupt("mode of a host"))?,
        allowed_paths: json::read(row, 10, "path")?,
        adopting: row.get(11)?,
        generation: unsigned(row.get(12)?),
        joined_at: millis(row, 13)?,
        last_seen: optional_millis(row, 14)?,
        version: unsigned(row.get(15)?),
        epoch: row.get(16)?,
    })
}

/// A host as the audit trail tells it.
pub(super) fn told(host: &Host) -> Value {
    json!({
        "id": host.id.as_str(),
        "name": host.name,
        "labels": host.labels,
        "mode": host.mode.as_str(),
        "allowed_paths": host.allowed_paths,
        "adopting": host.adopting,
    })
}
