//! What an agent session asks its driver to do, and what it tells the agent.

use std::time::Duration;

use crate::desired::DesiredState;
use crate::frame::Frame;
use crate::message::{CloseCode, ErrorMessage, HelloAck, Ping, ToAgent};
use crate::secret::Secret;

/// One thing to do, in this order.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Open a connection, showing this token. There is none now. Ends with [`super::Input::Connected`] or
    /// [`super::Input::Failed`].
    Connect(WhichToken),
    /// Gather what a hello says within three seconds, whatever the engine does, and say [`super::Input::Hello`].
    Hello,
    /// Send one text frame, then say [`super::Input::Sent`].
    Send(String),
    /// Send a WebSocket ping.
    Ping,
    /// Send what was given before and close the WebSocket; say [`super::Input::Failed`] when it is over.
    Close {
        /// The close code.
        code: CloseCode,
        /// The reason.
        reason: String,
    },
    /// Drop the connection, or the attempt, at once. Nothing more may be reported about it.
    Abort,
    /// Store this secret durably before going on to the next output (R12). A failure is logged and changes nothing: the
    /// server takes the one before as well.
    PersistSecret(Secret),
    /// Store this token durably, the one that this connection was opened with beside it, then say [`super::Input::TokenPersisted`] (TOKEN-3).
    PersistToken(Secret),
    /// Store this state durably, then make the host so. From now on, until [`Event::Offline`], containers may be stopped
    /// (STATE-5).
    Apply {
        /// What the host should run.
        state: Box<DesiredState>,
        /// Remove nothing (STATE-7, R32), whatever the state says itself.
        adopt: bool,
    },
    /// Have this answered by the task that reconciles, as [`super::Input::Alive`] with `seq` and `t_us` of the ping.
    Probe(Ping),
    /// A request for the agent; one with an id wants an answer with it as `re`.
    Request(Box<Frame<ToAgent>>),
    /// Something that the agent may want to know.
    Event(Event),
    /// The session is over; nothing more comes out.
    Stopped,
}

/// Which token is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhichToken {
    /// The newest.
    Current,
    /// The one before: a rotation may have been lost (TOKEN-3).
    Previous,
}

/// Something that the agent may want to know.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The server let us in.
    Online(Box<HelloAck>),
    /// There is no connection, and containers may not be stopped (STATE-5).
    Offline {
        /// Why, for people.
        reason: String,
        /// How grave it is.
        away: Away,
        /// When the next attempt begins; `None`: never.
        retry_in: Option<Duration>,
    },
    /// The server says that something went wrong.
    Error(ErrorMessage),
    /// A state was not taken, since its generation is not above what was applied (STATE-6).
    StaleState {
        /// Its generation.
        generation: u64,
        /// What was applied.
        applied: u64,
    },
    /// The operator removed this host (R7). Containers stay; no attempt follows.
    Removed {
        /// Why, in the server's words.
        reason: String,
    },
}

/// How grave it is that there is no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Away {
    /// A network or server that is not there: it will be.
    Unreachable,
    /// Another machine is this host (R15): an operator has to look.
    Duplicate,
    /// The token is not known (CONNECT-8): an operator has to look.
    Unauthorized,
    /// No common version.
    Unsupported,
    /// The operator removed this host.
    Removed,
    /// The agent was stopped.
    Stopped,
}
