//! What a session remembers of a sub-message: small ones whole, bulky ones by hash only, since their text
//! belongs in a store and not in memory.

use crate::hash::{Sha256Bytes, sha256};

/// Sub-messages up to this many bytes are kept whole. A description of a dozen attributes takes about 700.
pub const WHOLE_UP_TO: usize = 1536;

/// One remembered sub-message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// As it was encoded by the agent, fields unknown to this version included.
    Whole(Box<[u8]>),
    /// The hash of the encoded bytes.
    Digest(Box<Sha256Bytes>),
}

impl Kept {
    /// Remembers an encoded sub-message; `whole` asks for the bytes themselves if they are few.
    pub fn of(bytes: &[u8], whole: bool) -> Self {
        if whole && bytes.len() <= WHOLE_UP_TO {
            Self::Whole(bytes.into())
        } else {
            Self::Digest(Box::new(sha256(bytes)))
        }
    }

    /// Whether this is what is remembered.
    pub fn is(&self, bytes: &[u8]) -> bool {
        match self {
            Self::Whole(kept) => **kept == *bytes,
            Self::Digest(digest) => **digest == sha256(bytes),
        }
    }

    /// The bytes, if they were kept.
    pub fn whole(&self) -> Option<&[u8]> {
        match self {
            Self::Whole(bytes) => Some(bytes),
            Self::Digest(_) => None,
        }
    }
}
