//! People who sign in. Hashing and checking passwords is the control plane's; their sessions are in [`crate::sessions`].

use model::{Role, TokenHash, UnixMillis, User, UserId};
use rusqlite::{Connection, OptionalExtension, Row};
use serde_json::{Value, json};

use crate::answers;
use crate::api_tokens;
use crate::audit::{self, AuditEntry};
use crate::error::StoreError;
use crate::store::Store;
use crate::value;
use crate::version::Expected;
use crate::writer::{Db, Durability};

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

/// What shall be different about a user; what is absent stays.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct UserChange {
    /// What the user may do.
    pub role: Option<Role>,
    /// Whether the user may not sign in. The sessions of one who is disabled end.
    pub disabled: Option<bool>,
    /// The password's hash in PHC form. The user's sessions end.
    pub password_hash: Option<String>,
    /// A session that goes on although the password changed: the one that changed it.
    pub keep_session: Option<TokenHash>,
}

const COLUMNS: &str = "id, name, role, password_hash, created_at, disabled_at, version";

impl Store {
    /// Makes a user. Durable. [`StoreError::Exists`] when the name is taken.
    pub async fn create_user(&self, new: NewUser, entry: AuditEntry) -> Result<User, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let made = db
                .conn
                .query_row(
                    &format!(
                        "INSERT INTO account (name, role, password_hash, created_at) VALUES (?1, ?2, ?3, ?4)
                         ON CONFLICT DO NOTHING RETURNING {COLUMNS}"
                    ),
                    (&new.name, new.role.as_str(), &new.password_hash, new.created_at.0),
                    |row| Ok(user(row)),
                )
                .optional()?
                .ok_or(StoreError::Exists("a user with this name"))??;
            audit::record(db, &entry.with(None, Some(told(&made))))?;
            Ok(made)
        })
        .await
    }

    /// The user of a name.
    pub async fn user_by_name(&self, name: impl Into<String>) -> Result<Option<User>, StoreError> {
        let name = name.into();
        self.read(move |reader| get(&reader.conn, &name)).await
    }

    /// All users by name.
    pub async fn users(&self) -> Result<Vec<User>, StoreError> {
        self.read(move |reader| {
            let sql = format!("SELECT {COLUMNS} FROM account ORDER BY name");
            let mut statement = reader.conn.prepare_cached(&sql)?;
            let rows = statement.query_map([], |row| Ok(user(row)))?;
            rows.collect::<Result<Vec<_>, _>>()?.into_iter().collect()
        })
        .await
    }

    /// Changes a user. Durable. [`StoreError::Missing`] when there is no such user, [`StoreError::Changed`] when it
    /// has another version, [`StoreError::LastAdmin`] when nobody could administer the server any more.
    pub async fn change_user(
        &self,
        name: impl Into<String>,
        change: UserChange,
        expected: Expected,
        entry: AuditEntry,
    ) -> Result<User, StoreError> {
        let name = name.into();
        self.write(Durability::Durable, 1, move |db| {
            let before = get(db.conn, &name)?.ok_or(StoreError::Missing("the user"))?;
            expected.check(before.version, "the user")?;
            let after = apply(db, &before, &change, entry.at)?;
            end_sessions(db, &after, &change)?;
            let mut told_after = told(&after);
            if change.password_hash.is_some() {
                told_after["password"] = "changed".into();
            }
            audit::record(db, &entry.with(Some(told(&before)), Some(told_after)))?;
            Ok(after)
        })
        .await
    }

    /// Removes a user, the user's sessions and kept answers, and revokes the user's API tokens. Durable. Errors as
    /// for a change.
    pub async fn delete_user(
        &self,
        name: impl Into<String>,
        expected: Expected,
        entry: AuditEntry,
    ) -> Result<(), StoreError> {
        let name = name.into();
        self.write(Durability::Durable, 1, move |db| {
            let before = get(db.conn, &name)?.ok_or(StoreError::Missing("the user"))?;
            expected.check(before.version, "the user")?;
            api_tokens::revoke_all_of(db, &name, entry.at)?;
            answers::forget_user(db.conn, before.id)?;
            db.conn.execute("DELETE FROM session WHERE account_id = ?1", [before.id.0])?;
            db.conn.execute("DELETE FROM account WHERE id = ?1", [before.id.0])?;
            an_admin_is_left(db.conn)?;
            audit::record(db, &entry.with(Some(told(&before)), None))
        })
        .await
    }
}

fn apply(db: &Db<'_>, before: &User, change: &UserChange, now: UnixMillis) -> Result<User, StoreError> {
    let UserChange { role, disabled, password_hash, keep_session: _ } = change;
    let disabled_at = match disabled {
        Some(true) => before.disabled_at.or(Some(now)),
        Some(false) => None,
        None => before.disabled_at,
    };
    let after = User {
        role: role.unwrap_or(before.role),
        disabled_at,
        password_hash: password_hash.as_ref().unwrap_or(&before.password_hash).clone(),
        version: before.version + 1,
        ..before.clone()
    };
    db.conn.execute(
        "UPDATE account SET role = ?2, disabled_at = ?3, password_hash = ?4, version = ?5 WHERE id = ?1",
        (
            after.id.0,
            after.role.as_str(),
            after.disabled_at.map(|at| at.0),
            &after.password_hash,
            value::signed(after.version),
        ),
    )?;
    an_admin_is_left(db.conn)?;
    Ok(after)
}

fn end_sessions(db: &Db<'_>, user: &User, change: &UserChange) -> Result<(), StoreError> {
    let kept = change.keep_session.filter(|_| user.disabled_at.is_none()).map(|hash| hash.0);
    if change.password_hash.is_some() || user.disabled_at.is_some() {
        db.conn.execute(
            "DELETE FROM session WHERE account_id = ?1 AND (?2 IS NULL OR sha256 <> ?2)",
            (user.id.0, kept),
        )?;
    }
    Ok(())
}

/// Looks at the rows as they will be.
fn an_admin_is_left(conn: &Connection) -> Result<(), StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM account WHERE role = ?1 AND disabled_at IS NULL)";
    let is_left: bool = conn.query_row(sql, [Role::Admin.as_str()], |row| row.get(0))?;
    is_left.then_some(()).ok_or(StoreError::LastAdmin)
}

/// What the audit trail says of a user.
fn told(user: &User) -> Value {
    json!({ "role": user.role.as_str(), "disabled": user.disabled_at.is_some() })
}

pub(crate) fn role(text: &str) -> Result<Role, StoreError> {
    text.parse().map_err(|_| StoreError::Corrupt("role"))
}

fn get(conn: &Connection, name: &str) -> Result<Option<User>, StoreError> {
    let mut statement = conn.prepare_cached(&format!("SELECT {COLUMNS} FROM account WHERE name = ?1"))?;
    statement.query_row([name], |row| Ok(user(row))).optional()?.transpose()
}

fn user(row: &Row<'_>) -> Result<User, StoreError> {
    Ok(User {
        id: UserId(row.get(0)?),
        name: row.get(1)?,
        role: role(&row.get::<_, String>(2)?)?,
        password_hash: row.get(3)?,
        created_at: value::millis(row, 4)?,
        disabled_at: value::optional_millis(row, 5)?,
        version: value::unsigned(row.get(6)?),
    })
}
