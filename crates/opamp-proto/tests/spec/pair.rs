//! Both real machines against each other on a virtual clock: whatever is lost, repeated, late or restarted, in
//! the end both sides agree on every part and on the remote configuration, and the traffic comes to rest.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use opamp_proto::agent::{
    AgentSession, ConfigOutcome, Failure, Input, Output, Saved, Settings, Status, Transport,
};
use opamp_proto::server::{ConfigOffer, OfferState, ServerSession, SessionSettings};
use opamp_proto::wire::{AgentToServer, Message};
use opamp_proto::{Moment, Part, RawAgentToServer, frame, server};
use proptest::prelude::*;

use crate::agent_driver::{broken, config, description, health, settings, uid};

/// One thing that happens to the two.
#[derive(Debug, Clone)]
enum Happening {
    /// The agent's state changes.
    Describe(u8),
    Health(u8),
    Run(u8),
    /// The operator wants another configuration.
    Offer(u8),
    /// The application is done with the configuration that it was given last.
    Applied,
    Failed,
    /// Some of what is under way arrives.
    ToServer(u8),
    ToAgent(u8),
    /// The connection breaks, and what was under way is lost. `late`: the server still gets one message of it
    /// after the next connection is there.
    Break {
        late: bool,
    },
    /// Something on the way sends the oldest message under way twice.
    Twice,
    AgentRestarts,
    /// The server comes back without any memory.
    ServerRestarts,
    Seconds(u8),
    Reconnect,
}

fn happening() -> impl Strategy<Value = Happening> {
    use Happening as H;
    prop_oneof![
        1 => (0..3u8).prop_map(H::Describe),
        1 => (0..3u8).prop_map(H::Health),
        1 => (0..3u8).prop_map(H::Run),
        1 => (0..4u8).prop_map(H::Offer),
        1 => Just(H::Applied),
        1 => Just(H::Failed),
        4 => (1..4u8).prop_map(H::ToServer),
        4 => (1..4u8).prop_map(H::ToAgent),
        2 => any::<bool>().prop_map(|late| H::Break { late }),
        1 => Just(H::Twice),
        1 => Just(H::AgentRestarts),
        1 => Just(H::ServerRestarts),
        3 => (1..90u8).prop_map(H::Seconds),
        1 => Just(H::Reconnect),
    ]
}

struct World {
    transport: Transport,
    now: Moment,
    agent: AgentSession,
    server: ServerSession,
    rules: SessionSettings,
    /// What the application would say of itself: description, health, configuration it runs on.
    state: (u8, u8, u8),
    stored: Option<Saved>,
    wanted: Option<Arc<ConfigOffer>>,
    applying: Option<Bytes>,
    connecting: bool,
    up: bool,
    closing: bool,
    to_server: VecDeque<Bytes>,
    to_agent: VecDeque<Bytes>,
    late: Option<Bytes>,
    reports: Vec<AgentToServer>,
    answers: usize,
}

fn agent(transport: Transport, state: (u8, u8, u8), stored: Option<Saved>) -> AgentSession {
    let status = vec![described(state.0), healthy(state.1), running(state.2)];
    let settings = Settings { status, saved: stored, ..settings(transport) };
    AgentSession::new(settings, 7).unwrap()
}

fn described(value: u8) -> Status {
    Status::Description(description(&format!("agent {value}")))
}

fn healthy(value: u8) -> Status {
    let mut health = health(value == 0);
    health.status = format!("status {value}");
    Status::Health(health)
}

fn running(value: u8) -> Status {
    Status::EffectiveConfig(config(&format!("body {value}")))
}

fn server_side(transport: Transport) -> server::Transport {
    match transport {
        Transport::WebSocket => server::Transport::WebSocket,
        Transport::Http => server::Transport::Http,
    }
}

impl World {
    fn new(transport: Transport) -> Self {
        let mut world = Self {
            transport,
            now: Moment(1),
            agent: agent(transport, (0, 0, 0), None),
            server: ServerSession::new(uid(), server_side(transport)),
            rules: SessionSettings::default(),
            state: (0, 0, 0),
            stored: None,
            wanted: None,
            applying: None,
            connecting: false,
            up: transport == Transport::Http,
            closing: false,
            to_server: VecDeque::new(),
            to_agent: VecDeque::new(),
            late: None,
            reports: Vec::new(),
            answers: 0,
        };
        world.tell(Input::Start);
        world
    }

    fn tell(&mut self, input: Input) {
        self.agent.handle(self.now, input);
        while let Some(output) = self.agent.poll_output() {
            self.carry_out(output);
        }
    }

    fn carry_out(&mut self, output: Output) {
        match output {
            Output::Persist(saved) => self.stored = Some(saved),
            Output::Connect => {
                assert!(!self.up && !self.connecting, "DUP-1: a second connection");
                self.connecting = true;
            }
            Output::Send { payload, .. } => {
                let data = if self.transport == Transport::WebSocket { &payload[1..] } else { &payload[..] };
                self.reports.push(AgentToServer::decode(data).unwrap());
                self.to_server.push_back(payload);
                if self.transport == Transport::WebSocket {
                    self.agent.handle(self.now, Input::Sent);
                }
            }
            Output::Close => self.closing = true,
            Output::Abort => self.cut(),
            Output::ApplyConfig { hash, .. } => self.applying = Some(hash),
            Output::Event(_) | Output::Stopped => {}
        }
    }

    fn cut(&mut self) {
        self.to_server.clear();
        self.to_agent.clear();
        self.connecting = false;
        self.closing = false;
        self.up = self.transport == Transport::Http;
    }

    fn connect(&mut self) {
        if std::mem::take(&mut self.connecting) {
            self.up = true;
            self.server.attach(self.now, server_side(self.transport));
            self.tell(Input::Connected);
        }
    }

    fn deliver_to_server(&mut self) {
        self.connect();
        if let Some(payload) = self.to_server.pop_front().filter(|_| self.up) {
            for answer in self.serve(&payload) {
                self.to_agent.push_back(answer);
            }
        }
        if self.closing && self.to_server.is_empty() {
            self.cut();
            self.tell(Input::Failed(Failure::Closed { code: Some(1000), reason: String::new() }));
        }
    }

    fn serve(&mut self, payload: &[u8]) -> Vec<Bytes> {
        let framed = self.transport == Transport::WebSocket;
        let data = if framed { frame::data(payload).unwrap() } else { payload };
        self.server.receive(&RawAgentToServer::decode(data).unwrap()).unwrap();
        self.push()
    }

    /// What the server has to say now, answers and offers.
    fn push(&mut self) -> Vec<Bytes> {
        let framed = self.transport == Transport::WebSocket;
        let mut answers = Vec::new();
        while let Some(answer) = self.server.poll_answer(self.now, &self.rules) {
            answers.push(answer.encode(framed));
            if self.transport == Transport::Http {
                break;
            }
        }
        self.answers += answers.len();
        answers
    }

    fn deliver_to_agent(&mut self) {
        if let Some(answer) = self.to_agent.pop_front() {
            self.tell(Input::Received(answer));
        }
    }

    fn pass(&mut self, seconds: u64) {
        let target = self.now + Duration::from_secs(seconds);
        while let Some(due) = self.agent.poll_timeout().filter(|due| *due <= target) {
            self.now = self.now.max(due);
            self.tell(Input::Timer);
        }
        self.now = target;
    }

    fn happens(&mut self, happening: &Happening) {
        match *happening {
            Happening::Describe(value) => {
                self.state.0 = value;
                self.tell(Input::SetStatus(described(value)));
            }
            Happening::Health(value) => {
                self.state.1 = value;
                self.tell(Input::SetStatus(healthy(value)));
            }
            Happening::Run(value) => {
                self.state.2 = value;
                self.tell(Input::SetStatus(running(value)));
            }
            Happening::Offer(value) => self.offer(value),
            Happening::Applied => self.outcome(ConfigOutcome::Applied),
            Happening::Failed => self.outcome(ConfigOutcome::Failed("no".to_owned())),
            Happening::ToServer(count) => (0..count).for_each(|_| self.deliver_to_server()),
            Happening::ToAgent(count) => (0..count).for_each(|_| self.deliver_to_agent()),
            Happening::Break { late } => {
                self.late =
                    self.to_server.back().filter(|_| late && self.transport == Transport::WebSocket).cloned();
                self.cut();
                self.tell(Input::Failed(broken()));
            }
            Happening::Twice => self.repeat(),
            Happening::AgentRestarts => {
                self.cut();
                self.applying = None;
                self.agent = agent(self.transport, self.state, self.stored.clone());
                self.tell(Input::Start);
            }
            Happening::ServerRestarts => {
                self.server = ServerSession::new(uid(), server_side(self.transport));
                self.server.offer_config(self.wanted.clone());
                self.late = None;
                self.cut();
                self.tell(Input::Failed(broken()));
            }
            Happening::Seconds(seconds) => self.pass(seconds.into()),
            Happening::Reconnect => self.tell(Input::Reconnect),
        }
    }

    fn offer(&mut self, value: u8) {
        self.wanted = Some(ConfigOffer::new(config(&format!("wanted {value}"))));
        self.server.offer_config(self.wanted.clone());
        if self.up && self.transport == Transport::WebSocket {
            let pushed = self.push();
            self.to_agent.extend(pushed);
        }
    }

    fn outcome(&mut self, outcome: ConfigOutcome) {
        if let Some(hash) = self.applying.take() {
            self.tell(Input::ConfigApplied { hash, outcome });
        }
    }

    /// A message that comes again on the way (HTTP: from a proxy), or late from a connection that is gone. Its
    /// answer finds nobody.
    fn repeat(&mut self) {
        let again = match self.transport {
            Transport::Http => self.to_server.front().cloned(),
            Transport::WebSocket => self.late.take().filter(|_| self.up),
        };
        if let Some(payload) = again {
            self.serve(&payload);
        }
    }

    /// Nothing is lost any more, and the application does its work.
    fn settle(&mut self, seconds: u64) {
        for _ in 0..seconds / STEP {
            for _ in 0..10 {
                self.deliver_to_server();
                self.deliver_to_agent();
            }
            self.outcome(ConfigOutcome::Applied);
            if self.up && self.transport == Transport::WebSocket {
                let pushed = self.push();
                self.to_agent.extend(pushed);
            }
            self.pass(STEP);
        }
    }

    fn agrees(&self) -> Result<(), String> {
        for part in Part::ALL {
            let Some(ours) = self.agent.part(part).filter(|_| part != Part::PackageStatuses) else {
                continue;
            };
            if !self.server.part(part).is_some_and(|theirs| theirs.is(ours)) {
                return Err(format!("{} differs", part.field()));
            }
        }
        let given_up = matches!(self.server.offered(), Some((_, OfferState::GivenUp)));
        match (&self.wanted, self.server.config_hash()) {
            // Every offer that was allowed was lost with its connection: an operator sees it.
            (Some(wanted), hash) if !given_up && hash != Some(&wanted.hash()[..]) => {
                Err(format!("{hash:?} is not {wanted:?}"))
            }
            _ if !self.server.is_complete() => Err("the server misses something".to_owned()),
            _ => Ok(()),
        }
    }
}

/// How far time goes on between two looks at the wires while things settle, in seconds.
const STEP: u64 = 5;

/// Longest time that anything can take to be mended: the last repetition of an offer that was lost.
const MENDED: u64 = 2000;

fn comes_to_agree(transport: Transport, happenings: &[Happening]) -> Result<(), TestCaseError> {
    let mut world = World::new(transport);
    for happening in happenings {
        world.happens(happening);
    }
    world.settle(MENDED);
    prop_assert_eq!(world.agrees(), Ok(()));

    let (reports, answers) = (world.reports.len(), world.answers);
    world.settle(300);
    let quiet = &world.reports[reports..];
    prop_assert_eq!(quiet.len(), 10, "one heartbeat or poll every 30 seconds: {:?}", quiet);
    prop_assert_eq!(world.answers - answers, 10, "one answer to each");
    for heartbeat in quiet {
        let bare = AgentToServer {
            instance_uid: heartbeat.instance_uid.clone(),
            sequence_num: heartbeat.sequence_num,
            capabilities: heartbeat.capabilities,
            ..AgentToServer::default()
        };
        prop_assert_eq!(heartbeat, &bare);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn stat_13_over_a_websocket_both_sides_agree_after_any_trouble_and_come_to_rest(
        happenings in prop::collection::vec(happening(), 0..60)
    ) {
        comes_to_agree(Transport::WebSocket, &happenings)?;
    }

    #[test]
    fn stat_13_http_10_over_http_both_sides_agree_after_any_trouble_and_come_to_rest(
        happenings in prop::collection::vec(happening(), 0..60)
    ) {
        comes_to_agree(Transport::Http, &happenings)?;
    }
}

#[test]
fn flag_1_a_server_that_forgot_everything_asks_each_agent_once() {
    for transport in [Transport::WebSocket, Transport::Http] {
        let mut world = World::new(transport);
        world.settle(100);
        let full =
            |world: &World| world.reports.iter().filter(|report| report.agent_description.is_some()).count();
        assert_eq!(full(&world), 1);
        world.happens(&Happening::ServerRestarts);
        world.settle(300);
        assert_eq!(full(&world), 2, "one full report more on {transport:?}");
        assert_eq!(world.agrees(), Ok(()));
    }
}

#[test]
fn a_config_status_that_a_server_without_memory_misses_comes_with_the_heartbeat_after_its_offer() {
    use Happening as H;
    let mut world = World::new(Transport::WebSocket);
    world.happens(&H::Offer(0));
    world.settle(100);
    // All that the server counts on is new and is lost; remote_config_status alone was received before.
    for happening in [H::Describe(1), H::Run(1), H::Health(1), H::ServerRestarts] {
        world.happens(&happening);
    }
    world.settle(MENDED);
    assert_eq!(world.agrees(), Ok(()));
}

#[test]
fn seq_3_an_agent_that_restarted_is_not_asked_for_what_it_has_just_said() {
    for transport in [Transport::WebSocket, Transport::Http] {
        let mut world = World::new(transport);
        world.settle(100);
        world.happens(&Happening::AgentRestarts);
        world.settle(100);
        let full = world.reports.iter().filter(|report| report.agent_description.is_some()).count();
        assert_eq!(full, 2, "on {transport:?}");
    }
}
