//! A control plane for one host, whose driver keeps the contract of the server's session to the letter: what must be
//! durable is in [`Store`] before the session goes on.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use host_proto::desired::DesiredState;
use host_proto::message::{Hello, ToServer};
use host_proto::server::{
    Admission, Alert, Input, Known, Newcomer, Output, Plan, Ratchet, Session, Settings, Verdict, Welcome,
};
use host_proto::{Mark, Moment, Secret};

use crate::world::Wire;

/// What survives a restart.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    pub(crate) mark: Mark,
    pub(crate) ratchet: Ratchet,
    /// Tokens that work, each until a moment.
    pub(crate) tokens: BTreeMap<String, Option<Moment>>,
    pub(crate) token: String,
    pub(crate) pending: Option<String>,
    pub(crate) token_since: Moment,
}

struct Connection {
    session: Session,
    newcomer: Option<Newcomer>,
    token: String,
    /// Whom the answer of its probe is for.
    probed_for: Option<u32>,
}

pub(crate) struct Control {
    pub(crate) store: Store,
    pub(crate) wanted: u32,
    pub(crate) alerts: Vec<Alert>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) settings: Settings,
    pub(crate) messages: usize,
    /// A test gives a state that cannot be sent.
    pub(crate) expects_refusal: bool,
    /// The socket takes what is sent and never says so.
    pub(crate) holds_writes: bool,
    /// The state is the same but for its number.
    connections: BTreeMap<u32, Connection>,
    admission: Admission,
    /// The admitted one.
    current: Option<u32>,
    wires: VecDeque<(u32, Wire)>,
    made: u64,
}

impl Control {
    pub(crate) fn new() -> Self {
        let token = "token-1".to_owned();
        let store = Store {
            mark: Mark::new("epoch-1", 0),
            ratchet: Ratchet::default(),
            tokens: BTreeMap::from([(token.clone(), None)]),
            token,
            pending: None,
            token_since: Moment(10_000_000_000),
        };
        Self {
            store,
            wanted: 1,
            alerts: Vec::new(),
            outputs: Vec::new(),
            settings: Settings { features: vec!["logs".to_owned()], ..Settings::default() },
            messages: 0,
            expects_refusal: false,
            holds_writes: false,
            connections: BTreeMap::new(),
            admission: Admission::default(),
            current: None,
            wires: VecDeque::new(),
            made: 1,
        }
    }

    pub(crate) fn restart(&mut self) {
        self.connections.clear();
        self.admission = Admission::default();
        self.current = None;
        self.wires.clear();
    }

    /// What the host should run is another.
    pub(crate) fn change(&mut self, now: Moment) {
        self.wanted += 1;
        self.tell(now);
    }

    pub(crate) fn tell(&mut self, now: Moment) {
        self.with_current(now, Input::Changed);
    }

    pub(crate) fn with_current(&mut self, now: Moment, input: Input) {
        if let Some(connection) = self.current.and_then(|pipe| self.connections.get_mut(&pipe)) {
            connection.session.handle(now, input);
        }
    }

    pub(crate) fn is_online(&self) -> bool {
        self.current.is_some()
    }

    pub(crate) fn knows(&self, now: Moment, token: &str) -> bool {
        self.store.tokens.get(token).is_some_and(|until| until.is_none_or(|until| now < until))
    }

    pub(crate) fn upgraded(&mut self, now: Moment, pipe: u32, token: &str) {
        let session = Session::new(now, self.settings.clone());
        let connection = Connection { session, newcomer: None, token: token.to_owned(), probed_for: None };
        self.connections.insert(pipe, connection);
    }

    pub(crate) fn arrived(&mut self, now: Moment, pipe: u32, wire: Wire) {
        let Some(connection) = self.connections.get_mut(&pipe) else { return };
        match wire {
            Wire::Text(text) => connection.session.handle(now, Input::Text(text)),
            _ => connection.session.handle(now, Input::Heard),
        }
    }

    pub(crate) fn lost(&mut self, now: Moment, pipe: u32) {
        let Some(connection) = self.connections.remove(&pipe) else { return };
        if self.current == Some(pipe) {
            self.current = None;
            self.admission.disconnected();
        }
        if let Some(newcomer) = connection.probed_for {
            self.probed(now, newcomer, false);
        }
    }

    pub(crate) fn deadline(&self) -> Option<Moment> {
        self.connections.values().filter_map(|connection| connection.session.poll_timeout()).min()
    }

    pub(crate) fn tick(&mut self, now: Moment) {
        for connection in self.connections.values_mut() {
            if connection.session.poll_timeout().is_some_and(|deadline| deadline <= now) {
                connection.session.handle(now, Input::Timer);
                let planned = connection.session.poll_timeout().is_none_or(|next| next > now);
                assert!(planned, "the server's session wants to be woken again at once");
            }
        }
    }

    pub(crate) fn drain(&mut self, now: Moment) -> Vec<(u32, Wire)> {
        // What one session says can be an input of another.
        while let Some((pipe, output)) = self.next_output() {
            self.carry_out(now, pipe, output);
        }
        self.wires.drain(..).collect()
    }

    fn next_output(&mut self) -> Option<(u32, Output)> {
        let mut connections = self.connections.iter_mut();
        connections.find_map(|(pipe, connection)| Some((*pipe, connection.session.poll_output()?)))
    }

    fn carry_out(&mut self, now: Moment, pipe: u32, output: Output) {
        match &output {
            Output::Send(text) => {
                self.wires.push_back((pipe, Wire::Text(text.clone())));
                if !self.holds_writes {
                    self.input(now, pipe, Input::Sent);
                }
                return;
            }
            Output::Ping => return self.wires.push_back((pipe, Wire::Ping)),
            Output::Close { code, .. } => {
                self.wires.push_back((pipe, Wire::Close(*code)));
                self.lost(now, pipe);
            }
            Output::Hello(hello) => self.hello(now, pipe, hello),
            Output::Plan(plan) => self.plan(now, pipe, *plan),
            Output::StoreIsBehind { .. } => {
                self.made += 1;
                self.store.mark = Mark::new(format!("epoch-{}", self.made), 0);
            }
            Output::RotateToken => {
                self.made += 1;
                let token = format!("token-{}", self.made);
                self.store.tokens.insert(token.clone(), None);
                self.store.pending = Some(token.clone());
                self.input(now, pipe, Input::Rotate(Secret::new(token)));
            }
            Output::TokenRotated => self.confirm(now),
            Output::Probed { alive } => {
                let newcomer = self.connections.get_mut(&pipe).and_then(|old| old.probed_for.take());
                if let Some(newcomer) = newcomer {
                    self.probed(now, newcomer, *alive);
                }
            }
            Output::NotSent { reason } => assert!(self.expects_refusal, "{reason}"),
            Output::Message(frame) => {
                self.messages += 1;
                assert!(!matches!(frame.body, ToServer::Hello(_) | ToServer::Ping(_)));
            }
            Output::TokenNotRotated { .. } | Output::Degraded(_) | Output::Left { .. } => {}
        }
        self.outputs.push(output);
    }

    /// The host has the new token: the old ones work for ten more minutes.
    fn confirm(&mut self, now: Moment) {
        let Some(pending) = self.store.pending.take() else { return };
        for (token, until) in &mut self.store.tokens {
            if *token != pending && until.is_none() {
                *until = Some(now + Duration::from_secs(600));
            }
        }
        self.store.token = pending;
        self.store.token_since = now;
    }

    fn input(&mut self, now: Moment, pipe: u32, input: Input) {
        if let Some(connection) = self.connections.get_mut(&pipe) {
            connection.session.handle(now, input);
        }
    }

    fn hello(&mut self, now: Moment, pipe: u32, hello: &Hello) {
        let known = Known {
            machine_id: "machine-1".to_owned(),
            instance_id: "instance-1".to_owned(),
            wg_public_key: "key-1".to_owned(),
        };
        let newcomer = Newcomer { identity: hello.identity.clone(), address: format!("pipe {pipe}") };
        let verdict = self.admission.decide(now, &known, &self.store.ratchet, &newcomer);
        if let Some(connection) = self.connections.get_mut(&pipe) {
            connection.newcomer = Some(newcomer);
        }
        self.follow(now, pipe, verdict);
    }

    fn probed(&mut self, now: Moment, pipe: u32, alive: bool) {
        let Some(newcomer) = self.connections.get(&pipe).and_then(|new| new.newcomer.clone()) else { return };
        let verdict = self.admission.probed(now, alive, &self.store.ratchet, &newcomer);
        self.follow(now, pipe, verdict);
    }

    fn follow(&mut self, now: Moment, pipe: u32, verdict: Verdict) {
        match verdict {
            Verdict::Admit { alert } => {
                self.alerts.extend(alert);
                self.admit(now, pipe);
            }
            Verdict::Probe => {
                let current = self.current.expect("somebody is connected");
                let old = self.connections.get_mut(&current).expect("the current one");
                old.probed_for = Some(pipe);
                old.session.handle(now, Input::Probe);
            }
            Verdict::Refuse(refusal) => {
                self.alerts.extend(refusal.alert);
                self.input(now, pipe, Input::Refuse { code: refusal.code, error: refusal.error });
            }
        }
    }

    fn admit(&mut self, now: Moment, pipe: u32) {
        if let Some(old) = self.current.replace(pipe).filter(|old| *old != pipe) {
            self.input(now, old, Input::Replaced);
        }
        let Some(connection) = self.connections.get(&pipe) else { return };
        let shown = connection.newcomer.as_ref().and_then(|new| new.identity.session_secret_prev.clone());
        // A host that shows the token of a rotation that was never confirmed has it on its disk.
        if self.store.pending.as_ref() == Some(&connection.token) {
            self.confirm(now);
        }
        self.made += 1;
        let secret = Secret::new(format!("secret-{}", self.made));
        self.store.ratchet = self.store.ratchet.advance(shown.as_ref(), &secret);
        let welcome = Welcome {
            session_id: format!("ses_{pipe}").parse().expect("an id"),
            session_secret: secret,
            time_at: "2026-01-01T00:00:00Z".to_owned(),
            notice: None,
            reconnect_spread: Duration::ZERO,
            stored: self.store.mark.clone(),
            token_age: now.since(self.store.token_since),
        };
        self.input(now, pipe, Input::Admit(welcome));
    }

    fn plan(&mut self, now: Moment, pipe: u32, plan: Plan) {
        let mut state = DesiredState::empty(self.store.mark.epoch.clone(), 0);
        state.gc.keep_releases = self.wanted;
        let news = self.connections.get(&pipe).is_some_and(|connection| connection.session.is_news(&state));
        if !news {
            return self.input(now, pipe, Input::NoState);
        }
        state.generation = plan.above.max(self.store.mark.generation) + 1;
        self.store.mark.generation = state.generation;
        self.input(now, pipe, Input::Desired(Box::new(state)));
    }
}

/// For tests that drive a server's session alone.
pub(crate) fn welcome() -> Welcome {
    Welcome {
        session_id: "ses_1".parse().expect("an id"),
        session_secret: Secret::new("secret"),
        time_at: "2026-01-01T00:00:00Z".to_owned(),
        notice: None,
        reconnect_spread: Duration::ZERO,
        stored: Mark::new("epoch-1", 0),
        token_age: Duration::ZERO,
    }
}
