//! Reports of a made-up agent, for the tests of the server's side. Not a test itself.

use opamp_proto::wire::{self, Message};
use opamp_proto::{AgentCapabilities, InstanceUid};

/// An instance_uid that ends with a number.
pub(crate) fn uid(number: u8) -> InstanceUid {
    InstanceUid::try_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, number])
        .expect("16 bytes")
}

/// One AgentToServer in the making.
#[derive(Clone)]
pub(crate) struct Report(wire::AgentToServer);

fn file(body: String) -> wire::EffectiveConfig {
    let file =
        wire::AgentConfigFile { body: body.into(), content_type: "text/yaml".into(), role: String::new() };
    let config_map = [("main.yaml".to_owned(), file)].into();
    wire::EffectiveConfig { config_map: Some(wire::AgentConfigMap { config_map }) }
}

fn attribute(key: &str, value: &str) -> wire::KeyValue {
    let value = wire::any_value::Value::StringValue(value.into());
    wire::KeyValue { key: key.into(), value: Some(wire::AnyValue { value: Some(value) }) }
}

impl Report {
    /// Everything an agent has to say.
    pub(crate) fn full(number: u64) -> Self {
        use wire::AgentCapabilities as Bit;
        let bits = [
            Bit::ReportsStatus,
            Bit::AcceptsRemoteConfig,
            Bit::ReportsRemoteConfig,
            Bit::ReportsEffectiveConfig,
            Bit::ReportsHealth,
        ];
        Self(wire::AgentToServer {
            instance_uid: uid(1).to_bytes(),
            sequence_num: number,
            capabilities: bits.into_iter().collect::<AgentCapabilities>().bits(),
            agent_description: Some(wire::AgentDescription {
                identifying_attributes: vec![attribute("service.name", "collector")],
                non_identifying_attributes: vec![attribute("host.name", "a")],
            }),
            health: Some(wire::ComponentHealth { healthy: true, status: "ok".into(), ..Default::default() }),
            effective_config: Some(file("receivers: {}".into())),
            ..Default::default()
        })
    }

    /// A heartbeat.
    pub(crate) fn bare(number: u64) -> Self {
        let full = Self::full(number).0;
        Self(wire::AgentToServer {
            instance_uid: full.instance_uid,
            sequence_num: number,
            capabilities: full.capabilities,
            ..Default::default()
        })
    }

    pub(crate) fn numbered(&self, number: u64) -> Self {
        let mut report = self.clone();
        report.0.sequence_num = number;
        report
    }

    pub(crate) fn capabilities(mut self, capabilities: AgentCapabilities) -> Self {
        self.0.capabilities = capabilities.bits();
        self
    }

    pub(crate) fn without_health(mut self) -> Self {
        self.0.health = None;
        self
    }

    pub(crate) fn without_description(mut self) -> Self {
        self.0.agent_description = None;
        self
    }

    pub(crate) fn without_effective_config(mut self) -> Self {
        self.0.effective_config = None;
        self
    }

    pub(crate) fn unhealthy(mut self, why: &str) -> Self {
        self.0.health = Some(wire::ComponentHealth { last_error: why.into(), ..Default::default() });
        self
    }

    pub(crate) fn wants_uid(mut self) -> Self {
        self.0.flags = wire::AgentToServerFlags::RequestInstanceUid as u64;
        self
    }

    pub(crate) fn leaving(mut self) -> Self {
        self.0.agent_disconnect = Some(wire::AgentDisconnect {});
        self
    }

    pub(crate) fn config_status(mut self, hash: &[u8], status: wire::RemoteConfigStatuses) -> Self {
        self.0.remote_config_status = Some(wire::RemoteConfigStatus {
            last_remote_config_hash: hash.to_vec().into(),
            status: status.into(),
            error_message: String::new(),
        });
        self
    }

    pub(crate) fn set_effective_config(&mut self, body: String) {
        self.0.effective_config = Some(file(body));
    }

    pub(crate) fn health_bytes(&self) -> Vec<u8> {
        self.0.health.as_ref().map(Message::encode_to_vec).unwrap_or_default()
    }

    pub(crate) fn description_bytes(&self) -> Vec<u8> {
        self.0.agent_description.as_ref().map(Message::encode_to_vec).unwrap_or_default()
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        self.0.encode_to_vec()
    }
}
