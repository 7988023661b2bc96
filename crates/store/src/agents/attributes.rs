//! An agent's attributes as rows of the index that selectors read.

use model::Attributes;
use opamp_proto::hash::sha256;
use opamp_proto::wire::{AgentDescription, Message as _};

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
