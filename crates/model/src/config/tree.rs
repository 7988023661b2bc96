//! What a structured file says: scalars, lists and maps with the places where they stand. Scalars stay as they
//! were written, since their type is for the agent to say; [`Scalar::meaning`] is only for comparing.

use std::collections::HashMap;
use std::sync::Arc;

/// Where something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Place {
    /// Number of the file, from 0.
    pub file: u16,
    /// From 1; 0: not known.
    pub line: u32,
    /// In characters from 1; 0: not known.
    pub column: u32,
}

/// Why a text is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ParseError {
    /// Where.
    pub place: Place,
    /// What is wrong there.
    pub reason: String,
}

/// A value and all below it.
#[derive(Debug)]
pub struct Node {
    /// Where it begins.
    pub place: Place,
    /// What it is.
    pub value: Value,
    /// How many nodes it has with aliases followed, itself included.
    weight: usize,
    /// How many nodes lie upon each other, itself included.
    height: usize,
}

/// What a node is. Nodes can be shared through aliases: whoever walks a tree walks at most its weight.
#[derive(Debug)]
pub enum Value {
    /// A single value.
    Scalar(Scalar),
    /// Values in their order.
    List(Vec<Arc<Node>>),
    /// Values by key, in their order; no key occurs twice.
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The key's text.
    pub key: String,
    /// Where the key stands.
    pub place: Place,
    /// The value.
    pub value: Arc<Node>,
}

/// A single value as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// Its text without quotes.
    pub text: String,
    /// Whether it is a text whatever it looks like: quoted, a block, or tagged as one.
    pub is_text: bool,
}

/// What a scalar means, as far as that is the same for everyone who reads YAML.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Meaning<'a> {
    /// No value.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i128),
    /// Another number.
    Float(f64),
    /// Anything else.
    Text(&'a str),
}

impl Node {
    /// A node of this value.
    pub fn new(place: Place, value: Value) -> Self {
        let below = |nodes: &mut dyn Iterator<Item = &Arc<Self>>| {
            nodes.fold((1, 0), |(weight, height): (usize, usize), node| {
                (weight.saturating_add(node.weight), height.max(node.height))
            })
        };
        let (weight, height) = match &value {
            Value::Scalar(_) => (1, 0),
            Value::List(items) => below(&mut items.iter()),
            Value::Map(entries) => below(&mut entries.iter().map(|entry| &entry.value)),
        };
        Self { place, value, weight, height: height + 1 }
    }

    /// How many nodes a walk meets.
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// How many nodes lie upon each other.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The entries of a map; none when it is something else.
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            Value::Scalar(_) | Value::List(_) => &[],
        }
    }

    /// The items of a list; none when it is something else.
    pub fn items(&self) -> &[Arc<Self>] {
        match &self.value {
            Value::List(items) => items,
            Value::Scalar(_) | Value::Map(_) => &[],
        }
    }

    /// The value under a key of a map.
    pub fn get(&self, key: &str) -> Option<&Arc<Self>> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// The value under keys of maps in maps.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key).map(Arc::as_ref))
    }

    /// The text of a scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(scalar) => Some(&scalar.text),
            Value::List(_) | Value::Map(_) => None,
        }
    }

    /// Whether it says nothing: null, an empty list or an empty map. Agents write one for the other.
    pub fn is_nothing(&self) -> bool {
        match &self.value {
            Value::Scalar(scalar) => scalar.meaning() == Meaning::Null,
            Value::List(items) => items.is_empty(),
            Value::Map(entries) => entries.is_empty(),
        }
    }

    /// Whether both mean the same: maps in any order, lists in theirs, scalars by meaning.
    pub fn same(&self, other: &Self) -> bool {
        if std::ptr::eq(self, other) || (self.is_nothing() && other.is_nothing()) {
            return true;
        }
        match (&self.value, &other.value) {
            (Value::Scalar(a), Value::Scalar(b)) => a.same(b),
            (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
            (Value::Map(a), Value::Map(b)) => {
                let index = index(b);
                a.len() == b.len()
                    && a.iter().all(|a| index.get(a.key.as_str()).is_some_and(|b| a.value.same(&b.value)))
            }
            (Value::Scalar(_) | Value::List(_) | Value::Map(_), _) => false,
        }
    }
}

/// The entries of a map by key.
pub(super) fn index(entries: &[Entry]) -> HashMap<&str, &Entry> {
    entries.iter().map(|entry| (entry.key.as_str(), entry)).collect()
}

/// Both trees as one, as agents merge the files that they are given: maps are joined, of anything else the later wins.
pub fn merged(earlier: &Arc<Node>, later: &Arc<Node>) -> Arc<Node> {
    let (Value::Map(old), Value::Map(new)) = (&earlier.value, &later.value) else {
        return Arc::clone(later);
    };
    let replaced = index(new);
    let mut entries: Vec<Entry> = old
        .iter()
        .map(|entry| match replaced.get(entry.key.as_str()) {
            Some(new) => Entry { value: merged(&entry.value, &new.value), ..Entry::clone(new) },
            None => entry.clone(),
        })
        .collect();
    let known = index(old);
    entries.extend(new.iter().filter(|entry| !known.contains_key(entry.key.as_str())).cloned());
    Arc::new(Node::new(earlier.place, Value::Map(entries)))
}

impl Scalar {
    /// What it means: YAML's core schema, and the spellings of whole numbers that Go's reader knows beside it.
    pub fn meaning(&self) -> Meaning<'_> {
        if self.is_text {
            return Meaning::Text(&self.text);
        }
        match self.text.as_str() {
            "" | "~" | "null" | "Null" | "NULL" => Meaning::Null,
            "true" | "True" | "TRUE" => Meaning::Bool(true),
            "false" | "False" | "FALSE" => Meaning::Bool(false),
            text => int(text)
                .map(Meaning::Int)
                .or_else(|| float(text).map(Meaning::Float))
                .unwrap_or(Meaning::Text(text)),
        }
    }

    /// Whether both mean the same.
    pub fn same(&self, other: &Self) -> bool {
        match (self.meaning(), other.meaning()) {
            (Meaning::Float(a), Meaning::Float(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Meaning::Int(int), Meaning::Float(float)) | (Meaning::Float(float), Meaning::Int(int)) => {
                int as f64 == float
            }
            (a, b) => a == b,
        }
    }
}

fn int(text: &str) -> Option<i128> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) || digits.len() > 130 {
        return None;
    }
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x', ..] => (16, &digits[2..]),
        [b'0', b'o', ..] => (8, &digits[2..]),
        [b'0', b'b', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    let plain = digits.replace('_', "");
    if !plain.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return None;
    }
    let number = i128::from_str_radix(&plain, radix).ok()?;
    Some(if text.starts_with('-') { -number } else { number })
}

fn float(text: &str) -> Option<f64> {
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    match unsigned {
        ".inf" | ".Inf" | ".INF" => return Some(sign * f64::INFINITY),
        ".nan" | ".NaN" | ".NAN" => return Some(f64::NAN),
        _ => {}
    }
    let is_number = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    if is_number { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Scalar {
        Scalar { text: text.to_owned(), is_text: false }
    }

    fn same(a: &str, b: &str) -> bool {
        plain(a).same(&plain(b)) && plain(b).same(&plain(a))
    }

    #[test]
    fn scalars_are_compared_by_what_they_mean() {
        for (a, b) in [
            ("0x10", "16"),
            ("0o17", "15"),
            ("017", "15"),
            ("08", "8"),
            ("1_000", "1000"),
            ("1.0", "1"),
            ("1e3", "1000"),
            ("~", ""),
            ("True", "true"),
            (".inf", ".INF"),
            (".nan", ".NaN"),
            ("-0x10", "-16"),
        ] {
            assert!(same(a, b), "{a} {b}");
        }
        for (a, b) in [("1s", "1"), ("yes", "true"), ("a", "A"), ("-.inf", ".inf"), ("0x", "0")] {
            assert!(!same(a, b), "{a} {b}");
        }
    }

    #[test]
    fn a_quoted_scalar_is_a_text() {
        let quoted = |text: &str| Scalar { text: text.to_owned(), is_text: true };
        assert!(quoted("1s").same(&plain("1s")));
        assert!(!quoted("16").same(&plain("16")));
        assert!(!quoted("").same(&plain("")));
    }
}
