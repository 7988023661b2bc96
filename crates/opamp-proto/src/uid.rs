//! The identity of an agent: 16 bytes (UID-7). Any 16 bytes are accepted; what we make is a UUID version 7.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;

/// An instance_uid. Created only from 16 bytes, from text or by [`InstanceUid::generate`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstanceUid([u8; 16]);

/// Why bytes or text are no instance_uid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUid {
    /// UID-7.
    #[error("instance_uid has {0} bytes, it must have exactly 16")]
    Length(usize),
    /// All bytes are zero: no agent can be told by it.
    #[error("instance_uid is all zero")]
    Zero,
    /// Text that is no UUID.
    #[error("{0:?} is no UUID")]
    Text(String),
}

impl InstanceUid {
    /// Takes 16 bytes that are not all zero.
    pub fn try_from_slice(bytes: &[u8]) -> Result<Self, InvalidUid> {
        let array: [u8; 16] = bytes.try_into().map_err(|_| InvalidUid::Length(bytes.len()))?;
        if array == [0; 16] {
            return Err(InvalidUid::Zero);
        }
        Ok(Self(array))
    }

    /// A UUID version 7 (UID-8, UID-17) from the time in milliseconds since 1970 and ten random bytes.
    pub fn generate(unix_millis: u64, random: [u8; 10]) -> Self {
        Self(uuid::Builder::from_unix_timestamp_millis(unix_millis, &random).into_uuid().into_bytes())
    }

    /// The 16 bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The 16 bytes as a message field.
    pub fn to_bytes(self) -> Bytes {
        Bytes::copy_from_slice(&self.0)
    }
}

impl fmt::Display for InstanceUid {
    /// The canonical text of the UUID, as in the `OpAMP-Instance-UID` header (HTTP-21).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        uuid::Uuid::from_bytes(self.0).hyphenated().fmt(f)
    }
}

impl fmt::Debug for InstanceUid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for InstanceUid {
    type Err = InvalidUid;

    fn from_str(text: &str) -> Result<Self, InvalidUid> {
        let uuid =
            uuid::Uuid::try_parse(text).map_err(|_| InvalidUid::Text(text.chars().take(64).collect()))?;
        Self::try_from_slice(uuid.as_bytes())
    }
}
