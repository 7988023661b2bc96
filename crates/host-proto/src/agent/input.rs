//! What can happen to an agent session, and the ways in which a connection ends.

use std::fmt;
use std::time::Duration;

use crate::frame::Frame;
use crate::message::{CloseCode, Hello, Pong, ToServer};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// The agent wants to be connected from now on.
    Start,
    /// The upgrade that [`super::Output::Connect`] asked for is done.
    Connected,
    /// The answer to [`super::Output::Hello`]. Epoch, generation, protocol and secret are filled in by the session.
    Hello(Box<Hello>),
    /// A text frame.
    Text(String),
    /// Any other frame: it shows that the path is there (R18).
    Heard,
    /// The text of the last [`super::Output::Send`] was handed to the operating system.
    Sent,
    /// The moment of [`super::Session::poll_timeout`] has come. Early or extra ones do no harm.
    Timer,
    /// The answer to [`super::Output::Probe`], given by the task that reconciles (R18).
    Alive(Pong),
    /// The answer to [`super::Output::PersistToken`]: whether the new token is on the disk, or why not (R88).
    TokenPersisted(Result<(), String>),
    /// Send this when there is a connection; without one it is dropped, since the next hello says it all.
    Send(Box<Frame<ToServer>>),
    /// The connection, or the attempt to make one, is over.
    Failed(Failure),
    /// Leave: say goodbye, close, end with [`super::Output::Stopped`].
    Stop {
        /// Why, for people.
        reason: String,
    },
}

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// None came about, or it broke: name, route, TLS, reset.
    Broken(String),
    /// The server closed it in good order.
    Closed {
        /// The close code, if there was one.
        code: Option<u16>,
        /// The server's words, cut to a line.
        reason: String,
    },
    /// The server answered the upgrade with another status than 101.
    Status {
        /// The status.
        code: u16,
        /// `Retry-After`, as time from now.
        retry_after: Option<Duration>,
        /// What to tell the operator.
        text: String,
    },
    /// The server sent what is no message at all: a frame over the limit, a binary frame where none belongs.
    Protocol(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(text) | Self::Protocol(text) => f.write_str(text),
            Self::Closed { code: Some(code), .. } if CloseCode::of(*code).is_some() => {
                let reason = CloseCode::of(*code).map(CloseCode::reason).unwrap_or_default();
                write!(f, "the server closed the connection ({code}): {reason}")
            }
            Self::Closed { code: Some(code), reason } => {
                write!(f, "the server closed the connection ({code}): {reason}")
            }
            Self::Closed { code: None, .. } => f.write_str("the server closed the connection"),
            Self::Status { code, text, .. } => write!(f, "the server answered {code}: {text}"),
        }
    }
}
