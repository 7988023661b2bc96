//! What a simulated agent says: a realistic first report of 2,800 bytes, a changed status of 456 bytes and a heartbeat.
//! Everything is encoded once per agent; later messages only patch a few bytes in place, so that the load generator
//! takes as little as possible of the machine that it shares with the server. Framing is not done here.

use opamp_proto::wire::{
    AgentCapabilities, AgentConfigFile, AgentConfigMap, AgentDescription, AgentToServer, AnyValue,
    ComponentHealth, EffectiveConfig, KeyValue, Message, RemoteConfigStatus, RemoteConfigStatuses,
    any_value::Value,
};

/// The size of the first report, in bytes of protobuf.
pub(super) const REPORT_BYTES: usize = 2_800;
#[cfg(test)]
/// The size of a status message, in bytes of protobuf.
pub(super) const STATUS_BYTES: usize = 456;

/// Sequence numbers start here: every number up to 2,097,151 then takes three bytes, so that a message can be patched.
const FIRST_SEQUENCE: u64 = 16_384;
const LAST_SEQUENCE: u64 = 2_097_151;
/// Where the sequence number's bytes are: after the instance_uid (tag, length, 16 bytes) and its own tag.
const SEQUENCE_AT: usize = 19;
/// Stands in the encoded status where the eight changing digits go.
const COUNTER: &str = "00000000";
/// Stands in the encoded status where the time of the status goes.
const STATUS_TIME: u64 = 0x1765_4321_0f1e_2d3c;

/// What the closed loops send again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A status that differs from the one before.
    Status,
    /// Nothing but the uid, the sequence number and the capabilities.
    Heartbeat,
}

/// One agent's identity and its place in its sequence of messages.
#[derive(Debug, Clone)]
pub(super) struct Voice {
    /// The instance_uid, in the form of a UUID of version 7.
    pub(super) uid: [u8; 16],
    sequence: u64,
    /// Whether it takes remote configurations.
    configurable: bool,
}

impl Voice {
    /// A new agent that no server has heard of.
    pub(super) fn new(random: &mut fastrand::Rng) -> Self {
        let mut uid = [0; 16];
        random.fill(&mut uid);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        uid[..6].copy_from_slice(&(now.as_millis() as u64).to_be_bytes()[2..]);
        uid[6] = 0x70 | (uid[6] & 0x0f);
        uid[8] = 0x80 | (uid[8] & 0x3f);
        Self { uid, sequence: FIRST_SEQUENCE, configurable: false }
    }

    /// The same agent, which takes remote configurations.
    pub(super) fn configurable(self) -> Self {
        Self { configurable: true, ..self }
    }

    /// What an agent says that runs with the configuration of this hash.
    pub(super) fn applied(&mut self, hash: &[u8]) -> Vec<u8> {
        let status = RemoteConfigStatus {
            last_remote_config_hash: hash.to_vec().into(),
            status: RemoteConfigStatuses::Applied.into(),
            ..Default::default()
        };
        let message = AgentToServer { remote_config_status: Some(status), ..self.envelope() };
        self.sequence = if self.sequence == LAST_SEQUENCE { FIRST_SEQUENCE } else { self.sequence + 1 };
        message.encode_to_vec()
    }

    /// The full first report, exactly [`REPORT_BYTES`] long.
    pub(super) fn report(&mut self) -> Vec<u8> {
        let name = hex::encode(&self.uid[10..]);
        let mut message = AgentToServer {
            agent_description: Some(description(&name, &self.uid)),
            health: Some(health()),
            effective_config: Some(effective_config(&name, 1_900)),
            ..self.envelope()
        };
        // One padding is enough: all lengths around the text keep their number of bytes.
        let missing = REPORT_BYTES.saturating_sub(message.encoded_len());
        message.effective_config = Some(effective_config(&name, 1_900 + missing));
        self.sequence += 1;
        message.encode_to_vec()
    }

    /// A message to be sent many times, behind `head` (a frame's or a request's first bytes).
    pub(super) fn repeated(&self, kind: Kind, head: &dyn Fn(usize) -> Vec<u8>) -> Repeated {
        let message = match kind {
            Kind::Heartbeat => self.envelope(),
            Kind::Status => AgentToServer { health: Some(health()), ..self.envelope() },
        };
        let message = message.encode_to_vec();
        let mut bytes = head(message.len());
        let start = bytes.len();
        bytes.extend_from_slice(&message);
        let find = |needle: &[u8]| {
            bytes.windows(needle.len()).skip(start).position(|w| w == needle).map(|i| i + start)
        };
        let counter = find(COUNTER.as_bytes());
        let time = find(&STATUS_TIME.to_le_bytes());
        Repeated { sequence_at: start + SEQUENCE_AT, counter, time, bytes }
    }

    /// The next message of the sequence, ready to be sent.
    pub(super) fn next<'a>(&mut self, repeated: &'a mut Repeated) -> &'a [u8] {
        let sequence = self.sequence;
        self.sequence = if sequence == LAST_SEQUENCE { FIRST_SEQUENCE } else { sequence + 1 };
        repeated.patch(sequence);
        &repeated.bytes
    }

    fn envelope(&self) -> AgentToServer {
        // Who applies nothing says so: a server would rightly offer again and again.
        let configuring = match self.configurable {
            true => {
                AgentCapabilities::AcceptsRemoteConfig as u64 | AgentCapabilities::ReportsRemoteConfig as u64
            }
            false => 0,
        };
        let capabilities = configuring
            | AgentCapabilities::ReportsStatus as u64
            | AgentCapabilities::ReportsEffectiveConfig as u64
            | AgentCapabilities::ReportsHealth as u64
            | AgentCapabilities::ReportsHeartbeat as u64;
        AgentToServer {
            instance_uid: self.uid.to_vec().into(),
            sequence_num: self.sequence,
            capabilities,
            ..Default::default()
        }
    }
}

/// An encoded message whose changing bytes are known.
#[derive(Debug)]
pub(super) struct Repeated {
    bytes: Vec<u8>,
    sequence_at: usize,
    counter: Option<usize>,
    time: Option<usize>,
}

impl Repeated {
    fn patch(&mut self, sequence: u64) {
        let varint =
            [(sequence & 0x7f) as u8 | 0x80, (sequence >> 7 & 0x7f) as u8 | 0x80, (sequence >> 14) as u8];
        self.bytes[self.sequence_at..self.sequence_at + 3].copy_from_slice(&varint);
        if let Some(at) = self.counter {
            let mut rest = sequence;
            for digit in self.bytes[at..at + COUNTER.len()].iter_mut().rev() {
                *digit = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
        }
        if let Some(at) = self.time {
            let time = STATUS_TIME + sequence * 1_000_000;
            self.bytes[at..at + 8].copy_from_slice(&time.to_le_bytes());
        }
    }
}

fn text(key: &str, value: impl Into<String>) -> KeyValue {
    KeyValue { key: key.into(), value: Some(AnyValue { value: Some(Value::StringValue(value.into())) }) }
}

/// Twelve attributes, as a Collector on a virtual machine reports them.
fn description(name: &str, uid: &[u8; 16]) -> AgentDescription {
    AgentDescription {
        identifying_attributes: vec![
            text("service.name", "otelcol-contrib"),
            text("service.namespace", "edge"),
            text("service.version", "0.149.0"),
            text("service.instance.id", hex::encode(uid)),
        ],
        non_identifying_attributes: vec![
            text("host.name", format!("host-{name}")),
            text("host.id", hex::encode(&uid[8..])),
            text("host.arch", "amd64"),
            text("os.type", "linux"),
            text("os.description", "Debian 12"),
            text("cloud.region", "eu-central-1"),
            text("deployment.environment.name", "production"),
            text("team", "platform"),
        ],
    }
}

/// Six components below the agent; the text is as long as makes a status message [`STATUS_BYTES`] long.
fn health() -> ComponentHealth {
    const NAMES: [&str; 6] = [
        "receiver:otlp",
        "receiver:hostmetrics",
        "processor:batch",
        "exporter:otlp",
        "extension:health",
        "pipeline:metrics",
    ];
    let component = |_: &str| ComponentHealth {
        healthy: true,
        start_time_unix_nano: STATUS_TIME - 1,
        status: "StatusOK".into(),
        status_time_unix_nano: STATUS_TIME - 1,
        ..Default::default()
    };
    ComponentHealth {
        healthy: true,
        start_time_unix_nano: STATUS_TIME - 1,
        status: format!(
            "{:<97}",
            format!("StatusOK: the sending queue holds {COUNTER} bytes, last export 2 s ago")
        ),
        status_time_unix_nano: STATUS_TIME,
        component_health_map: NAMES.iter().map(|name| (name.to_string(), component(name))).collect(),
        ..Default::default()
    }
}

/// A configuration of this agent alone: its name is in it, so that no server can store it once for all.
fn effective_config(name: &str, length: usize) -> EffectiveConfig {
    const STANZA: &str = "  otlp/backend:\n    endpoint: ingest.internal:4317\n    compression: gzip\n    tls:\n      insecure: false\n";
    let mut body = format!("# host-{name}\nexporters:\n");
    while body.len() < length {
        body.push_str(STANZA);
    }
    body.truncate(length);
    let file = AgentConfigFile {
        body: body.into_bytes().into(),
        content_type: "text/yaml".into(),
        ..Default::default()
    };
    EffectiveConfig {
        config_map: Some(AgentConfigMap { config_map: [(String::new(), file)].into_iter().collect() }),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn voice() -> Voice {
        Voice::new(&mut fastrand::Rng::with_seed(7))
    }

    #[test]
    fn the_report_has_the_promised_size_and_content() {
        let bytes = voice().report();
        assert_eq!(bytes.len(), REPORT_BYTES);
        let message = AgentToServer::decode(&bytes[..]).unwrap();
        let description = message.agent_description.unwrap();
        assert_eq!(
            description.identifying_attributes.len() + description.non_identifying_attributes.len(),
            12
        );
        assert_eq!(message.health.unwrap().component_health_map.len(), 6);
        let files = message.effective_config.unwrap().config_map.unwrap().config_map;
        assert!((1_900..=2_100).contains(&files[""].body.len()), "{}", files[""].body.len());
    }

    #[test]
    fn each_status_differs_and_follows_the_one_before() {
        let mut voice = voice();
        voice.report();
        let mut repeated = voice.repeated(Kind::Status, &|_| b"head".to_vec());
        let mut seen = Vec::new();
        for _ in 0..3 {
            let bytes = voice.next(&mut repeated)[4..].to_vec();
            assert_eq!(bytes.len(), STATUS_BYTES);
            let message = AgentToServer::decode(&bytes[..]).unwrap();
            let health = message.health.unwrap();
            seen.push((message.sequence_num, health.status, health.status_time_unix_nano));
        }
        assert_eq!(seen.iter().map(|s| s.0).collect::<Vec<_>>(), [16_385, 16_386, 16_387]);
        assert!(seen[0].1 != seen[1].1 && seen[0].2 != seen[1].2);
    }

    #[test]
    fn a_heartbeat_says_nothing_but_who_is_alive() {
        let mut voice = voice();
        let mut repeated = voice.repeated(Kind::Heartbeat, &|_| Vec::new());
        let message = AgentToServer::decode(voice.next(&mut repeated)).unwrap();
        assert_eq!(message, AgentToServer { sequence_num: FIRST_SEQUENCE, ..voice.envelope() });
    }
}
