//! Lists and counts of agents. A question becomes one condition in SQL, used for the page and for the total;
//! the values in it are always bound, never written into the text.

use model::ConnectionState;
use model::selector::{Requirement, Test};
use rusqlite::types::Value;
use rusqlite::{OptionalExtension, params_from_iter};

use super::attributes::index_value;
use super::cursor::{Cursor, Place};
use super::query::{AgentCounts, AgentPage, AgentQuery, AgentSort, HealthFilter, SortKey};
use super::row::{self, COLUMN_COUNT, COLUMNS, FROM};
use crate::error::StoreError;
use crate::reader::Reader;
use crate::store::Store;
use crate::value::{signed, unsigned};

impl Store {
    /// A page of agents. [`StoreError::Cursor`] when the cursor was made for another order.
    pub async fn list_agents(&self, query: AgentQuery) -> Result<AgentPage, StoreError> {
        self.read(move |reader| page(reader, &query)).await
    }

    /// How many agents there are.
    pub async fn agent_counts(&self) -> Result<AgentCounts, StoreError> {
        self.read(counts).await
    }
}

fn page(reader: &Reader, query: &AgentQuery) -> Result<AgentPage, StoreError> {
    let mut condition = Condition::of(reader, query)?;
    let total = total(reader, &condition)?;
    let limit = query.limit.clamp(1, AgentQuery::MAX_LIMIT) as usize;
    let key = sort_expression(query.sort.key, reader.epoch);
    let (direction, beyond) = if query.sort.descending { ("DESC", "<") } else { ("ASC", ">") };
    if let Some(cursor) = &query.cursor {
        if cursor.sort != query.sort {
            return Err(StoreError::Cursor);
        }
        let place = match &cursor.place {
            Place::Text(text) => Value::Text(text.clone()),
            Place::Number(number) => Value::Integer(*number),
        };
        let (place, id) = (condition.bind(place), condition.bind(Value::Integer(cursor.id)));
        condition.and(format!("({key}, a.id) {beyond} ({place}, {id})"));
    }
    let sql = format!(
        "SELECT {COLUMNS}, a.id, {key} FROM {FROM} WHERE {} ORDER BY {key} {direction}, a.id {direction} LIMIT {}",
        condition.text,
        limit + 1
    );
    let mut statement = reader.conn.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(&condition.values))?;
    let (mut items, mut next, mut last) = (Vec::new(), None, None);
    while let Some(row) = rows.next()? {
        if items.len() == limit {
            next = last;
            break;
        }
        items.push(row::summary(row, reader.epoch)?);
        last = Some(cursor(row, query.sort)?);
    }
    Ok(AgentPage { items, next, total })
}

fn cursor(row: &rusqlite::Row<'_>, sort: AgentSort) -> Result<Cursor, StoreError> {
    let place = match row.get::<_, Value>(COLUMN_COUNT + 1)? {
        Value::Text(text) => Place::Text(text),
        Value::Integer(number) => Place::Number(number),
        Value::Null | Value::Real(_) | Value::Blob(_) => return Err(StoreError::Corrupt("place in a list")),
    };
    Ok(Cursor { sort, place, id: row.get(COLUMN_COUNT)? })
}

fn total(reader: &Reader, condition: &Condition) -> Result<u64, StoreError> {
    let sql = format!("SELECT count(*) FROM agent a WHERE {}", condition.text);
    let mut statement = reader.conn.prepare_cached(&sql)?;
    Ok(unsigned(statement.query_row(params_from_iter(&condition.values), |row| row.get(0))?))
}

/// The order in SQL. States and healths have the order of [`SortKey`]'s words.
fn sort_expression(key: SortKey, epoch: u64) -> String {
    match key {
        SortKey::Name => "a.name".to_owned(),
        SortKey::LastSeen => "a.last_seen".to_owned(),
        SortKey::ConnectedSince => "a.connected_since".to_owned(),
        SortKey::Health => "CASE WHEN a.healthy IS NULL THEN 1 WHEN a.healthy THEN 2 ELSE 0 END".to_owned(),
        SortKey::State => {
            format!("CASE WHEN NOT ({}) THEN 2 WHEN a.silent_since IS NULL THEN 0 ELSE 1 END", live(epoch))
        }
    }
}

/// Whether a row's session lasts. The epoch is a number of ours, not a caller's text.
fn live(epoch: u64) -> String {
    format!("a.disconnected_at IS NULL AND a.owner_epoch = {}", signed(epoch))
}

/// A condition on rows of `agent a`, with the values that are bound to it.
struct Condition {
    text: String,
    values: Vec<Value>,
}

impl Condition {
    fn of(reader: &Reader, query: &AgentQuery) -> Result<Self, StoreError> {
        let mut condition = Self { text: "1".to_owned(), values: Vec::new() };
        for requirement in query.selector.requirements() {
            condition.require(reader, requirement)?;
        }
        if !query.include_replaced {
            condition.and("a.replaced_by IS NULL".to_owned());
        }
        match query.state {
            None => {}
            Some(ConnectionState::Connected) => {
                condition.and(format!("{} AND a.silent_since IS NULL", live(reader.epoch)))
            }
            Some(ConnectionState::Silent) => {
                condition.and(format!("{} AND a.silent_since IS NOT NULL", live(reader.epoch)));
            }
            Some(ConnectionState::Disconnected) => condition.and(format!("NOT ({})", live(reader.epoch))),
        }
        match query.health {
            None => {}
            Some(HealthFilter::Healthy) => condition.and("a.healthy = 1".to_owned()),
            Some(HealthFilter::Unhealthy) => condition.and("a.healthy = 0".to_owned()),
            Some(HealthFilter::Unknown) => condition.and("a.healthy IS NULL".to_owned()),
        }
        if let Some(text) = query.text.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
            condition.search(text);
        }
        Ok(condition)
    }

    fn and(&mut self, text: String) {
        self.text.push_str(" AND ");
        self.text.push_str(&text);
    }

    /// Binds a value; the placeholder that stands for it.
    fn bind(&mut self, value: Value) -> String {
        self.values.push(value);
        format!("?{}", self.values.len())
    }

    fn search(&mut self, text: &str) {
        let escaped: String = text
            .chars()
            .take(256)
            .flat_map(|c| {
                let escape = matches!(c, '%' | '_' | '\\').then_some('\\');
                escape.into_iter().chain([c])
            })
            .collect();
        let pattern = self.bind(Value::Text(format!("%{escaped}%")));
        let mut tests: Vec<_> = ["name", "host", "instance_id", "version"]
            .iter()
            .map(|column| format!("a.{column} LIKE {pattern} ESCAPE '\\'"))
            .collect();
        // An instance_uid is stored as bytes: whole digits of it are looked for in its hexadecimal form.
        let digits: String = text.chars().filter(|c| *c != '-').collect();
        if digits.len() <= 32 && !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit()) {
            let pattern = self.bind(Value::Text(format!("%{digits}%")));
            tests.push(format!("hex(a.uid) LIKE {pattern}"));
        }
        self.and(format!("({})", tests.join(" OR ")));
    }

    fn require(&mut self, reader: &Reader, requirement: &Requirement) -> Result<(), StoreError> {
        let key = key_id(reader, requirement.key())?;
        let (wanted, values) = match requirement.test() {
            Test::Is(value) => (true, std::slice::from_ref(value)),
            Test::IsNot(value) => (false, std::slice::from_ref(value)),
            Test::In(values) => (true, &values[..]),
            Test::NotIn(values) => (false, &values[..]),
            Test::Exists => (true, &[][..]),
            Test::Missing => (false, &[][..]),
        };
        let Some(key) = key else {
            // No agent ever had the key.
            if wanted {
                self.and("0".to_owned());
            }
            return Ok(());
        };
        let not = if wanted { "" } else { "NOT " };
        let key = self.bind(Value::Integer(key));
        if values.is_empty() {
            self.and(format!("a.id {not}IN (SELECT agent_id FROM agent_attribute WHERE key_id = {key})"));
            return Ok(());
        }
        let places: Vec<_> =
            values.iter().map(|value| self.bind(Value::Text(index_value(value.clone())))).collect();
        self.and(format!(
            "{not}EXISTS (SELECT 1 FROM agent_attribute x WHERE x.key_id = {key} AND x.value IN ({}) AND x.agent_id = a.id)",
            places.join(", ")
        ));
        Ok(())
    }
}

fn key_id(reader: &Reader, name: &str) -> Result<Option<i64>, StoreError> {
    let mut statement = reader.conn.prepare_cached("SELECT id FROM attribute_key WHERE name = ?1")?;
    Ok(statement.query_row([name], |row| row.get(0)).optional()?)
}

fn counts(reader: &Reader) -> Result<AgentCounts, StoreError> {
    let live = live(reader.epoch);
    let sql = format!(
        "SELECT count(*) FILTER (WHERE {live} AND a.silent_since IS NULL),
             count(*) FILTER (WHERE {live} AND a.silent_since IS NOT NULL),
             count(*) FILTER (WHERE NOT ({live}) AND a.replaced_by IS NULL),
             count(*) FILTER (WHERE {live} AND a.healthy = 0),
             count(*) FILTER (WHERE NOT ({live}) AND a.replaced_by IS NOT NULL)
         FROM agent a"
    );
    let mut statement = reader.conn.prepare_cached(&sql)?;
    let [connected, silent, disconnected, unhealthy, replaced] = statement.query_row([], |row| {
        Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?].map(unsigned))
    })?;
    Ok(AgentCounts {
        connected,
        silent,
        disconnected,
        unhealthy,
        total: connected + silent + disconnected,
        replaced,
    })
}
