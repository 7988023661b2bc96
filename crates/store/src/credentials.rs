//! Enrolment tokens: who may bring agents in. The text is known only to whom it was shown.

use model::{Credential, CredentialId, TokenHash, UnixMillis};
use rusqlite::{OptionalExtension, Row};
use serde_json::json;

use crate::audit::{self, AuditEntry};
use crate::error::StoreError;
use crate::store::Store;
use crate::value;
use crate::writer::Durability;

/// A credential to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCredential {
    /// What the operator calls it.
    pub label: String,
    /// The hash of its text.
    pub hash: TokenHash,
    /// When it is made.
    pub created_at: UnixMillis,
    /// From when on it enrols nobody new.
    pub expires_at: Option<UnixMillis>,
}

const SELECT: &str = "SELECT c.id, c.label, c.created_at, c.expires_at, c.revoked_at, c.last_used_at,
    (SELECT count(*) FROM agent a WHERE a.credential_id = c.id) FROM credential c";

impl Store {
    /// Makes a credential; the entry tells what it is, the number is added here. Durable. [`StoreError::Exists`] when its text is taken.
    pub async fn create_credential(
        &self,
        new: NewCredential,
        entry: AuditEntry,
    ) -> Result<Credential, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            db.pending.credential_changed();
            let id = db
                .conn
                .query_row(
                    "INSERT INTO credential (label, sha256, created_at, expires_at) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT DO NOTHING RETURNING id",
                    (&new.label, new.hash.0, new.created_at.0, new.expires_at.map(|at| at.0)),
                    |row| row.get::<_, i64>(0),
                )
                .optional()?
                .ok_or(StoreError::Exists("a credential with this text"))?;
            audit::record(db, &entry.about(format!("token/{id}")))?;
            Ok(db.conn.query_row(&format!("{SELECT} WHERE c.id = ?1"), [id], from_row)?)
        })
        .await
    }

    /// The credential whose text has this hash, revoked or not.
    pub async fn credential_by_hash(&self, hash: TokenHash) -> Result<Option<Credential>, StoreError> {
        self.read(move |reader| {
            let mut statement = reader.conn.prepare_cached(&format!("{SELECT} WHERE c.sha256 = ?1"))?;
            Ok(statement.query_row([hash.0], from_row).optional()?)
        })
        .await
    }

    /// A credential.
    pub async fn credential(&self, id: CredentialId) -> Result<Option<Credential>, StoreError> {
        self.read(move |reader| {
            let mut statement = reader.conn.prepare_cached(&format!("{SELECT} WHERE c.id = ?1"))?;
            Ok(statement.query_row([id.0], from_row).optional()?)
        })
        .await
    }

    /// All credentials, the newest first, revoked ones included.
    pub async fn credentials(&self) -> Result<Vec<Credential>, StoreError> {
        self.read(move |reader| {
            let mut statement = reader.conn.prepare_cached(&format!("{SELECT} ORDER BY c.id DESC"))?;
            let rows = statement.query_map([], from_row)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// All credentials with the hashes of their texts, revoked ones included: what a server keeps in memory, so
    /// that no request of an agent asks the database who sent it.
    pub async fn credential_hashes(&self) -> Result<Vec<(TokenHash, Credential)>, StoreError> {
        self.read(move |reader| {
            let mut statement = reader.conn.prepare_cached(
                "SELECT c.id, c.label, c.created_at, c.expires_at, c.revoked_at, c.last_used_at,
                 (SELECT count(*) FROM agent a WHERE a.credential_id = c.id), c.sha256 FROM credential c",
            )?;
            let rows = statement.query_map([], |row| Ok((TokenHash(row.get(7)?), from_row(row)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// Revokes a credential; `None` when there is no such one. One that is revoked keeps its first date.
    /// Durable. Ending its live sessions is the caller's.
    pub async fn revoke_credential(
        &self,
        id: CredentialId,
        entry: AuditEntry,
    ) -> Result<Option<Credential>, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            db.pending.credential_changed();
            let changed = db.conn.execute(
                "UPDATE credential SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL",
                (id.0, entry.at.0),
            )?;
            let found =
                db.conn.query_row(&format!("{SELECT} WHERE c.id = ?1"), [id.0], from_row).optional()?;
            if let (Some(credential), 1..) = (&found, changed) {
                let before = json!({ "label": credential.label, "agents": credential.agents });
                audit::record(db, &entry.about(format!("token/{id}")).with(Some(before), None))?;
            }
            Ok(found)
        })
        .await
    }

    /// Notes that credentials were used; earlier dates are ignored. Written behind.
    pub async fn touch_credentials(&self, used: Vec<(CredentialId, UnixMillis)>) -> Result<(), StoreError> {
        self.write(Durability::Behind, used.len(), move |db| {
            let mut statement = db.conn.prepare_cached(
                "UPDATE credential SET last_used_at = ?2
                 WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at < ?2)",
            )?;
            for (id, at) in &used {
                statement.execute((id.0, at.0))?;
            }
            Ok(())
        })
        .await
    }
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Credential> {
    Ok(Credential {
        id: value::credential_id(row, 0)?,
        label: row.get(1)?,
        created_at: value::millis(row, 2)?,
        expires_at: value::optional_millis(row, 3)?,
        revoked_at: value::optional_millis(row, 4)?,
        last_used_at: value::optional_millis(row, 5)?,
        agents: value::unsigned(row.get(6)?),
    })
}
