//! The server's own reader of AgentToServer against the generated decoder: whatever that one takes, ours reads the
//! same, and broken or hostile bytes end in an error.

use opamp_proto::raw::{Part, RawAgentToServer};
use opamp_proto::wire::{self, Message};
use proptest::prelude::*;

use crate::generators::{agent_to_server, odd_encoding, unknown_field, varint};

/// Both readings of the same bytes are one message.
fn check_equal(raw: &RawAgentToServer<'_>, whole: &wire::AgentToServer) {
    assert_eq!(raw.instance_uid, &whole.instance_uid[..]);
    assert_eq!(raw.sequence_num, whole.sequence_num);
    assert_eq!(raw.capabilities, whole.capabilities);
    assert_eq!(raw.flags, whole.flags);
    assert_eq!(raw.agent_disconnect, whole.agent_disconnect.is_some());
    let request = raw.connection_settings_request.as_deref();
    assert_eq!(request.map(decoded), whole.connection_settings_request);
    assert_eq!(raw.custom_message.as_deref().map(decoded), whole.custom_message);
    for part in Part::ALL {
        assert_eq!(raw.check(part), Ok(()), "{part:?}");
        assert_eq!(raw.present().contains(part), raw.part(part).is_some());
    }
    assert_eq!(raw.part(Part::Description).map(decoded), whole.agent_description);
    assert_eq!(raw.part(Part::Health).map(decoded), whole.health);
    assert_eq!(raw.part(Part::EffectiveConfig).map(decoded), whole.effective_config);
    assert_eq!(raw.part(Part::RemoteConfigStatus).map(decoded), whole.remote_config_status);
    assert_eq!(raw.part(Part::PackageStatuses).map(decoded), whole.package_statuses);
    assert_eq!(raw.part(Part::CustomCapabilities).map(decoded), whole.custom_capabilities);
    assert_eq!(raw.part(Part::AvailableComponents).map(decoded), whole.available_components);
    assert_eq!(raw.part(Part::ConnectionSettingsStatus).map(decoded), whole.connection_settings_status);
}

fn decoded<M: Message + Default>(bytes: &[u8]) -> M {
    M::decode(bytes).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_message_is_read_as_the_generated_decoder_reads_it(bytes in odd_encoding()) {
        let whole = wire::AgentToServer::decode(&bytes[..]).unwrap();
        check_equal(&RawAgentToServer::decode(&bytes).unwrap(), &whole);
    }

    #[test]
    fn damaged_messages_are_read_alike_or_refused(
        message in agent_to_server(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        length in any::<prop::sample::Index>(),
    ) {
        let mut bytes = message.encode_to_vec();
        prop_assume!(!bytes.is_empty());
        for (place, value) in damage {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        bytes.truncate(length.index(bytes.len()) + 1);
        if let Ok(whole) = wire::AgentToServer::decode(&bytes[..]) {
            check_equal(&RawAgentToServer::decode(&bytes).unwrap(), &whole);
        }
    }

    #[test]
    fn a_part_is_accepted_exactly_when_the_generated_decoder_accepts_it(
        message in agent_to_server(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
    ) {
        let bytes = message.encode_to_vec();
        let raw = RawAgentToServer::decode(&bytes).unwrap();
        for part in raw.present().iter() {
            prop_assert!(raw.check(part).is_ok(), "{part:?} as we made it");
            let mut damaged = raw.part(part).unwrap().to_vec();
            for (place, value) in &damage {
                if !damaged.is_empty() {
                    let place = place.index(damaged.len());
                    damaged[place] = *value;
                }
            }
            let whole = alone(part, &damaged);
            let again = RawAgentToServer::decode(&whole).unwrap();
            prop_assert_eq!(again.check(part).is_ok(), decodes(part, &damaged), "{:?}", part);
        }
    }

    #[test]
    fn noise_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(raw) = RawAgentToServer::decode(&bytes) {
            for part in Part::ALL {
                let _ = raw.check(part);
            }
        }
    }

    #[test]
    fn interop_4_unknown_fields_are_skipped_and_the_rest_is_read(
        message in agent_to_server(),
        before in unknown_field(),
        after in unknown_field(),
    ) {
        let bytes = [before, message.encode_to_vec(), after].concat();
        prop_assert_eq!(&wire::AgentToServer::decode(&bytes[..]).unwrap(), &message);
        check_equal(&RawAgentToServer::decode(&bytes).unwrap(), &message);
    }

    #[test]
    fn cfg_18_bodies_travel_unchanged(body in prop::collection::vec(any::<u8>(), 0..300), name in "[a-z]{0,6}") {
        let file = wire::AgentConfigFile { body: body.clone().into(), ..wire::AgentConfigFile::default() };
        let map = wire::AgentConfigMap { config_map: [(name.clone(), file)].into() };
        let again = wire::AgentConfigMap::decode(&map.encode_to_vec()[..]).unwrap();
        prop_assert_eq!(&again.config_map[&name].body[..], &body[..]);
    }
}

#[test]
fn unknown_fields_inside_a_part_stay_in_its_bytes() {
    let later = [varint(77 << 3), varint(5)].concat();
    let message = [varint(5 << 3 | 2), varint(later.len() as u64), later.clone()].concat();
    let raw = RawAgentToServer::decode(&message).unwrap();
    assert_eq!(raw.check(Part::Health), Ok(()));
    assert_eq!(raw.part(Part::Health), Some(&later[..]));
}

#[test]
fn comp_3_exactly_eight_sub_messages_can_be_left_out() {
    let fields: Vec<&str> = Part::ALL.iter().map(|part| part.field()).collect();
    let expected = [
        "agent_description",
        "health",
        "effective_config",
        "remote_config_status",
        "package_statuses",
        "custom_capabilities",
        "available_components",
        "connection_settings_status",
    ];
    assert_eq!(fields, expected);
    for (part, number) in Part::ALL.into_iter().zip([3u64, 5, 6, 7, 8, 12, 14, 15]) {
        let message = [varint(number << 3 | 2), varint(0)].concat();
        let raw = RawAgentToServer::decode(&message).unwrap();
        assert_eq!(raw.present().iter().collect::<Vec<_>>(), [part]);
    }
}

#[test]
fn a_poll_by_the_letter_is_bare_and_anything_else_is_not() {
    let bare = wire::AgentToServer { instance_uid: vec![7; 16].into(), ..wire::AgentToServer::default() };
    assert!(RawAgentToServer::decode(&bare.encode_to_vec()).unwrap().is_bare());
    let others = [
        wire::AgentToServer { sequence_num: 1, ..bare.clone() },
        wire::AgentToServer { capabilities: 1, ..bare.clone() },
        wire::AgentToServer { flags: 1, ..bare.clone() },
        wire::AgentToServer { agent_disconnect: Some(wire::AgentDisconnect {}), ..bare.clone() },
        wire::AgentToServer { health: Some(wire::ComponentHealth::default()), ..bare.clone() },
        wire::AgentToServer { custom_message: Some(wire::CustomMessage::default()), ..bare },
    ];
    for other in others {
        assert!(!RawAgentToServer::decode(&other.encode_to_vec()).unwrap().is_bare(), "{other:?}");
    }
}

fn nested_health(depth: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..depth {
        // An entry of component_health_map: no key, one value.
        let entry = [varint(2 << 3 | 2), varint(bytes.len() as u64), bytes].concat();
        bytes = [varint(6 << 3 | 2), varint(entry.len() as u64), entry].concat();
    }
    [varint(5 << 3 | 2), varint(bytes.len() as u64), bytes].concat()
}

#[test]
fn health_9_components_nest_deeply_and_hostile_nesting_is_refused() {
    let deep = nested_health(40);
    assert_eq!(RawAgentToServer::decode(&deep).unwrap().check(Part::Health), Ok(()));
    let hostile = nested_health(10_000);
    let refusal = RawAgentToServer::decode(&hostile).unwrap().check(Part::Health).unwrap_err().to_string();
    assert!(refusal.starts_with("health is malformed: "), "{refusal}");
    assert!(refusal.len() < 300, "{refusal}");
}

#[test]
fn errors_name_the_field() {
    let refused = |bytes: &[u8]| RawAgentToServer::decode(bytes).unwrap_err().to_string();
    assert_eq!(refused(&[2 << 3 | 2, 0]), "AgentToServer is malformed: field 2 is no number");
    assert_eq!(refused(&[1 << 3, 0]), "AgentToServer is malformed: field 1 is a number");
    assert_eq!(refused(&[1 << 3 | 5, 0, 0, 0, 0]), "AgentToServer is malformed: field 1 has the wrong type");
    assert_eq!(
        refused(&[1 << 3 | 2, 9, 0]),
        "AgentToServer is malformed: a field is longer than the message"
    );
}

/// An AgentToServer with nothing but one part.
fn alone(part: Part, encoded: &[u8]) -> Vec<u8> {
    let number: u32 = match part {
        Part::Description => 3,
        Part::Health => 5,
        Part::EffectiveConfig => 6,
        Part::RemoteConfigStatus => 7,
        Part::PackageStatuses => 8,
        Part::CustomCapabilities => 12,
        Part::AvailableComponents => 14,
        Part::ConnectionSettingsStatus => 15,
    };
    let mut out = Vec::new();
    prost::encoding::bytes::encode(number, &encoded.to_vec(), &mut out);
    out
}

fn decodes(part: Part, encoded: &[u8]) -> bool {
    match part {
        Part::Description => wire::AgentDescription::decode(encoded).is_ok(),
        Part::Health => wire::ComponentHealth::decode(encoded).is_ok(),
        Part::EffectiveConfig => wire::EffectiveConfig::decode(encoded).is_ok(),
        Part::RemoteConfigStatus => wire::RemoteConfigStatus::decode(encoded).is_ok(),
        Part::PackageStatuses => wire::PackageStatuses::decode(encoded).is_ok(),
        Part::CustomCapabilities => wire::CustomCapabilities::decode(encoded).is_ok(),
        Part::AvailableComponents => wire::AvailableComponents::decode(encoded).is_ok(),
        Part::ConnectionSettingsStatus => wire::ConnectionSettingsStatus::decode(encoded).is_ok(),
    }
}

#[test]
fn a_part_of_tiny_elements_is_refused_before_it_fills_the_memory() {
    let part = |elements: usize| {
        let body = [10, 0].repeat(elements);
        [varint(3 << 3 | 2), varint(body.len() as u64), body].concat()
    };
    let check = |bytes: &[u8]| RawAgentToServer::decode(bytes).unwrap().check(Part::Description);
    assert_eq!(check(&part(1024)), Ok(()));
    let refusal = check(&part(7_900_000)).unwrap_err().to_string();
    assert_eq!(refusal, "agent_description is malformed: it has 15800000 bytes, at most 1048576 are taken");
}

#[test]
fn an_effective_config_of_very_many_files_is_refused_before_it_fills_the_memory() {
    let config = |files: usize| {
        let files = (0..files).map(|number| (format!("{number}.yaml"), wire::AgentConfigFile::default()));
        let map = wire::AgentConfigMap { config_map: files.collect() };
        wire::EffectiveConfig { config_map: Some(map) }.encode_to_vec()
    };
    let check = |encoded: &[u8]| {
        let message = alone(Part::EffectiveConfig, encoded);
        RawAgentToServer::decode(&message).unwrap().check(Part::EffectiveConfig)
    };
    assert_eq!(check(&config(1024)), Ok(()));
    let refusal = check(&config(1025)).unwrap_err().to_string();
    assert_eq!(refusal, "effective_config is malformed: it has more files than the 1024 that are taken");
    // The merge of two maps has the files of both, and a file without a name and content has two bytes.
    assert!(check(&[config(800), config(800)].concat()).is_err());
    let empty = [10, 0].repeat(1_000_000);
    assert!(check(&[vec![10], varint(empty.len() as u64), empty].concat()).is_err());
}
