//! Where a page of a list begins: the place of the last agent of the page before in the list's order. Rows
//! that come or go meanwhile neither repeat nor hide others.

use std::fmt;
use std::str::FromStr;

use super::query::{AgentSort, SortKey};

/// The place after which a page begins. Its text is opaque; it holds nothing secret.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Cursor {
    pub(super) sort: AgentSort,
    pub(super) place: Place,
    pub(super) id: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Place {
    Text(String),
    Number(i64),
}

/// Text that is no cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the cursor is damaged")]
pub struct InvalidCursor;

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = if self.sort.descending { "-" } else { "" };
        let place = match &self.place {
            Place::Text(text) => format!("t{text}"),
            Place::Number(number) => format!("n{number}"),
        };
        let text = format!("{direction}{}:{}:{place}", self.sort.key.as_str(), self.id);
        text.bytes().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Cursor {
    type Err = InvalidCursor;

    fn from_str(text: &str) -> Result<Self, InvalidCursor> {
        let text = unhex(text).ok_or(InvalidCursor)?;
        let mut fields = text.splitn(3, ':');
        let mut field = || fields.next().ok_or(InvalidCursor);
        let sort = AgentSort::parse(field()?).ok_or(InvalidCursor)?;
        let id = field()?.parse().map_err(|_| InvalidCursor)?;
        let place = field()?;
        let place = match (place.split_at_checked(1).ok_or(InvalidCursor)?, sort.key) {
            (("t", text), SortKey::Name) => Place::Text(text.to_owned()),
            (("n", number), key) if key != SortKey::Name => {
                Place::Number(number.parse().map_err(|_| InvalidCursor)?)
            }
            _ => return Err(InvalidCursor),
        };
        Ok(Self { sort, place, id })
    }
}

fn unhex(text: &str) -> Option<String> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) || digits.len() > 4096 {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let bytes = digits.chunks(2).map(|pair| u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok());
    String::from_utf8(bytes.collect::<Option<Vec<u8>>>()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_cursor_reads_back() {
        for text in ["", "a:b", "é\"'", "-1"] {
            let sort = AgentSort { key: SortKey::Name, descending: true };
            let cursor = Cursor { sort, place: Place::Text(text.to_owned()), id: 7 };
            assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }
        let sort = AgentSort { key: SortKey::LastSeen, descending: false };
        let cursor = Cursor { sort, place: Place::Number(i64::MIN), id: -1 };
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
    }

    #[test]
    fn damaged_text_is_no_cursor() {
        let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
        for text in
            ["", "0", "zz", "c3", &hex("name:1:n5"), &hex("name:1:"), &hex("name:x:ta"), &hex("age:1:n1")]
        {
            assert_eq!(text.parse::<Cursor>(), Err(InvalidCursor), "{text}");
        }
        assert_eq!(hex("name:1:é").parse::<Cursor>(), Err(InvalidCursor));
    }
}
