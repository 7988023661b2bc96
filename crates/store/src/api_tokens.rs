//! API tokens: programs that call the API. The text is known only to whom it was shown.

use model::{ApiToken, ApiTokenId, Role, TokenHash, UnixMillis};
use rusqlite::{Connection, OptionalExtension, Row};
use serde_json::{Value, json};

use crate::accounts::role;
use crate::audit::{self, AuditEntry};
use crate::error::StoreError;
use crate::store::Store;
use crate::value;
use crate::writer::{Db, Durability};

/// A token to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewApiToken {
    /// What its maker calls it.
    pub label: String,
    /// What it may do at most.
    pub role: Role,
    /// The user that it belongs to.
    pub owner: String,
    /// The hash of its text.
    pub hash: TokenHash,
    /// When it is made.
    pub created_at: UnixMillis,
    /// When it ends by itself.
    pub expires_at: Option<UnixMillis>,
}

/// A token that works, and what it may do now: never more than its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiAccess {
    /// The token.
    pub token: ApiToken,
    /// The lesser of its role and its owner's.
    pub role: Role,
}

const COLUMNS: &str =
    "t.id, t.label, t.role, t.created_by, t.created_at, t.expires_at, t.revoked_at, t.last_used_at";

impl Store {
    /// Makes a token; the entry tells what it is, the number is added here. Durable. [`StoreError::Missing`] when
    /// there is no such owner, or one who is disabled.
    pub async fn create_api_token(
        &self,
        new: NewApiToken,
        entry: AuditEntry,
    ) -> Result<ApiToken, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let id = db
                .conn
                .query_row(
                    "INSERT INTO api_token (label, role, sha256, created_by, created_at, expires_at)
                     SELECT ?1, ?2, ?3, name, ?5, ?6 FROM account WHERE name = ?4 AND disabled_at IS NULL
                     RETURNING id",
                    (
                        &new.label,
                        new.role.as_str(),
                        new.hash.0,
                        &new.owner,
                        new.created_at.0,
                        new.expires_at.map(|at| at.0),
                    ),
                    |row| row.get::<_, i64>(0),
                )
                .optional()?
                .ok_or(StoreError::Missing("the user"))?;
            let token = get(db.conn, ApiTokenId(id))?.ok_or(StoreError::Missing("the API token"))?;
            audit::record(db, &entry.about(format!("api-token/{id}")))?;
            Ok(token)
        })
        .await
    }

    /// The token whose text has this hash, if it works at `now`: it is not revoked and not expired, and its owner
    /// is there and not disabled.
    pub async fn api_access(
        &self,
        hash: TokenHash,
        now: UnixMillis,
    ) -> Result<Option<ApiAccess>, StoreError> {
        self.read(move |reader| {
            let mut statement = reader.conn.prepare_cached(&format!(
                "SELECT {COLUMNS}, a.role FROM api_token t JOIN account a ON a.name = t.created_by
                 WHERE t.sha256 = ?1 AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > ?2)
                 AND a.disabled_at IS NULL",
            ))?;
            let found = statement
                .query_row((hash.0, now.0), |row| Ok((from_row(row), row.get::<_, String>(8)?)))
                .optional()?;
            let Some((token, owner)) = found else { return Ok(None) };
            let (token, owner) = (token?, role(&owner)?);
            Ok(Some(ApiAccess { role: token.role.min(owner), token }))
        })
        .await
    }

    /// All tokens, or those of one owner, the newest first, revoked ones included.
    pub async fn api_tokens(&self, owner: Option<String>) -> Result<Vec<ApiToken>, StoreError> {
        self.read(move |reader| {
            let mut statement = reader.conn.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM api_token t WHERE ?1 IS NULL OR t.created_by = ?1 ORDER BY t.id DESC",
            ))?;
            let rows = statement.query_map([owner], |row| Ok(from_row(row)))?;
            rows.collect::<Result<Vec<_>, _>>()?.into_iter().collect()
        })
        .await
    }

    /// A token.
    pub async fn api_token(&self, id: ApiTokenId) -> Result<Option<ApiToken>, StoreError> {
        self.read(move |reader| get(&reader.conn, id)).await
    }

    /// Revokes a token; `None` when there is no such one. One that is revoked keeps its first date. Durable.
    pub async fn revoke_api_token(
        &self,
        id: ApiTokenId,
        entry: AuditEntry,
    ) -> Result<Option<ApiToken>, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let changed = db.conn.execute(
                "UPDATE api_token SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL",
                (id.0, entry.at.0),
            )?;
            let token = get(db.conn, id)?;
            if let (Some(token), 1..) = (&token, changed) {
                audit::record(db, &entry.about(format!("api-token/{id}")).with(Some(told(token)), None))?;
            }
            Ok(token)
        })
        .await
    }

    /// Notes that a token was used, unless that was noted within the last minute. Written behind.
    pub async fn touch_api_token(&self, id: ApiTokenId, now: UnixMillis) -> Result<(), StoreError> {
        let a_minute_ago = now.before(std::time::Duration::from_secs(60));
        self.write(Durability::Behind, 1, move |db| {
            db.conn
                .prepare_cached(
                    "UPDATE api_token SET last_used_at = ?2
                     WHERE id = ?1 AND (last_used_at IS NULL OR last_used_at <= ?3)",
                )?
                .execute((id.0, now.0, a_minute_ago.0))?;
            Ok(())
        })
        .await
    }
}

/// Revokes all tokens of an owner that work: the owner is going.
pub(crate) fn revoke_all_of(db: &Db<'_>, owner: &str, now: UnixMillis) -> Result<usize, StoreError> {
    Ok(db.conn.execute(
        "UPDATE api_token SET revoked_at = ?2 WHERE created_by = ?1 AND revoked_at IS NULL",
        (owner, now.0),
    )?)
}

fn get(conn: &Connection, id: ApiTokenId) -> Result<Option<ApiToken>, StoreError> {
    conn.prepare_cached(&format!("SELECT {COLUMNS} FROM api_token t WHERE t.id = ?1"))?
        .query_row([id.0], |row| Ok(from_row(row)))
        .optional()?
        .transpose()
}

/// What the audit trail says of a token.
fn told(token: &ApiToken) -> Value {
    json!({ "label": token.label, "role": token.role.as_str(), "owner": token.owner })
}

fn from_row(row: &Row<'_>) -> Result<ApiToken, StoreError> {
    Ok(ApiToken {
        id: ApiTokenId(row.get(0)?),
        label: row.get(1)?,
        role: role(&row.get::<_, String>(2)?)?,
        owner: row.get(3)?,
        created_at: value::millis(row, 4)?,
        expires_at: value::optional_millis(row, 5)?,
        revoked_at: value::optional_millis(row, 6)?,
        last_used_at: value::optional_millis(row, 7)?,
    })
}
