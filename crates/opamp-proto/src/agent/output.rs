//! What an agent session asks its driver to do, and what it tells the application.

use std::time::Duration;

use bytes::Bytes;

use super::Saved;
use crate::capabilities::ServerCapabilities;
use crate::uid::InstanceUid;
use crate::wire::AgentConfigMap;

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Store this durably before going on to the next output.
    Persist(Saved),
    /// WebSocket: open a connection. There is none now (DUP-1). Ends with `Connected` or `Failed`.
    Connect,
    /// WebSocket: send one binary message with this payload, then say `Sent`.
    /// HTTP: POST this body, then say `Received` or `Failed`.
    Send {
        /// The instance_uid inside the payload: HTTP's `OpAMP-Instance-UID` header (HTTP-22).
        instance_uid: InstanceUid,
        /// The payload, with the frame header on a WebSocket and without it on HTTP.
        payload: Bytes,
    },
    /// WebSocket: send a Close frame with code 1000 after everything sent so far (CLOSE-3) and say `Failed`
    /// with `Closed` when the closing procedure is over.
    Close,
    /// Drop the connection, the attempt or the request at once. Nothing more may be reported about it.
    Abort,
    /// Apply this configuration, then say `ConfigApplied` with the same hash. A later one supersedes it.
    ApplyConfig {
        /// The server's `config_hash`.
        hash: Bytes,
        /// The files.
        config: AgentConfigMap,
    },
    /// Tell the application.
    Event(Event),
    /// The session is over; nothing more comes out.
    Stopped,
}

/// One thing that the application may want to know.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The server answered for the first time on this connection, or again after failed requests.
    Connected {
        /// What it can do; unspecified when it did not say.
        server: ServerCapabilities,
    },
    /// The server can no longer be reached, or an attempt to reach it failed.
    Disconnected {
        /// Why, for the user.
        reason: String,
        /// What happens next.
        next: Restarting,
    },
    /// The server asked for everything, and got it (FLAG-2).
    FullStateRequested,
    /// The server gave us another identity; it is in storage already (UID-15).
    InstanceUidChanged {
        /// The value before.
        old: InstanceUid,
        /// The value from now on.
        new: InstanceUid,
    },
    /// The agent is asked to restart (CMD-3). Only with the capability AcceptsRestartCommand.
    RestartRequested,
    /// The server refused a message; it will not be sent again (BAD-4, ERR-3).
    MessageRefused {
        /// The server's words, cut to a line.
        reason: String,
    },
    /// Something came in that cannot be used and was left out.
    Ignored {
        /// What and why.
        reason: String,
    },
}

/// What follows a lost connection or a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restarting {
    /// The next attempt starts after this pause.
    In(Duration),
    /// None: the session was stopped.
    Never,
}
