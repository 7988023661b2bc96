//! The agent's status: the sub-messages that compression can omit (COMP-3), each as it is now and as the
//! server was last told. Kept encoded, because comparing and sending are all that happens to them.

use bytes::Bytes;
use prost::Message;

use crate::hash::sha256;
use crate::raw::{Part, PartSet};
use crate::wire;

/// One part of the agent's status, whole (COMP-4). The status of the remote configuration is not among them:
/// the session keeps that itself.
#[derive(Debug, Clone, PartialEq)]
pub enum Status {
    /// Who the agent is and where it runs.
    Description(wire::AgentDescription),
    /// How the agent is (capability ReportsHealth).
    Health(wire::ComponentHealth),
    /// What the agent runs on now (capability ReportsEffectiveConfig).
    EffectiveConfig(wire::AgentConfigMap),
    /// The agent's packages (capability ReportsPackageStatuses).
    PackageStatuses(wire::PackageStatuses),
    /// Custom capabilities that the agent supports.
    CustomCapabilities(Vec<String>),
    /// The components that the agent is made of (capability ReportsAvailableComponents). Only their hash
    /// travels until the server asks for them (COMPONENTS-7).
    AvailableComponents(std::collections::BTreeMap<String, wire::ComponentDetails>),
    /// What became of offered connection settings (capability ReportsConnectionSettingsStatus).
    ConnectionSettingsStatus(wire::ConnectionSettingsStatus),
}

#[derive(Debug, Default, Clone)]
struct Slot {
    current: Option<Bytes>,
    reported: Option<Bytes>,
}

#[derive(Debug, Default)]
pub(super) struct Parts {
    slots: [Slot; 8],
    /// `available_components` with everything in it, for a server that asks.
    components: Option<Bytes>,
}

impl Parts {
    pub(super) fn new(status: Vec<Status>) -> Self {
        let mut parts = Self::default();
        for status in status {
            parts.set(status);
        }
        parts
    }

    pub(super) fn set(&mut self, status: Status) {
        let (part, encoded) = match status {
            Status::Description(message) => (Part::Description, message.encode_to_vec()),
            Status::Health(message) => (Part::Health, message.encode_to_vec()),
            Status::EffectiveConfig(config) => {
                let message = wire::EffectiveConfig { config_map: Some(config) };
                (Part::EffectiveConfig, message.encode_to_vec())
            }
            Status::PackageStatuses(message) => (Part::PackageStatuses, message.encode_to_vec()),
            Status::CustomCapabilities(capabilities) => {
                let message = wire::CustomCapabilities { capabilities };
                (Part::CustomCapabilities, message.encode_to_vec())
            }
            Status::AvailableComponents(components) => {
                (Part::AvailableComponents, self.set_components(components))
            }
            Status::ConnectionSettingsStatus(message) => {
                (Part::ConnectionSettingsStatus, message.encode_to_vec())
            }
        };
        self.slots[part as usize].current = Some(encoded.into());
    }

    pub(super) fn set_remote_config_status(&mut self, status: &wire::RemoteConfigStatus) {
        self.slots[Part::RemoteConfigStatus as usize].current = Some(status.encode_to_vec().into());
    }

    /// Keeps both forms and gives the short one.
    fn set_components(
        &mut self,
        components: std::collections::BTreeMap<String, wire::ComponentDetails>,
    ) -> Vec<u8> {
        let mut message = wire::AvailableComponents { hash: components_hash(&components), components };
        self.components = Some(message.encode_to_vec().into());
        message.components.clear();
        message.encode_to_vec()
    }

    pub(super) fn current(&self, part: Part) -> Option<&Bytes> {
        self.slots[part as usize].current.as_ref()
    }

    /// All components, if there are any to report.
    pub(super) fn components(&self) -> Option<&Bytes> {
        self.components.as_ref()
    }

    /// The parts that there is something to say about.
    pub(super) fn present(&self) -> PartSet {
        Part::ALL.into_iter().filter(|part| self.slots[*part as usize].current.is_some()).collect()
    }

    /// The parts that differ from what the server was told.
    pub(super) fn changed(&self) -> PartSet {
        let differs = |part: &Part| {
            let slot = &self.slots[*part as usize];
            slot.current.is_some() && slot.current != slot.reported
        };
        Part::ALL.into_iter().filter(differs).collect()
    }

    pub(super) fn mark_reported(&mut self, part: Part) {
        let slot = &mut self.slots[part as usize];
        slot.reported.clone_from(&slot.current);
    }

    /// The server may not have got these after all.
    pub(super) fn forget(&mut self, parts: PartSet) {
        for part in parts.iter() {
            self.slots[part as usize].reported = None;
        }
    }
}

/// The hash of a set of components (COMPONENTS-4): the same for agents with the same set, whatever order
/// their metadata is in (COMPONENTS-6).
pub fn components_hash(components: &std::collections::BTreeMap<String, wire::ComponentDetails>) -> Bytes {
    let mut canonical = wire::AvailableComponents { components: components.clone(), hash: Bytes::new() };
    canonical.components.values_mut().for_each(sort_metadata);
    Bytes::copy_from_slice(&sha256(&canonical.encode_to_vec()))
}

fn sort_metadata(details: &mut wire::ComponentDetails) {
    details.metadata.sort_by_cached_key(Message::encode_to_vec);
    details.sub_component_map.values_mut().for_each(sort_metadata);
}
