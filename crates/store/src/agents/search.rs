//! Looks for a text in an agent's names. Done on the rows that are read anyway: SQL's LIKE on every column took
//! three times as long as the rest of a list. On PostgreSQL an index of trigrams would do this.

use rusqlite::Row;
use rusqlite::types::ValueRef;

use super::query::AgentQuery;
use crate::error::StoreError;

/// The longest text that is looked for, in characters.
const MAX_TEXT: usize = 256;

/// What is searched, behind the other columns of a question.
pub(super) const COLUMNS: &str = ", a.uid, a.name, a.host, a.instance_id, a.version";
/// How many of them are texts.
const TEXTS: usize = 4;

/// A text to look for, whatever the case of its letters in ASCII.
pub(super) struct Search {
    text: Vec<u8>,
    /// The text as digits of an instance_uid, without its hyphens; `None` when it can be none.
    digits: Option<Vec<u8>>,
}

impl Search {
    /// The text that a question has, if it has one.
    pub(super) fn of(query: &AgentQuery) -> Option<Self> {
        let text: String = query.text.as_deref()?.trim().chars().take(MAX_TEXT).collect();
        let text = text.to_ascii_lowercase().into_bytes();
        let digits: Vec<_> = text.iter().copied().filter(|byte| *byte != b'-').collect();
        let is_uid = (1..=32).contains(&digits.len()) && digits.iter().all(u8::is_ascii_hexdigit);
        (!text.is_empty()).then_some(Self { text, digits: is_uid.then_some(digits) })
    }

    /// Whether a row has the text; its [`COLUMNS`] begin at `first`.
    pub(super) fn finds(&self, row: &Row<'_>, first: usize) -> Result<bool, StoreError> {
        for column in first + 1..=first + TEXTS {
            if let ValueRef::Text(text) = row.get_ref(column)?
                && contains(text, &self.text)
            {
                return Ok(true);
            }
        }
        let Some(digits) = &self.digits else { return Ok(false) };
        let uid = row.get_ref(first)?.as_blob().map_err(|_| StoreError::Corrupt("instance_uid"))?;
        let digit = |half: u8| b"0123456789abcdef"[usize::from(half & 0xf)];
        let text: Vec<_> = uid.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect();
        Ok(contains(&text, digits))
    }
}

/// Whether a text has another one in it, which is in lower case.
fn contains(text: &[u8], lower: &[u8]) -> bool {
    let Some((first, rest)) = lower.split_first() else { return true };
    let Some(last_start) = text.len().checked_sub(lower.len()) else { return false };
    text[..=last_start].iter().enumerate().any(|(at, byte)| {
        byte.to_ascii_lowercase() == *first && text[at + 1..][..rest.len()].eq_ignore_ascii_case(rest)
    })
}

#[cfg(test)]
mod tests {
    use super::contains;

    #[test]
    fn a_text_is_found_at_its_beginning_middle_and_end_and_nowhere_else() {
        for (text, part, found) in [
            ("Host-7", "host-7", true),
            ("Host-7", "st-", true),
            ("Host-7", "7", true),
            ("aab", "ab", true),
            ("Host-7", "host-77", false),
            ("", "a", false),
            ("\u{c9}t\u{e9}", "t\u{e9}", true),
        ] {
            assert_eq!(contains(text.as_bytes(), part.as_bytes()), found, "{text} {part}");
        }
    }
}
