//! Configurations and their revisions. A revision is never changed after it was written; what its files may hold is
//! checked by the control plane. The nouns are in `noun`, how rows become them in `read`.

mod noun;
mod read;

use model::{ConfigId, RevisionId};
use rusqlite::{Connection, OptionalExtension};

use crate::audit::{self, AuditEntry};
use crate::error::StoreError;
use crate::store::Store;
use crate::value::unsigned;
use crate::version::Expected;
use crate::writer::Durability;

pub use noun::{
    Added, Changed, ConfigPage, ConfigRow, HistoryRow, NewRevision, RevisionRow, Seen, StoredFile,
};
use read::{REVISION, config, history, page, revision, with_files};

impl Store {
    /// Configurations whose name or description holds a text, after a name, in the order of their names.
    pub async fn configs(
        &self,
        text: Option<String>,
        after: Option<String>,
        limit: u32,
    ) -> Result<ConfigPage, StoreError> {
        self.read(move |reader| page(&reader.conn, text.as_deref(), after.as_deref(), limit.clamp(1, 500)))
            .await
    }

    /// The configuration of a name.
    pub async fn config(&self, name: impl Into<String>) -> Result<Option<ConfigRow>, StoreError> {
        let name = name.into();
        self.read(move |reader| config(&reader.conn, &name)).await
    }

    /// Makes a configuration with its first revision. Durable. [`StoreError::Exists`] when the name is taken.
    pub async fn create_config(
        &self,
        name: impl Into<String>,
        description: impl Into<String>,
        first: NewRevision,
        entry: AuditEntry,
    ) -> Result<ConfigRow, StoreError> {
        let (name, description) = (name.into(), description.into());
        self.write(Durability::Durable, 1 + first.files.len(), move |db| {
            let id = db
                .conn
                .query_row(
                    "INSERT INTO config (name, description, created_at, version) VALUES (?1, ?2, ?3, 1)
                     ON CONFLICT DO NOTHING RETURNING id",
                    (&name, &description, first.created_at.0),
                    |row| row.get::<_, i64>(0),
                )
                .optional()?
                .ok_or(StoreError::Exists("a configuration with this name"))?;
            insert_revision(db.conn, ConfigId(id), 1, &first)?;
            audit::record(db, &entry)?;
            config(db.conn, &name)?.ok_or(StoreError::Missing("the configuration"))
        })
        .await
    }

    /// Describes a configuration anew. Durable.
    pub async fn describe_config(
        &self,
        name: impl Into<String>,
        description: impl Into<String>,
        versions: Expected,
        entry: AuditEntry,
    ) -> Result<Changed<ConfigRow>, StoreError> {
        let (name, description) = (name.into(), description.into());
        self.write(Durability::Durable, 1, move |db| {
            let Some(found) = config(db.conn, &name)? else { return Ok(Changed::Unknown) };
            if versions.check(found.version, "the configuration").is_err() {
                return Ok(Changed::Meanwhile);
            }
            db.conn.execute(
                "UPDATE config SET description = ?2, version = version + 1 WHERE id = ?1",
                (found.id.0, &description),
            )?;
            audit::record(
                db,
                &entry.with(Some(found.description.into()), Some(description.as_str().into())),
            )?;
            let changed = config(db.conn, &name)?;
            Ok(changed.map_or(Changed::Unknown, Changed::Done))
        })
        .await
    }

    /// Removes a configuration with all revisions, unless something uses it. Durable.
    pub async fn delete_config(
        &self,
        name: impl Into<String>,
        versions: Expected,
        entry: AuditEntry,
    ) -> Result<Changed<ConfigRow>, StoreError> {
        let name = name.into();
        self.write(Durability::Durable, 1, move |db| {
            let Some(found) = config(db.conn, &name)? else { return Ok(Changed::Unknown) };
            if versions.check(found.version, "the configuration").is_err() {
                return Ok(Changed::Meanwhile);
            }
            let pinned = db.conn.query_row(
                "SELECT count(*) FROM agent_override o JOIN config_revision r ON r.id = o.revision_id
                 WHERE r.config_id = ?1",
                [found.id.0],
                |row| row.get::<_, i64>(0),
            )?;
            match found.assignments + unsigned(pinned) {
                0 => {
                    db.conn.execute("DELETE FROM config WHERE id = ?1", [found.id.0])?;
                    audit::record(db, &entry)?;
                    Ok(Changed::Done(found))
                }
                uses => Ok(Changed::InUse(uses)),
            }
        })
        .await
    }

    /// Adds a revision; `None` when there is no such configuration. `seen` says what its author saw: the number of a
    /// revision, versions of the configuration. Durable.
    pub async fn add_revision(
        &self,
        name: impl Into<String>,
        seen: Seen,
        new: NewRevision,
        entry: AuditEntry,
    ) -> Result<Option<Added>, StoreError> {
        let name = name.into();
        self.write(Durability::Durable, 1 + new.files.len(), move |db| {
            let Some(found) = config(db.conn, &name)? else { return Ok(None) };
            let latest = found.latest;
            seen.versions.check(found.version, "the configuration")?;
            if latest.hash == new.hash {
                return Ok(Some(Added::Unchanged(latest)));
            }
            if seen.revision.is_some_and(|number| number != latest.number) {
                return Ok(Some(Added::Outdated(latest)));
            }
            db.conn.execute("UPDATE config SET version = version + 1 WHERE id = ?1", [found.id.0])?;
            let row = insert_revision(db.conn, found.id, latest.number + 1, &new)?;
            audit::record(db, &entry.with(Some(told(&latest)), Some(told(&row))))?;
            Ok(Some(Added::Revision(row)))
        })
        .await
    }

    /// The revisions of a configuration before a number, the newest first.
    pub async fn revisions(
        &self,
        config: ConfigId,
        before: Option<u32>,
        limit: u32,
    ) -> Result<Vec<HistoryRow>, StoreError> {
        self.read(move |reader| history(&reader.conn, config, before, limit.clamp(1, 501))).await
    }

    /// A revision of a configuration by its number, with its files.
    pub async fn revision(
        &self,
        config: ConfigId,
        number: u32,
    ) -> Result<Option<(RevisionRow, Vec<StoredFile>)>, StoreError> {
        self.read(move |reader| {
            let sql = format!("SELECT {REVISION} FROM config_revision WHERE config_id = ?1 AND number = ?2");
            let mut statement = reader.conn.prepare_cached(&sql)?;
            let found = statement.query_row((config.0, number), |row| revision(row, 0)).optional()?;
            found.map(|row| with_files(&reader.conn, row)).transpose()
        })
        .await
    }

    /// A revision with its files and the name of its configuration.
    pub async fn revision_by_id(
        &self,
        id: RevisionId,
    ) -> Result<Option<(String, RevisionRow, Vec<StoredFile>)>, StoreError> {
        self.read(move |reader| {
            let mut statement = reader.conn.prepare_cached(
                "SELECT c.name, r.id, r.config_id, r.number, r.author, r.message, r.created_at, r.hash
                 FROM config_revision r JOIN config c ON c.id = r.config_id WHERE r.id = ?1",
            )?;
            let found = statement
                .query_row([id.0], |row| Ok((row.get::<_, String>(0)?, revision(row, 1)?)))
                .optional()?;
            let Some((name, row)) = found else { return Ok(None) };
            let (row, files) = with_files(&reader.conn, row)?;
            Ok(Some((name, row, files)))
        })
        .await
    }
}

/// A revision in the audit trail: its number and hash, never its text.
fn told(row: &RevisionRow) -> serde_json::Value {
    let hash: String = row.hash.iter().map(|byte| format!("{byte:02x}")).collect();
    serde_json::json!({ "revision": row.number, "hash": hash, "message": row.message })
}

fn insert_revision(
    conn: &Connection,
    config: ConfigId,
    number: u32,
    new: &NewRevision,
) -> Result<RevisionRow, StoreError> {
    let sql = format!(
        "INSERT INTO config_revision (config_id, number, author, message, created_at, hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6) RETURNING {REVISION}"
    );
    let values = (config.0, number, &new.author, &new.message, new.created_at.0, &new.hash);
    let row = conn.query_row(&sql, values, |row| revision(row, 0))?;
    let mut insert = conn.prepare_cached(
        "INSERT INTO config_file (revision_id, name, content_type, body) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for file in &new.files {
        insert.execute((row.id.0, &file.name, &file.content_type, &file.body))?;
    }
    Ok(row)
}
