//! The life of the way to the server: connecting, waiting for the first answer, open, closing, pausing.
//!
//! ```text
//!                 ┌────────── pause over ──────────┐
//! Off ─ start ─▶ Connecting ─▶ Awaiting ─▶ Open    Waiting ◀─ failure ─ any of the three
//!                (WebSocket)      ▲          │
//!                                 └── HTTP: each request
//! Open, Awaiting ─ stop, reconnect, UNAVAILABLE ─▶ Closing ─▶ Stopped or Waiting
//! ```
//!
//! HTTP has no connection of its own: it starts at `Awaiting` and is there whenever a request is in flight,
//! which is how HTTP-12 holds.

use std::time::Duration;

use super::compose::Farewell;
use super::{AgentSession, Event, Failure, Output, Restarting, Transport};
use crate::capabilities::AgentCapabilities;
use crate::moment::Moment;
use crate::raw::PartSet;
use crate::wire::AgentCapabilities as Bit;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    Off,
    /// Pausing before the next attempt.
    Waiting {
        until: Moment,
    },
    /// WebSocket: the handshake is under way.
    Connecting {
        until: Moment,
    },
    /// A message is unanswered and nothing else may be sent (ESTAB-4, HTTP-12).
    Awaiting {
        until: Moment,
    },
    Open {
        since: Moment,
    },
    /// `agent_disconnect` is out; the end of the connection (HTTP: of the request) is awaited.
    Closing {
        until: Moment,
        then: Then,
    },
    Stopped,
}

/// What follows a closed connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    Stop,
    Pause(Duration),
}

/// How the server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Accepted,
    /// Not to be sent again.
    Refused,
    Unavailable {
        retry_after: Option<Duration>,
        text: String,
    },
}

/// Longest stated pause that is obeyed: a server that says "in ten years" means something else.
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);

impl Link {
    pub(super) fn listens(self) -> bool {
        matches!(self, Self::Awaiting { .. } | Self::Open { .. })
    }
}

impl AgentSession {
    pub(super) fn start(&mut self, now: Moment) {
        if self.link != Link::Off {
            return;
        }
        if self.unsaved {
            self.unsaved = false;
            self.persist();
        }
        self.attempt(now);
    }

    /// One more try: a connection, or the request that has no answer yet, or a new one.
    fn attempt(&mut self, now: Moment) {
        match self.transport {
            Transport::WebSocket => {
                self.outputs.push_back(Output::Connect);
                self.link = Link::Connecting { until: now + self.timing.connect };
            }
            Transport::Http => self.request(now),
        }
    }

    pub(super) fn connected(&mut self, now: Moment) {
        if !matches!(self.link, Link::Connecting { .. }) {
            return;
        }
        // STAT-2: a report goes first. On a reconnect it says only what changed (STAT-5); a server that has
        // lost the rest sees the gap in the numbers or an agent it does not know, and asks (Ambiguity 3).
        let message = self.compose(now, Farewell::No);
        self.outputs.push_back(message.send());
        self.writing = true;
        self.link = Link::Awaiting { until: now + self.timing.answer };
    }

    /// HTTP: the unanswered request again, byte for byte, or a new one.
    fn request(&mut self, now: Moment) {
        let message = match self.unanswered.take() {
            Some(message) => message,
            None => self.compose(now, Farewell::No),
        };
        self.outputs.push_back(message.send());
        self.unanswered = Some(message);
        self.link = Link::Awaiting { until: now + self.timing.answer };
    }

    /// Sends what is new, if the way is free.
    pub(super) fn flush(&mut self, now: Moment) {
        let open = matches!(self.link, Link::Open { .. });
        if open && self.stopping.is_none() && !self.writing && self.has_news() {
            self.report(now);
        }
    }

    fn report(&mut self, now: Moment) {
        match self.transport {
            Transport::Http => self.request(now),
            Transport::WebSocket => {
                let message = self.compose(now, Farewell::No);
                self.outputs.push_back(message.send());
                self.writing = true;
            }
        }
    }

    /// When the next poll or heartbeat is due, counted from the last message of any kind (HB-12).
    pub(super) fn next_beat(&self) -> Option<Moment> {
        // While a message is stuck on its way to the socket there is no point in one more.
        if self.writing || self.stopping.is_some() {
            return None;
        }
        let has_heartbeat = |capabilities: AgentCapabilities| capabilities.has(Bit::ReportsHeartbeat);
        let offered = self.offered_heartbeat.filter(|_| has_heartbeat(self.capabilities.value));
        let interval = match (self.transport, offered) {
            // HTTP-6: polling is never off.
            (Transport::Http, None | Some(0)) => self.timing.poll,
            (Transport::WebSocket, Some(0)) => return None,
            (_, Some(seconds)) => Duration::from_secs(seconds),
            (Transport::WebSocket, None) if has_heartbeat(self.capabilities.value) => self.timing.heartbeat,
            (Transport::WebSocket, None) => return None,
        };
        Some(self.last_sent + interval)
    }

    /// The server has answered, one way or another.
    pub(super) fn answered(&mut self, now: Moment, answer: &Answer) {
        if let Answer::Unavailable { retry_after, text } = answer {
            let pause = self.throttle(*retry_after);
            let reason = format!("the server is unavailable: {text}");
            return self.retreat(now, pause, reason);
        }
        self.unanswered = None;
        self.unconfirmed = PartSet::EMPTY;
        if matches!(self.link, Link::Awaiting { .. }) {
            self.link = Link::Open { since: now };
        }
        if self.transport == Transport::Http {
            self.backoff.reset();
        }
        if !self.online {
            self.online = true;
            self.event(Event::Connected { server: self.server });
        }
        if self.stopping.is_some() {
            self.leave(now, Then::Stop);
        }
    }

    /// THROTTLE-2: leave, pause, come back.
    fn retreat(&mut self, now: Moment, pause: Duration, reason: String) {
        self.online = false;
        if self.stopping.is_some() {
            return self.end();
        }
        self.event(Event::Disconnected { reason, next: Restarting::In(pause) });
        match self.transport {
            Transport::WebSocket => self.leave(now, Then::Pause(pause)),
            Transport::Http => self.link = Link::Waiting { until: now + pause },
        }
    }

    /// CLOSE-2, CLOSE-3, DUP-2: `agent_disconnect`, with whatever is new, then the Close frame.
    fn leave(&mut self, now: Moment, then: Then) {
        let message = self.compose(now, Farewell::Yes);
        self.outputs.push_back(message.send());
        if self.transport == Transport::WebSocket {
            self.outputs.push_back(Output::Close);
        }
        self.link = Link::Closing { until: now + self.timing.close, then };
    }

    /// The way to the server is gone, or an attempt failed.
    pub(super) fn failed(&mut self, now: Moment, failure: &Failure) {
        match self.link {
            Link::Off | Link::Waiting { .. } | Link::Stopped => {}
            Link::Closing { then, .. } => self.closed(now, then),
            Link::Awaiting { .. } if self.is_final(failure) => self.dropped(now, failure),
            Link::Connecting { .. } | Link::Awaiting { .. } | Link::Open { .. } => {
                let pause = self.pause_after(now, failure);
                self.lost();
                self.online = false;
                if self.stopping.is_some() {
                    return self.end();
                }
                self.event(Event::Disconnected { reason: failure.to_string(), next: Restarting::In(pause) });
                self.pause(now, pause);
            }
        }
    }

    /// Whether an HTTP status speaks about this very message, so that sending it again is senseless (`C33`).
    fn is_final(&self, failure: &Failure) -> bool {
        let final_status =
            matches!(failure, Failure::Status { code: 400 | 411 | 413 | 414 | 415 | 422 | 431, .. });
        self.transport == Transport::Http && final_status
    }

    fn dropped(&mut self, now: Moment, failure: &Failure) {
        self.unanswered = None;
        self.event(Event::MessageRefused { reason: failure.to_string() });
        self.link = Link::Open { since: now };
        if self.stopping.is_some() {
            self.end();
        }
    }

    fn pause_after(&mut self, now: Moment, failure: &Failure) -> Duration {
        match failure {
            Failure::Status { code: 429 | 503, retry_after, .. } => self.throttle(*retry_after),
            // 401 and its kin are repaired by people, not by haste (Ambiguity 43).
            Failure::Status { code: 400..500, retry_after, .. } => {
                self.throttle(None).max(retry_after.unwrap_or_default().min(LONGEST_PAUSE))
            }
            Failure::Status { retry_after: Some(time), .. } => self.throttle(Some(*time)),
            // 1008 is how a revoked agent is turned away, 1013 how an overloaded server says "later".
            Failure::Closed { code: Some(1008 | 1013), .. } => self.throttle(None),
            Failure::Broken(_) | Failure::Closed { .. } if self.may_return_at_once(now) => Duration::ZERO,
            Failure::Broken(_) | Failure::Closed { .. } | Failure::Protocol(_) | Failure::Status { .. } => {
                self.backoff.next()
            }
        }
    }

    /// ESTAB-7 for an established WebSocket; one that keeps breaking at once is no longer trusted (ESTAB-8).
    fn may_return_at_once(&mut self, now: Moment) -> bool {
        let Link::Open { since } = self.link else { return false };
        if self.transport == Transport::Http {
            return false;
        }
        if now.since(since) >= self.timing.settled {
            self.backoff.reset();
        }
        self.backoff.take_instant()
    }

    /// Ambiguity 44: a stated time, or the backoff if that is longer; without one at least 30 s.
    fn throttle(&mut self, stated: Option<Duration>) -> Duration {
        let backoff = self.backoff.next();
        match stated {
            Some(stated) => stated.min(LONGEST_PAUSE).max(backoff),
            None => self.timing.throttle_min + backoff,
        }
    }

    fn pause(&mut self, now: Moment, pause: Duration) {
        if pause.is_zero() {
            self.attempt(now);
        } else {
            self.link = Link::Waiting { until: now + pause };
        }
    }

    /// A broken WebSocket may have swallowed what was not followed by a word of the server.
    fn lost(&mut self) {
        self.writing = false;
        if self.transport == Transport::WebSocket {
            self.parts.forget(std::mem::take(&mut self.unconfirmed));
        }
    }

    fn closed(&mut self, now: Moment, then: Then) {
        self.lost();
        match then {
            Then::Stop => self.end(),
            Then::Pause(pause) => self.pause(now, pause),
        }
    }

    /// HTTP: the answer to `agent_disconnect` is here, or nobody waits for it any longer.
    pub(super) fn farewell_answered(&mut self, now: Moment) {
        if let (Transport::Http, Link::Closing { then, .. }) = (self.transport, self.link) {
            self.closed(now, then);
        }
    }

    pub(super) fn timer(&mut self, now: Moment) {
        if self.stopping.is_some_and(|stop| now >= stop) && self.link != Link::Stopped {
            self.outputs.push_back(Output::Abort);
            return self.end();
        }
        match self.link {
            Link::Waiting { until } if now >= until => self.attempt(now),
            Link::Connecting { until } if now >= until => {
                self.outputs.push_back(Output::Abort);
                self.failed(now, &too_long("no connection came about", self.timing.connect));
            }
            Link::Awaiting { until } if now >= until => self.unanswered_too_long(now),
            Link::Open { .. } if self.next_beat().is_some_and(|beat| now >= beat) => self.report(now),
            Link::Closing { until, then } if now >= until => {
                self.outputs.push_back(Output::Abort);
                self.closed(now, then);
            }
            _ => {}
        }
    }

    fn unanswered_too_long(&mut self, now: Moment) {
        let failure = too_long("the server did not answer", self.timing.answer);
        match self.transport {
            Transport::Http => {
                self.outputs.push_back(Output::Abort);
                self.failed(now, &failure);
            }
            Transport::WebSocket => {
                let pause = self.backoff.next();
                self.retreat(now, pause, failure.to_string());
            }
        }
    }

    pub(super) fn reconnect(&mut self, now: Moment) {
        self.backoff.reset();
        match (self.link, self.transport) {
            (Link::Waiting { .. }, _) => self.attempt(now),
            (Link::Connecting { .. }, _) | (Link::Awaiting { .. }, Transport::Http) => {
                self.outputs.push_back(Output::Abort);
                self.attempt(now);
            }
            (Link::Awaiting { .. } | Link::Open { .. }, Transport::WebSocket) => {
                let reason = "the agent reconnects".to_owned();
                self.retreat(now, Duration::ZERO, reason);
            }
            // The next request takes the new way by itself.
            (Link::Open { .. }, Transport::Http) => {}
            (Link::Off | Link::Closing { .. } | Link::Stopped, _) => {}
        }
    }

    pub(super) fn stop(&mut self, now: Moment) {
        if self.stopping.is_some() || self.link == Link::Stopped {
            return;
        }
        self.stopping = Some(now + self.timing.stop);
        match (self.link, self.transport) {
            (Link::Off | Link::Waiting { .. }, _) => self.end(),
            (Link::Connecting { .. }, _) => {
                self.outputs.push_back(Output::Abort);
                self.end();
            }
            // HTTP-12: the request in flight comes first; its answer or the deadline leads on.
            (Link::Awaiting { .. }, Transport::Http) => {}
            (Link::Awaiting { .. } | Link::Open { .. }, _) => self.leave(now, Then::Stop),
            (Link::Closing { until, .. }, _) => self.link = Link::Closing { until, then: Then::Stop },
            (Link::Stopped, _) => {}
        }
    }

    fn end(&mut self) {
        let reason = "the agent was stopped".to_owned();
        self.event(Event::Disconnected { reason, next: Restarting::Never });
        self.online = false;
        self.link = Link::Stopped;
        self.outputs.push_back(Output::Stopped);
    }
}

fn too_long(what: &str, limit: Duration) -> Failure {
    Failure::Broken(format!("{what} within {limit:?}"))
}
