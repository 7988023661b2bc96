//! Labels: what operators say of an agent, beside what the agent says of itself. A selector takes a label as one more
//! value of its key, see [`crate::Selector::matches_labelled`].

use std::collections::{BTreeMap, BTreeSet};

use opamp_proto::hash::sha256;

use crate::name::is_unseen;

/// The labels of an agent, by key.
pub type Labels = BTreeMap<String, String>;

/// The most labels of one agent.
pub const MAX_LABELS: usize = 64;
/// The longest key, in characters.
pub const MAX_KEY: usize = 63;
/// The longest value, in bytes.
pub const MAX_VALUE: usize = 63;

/// Why something is no label.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLabel {
    /// A key that breaks the rule.
    #[error(
        "{0:?} is no key of a label: it begins with a letter or a digit, goes on with these and . _ / - and has at \
         most {MAX_KEY} characters"
    )]
    Key(String),
    /// A value that is too long or cannot be seen.
    #[error("the value of {0:?} has more than {MAX_VALUE} bytes or a character that cannot be seen")]
    Value(String),
    /// One key both ways.
    #[error("{0:?} is both to be set and to be removed")]
    Both(String),
    /// More than [`MAX_LABELS`].
    #[error("an agent has at most {MAX_LABELS} labels")]
    TooMany,
}

/// A number that labels have in common only with equal ones: what `ETag` and `If-Match` compare.
pub fn version(labels: &Labels) -> u64 {
    let mut text = Vec::new();
    for (key, value) in labels {
        text.extend_from_slice(key.as_bytes());
        // Keys and values hold no controls.
        text.push(0);
        text.extend_from_slice(value.as_bytes());
        text.push(0);
    }
    let [a, b, c, d, e, f, g, ..] = sha256(&text);
    u64::from_be_bytes([0, a, b, c, d, e, f, g])
}

/// What is to become of labels: some set, some removed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabelChange {
    set: Labels,
    remove: BTreeSet<String>,
    /// Whether labels that are not set go.
    replaces: bool,
}

impl LabelChange {
    /// Sets some labels and removes others.
    pub fn try_new(set: Labels, remove: impl IntoIterator<Item = String>) -> Result<Self, InvalidLabel> {
        let remove: BTreeSet<_> = remove.into_iter().collect();
        check(&set)?;
        for key in &remove {
            check_key(key)?;
            if set.contains_key(key) {
                return Err(InvalidLabel::Both(key.clone()));
            }
        }
        Ok(Self { set, remove, replaces: false })
    }

    /// Sets these labels and removes all others.
    pub fn replacing(set: Labels) -> Result<Self, InvalidLabel> {
        check(&set)?;
        Ok(Self { set, remove: BTreeSet::new(), replaces: true })
    }

    /// Whether it can change nothing.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.remove.is_empty() && !self.replaces
    }

    /// What labels become. [`InvalidLabel::TooMany`] when they would be more than an agent may have.
    pub fn apply(&self, before: &Labels) -> Result<Labels, InvalidLabel> {
        let stays = |key: &String| !self.replaces && !self.remove.contains(key);
        let kept = before.iter().filter(|(key, _)| stays(key));
        let mut after: Labels = kept.map(|(key, value)| (key.clone(), value.clone())).collect();
        after.extend(self.set.iter().map(|(key, value)| (key.clone(), value.clone())));
        if after.len() > MAX_LABELS { Err(InvalidLabel::TooMany) } else { Ok(after) }
    }
}

fn check(labels: &Labels) -> Result<(), InvalidLabel> {
    if labels.len() > MAX_LABELS {
        return Err(InvalidLabel::TooMany);
    }
    for (key, value) in labels {
        check_key(key)?;
        if value.len() > MAX_VALUE || value.chars().any(is_unseen) {
            return Err(InvalidLabel::Value(key.clone()));
        }
    }
    Ok(())
}

fn check_key(key: &str) -> Result<(), InvalidLabel> {
    let is_good = key.len() <= MAX_KEY
        && key.starts_with(|c: char| c.is_ascii_alphanumeric())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte));
    if is_good { Ok(()) } else { Err(InvalidLabel::Key(key.chars().take(64).collect())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(list: &[(&str, &str)]) -> Labels {
        list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn labels_are_set_removed_and_replaced() {
        let before = labels(&[("a", "1"), ("b", "2")]);
        let change = LabelChange::try_new(labels(&[("b", "3"), ("c", "4")]), ["a".to_owned()]).unwrap();
        assert_eq!(change.apply(&before).unwrap(), labels(&[("b", "3"), ("c", "4")]));
        let change = LabelChange::replacing(labels(&[("c", "4")])).unwrap();
        assert_eq!(change.apply(&before).unwrap(), labels(&[("c", "4")]));
        assert_eq!(LabelChange::replacing(Labels::new()).unwrap().apply(&before).unwrap(), Labels::new());
    }

    #[test]
    fn what_is_no_label_is_refused() {
        let key = |key: &str| LabelChange::replacing(labels(&[(key, "")])).err();
        for bad in ["", "-a", "a b", "ä", &"a".repeat(64)] {
            assert_eq!(key(bad), Some(InvalidLabel::Key(bad.to_owned())));
        }
        for good in ["a", "0", "team/a.b_c-d", &"a".repeat(63)] {
            assert_eq!(key(good), None);
        }
        let value = |value: &str| LabelChange::replacing(labels(&[("a", value)])).err();
        assert_eq!(value(&"é".repeat(31)), None);
        assert_eq!(value(&"é".repeat(32)), Some(InvalidLabel::Value("a".to_owned())));
        assert_eq!(value("a\nb"), Some(InvalidLabel::Value("a".to_owned())));
        let both = LabelChange::try_new(labels(&[("a", "1")]), ["a".to_owned()]);
        assert_eq!(both, Err(InvalidLabel::Both("a".to_owned())));
    }

    #[test]
    fn an_agent_has_no_more_labels_than_it_may() {
        let many: Labels = (0..64).map(|n| (format!("k{n}"), String::new())).collect();
        let one = LabelChange::try_new(labels(&[("x", "")]), []).unwrap();
        assert_eq!(one.apply(&many), Err(InvalidLabel::TooMany));
        let swap = LabelChange::try_new(labels(&[("x", "")]), ["k0".to_owned()]).unwrap();
        assert_eq!(swap.apply(&many).unwrap().len(), 64);
    }
}
