//! The server's own reader of AgentToServer against the generated decoder: what that one takes, ours takes and reads
//! the same, field by field, merged duplicates and unknown fields included.
#![no_main]

use libfuzzer_sys::fuzz_target;
use opamp_proto::raw::{Part, RawAgentToServer};
use opamp_proto::wire::{self, Message};

fn decoded<M: Message + Default>(bytes: Option<&[u8]>) -> Option<M> {
    bytes.map(|bytes| M::decode(bytes).expect("a part of a good message is good"))
}

/// Equal, except that a NaN is not equal to itself: then the encodings have to be.
fn check<M: Message + Default + PartialEq + std::fmt::Debug>(ours: Option<&[u8]>, theirs: Option<M>) {
    let ours: Option<M> = decoded(ours);
    let encoded = |message: &Option<M>| message.as_ref().map(Message::encode_to_vec);
    assert!(ours == theirs || encoded(&ours) == encoded(&theirs), "{ours:?} is not {theirs:?}");
}

fuzz_target!(|bytes: &[u8]| {
    let ours = RawAgentToServer::decode(bytes);
    if let Ok(raw) = &ours {
        for part in Part::ALL {
            let _ = raw.check(part);
        }
    }
    let Ok(theirs) = wire::AgentToServer::decode(bytes) else { return };
    let raw = ours.expect("the generated decoder took it");
    assert_eq!(raw.instance_uid, &theirs.instance_uid[..]);
    assert_eq!(
        (raw.sequence_num, raw.capabilities, raw.flags),
        (theirs.sequence_num, theirs.capabilities, theirs.flags)
    );
    assert_eq!(raw.agent_disconnect, theirs.agent_disconnect.is_some());
    check(raw.connection_settings_request.as_deref(), theirs.connection_settings_request);
    check(raw.custom_message.as_deref(), theirs.custom_message);
    check(raw.part(Part::Description), theirs.agent_description);
    check(raw.part(Part::Health), theirs.health);
    check(raw.part(Part::EffectiveConfig), theirs.effective_config);
    check(raw.part(Part::RemoteConfigStatus), theirs.remote_config_status);
    check(raw.part(Part::PackageStatuses), theirs.package_statuses);
    check(raw.part(Part::CustomCapabilities), theirs.custom_capabilities);
    check(raw.part(Part::AvailableComponents), theirs.available_components);
    check(raw.part(Part::ConnectionSettingsStatus), theirs.connection_settings_status);
});
