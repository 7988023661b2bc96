//! How messages travel: one JSON object in each text frame, `{"type", "id", "re", "data"}`. The head is read first and
//! `data` only when the type is known, so an unknown type costs nothing and can be answered by its id.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::limits::{MAX_MESSAGE, WORD};

/// A message with its place in a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame<M> {
    /// Set when an answer is expected.
    pub id: Option<String>,
    /// The `id` that this answers.
    pub re: Option<String>,
    /// What is said.
    pub body: M,
}

impl<M> Frame<M> {
    /// A message that expects no answer.
    pub fn plain(body: M) -> Self {
        Self { id: None, re: None, body }
    }

    /// A message that expects an answer.
    pub fn asking(id: impl Into<String>, body: M) -> Self {
        Self { id: Some(id.into()), re: None, body }
    }

    /// The answer to a message.
    pub fn answering(re: Option<String>, body: M) -> Self {
        Self { id: None, re, body }
    }
}

/// The messages that one side understands.
pub trait Body: Sized {
    /// The name on the wire.
    fn kind(&self) -> &'static str;
    /// The content on the wire.
    fn data(&self) -> Result<Box<RawValue>, serde_json::Error>;
    /// The message of a name and a content; `None` when the name is not known.
    fn read(kind: &str, data: &RawValue) -> Option<Result<Self, serde_json::Error>>;
}

/// A frame that is no message of ours. Never carries what was received: it could be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Longer than [`MAX_MESSAGE`] (REQ-11).
    #[error("the message is longer than {MAX_MESSAGE} bytes")]
    TooLarge,
    /// Not JSON, or without a type.
    #[error("not a message: {reason} in line {line}, column {column}")]
    Malformed {
        /// What is wrong.
        reason: &'static str,
        /// Where, from 1.
        line: usize,
        /// Where, from 1.
        column: usize,
    },
    /// A type that this version does not know: answered when it has an id, else dropped.
    #[error("a message of a type that is not known here")]
    UnknownType {
        /// Its name, at most 64 bytes of it.
        kind: String,
        /// What to answer to.
        id: Option<String>,
    },
    /// A known type with a content that does not fit.
    #[error("`{kind}` cannot be read: {reason} in line {line}, column {column} of its data")]
    BadData {
        /// Which type.
        kind: String,
        /// What to answer to.
        id: Option<String>,
        /// What is wrong.
        reason: &'static str,
        /// Where, from 1.
        line: usize,
        /// Where, from 1.
        column: usize,
    },
}

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(rename = "type")]
    kind: std::borrow::Cow<'a, str>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    re: Option<String>,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Out<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    re: Option<&'a str>,
    data: &'a RawValue,
}

impl<M: Body> Frame<M> {
    /// The text that travels.
    ///
    /// # Errors
    /// Never for the messages of this crate: their maps have texts as keys.
    pub fn encode(&self) -> Result<String, serde_json::Error> {
        let data = self.body.data()?;
        let out = Out { kind: self.body.kind(), id: self.id.as_deref(), re: self.re.as_deref(), data: &data };
        serde_json::to_string(&out)
    }

    /// Reads a text.
    ///
    /// # Errors
    /// See [`DecodeError`]; the connection lives on after each but [`DecodeError::TooLarge`].
    pub fn decode(text: &str) -> Result<Self, DecodeError> {
        if text.len() > MAX_MESSAGE {
            return Err(DecodeError::TooLarge);
        }
        let head: Head<'_> = serde_json::from_str(text).map_err(|error| DecodeError::Malformed {
            reason: reason(&error),
            line: error.line(),
            column: error.column(),
        })?;
        // An id longer than any of ours cannot be answered to.
        let [id, re] = [head.id, head.re].map(|id| id.filter(|id| id.len() <= WORD));
        let nothing;
        let data = match head.data {
            Some(data) => data,
            None => {
                nothing = RawValue::NULL;
                nothing
            }
        };
        match M::read(&head.kind, data) {
            Some(Ok(body)) => Ok(Self { id, re, body }),
            Some(Err(error)) => Err(DecodeError::BadData {
                kind: shortened(&head.kind),
                id,
                reason: reason(&error),
                line: error.line(),
                column: error.column(),
            }),
            None => Err(DecodeError::UnknownType { kind: shortened(&head.kind), id }),
        }
    }
}

/// What kind of fault it is. serde's own text quotes values.
fn reason(error: &serde_json::Error) -> &'static str {
    match error.classify() {
        serde_json::error::Category::Io => "it cannot be read",
        serde_json::error::Category::Syntax => "the syntax is wrong",
        serde_json::error::Category::Data => "a field is missing or of another type",
        serde_json::error::Category::Eof => "it ends too soon",
    }
}

fn shortened(kind: &str) -> String {
    kind.chars().filter(|character| !character.is_control()).take(64).collect()
}
