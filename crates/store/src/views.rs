//! Saved views: questions to the list of agents that were given a name. The question is the API's text; nothing here
//! reads it.

use model::UnixMillis;
use rusqlite::{OptionalExtension, Row};
use serde_json::Value;

use crate::audit::{self, AuditEntry};
use crate::error::StoreError;
use crate::store::Store;
use crate::value;
use crate::writer::Durability;

/// A view to be saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewView {
    /// Its name; unique.
    pub name: String,
    /// What it shows, as JSON.
    pub query: String,
    /// Who saves it.
    pub created_by: String,
    /// When.
    pub created_at: UnixMillis,
}

/// A saved view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewRow {
    /// Its number.
    pub id: i64,
    /// What was saved.
    pub view: NewView,
}

/// What became of a view to be saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ViewAdded {
    /// It is saved.
    View(ViewRow),
    /// Another one has this name.
    NameTaken,
    /// There are as many as there may be.
    Full,
}

/// The most views. They are all listed at once.
pub const MAX_VIEWS: i64 = 500;

impl Store {
    /// Every view, by name.
    pub async fn views(&self) -> Result<Vec<ViewRow>, StoreError> {
        self.read(|reader| {
            let sql = "SELECT id, name, query, created_by, created_at FROM saved_view ORDER BY name";
            let mut statement = reader.conn.prepare_cached(sql)?;
            let rows = statement.query_map([], row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// Saves a view. Durable, with `entry` about it.
    pub async fn create_view(&self, view: NewView, entry: AuditEntry) -> Result<ViewAdded, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let count: i64 = db.conn.query_row("SELECT count(*) FROM saved_view", [], |row| row.get(0))?;
            if count >= MAX_VIEWS {
                return Ok(ViewAdded::Full);
            }
            let NewView { name, query, created_by, created_at } = &view;
            let mut insert = db.conn.prepare_cached(
                "INSERT INTO saved_view (name, query, created_by, created_at) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (name) DO NOTHING RETURNING id",
            )?;
            let id =
                insert.query_row((name, query, created_by, created_at.0), |row| row.get(0)).optional()?;
            let Some(id) = id else { return Ok(ViewAdded::NameTaken) };
            audit::record(db, &entry.about(format!("view/{name}")).with(None, told(&view)))?;
            Ok(ViewAdded::View(ViewRow { id, view: view.clone() }))
        })
        .await
    }

    /// Removes a view; what it was. Durable, with `entry` about it.
    pub async fn delete_view(&self, id: i64, entry: AuditEntry) -> Result<Option<ViewRow>, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let sql =
                "DELETE FROM saved_view WHERE id = ?1 RETURNING id, name, query, created_by, created_at";
            let removed = db.conn.prepare_cached(sql)?.query_row([id], row).optional()?;
            if let Some(ViewRow { view, .. }) = &removed {
                audit::record(db, &entry.about(format!("view/{}", view.name)).with(told(view), None))?;
            }
            Ok(removed)
        })
        .await
    }
}

/// A view as the audit trail tells it.
fn told(view: &NewView) -> Option<Value> {
    serde_json::from_str(&view.query).ok()
}

fn row(row: &Row<'_>) -> rusqlite::Result<ViewRow> {
    let view = NewView {
        name: row.get(1)?,
        query: row.get(2)?,
        created_by: row.get(3)?,
        created_at: value::millis(row, 4)?,
    };
    Ok(ViewRow { id: row.get(0)?, view })
}
