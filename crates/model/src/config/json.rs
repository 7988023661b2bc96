//! Reads JSON to a [`Node`]. serde_json bounds the depth; places inside a file are not known afterwards, only that
//! of an error.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::tree::{Entry, Node, ParseError, Place, Scalar, Value};

/// Reads a text. `file` goes into the places.
pub fn parse(text: &str, file: u16) -> Result<Arc<Node>, ParseError> {
    let place = Place { file, line: 0, column: 0 };
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = Seed(place).deserialize(&mut reader).and_then(|node| reader.end().map(|()| node));
    read.map_err(|error| {
        let whole = error.to_string();
        let reason = whole.rsplit_once(" at line ").map_or(whole.as_str(), |(reason, _)| reason);
        let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let place = Place { file, line: number(error.line()), column: number(error.column()) };
        ParseError { place, reason: reason.to_owned() }
    })
}

/// Makes a node with this place.
#[derive(Clone, Copy)]
struct Seed(Place);

impl Seed {
    fn plain(self, text: String) -> Arc<Node> {
        Arc::new(Node::new(self.0, Value::Scalar(Scalar { text, is_text: false })))
    }
}

impl<'de> DeserializeSeed<'de> for Seed {
    type Value = Arc<Node>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Arc<Node>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed {
    type Value = Arc<Node>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Arc<Node>, E> {
        Ok(self.plain("null".to_owned()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Arc<Node>, E> {
        Ok(self.plain(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Arc<Node>, E> {
        Ok(self.plain(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Arc<Node>, E> {
        Ok(self.plain(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Arc<Node>, E> {
        Ok(self.plain(format!("{value:?}")))
    }

    fn visit_str<E>(self, text: &str) -> Result<Arc<Node>, E> {
        let scalar = Scalar { text: text.to_owned(), is_text: true };
        Ok(Arc::new(Node::new(self.0, Value::Scalar(scalar))))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Arc<Node>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Arc::new(Node::new(self.0, Value::List(items))))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Arc<Node>, A::Error> {
        let (mut entries, mut seen) = (Vec::new(), HashSet::new());
        while let Some(key) = map.next_key::<String>()? {
            if !seen.insert(key.clone()) {
                let short: String = key.chars().take(64).collect();
                return Err(A::Error::custom(format_args!("the key {short:?} occurs twice")));
            }
            entries.push(Entry { key, place: self.0, value: map.next_value_seed(self)? });
        }
        Ok(Arc::new(Node::new(self.0, Value::Map(entries))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> (u32, u32, String) {
        let ParseError { place, reason } = parse(text, 0).unwrap_err();
        (place.line, place.column, reason)
    }

    #[test]
    fn json_is_read_to_the_same_tree_as_yaml() {
        let text = r#"{"a": [1, 2.5, true, null, "x"], "b": {"c": "1"}}"#;
        let yaml = super::super::yaml::parse(text, 0, &mut Default::default()).unwrap().root.unwrap();
        assert!(parse(text, 0).unwrap().same(&yaml));
    }

    #[test]
    fn an_error_in_json_has_its_place() {
        assert_eq!(error("{\n \"a\": 1,\n}"), (3, 1, "trailing comma".to_owned()));
        assert_eq!(error("{\"a\": 1,\n\"a\": 2}"), (2, 3, "the key \"a\" occurs twice".to_owned()));
        assert_eq!(error("1 2"), (1, 3, "trailing characters".to_owned()));
        assert_eq!(error(""), (1, 0, "EOF while parsing a value".to_owned()));
        assert_eq!(error(&"[".repeat(1 << 20)).2, "recursion limit exceeded");
    }
}
