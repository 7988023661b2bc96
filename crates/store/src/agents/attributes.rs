//! An agent's attributes as rows of the index that selectors read.

use model::{AgentFacts, Attributes};
use opamp_proto::hash::sha256;
use opamp_proto::wire::{AgentDescription, Message as _};

use super::statements::Statements;
use crate::error::StoreError;

/// The longest value that the index holds as it is, in bytes. PostgreSQL's limit for a row of an index is 2,700.
const MAX_VALUE: usize = 512;

/// A value as the index has it: its text, or when that is long, its beginning and its hash. Equal texts give
/// equal rows either way.
pub(super) fn index_value(text: String) -> String {
    if text.len() <= MAX_VALUE {
        return text;
    }
    let hash = sha256(text.as_bytes());
    let mut short = cut(&text, MAX_VALUE - 70).to_owned();
    short.push_str("…sha256:");
    hash.iter().for_each(|byte| short.push_str(&format!("{byte:02x}")));
    short
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

/// The index rows of attributes: key and value, sorted, each once.
pub(super) fn index_rows(attributes: &Attributes) -> Vec<(&str, String)> {
    let mut rows: Vec<_> =
        attributes.iter().map(|one| (one.key.as_str(), index_value(one.value.to_string()))).collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// The longest fact in a row, in bytes.
const MAX_FACT: usize = 256;

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

/// Changes of the index that a batch collects, so that they are made in the index's own order: a page is then
/// read and written once, however many agents of the batch have a row on it.
#[derive(Default)]
pub(super) struct IndexChanges(Vec<(i64, String, i64, Change)>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Remove,
    Add,
}

impl IndexChanges {
    pub(super) fn add(&mut self, key: i64, value: String, agent: i64) {
        self.0.push((key, value, agent, Change::Add));
    }

    pub(super) fn remove(&mut self, key: i64, value: String, agent: i64) {
        self.0.push((key, value, agent, Change::Remove));
    }

    /// Makes the changes. Those of one row keep their order, since the sort is stable.
    pub(super) fn write(&mut self, statements: &mut Statements<'_>) -> Result<(), StoreError> {
        self.0.sort_by(|one, other| (one.0, &one.1, one.2).cmp(&(other.0, &other.1, other.2)));
        for (key, value, agent, change) in self.0.drain(..) {
            let statement = match change {
                Change::Add => &mut statements.insert_attribute,
                Change::Remove => &mut statements.delete_attribute,
            };
            statement.get()?.execute((key, value, agent))?;
        }
        Ok(())
    }
}
