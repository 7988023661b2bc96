//! A host whose driver keeps the contract of the agent's session to the letter, and checks what comes out of it.

use host_proto::agent::{Event, Failure, Input, Output, Position, Session, Settings, WhichToken};
use host_proto::desired::DesiredState;
use host_proto::frame::Frame;
use host_proto::message::{
    AgentBuild, Facts, Foreign, Hello, Identity, Pong, ProtocolVersion, StateApplied, ToServer,
};
use host_proto::report::Outcome;
use host_proto::{Moment, Secret};

use crate::world::Wire;

/// What survives a restart.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disk {
    pub(crate) token: String,
    pub(crate) previous: Option<String>,
    pub(crate) secret: Option<Secret>,
    pub(crate) position: Option<Position>,
    pub(crate) full: bool,
}

/// What the network is asked to do.
pub(crate) enum Wish {
    Connect(String),
    Send(Wire),
    Abort,
}

#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) session: Session,
    pub(crate) disk: Disk,
    pub(crate) boot_id: String,
    pub(crate) machine_id: String,
    pub(crate) events: Vec<Event>,
    /// Every state that was applied: epoch, generation, what it asked for, and whether it was only adopted.
    pub(crate) applied: Vec<(String, u64, u32, bool)>,
    pub(crate) requests: usize,
    /// Whether the task that reconciles answers.
    pub(crate) works: bool,
    shown: WhichToken,
    seed: u64,
}

impl Host {
    pub(crate) fn new(boot_id: &str, seed: u64) -> Self {
        let disk = Disk { token: "token-1".to_owned(), ..Disk::default() };
        Self::from_disk(disk, boot_id, seed)
    }

    pub(crate) fn from_disk(disk: Disk, boot_id: &str, seed: u64) -> Self {
        let settings = Settings {
            session_secret: disk.secret.clone(),
            has_previous_token: disk.previous.is_some(),
            position: disk.position.clone(),
        };
        Self {
            session: Session::new(settings, seed),
            disk,
            boot_id: boot_id.to_owned(),
            machine_id: "machine-1".to_owned(),
            events: Vec::new(),
            applied: Vec::new(),
            requests: 0,
            works: true,
            shown: WhichToken::Current,
            seed,
        }
    }

    pub(crate) fn restart(&mut self) {
        self.seed += 1;
        let applied = std::mem::take(&mut self.applied);
        let (machine_id, events) = (self.machine_id.clone(), std::mem::take(&mut self.events));
        *self = Self::from_disk(self.disk.clone(), &self.boot_id.clone(), self.seed);
        (self.machine_id, self.events, self.applied) = (machine_id, events, applied);
    }

    pub(crate) fn start(&mut self, now: Moment) {
        self.session.handle(now, Input::Start);
    }

    pub(crate) fn connected(&mut self, now: Moment) {
        self.session.handle(now, Input::Connected);
    }

    pub(crate) fn failed(&mut self, now: Moment, failure: Failure) {
        self.session.handle(now, Input::Failed(failure));
    }

    pub(crate) fn arrived(&mut self, now: Moment, wire: Wire) {
        match wire {
            Wire::Text(text) => self.session.handle(now, Input::Text(text)),
            _ => self.session.handle(now, Input::Heard),
        }
    }

    pub(crate) fn deadline(&self) -> Option<Moment> {
        self.session.poll_timeout()
    }

    pub(crate) fn tick(&mut self, now: Moment) {
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            self.session.handle(now, Input::Timer);
            let next = self.deadline();
            assert!(next.is_none_or(|next| next > now), "the agent wants to be woken again at once");
        }
    }

    /// Whether the newest state that was applied asks for this.
    pub(crate) fn runs(&self, wanted: u32) -> bool {
        self.applied.last().is_some_and(|(_, _, what, adopt)| *what == wanted && !adopt)
    }

    pub(crate) fn generations(&self) -> Vec<u64> {
        self.applied.iter().map(|(_, generation, ..)| *generation).collect()
    }

    pub(crate) fn drain(&mut self, now: Moment) -> Vec<Wish> {
        let mut wishes = Vec::new();
        while let Some(output) = self.session.poll_output() {
            match output {
                Output::Connect(which) => {
                    self.shown = which;
                    let token = match which {
                        WhichToken::Current => self.disk.token.clone(),
                        WhichToken::Previous => self.disk.previous.clone().expect("there is one"),
                    };
                    wishes.push(Wish::Connect(token));
                }
                Output::Hello => {
                    let hello = Box::new(self.hello());
                    self.session.handle(now, Input::Hello(hello));
                }
                Output::Send(text) => {
                    wishes.push(Wish::Send(Wire::Text(text)));
                    self.session.handle(now, Input::Sent);
                }
                Output::Ping => wishes.push(Wish::Send(Wire::Ping)),
                Output::Close { code, .. } => wishes.push(Wish::Send(Wire::Close(code))),
                Output::Abort => wishes.push(Wish::Abort),
                Output::PersistSecret(secret) => {
                    if !self.disk.full {
                        self.disk.secret = Some(secret);
                    }
                }
                Output::PersistToken(token) => self.persist_token(now, &token),
                Output::Apply { state, adopt } => self.apply(now, &state, adopt),
                Output::Probe(ping) if self.works => {
                    let pong = Pong { seq: ping.seq, t_us: ping.t_us, reconcile_lag_ms: Some(0) };
                    self.session.handle(now, Input::Alive(pong));
                }
                Output::Probe(_) | Output::Stopped => {}
                Output::Request(_) => self.requests += 1,
                Output::Event(event) => self.events.push(event),
            }
        }
        wishes
    }

    fn persist_token(&mut self, now: Moment, token: &Secret) {
        if self.disk.full {
            let result = Err("no space left on device".to_owned());
            return self.session.handle(now, Input::TokenPersisted(result));
        }
        if self.shown == WhichToken::Current {
            self.disk.previous = Some(self.disk.token.clone());
        }
        self.disk.token = token.expose().to_owned();
        self.session.handle(now, Input::TokenPersisted(Ok(())));
    }

    fn apply(&mut self, now: Moment, state: &DesiredState, adopt: bool) {
        assert!(self.session.is_fresh() && self.session.is_online());
        if let Some((epoch, generation, ..)) = self.applied.last() {
            assert!(*epoch != state.epoch || *generation < state.generation, "{} again", state.generation);
            assert!(*epoch == state.epoch || adopt, "the first state of an epoch is to adopt");
        }
        self.disk.position = self.session.position().cloned();
        let what = state.gc.keep_releases;
        self.applied.push((state.epoch.clone(), state.generation, what, adopt));
        let done = StateApplied {
            epoch: state.epoch.clone(),
            generation: state.generation,
            result: Outcome::Applied,
            refused_reason: None,
            sections: std::collections::BTreeMap::new(),
            items: Vec::new(),
            replicas: Vec::new(),
            removed: Vec::new(),
            net_selftest: None,
            blocks: None,
            left_volumes: None,
            duration_ms: 1,
        };
        let frame = Frame::plain(ToServer::StateApplied(Box::new(done)));
        self.session.handle(now, Input::Send(Box::new(frame)));
    }

    /// A hello as it travels.
    pub(crate) fn greeting(&self) -> String {
        Frame::plain(ToServer::Hello(Box::new(self.hello()))).encode().expect("it can be written")
    }

    fn hello(&self) -> Hello {
        Hello {
            protocol: ProtocolVersion::CURRENT,
            features: vec!["logs".to_owned()],
            agent: AgentBuild::default(),
            identity: Identity {
                machine_id: self.machine_id.clone(),
                instance_id: "instance-1".to_owned(),
                boot_id: self.boot_id.clone(),
                wg_public_key: "key-1".to_owned(),
                session_secret_prev: None,
            },
            time_at: "2026-01-01T00:00:00Z".to_owned(),
            facts: Facts::default(),
            epoch: None,
            generation: 0,
            section_hashes: std::collections::BTreeMap::new(),
            from_cache: self.disk.position.is_some(),
            cache_age_ms: None,
            replicas: Vec::new(),
            replicas_known: true,
            foreign: Foreign::default(),
        }
    }
}
