//! How the tasks of an agent speak with each other: handles that only send, and what the reconciling task lets others see.

use std::sync::Arc;

use host_proto::Frame;
use host_proto::desired::{DesiredState, SectionHashes};
use host_proto::message::{DockerFacts, Intervals, Ping, Pong, ToServer};
use host_proto::report::ReplicaReport;
use reconcile::Actual;
use tokio::sync::{mpsc, oneshot};

/// What the link is asked to do.
#[derive(Debug)]
pub(crate) enum ToLink {
    Send(Frame<ToServer>),
    Alive(Pong),
    /// The hello is gathered, for the connection with this number.
    Hello(u64, Box<host_proto::message::Hello>),
    Stop(String),
}

/// The way to the server, for tasks that have something to say. Without a connection it is dropped.
#[derive(Debug, Clone)]
pub(crate) struct LinkHandle(pub(crate) mpsc::UnboundedSender<ToLink>);

impl LinkHandle {
    pub(crate) fn send(&self, body: ToServer) {
        self.answer(None, body);
    }

    pub(crate) fn answer(&self, re: Option<String>, body: ToServer) {
        self.tell(ToLink::Send(Frame::answering(re, body)));
    }

    /// The link outlives all who speak to it; when it is gone the agent ends.
    pub(crate) fn tell(&self, what: ToLink) {
        let _ = self.0.send(what);
    }
}

/// Answered, or dropped, when a state is on the disk or cannot be.
pub(crate) type Kept = oneshot::Receiver<()>;

/// What the reconciling task is told.
#[derive(Debug)]
pub(crate) enum ToWorker {
    /// A fresh state (STATE-5), on its way into the cache.
    Apply { state: Arc<DesiredState>, adopt: bool, kept: Kept },
    /// A connection stands; its first state comes yet.
    Online(Intervals),
    /// There is no connection.
    Offline,
    /// To be answered with how late we are (R18).
    Probe(Ping),
}

/// What the reconciling task lets others see.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    /// Whether it has looked at all.
    pub(crate) looked: bool,
    /// Every replica; `None` while the engine does not answer (R29).
    pub(crate) replicas: Option<Vec<ReplicaReport>>,
    /// A container that is not among them may be made this moment.
    pub(crate) moving: bool,
    /// What of the last state is applied.
    pub(crate) sections: SectionHashes,
    /// Whether it works from the cache.
    pub(crate) from_cache: bool,
    /// What was seen, for counters.
    pub(crate) actual: Option<Arc<Actual>>,
    /// What the engine says of itself.
    pub(crate) docker: Option<DockerFacts>,
    /// Containers, foreign ones too.
    pub(crate) containers: u64,
    /// Reconciles since the start.
    pub(crate) reconciles: u64,
    /// Those that changed something.
    pub(crate) reconciles_with_changes: u64,
    /// How long the last one took.
    pub(crate) reconcile_last_us: u64,
}
