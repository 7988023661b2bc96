//! Drives an agent session on a virtual clock: the network, the storage and the application are this file.

use std::time::Duration;

use bytes::Bytes;
use opamp_proto::agent::{
    AgentSession, ConfigOutcome, Event, Failure, Input, Output, Saved, Settings, Status, Timing, Transport,
};
use opamp_proto::wire::{
    self, AgentCapabilities as Bit, AgentToServer, Message, ServerToAgent, any_value::Value,
};
use opamp_proto::{AgentCapabilities, InstanceUid, Moment, frame};

pub(crate) const UID: [u8; 16] = [7; 16];

/// A session, its clock, and everything it has put out so far.
pub(crate) struct Agent {
    pub(crate) session: AgentSession,
    pub(crate) now: Moment,
    pub(crate) transport: Transport,
    /// Whether a message is flushed as soon as it is sent.
    pub(crate) flushes: bool,
}

pub(crate) fn uid() -> InstanceUid {
    InstanceUid::try_from_slice(&UID).unwrap()
}

pub(crate) fn all_capabilities() -> AgentCapabilities {
    AgentCapabilities::KNOWN.iter().copied().collect()
}

pub(crate) fn settings(transport: Transport) -> Settings {
    Settings {
        transport,
        timing: Timing::default(),
        instance_uid: uid(),
        request_instance_uid: false,
        capabilities: all_capabilities(),
        status: full_status(),
        saved: None,
    }
}

pub(crate) fn full_status() -> Vec<Status> {
    vec![
        Status::Description(description("one")),
        Status::Health(health(true)),
        Status::EffectiveConfig(config("running: true")),
        Status::PackageStatuses(wire::PackageStatuses::default()),
        Status::CustomCapabilities(vec!["com.example.custom/1".to_owned()]),
        Status::AvailableComponents([("receiver".to_owned(), wire::ComponentDetails::default())].into()),
        Status::ConnectionSettingsStatus(wire::ConnectionSettingsStatus::default()),
    ]
}

pub(crate) fn description(name: &str) -> wire::AgentDescription {
    let value = wire::AnyValue { value: Some(Value::StringValue(name.to_owned())) };
    let name = wire::KeyValue { key: "service.name".to_owned(), value: Some(value) };
    wire::AgentDescription { identifying_attributes: vec![name], non_identifying_attributes: vec![] }
}

pub(crate) fn health(healthy: bool) -> wire::ComponentHealth {
    wire::ComponentHealth { healthy, status: "running".to_owned(), ..wire::ComponentHealth::default() }
}

pub(crate) fn config(body: &str) -> wire::AgentConfigMap {
    let file = wire::AgentConfigFile { body: body.to_owned().into(), ..wire::AgentConfigFile::default() };
    wire::AgentConfigMap { config_map: [(String::new(), file)].into() }
}

/// An answer to the agent with its usual instance_uid.
pub(crate) fn answer() -> ServerToAgent {
    ServerToAgent { capabilities: 0x7f, ..ServerToAgent::acknowledge(uid()) }
}

pub(crate) fn offer(hash: &'static [u8], body: &str) -> ServerToAgent {
    let config_hash = Bytes::from_static(hash);
    let remote_config = wire::AgentRemoteConfig { config: Some(config(body)), config_hash };
    ServerToAgent { remote_config: Some(remote_config), ..answer() }
}

pub(crate) fn report_full_state() -> ServerToAgent {
    ServerToAgent { flags: wire::ServerToAgentFlags::ReportFullState as u64, ..answer() }
}

pub(crate) fn unavailable(retry_after: Duration) -> ServerToAgent {
    let nanos = u64::try_from(retry_after.as_nanos()).unwrap();
    ServerToAgent::unavailable(uid().to_bytes(), "busy", nanos)
}

pub(crate) fn broken() -> Failure {
    Failure::Broken("reset".to_owned())
}

pub(crate) fn status(code: u16, retry_after: Option<Duration>) -> Failure {
    Failure::Status { code, retry_after, text: format!("status {code}") }
}

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

impl Agent {
    pub(crate) fn new(settings: Settings) -> Self {
        Self::seeded(settings, 1)
    }

    pub(crate) fn seeded(settings: Settings, seed: u64) -> Self {
        let transport = settings.transport;
        let session = AgentSession::new(settings, seed).unwrap();
        Self { session, now: Moment(1_000_000), transport, flushes: true }
    }

    /// A WebSocket agent that is connected and has had its first answer.
    pub(crate) fn online(settings: Settings) -> Self {
        let mut agent = Self::new(settings);
        agent.input(Input::Start);
        if agent.transport == Transport::WebSocket {
            agent.input(Input::Connected);
        }
        agent.receive(&answer());
        agent
    }

    pub(crate) fn ws_online() -> Self {
        Self::online(settings(Transport::WebSocket))
    }

    pub(crate) fn http_online() -> Self {
        Self::online(settings(Transport::Http))
    }

    pub(crate) fn input(&mut self, input: Input) -> Vec<Output> {
        self.session.handle(self.now, input);
        let mut outputs = Vec::new();
        while let Some(output) = self.session.poll_output() {
            let sent = matches!(output, Output::Send { .. });
            outputs.push(output);
            if sent && self.flushes && self.transport == Transport::WebSocket {
                self.session.handle(self.now, Input::Sent);
            }
        }
        outputs
    }

    pub(crate) fn receive(&mut self, message: &ServerToAgent) -> Vec<Output> {
        let payload = match self.transport {
            Transport::WebSocket => frame::encode(message),
            Transport::Http => message.encode_to_vec().into(),
        };
        self.input(Input::Received(payload))
    }

    pub(crate) fn fail(&mut self, failure: Failure) -> Vec<Output> {
        self.input(Input::Failed(failure))
    }

    pub(crate) fn set(&mut self, status: Status) -> Vec<Output> {
        self.input(Input::SetStatus(status))
    }

    pub(crate) fn applied(&mut self, hash: &'static [u8], outcome: ConfigOutcome) -> Vec<Output> {
        self.input(Input::ConfigApplied { hash: Bytes::from_static(hash), outcome })
    }

    /// Lets time pass, with every timer at its moment.
    pub(crate) fn advance(&mut self, time: Duration) -> Vec<Output> {
        let target = self.now + time;
        let mut outputs = Vec::new();
        for _ in 0..100_000 {
            match self.session.poll_timeout() {
                Some(due) if due <= target => {
                    self.now = self.now.max(due);
                    outputs.extend(self.input(Input::Timer));
                }
                _ => {
                    self.now = target;
                    return outputs;
                }
            }
        }
        panic!("the session's timers spin");
    }

    /// How long until the session wants to try again.
    pub(crate) fn pause(&self) -> Duration {
        self.session.poll_timeout().expect("the session waits for something").since(self.now)
    }
}

/// The messages among the outputs. A frame begins with 0 and a bare message does not.
pub(crate) fn reports(outputs: &[Output]) -> Vec<AgentToServer> {
    let decode =
        |payload: &Bytes| AgentToServer::decode(payload.strip_prefix(&[0]).unwrap_or(payload)).unwrap();
    payloads(outputs).iter().map(decode).collect()
}

/// The only message among the outputs.
pub(crate) fn report(outputs: &[Output]) -> AgentToServer {
    let mut reports = reports(outputs);
    assert_eq!(reports.len(), 1, "one message was expected in {outputs:?}");
    reports.remove(0)
}

pub(crate) fn payloads(outputs: &[Output]) -> Vec<Bytes> {
    let payload = |output: &Output| match output {
        Output::Send { payload, .. } => Some(payload.clone()),
        _ => None,
    };
    outputs.iter().filter_map(payload).collect()
}

pub(crate) fn events(outputs: &[Output]) -> Vec<Event> {
    let event = |output: &Output| match output {
        Output::Event(event) => Some(event.clone()),
        _ => None,
    };
    outputs.iter().filter_map(event).collect()
}

pub(crate) fn saved(outputs: &[Output]) -> Vec<Saved> {
    let saved = |output: &Output| match output {
        Output::Persist(saved) => Some(saved.clone()),
        _ => None,
    };
    outputs.iter().filter_map(saved).collect()
}

pub(crate) fn connects(outputs: &[Output]) -> usize {
    outputs.iter().filter(|output| **output == Output::Connect).count()
}

/// A poll or heartbeat: identity, number and capabilities, nothing else (Ambiguity 9).
pub(crate) fn bare(number: u64) -> AgentToServer {
    AgentToServer {
        instance_uid: uid().to_bytes(),
        sequence_num: number,
        capabilities: all_capabilities().bits(),
        ..AgentToServer::default()
    }
}

/// A bare message is compared after something was added to it.
pub(crate) fn with(number: u64, change: impl FnOnce(&mut AgentToServer)) -> AgentToServer {
    let mut message = bare(number);
    change(&mut message);
    message
}

pub(crate) fn only(bits: &[Bit]) -> AgentCapabilities {
    bits.iter().copied().collect()
}
