//! Lists and counts of agents. The selector gives a set of agents, the other filters are a condition in SQL;
//! one pass over what both leave counts them and keeps the page. Values are bound, never written into the text.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use model::{AgentSummary, ConfigState, ConnectionState};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, params_from_iter};

use super::cursor::{Cursor, Place};
use super::labels;
use super::query::{AgentCounts, AgentPage, AgentQuery, AgentSort, HealthFilter, SortKey};
use super::row::{self, COLUMNS, FROM};
use super::search::{self, Search};
use super::select::Selected;
use crate::error::StoreError;
use crate::reader::Reader;
use crate::store::Store;
use crate::value::{signed, unsigned};

/// Up to so many selected agents are looked up one by one; beyond it, reading all rows is quicker.
const MAX_LOOKUPS: usize = 2000;

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
    if query.cursor.as_ref().is_some_and(|cursor| cursor.sort != query.sort) {
        return Err(StoreError::Cursor);
    }
    // All that is read is of one moment.
    let transaction = reader.conn.unchecked_transaction()?;
    let limit = query.limit.clamp(1, AgentQuery::MAX_LIMIT) as usize;
    let mut best = Best::new(query, limit + 1);
    scan(reader, query, &mut best)?;
    let (total, mut places) = (best.total, best.into_places());
    let has_more = places.len() > limit;
    places.truncate(limit);
    let last = places.last().filter(|_| has_more).cloned();
    let next = last.map(|(place, id)| Cursor { sort: query.sort, place, id });
    let items =
        places.iter().map(|(_, id)| summary(&transaction, *id, reader.epoch)).collect::<Result<_, _>>()?;
    transaction.commit()?;
    Ok(AgentPage { items, next, total })
}

fn summary(conn: &Connection, id: i64, epoch: u64) -> Result<AgentSummary, StoreError> {
    let mut statement = conn.prepare_cached(&format!("SELECT {COLUMNS} FROM {FROM} WHERE a.id = ?1"))?;
    let mut summary = statement.query_row([id], |row| Ok(row::summary(row, epoch)))??;
    summary.labels = labels::of(conn, summary.uid)?;
    Ok(summary)
}

/// Shows every agent of the question to `best`.
fn scan(reader: &Reader, query: &AgentQuery, best: &mut Best<'_>) -> Result<(), StoreError> {
    let selected = Selected::of(&reader.conn, &query.selector)?;
    let mut condition = Condition::of(reader.epoch, query);
    if let Selected::Only(ids) = &selected
        && ids.len() <= MAX_LOOKUPS
    {
        let list: Vec<_> = ids.iter().map(|id| id.to_string()).collect();
        let list = condition.bind(Value::Text(format!("[{}]", list.join(","))));
        condition.and(&format!("a.id IN (SELECT value FROM json_each({list}))"));
    }
    let key = sort_expression(query.sort.key, reader.epoch);
    let search = Search::of(query);
    let searched = search.as_ref().map_or("", |_| search::COLUMNS);
    let sql = format!("SELECT a.id, {key}{searched} FROM agent a WHERE {}", condition.text);
    let mut statement = reader.conn.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(&condition.values))?;
    while let Some(row) = rows.next()? {
        let id = row.get(0)?;
        if !selected.contains(id) {
            continue;
        }
        if let Some(search) = &search
            && !search.finds(row, 2)?
        {
            continue;
        }
        best.offer(row.get_ref(1)?, id)?;
    }
    Ok(())
}

/// Counts agents and keeps the first of them in the question's order, from its cursor on.
struct Best<'q> {
    sort: AgentSort,
    after: Option<(&'q Place, i64)>,
    capacity: usize,
    /// The last of the order on top.
    kept: BinaryHeap<Kept>,
    total: u64,
}

/// An agent at its place, ordered as the question wants.
#[derive(PartialEq, Eq)]
struct Kept {
    place: Place,
    id: i64,
    descending: bool,
}

impl Ord for Kept {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = self.place.cmp(&other.place).then(self.id.cmp(&other.id));
        if self.descending { order.reverse() } else { order }
    }
}

impl PartialOrd for Kept {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'q> Best<'q> {
    fn new(query: &'q AgentQuery, capacity: usize) -> Self {
        let after = query.cursor.as_ref().map(|cursor| (&cursor.place, cursor.id));
        Self { sort: query.sort, after, capacity, kept: BinaryHeap::with_capacity(capacity + 1), total: 0 }
    }

    fn offer(&mut self, place: ValueRef<'_>, id: i64) -> Result<(), StoreError> {
        self.total += 1;
        let is_after = |other: &Place, other_id: i64| -> Result<bool, StoreError> {
            let order = compare(place, other)?.then(id.cmp(&other_id));
            Ok(order == if self.sort.descending { Ordering::Less } else { Ordering::Greater })
        };
        if let Some((cursor, cursor_id)) = self.after
            && !is_after(cursor, cursor_id)?
        {
            return Ok(());
        }
        if self.kept.len() == self.capacity {
            if let Some(last) = self.kept.peek()
                && is_after(&last.place, last.id)?
            {
                return Ok(());
            }
            self.kept.pop();
        }
        self.kept.push(Kept { place: owned(place)?, id, descending: self.sort.descending });
        Ok(())
    }

    fn into_places(self) -> Vec<(Place, i64)> {
        self.kept.into_sorted_vec().into_iter().map(|kept| (kept.place, kept.id)).collect()
    }
}

fn compare(value: ValueRef<'_>, place: &Place) -> Result<Ordering, StoreError> {
    match (value, place) {
        (ValueRef::Text(text), Place::Text(place)) => Ok(text.cmp(place.as_bytes())),
        (ValueRef::Integer(number), Place::Number(place)) => Ok(number.cmp(place)),
        _ => Err(StoreError::Corrupt("place in a list")),
    }
}

fn owned(value: ValueRef<'_>) -> Result<Place, StoreError> {
    match value {
        ValueRef::Text(text) => Ok(Place::Text(String::from_utf8_lossy(text).into_owned())),
        ValueRef::Integer(number) => Ok(Place::Number(number)),
        _ => Err(StoreError::Corrupt("place in a list")),
    }
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
    /// What a question asks for beside its selector.
    fn of(epoch: u64, query: &AgentQuery) -> Self {
        let mut condition = Self { text: "1".to_owned(), values: Vec::new() };
        if !query.include_replaced {
            condition.and("a.replaced_by IS NULL");
        }
        match query.state {
            None => {}
            Some(ConnectionState::Connected) => {
                condition.and(&format!("{} AND a.silent_since IS NULL", live(epoch)));
            }
            Some(ConnectionState::Silent) => {
                condition.and(&format!("{} AND a.silent_since IS NOT NULL", live(epoch)));
            }
            Some(ConnectionState::Disconnected) => condition.and(&format!("NOT ({})", live(epoch))),
        }
        match query.health {
            None => {}
            Some(HealthFilter::Healthy) => condition.and("a.healthy = 1"),
            Some(HealthFilter::Unhealthy) => condition.and("a.healthy = 0"),
            Some(HealthFilter::Unknown) => condition.and("a.healthy IS NULL"),
        }
        condition.about_config(query);
        condition
    }

    /// What is asked for of an agent's configuration. No row says that nothing is assigned.
    fn about_config(&mut self, query: &AgentQuery) {
        match query.config_state {
            None => {}
            Some(ConfigState::Unmanaged) => {
                self.and("a.id NOT IN (SELECT agent_id FROM agent_config WHERE state <> 0)");
            }
            Some(state) => self.and(&format!(
                "a.id IN (SELECT agent_id FROM agent_config WHERE state = {})",
                state.number()
            )),
        }
        if let Some(name) = &query.config {
            let name = self.bind(Value::Text(name.clone()));
            self.and(&format!(
                "a.id IN (SELECT g.agent_id FROM agent_config g JOIN config c ON c.id = g.config_id WHERE c.name = {name})"
            ));
        }
        if query.waiting {
            self.and(
                "a.id IN (SELECT agent_id FROM agent_config WHERE state = 0 AND assignment_id IS NOT NULL)",
            );
        }
        if let Some(id) = query.assignment {
            let id = self.bind(Value::Integer(id.0));
            self.and(&format!("a.id IN (SELECT agent_id FROM agent_config WHERE assignment_id = {id})"));
        }
    }

    fn and(&mut self, text: &str) {
        self.text.push_str(" AND ");
        self.text.push_str(text);
    }

    /// Binds a value; the placeholder that stands for it.
    fn bind(&mut self, value: Value) -> String {
        self.values.push(value);
        format!("?{}", self.values.len())
    }
}

fn counts(reader: &Reader) -> Result<AgentCounts, StoreError> {
    let live = live(reader.epoch);
    let sql = format!(
        "SELECT count(*) FILTER (WHERE {live} AND a.silent_since IS NULL),
             count(*) FILTER (WHERE {live} AND a.silent_since IS NOT NULL),
             count(*) FILTER (WHERE NOT ({live}) AND a.replaced_by IS NULL),
             count(*) FILTER (WHERE {live} AND a.healthy = 0),
             count(*) FILTER (WHERE {live} AND a.healthy = 1),
             count(*) FILTER (WHERE NOT ({live}) AND a.replaced_by IS NOT NULL)
         FROM agent a"
    );
    let mut statement = reader.conn.prepare_cached(&sql)?;
    let [connected, silent, disconnected, unhealthy, healthy, replaced] = statement.query_row([], |row| {
        Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?].map(unsigned))
    })?;
    let total = connected + silent + disconnected;
    Ok(AgentCounts { connected, silent, disconnected, unhealthy, healthy, total, replaced })
}
