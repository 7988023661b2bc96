//! Whether bytes are a well-formed message, found out without building it.
//!
//! A sub-message that changed is checked before it is kept. Decoding it for that alone would cost more than all the
//! rest of a status report: strings and maps that nobody looks at. [`fits`] only says yes or "perhaps not": what it
//! does not accept is decoded by the generated code, whose word counts and whose error the agent gets.

use prost::encoding::{WireType, decode_key, decode_varint};

use Kind::{Blob, Fixed64, Map, Message, Text, Varint};

/// What a field holds.
enum Kind {
    Varint,
    Fixed64,
    Text,
    Blob,
    Message(&'static Shape),
    /// A map from text to messages or texts; the entry is a message with a key and a value.
    Map(&'static Kind),
}

/// A message type: its fields by number. A field that is missing here is one that this version does not know.
pub(super) struct Shape(&'static [(u32, Kind)]);

static ANY_VALUE: Shape = Shape(&[
    (1, Text),
    (2, Varint),
    (3, Varint),
    (4, Fixed64),
    (5, Message(&Shape(&[(1, Message(&ANY_VALUE))]))),
    (6, Message(&Shape(&[(1, Message(&KEY_VALUE))]))),
    (7, Blob),
]);
static KEY_VALUE: Shape = Shape(&[(1, Text), (2, Message(&ANY_VALUE))]);

pub(super) static DESCRIPTION: Shape = Shape(&[(1, Message(&KEY_VALUE)), (2, Message(&KEY_VALUE))]);
pub(super) static HEALTH: Shape = Shape(&[
    (1, Varint),
    (2, Fixed64),
    (3, Text),
    (4, Text),
    (5, Fixed64),
    (6, Map(&Message(&HEALTH))),
    (7, Message(&KEY_VALUE)),
]);
static CONFIG_FILE: Shape = Shape(&[(1, Blob), (2, Text), (3, Text)]);
static CONFIG_MAP: Shape = Shape(&[(1, Map(&Message(&CONFIG_FILE)))]);
pub(super) static EFFECTIVE_CONFIG: Shape = Shape(&[(1, Message(&CONFIG_MAP))]);
/// RemoteConfigStatus and ConnectionSettingsStatus have the same fields.
pub(super) static STATUS: Shape = Shape(&[(1, Blob), (2, Varint), (3, Text)]);
pub(super) static CUSTOM_CAPABILITIES: Shape = Shape(&[(1, Text)]);

/// Levels of nesting that are followed; well below the generated code's own bound of a hundred.
const MAX_DEPTH: u8 = 32;

/// Whether the bytes are certainly a message of this shape.
pub(super) fn fits(shape: &Shape, bytes: &[u8]) -> bool {
    message(shape.0, bytes, MAX_DEPTH).is_some()
}

fn message(fields: &[(u32, Kind)], mut bytes: &[u8], depth: u8) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    while !bytes.is_empty() {
        let (number, wire_type) = decode_key(&mut bytes).ok()?;
        // A field that is not known here is left to the decoder: it is rare.
        let (_, kind) = fields.iter().find(|(known, _)| *known == number)?;
        field(kind, wire_type, &mut bytes, depth)?;
    }
    Some(())
}

fn field(kind: &Kind, wire_type: WireType, bytes: &mut &[u8], depth: u8) -> Option<()> {
    match (kind, wire_type) {
        (Varint, WireType::Varint) => decode_varint(bytes).ok().map(drop),
        (Fixed64, WireType::SixtyFourBit) => bytes.split_off(..8).map(drop),
        (_, WireType::LengthDelimited) => {
            let length = usize::try_from(decode_varint(bytes).ok()?).ok()?;
            content(kind, bytes.split_off(..length)?, depth)
        }
        _ => None,
    }
}

fn content(kind: &Kind, bytes: &[u8], depth: u8) -> Option<()> {
    match kind {
        Blob => Some(()),
        Text => std::str::from_utf8(bytes).ok().map(drop),
        Message(shape) => message(shape.0, bytes, depth),
        Map(value) => entry(value, bytes, depth),
        Varint | Fixed64 => None,
    }
}

/// An entry of a map: field 1 is the key, field 2 the value.
fn entry(value: &Kind, mut bytes: &[u8], depth: u8) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    while !bytes.is_empty() {
        let (number, wire_type) = decode_key(&mut bytes).ok()?;
        match number {
            1 => field(&Text, wire_type, &mut bytes, depth)?,
            2 => field(value, wire_type, &mut bytes, depth)?,
            _ => return None,
        }
    }
    Some(())
}
