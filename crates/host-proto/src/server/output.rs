//! What a server session asks its driver to do, and what it tells the application.

use crate::frame::Frame;
use crate::message::{CloseCode, Hello, ToServer};

/// One thing to do, in this order.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Send one text frame, then say [`super::Input::Sent`].
    Send(String),
    /// Send a WebSocket ping.
    Ping,
    /// Send what was given before, close the WebSocket and drop the session. Nothing comes after it.
    Close {
        /// The close code.
        code: CloseCode,
        /// The reason, at most 123 bytes.
        reason: String,
    },
    /// A host says hello. Decide ([`super::Admission`]), then say [`super::Input::Admit`] or [`super::Input::Refuse`].
    Hello(Box<Hello>),
    /// The host applied a state that the store never numbered: the store was rolled back, or the host lies. Make a new epoch
    /// for this host alone, durably: each other that is ahead will say so itself. The [`Plan`] that follows must be
    /// answered with a state of it (R26).
    StoreIsBehind {
        /// What the host applied.
        applied: u64,
    },
    /// Compute what the host should run, number it above `above`, make the number durable and say
    /// [`super::Input::Desired`]; or [`super::Input::NoState`].
    Plan(Plan),
    /// A message for the application. It is a good one; what it says may be nonsense all the same.
    Message(Box<Frame<ToServer>>),
    /// The host's token is old (TOKEN-1): make a new one, store its hash beside the old one as one that works, and say
    /// [`super::Input::Rotate`].
    RotateToken,
    /// The new token is on the host's disk: from now on the old one works for ten more minutes (TOKEN-2, R88).
    TokenRotated,
    /// It is not, or nobody knows: both work on. It is tried again later.
    TokenNotRotated {
        /// Why, in the host's words.
        error: String,
    },
    /// Whether the host's work stands still although its socket answers (R18). Said when it changes.
    Degraded(bool),
    /// The answer to [`super::Input::Probe`], within five seconds.
    Probed {
        /// Whether anything was heard.
        alive: bool,
    },
    /// The host left on purpose.
    Left {
        /// Why, in the host's words.
        reason: String,
    },
    /// A state could not be sent: its number is not above what the host has, or it is longer than a message may be.
    /// A fault of the caller; nothing was sent.
    NotSent {
        /// What is wrong.
        reason: String,
    },
}

/// What the next state has to be like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The generation must be higher than this, unless the epoch is another one.
    pub above: u64,
    /// It is the first of this connection: it is sent even when nothing changed (R26).
    pub first: bool,
}
