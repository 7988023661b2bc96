//! Sealed secrets and plain settings: small named things. Sealing and opening is the control plane's, with a
//! key that the database never sees.

use model::UnixMillis;
use rusqlite::OptionalExtension;

use crate::error::StoreError;
use crate::store::Store;
use crate::writer::Durability;

/// A secret as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedSecret {
    /// Which key it was sealed with.
    pub key_id: String,
    /// Nonce and ciphertext, as the sealer made them.
    pub ciphertext: Vec<u8>,
}

impl Store {
    /// Stores a secret under a name, in place of what was there. Durable.
    pub async fn put_secret(
        &self,
        name: impl Into<String>,
        secret: SealedSecret,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        let name = name.into();
        self.write(Durability::Durable, 1, move |db| {
            db.conn.execute(
                "INSERT INTO secret (name, key_id, ciphertext, updated_at) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (name) DO UPDATE SET key_id = excluded.key_id, ciphertext = excluded.ciphertext,
                 updated_at = excluded.updated_at",
                (&name, &secret.key_id, &secret.ciphertext, now.0),
            )?;
            Ok(())
        })
        .await
    }

    /// The secret of a name.
    pub async fn secret(&self, name: impl Into<String>) -> Result<Option<SealedSecret>, StoreError> {
        let name = name.into();
        self.read(move |reader| {
            let mut statement =
                reader.conn.prepare_cached("SELECT key_id, ciphertext FROM secret WHERE name = ?1")?;
            let secret = statement
                .query_row([&name], |row| Ok(SealedSecret { key_id: row.get(0)?, ciphertext: row.get(1)? }));
            Ok(secret.optional()?)
        })
        .await
    }

    /// The names of all secrets with the ids of their keys, by name: what a change of keys must go through.
    pub async fn secret_names(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.read(move |reader| {
            let mut statement =
                reader.conn.prepare_cached("SELECT name, key_id FROM secret ORDER BY name")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// Removes a secret; whether there was one. Durable.
    pub async fn delete_secret(&self, name: impl Into<String>) -> Result<bool, StoreError> {
        let name = name.into();
        self.write(Durability::Durable, 1, move |db| {
            Ok(db.conn.execute("DELETE FROM secret WHERE name = ?1", [&name])? > 0)
        })
        .await
    }

    /// Stores a setting under a name, in place of what was there. Durable.
    pub async fn put_setting(
        &self,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<(), StoreError> {
        let (name, value) = (name.into(), value.into());
        self.write(Durability::Durable, 1, move |db| {
            db.conn.execute(
                "INSERT INTO setting (name, value) VALUES (?1, ?2)
                 ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                (&name, &value),
            )?;
            Ok(())
        })
        .await
    }

    /// The setting of a name.
    pub async fn setting(&self, name: impl Into<String>) -> Result<Option<String>, StoreError> {
        let name = name.into();
        self.read(move |reader| {
            let mut statement = reader.conn.prepare_cached("SELECT value FROM setting WHERE name = ?1")?;
            Ok(statement.query_row([&name], |row| row.get(0)).optional()?)
        })
        .await
    }
}
