//! The life of the way to the server.
//!
//! ```text
//! Off ─ Start ─▶ Connecting ─▶ Greeting ─ hello_ack ─▶ Open
//!                   ▲  └─────────┴── failure ───────────┤
//!                   └─ pause over ─ Waiting ◀───────────┴─▶ Closing ─▶ Waiting or Stopped
//! host_removed: Removed, for good (R7)
//! ```
//!
//! Contract: call [`Session::handle`] for everything that happens, carry out what [`Session::poll_output`] gives in that
//! order, and come back with [`Input::Timer`] no later than [`Session::poll_timeout`].

use std::collections::VecDeque;
use std::time::Duration;

use super::backoff::Backoff;
use super::outbox::Outbox;
use super::pause::{self, LastWords, Next};
use super::{Away, Event, Failure, Input, Output, WhichToken};
use crate::frame::Frame;
use crate::generation::Mark;
use crate::limits::STABLE_AFTER;
use crate::liveness::{Due, Liveness};
use crate::message::{CloseCode, Goodbye, Hello, Intervals, ProtocolVersion, ToServer};
use crate::moment::Moment;
use crate::secret::Secret;
use crate::strikes::Strikes;

/// Longest time for name, route, TLS and upgrade together.
const CONNECT_WITHIN: Duration = Duration::from_secs(30);
/// `hello_ack` can take as long as the server probes an older connection (R14), and some more.
const ACK_WITHIN: Duration = Duration::from_secs(20);
/// The closing handshake.
const CLOSE_WITHIN: Duration = Duration::from_secs(3);

/// What the agent kept from before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// What the last `hello_ack` gave.
    pub session_secret: Option<Secret>,
    /// Whether there is a token from before the last rotation.
    pub has_previous_token: bool,
    /// The state in the cache.
    pub position: Option<Position>,
}

/// Up to where the host came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The newest state that was taken.
    pub mark: Mark,
    /// It was one to adopt (R32).
    pub adopting: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    Off,
    Waiting { until: Moment },
    Connecting { until: Moment },
    Greeting { until: Moment },
    Open { since: Moment },
    Closing { until: Moment },
    Removed,
    Stopped,
}

/// The host's end, over all connections.
#[derive(Debug)]
pub struct Session {
    pub(super) link: Link,
    pub(super) liveness: Liveness,
    pub(super) strikes: Strikes,
    pub(super) outbox: Outbox,
    pub(super) secret: Option<Secret>,
    pub(super) position: Option<Position>,
    /// A state was taken on this connection (STATE-5).
    pub(super) fresh: bool,
    pub(super) words: LastWords,
    /// The id of the `token_rotate` whose token is being stored.
    pub(super) rotating: Option<Option<String>>,
    pub(super) has_previous: bool,
    /// The previous token was shown since the current one was refused.
    pub(super) previous_tried: bool,
    pub(super) outputs: VecDeque<Output>,
    token: WhichToken,
    backoff: Backoff,
    stopping: bool,
    closed_for: Option<String>,
}

impl Session {
    /// A session that has not started. `seed` decides the jitter of the pauses.
    pub fn new(settings: Settings, seed: u64) -> Self {
        Self {
            link: Link::Off,
            liveness: Liveness::new(Moment::default(), &Intervals::default()),
            strikes: Strikes::default(),
            outbox: Outbox::default(),
            secret: settings.session_secret,
            position: settings.position,
            fresh: false,
            words: LastWords::default(),
            rotating: None,
            has_previous: settings.has_previous_token,
            previous_tried: false,
            outputs: VecDeque::new(),
            token: WhichToken::Current,
            backoff: Backoff::new(seed),
            stopping: false,
            closed_for: None,
        }
    }

    /// Takes one thing that happened.
    pub fn handle(&mut self, now: Moment, input: Input) {
        match input {
            Input::Start if self.link == Link::Off => self.attempt(now, WhichToken::Current),
            Input::Start => {}
            Input::Connected => self.connected(now),
            Input::Hello(hello) => self.hello(*hello),
            Input::Text(text) => self.received(now, &text),
            Input::Heard => self.liveness.heard(now),
            Input::Sent => self.outbox.sent(),
            Input::Timer => self.timer(now),
            Input::Alive(pong) => self.push(Frame::plain(ToServer::Pong(pong))),
            Input::TokenPersisted(result) => self.token_persisted(result),
            Input::Send(frame) => self.push(*frame),
            Input::Failed(failure) => self.failed(now, &failure),
            Input::Stop { reason } => self.stop(now, reason),
        }
        self.flush(now);
    }

    /// The next thing to do.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When [`Input::Timer`] is due. `None`: nothing happens by time alone.
    pub fn poll_timeout(&self) -> Option<Moment> {
        match self.link {
            Link::Off | Link::Removed | Link::Stopped => None,
            Link::Waiting { until }
            | Link::Connecting { until }
            | Link::Greeting { until }
            | Link::Closing { until } => Some(until),
            Link::Open { .. } => {
                let stuck = self.outbox.deadline().unwrap_or(self.liveness.deadline());
                Some(stuck.min(self.liveness.deadline()))
            }
        }
    }

    /// Whether containers may be stopped: a state was taken on this connection, and it stands (STATE-5).
    pub fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Whether the server let us in and the connection stands.
    pub fn is_online(&self) -> bool {
        matches!(self.link, Link::Open { .. })
    }

    /// Up to where the host came.
    pub fn position(&self) -> Option<&Position> {
        self.position.as_ref()
    }

    fn attempt(&mut self, now: Moment, token: WhichToken) {
        self.token = token;
        self.words = LastWords::default();
        self.strikes = Strikes::default();
        self.closed_for = None;
        self.outputs.push_back(Output::Connect(token));
        self.link = Link::Connecting { until: now + CONNECT_WITHIN };
    }

    fn connected(&mut self, now: Moment) {
        if !matches!(self.link, Link::Connecting { .. }) {
            return;
        }
        self.liveness = Liveness::new(now, &Intervals::default());
        self.link = Link::Greeting { until: now + ACK_WITHIN };
        self.outputs.push_back(Output::Hello);
    }

    fn hello(&mut self, mut hello: Hello) {
        if !matches!(self.link, Link::Greeting { .. }) {
            return;
        }
        hello.protocol = ProtocolVersion::CURRENT;
        hello.identity.session_secret_prev = self.secret.clone();
        hello.epoch = self.position.as_ref().map(|position| position.mark.epoch.clone());
        hello.generation = self.position.as_ref().map_or(0, |position| position.mark.generation);
        self.outbox.push(Frame::plain(ToServer::Hello(Box::new(hello))));
    }

    fn push(&mut self, frame: Frame<ToServer>) {
        if self.is_online() || matches!(self.link, Link::Greeting { .. }) && is_early(&frame.body) {
            self.outbox.push(frame);
        }
    }

    fn flush(&mut self, now: Moment) {
        if !matches!(self.link, Link::Greeting { .. } | Link::Open { .. }) {
            return;
        }
        if let Some(text) = self.outbox.next(now) {
            self.outputs.push_back(Output::Send(text));
        }
    }

    /// Past everything that waits: the connection ends with it.
    pub(super) fn say_at_last(&mut self, frame: &Frame<ToServer>) {
        if let Ok(text) = frame.encode() {
            self.outputs.push_back(Output::Send(text));
        }
    }

    /// Closes the connection from this side.
    pub(super) fn leave(&mut self, now: Moment, code: CloseCode, reason: String) {
        self.outputs.push_back(Output::Close { code, reason: code.reason().to_owned() });
        self.closed_for = Some(reason);
        self.settle(now);
        self.link = Link::Closing { until: now + CLOSE_WITHIN };
    }

    fn failed(&mut self, now: Moment, failure: &Failure) {
        match self.link {
            Link::Off | Link::Waiting { .. } | Link::Removed | Link::Stopped => return,
            Link::Connecting { .. } | Link::Greeting { .. } | Link::Open { .. } | Link::Closing { .. } => {}
        }
        self.settle(now);
        if self.stopping {
            return self.end();
        }
        let mut reason = self.closed_for.take().unwrap_or_else(|| failure.to_string());
        if let Some(error) = &self.words.error {
            reason = format!("{reason}: {}", error.message);
        }
        match pause::after(failure, &self.words, &mut self.backoff) {
            Next::Never => self.removed(reason),
            Next::Retry(Away::Unauthorized, _) if self.has_previous && !self.previous_tried => {
                self.previous_tried = true;
                self.attempt(now, WhichToken::Previous);
            }
            Next::Retry(away, pause) => {
                self.previous_tried &= away == Away::Unauthorized;
                let event = Event::Offline { reason, away, retry_in: Some(pause) };
                self.outputs.push_back(Output::Event(event));
                self.link = Link::Waiting { until: now + pause };
            }
        }
    }

    /// What ends with every connection.
    fn settle(&mut self, now: Moment) {
        if let Link::Open { since } = self.link
            && now.since(since) >= STABLE_AFTER
        {
            self.backoff.reset();
        }
        self.fresh = false;
        self.rotating = None;
        self.outbox.forget();
    }

    pub(super) fn removed(&mut self, reason: String) {
        if matches!(self.link, Link::Greeting { .. } | Link::Open { .. }) {
            let code = CloseCode::Normal;
            self.outputs.push_back(Output::Close { code, reason: code.reason().to_owned() });
        }
        self.fresh = false;
        self.outbox.forget();
        self.link = Link::Removed;
        let away = Away::Removed;
        self.outputs.push_back(Output::Event(Event::Offline {
            reason: reason.clone(),
            away,
            retry_in: None,
        }));
        self.outputs.push_back(Output::Event(Event::Removed { reason }));
    }

    fn timer(&mut self, now: Moment) {
        match self.link {
            Link::Waiting { until } if now >= until => {
                // The other token had its turn; after a pause the newest one is shown again.
                self.previous_tried = false;
                self.attempt(now, WhichToken::Current);
            }
            Link::Connecting { until } | Link::Greeting { until } | Link::Closing { until }
                if now >= until =>
            {
                self.outputs.push_back(Output::Abort);
                let text = "the server did not answer in time".to_owned();
                self.failed(now, &Failure::Broken(text));
            }
            Link::Open { .. } => self.watch(now),
            _ => {}
        }
    }

    /// CONNECT-5.
    fn watch(&mut self, now: Moment) {
        match self.liveness.due(now) {
            Due::Nothing => {}
            Due::Ping(ping) => {
                self.outputs.push_back(Output::Ping);
                self.outbox.push(Frame::plain(ToServer::Ping(ping)));
            }
            Due::Dead => {
                let text = "nothing was heard of the server for too long".to_owned();
                return self.leave(now, CloseCode::IdleTimeout, text);
            }
        }
        if self.outbox.is_stuck(now) {
            self.leave(now, CloseCode::SlowConsumer, "the server does not read".to_owned());
        }
    }

    fn stop(&mut self, now: Moment, reason: String) {
        if self.stopping || self.link == Link::Stopped {
            return;
        }
        self.stopping = true;
        match self.link {
            Link::Off | Link::Waiting { .. } | Link::Removed | Link::Stopped => self.end(),
            Link::Connecting { .. } | Link::Greeting { .. } => {
                self.outputs.push_back(Output::Abort);
                self.settle(now);
                self.end();
            }
            Link::Open { .. } => {
                let goodbye = Goodbye { reason, reconnect_after_ms: None };
                self.say_at_last(&Frame::plain(ToServer::Goodbye(goodbye)));
                self.leave(now, CloseCode::Normal, "the agent was stopped".to_owned());
            }
            Link::Closing { .. } => {}
        }
    }

    fn end(&mut self) {
        self.link = Link::Stopped;
        let reason = "the agent was stopped".to_owned();
        let away = Away::Stopped;
        self.outputs.push_back(Output::Event(Event::Offline { reason, away, retry_in: None }));
        self.outputs.push_back(Output::Stopped);
    }
}

/// What may be said before the server answered the hello.
fn is_early(body: &ToServer) -> bool {
    matches!(body, ToServer::Ping(_) | ToServer::Pong(_))
}
