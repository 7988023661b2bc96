//! The encoded parts of an agent's report: small ones in its `agent_report` row, bulky ones in `blob`.

use bytes::Bytes;
use model::AgentParts;
use opamp_proto::Part;
use opamp_proto::hash::sha256;
use rusqlite::types::ToSqlOutput;
use rusqlite::{OptionalExtension, ToSql, params};

use crate::error::StoreError;
use crate::writer::Db;

/// What a part looks like beside the stored one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Compared {
    /// Nothing to write.
    Equal,
    /// To be written; this is its content, or the hash of its content when it is bulky.
    Changed {
        /// What is stored.
        old: Option<Old>,
    },
}

/// What is stored of a part.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Old {
    Content(Vec<u8>),
    Blob(i64),
}

/// Parts that can be long and that many agents can have alike.
const fn is_bulky(part: Part) -> bool {
    match part {
        Part::EffectiveConfig | Part::PackageStatuses | Part::AvailableComponents => true,
        Part::Description
        | Part::Health
        | Part::RemoteConfigStatus
        | Part::CustomCapabilities
        | Part::ConnectionSettingsStatus => false,
    }
}

/// A part as its column holds it.
enum Column<'a> {
    Null,
    Content(&'a [u8]),
    Blob(i64),
}

impl ToSql for Column<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::from(rusqlite::types::Null),
            Self::Content(bytes) => ToSqlOutput::from(*bytes),
            Self::Blob(id) => ToSqlOutput::from(*id),
        })
    }
}

/// The parts of a new agent.
pub(super) fn insert(db: &mut Db<'_>, id: i64, parts: &AgentParts) -> Result<(), StoreError> {
    let mut columns = [const { Column::Null }; 8];
    for (part, bytes) in parts.iter() {
        columns[part as usize] = column(db, part, bytes)?;
    }
    let [a, b, c, d, e, f, g, h] = columns;
    db.statements.insert_report.get()?.execute(params![id, a, b, c, d, e, f, g, h])?;
    Ok(())
}

fn column<'a>(db: &mut Db<'_>, part: Part, bytes: &'a Bytes) -> Result<Column<'a>, StoreError> {
    if !is_bulky(part) {
        return Ok(Column::Content(bytes));
    }
    db.caches.blob_id(db.conn, sha256(bytes), bytes).map(Column::Blob)
}

/// Compares a part with the stored one.
pub(super) fn compare(db: &mut Db<'_>, id: i64, part: Part, new: &Bytes) -> Result<Compared, StoreError> {
    let select = db.statements.select_part[part as usize].get()?;
    if is_bulky(part) {
        let Some(blob) = select.query_row([id], |row| row.get::<_, Option<i64>>(0)).optional()?.flatten()
        else {
            return Ok(Compared::Changed { old: None });
        };
        let hash = db.statements.select_blob_hash.get()?.query_row([blob], |row| row.get::<_, [u8; 32]>(0));
        return Ok(match hash.optional()? {
            Some(hash) if hash == sha256(new) => Compared::Equal,
            _ => Compared::Changed { old: Some(Old::Blob(blob)) },
        });
    }
    let keep = part == Part::Description;
    let compared = select.query_row([id], |row| {
        Ok(match row.get_ref(0)?.as_blob_or_null()? {
            Some(old) if old == &new[..] => Compared::Equal,
            Some(old) if keep => Compared::Changed { old: Some(Old::Content(old.to_vec())) },
            _ => Compared::Changed { old: None },
        })
    });
    Ok(compared.optional()?.unwrap_or(Compared::Changed { old: None }))
}

/// Writes a part in place of the stored one.
pub(super) fn update(
    db: &mut Db<'_>,
    id: i64,
    part: Part,
    (old, new): (Option<&Old>, &Bytes),
) -> Result<(), StoreError> {
    let column = column(db, part, new)?;
    db.statements.update_part[part as usize].get()?.execute(params![id, column])?;
    if let Some(Old::Blob(blob)) = old {
        db.statements.mark_unused.get()?.execute([blob])?;
    }
    Ok(())
}
