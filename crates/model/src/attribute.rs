//! Attributes of an agent with their types (S5): what `AgentDescription` says, kept without loss.
//! Matching them is [`crate::selector`]; the database's index rows are made in `store`.

use std::fmt::{self, Write as _};

use bytes::Bytes;
use opamp_proto::wire::{self, any_value::Value};

/// A value of an attribute.
///
/// Its text (`Display`) is what selectors compare and the console shows: a string as it is, `true`, `42`,
/// `1.0`, bytes in base64, lists and maps as JSON.
#[derive(Debug, Clone, PartialEq)]
pub enum AttributeValue {
    /// No value, or a value of a type newer than this version.
    Empty,
    /// Text.
    String(String),
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A floating point number; its text always has a point, an exponent or a name (`NaN`, `inf`).
    Double(f64),
    /// Bytes.
    Bytes(Bytes),
    /// A list, whose members can differ in type.
    Array(Vec<AttributeValue>),
    /// Pairs in the order in which they came; a key can occur twice.
    Map(Vec<Attribute>),
}

/// A named value.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    /// Any text, also none.
    pub key: String,
    /// The value.
    pub value: AttributeValue,
}

/// All attributes of an agent, in the order in which they came.
///
/// A key that occurs several times keeps every value: [`Attributes::get`] gives the first, identifying ones
/// before the others, and a selector is content with any of them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attributes {
    /// What tells the agent apart from others (DESC-2).
    pub identifying: Vec<Attribute>,
    /// What else is known of it.
    pub non_identifying: Vec<Attribute>,
}

impl Attribute {
    /// A named value.
    pub fn new(key: impl Into<String>, value: AttributeValue) -> Self {
        Self { key: key.into(), value }
    }
}

impl AttributeValue {
    /// The name of the type: `string`, `bool`, `int`, `double`, `bytes`, `array`, `map` or `empty`.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::String(_) => "string",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Double(_) => "double",
            Self::Bytes(_) => "bytes",
            Self::Array(_) => "array",
            Self::Map(_) => "map",
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Whether the value's text is `text`. Spares the copy for strings.
    pub fn text_is(&self, text: &str) -> bool {
        match self {
            Self::String(own) => own == text,
            Self::Empty => text.is_empty(),
            other => other.to_string() == text,
        }
    }
}

impl Attributes {
    /// Every attribute, identifying ones first.
    pub fn iter(&self) -> impl Iterator<Item = &Attribute> {
        self.identifying.iter().chain(&self.non_identifying)
    }

    /// The first value of a key.
    pub fn get(&self, key: &str) -> Option<&AttributeValue> {
        self.iter().find(|attribute| attribute.key == key).map(|attribute| &attribute.value)
    }

    /// The text of a key's first value; `None` when it is missing or its text is empty.
    pub fn text(&self, key: &str) -> Option<String> {
        self.get(key).map(AttributeValue::to_string).filter(|text| !text.is_empty())
    }
}

impl From<wire::AgentDescription> for Attributes {
    fn from(description: wire::AgentDescription) -> Self {
        let wire::AgentDescription { identifying_attributes, non_identifying_attributes } = description;
        Self {
            identifying: identifying_attributes.into_iter().map(Attribute::from).collect(),
            non_identifying: non_identifying_attributes.into_iter().map(Attribute::from).collect(),
        }
    }
}

impl From<wire::KeyValue> for Attribute {
    fn from(pair: wire::KeyValue) -> Self {
        let wire::KeyValue { key, value } = pair;
        Self { key, value: value.map_or(AttributeValue::Empty, AttributeValue::from) }
    }
}

impl From<wire::AnyValue> for AttributeValue {
    fn from(value: wire::AnyValue) -> Self {
        match value.value {
            None => Self::Empty,
            Some(Value::StringValue(text)) => Self::String(text),
            Some(Value::BoolValue(value)) => Self::Bool(value),
            Some(Value::IntValue(value)) => Self::Int(value),
            Some(Value::DoubleValue(value)) => Self::Double(value),
            Some(Value::BytesValue(bytes)) => Self::Bytes(bytes),
            Some(Value::ArrayValue(list)) => Self::Array(list.values.into_iter().map(Self::from).collect()),
            Some(Value::KvlistValue(map)) => Self::Map(map.values.into_iter().map(Attribute::from).collect()),
        }
    }
}

impl From<AttributeValue> for wire::AnyValue {
    fn from(value: AttributeValue) -> Self {
        let value = match value {
            AttributeValue::Empty => None,
            AttributeValue::String(text) => Some(Value::StringValue(text)),
            AttributeValue::Bool(value) => Some(Value::BoolValue(value)),
            AttributeValue::Int(value) => Some(Value::IntValue(value)),
            AttributeValue::Double(value) => Some(Value::DoubleValue(value)),
            AttributeValue::Bytes(bytes) => Some(Value::BytesValue(bytes)),
            AttributeValue::Array(list) => {
                let values = list.into_iter().map(Self::from).collect();
                Some(Value::ArrayValue(wire::ArrayValue { values }))
            }
            AttributeValue::Map(pairs) => {
                let values = pairs.into_iter().map(wire::KeyValue::from).collect();
                Some(Value::KvlistValue(wire::KeyValueList { values }))
            }
        };
        Self { value }
    }
}

impl From<Attribute> for wire::KeyValue {
    fn from(attribute: Attribute) -> Self {
        Self { key: attribute.key, value: Some(attribute.value.into()) }
    }
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl fmt::Display for AttributeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => Ok(()),
            Self::String(text) => f.write_str(text),
            Self::Bytes(bytes) => write_base64(f, bytes),
            other => write_json(f, other),
        }
    }
}

fn write_json(f: &mut fmt::Formatter<'_>, value: &AttributeValue) -> fmt::Result {
    match value {
        AttributeValue::Empty => f.write_str("null"),
        AttributeValue::String(text) => write_json_string(f, text),
        AttributeValue::Bool(value) => write!(f, "{value}"),
        AttributeValue::Int(value) => write!(f, "{value}"),
        AttributeValue::Double(value) => write!(f, "{value:?}"),
        AttributeValue::Bytes(bytes) => {
            f.write_char('"')?;
            write_base64(f, bytes)?;
            f.write_char('"')
        }
        AttributeValue::Array(list) => {
            f.write_char('[')?;
            for (index, member) in list.iter().enumerate() {
                if index > 0 {
                    f.write_char(',')?;
                }
                write_json(f, member)?;
            }
            f.write_char(']')
        }
        AttributeValue::Map(pairs) => {
            f.write_char('{')?;
            for (index, pair) in pairs.iter().enumerate() {
                if index > 0 {
                    f.write_char(',')?;
                }
                write_json_string(f, &pair.key)?;
                f.write_char(':')?;
                write_json(f, &pair.value)?;
            }
            f.write_char('}')
        }
    }
}

fn write_json_string(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            c if (c as u32) < 0x20 => write!(f, "\\u{:04x}", c as u32)?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

/// RFC 4648, section 4, with padding, as OTLP's JSON form writes bytes.
fn write_base64(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            if place <= chunk.len() {
                f.write_char(char::from(ALPHABET[(group >> (18 - 6 * place) & 0x3f) as usize]))?;
            } else {
                f.write_char('=')?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
