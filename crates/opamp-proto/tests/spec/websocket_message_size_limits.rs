//! The limit on the size of one message, and what it can be set to.

use opamp_proto::limits::{DEFAULT_MAX_MESSAGE, InvalidLimit, MAX_MESSAGE_CEILING, MessageLimit};

#[test]
fn a_limit_lies_between_1_byte_and_64_mib() {
    assert_eq!(MessageLimit::default().bytes(), 16 * 1024 * 1024);
    assert_eq!(DEFAULT_MAX_MESSAGE, 16 * 1024 * 1024);
    for bytes in [1, MAX_MESSAGE_CEILING] {
        assert_eq!(MessageLimit::try_new(bytes).map(MessageLimit::bytes), Ok(bytes));
    }
    for bytes in [0, MAX_MESSAGE_CEILING + 1, usize::MAX] {
        assert_eq!(MessageLimit::try_new(bytes), Err(InvalidLimit(bytes)));
    }
    assert_eq!(InvalidLimit(0).to_string(), "a message limit of 0 bytes is outside 1 to 67108864");
}
