//! How much either side reads before it refuses.

/// Largest message that is read unless the caller says otherwise, in bytes after decompression.
pub const DEFAULT_MAX_MESSAGE: usize = 16 * 1024 * 1024;

/// Largest message limit that can be set, in bytes: the default of later versions of the specification.
pub const MAX_MESSAGE_CEILING: usize = 64 * 1024 * 1024;

/// The most files that an effective configuration may have: an empty one takes some twenty times its bytes once it is
/// decoded, and real configurations have a few.
pub const MAX_CONFIG_FILES: usize = 1024;

/// A message limit that lies within what the protocol allows for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageLimit(usize);

/// Why a limit cannot be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message limit of {0} bytes is outside 1 to {MAX_MESSAGE_CEILING}")]
pub struct InvalidLimit(pub usize);

impl MessageLimit {
    /// A limit of 1 byte to 64 MiB.
    pub const fn try_new(bytes: usize) -> Result<Self, InvalidLimit> {
        if bytes == 0 || bytes > MAX_MESSAGE_CEILING { Err(InvalidLimit(bytes)) } else { Ok(Self(bytes)) }
    }

    /// The largest length that is accepted, in bytes.
    pub const fn bytes(self) -> usize {
        self.0
    }
}

impl Default for MessageLimit {
    fn default() -> Self {
        Self(DEFAULT_MAX_MESSAGE)
    }
}
