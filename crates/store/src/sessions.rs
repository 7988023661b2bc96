//! Sessions of people: who is logged in, until when.

use model::{Session, TokenHash, UnixMillis, UserId};
use rusqlite::{OptionalExtension, Row};

use crate::accounts::role;
use crate::audit::{self, AuditEntry};
use crate::error::StoreError;
use crate::store::Store;
use crate::value;
use crate::writer::Durability;

/// The setting that says when somebody logged in for the first time, in milliseconds since 1970.
pub const FIRST_LOGIN: &str = "first_login";

/// A session to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// SHA-256 of the cookie or bearer token.
    pub hash: TokenHash,
    /// Whose.
    pub user: UserId,
    /// SHA-256 of the CSRF token that goes with it.
    pub csrf_hash: TokenHash,
    /// When it begins.
    pub created_at: UnixMillis,
    /// When it ends.
    pub expires_at: UnixMillis,
}

impl Store {
    /// Makes a session. Durable. [`StoreError::Missing`] when there is no such user, or one who is disabled.
    pub async fn create_session(&self, new: NewSession, entry: AuditEntry) -> Result<(), StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let made = db.conn.execute(
                "INSERT INTO session (sha256, account_id, csrf_sha256, created_at, expires_at)
                 SELECT ?1, id, ?3, ?4, ?5 FROM account WHERE id = ?2 AND disabled_at IS NULL",
                (new.hash.0, new.user.0, new.csrf_hash.0, new.created_at.0, new.expires_at.0),
            )?;
            if made == 0 {
                return Err(StoreError::Missing("the user"));
            }
            db.conn.execute(
                "INSERT INTO setting (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING",
                (FIRST_LOGIN, new.created_at.0.to_string()),
            )?;
            audit::record(db, &entry)
        })
        .await
    }

    /// The session of this hash that has not ended at `now`, unless its user is disabled.
    pub async fn session(&self, hash: TokenHash, now: UnixMillis) -> Result<Option<Session>, StoreError> {
        self.read(move |reader| {
            let mut statement = reader.conn.prepare_cached(
                "SELECT s.account_id, a.name, a.role, s.csrf_sha256, s.created_at, s.expires_at
                 FROM session s JOIN account a ON a.id = s.account_id
                 WHERE s.sha256 = ?1 AND s.expires_at > ?2 AND a.disabled_at IS NULL",
            )?;
            statement.query_row((hash.0, now.0), |row| Ok(session(hash, row))).optional()?.transpose()
        })
        .await
    }

    /// Ends a session; whether there was one. Durable.
    pub async fn delete_session(&self, hash: TokenHash, entry: AuditEntry) -> Result<bool, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let was_there = db.conn.execute("DELETE FROM session WHERE sha256 = ?1", [hash.0])? > 0;
            if was_there {
                audit::record(db, &entry)?;
            }
            Ok(was_there)
        })
        .await
    }

    /// Removes sessions that have ended; how many.
    pub async fn sweep_sessions(&self, now: UnixMillis) -> Result<usize, StoreError> {
        self.write(Durability::Behind, 1, move |db| {
            Ok(db.conn.execute("DELETE FROM session WHERE expires_at <= ?1", [now.0])?)
        })
        .await
    }
}

fn session(hash: TokenHash, row: &Row<'_>) -> Result<Session, StoreError> {
    Ok(Session {
        hash,
        user: UserId(row.get(0)?),
        user_name: row.get(1)?,
        role: role(&row.get::<_, String>(2)?)?,
        csrf_hash: value::hash(row, 3)?,
        created_at: value::millis(row, 4)?,
        expires_at: value::millis(row, 5)?,
    })
}
