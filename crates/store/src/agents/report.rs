//! The encoded parts of an agent's report: small ones in its `agent_report` row, bulky ones in `blob`.

use bytes::Bytes;
use model::AgentParts;
use opamp_proto::Part;
use opamp_proto::hash::sha256;
use opamp_proto::wire::{self, Message as _};
use rusqlite::types::ToSqlOutput;
use rusqlite::{OptionalExtension, ToSql, params};

use super::hot::{MAX_ERROR, RemoteConfigColumns};
use super::write::AgentWrite;
use crate::error::StoreError;
use crate::value::signed;
use crate::writer::Db;

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
    if part == Part::RemoteConfigStatus && is_in_row(bytes) {
        return Ok(Column::Null);
    }
    if !is_bulky(part) {
        return Ok(Column::Content(bytes));
    }
    db.caches.blob_id(db.conn, sha256(bytes), bytes).map(Column::Blob)
}

/// Writes a part in place of the stored one, when it differs; whether it did. Descriptions have their own way,
/// since the index follows them: [`other_description`].
pub(super) fn update(db: &mut Db<'_>, id: i64, part: Part, new: &Bytes) -> Result<bool, StoreError> {
    if is_bulky(part) {
        return update_bulky(db, id, part, new);
    }
    if part == Part::RemoteConfigStatus && is_in_row(new) {
        return Ok(db.statements.forget_status.get()?.execute([id])? > 0);
    }
    let column = &new[..];
    // The statement compares by itself: one look at the row instead of two.
    Ok(db.statements.update_part[part as usize].get()?.execute(params![id, column])? > 0)
}

/// Writes a status of a remote configuration that comes alone, in the one row that says it: the answer of a fleet to another
/// revision. Whether it did: else there is more to be written, or nothing, or the row is another session's.
pub(super) fn put_only_status(db: &mut Db<'_>, write: &AgentWrite) -> Result<bool, StoreError> {
    let Some(bytes) = write.only_status() else { return Ok(false) };
    if !is_in_row(bytes) {
        return Ok(false);
    }
    let Some(columns) = RemoteConfigColumns::of(bytes) else { return Ok(false) };
    let to = params![
        write.uid.as_bytes(),
        signed(write.epoch.server.0),
        signed(write.epoch.session),
        write.last_seen.0,
        signed(write.sequence_num),
        columns.status,
        columns.hash,
        columns.error,
    ];
    let id = db.statements.update_status.get()?.query_row(to, |row| row.get::<_, i64>(0)).optional()?;
    let Some(id) = id else { return Ok(false) };
    db.statements.forget_status.get()?.execute([id])?;
    Ok(true)
}

/// Whether the agent's own row says all that a status of a remote configuration says, so that writing it once suffices:
/// [`remote_config_status`] makes the same bytes of it again.
fn is_in_row(status: &[u8]) -> bool {
    let Ok(wire) = wire::RemoteConfigStatus::decode(status) else { return false };
    wire.error_message.len() <= MAX_ERROR && wire.encode_to_vec() == status
}

/// The status that a row's columns stand for.
pub(super) fn remote_config_status(status: i32, hash: Vec<u8>, error: String) -> Bytes {
    let last_remote_config_hash = hash.into();
    wire::RemoteConfigStatus { last_remote_config_hash, status, error_message: error }.encode_to_vec().into()
}

fn update_bulky(db: &mut Db<'_>, id: i64, part: Part, new: &Bytes) -> Result<bool, StoreError> {
    let select = db.statements.select_part[part as usize].get()?;
    let old = select.query_row([id], |row| row.get::<_, Option<i64>>(0)).optional()?.flatten();
    let new_hash = sha256(new);
    if let Some(old) = old {
        let select = db.statements.select_blob_hash.get()?;
        let hash = select.query_row([old], |row| row.get::<_, [u8; 32]>(0)).optional()?;
        if hash == Some(new_hash) {
            return Ok(false);
        }
    }
    let blob = db.caches.blob_id(db.conn, new_hash, new)?;
    db.statements.update_part[part as usize].get()?.execute((id, blob))?;
    if let Some(old) = old {
        db.statements.mark_unused.get()?.execute([old])?;
    }
    Ok(true)
}

/// What the stored description is, when it is another than this one.
pub(super) enum Described {
    /// The same.
    Same,
    /// Another, or none.
    Otherwise(Option<Vec<u8>>),
}

/// Compares a description with the stored one.
pub(super) fn other_description(db: &mut Db<'_>, id: i64, new: &Bytes) -> Result<Described, StoreError> {
    let select = db.statements.select_part[Part::Description as usize].get()?;
    let described = select.query_row([id], |row| {
        Ok(match row.get_ref(0)?.as_blob_or_null()? {
            Some(old) if old == &new[..] => Described::Same,
            old => Described::Otherwise(old.map(<[u8]>::to_vec)),
        })
    });
    Ok(described.optional()?.unwrap_or(Described::Otherwise(None)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_that_the_row_says_is_made_again_byte_for_byte() {
        for (status, hash, error) in [(0, &b""[..], ""), (1, b"h", ""), (3, b"\0\xff", "no"), (77, b"h", "x")]
        {
            let bytes = remote_config_status(status, hash.to_vec(), error.to_owned());
            assert!(is_in_row(&bytes));
            let wire = wire::RemoteConfigStatus::decode(bytes).unwrap();
            assert_eq!((wire.status, &wire.last_remote_config_hash[..]), (status, hash));
            assert_eq!(wire.error_message, error);
        }
    }

    #[test]
    fn a_status_that_says_more_than_the_row_is_kept_as_it_came() {
        let long = remote_config_status(3, Vec::new(), "x".repeat(MAX_ERROR + 1));
        let unknown_field = [&remote_config_status(1, vec![1], String::new())[..], &[0x78, 1]].concat();
        let other_order = [0x10, 1, 0x0a, 1, 7];
        for bytes in [&long[..], &unknown_field, &other_order, &[0xff]] {
            assert!(!is_in_row(bytes), "{bytes:?}");
        }
    }
}
