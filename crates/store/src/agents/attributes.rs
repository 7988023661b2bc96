//! An agent's attributes as the index that selectors read: which agents have which value.

use std::borrow::Cow;
use std::collections::HashMap;

use model::{AgentFacts, AttributeValue, Attributes};
use opamp_proto::hash::sha256;
use opamp_proto::wire::{AgentDescription, Message as _};
use rusqlite::OptionalExtension;

use super::posting::{Chunk, chunk_of};
use super::statements::Statements;
use crate::error::StoreError;

/// The longest value that the index holds as it is, in bytes. PostgreSQL's limit for a row of an index is 2,700.
const MAX_VALUE: usize = 256;

/// The longest fact in a row, in bytes.
const MAX_FACT: usize = 256;

/// A text as the index has it: as it is, or when it is long, its beginning and its hash. Equal texts give equal
/// rows either way.
pub(super) fn index_value(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.len() <= MAX_VALUE {
        return text;
    }
    let hash = sha256(text.as_bytes());
    let mut short = cut(&text, MAX_VALUE - 74).to_owned();
    short.push_str("…sha256:");
    hash.iter().for_each(|byte| short.push_str(&format!("{byte:02x}")));
    short.into()
}

/// The text up to a length in bytes, never in the middle of a character.
pub(super) fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// The attributes of an encoded description. What cannot be decoded has none: the session checks descriptions
/// before it passes them on.
pub(super) fn decode(description: Option<&[u8]>) -> Attributes {
    description
        .and_then(|bytes| AgentDescription::decode(bytes).ok())
        .map(Attributes::from)
        .unwrap_or_default()
}

/// The rows of the index that an agent has: key and value, sorted, each once.
pub(super) fn index_rows(attributes: &Attributes) -> Vec<(&str, Cow<'_, str>)> {
    let mut rows: Vec<_> =
        attributes.iter().map(|one| (one.key.as_str(), index_value(text_of(&one.value)))).collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

fn text_of(value: &AttributeValue) -> Cow<'_, str> {
    value.as_str().map_or_else(|| Cow::Owned(value.to_string()), Cow::Borrowed)
}

/// The facts of attributes, as a row holds them.
pub(super) fn short_facts(attributes: &Attributes) -> AgentFacts {
    let mut facts = AgentFacts::from(attributes);
    let AgentFacts { name, namespace, version, instance_id, host, host_id, os } = &mut facts;
    for fact in [name, namespace, version, instance_id, host, host_id, os] {
        let end = cut(fact, MAX_FACT).len();
        fact.truncate(end);
    }
    facts
}

/// Changes of the index that a batch collects. Each row is then written once, however many agents of the batch
/// are in it, and in the index's own order, so that each page is written once.
#[derive(Default)]
pub(super) struct IndexChanges(HashMap<i64, HashMap<String, Vec<(i64, Change)>>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Remove,
    Add,
}

impl IndexChanges {
    pub(super) fn add(&mut self, key: i64, value: &str, agent: i64) {
        self.push(key, value, (agent, Change::Add));
    }

    pub(super) fn remove(&mut self, key: i64, value: &str, agent: i64) {
        self.push(key, value, (agent, Change::Remove));
    }

    fn push(&mut self, key: i64, value: &str, change: (i64, Change)) {
        let values = self.0.entry(key).or_default();
        match values.get_mut(value) {
            Some(changes) => changes.push(change),
            None => {
                values.insert(value.to_owned(), vec![change]);
            }
        }
    }

    /// Makes the changes. Those of one agent keep their order.
    pub(super) fn write(&mut self, statements: &mut Statements<'_>) -> Result<(), StoreError> {
        let mut keys: Vec<_> = self.0.drain().collect();
        keys.sort_unstable_by_key(|(key, _)| *key);
        for (key, values) in keys {
            let mut values: Vec<_> = values.into_iter().collect();
            values.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
            for (value, mut changes) in values {
                changes.sort_by_key(|(agent, _)| chunk_of(*agent));
                for changes in changes.chunk_by(|(one, _), (other, _)| chunk_of(*one) == chunk_of(*other)) {
                    write_chunk(statements, key, &value, changes)?;
                }
            }
        }
        Ok(())
    }
}

/// Makes the changes of one row of the index.
fn write_chunk(
    statements: &mut Statements<'_>,
    key: i64,
    value: &str,
    changes: &[(i64, Change)],
) -> Result<(), StoreError> {
    let Some((agent, _)) = changes.first() else { return Ok(()) };
    let number = chunk_of(*agent);
    if let [(agent, Change::Add)] = changes {
        // Most values of a new agent's own are new: one statement instead of two.
        let insert = statements.insert_posting.get()?;
        if insert.execute((key, value, number, Chunk::encode_one(*agent)))? == 1 {
            return Ok(());
        }
    }
    let stored = statements.select_posting.get()?.query_row((key, value, number), |row| {
        Ok(row.get_ref(0)?.as_blob().map_err(|_| ()).and_then(|bytes| Chunk::decode(bytes).map_err(|_| ())))
    });
    let mut chunk = match stored.optional()? {
        None => Chunk::empty(),
        Some(Ok(chunk)) => chunk,
        Some(Err(())) => {
            // An error here would stop every later write as well.
            tracing::error!(
                key,
                value,
                "a set of agents in the index of attributes is damaged, it begins anew"
            );
            Chunk::empty()
        }
    };
    for (agent, change) in changes {
        match change {
            Change::Add => chunk.insert(*agent),
            Change::Remove => chunk.remove(*agent),
        }
    }
    if chunk.is_empty() {
        statements.delete_posting.get()?.execute((key, value, number))?;
    } else {
        statements.update_posting.get()?.execute((key, value, number, chunk.encode()))?;
    }
    Ok(())
}
