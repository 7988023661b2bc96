//! The way through the tree of Compose files: each value knows where it stands, so that whatever reads it can say where
//! it is wrong.

use std::sync::Arc;

use super::problem::Problems;
use super::values;
use crate::config::tree::{Meaning, Node, Place, Value};

/// The longest text in a message.
const SHOWN: usize = 64;

/// A value with its way from the top.
#[derive(Debug, Clone)]
pub(super) struct At {
    pub(super) node: Arc<Node>,
    /// Of its key, or of itself in a list.
    pub(super) place: Place,
    pub(super) path: String,
}

impl At {
    pub(super) fn root(node: Arc<Node>) -> Self {
        Self { place: node.place, node, path: String::new() }
    }

    /// Whether nothing is said.
    pub(super) fn is_null(&self) -> bool {
        matches!(&self.node.value, Value::Scalar(scalar) if scalar.meaning() == Meaning::Null)
    }

    pub(super) fn is_map(&self) -> bool {
        matches!(self.node.value, Value::Map(_))
    }

    pub(super) fn is_list(&self) -> bool {
        matches!(self.node.value, Value::List(_))
    }

    /// The value under a key.
    pub(super) fn get(&self, key: &str) -> Option<Self> {
        let entry = self.node.entries().iter().find(|entry| entry.key == key)?;
        Some(self.below(key, Arc::clone(&entry.value), entry.place))
    }

    /// A map's values with their keys; a problem when it is no map.
    pub(super) fn entries(&self, problems: &mut Problems<'_>) -> Vec<(String, Self)> {
        if !self.is_map() && !self.is_null() {
            problems.error(self, format!("must be a map of keys and values, not {}", self.kind()));
        }
        let below = |key: &str, node: &Arc<Node>, place| self.below(key, Arc::clone(node), place);
        let entries = self.node.entries().iter();
        entries.map(|entry| (entry.key.clone(), below(&entry.key, &entry.value, entry.place))).collect()
    }

    /// A list's values; a problem when it is no list.
    pub(super) fn items(&self, problems: &mut Problems<'_>) -> Vec<Self> {
        if !self.is_list() && !self.is_null() {
            problems.error(self, format!("must be a list, not {}", self.kind()));
        }
        let items = self.node.items().iter().enumerate();
        items
            .map(|(index, node)| Self {
                node: Arc::clone(node),
                place: node.place,
                path: format!("{}[{index}]", self.path),
            })
            .collect()
    }

    /// A list's values, or the only one.
    pub(super) fn one_or_many(&self, problems: &mut Problems<'_>) -> Vec<Self> {
        match &self.node.value {
            Value::Scalar(_) if !self.is_null() => vec![self.clone()],
            Value::Scalar(_) | Value::List(_) | Value::Map(_) => self.items(problems),
        }
    }

    /// A scalar's text as it was written.
    pub(super) fn text(&self, problems: &mut Problems<'_>) -> Option<String> {
        match &self.node.value {
            Value::Scalar(scalar) if !self.is_null() => {
                if scalar.text.contains('\0') {
                    problems.error(self, "must not hold a character of number 0");
                    return None;
                }
                Some(scalar.text.clone())
            }
            Value::Scalar(_) | Value::List(_) | Value::Map(_) => {
                problems.error(self, format!("must be a text, not {}", self.kind()));
                None
            }
        }
    }

    /// A list of texts.
    pub(super) fn texts(&self, problems: &mut Problems<'_>) -> Vec<String> {
        self.items(problems).iter().filter_map(|item| item.text(problems)).collect()
    }

    pub(super) fn boolean(&self, problems: &mut Problems<'_>) -> Option<bool> {
        let text = self.text(problems)?;
        let value = values::boolean(&text);
        if value.is_none() {
            problems.error(self, format!("must be true or false, not {}", shown(&text)));
        }
        value
    }

    /// A whole number between two others, both included.
    pub(super) fn number(&self, least: u64, most: u64, problems: &mut Problems<'_>) -> Option<u64> {
        let text = self.text(problems)?;
        match text.trim().parse::<u64>() {
            Ok(number) if (least..=most).contains(&number) => Some(number),
            Ok(_) | Err(_) => {
                let range = format!("must be a whole number from {least} to {most}");
                problems.error(self, format!("{range}, not {}", shown(&text)));
                None
            }
        }
    }

    pub(super) fn port(&self, problems: &mut Problems<'_>) -> Option<u16> {
        self.number(1, 65535, problems).and_then(|number| u16::try_from(number).ok())
    }

    pub(super) fn small(&self, most: u32, problems: &mut Problems<'_>) -> Option<u32> {
        self.number(0, u64::from(most), problems).and_then(|number| u32::try_from(number).ok())
    }

    /// A duration such as `1m30s`, in milliseconds.
    pub(super) fn duration_ms(&self, problems: &mut Problems<'_>) -> Option<u64> {
        let text = self.text(problems)?;
        values::duration_ms(&text).map_err(|reason| problems.error(self, reason)).ok()
    }

    /// A size such as `512m`, in bytes.
    pub(super) fn bytes(&self, problems: &mut Problems<'_>) -> Option<u64> {
        let text = self.text(problems)?;
        values::bytes(&text).map_err(|reason| problems.error(self, reason)).ok()
    }

    /// A number of processors such as `0.5`, in thousandths.
    pub(super) fn cpu_millis(&self, problems: &mut Problems<'_>) -> Option<u64> {
        let text = self.text(problems)?;
        values::cpu_millis(&text).map_err(|reason| problems.error(self, reason)).ok()
    }

    /// Whether it says nothing, no, 0 or an empty thing: what is not supported does no harm then.
    pub(super) fn is_off(&self) -> bool {
        match &self.node.value {
            Value::Scalar(scalar) => {
                scalar.meaning() == Meaning::Null
                    || matches!(scalar.text.as_str(), "" | "0")
                    || values::boolean(&scalar.text) == Some(false)
            }
            Value::List(items) => items.is_empty(),
            Value::Map(entries) => entries.is_empty(),
        }
    }

    pub(super) fn kind(&self) -> &'static str {
        match &self.node.value {
            Value::Scalar(_) if self.is_null() => "nothing",
            Value::Scalar(_) => "a single value",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }

    fn below(&self, key: &str, node: Arc<Node>, place: Place) -> Self {
        let key: String = key.chars().take(SHOWN).collect();
        let path = if self.path.is_empty() { key } else { format!("{}.{key}", self.path) };
        Self { node, place, path }
    }
}

/// A text in a message: quoted, and not longer than one reads.
pub(super) fn shown(text: &str) -> String {
    let short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() { format!("{short:?}…") } else { format!("{short:?}") }
}
