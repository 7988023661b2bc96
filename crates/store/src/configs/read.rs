//! Rows of configurations and revisions.

use model::{ConfigId, RevisionId};
use rusqlite::{Connection, OptionalExtension, Row};

use super::noun::{ConfigPage, ConfigRow, HistoryRow, RevisionRow, StoredFile};
use crate::error::StoreError;
use crate::value::{self, unsigned};

const SELECT_CONFIG: &str = "SELECT c.id, c.name, c.description, c.created_at, c.version,
    (SELECT count(*) FROM assignment a WHERE a.config_id = c.id),
    (SELECT count(*) FROM agent_config g WHERE g.config_id = c.id),
    r.id, r.config_id, r.number, r.author, r.message, r.created_at, r.hash
    FROM config c JOIN config_revision r ON r.config_id = c.id
        AND r.number = (SELECT max(number) FROM config_revision WHERE config_id = c.id)";

pub(super) const REVISION: &str = "id, config_id, number, author, message, created_at, hash";

pub(super) fn page(
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

pub(super) fn config(conn: &Connection, name: &str) -> Result<Option<ConfigRow>, StoreError> {
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

pub(super) fn revision(row: &Row<'_>, first: usize) -> rusqlite::Result<RevisionRow> {
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

pub(super) fn with_files(
    conn: &Connection,
    row: RevisionRow,
) -> Result<(RevisionRow, Vec<StoredFile>), StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT name, content_type, body FROM config_file WHERE revision_id = ?1 ORDER BY name",
    )?;
    let files = statement.query_map([row.id.0], |row| {
        Ok(StoredFile { name: row.get(0)?, content_type: row.get(1)?, body: row.get(2)? })
    })?;
    let files = files.collect::<Result<_, _>>()?;
    Ok((row, files))
}

pub(super) fn history(
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
