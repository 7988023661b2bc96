//! The header before each message of the WebSocket transport.

use opamp_proto::frame::{self, FrameError};
use opamp_proto::wire::{self, Message};
use proptest::prelude::*;

use crate::generators::{agent_to_server, varint};

/// The number zero, written in so many bytes.
fn long_zero(length: usize) -> Vec<u8> {
    let mut header = vec![0x80; length];
    header[length - 1] = 0;
    header
}

proptest! {
    #[test]
    fn ws_3_a_payload_is_a_header_followed_by_one_message(message in agent_to_server()) {
        let payload = frame::encode(&message);
        let data = frame::data(&payload).unwrap();
        prop_assert_eq!(data, &message.encode_to_vec()[..]);
    }

    #[test]
    fn ws_6_the_header_is_a_varint_of_64_bits(value in 1u64..) {
        let payload = [varint(value), vec![1, 2, 3]].concat();
        prop_assert_eq!(frame::data(&payload), Err(FrameError::NonZero(value)));
    }

    #[test]
    fn ws_11_the_data_is_the_payload_without_the_header(length in 1usize..=10, data in prop::collection::vec(any::<u8>(), 0..40)) {
        let payload = [long_zero(length), data.clone()].concat();
        prop_assert_eq!(frame::data(&payload), Ok(&data[..]));
    }

    #[test]
    fn any_payload_is_data_or_an_error(payload in prop::collection::vec(any::<u8>(), 0..24)) {
        if let Ok(data) = frame::data(&payload) {
            prop_assert!(payload.ends_with(data));
            prop_assert!(data.len() < payload.len());
        }
    }
}

#[test]
fn ws_7_headers_of_1_to_10_bytes_are_read_and_longer_ones_refused() {
    for length in 1..=10 {
        assert_eq!(frame::data(&[long_zero(length), vec![9]].concat()), Ok(&[9][..]), "{length} bytes");
    }
    assert_eq!(frame::data(&long_zero(11)), Err(FrameError::TooLong));
    assert_eq!(frame::data(&[0xff; 10]), Err(FrameError::TooLong));
    for length in 1..10 {
        assert_eq!(frame::data(&vec![0x80; length]), Err(FrameError::Truncated(length)));
    }
}

#[test]
fn ws_8_the_header_that_we_write_is_one_zero_byte() {
    let message = wire::ServerToAgent { capabilities: 1, ..wire::ServerToAgent::default() };
    assert_eq!(frame::encode(&message)[..], [0, 7 << 3, 1]);
    assert_eq!(frame::encode(&wire::AgentToServer::default())[..], [0]);
}

#[test]
fn ws_9_ws_10_a_header_other_than_0_is_malformed() {
    assert_eq!(frame::data(&[1, 2, 3]), Err(FrameError::NonZero(1)));
    // Old agents send no header; the first byte of their messages is the key of instance_uid.
    assert_eq!(frame::data(&[0x0a, 0x10]), Err(FrameError::NonZero(10)));
    let largest = [[0xff; 9].as_slice(), &[0x01]].concat();
    assert_eq!(frame::data(&largest), Err(FrameError::NonZero(u64::MAX)));
    assert_eq!(FrameError::NonZero(10).to_string(), "the header is 10, it must be 0");
}

#[test]
fn ws_12_no_data_is_a_message_with_nothing_set() {
    let data = frame::data(&[0]).unwrap();
    assert_eq!(wire::AgentToServer::decode(data).unwrap(), wire::AgentToServer::default());
    assert_eq!(frame::data(&[]), Err(FrameError::Empty));
}
