//! Configurations and their revisions. A revision is never changed after it was written; what its files may hold is
//! checked by the control plane.

use model::{ConfigId, RevisionId, UnixMillis};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::audit::{self, AuditEntry};
use crate::error::StoreError;
use crate::store::Store;
use crate::value::{self, unsigned};
use crate::writer::Durability;

/// A configuration with what its last revision says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigRow {
    /// Its number.
    pub id: ConfigId,
    /// Its name; unique.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// When it was made.
    pub created_at: UnixMillis,
    /// Counts changes of the description and the revisions.
    pub version: u64,
    /// Its last revision.
    pub latest: RevisionRow,
    /// How many assignments it has.
    pub assignments: u64,
    /// How many agents are to run one of its revisions.
    pub agents: u64,
}

/// A revision without its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisionRow {
    /// Its number over all configurations.
    pub id: RevisionId,
    /// Whose it is.
    pub config: ConfigId,
    /// Its number within its configuration, from 1.
    pub number: u32,
    /// Who wrote it.
    pub author: String,
    /// Why.
    pub message: String,
    /// When.
    pub created_at: UnixMillis,
    /// The `config_hash` of its files.
    pub hash: Vec<u8>,
}

/// A revision in a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryRow {
    /// The revision.
    pub revision: RevisionRow,
    /// Name, type and length of its files.
    pub files: Vec<(String, String, u64)>,
    /// How many assignments settled on it or go there.
    pub assignments: u64,
}

/// One file of a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFile {
    /// Its name; empty for the only one.
    pub name: String,
    /// Its MIME type.
    pub content_type: String,
    /// Its content.
    pub body: Vec<u8>,
}

/// A revision to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRevision {
    /// Who writes it.
    pub author: String,
    /// Why.
    pub message: String,
    /// When.
    pub created_at: UnixMillis,
    /// The `config_hash` of the files.
    pub hash: Vec<u8>,
    /// The files.
    pub files: Vec<StoredFile>,
}

/// What became of a new revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Added {
    /// It is written.
    Revision(RevisionRow),
    /// The last one has the same files; nothing was written.
    Unchanged(RevisionRow),
    /// It was based on another one than the last, which is this.
    Outdated(RevisionRow),
}

/// What became of a change that named the version it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed<T> {
    /// Done.
    Done(T),
    /// Somebody was quicker: nothing was changed.
    Meanwhile,
    /// There is no such thing.
    Unknown,
    /// It is in use by so many assignments and overrides, and stays.
    InUse(u64),
}

/// A page of configurations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigPage {
    /// They, by name.
    pub items: Vec<ConfigRow>,
    /// The name after which the next page begins.
    pub next: Option<String>,
    /// How many there are on all pages.
    pub total: u64,
}

const SELECT_CONFIG: &str = "SELECT c.id, c.name, c.description, c.created_at, c.version,
    (SELECT count(*) FROM assignment a WHERE a.config_id = c.id),
    (SELECT count(*) FROM agent_config g JOIN config_revision x ON x.id = g.revision_id WHERE x.config_id = c.id),
    r.id, r.config_id, r.number, r.author, r.message, r.created_at, r.hash
    FROM config c JOIN config_revision r ON r.config_id = c.id
        AND r.number = (SELECT max(number) FROM config_revision WHERE config_id = c.id)";

const REVISION: &str = "id, config_id, number, author, message, created_at, hash";

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
        version: Option<u64>,
        entry: AuditEntry,
    ) -> Result<Changed<ConfigRow>, StoreError> {
        let (name, description) = (name.into(), description.into());
        self.write(Durability::Durable, 1, move |db| {
            let Some(found) = config(db.conn, &name)? else { return Ok(Changed::Unknown) };
            if version.is_some_and(|version| version != found.version) {
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
        version: Option<u64>,
        entry: AuditEntry,
    ) -> Result<Changed<ConfigRow>, StoreError> {
        let name = name.into();
        self.write(Durability::Durable, 1, move |db| {
            let Some(found) = config(db.conn, &name)? else { return Ok(Changed::Unknown) };
            if version.is_some_and(|version| version != found.version) {
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

    /// Adds a revision; `None` when there is no such configuration. `based_on` is the number of the revision that
    /// its author saw. Durable.
    pub async fn add_revision(
        &self,
        name: impl Into<String>,
        based_on: Option<u32>,
        new: NewRevision,
        entry: AuditEntry,
    ) -> Result<Option<Added>, StoreError> {
        let name = name.into();
        self.write(Durability::Durable, 1 + new.files.len(), move |db| {
            let Some(found) = config(db.conn, &name)? else { return Ok(None) };
            let latest = found.latest;
            if latest.hash == new.hash {
                return Ok(Some(Added::Unchanged(latest)));
            }
            if based_on.is_some_and(|number| number != latest.number) {
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

fn page(
    conn: &Connection,
    text: Option<&str>,
    after: Option<&str>,
    limit: u32,
) -> Result<ConfigPage, StoreError> {
    let pattern = text.map(crate::value::like_pattern);
    let matching = "(?1 IS NULL OR c.name LIKE ?1 ESCAPE '\\' OR c.description LIKE ?1 ESCAPE '\\')";
    let sql =
        format!("{SELECT_CONFIG} WHERE {matching} AND (?2 IS NULL OR c.name > ?2) ORDER BY c.name LIMIT ?3");
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map((&pattern, after, limit + 1), config_row)?;
    let mut items = rows.collect::<Result<Vec<_>, _>>()?;
    let mut count = conn.prepare_cached(&format!("SELECT count(*) FROM config c WHERE {matching}"))?;
    let total = unsigned(count.query_row([&pattern], |row| row.get(0))?);
    let next = (items.len() > limit as usize).then(|| {
        items.truncate(limit as usize);
        items.last().map(|last| last.name.clone())
    });
    Ok(ConfigPage { items, next: next.flatten(), total })
}

fn config(conn: &Connection, name: &str) -> Result<Option<ConfigRow>, StoreError> {
    let mut statement = conn.prepare_cached(&format!("{SELECT_CONFIG} WHERE c.name = ?1"))?;
    Ok(statement.query_row([name], config_row).optional()?)
}

fn config_row(row: &Row<'_>) -> rusqlite::Result<ConfigRow> {
    Ok(ConfigRow {
        id: ConfigId(row.get(0)?),
        name: row.get(1)?,
        description: row.get(2)?,
        created_at: value::millis(row, 3)?,
        version: unsigned(row.get(4)?),
        assignments: unsigned(row.get(5)?),
        agents: unsigned(row.get(6)?),
        latest: revision(row, 7)?,
    })
}

fn revision(row: &Row<'_>, first: usize) -> rusqlite::Result<RevisionRow> {
    Ok(RevisionRow {
        id: RevisionId(row.get(first)?),
        config: ConfigId(row.get(first + 1)?),
        number: row.get(first + 2)?,
        author: row.get(first + 3)?,
        message: row.get(first + 4)?,
        created_at: value::millis(row, first + 5)?,
        hash: row.get(first + 6)?,
    })
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

fn with_files(conn: &Connection, row: RevisionRow) -> Result<(RevisionRow, Vec<StoredFile>), StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT name, content_type, body FROM config_file WHERE revision_id = ?1 ORDER BY name",
    )?;
    let files = statement.query_map([row.id.0], |row| {
        Ok(StoredFile { name: row.get(0)?, content_type: row.get(1)?, body: row.get(2)? })
    })?;
    let files = files.collect::<Result<_, _>>()?;
    Ok((row, files))
}

fn history(
    conn: &Connection,
    config: ConfigId,
    before: Option<u32>,
    limit: u32,
) -> Result<Vec<HistoryRow>, StoreError> {
    let sql = format!(
        "SELECT {REVISION}, (SELECT count(*) FROM assignment a
             WHERE a.settled_revision = r.id OR a.target_revision = r.id)
         FROM config_revision r WHERE config_id = ?1 AND (?2 IS NULL OR number < ?2)
         ORDER BY number DESC LIMIT ?3"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement
        .query_map((config.0, before, limit), |row| Ok((revision(row, 0)?, row.get::<_, i64>(7)?)))?;
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    let mut files = conn.prepare_cached(
        "SELECT name, content_type, length(body) FROM config_file WHERE revision_id = ?1 ORDER BY name",
    )?;
    let mut history = Vec::with_capacity(rows.len());
    for (revision, assignments) in rows {
        let sizes = files.query_map([revision.id.0], |row| {
            Ok((row.get(0)?, row.get(1)?, unsigned(row.get::<_, i64>(2)?)))
        })?;
        let files = sizes.collect::<Result<_, _>>()?;
        history.push(HistoryRow { revision, files, assignments: unsigned(assignments) });
    }
    Ok(history)
}
