//! What an application implements: who may connect, and what to do with what agents report.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Method, header};
use opamp_proto::server::Received;
use opamp_proto::{Part, PartSet, RawAgentToServer, wire};

use crate::agent::{Agent, Disconnect, Peer};
use crate::server::Transport;

/// The application behind a server. Methods without `async` are called on the connection's task and must not
/// block; none is called while a session is locked.
pub trait Handler: Sized + Send + Sync + 'static {
    /// Who a connection is: the result of authentication, kept for as long as the connection.
    type Principal: Clone + PartialEq + Send + Sync + 'static;
    /// What the application keeps with each live agent.
    type Data: Default + Send + Sync + 'static;

    /// Lets a connection in or refuses it, before the upgrade to a WebSocket and before the body of a plain
    /// request is read (AUTH-2, AUTH-3, THROTTLE-5).
    fn authenticate(
        &self,
        request: &ConnectRequest<'_>,
    ) -> impl Future<Output = Result<Self::Principal, Refusal>> + Send;

    /// Lets in an instance_uid that has no live session. Its first answer waits for this.
    fn admit(
        &self,
        agent: &Arc<Agent<Self>>,
        first: &StatusReport<'_>,
    ) -> impl Future<Output = Result<(), Rejection>> + Send;

    /// The agent's state changed. Also called for the first report, after [`Self::admit`].
    fn reported(&self, agent: &Arc<Agent<Self>>, report: &StatusReport<'_>);

    /// The agent's session ended.
    fn disconnected(&self, agent: &Arc<Agent<Self>>, why: Disconnect);

    /// A message passed between an agent and this server, encoded, without the framing of its transport: for
    /// looking on. Called for every message of an agent that has a session, so an implementation that is not
    /// looked at must return at once.
    fn passed(&self, agent: &Arc<Agent<Self>>, direction: Direction, message: &[u8]) {
        let _ = (agent, direction, message);
    }

    /// Whether a message must be turned away because there is too much to do (THROTTLE-1, THROTTLE-5). Asked
    /// for each message.
    fn overload(&self) -> Option<Overload> {
        None
    }
}

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// An AgentToServer.
    FromAgent,
    /// A ServerToAgent.
    ToAgent,
}

/// Too much to do at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overload {
    /// When to come back; `None` leaves it to the agent.
    pub retry_after: Option<Duration>,
}

/// Why a connection is not let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// 401: no credential, or one that is not good (AUTH-3). The text is shown to the peer.
    Unauthorized(String),
    /// 403: a good credential that is not for this.
    Forbidden(String),
    /// 503 with `Retry-After` (THROTTLE-5, THROTTLE-6).
    Unavailable(Duration),
    /// 429 with `Retry-After`: this peer asks too often.
    TooMany(Duration),
}

/// Why an agent is not let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejection {
    /// The agent is told what is wrong (BAD-3).
    BadRequest(String),
    /// The credential is not good for this instance_uid: 401, or a policy close (1008) of a WebSocket. One that
    /// carries other agents stays open, and this one is told with BAD_REQUEST.
    Unauthorized(String),
    /// Not now: UNAVAILABLE (THROTTLE-1).
    Unavailable(Overload),
}

/// The request that opens a connection.
#[derive(Debug, Clone, Copy)]
pub struct ConnectRequest<'a> {
    /// Its method.
    pub method: &'a Method,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// Where it came from.
    pub peer: &'a Peer,
    /// What it asks for.
    pub transport: Transport,
}

impl<'a> ConnectRequest<'a> {
    /// The token of an `Authorization: Bearer` header.
    pub fn bearer(&self) -> Option<&'a str> {
        let value = self.headers.get(header::AUTHORIZATION)?.to_str().ok()?;
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    }
}

/// A message that changed something.
#[derive(Debug, Clone, Copy)]
pub struct StatusReport<'a> {
    pub(crate) message: &'a RawAgentToServer<'a>,
    pub(crate) received: Received,
    pub(crate) first: bool,
}

impl<'a> StatusReport<'a> {
    /// The parts that differ from what was known.
    pub const fn changed(&self) -> PartSet {
        self.received.changed
    }

    /// Whether the capabilities differ from what was known.
    pub const fn capabilities_changed(&self) -> bool {
        self.received.capabilities_changed
    }

    /// Whether this is the agent's first message in this session.
    pub const fn is_first(&self) -> bool {
        self.first
    }

    /// Whether the agent takes its leave with it.
    pub const fn is_last(&self) -> bool {
        self.received.disconnected
    }

    /// The encoded sub-message, if the message has it.
    pub fn raw(&self, part: Part) -> Option<&'a [u8]> {
        self.message.part(part)
    }

    /// The decoded sub-message, if the message has it. `M` must be the part's type.
    pub fn part<M: wire::Message + Default>(&self, part: Part) -> Option<M> {
        M::decode(self.message.part(part)?).ok()
    }

    /// The message's number.
    pub const fn sequence_num(&self) -> u64 {
        self.message.sequence_num
    }
}
