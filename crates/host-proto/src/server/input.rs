//! What can happen to a server session.

use std::time::Duration;

use crate::desired::DesiredState;
use crate::frame::Frame;
use crate::generation::Mark;
use crate::id::SessionId;
use crate::message::{CloseCode, ErrorMessage, ToAgent};
use crate::secret::Secret;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A text frame.
    Text(String),
    /// Any other frame: it shows that the path is there (R18).
    Heard,
    /// The text of the last [`super::Output::Send`] was handed to the operating system.
    Sent,
    /// The moment of [`super::Session::poll_timeout`] has come. Early or extra ones do no harm.
    Timer,
    /// The answer to [`super::Output::Hello`]: it is our host.
    Admit(Welcome),
    /// The answer to [`super::Output::Hello`]: it is not. Also ends an open session, for whatever reason the caller has.
    Refuse {
        /// How the socket is closed.
        code: CloseCode,
        /// What is said before.
        error: ErrorMessage,
    },
    /// What the host should run may have changed. Carries nothing: a [`super::Output::Plan`] follows when it is time.
    Changed,
    /// The answer to [`super::Output::Plan`]. The number of the state must be durable already.
    Desired(Box<DesiredState>),
    /// The other answer to [`super::Output::Plan`]: it is what was sent last, or it could not be computed just now.
    NoState,
    /// The answer to [`super::Output::RotateToken`]: a new token, whose hash is stored beside the old one already.
    Rotate(Secret),
    /// Is the host still there? Another machine, or another boot of the same, asks to be let in (R14).
    Probe,
    /// Send this.
    Send(Box<Frame<ToAgent>>),
    /// The same machine has a newer connection (R14).
    Replaced,
    /// The operator removed the host (R7).
    Removed {
        /// Why, for people.
        reason: String,
    },
    /// The server goes away, or wants the host to come again.
    Goodbye {
        /// Why, for people.
        reason: String,
        /// When to come back (R17).
        reconnect_after: Duration,
    },
}

/// What an admitted host is told, and what is known about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Welcome {
    /// For logs of both sides.
    pub session_id: SessionId,
    /// What its next hello must show; its hash is stored already (R12).
    pub session_secret: Secret,
    /// The server's clock, RFC 3339.
    pub time_at: String,
    /// A text for the host's log.
    pub notice: Option<String>,
    /// Spread of the reconnects after a restart (R17).
    pub reconnect_spread: Duration,
    /// The epoch, and what was numbered last for this host in it.
    pub stored: Mark,
    /// How old its token is (TOKEN-1).
    pub token_age: Duration,
}
