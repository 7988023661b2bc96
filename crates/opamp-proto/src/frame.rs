//! The payload of a WebSocket message: a header, which is a Varint of value 0, then one encoded message (WS-3).

use bytes::{BufMut, Bytes, BytesMut};
use prost::Message;

/// Why a WebSocket message is malformed (WS-10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A message of no bytes has no header.
    #[error("the WebSocket message is empty, it must start with a header")]
    Empty,
    /// The Varint ends before its last byte.
    #[error("the header is cut off after {0} bytes")]
    Truncated(usize),
    /// WS-7: a Varint has at most 10 bytes.
    #[error("the header is longer than 10 bytes")]
    TooLong,
    /// WS-9.
    #[error("the header is {0}, it must be 0")]
    NonZero(u64),
}

/// The header that this version writes (WS-8).
const HEADER: u8 = 0;

/// Puts a message into a WebSocket payload.
pub fn encode(message: &impl Message) -> Bytes {
    let mut buffer = BytesMut::with_capacity(1 + message.encoded_len());
    buffer.put_u8(HEADER);
    // Encoding into a growing buffer cannot run out of room.
    let _ = message.encode(&mut buffer);
    buffer.freeze()
}

/// The `data` part of a WebSocket payload (WS-11).
pub fn data(payload: &[u8]) -> Result<&[u8], FrameError> {
    // Ten times out of ten the header is one byte.
    match payload {
        [] => Err(FrameError::Empty),
        [HEADER, data @ ..] => Ok(data),
        _ => long_header(payload),
    }
}

/// Any header of 1 to 10 bytes (WS-7); a long-winded zero is a zero.
fn long_header(payload: &[u8]) -> Result<&[u8], FrameError> {
    let mut value = 0u64;
    for (index, byte) in payload.iter().take(10).enumerate() {
        let bits = u64::from(byte & 0x7f);
        if index == 9 && bits > 1 {
            return Err(FrameError::TooLong);
        }
        value |= bits << (7 * index);
        if byte & 0x80 == 0 {
            return if value == 0 { Ok(&payload[index + 1..]) } else { Err(FrameError::NonZero(value)) };
        }
    }
    if payload.len() >= 10 { Err(FrameError::TooLong) } else { Err(FrameError::Truncated(payload.len())) }
}
