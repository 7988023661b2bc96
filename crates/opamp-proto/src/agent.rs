//! The agent's side of OpAMP as a machine that never waits. It opens no socket, reads no clock and knows no
//! file: whoever drives it carries bytes, time and storage (`opamp-client` does).
//!
//! Contract: call [`AgentSession::handle`] for everything that happens, then carry out what
//! [`AgentSession::poll_output`] gives **in that order**, and come back with [`Input::Timer`] no later than
//! [`AgentSession::poll_timeout`].
//!
//! Where next: [`input`](Input) and [`output`](Output) are the two vocabularies; `link.rs` is the connection's
//! life, `inbox.rs` reads what the server sends, `compose.rs` writes what we send, `parts.rs` holds the status.

mod backoff;
mod compose;
mod config;
mod inbox;
mod input;
mod link;
mod output;
mod parts;
mod saved;
mod settings;

use std::collections::VecDeque;

use bytes::Bytes;

pub use config::ConfigOutcome;
pub use input::{Failure, Input};
pub use output::{Event, Output, Restarting};
pub use parts::{Status, components_hash};
pub use saved::{Saved, SavedConfig};
pub use settings::{InvalidSettings, Settings, Timing, Transport};

use crate::capabilities::{AgentCapabilities, ServerCapabilities};
use crate::moment::Moment;
use crate::raw::PartSet;
use crate::uid::InstanceUid;
use backoff::Backoff;
use compose::Composed;
use config::RemoteConfig;
use link::Link;
use parts::Parts;

/// One agent's session with one server: from the start of the process to its end, over any number of
/// connections or requests.
#[derive(Debug)]
pub struct AgentSession {
    transport: Transport,
    timing: Timing,
    identity: Identity,
    capabilities: Reported<AgentCapabilities>,
    /// What the server said last; unspecified until its first answer.
    server: ServerCapabilities,
    parts: Parts,
    config: RemoteConfig,
    wanted: Wanted,
    /// The number of the next message. It belongs to the process and is never reset (Ambiguity 2).
    sequence: u64,
    /// What the server offered as heartbeat interval, in seconds; `None` until it offers one.
    offered_heartbeat: Option<u64>,
    link: Link,
    backoff: Backoff,
    /// WebSocket: a message is on its way to the socket, so newer state waits and stays the latest.
    writing: bool,
    /// WebSocket: parts that went out after the server was last heard; a broken connection may have lost them.
    unconfirmed: PartSet,
    /// Plain HTTP: the request without an answer, kept to be sent again byte for byte (RETX-1).
    unanswered: Option<Composed>,
    last_sent: Moment,
    stopping: Option<Moment>,
    /// Nothing about this agent is in storage yet.
    unsaved: bool,
    online: bool,
    outputs: VecDeque<Output>,
}

/// Who we are.
#[derive(Debug)]
struct Identity {
    uid: InstanceUid,
    /// The value before the server replaced it: answers to it may still be under way.
    previous: Option<InstanceUid>,
    /// UID-10: the flag is set until the server has answered with a value of its own.
    request: bool,
}

/// A value and whether the server has its present state.
#[derive(Debug)]
struct Reported<T> {
    value: T,
    changed: bool,
}

/// What has to go out even though nothing changed.
#[derive(Debug, Default)]
struct Wanted {
    full: bool,
    components: bool,
    /// With the next message, which this alone does not hurry.
    config_status: bool,
}

impl AgentSession {
    /// A session that has not started: nothing happens before [`Input::Start`].
    ///
    /// `seed` decides the jitter of the pauses between attempts.
    pub fn new(settings: Settings, seed: u64) -> Result<Self, InvalidSettings> {
        settings.timing.check()?;
        let Settings { transport, timing, instance_uid, request_instance_uid, capabilities, status, saved } =
            settings;
        let unsaved = saved.is_none() && !request_instance_uid;
        let request = saved.is_none() && request_instance_uid;
        let uid = saved.as_ref().map_or(instance_uid, |saved| saved.instance_uid);
        let (config, status_part) = RemoteConfig::resume(saved.and_then(|saved| saved.remote_config));
        let mut parts = Parts::new(status);
        if let Some(status) = status_part {
            parts.set_remote_config_status(&status);
        }
        Ok(Self {
            transport,
            backoff: Backoff::new(timing.backoff_first, timing.backoff_max, seed),
            timing,
            identity: Identity { uid, previous: None, request },
            capabilities: Reported { value: reportable(capabilities), changed: false },
            server: ServerCapabilities::default(),
            parts,
            config,
            wanted: Wanted { full: true, ..Wanted::default() },
            sequence: 0,
            offered_heartbeat: None,
            link: Link::Off,
            writing: false,
            unconfirmed: PartSet::EMPTY,
            unanswered: None,
            last_sent: Moment::default(),
            stopping: None,
            unsaved,
            online: false,
            outputs: VecDeque::new(),
        })
    }

    /// Takes one thing that happened.
    pub fn handle(&mut self, now: Moment, input: Input) {
        match input {
            Input::Start => self.start(now),
            Input::Connected => self.connected(now),
            Input::Sent => self.writing = false,
            Input::Received(payload) => self.received(now, &payload),
            Input::Failed(failure) => self.failed(now, &failure),
            Input::Timer => self.timer(now),
            Input::SetCapabilities(capabilities) => self.set_capabilities(capabilities),
            Input::SetStatus(status) => self.parts.set(status),
            Input::ConfigApplied { hash, outcome } => self.config_applied(&hash, outcome),
            Input::Reconnect => self.reconnect(now),
            Input::Stop => self.stop(now),
        }
        self.flush(now);
    }

    /// The next thing to do. Carry outputs out in the order in which they come: "persist before send" is
    /// exactly that order.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When [`Input::Timer`] is due next. `None`: nothing happens by time alone.
    pub fn poll_timeout(&self) -> Option<Moment> {
        let link = match self.link {
            Link::Off | Link::Stopped => None,
            Link::Waiting { until } | Link::Connecting { until } | Link::Awaiting { until } => Some(until),
            Link::Closing { until, .. } => Some(until),
            Link::Open { .. } => self.next_beat(),
        };
        match (link, self.stopping) {
            (Some(link), Some(stop)) if !matches!(self.link, Link::Stopped) => Some(link.min(stop)),
            (link, _) => link,
        }
    }

    /// The present instance_uid.
    pub fn instance_uid(&self) -> InstanceUid {
        self.identity.uid
    }

    /// What the server said it can do; unspecified until its first answer.
    pub fn server_capabilities(&self) -> ServerCapabilities {
        self.server
    }

    /// Whether the server has answered on the present connection (WebSocket) or to the last request (HTTP).
    pub fn is_online(&self) -> bool {
        self.online
    }

    /// What has to be in storage for the next start of the process.
    pub fn saved(&self) -> Saved {
        Saved { instance_uid: self.identity.uid, remote_config: self.config.saved() }
    }

    /// The sub-message that the server has or is about to get, encoded. For tests and status pages.
    pub fn part(&self, part: crate::Part) -> Option<&Bytes> {
        self.parts.current(part)
    }

    fn set_capabilities(&mut self, capabilities: AgentCapabilities) {
        let capabilities = reportable(capabilities);
        if capabilities != self.capabilities.value {
            self.capabilities = Reported { value: capabilities, changed: true };
        }
    }

    fn event(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }

    fn persist(&mut self) {
        let saved = self.saved();
        self.outputs.push_back(Output::Persist(saved));
    }
}

/// CAP-1, CAP-7: no unknown bits, and ReportsStatus always.
fn reportable(capabilities: AgentCapabilities) -> AgentCapabilities {
    let status = crate::wire::AgentCapabilities::ReportsStatus;
    capabilities.known().collect::<AgentCapabilities>().with(status)
}
