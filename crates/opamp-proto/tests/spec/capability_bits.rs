//! The sets of capability bits: every bit is kept, and only defined ones have a meaning.

use opamp_proto::wire;
use opamp_proto::{AgentCapabilities, ServerCapabilities};
use proptest::prelude::*;

proptest! {
    #[test]
    fn s19_every_bit_survives_known_or_not(bits in any::<u64>()) {
        let set = AgentCapabilities::from_bits(bits);
        prop_assert_eq!(set.bits(), bits);
        let known: AgentCapabilities = set.known().collect();
        prop_assert_eq!(known.bits() | set.unknown_bits(), bits);
        prop_assert_eq!(known.bits(), bits & 0xffff);
        prop_assert_eq!(set.names().count(), known.bits().count_ones() as usize);
    }

    #[test]
    fn cap_2_scap_2_a_bit_that_is_0_is_not_supported(bits in any::<u64>()) {
        for bit in AgentCapabilities::KNOWN {
            prop_assert_eq!(AgentCapabilities::from_bits(bits).has(*bit), bits & *bit as u64 != 0);
        }
        for bit in ServerCapabilities::KNOWN {
            prop_assert_eq!(ServerCapabilities::from_bits(bits).has(*bit), bits & *bit as u64 != 0);
        }
    }

    #[test]
    fn a_set_gains_and_loses_single_bits(bits in any::<u64>(), index in 0usize..16) {
        let bit = AgentCapabilities::KNOWN[index];
        let set = AgentCapabilities::from_bits(bits);
        prop_assert_eq!(set.with(bit).bits(), bits | bit as u64);
        prop_assert_eq!(set.without(bit).bits(), bits & !(bit as u64));
    }
}

#[test]
fn interop_6_a_set_made_of_known_bits_has_no_reserved_ones() {
    let agent: AgentCapabilities = AgentCapabilities::KNOWN.iter().copied().collect();
    assert_eq!((agent.bits(), agent.unknown_bits()), (0xffff, 0));
    let server: ServerCapabilities = ServerCapabilities::KNOWN.iter().copied().collect();
    assert_eq!((server.bits(), server.unknown_bits()), (0x7f, 0));
    assert!(AgentCapabilities::default().is_unspecified());
}

#[test]
fn names_are_the_specification_s() {
    let set = AgentCapabilities::from_bits(0x0000_0901);
    let names = ["ReportsStatus", "AcceptsOpAMPConnectionSettings", "ReportsHealth"];
    assert_eq!(set.names().collect::<Vec<_>>(), names);
    let set = ServerCapabilities::from_bits(0x41);
    assert_eq!(set.names().collect::<Vec<_>>(), ["AcceptsStatus", "AcceptsConnectionSettingsRequest"]);
    assert_eq!(wire::AgentCapabilities::ReportsConnectionSettingsStatus as u64, 0x8000);
    assert_eq!(format!("{:?}", ServerCapabilities::from_bits(0x101)), "{AcceptsStatus, 0x100}");
}
