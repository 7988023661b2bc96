//! Secrets and configurations of projects, every version of them, and credentials for registries. Contents are sealed by
//! the control plane; nothing here can open them.

use std::collections::BTreeSet;

use host_proto::id::{FileId, ProjectId};
use model::UnixMillis;
use model::hosting::{FileKind, FileVersion, RegistryCredential};
use rusqlite::{Connection, Row};
use serde_json::json as value;

use super::json;
use crate::audit::{self, AuditEntry};
use crate::error::StoreError;
use crate::secrets::SealedSecret;
use crate::store::Store;
use crate::value::{millis, unsigned};
use crate::writer::Durability;

const COLUMNS: &str = "id, project_id, kind, name, number, sha256, size_bytes, created_by, created_at";

/// A version of a file to be kept.
#[derive(Debug, Clone)]
pub struct NewFile {
    /// Its identifier.
    pub id: FileId,
    /// Whose it is.
    pub project_id: ProjectId,
    /// What it is.
    pub kind: FileKind,
    /// Its name in the project.
    pub name: String,
    /// A keyed hash of the content: equal contents are one version.
    pub fingerprint: [u8; 32],
    /// Length of the content in bytes.
    pub size_bytes: u64,
    /// The content.
    pub sealed: SealedSecret,
    /// Who sets it.
    pub created_by: String,
    /// When.
    pub created_at: UnixMillis,
}

impl Store {
    /// Keeps a version of a file; whether it is a new one. Durable, with `entry` about it. The project need not exist yet
    /// when its identifier is taken for it: see [`Store::reserve_project`].
    pub async fn put_file(&self, new: NewFile, entry: AuditEntry) -> Result<(FileVersion, bool), StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let sql = format!(
                "SELECT {COLUMNS} FROM project_file WHERE project_id = ?1 AND kind = ?2 AND name = ?3 AND removed_at IS NULL
                 ORDER BY number DESC LIMIT 1"
            );
            let key = (new.project_id.as_str(), new.kind.as_str(), &new.name);
            let last = json::first(&mut db.conn.prepare_cached(&sql)?, key, file)?;
            if let Some(last) = last.filter(|last| last.sha256 == new.fingerprint) {
                return Ok((last, false));
            }
            let sql = "SELECT coalesce(max(number), 0) + 1 FROM project_file
                       WHERE project_id = ?1 AND kind = ?2 AND name = ?3";
            let number: u32 = db.conn.prepare_cached(sql)?.query_row(key, |row| row.get(0))?;
            db.conn
                .prepare_cached(
                    "INSERT INTO project_file (id, project_id, kind, name, number, sha256, size_bytes, key_id, ciphertext,
                     created_by, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                )?
                .execute(rusqlite::params![
                    new.id.as_str(),
                    new.project_id.as_str(),
                    new.kind.as_str(),
                    new.name,
                    number,
                    new.fingerprint,
                    crate::value::signed(new.size_bytes),
                    new.sealed.key_id,
                    new.sealed.ciphertext,
                    new.created_by,
                    new.created_at.0,
                ])?;
            let told = value!({ "version": number, "size_bytes": new.size_bytes });
            audit::record(db, &entry.with(None, Some(told)))?;
            let version = FileVersion {
                id: new.id.clone(),
                project_id: new.project_id.clone(),
                kind: new.kind,
                name: new.name.clone(),
                number,
                sha256: new.fingerprint,
                size_bytes: new.size_bytes,
                created_by: new.created_by.clone(),
                created_at: new.created_at,
            };
            Ok((version, true))
        })
        .await
    }

    /// The newest version of each file of a project that was not removed, by kind and name.
    pub async fn files_of(&self, project: ProjectId) -> Result<Vec<FileVersion>, StoreError> {
        self.read(move |reader| {
            let sql = format!(
                "SELECT {COLUMNS} FROM project_file f WHERE project_id = ?1 AND removed_at IS NULL AND number =
                 (SELECT max(number) FROM project_file WHERE project_id = ?1 AND kind = f.kind AND name = f.name)
                 ORDER BY kind, name"
            );
            json::rows(&mut reader.conn.prepare_cached(&sql)?, [project.as_str()], file)
        })
        .await
    }

    /// Removes a file from those that new deployments can name; running replicas keep what they have. Whether it was there.
    /// Durable, with `entry` about it.
    pub async fn remove_file(
        &self,
        project: ProjectId,
        kind: FileKind,
        name: String,
        now: UnixMillis,
        entry: AuditEntry,
    ) -> Result<bool, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let removed = db.conn.execute(
                "UPDATE project_file SET removed_at = ?4
                 WHERE project_id = ?1 AND kind = ?2 AND name = ?3 AND removed_at IS NULL",
                (project.as_str(), kind.as_str(), &name, now.0),
            )?;
            if removed > 0 {
                audit::record(db, &entry)?;
            }
            Ok(removed > 0)
        })
        .await
    }

    /// The sealed contents of files, with kind and the name that they were sealed under.
    pub async fn file_contents(
        &self,
        ids: BTreeSet<FileId>,
    ) -> Result<Vec<(FileId, FileKind, SealedSecret)>, StoreError> {
        self.read(move |reader| {
            let sql = "SELECT kind, key_id, ciphertext FROM project_file WHERE id = ?1";
            let mut statement = reader.conn.prepare_cached(sql)?;
            let mut all = Vec::new();
            for id in ids {
                let row = |row: &Row<'_>| {
                    let kind: String = row.get(0)?;
                    let kind = FileKind::of(&kind).ok_or(StoreError::Corrupt("file"))?;
                    Ok((kind, SealedSecret { key_id: row.get(1)?, ciphertext: row.get(2)? }))
                };
                if let Some((kind, sealed)) = json::first(&mut statement, [id.as_str()], row)? {
                    all.push((id, kind, sealed));
                }
            }
            Ok(all)
        })
        .await
    }

    /// Keeps the credential for a registry, in place of what was there. Durable, with `entry` about it.
    pub async fn put_registry(
        &self,
        credential: RegistryCredential,
        sealed: SealedSecret,
        entry: AuditEntry,
    ) -> Result<(), StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            db.conn.execute(
                "INSERT INTO registry_credential (registry, username, key_id, ciphertext, created_by, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (registry) DO UPDATE SET username = excluded.username,
                 key_id = excluded.key_id, ciphertext = excluded.ciphertext, created_by = excluded.created_by,
                 created_at = excluded.created_at",
                (
                    &credential.registry,
                    &credential.username,
                    &sealed.key_id,
                    &sealed.ciphertext,
                    &credential.created_by,
                    credential.created_at.0,
                ),
            )?;
            let told = value!({ "username": credential.username });
            audit::record(db, &entry.with(None, Some(told)))
        })
        .await
    }

    /// Every credential for a registry with its sealed password, by registry.
    pub async fn registries(&self) -> Result<Vec<(RegistryCredential, SealedSecret)>, StoreError> {
        self.read(|reader| registries(&reader.conn)).await
    }

    /// Removes the credential for a registry; whether it was there. Durable, with `entry` about it.
    pub async fn remove_registry(&self, registry: String, entry: AuditEntry) -> Result<bool, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let removed =
                db.conn.execute("DELETE FROM registry_credential WHERE registry = ?1", [&registry])?;
            if removed > 0 {
                audit::record(db, &entry)?;
            }
            Ok(removed > 0)
        })
        .await
    }

    /// Makes an empty project, so that secrets can be set before its first deployment. The project of that name if there
    /// is one.
    pub async fn reserve_project(
        &self,
        id: ProjectId,
        name: String,
        now: UnixMillis,
    ) -> Result<ProjectId, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            db.conn.execute(
                "INSERT INTO project (id, name, networks, volumes, source, created_at, version)
                 VALUES (?1, ?2, '[]', '[]', '', ?3, 1) ON CONFLICT (name) DO NOTHING",
                (id.as_str(), &name, now.0),
            )?;
            let sql = "SELECT id FROM project WHERE name = ?1";
            json::first(&mut db.conn.prepare_cached(sql)?, [&name], |row| json::parsed(row, 0, "project id"))?
                .ok_or(StoreError::Missing("project"))
        })
        .await
    }
}

pub(super) fn registries(conn: &Connection) -> Result<Vec<(RegistryCredential, SealedSecret)>, StoreError> {
    let sql = "SELECT registry, username, created_by, created_at, key_id, ciphertext FROM registry_credential
               ORDER BY registry";
    let row = |row: &Row<'_>| {
        let credential = RegistryCredential {
            registry: row.get(0)?,
            username: row.get(1)?,
            created_by: row.get(2)?,
            created_at: millis(row, 3)?,
        };
        Ok((credential, SealedSecret { key_id: row.get(4)?, ciphertext: row.get(5)? }))
    };
    json::rows(&mut conn.prepare_cached(sql)?, [], row)
}

fn file(row: &Row<'_>) -> Result<FileVersion, StoreError> {
    let kind: String = row.get(2)?;
    Ok(FileVersion {
        id: json::parsed(row, 0, "file id")?,
        project_id: json::parsed(row, 1, "project id")?,
        kind: FileKind::of(&kind).ok_or(StoreError::Corrupt("file"))?,
        name: row.get(3)?,
        number: row.get(4)?,
        sha256: row.get(5)?,
        size_bytes: unsigned(row.get(6)?),
        created_by: row.get(7)?,
        created_at: millis(row, 8)?,
    })
}
