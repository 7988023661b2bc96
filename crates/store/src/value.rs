//! Numbers and ids on their way into and out of columns.

use model::{CredentialId, TokenHash, UnixMillis};
use opamp_proto::InstanceUid;
use rusqlite::Row;

use crate::error::StoreError;

/// SQL has no unsigned 64 bits: the same bits, read as a signed number.
pub(crate) const fn signed(number: u64) -> i64 {
    number.cast_signed()
}

/// The way back from [`signed`].
pub(crate) const fn unsigned(number: i64) -> u64 {
    number.cast_unsigned()
}

pub(crate) fn millis(row: &Row<'_>, column: usize) -> rusqlite::Result<UnixMillis> {
    row.get(column).map(UnixMillis)
}

pub(crate) fn optional_millis(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<UnixMillis>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(UnixMillis))
}

pub(crate) fn credential_id(row: &Row<'_>, column: usize) -> rusqlite::Result<CredentialId> {
    row.get(column).map(CredentialId)
}

pub(crate) fn hash(row: &Row<'_>, column: usize) -> rusqlite::Result<TokenHash> {
    row.get(column).map(TokenHash)
}

pub(crate) fn uid(bytes: &[u8]) -> Result<InstanceUid, StoreError> {
    InstanceUid::try_from_slice(bytes).map_err(|_| StoreError::Corrupt("instance_uid"))
}

pub(crate) fn optional_uid(bytes: Option<Vec<u8>>) -> Result<Option<InstanceUid>, StoreError> {
    bytes.map(|bytes| uid(&bytes)).transpose()
}

/// A pattern for LIKE with `\` as escape: the text occurs anywhere.
pub(crate) fn like_pattern(text: &str) -> String {
    let mut pattern = String::from("%");
    for c in text.chars().take(256) {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}
