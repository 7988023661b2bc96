//! What follows a frame that is no message: an answer, a shrug, or, after three in a row, the end of the connection.

use crate::frame::DecodeError;
use crate::message::{CloseCode, ErrorCode, ErrorMessage};

/// So many bad messages in a row end the connection.
const MAX_IN_A_ROW: u32 = 3;

/// What to do about a bad frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sentence {
    /// Nothing: a type of a later version that wants no answer.
    Drop,
    /// Say so.
    Answer { re: Option<String>, error: ErrorMessage },
    /// Say so and close.
    Close { code: CloseCode, error: ErrorMessage },
}

/// Bad messages since the last good one.
#[derive(Debug, Default)]
pub(crate) struct Strikes {
    in_a_row: u32,
}

impl Strikes {
    pub(crate) fn good(&mut self) {
        self.in_a_row = 0;
    }

    /// Judges a frame that could not be read.
    pub(crate) fn judge(&mut self, fault: &DecodeError) -> Sentence {
        let text = fault.to_string();
        match fault {
            DecodeError::TooLarge => {
                Sentence::Close { code: CloseCode::TooLarge, error: fatal(ErrorCode::MessageTooLarge, text) }
            }
            // An unknown type is no fault: the other side is newer.
            DecodeError::UnknownType { id: None, .. } => Sentence::Drop,
            DecodeError::UnknownType { id: re, .. } => {
                Sentence::Answer { re: re.clone(), error: mild(ErrorCode::UnsupportedType, text) }
            }
            DecodeError::BadData { id: re, .. } => self.bad(re.clone(), text),
            DecodeError::Malformed { .. } => self.bad(None, text),
        }
    }

    /// A message that can be read and does not belong here.
    pub(crate) fn bad(&mut self, re: Option<String>, text: String) -> Sentence {
        self.in_a_row += 1;
        if self.in_a_row >= MAX_IN_A_ROW {
            Sentence::Close { code: CloseCode::BadMessage, error: fatal(ErrorCode::BadMessage, text) }
        } else {
            Sentence::Answer { re, error: mild(ErrorCode::BadMessage, text) }
        }
    }
}

pub(crate) fn fatal(code: ErrorCode, message: impl Into<String>) -> ErrorMessage {
    ErrorMessage { code, message: message.into(), fatal: true, retry_after_ms: None }
}

pub(crate) fn mild(code: ErrorCode, message: impl Into<String>) -> ErrorMessage {
    ErrorMessage { code, message: message.into(), fatal: false, retry_after_ms: None }
}
