//! What the writer remembers between writes: numbers of attribute keys and of bulky texts written lately.
//! Bounded; emptied when a transaction is rolled back.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension};

use crate::error::StoreError;

/// Keys remembered. A fleet has some dozens.
const MAX_KEYS: usize = 4096;
/// Bulky texts remembered, about 60 bytes each.
const MAX_BLOBS: usize = 8192;

pub(crate) struct Caches {
    keys: HashMap<String, i64>,
    blobs: HashMap<[u8; 32], i64>,
}

impl Caches {
    pub(crate) fn new() -> Self {
        Self { keys: HashMap::new(), blobs: HashMap::new() }
    }

    /// The number of an attribute's key, which is given one when it is new.
    pub(super) fn key_id(&mut self, conn: &Connection, name: &str) -> Result<i64, StoreError> {
        if let Some(id) = self.keys.get(name) {
            return Ok(*id);
        }
        let known = conn
            .prepare_cached("SELECT id FROM attribute_key WHERE name = ?1")?
            .query_row([name], |row| row.get::<_, i64>(0))
            .optional()?;
        let id = match known {
            Some(id) => id,
            None => conn
                .prepare_cached("INSERT INTO attribute_key (name) VALUES (?1) RETURNING id")?
                .query_row([name], |row| row.get(0))?,
        };
        if self.keys.len() >= MAX_KEYS {
            self.keys.clear();
        }
        self.keys.insert(name.to_owned(), id);
        Ok(id)
    }

    /// The number of a bulky text, which is stored when it is not remembered. The same text can so be stored
    /// twice, rarely; an index over all hashes would cost every agent with a text of its own a random page.
    pub(super) fn blob_id(
        &mut self,
        conn: &Connection,
        hash: [u8; 32],
        content: &[u8],
    ) -> Result<i64, StoreError> {
        if let Some(id) = self.blobs.get(&hash) {
            return Ok(*id);
        }
        conn.prepare_cached("INSERT INTO blob (sha256, content) VALUES (?1, ?2)")?
            .execute((hash, content))?;
        let id = conn.last_insert_rowid();
        if self.blobs.len() >= MAX_BLOBS {
            self.blobs.clear();
        }
        self.blobs.insert(hash, id);
        Ok(id)
    }

    /// Forgets texts that a sweep may have removed.
    pub(super) fn forget_blobs(&mut self) {
        self.blobs.clear();
    }
}
