//! The audit trail: who changed what, when and from where. An entry is written in the transaction of the change that
//! it tells of, so neither is ever there without the other. Rows are only added.

use model::UnixMillis;
use rusqlite::types::Value as Sql;
use rusqlite::{Row, params_from_iter};
use serde_json::Value;

use crate::error::StoreError;
use crate::store::Store;
use crate::value;
use crate::writer::Db;

/// What kind of actor changed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ActorKind {
    /// A person.
    User,
    /// A program with an API token.
    Token,
    /// The server itself, or whoever has its machine.
    System,
}

impl ActorKind {
    /// The word in the API and the database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Token => "token",
            Self::System => "system",
        }
    }
}

/// Who changed something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// What it is.
    pub kind: ActorKind,
    /// The user's name, or the token's label and number.
    pub name: String,
}

/// An entry to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditEntry {
    /// When.
    pub at: UnixMillis,
    /// Who.
    pub actor: Actor,
    /// From which address; empty for the server itself.
    pub address: String,
    /// What was done: `config.create`.
    pub action: &'static str,
    /// To what: `config/otel`.
    pub object: String,
    /// What mattered before. Never a secret, never the body of a configuration.
    pub before: Option<Value>,
    /// What matters now.
    pub after: Option<Value>,
}

impl AuditEntry {
    /// An entry of the server itself.
    pub fn of_system(at: UnixMillis, action: &'static str, object: impl Into<String>) -> Self {
        let actor = Actor { kind: ActorKind::System, name: "muster".to_owned() };
        Self { at, actor, address: String::new(), action, object: object.into(), before: None, after: None }
    }

    /// The same about another object: one whose number the transaction makes.
    #[must_use]
    pub fn about(&self, object: impl Into<String>) -> Self {
        Self { object: object.into(), ..self.clone() }
    }

    /// The same with what was before and what is after.
    #[must_use]
    pub fn with(&self, before: Option<Value>, after: Option<Value>) -> Self {
        Self { before, after, ..self.clone() }
    }
}

/// An entry of the trail.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditRecord {
    /// Its number; later entries have higher ones.
    pub id: i64,
    /// When.
    pub at: UnixMillis,
    /// `user`, `token` or `system`.
    pub actor_kind: String,
    /// Who.
    pub actor: String,
    /// From which address.
    pub address: String,
    /// What was done.
    pub action: String,
    /// To what.
    pub object: String,
    /// What mattered before.
    pub before: Option<Value>,
    /// What mattered after.
    pub after: Option<Value>,
}

/// Which entries are wanted. An absent part matches all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// The actor's name.
    pub actor: Option<String>,
    /// The action, or what stands before its dot.
    pub action: Option<String>,
    /// The object, or what stands before its slash.
    pub object: Option<String>,
    /// Not before this moment.
    pub since: Option<UnixMillis>,
    /// Before this moment.
    pub until: Option<UnixMillis>,
}

/// Which way the trail is read, and from where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditOrder {
    /// The newest first, of those older than this number.
    NewestBefore(i64),
    /// The oldest first, of those newer than this number.
    OldestAfter(i64),
}

/// Writes an entry in the transaction of the change that it tells of.
pub(crate) fn record(db: &Db<'_>, entry: &AuditEntry) -> Result<(), StoreError> {
    let AuditEntry { at, actor, address, action, object, before, after } = entry;
    let mut statement = db.conn.prepare_cached(
        "INSERT INTO audit (at, actor_kind, actor, address, action, object, before, after)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    let json = |value: &Option<Value>| value.as_ref().map(Value::to_string);
    let kind = actor.kind.as_str();
    statement.execute((at.0, kind, &actor.name, address, action, object, json(before), json(after)))?;
    Ok(())
}

impl Store {
    /// Up to `limit` entries.
    pub async fn audit(
        &self,
        query: AuditQuery,
        order: AuditOrder,
        limit: u32,
    ) -> Result<Vec<AuditRecord>, StoreError> {
        self.read(move |reader| {
            let (mut filter, mut values) = filter(&query);
            let (bound, number, direction) = match order {
                AuditOrder::NewestBefore(number) => ("id < ?", number, "DESC"),
                AuditOrder::OldestAfter(number) => ("id > ?", number, "ASC"),
            };
            filter.push(bound);
            values.extend([Sql::Integer(number), Sql::Integer(i64::from(limit))]);
            let sql = format!(
                "SELECT id, at, actor_kind, actor, address, action, object, before, after FROM audit
                 WHERE {} ORDER BY id {direction} LIMIT ?",
                filter.join(" AND ")
            );
            let mut statement = reader.conn.prepare_cached(&sql)?;
            let rows = statement.query_map(params_from_iter(values), |row| Ok(from_row(row)))?;
            rows.collect::<Result<Vec<_>, _>>()?.into_iter().collect()
        })
        .await
    }

    /// Up to `limit` entries about these objects, and about several agents at once that name this one; the newest
    /// first.
    pub async fn audit_about(
        &self,
        objects: Vec<String>,
        agent: String,
        limit: u32,
    ) -> Result<Vec<AuditRecord>, StoreError> {
        self.read(move |reader| {
            let places = vec!["?"; objects.len()].join(", ");
            let sql = format!(
                "SELECT id, at, actor_kind, actor, address, action, object, before, after FROM audit
                 WHERE object IN ({places}) OR (object = 'agents' AND instr(after, ?) > 0)
                 ORDER BY id DESC LIMIT ?"
            );
            let values = objects.into_iter().chain([agent]).map(Sql::Text);
            let values = values.chain([Sql::Integer(i64::from(limit))]);
            let mut statement = reader.conn.prepare_cached(&sql)?;
            let rows = statement.query_map(params_from_iter(values), |row| Ok(from_row(row)))?;
            rows.collect::<Result<Vec<_>, _>>()?.into_iter().collect()
        })
        .await
    }

    /// How many entries there are.
    pub async fn audit_count(&self, query: AuditQuery) -> Result<u64, StoreError> {
        self.read(move |reader| {
            let (filter, values) = filter(&query);
            let filter = if filter.is_empty() { "1".to_owned() } else { filter.join(" AND ") };
            let sql = format!("SELECT count(*) FROM audit WHERE {filter}");
            let mut statement = reader.conn.prepare_cached(&sql)?;
            Ok(value::unsigned(statement.query_row(params_from_iter(values), |row| row.get(0))?))
        })
        .await
    }
}

/// The conditions and their values. A word matches itself and what goes on after the separator; the range ends at
/// the character that follows the separator, so an index serves it.
fn filter(query: &AuditQuery) -> (Vec<&'static str>, Vec<Sql>) {
    let AuditQuery { actor, action, object, since, until } = query;
    let (mut filter, mut values) = (Vec::new(), Vec::new());
    if let Some(actor) = actor {
        filter.push("actor = ?");
        values.push(Sql::Text(actor.clone()));
    }
    if let Some(action) = action {
        filter.push("(action = ? OR (action >= ? AND action < ?))");
        values.extend([action.clone(), format!("{action}."), format!("{action}/")].map(Sql::Text));
    }
    if let Some(object) = object {
        filter.push("(object = ? OR (object >= ? AND object < ?))");
        values.extend([object.clone(), format!("{object}/"), format!("{object}0")].map(Sql::Text));
    }
    for (condition, moment) in [("at >= ?", since), ("at < ?", until)] {
        if let Some(moment) = moment {
            filter.push(condition);
            values.push(Sql::Integer(moment.0));
        }
    }
    (filter, values)
}

fn from_row(row: &Row<'_>) -> Result<AuditRecord, StoreError> {
    Ok(AuditRecord {
        id: row.get(0)?,
        at: value::millis(row, 1)?,
        actor_kind: row.get(2)?,
        actor: row.get(3)?,
        address: row.get(4)?,
        action: row.get(5)?,
        object: row.get(6)?,
        before: json(row.get(7)?)?,
        after: json(row.get(8)?)?,
    })
}

fn json(text: Option<String>) -> Result<Option<Value>, StoreError> {
    text.map(|text| serde_json::from_str(&text).map_err(|_| StoreError::Corrupt("audit entry"))).transpose()
}
