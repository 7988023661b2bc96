//! The server itself: what its connections share, and its beginning and end.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use opamp_proto::InstanceUid;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

pub use opamp_proto::server::Transport;

use crate::agent::{Agent, CloseReason, Disconnect, Peer};
use crate::agents::Agents;
use crate::budget::Budget;
use crate::carried::Carried;
use crate::clock::Clock;
use crate::handler::Handler;
use crate::listener::{self, TlsSource};
use crate::outbox::Outbox;
use crate::pollers;
use crate::seldom::Seldom;
use crate::service::OpampService;
use crate::settings::Settings;
use crate::traffic::Traffic;
use crate::visit;
use crate::websocket::Codec;

/// An OpAMP server. Clones are the same server.
pub struct Server<H: Handler> {
    shared: Arc<Shared<H>>,
}

impl<H: Handler> Clone for Server<H> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<H: Handler> std::fmt::Debug for Server<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("agents", &self.shared.agents).finish_non_exhaustive()
    }
}

/// What the connections of a server share.
pub(crate) struct Shared<H: Handler> {
    pub(crate) handler: H,
    pub(crate) settings: Settings,
    pub(crate) clock: Clock,
    pub(crate) agents: Agents<H>,
    pub(crate) carried: Carried,
    pub(crate) no_descriptor: Seldom,
    pub(crate) traffic: Traffic,
    pub(crate) budget: Arc<Budget>,
    pub(crate) handshakes: Semaphore,
    pub(crate) codec: Codec,
    sockets: Mutex<HashMap<usize, Weak<Outbox>>>,
    closing: watch::Sender<bool>,
}

impl<H: Handler> Server<H> {
    /// A server that asks `handler`.
    pub fn new(handler: H, settings: Settings) -> Self {
        let shared = Shared {
            handler,
            clock: Clock::start(),
            agents: Agents::new(),
            carried: Carried::default(),
            no_descriptor: Seldom::new(),
            traffic: Traffic::default(),
            budget: Budget::new(settings.max_in_flight),
            handshakes: Semaphore::new(settings.max_handshakes),
            codec: Codec::new(&settings),
            sockets: Mutex::default(),
            closing: watch::Sender::new(false),
            settings,
        };
        Self { shared: Arc::new(shared) }
    }

    /// The endpoint as a tower service, for any path of any application.
    pub fn service(&self) -> OpampService<H> {
        OpampService::mounted(self.shared.clone())
    }

    /// Accepts connections until `shutdown` resolves. Connections that are open then stay so: see
    /// [`Self::close`]. Several listeners, also on several runtimes, may serve one server.
    ///
    /// # Errors
    /// When the listener breaks for good; running out of descriptors is waited out.
    pub async fn serve(
        &self,
        listener: TcpListener,
        tls: Option<TlsSource>,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<()> {
        tokio::select! {
            result = listener::accept_all(self.shared.clone(), listener, tls) => result,
            () = shutdown => Ok(()),
        }
    }

    /// Serves one HTTP/1.1 connection over any byte stream.
    pub async fn serve_stream<I>(&self, io: I, peer: Peer)
    where
        I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        listener::serve_connection(self.shared.clone(), io, Arc::new(peer)).await;
    }

    /// The live agents.
    pub fn agents(&self) -> &Agents<H> {
        &self.shared.agents
    }

    /// Calls `visit` for each of these agents, on the runtime that serves its connection, and returns when all were
    /// visited. The way to tell many agents something: see [`Agent::offer_config`]. Agents without a connection are
    /// visited by the caller.
    pub async fn visit(
        &self,
        agents: Vec<Arc<Agent<H>>>,
        visit: impl Fn(&Arc<Agent<H>>) + Clone + Send + 'static,
    ) {
        visit::all(agents, visit).await;
    }

    /// What passed and what was refused so far.
    pub fn traffic(&self) -> &Traffic {
        &self.shared.traffic
    }

    /// How many WebSockets are open.
    pub fn websockets(&self) -> usize {
        self.shared.sockets().len()
    }

    /// The application.
    pub fn handler(&self) -> &H {
        &self.shared.handler
    }

    /// Ends the session of one agent, whatever carries it: the connection and other agents on it stay as they are. If
    /// the agent is heard again it must be admitted anew. To be rid of the connection as well, call [`Agent::close`].
    pub fn end(&self, agent: &Arc<Agent<H>>, reason: CloseReason) {
        self.shared.end(agent, Disconnect::Server(reason));
    }

    /// Ends the sessions of pollers that have been silent for too long. Call it every few seconds.
    pub fn sweep_pollers(&self) {
        pollers::sweep(&self.shared);
    }

    /// Closes every connection with 1001 (CLOSE-4), and waits until all are closed, at most for `grace`.
    pub async fn close(&self, grace: Duration) {
        self.shared.closing.send_replace(true);
        for outbox in self.shared.open_sockets() {
            outbox.close(CloseReason::GoingAway);
        }
        let closed = async {
            while !self.shared.open_sockets().is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if tokio::time::timeout(grace, closed).await.is_err() {
            tracing::warn!(
                grace_seconds = grace.as_secs(),
                "some agents did not close their connection in time"
            );
        }
        self.shared
            .agents
            .for_each(|agent| self.shared.end(agent, Disconnect::Server(CloseReason::GoingAway)));
    }
}

impl<H: Handler> Shared<H> {
    /// A new instance_uid (UID-17).
    pub(crate) fn fresh_uid(&self) -> InstanceUid {
        let mut random = [0; 10];
        if getrandom::fill(&mut random).is_err() {
            // Without a source of randomness the clock must do: the value need only be unlikely to occur twice.
            random[..8].copy_from_slice(&self.clock.now().0.to_be_bytes());
        }
        let wall = self.clock.wall(self.clock.now());
        let millis = wall.duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_millis();
        InstanceUid::generate(u64::try_from(millis).unwrap_or_default(), random)
    }

    /// Ends a session, once.
    pub(crate) fn end(&self, agent: &Arc<Agent<H>>, why: Disconnect) {
        let now = self.clock.now();
        let (outbox, offer) = {
            let mut live = agent.lock();
            if std::mem::replace(&mut live.ended, true) {
                return;
            }
            (live.outbox.take(), live.session.carry_out())
        };
        self.agents.remove(agent);
        if let Some(offer) = offer {
            self.carried.put(agent.instance_uid(), offer, now);
        }
        match (why, outbox) {
            (Disconnect::Moved, Some(outbox)) => outbox.close(CloseReason::Replaced),
            // Its connection forgets it.
            (Disconnect::Server(_), Some(outbox)) => outbox.push(agent.instance_uid()),
            _ => {}
        }
        self.handler.disconnected(agent, why);
    }

    fn sockets(&self) -> std::sync::MutexGuard<'_, HashMap<usize, Weak<Outbox>>> {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A WebSocket is open.
    pub(crate) fn opened(&self, outbox: &Arc<Outbox>) {
        self.sockets().insert(Arc::as_ptr(outbox) as usize, Arc::downgrade(outbox));
        if *self.closing.borrow() {
            outbox.close(CloseReason::GoingAway);
        }
    }

    /// A WebSocket is closed.
    pub(crate) fn closed(&self, outbox: &Arc<Outbox>) {
        self.sockets().remove(&(Arc::as_ptr(outbox) as usize));
    }

    fn open_sockets(&self) -> Vec<Arc<Outbox>> {
        self.sockets().values().filter_map(Weak::upgrade).collect()
    }

    /// Tells connections that carry plain requests that the server is going away.
    pub(crate) fn closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }
}
