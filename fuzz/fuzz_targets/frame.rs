//! The header of a WebSocket message: never a panic, and what is accepted begins with a zero of at most 10 bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use opamp_proto::frame;

fuzz_target!(|payload: &[u8]| {
    let Ok(data) = frame::data(payload) else { return };
    let header = &payload[..payload.len() - data.len()];
    assert!((1..=10).contains(&header.len()));
    assert!(payload.ends_with(data));
    assert!(header.iter().all(|byte| byte & 0x7f == 0));
    assert_eq!(header.iter().position(|byte| byte & 0x80 == 0), Some(header.len() - 1));
});
