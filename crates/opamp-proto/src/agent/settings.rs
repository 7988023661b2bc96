//! What an agent session is made from: transport, times, identity, capabilities and the first status.

use std::time::Duration;

use super::{Saved, Status};
use crate::capabilities::AgentCapabilities;
use crate::uid::InstanceUid;

/// Everything that a session has to know at its start.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How messages travel.
    pub transport: Transport,
    /// The session's times.
    pub timing: Timing,
    /// The identity of an agent that has nothing in storage (UID-4). [`Self::saved`] wins over it.
    pub instance_uid: InstanceUid,
    /// Ask the server for an identity; `instance_uid` is then only a temporary value (UID-9).
    pub request_instance_uid: bool,
    /// What the agent can do. ReportsStatus is added.
    pub capabilities: AgentCapabilities,
    /// The status at the start, so that the first report is a full one.
    pub status: Vec<Status>,
    /// What an earlier process of this agent had stored.
    pub saved: Option<Saved>,
}

/// How messages travel. The sequences are the same on both (HTTP-10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// One connection, both sides send when they like.
    WebSocket,
    /// One request at a time; the server speaks when it is asked.
    Http,
}

/// The session's times. Every field has the value of the specification or of our reading of it as default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// Heartbeat interval on a WebSocket until the server offers one: 30 s (HB-3).
    pub heartbeat: Duration,
    /// Polling interval on HTTP until the server offers a heartbeat interval: 30 s (HTTP-7).
    pub poll: Duration,
    /// How long a connection may take to come about: 30 s.
    pub connect: Duration,
    /// How long an HTTP request, or the first message on a WebSocket, may stay unanswered: 30 s (Ambiguity 30).
    pub answer: Duration,
    /// First pause after a failed attempt, before jitter: 1 s (Ambiguity 44).
    pub backoff_first: Duration,
    /// Longest pause after failed attempts, before jitter: 60 s.
    pub backoff_max: Duration,
    /// Shortest pause when the server is overloaded or refuses our credentials and names no time: 30 s (THROTTLE-10).
    pub throttle_min: Duration,
    /// A WebSocket that lived this long was a good one: when it breaks, the next attempt comes at once, every
    /// time. One that broke sooner gets one such attempt, then backoff: 10 s.
    pub settled: Duration,
    /// How long closing a WebSocket may take before it is dropped: 5 s.
    pub close: Duration,
    /// How long [`super::Input::Stop`] may take altogether: 10 s.
    pub stop: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(30),
            poll: Duration::from_secs(30),
            connect: Duration::from_secs(30),
            answer: Duration::from_secs(30),
            backoff_first: Duration::from_secs(1),
            backoff_max: Duration::from_secs(60),
            throttle_min: Duration::from_secs(30),
            settled: Duration::from_secs(10),
            close: Duration::from_secs(5),
            stop: Duration::from_secs(10),
        }
    }
}

/// Why a session cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSettings {
    /// A time of zero would spin.
    #[error("the time {0:?} must be longer than zero")]
    ZeroTime(&'static str),
    /// The pauses have to grow.
    #[error("the longest pause must not be shorter than the first one")]
    Backoff,
}

impl Timing {
    pub(super) fn check(&self) -> Result<(), InvalidSettings> {
        let Self {
            heartbeat,
            poll,
            connect,
            answer,
            backoff_first,
            backoff_max,
            throttle_min: _,
            settled: _,
            close,
            stop,
        } = self;
        let positive = [
            ("heartbeat", heartbeat),
            ("poll", poll),
            ("connect", connect),
            ("answer", answer),
            ("backoff_first", backoff_first),
            ("close", close),
            ("stop", stop),
        ];
        if let Some((name, _)) = positive.iter().find(|(_, time)| time.as_millis() == 0) {
            return Err(InvalidSettings::ZeroTime(name));
        }
        if backoff_max < backoff_first { Err(InvalidSettings::Backoff) } else { Ok(()) }
    }
}
