//! Selectors over attributes, in the syntax of Kubernetes label selectors: `service.name=otelcol,
//! env in (prod,staging),!drained`. One syntax tree; matched in memory here and in SQL by `store`, and a
//! property test there holds both together. Reading text is [`parse`].

use std::fmt;
use std::str::FromStr;

use crate::attribute::Attributes;
use crate::label::Labels;

mod parse;
#[cfg(test)]
mod tests;

pub use parse::ParseError;

/// The longest text that is read, in bytes.
pub const MAX_TEXT: usize = 4096;
/// The most requirements in one selector.
pub const MAX_REQUIREMENTS: usize = 32;
/// The most values in one list.
pub const MAX_VALUES: usize = 100;

/// Requirements that an agent must all meet. None: every agent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

/// One requirement on one key. Its key and its lists are never empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Requirement {
    key: String,
    test: Test,
}

/// What is required of a key. Values are compared as text, see [`crate::AttributeValue`]; a key with several values
/// is equal to each of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Test {
    /// `key=value`
    Is(String),
    /// `key!=value`; also met by an agent without the key, as in Kubernetes.
    IsNot(String),
    /// `key in (a,b)`
    In(Vec<String>),
    /// `key notin (a,b)`; also met by an agent without the key.
    NotIn(Vec<String>),
    /// `key`
    Exists,
    /// `!key`
    Missing,
}

/// Why parts make no selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSelector {
    /// A key without a letter.
    #[error("a key must not be empty")]
    EmptyKey,
    /// `in ()`.
    #[error("a list needs at least one value")]
    EmptyList,
    /// More than [`MAX_VALUES`].
    #[error("a list has more than {MAX_VALUES} values")]
    TooManyValues,
    /// More than [`MAX_REQUIREMENTS`].
    #[error("a selector has more than {MAX_REQUIREMENTS} requirements")]
    TooManyRequirements,
}

impl Selector {
    /// The selector that every agent meets.
    pub const fn everything() -> Self {
        Self { requirements: Vec::new() }
    }

    /// A selector of these requirements.
    pub fn try_new(requirements: Vec<Requirement>) -> Result<Self, InvalidSelector> {
        if requirements.len() > MAX_REQUIREMENTS {
            return Err(InvalidSelector::TooManyRequirements);
        }
        Ok(Self { requirements })
    }

    /// Reads a selector; empty text is [`Selector::everything`].
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        parse::selector(text)
    }

    /// The requirements.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Whether every agent meets it.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether an agent with these attributes meets it.
    pub fn matches(&self, attributes: &Attributes) -> bool {
        self.requirements.iter().all(|requirement| requirement.matches(attributes))
    }

    /// Whether an agent with these attributes and labels meets it. A label is one more value of its key.
    pub fn matches_labelled(&self, attributes: &Attributes, labels: &Labels) -> bool {
        self.requirements.iter().all(|requirement| requirement.matches_labelled(attributes, labels))
    }
}

impl Requirement {
    /// A requirement on a key.
    pub fn try_new(key: impl Into<String>, test: Test) -> Result<Self, InvalidSelector> {
        let key = key.into();
        if key.is_empty() {
            return Err(InvalidSelector::EmptyKey);
        }
        if let Test::In(values) | Test::NotIn(values) = &test {
            match values.len() {
                0 => return Err(InvalidSelector::EmptyList),
                1..=MAX_VALUES => {}
                _ => return Err(InvalidSelector::TooManyValues),
            }
        }
        Ok(Self { key, test })
    }

    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What is required of it.
    pub fn test(&self) -> &Test {
        &self.test
    }

    /// Whether an agent with these attributes meets it.
    pub fn matches(&self, attributes: &Attributes) -> bool {
        self.is_met(attributes, None)
    }

    /// Whether an agent with these attributes and labels meets it.
    pub fn matches_labelled(&self, attributes: &Attributes, labels: &Labels) -> bool {
        self.is_met(attributes, labels.get(&self.key).map(String::as_str))
    }

    /// `label` is one more value of the key.
    fn is_met(&self, attributes: &Attributes, label: Option<&str>) -> bool {
        let mut values =
            attributes.iter().filter(|attribute| attribute.key == self.key).map(|one| &one.value);
        let mut has_one_of = |texts: &[String]| {
            label.is_some_and(|label| texts.iter().any(|text| text == label))
                || values.any(|value| texts.iter().any(|text| value.text_is(text)))
        };
        match &self.test {
            Test::Is(text) => has_one_of(std::slice::from_ref(text)),
            Test::IsNot(text) => !has_one_of(std::slice::from_ref(text)),
            Test::In(texts) => has_one_of(texts),
            Test::NotIn(texts) => !has_one_of(texts),
            Test::Exists => label.is_some() || values.next().is_some(),
            Test::Missing => label.is_none() && values.next().is_none(),
        }
    }
}

impl FromStr for Selector {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::parse(text)
    }
}

impl fmt::Display for Selector {
    /// Text that [`Selector::parse`] reads back to the same selector.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            write!(f, "{requirement}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = Word(&self.key);
        match &self.test {
            Test::Is(value) => write!(f, "{key}={}", Word(value)),
            Test::IsNot(value) => write!(f, "{key}!={}", Word(value)),
            Test::In(values) => write!(f, "{key} in ({})", List(values)),
            Test::NotIn(values) => write!(f, "{key} notin ({})", List(values)),
            Test::Exists => write!(f, "{key}"),
            Test::Missing => write!(f, "!{key}"),
        }
    }
}

/// A key or value, quoted when it must be.
struct Word<'a>(&'a str);

impl fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.is_empty() && self.0.chars().all(parse::is_bare) {
            return f.write_str(self.0);
        }
        let escaped = self.0.replace('\\', "\\\\").replace('"', "\\\"");
        write!(f, "\"{escaped}\"")
    }
}

struct List<'a>(&'a [String]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, value) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            write!(f, "{}", Word(value))?;
        }
        Ok(())
    }
}
