//! One connection of one host, from the upgrade to its end.
//!
//! ```text
//! Greeting ─ hello ─▶ Deciding ─ Admit ─▶ Open ─▶ Closed
//!     └─ 5 s, nonsense ──┴─ Refuse, silence ──────▲
//! ```
//!
//! Contract: call [`Session::handle`] for everything that happens, carry out what [`Session::poll_output`] gives in that
//! order, and come back with [`Input::Timer`] no later than [`Session::poll_timeout`].

use std::collections::VecDeque;
use std::time::Duration;

use super::outbox::Outbox;
use super::pacer::{Fate, Pacer};
use super::probe::Probe;
use super::rotation::Rotation;
use super::{Input, Output, Welcome};
use crate::desired::DesiredState;
use crate::frame::Frame;
use crate::generation::{self, Mark, Standing};
use crate::limits::{HELLO_WITHIN, MAX_MESSAGE, MAX_REPLICAS, TOKEN_GRACE};
use crate::liveness::{Due, Liveness};
use crate::message::{
    CloseCode, ErrorCode, ErrorMessage, Goodbye, Hello, HelloAck, HostRemoved, Intervals, Limits, Pong,
    ProtocolVersion, ToAgent, ToServer, TokenRotate, TokenRotated,
};
use crate::moment::Moment;
use crate::secret::Secret;
use crate::strikes::{Sentence, Strikes, fatal};
use crate::trim::Trim;
use crate::version::{common_features, negotiate};

/// What all sessions of a server share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// What the server speaks.
    pub protocol: ProtocolVersion,
    /// What it can.
    pub features: Vec<String>,
    /// How often things happen; told to the host.
    pub intervals: Intervals,
}

impl Default for Settings {
    fn default() -> Self {
        Self { protocol: ProtocolVersion::CURRENT, features: Vec::new(), intervals: Intervals::default() }
    }
}

#[derive(Debug)]
enum Phase {
    Greeting { until: Moment },
    Deciding(Box<Introduced>),
    Open(Box<Pacer>),
    Closed,
}

/// What of a hello is needed once it is admitted.
#[derive(Debug)]
struct Introduced {
    protocol: ProtocolVersion,
    features: Vec<String>,
    applied: Option<Mark>,
}

/// The server's end of one connection.
#[derive(Debug)]
pub struct Session {
    settings: Settings,
    phase: Phase,
    liveness: Liveness,
    strikes: Strikes,
    outbox: Outbox,
    rotation: Rotation,
    probe: Probe,
    degraded: bool,
    next_id: u64,
    outputs: VecDeque<Output>,
}

impl Session {
    /// A session whose socket was upgraded just now.
    pub fn new(now: Moment, settings: Settings) -> Self {
        Self {
            liveness: Liveness::new(now, &settings.intervals),
            settings,
            phase: Phase::Greeting { until: now + HELLO_WITHIN },
            strikes: Strikes::default(),
            outbox: Outbox::default(),
            rotation: Rotation::default(),
            probe: Probe::default(),
            degraded: false,
            next_id: 0,
            outputs: VecDeque::new(),
        }
    }

    /// Takes one thing that happened.
    pub fn handle(&mut self, now: Moment, input: Input) {
        if matches!(self.phase, Phase::Closed) {
            return;
        }
        match input {
            Input::Text(text) => self.received(now, &text),
            Input::Heard => self.heard(now),
            Input::Sent => self.outbox.sent(),
            Input::Timer => self.timer(now),
            Input::Admit(welcome) => self.admit(now, welcome),
            Input::Refuse { code, error } => self.close(code, Some(error)),
            Input::Changed => {
                if let Phase::Open(pacer) = &mut self.phase {
                    pacer.changed(now);
                }
            }
            Input::Desired(state) => self.desired(now, state),
            Input::NoState => {
                if let Phase::Open(pacer) = &mut self.phase {
                    pacer.nothing(now);
                }
            }
            Input::Rotate(token) => self.rotate(now, token),
            Input::Probe => self.begin_probe(now),
            Input::Send(frame) => self.outbox.push(&frame),
            Input::Replaced => self.close(CloseCode::Replaced, None),
            Input::Removed { reason } => self.removed(reason),
            Input::Goodbye { reason, reconnect_after } => self.goodbye(reason, reconnect_after),
        }
        self.flush(now);
    }

    /// The next thing to do.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When [`Input::Timer`] is due. `None` once the session is closed.
    pub fn poll_timeout(&self) -> Option<Moment> {
        let phase = match &self.phase {
            Phase::Greeting { until } => Some(*until),
            Phase::Deciding(_) => None,
            Phase::Open(pacer) => pacer.deadline(),
            Phase::Closed => return None,
        };
        let others = [self.outbox.deadline(), self.rotation.deadline(), self.probe.deadline(), phase];
        Some(others.into_iter().flatten().fold(self.liveness.deadline(), Moment::min))
    }

    /// Whether a state would be sent, so that the caller need not number one that would not. Its number does not
    /// count.
    pub fn is_news(&self, state: &DesiredState) -> bool {
        match &self.phase {
            Phase::Open(pacer) => pacer.is_news(state),
            _ => true,
        }
    }

    /// Whether the host was admitted and the connection stands.
    pub fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open(_))
    }

    fn heard(&mut self, now: Moment) {
        self.liveness.heard(now);
        if self.probe.heard() {
            self.outputs.push_back(Output::Probed { alive: true });
        }
    }

    fn received(&mut self, now: Moment, text: &str) {
        self.heard(now);
        let mut frame = match Frame::<ToServer>::decode(text) {
            Ok(frame) => frame,
            Err(fault) => {
                let sentence = self.strikes.judge(&fault);
                return self.execute(sentence);
            }
        };
        if let Some(fault) = self.out_of_place(&frame) {
            let sentence = self.strikes.bad(frame.id, fault.to_owned());
            return self.execute(sentence);
        }
        self.strikes.good();
        // Here and nowhere else, so that nobody who gets a message has to remember it.
        frame.body.trim();
        self.message(now, frame);
    }

    /// What a message that can be read has no business to be here.
    fn out_of_place(&self, frame: &Frame<ToServer>) -> Option<&'static str> {
        match (&self.phase, &frame.body) {
            (Phase::Greeting { .. }, ToServer::Hello(hello)) if hello.replicas.len() > MAX_REPLICAS => {
                Some("more replicas than a host can have")
            }
            (Phase::Greeting { .. }, ToServer::Hello(_) | ToServer::Goodbye(_)) => None,
            (Phase::Greeting { .. }, _) => Some("the first message has to be hello"),
            (_, ToServer::Hello(_)) => Some("hello was said already"),
            (Phase::Deciding(_), ToServer::Ping(_) | ToServer::Pong(_) | ToServer::Goodbye(_)) => None,
            (Phase::Deciding(_), _) => Some("hello was not answered yet"),
            _ => None,
        }
    }

    fn message(&mut self, now: Moment, frame: Frame<ToServer>) {
        match frame.body {
            ToServer::Hello(hello) => self.hello(*hello),
            ToServer::Ping(ping) => {
                let pong = Pong { seq: ping.seq, t_us: ping.t_us, reconcile_lag_ms: None };
                self.outbox.push(&Frame::plain(ToAgent::Pong(pong)));
            }
            ToServer::Pong(_) => self.answered(),
            ToServer::Goodbye(goodbye) => {
                self.outputs.push_back(Output::Left { reason: goodbye.reason });
                self.close(CloseCode::Normal, None);
            }
            ToServer::TokenRotated(rotated) => self.token_rotated(now, frame.re.as_deref(), rotated),
            body => {
                if let (Phase::Open(pacer), ToServer::StateApplied(applied)) = (&mut self.phase, &body) {
                    pacer.applied(now, applied.generation);
                }
                let frame = Frame { id: frame.id, re: frame.re, body };
                self.outputs.push_back(Output::Message(Box::new(frame)));
            }
        }
    }

    fn hello(&mut self, hello: Hello) {
        let Some(protocol) = negotiate(self.settings.protocol, hello.protocol) else {
            let (own, theirs) = (self.settings.protocol, hello.protocol);
            let text = format!(
                "this server speaks {}.{}, the agent {}.{}: install the agent anew from this server",
                own.major, own.minor, theirs.major, theirs.minor
            );
            let error = fatal(ErrorCode::UnsupportedProtocol, text);
            return self.close(CloseCode::UnsupportedProtocol, Some(error));
        };
        let features = common_features(&self.settings.features, &hello.features);
        self.phase = Phase::Deciding(Box::new(Introduced { protocol, features, applied: hello.applied() }));
        self.outputs.push_back(Output::Hello(Box::new(hello)));
    }

    fn admit(&mut self, now: Moment, welcome: Welcome) {
        let Phase::Deciding(introduced) = &mut self.phase else { return };
        let Introduced { protocol, features, applied } = introduced.as_mut();
        let (features, applied) = (std::mem::take(features), applied.take());
        let behind = generation::standing(&welcome.stored, applied.as_ref()) == Standing::Ahead;
        let ack = HelloAck {
            session_id: welcome.session_id,
            session_secret: welcome.session_secret,
            protocol: *protocol,
            features,
            time_at: welcome.time_at,
            intervals: self.settings.intervals,
            limits: Limits::default(),
            reconnect_spread_ms: millis(welcome.reconnect_spread),
            notice: welcome.notice,
        };
        self.outbox.push(&Frame::plain(ToAgent::HelloAck(ack)));
        if let Some(applied) = applied.as_ref().filter(|_| behind) {
            self.outputs.push_back(Output::StoreIsBehind { applied: applied.generation });
        }
        self.rotation.begin(now, welcome.token_age);
        self.phase = Phase::Open(Box::new(Pacer::new(now, applied, welcome.stored, behind)));
    }

    fn desired(&mut self, now: Moment, mut state: Box<DesiredState>) {
        let Phase::Open(pacer) = &mut self.phase else { return };
        match pacer.planned(now, &mut state) {
            Fate::Skip => {}
            Fate::Refuse(reason) => self.outputs.push_back(Output::NotSent { reason }),
            Fate::Send => match Frame::plain(ToAgent::DesiredState(state)).encode() {
                Ok(text) if text.len() <= MAX_MESSAGE => self.outbox.state(text),
                Ok(text) => {
                    let reason =
                        format!("the state has {} bytes, a message at most {MAX_MESSAGE}", text.len());
                    self.outputs.push_back(Output::NotSent { reason });
                }
                Err(error) => self.outputs.push_back(Output::NotSent { reason: error.to_string() }),
            },
        }
    }

    fn rotate(&mut self, now: Moment, token: Secret) {
        if !self.is_open() {
            return;
        }
        self.next_id += 1;
        let id = format!("msg_{}", self.next_id);
        let body = ToAgent::TokenRotate(TokenRotate { host_token: token, grace_ms: millis(TOKEN_GRACE) });
        self.outbox.push(&Frame::asking(id.clone(), body));
        self.rotation.sent(now, id);
    }

    fn token_rotated(&mut self, now: Moment, re: Option<&str>, rotated: TokenRotated) {
        if !self.rotation.answered(now, re, rotated.ok) {
            return;
        }
        self.outputs.push_back(match rotated {
            TokenRotated { ok: true, .. } => Output::TokenRotated,
            TokenRotated { error, .. } => Output::TokenNotRotated { error: error.unwrap_or_default() },
        });
    }

    fn begin_probe(&mut self, now: Moment) {
        self.probe.begin(now);
        let ping = self.liveness.ping(now);
        self.outputs.push_back(Output::Ping);
        self.outbox.push(&Frame::plain(ToAgent::Ping(ping)));
    }

    fn answered(&mut self) {
        self.liveness.answered();
        self.set_degraded(false);
    }

    fn set_degraded(&mut self, degraded: bool) {
        if self.degraded != degraded {
            self.degraded = degraded;
            self.outputs.push_back(Output::Degraded(degraded));
        }
    }

    fn timer(&mut self, now: Moment) {
        if let Phase::Greeting { until } = self.phase
            && now >= until
        {
            let error = fatal(ErrorCode::BadMessage, "no hello within five seconds");
            return self.close(CloseCode::BadMessage, Some(error));
        }
        if self.probe.failed(now) {
            self.outputs.push_back(Output::Probed { alive: false });
        }
        match self.liveness.due(now) {
            Due::Nothing => {}
            Due::Dead => return self.close(CloseCode::IdleTimeout, None),
            Due::Ping(ping) => {
                self.outputs.push_back(Output::Ping);
                self.outbox.push(&Frame::plain(ToAgent::Ping(ping)));
                if self.liveness.is_stuck() {
                    self.set_degraded(true);
                }
            }
        }
        if self.outbox.is_stuck(now) {
            return self.close(CloseCode::SlowConsumer, None);
        }
        if self.rotation.is_unanswered(now) {
            let error = "the host did not answer".to_owned();
            self.outputs.push_back(Output::TokenNotRotated { error });
        }
        if self.rotation.is_due(now) {
            self.outputs.push_back(Output::RotateToken);
        }
    }

    fn removed(&mut self, reason: String) {
        let removed = Frame::plain(ToAgent::HostRemoved(HostRemoved { reason }));
        self.say_at_last(&removed);
        self.close(CloseCode::HostRemoved, None);
    }

    fn goodbye(&mut self, reason: String, after: Duration) {
        let body = Goodbye { reason, reconnect_after_ms: Some(millis(after)) };
        self.say_at_last(&Frame::plain(ToAgent::Goodbye(body)));
        self.close(CloseCode::Restart, None);
    }

    fn execute(&mut self, sentence: Sentence) {
        match sentence {
            Sentence::Drop => {}
            Sentence::Answer { re, error } => {
                self.outbox.push(&Frame::answering(re, ToAgent::Error(error)));
            }
            Sentence::Close { code, error } => self.close(code, Some(error)),
        }
    }

    /// Past everything that waits: the connection ends with it.
    fn say_at_last(&mut self, frame: &Frame<ToAgent>) {
        if let Ok(text) = frame.encode() {
            self.outputs.push_back(Output::Send(text));
        }
    }

    fn close(&mut self, code: CloseCode, error: Option<ErrorMessage>) {
        if let Some(error) = error {
            self.say_at_last(&Frame::plain(ToAgent::Error(error)));
        }
        if self.probe.heard() {
            self.outputs.push_back(Output::Probed { alive: false });
        }
        self.outputs.push_back(Output::Close { code, reason: code.reason().to_owned() });
        self.phase = Phase::Closed;
    }

    fn flush(&mut self, now: Moment) {
        if let Phase::Open(pacer) = &mut self.phase
            && let Some(plan) = pacer.due(now)
        {
            self.outputs.push_back(Output::Plan(plan));
        }
        if matches!(self.phase, Phase::Closed) {
            return;
        }
        if let Some(text) = self.outbox.next(now) {
            self.outputs.push_back(Output::Send(text));
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
