//! How many files an encoded effective configuration holds, counted before any of them is decoded. What is malformed
//! counts as the end here; the decoder says what is wrong with it.

use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};

/// EffectiveConfig.config_map, and AgentConfigMap.config_map: both have number 1.
const CONFIG_MAP: u32 = 1;

/// Whether an encoded EffectiveConfig has more than `limit` files. A name that occurs twice counts twice.
pub(super) fn are_more_than(limit: usize, effective_config: &[u8]) -> bool {
    let mut files = 0;
    each(effective_config, |map| {
        each(map, |_| {
            files += 1;
            files <= limit
        })
    });
    files > limit
}

/// Calls `visit` for each message of field 1 until it says no; whether it never did.
fn each(mut bytes: &[u8], mut visit: impl FnMut(&[u8]) -> bool) -> bool {
    while !bytes.is_empty() {
        let Ok((number, wire_type)) = decode_key(&mut bytes) else { break };
        if number != CONFIG_MAP || wire_type != WireType::LengthDelimited {
            if skip_field(wire_type, number, &mut bytes, DecodeContext::default()).is_err() {
                break;
            }
            continue;
        }
        let length = decode_varint(&mut bytes).ok().and_then(|length| usize::try_from(length).ok());
        let Some((message, rest)) = length.and_then(|length| bytes.split_at_checked(length)) else { break };
        bytes = rest;
        if !visit(message) {
            return false;
        }
    }
    true
}
