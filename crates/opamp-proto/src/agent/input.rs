//! What can happen to an agent session, and the ways in which an attempt fails.

use std::time::Duration;

use bytes::Bytes;

use super::{ConfigOutcome, Status};
use crate::capabilities::AgentCapabilities;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The agent wants to be connected from now on.
    Start,
    /// WebSocket: the handshake of [`super::Output::Connect`] is done.
    Connected,
    /// WebSocket: the message of the last [`super::Output::Send`] has been handed to the operating system.
    Sent,
    /// WebSocket: the payload of one binary message. HTTP: the body of a response with status 200.
    Received(Bytes),
    /// The connection, the attempt to make one, or the request in flight is over without an answer.
    Failed(Failure),
    /// The moment of [`super::AgentSession::poll_timeout`] has come. Early or extra ones do no harm.
    Timer,
    /// The agent can do something else than before (CAP-4). Bits that this version does not know are dropped.
    SetCapabilities(AgentCapabilities),
    /// A part of the agent's status, as it is now. The same value as before changes nothing (STAT-12).
    SetStatus(Status),
    /// What became of the configuration of [`super::Output::ApplyConfig`] with this hash.
    ConfigApplied {
        /// The hash that came with the configuration.
        hash: Bytes,
        /// How it went.
        outcome: ConfigOutcome,
    },
    /// Leave the server and come back at once, for example because the way to it changed (DUP-2).
    Reconnect,
    /// Leave for good: tell the server, close, and end with [`super::Output::Stopped`] within
    /// [`super::Timing::stop`].
    Stop,
}

/// Why there was no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// No connection came about, or it broke: name, route, TLS, reset, silence.
    Broken(String),
    /// The server closed the WebSocket in good order.
    Closed {
        /// The close code, if there was one.
        code: Option<u16>,
        /// The server's words, cut to a line.
        reason: String,
    },
    /// An HTTP status other than success, to a request or to the WebSocket handshake.
    Status {
        /// The status code.
        code: u16,
        /// `Retry-After`, as time from now; a date in the past is zero.
        retry_after: Option<Duration>,
        /// What to tell the user.
        text: String,
    },
    /// The server does not speak the protocol: a text frame, a message over the limit, a wrong content type.
    Protocol(String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Broken(text) | Self::Protocol(text) => f.write_str(text),
            Self::Closed { code: Some(code), reason } if reason.is_empty() => {
                write!(f, "the server closed the connection with code {code}")
            }
            Self::Closed { code: Some(code), reason } => {
                write!(f, "the server closed the connection with code {code}: {reason}")
            }
            Self::Closed { code: None, .. } => f.write_str("the server closed the connection"),
            Self::Status { text, .. } => f.write_str(text),
        }
    }
}
