//! Documents and identifiers on their way into and out of columns.

use std::str::FromStr;

use rusqlite::Row;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::StoreError;

pub(super) fn text<T: Serialize>(value: &T, what: &'static str) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|_| StoreError::Corrupt(what))
}

pub(super) fn read<T: DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
    what: &'static str,
) -> Result<T, StoreError> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|_| StoreError::Corrupt(what))
}

pub(super) fn maybe<T: DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
    what: &'static str,
) -> Result<Option<T>, StoreError> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| serde_json::from_str(&text).map_err(|_| StoreError::Corrupt(what))).transpose()
}

/// A text that is written as [`std::fmt::Display`] and read by [`FromStr`].
pub(super) fn parsed<T: FromStr>(row: &Row<'_>, column: usize, what: &'static str) -> Result<T, StoreError> {
    let text: String = row.get(column)?;
    text.parse().map_err(|_| StoreError::Corrupt(what))
}

pub(super) fn maybe_parsed<T: FromStr>(
    row: &Row<'_>,
    column: usize,
    what: &'static str,
) -> Result<Option<T>, StoreError> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| text.parse().map_err(|_| StoreError::Corrupt(what))).transpose()
}

/// Every row of a statement, through a reader of rows that can fail in our words.
pub(super) fn rows<T>(
    statement: &mut rusqlite::CachedStatement<'_>,
    params: impl rusqlite::Params,
    mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut rows = statement.query(params)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(read(row)?);
    }
    Ok(all)
}

/// The first row of a statement.
pub(super) fn first<T>(
    statement: &mut rusqlite::CachedStatement<'_>,
    params: impl rusqlite::Params,
    read: impl FnOnce(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Option<T>, StoreError> {
    let mut rows = statement.query(params)?;
    match rows.next()? {
        Some(row) => read(row).map(Some),
        None => Ok(None),
    }
}
