//! The identity of an agent: what is accepted, what is made, and how it is written.

use opamp_proto::uid::{InstanceUid, InvalidUid};
use proptest::prelude::*;

proptest! {
    #[test]
    fn uid_7_exactly_16_bytes_are_an_instance_uid(bytes in prop::collection::vec(1u8.., 0..40)) {
        let read = InstanceUid::try_from_slice(&bytes);
        if bytes.len() == 16 {
            prop_assert_eq!(read.unwrap().as_bytes().to_vec(), bytes);
        } else {
            prop_assert_eq!(read, Err(InvalidUid::Length(bytes.len())));
        }
    }

    #[test]
    fn uid_8_uid_17_what_we_make_is_a_uuid_of_version_7(millis in 0u64..(1 << 48), random in any::<[u8; 10]>()) {
        let uid = InstanceUid::generate(millis, random);
        let bytes = uid.as_bytes();
        prop_assert_eq!(bytes[6] >> 4, 7);
        prop_assert_eq!(bytes[8] >> 6, 0b10);
        let time = bytes[..6].iter().fold(0, |time, byte| time << 8 | u64::from(*byte));
        prop_assert_eq!(time, millis);
    }

    #[test]
    fn uid_5_different_chance_makes_different_uids(millis in 0u64..(1 << 48), a in any::<[u8; 10]>(), b in any::<[u8; 10]>()) {
        // Six of the 80 bits give way to version and variant: the upper half of byte 6 and two bits of byte 8.
        let kept = |r: [u8; 10]| (r[0] & 0x0f, r[1], r[2] & 0x3f, r[3..].to_vec());
        let equal = InstanceUid::generate(millis, a) == InstanceUid::generate(millis, b);
        prop_assert_eq!(equal, kept(a) == kept(b));
    }

    #[test]
    fn its_text_is_the_canonical_uuid_and_reads_back(bytes in any::<[u8; 16]>()) {
        prop_assume!(bytes != [0; 16]);
        let uid = InstanceUid::try_from_slice(&bytes).unwrap();
        let text = uid.to_string();
        prop_assert_eq!(text.len(), 36);
        prop_assert_eq!(text.to_lowercase(), text.clone());
        prop_assert_eq!(text.parse(), Ok(uid));
    }
}

#[test]
fn the_specification_s_own_example_is_accepted_though_it_is_version_1() {
    let uid: InstanceUid = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6".parse().unwrap();
    assert_eq!(uid.to_string(), "f81d4fae-7dec-11d0-a765-00a0c91e6bf6");
    assert_eq!(uid.as_bytes()[..4], [0xf8, 0x1d, 0x4f, 0xae]);
}

#[test]
fn errors_name_the_fault() {
    assert_eq!(
        InstanceUid::try_from_slice(&[1; 26]).unwrap_err().to_string(),
        "instance_uid has 26 bytes, it must have exactly 16"
    );
    assert_eq!(InstanceUid::try_from_slice(&[0; 16]), Err(InvalidUid::Zero));
    assert_eq!("hello".parse::<InstanceUid>().unwrap_err().to_string(), "\"hello\" is no UUID");
    assert_eq!("00000000-0000-0000-0000-000000000000".parse::<InstanceUid>(), Err(InvalidUid::Zero));
}
