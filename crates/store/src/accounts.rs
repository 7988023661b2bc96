//! People who sign in, and their sessions. Hashing and checking passwords is the control plane's.

use model::{Role, Session, TokenHash, UnixMillis, User, UserId};
use rusqlite::{OptionalExtension, Row};

use crate::error::StoreError;
use crate::store::Store;
use crate::value;
use crate::writer::Durability;

/// A user to be made.
#[derive(Clone, PartialEq, Eq)]
pub struct NewUser {
    /// The name to sign in with; unique.
    pub name: String,
    /// What the user may do.
    pub role: Role,
    /// The password's hash in PHC form.
    pub password_hash: String,
    /// When.
    pub created_at: UnixMillis,
}

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

const SELECT_USER: &str = "SELECT id, name, role, password_hash, created_at FROM account";

impl Store {
    /// Makes a user. Durable. [`StoreError::Exists`] when the name is taken.
    pub async fn create_user(&self, new: NewUser) -> Result<User, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            db.conn
                .query_row(
                    "INSERT INTO account (name, role, password_hash, created_at) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT DO NOTHING RETURNING id, name, role, password_hash, created_at",
                    (&new.name, new.role.as_str(), &new.password_hash, new.created_at.0),
                    |row| Ok(user(row)),
                )
                .optional()?
                .ok_or(StoreError::Exists("a user with this name"))?
        })
        .await
    }

    /// The user of a name.
    pub async fn user_by_name(&self, name: impl Into<String>) -> Result<Option<User>, StoreError> {
        let name = name.into();
        self.read(move |reader| {
            let mut statement = reader.conn.prepare_cached(&format!("{SELECT_USER} WHERE name = ?1"))?;
            statement.query_row([&name], |row| Ok(user(row))).optional()?.transpose()
        })
        .await
    }

    /// All users by name.
    pub async fn users(&self) -> Result<Vec<User>, StoreError> {
        self.read(move |reader| {
            let mut statement = reader.conn.prepare_cached(&format!("{SELECT_USER} ORDER BY name"))?;
            let rows = statement.query_map([], |row| Ok(user(row)))?;
            rows.collect::<Result<Vec<_>, _>>()?.into_iter().collect()
        })
        .await
    }

    /// Gives a user another password and ends all of the user's sessions. Durable.
    /// [`StoreError::Missing`] when there is no such user.
    pub async fn set_password(
        &self,
        user: UserId,
        password_hash: impl Into<String>,
    ) -> Result<(), StoreError> {
        let password_hash = password_hash.into();
        self.write(Durability::Durable, 1, move |db| {
            let changed = db
                .conn
                .execute("UPDATE account SET password_hash = ?2 WHERE id = ?1", (user.0, &password_hash))?;
            if changed == 0 {
                return Err(StoreError::Missing("the user"));
            }
            db.conn.execute("DELETE FROM session WHERE account_id = ?1", [user.0])?;
            Ok(())
        })
        .await
    }

    /// Makes a session. Durable. [`StoreError::Missing`] when there is no such user.
    pub async fn create_session(&self, new: NewSession) -> Result<(), StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let made = db.conn.execute(
                "INSERT INTO session (sha256, account_id, csrf_sha256, created_at, expires_at)
                 SELECT ?1, id, ?3, ?4, ?5 FROM account WHERE id = ?2",
                (new.hash.0, new.user.0, new.csrf_hash.0, new.created_at.0, new.expires_at.0),
            )?;
            if made == 0 {
                return Err(StoreError::Missing("the user"));
            }
            Ok(())
        })
        .await
    }

    /// The session of this hash that has not ended at `now`.
    pub async fn session(&self, hash: TokenHash, now: UnixMillis) -> Result<Option<Session>, StoreError> {
        self.read(move |reader| {
            let mut statement = reader.conn.prepare_cached(
                "SELECT s.account_id, a.name, a.role, s.csrf_sha256, s.created_at, s.expires_at
                 FROM session s JOIN account a ON a.id = s.account_id WHERE s.sha256 = ?1 AND s.expires_at > ?2",
            )?;
            statement.query_row((hash.0, now.0), |row| Ok(session(hash, row))).optional()?.transpose()
        })
        .await
    }

    /// Ends a session; whether there was one. Durable.
    pub async fn delete_session(&self, hash: TokenHash) -> Result<bool, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            Ok(db.conn.execute("DELETE FROM session WHERE sha256 = ?1", [hash.0])? > 0)
        })
        .await
    }

    /// Ends all sessions of a user; how many there were. Durable.
    pub async fn delete_sessions_of(&self, user: UserId) -> Result<usize, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            Ok(db.conn.execute("DELETE FROM session WHERE account_id = ?1", [user.0])?)
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

fn role(text: &str) -> Result<Role, StoreError> {
    text.parse().map_err(|_| StoreError::Corrupt("role"))
}

fn user(row: &Row<'_>) -> Result<User, StoreError> {
    Ok(User {
        id: UserId(row.get(0)?),
        name: row.get(1)?,
        role: role(&row.get::<_, String>(2)?)?,
        password_hash: row.get(3)?,
        created_at: value::millis(row, 4)?,
    })
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
