//! A live agent: its session, the connection that carries it, and what the application keeps with it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use opamp_proto::server::{ConfigOffer, ServerSession, Transport};
use opamp_proto::{InstanceUid, Moment};
use tokio::runtime::Handle;

use crate::clock::Clock;
use crate::handler::Handler;
use crate::outbox::Outbox;

/// Where a connection came from.
#[derive(Debug, Clone, Default)]
pub struct Peer {
    /// The address, as the application sees it: behind a trusted proxy that of the client.
    pub address: Option<SocketAddr>,
    /// The client certificate (DER) that TLS verified, if there was one.
    pub certificate: Option<Arc<[u8]>>,
}

/// Why the server closes a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseReason {
    /// 1001: the server is going away.
    GoingAway,
    /// 1008: the credential is no longer good (REVOKE-2), or is not good for this agent.
    Policy,
    /// 1003: something other than a binary message (WS-2).
    NotBinary,
    /// 1009: a message over the limit.
    TooBig,
    /// 1013: too much to do (THROTTLE-1).
    Busy,
    /// 1008: another connection of the same agent took over (DUP-3).
    Replaced,
}

/// Why an agent's session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disconnect {
    /// It said so (CLOSE-1).
    Goodbye,
    /// The peer closed the connection in an orderly way.
    Closed,
    /// The connection broke.
    Broken,
    /// Nothing was heard for too long.
    Silent,
    /// The server closed it.
    Server(CloseReason),
    /// It goes on under another instance_uid.
    Renamed(InstanceUid),
    /// It is connected elsewhere now.
    Moved,
}

/// The session and the connection that carries it.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) session: ServerSession,
    /// `None` for an agent that polls.
    pub(crate) outbox: Option<Arc<Outbox>>,
    /// Whether the session ended; nothing is told about it after that.
    pub(crate) ended: bool,
}

/// One live agent.
pub struct Agent<H: Handler> {
    uid: InstanceUid,
    principal: H::Principal,
    peer: Arc<Peer>,
    clock: Clock,
    poller: bool,
    heard: AtomicU64,
    live: Mutex<Live>,
    data: H::Data,
}

impl<H: Handler> std::fmt::Debug for Agent<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("uid", &self.uid).finish_non_exhaustive()
    }
}

/// What a new agent is made of.
pub(crate) struct NewAgent<H: Handler> {
    pub(crate) uid: InstanceUid,
    pub(crate) transport: Transport,
    pub(crate) principal: H::Principal,
    pub(crate) peer: Arc<Peer>,
    pub(crate) outbox: Option<Arc<Outbox>>,
    pub(crate) clock: Clock,
}

impl<H: Handler> Agent<H> {
    pub(crate) fn new(new: NewAgent<H>) -> Self {
        let session = ServerSession::new(new.uid, new.transport);
        Self {
            uid: new.uid,
            principal: new.principal,
            peer: new.peer,
            clock: new.clock,
            poller: new.outbox.is_none(),
            heard: AtomicU64::new(new.clock.now().0),
            live: Mutex::new(Live { session, outbox: new.outbox, ended: false }),
            data: H::Data::default(),
        }
    }

    /// The instance_uid.
    pub const fn instance_uid(&self) -> InstanceUid {
        self.uid
    }

    /// Who the agent's connection is.
    pub const fn principal(&self) -> &H::Principal {
        &self.principal
    }

    /// Where the agent's connection came from.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// What the application keeps with it.
    pub const fn data(&self) -> &H::Data {
        &self.data
    }

    /// Reads the session. Keep it short: the connection waits meanwhile.
    pub fn read<R>(&self, read: impl FnOnce(&ServerSession) -> R) -> R {
        read(&self.lock().session)
    }

    /// How the agent is connected.
    pub fn transport(&self) -> Transport {
        self.read(ServerSession::transport)
    }

    /// Whether the session goes on.
    pub fn is_live(&self) -> bool {
        !self.lock().ended
    }

    /// When the agent was heard last.
    pub fn last_heard(&self) -> SystemTime {
        self.clock.wall(Moment(self.heard.load(Ordering::Relaxed)))
    }

    /// Says what the agent is to run; `None` offers nothing more. A WebSocket is told at once, a polling agent
    /// with its next answer, and only if its capabilities allow (CFG-3).
    pub fn offer_config(&self, offer: Option<Arc<ConfigOffer>>) {
        let mut live = self.lock();
        live.session.offer_config(offer);
        if let Some(outbox) = &live.outbox {
            outbox.push(self.uid);
        }
    }

    /// Ends the connection that carries the agent, and with it every agent on it. An agent that polls has no
    /// connection: its next request is authenticated anew, and [`crate::Server::end`] ends its session.
    pub fn close(&self, reason: CloseReason) {
        if let Some(outbox) = &self.lock().outbox {
            outbox.close(reason);
        }
    }

    /// The runtime that serves its connection, if it has one and is live.
    pub(crate) fn home(&self) -> Option<Handle> {
        self.lock().outbox.as_ref().map(|outbox| outbox.home().clone())
    }

    /// Whether it has no connection of its own.
    pub(crate) const fn is_poller(&self) -> bool {
        self.poller
    }

    pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn hear(&self, now: Moment) {
        self.heard.store(now.0, Ordering::Relaxed);
    }

    pub(crate) fn heard(&self) -> Moment {
        Moment(self.heard.load(Ordering::Relaxed))
    }
}
