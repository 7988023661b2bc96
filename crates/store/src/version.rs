//! Versions of rows that can change: each change counts one up, and a change can be meant for one version only.

use crate::error::StoreError;

/// The versions that a change is meant for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Expected {
    /// Whichever is there.
    #[default]
    Any,
    /// One of these.
    OneOf(Vec<u64>),
}

impl Expected {
    /// [`StoreError::Changed`] when `version` is none of them; `what` names the row.
    pub fn check(&self, version: u64, what: &'static str) -> Result<(), StoreError> {
        match self {
            Self::OneOf(versions) if !versions.contains(&version) => Err(StoreError::Changed(what)),
            Self::Any | Self::OneOf(_) => Ok(()),
        }
    }
}
