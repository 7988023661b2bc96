//! The task that owns the way to the server: it drives the agent's session and carries out what that says, in order.
//! It decides nothing.

mod hello;

use std::sync::Arc;

use host_proto::agent::{self, Away, Event, Input, Output, WhichToken};
use host_proto::message::{HelloAck, HostLogLevel, HostLogSource, Intervals, ToAgent};
use host_proto::{Frame, Secret};
use rustls::ClientConfig;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

use crate::cache::Cache;
use crate::clock::{self, Clock};
use crate::dial::Endpoint;
use crate::handles::{Kept, LinkHandle, Snapshot, ToLink, ToWorker, Told};
use crate::hostlog::{About, HostLog};
use crate::identity::{Identity, Joined};
use crate::options::Options;
use crate::socket::{self, Happened, Order, Way};
use crate::status::StatusFile;
pub(crate) use hello::Machine;

/// A clock that is further off than this is worth a line (R9).
const SKEW_S: i64 = 5;

/// What the link needs.
pub(crate) struct Parts {
    pub(crate) options: Arc<Options>,
    pub(crate) identity: Identity,
    pub(crate) joined: Joined,
    pub(crate) machine: Machine,
    pub(crate) session: agent::Session,
    pub(crate) endpoint: Endpoint,
    pub(crate) tls: Arc<ClientConfig>,
    pub(crate) cache: Cache,
    /// What the cache held.
    pub(crate) told: Option<Told>,
    pub(crate) clock: Clock,
    pub(crate) log: HostLog,
    pub(crate) status: StatusFile,
    pub(crate) worker: mpsc::Sender<ToWorker>,
    pub(crate) requests: mpsc::Sender<Frame<ToAgent>>,
    pub(crate) online: watch::Sender<Option<Intervals>>,
    pub(crate) seen: watch::Receiver<Snapshot>,
    pub(crate) handle: LinkHandle,
}

struct Connection {
    number: u64,
    orders: mpsc::UnboundedSender<Order>,
    task: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The owner.
pub(crate) struct Link {
    parts: Parts,
    connection: Option<Connection>,
    connections: u64,
    /// The last state on its way to the disk.
    keeping: Option<JoinHandle<()>>,
    shown: WhichToken,
    happened: (mpsc::Sender<Happened>, mpsc::Receiver<Happened>),
    /// What was said last about being away: once is enough.
    said: Option<String>,
    stopped: bool,
}

impl Link {
    pub(crate) fn new(parts: Parts) -> Self {
        Self {
            parts,
            connection: None,
            connections: 0,
            keeping: None,
            shown: WhichToken::Current,
            happened: mpsc::channel(64),
            said: None,
            stopped: false,
        }
    }

    /// Runs until the session is over, which it is after `ToLink::Stop`.
    pub(crate) async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<ToLink>) {
        self.handle(Input::Start).await;
        while !self.stopped {
            let clock = self.parts.clock;
            let deadline = self.parts.session.poll_timeout().map(|moment| clock.instant(moment));
            let timer = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some((number, input)) = self.happened.1.recv() => {
                    if self.connection.as_ref().is_some_and(|connection| connection.number == number) {
                        self.handle(input).await;
                    }
                }
                message = inbox.recv() => match message {
                    Some(message) => self.told(message).await,
                    None => return,
                },
                () = timer => self.handle(Input::Timer).await,
            }
        }
    }

    async fn told(&mut self, message: ToLink) {
        match message {
            ToLink::Send(frame) => self.handle(Input::Send(Box::new(frame))).await,
            ToLink::Alive(pong) => self.handle(Input::Alive(pong)).await,
            ToLink::Hello(number, hello) if number == self.connections => {
                self.handle(Input::Hello(hello)).await;
            }
            ToLink::Hello(..) => {}
            ToLink::Stop(reason) => self.handle(Input::Stop { reason }).await,
        }
    }

    async fn handle(&mut self, input: Input) {
        if matches!(input, Input::Failed(_)) {
            self.connection = None;
        }
        self.parts.session.handle(self.parts.clock.now(), input);
        while let Some(output) = self.parts.session.poll_output() {
            self.carry_out(output).await;
        }
    }

    async fn carry_out(&mut self, output: Output) {
        match output {
            Output::Connect(which) => self.connect(which),
            Output::Hello => self.gather(),
            Output::Send(text) => self.order(Order::Text(text)),
            Output::Ping => self.order(Order::Ping),
            Output::Close { code, reason } => self.order(Order::Close(code, reason)),
            Output::Abort => self.connection = None,
            Output::PersistSecret(secret) => self.persist_secret(secret).await,
            Output::PersistToken(token) => self.persist_token(token).await,
            Output::Apply { state, adopt } => self.apply(state, adopt).await,
            Output::Probe(ping) => {
                // A worker that does not take it does not answer: that is what the probe is for.
                let _ = self.parts.worker.try_send(ToWorker::Probe(ping));
            }
            Output::Request(frame) => self.request(*frame),
            Output::Event(event) => self.event(event).await,
            Output::Stopped => self.stopped = true,
        }
    }

    fn connect(&mut self, which: WhichToken) {
        self.shown = which;
        self.connections += 1;
        let joined = &self.parts.joined;
        let token = match which {
            WhichToken::Current => joined.host_token.clone(),
            WhichToken::Previous => joined.previous_token.clone().unwrap_or_default(),
        };
        let way = Way {
            endpoint: self.parts.endpoint.clone(),
            tls: self.parts.tls.clone(),
            token,
            user_agent: crate::user_agent(),
        };
        let (orders, taken) = mpsc::unbounded_channel();
        let happened = self.happened.0.clone();
        let task = tokio::spawn(socket::run(way, self.connections, taken, happened));
        self.connection = Some(Connection { number: self.connections, orders, task });
    }

    /// Beside this task: an engine that hangs must not keep it from its pings.
    fn gather(&self) {
        let number = self.connections;
        let (machine, seen) = (self.parts.machine.clone(), self.parts.seen.clone());
        let handle = self.parts.handle.clone();
        tokio::spawn(async move {
            let hello = machine.hello(seen).await;
            handle.tell(ToLink::Hello(number, Box::new(hello)));
        });
    }

    fn order(&self, order: Order) {
        if let Some(connection) = &self.connection {
            // A connection that just ended says so itself.
            let _ = connection.orders.send(order);
        }
    }

    async fn persist_secret(&mut self, secret: Secret) {
        self.parts.joined.session_secret = Some(secret);
        if let Err(error) = self.persist().await {
            self.complain(HostLogLevel::Warn, &format!("the session's secret is not on the disk: {error}"));
        }
    }

    async fn persist_token(&mut self, token: Secret) {
        let before = self.parts.joined.clone();
        let joined = &mut self.parts.joined;
        if self.shown == WhichToken::Current {
            joined.previous_token = Some(joined.host_token.clone());
        }
        joined.host_token = token;
        let result = self.persist().await;
        match &result {
            Ok(()) => tracing::info!("the host's token was replaced"),
            Err(error) => {
                self.parts.joined = before;
                self.complain(
                    HostLogLevel::Error,
                    &format!("the host's new token is not on the disk: {error}"),
                );
            }
        }
        self.parts.session.handle(self.parts.clock.now(), Input::TokenPersisted(result));
    }

    async fn persist(&mut self) -> Result<(), String> {
        self.parts.identity.joined = Some(self.parts.joined.clone());
        let (identity, path) = (self.parts.identity.clone(), self.parts.options.identity.clone());
        let written = tokio::task::spawn_blocking(move || identity.write(&path)).await;
        written.map_err(|error| error.to_string())?.map_err(|error| chain(&error))
    }

    /// Kept while the worker looks at the host, and before it does anything: whatever happens then, the host knows what it
    /// was told last.
    async fn apply(&mut self, state: Box<host_proto::DesiredState>, adopt: bool) {
        let state: Arc<host_proto::DesiredState> = Arc::from(state);
        let told = Told::then(self.parts.told.as_ref(), state.clone(), adopt);
        let secrets = [self.parts.joined.host_token.expose()];
        self.parts.log.know(&told.whole(), &secrets);
        let kept = self.keep(told.clone());
        self.parts.told = Some(told.clone());
        tracing::info!(epoch = state.epoch, generation = state.generation, adopt, "a desired state came");
        self.parts.status.state(&state.epoch, state.generation);
        self.tell_worker(ToWorker::Apply { told, kept }).await;
    }

    /// Writes a state to the cache, after the one before.
    fn keep(&mut self, told: Told) -> Kept {
        let (cache, log, before) = (self.parts.cache.clone(), self.parts.log.clone(), self.keeping.take());
        let (done, kept) = oneshot::channel();
        self.keeping = Some(tokio::spawn(async move {
            if let Some(before) = before {
                let _ = before.await;
            }
            let save = move || cache.save(&told.state, told.adopt, told.unclaimed.as_deref());
            let saved = tokio::task::spawn_blocking(save).await;
            let saved =
                saved.map_err(|error| error.to_string()).and_then(|saved| saved.map_err(|e| chain(&e)));
            if let Err(error) = saved {
                let text = format!("the desired state is not on the disk: {error}");
                complain(&log, HostLogLevel::Warn, &text);
            }
            let _ = done.send(());
        }));
        kept
    }

    fn request(&self, frame: Frame<ToAgent>) {
        if self.parts.requests.try_send(frame).is_err() {
            tracing::warn!("too many requests of the server at once: one was dropped");
        }
    }

    async fn event(&mut self, event: Event) {
        match event {
            Event::Online(ack) => self.online(&ack).await,
            Event::Offline { reason, away, retry_in } => {
                self.parts.online.send_replace(None);
                self.offline(&reason, away, retry_in);
                self.tell_worker(ToWorker::Offline).await;
            }
            Event::Error(error) => tracing::warn!(code = ?error.code, "the server says: {}", error.message),
            Event::StaleState { generation, applied } => {
                let text = format!("state {generation} was refused: {applied} was applied already");
                self.complain(HostLogLevel::Error, &text);
            }
            Event::Removed { reason } => {
                let text = format!(
                    "this host was removed by an operator ({reason}): containers stay, and the agent waits; \
                     `muster agent leave` cleans up"
                );
                self.parts.status.removed();
                self.complain(HostLogLevel::Error, &text);
            }
        }
    }

    async fn online(&mut self, ack: &HelloAck) {
        self.said = None;
        tracing::info!(session = %ack.session_id, "connected to {}", self.parts.endpoint);
        if let Some(skew) = clock::skew_s(&ack.time_at).filter(|skew| skew.abs() > SKEW_S) {
            self.complain(
                HostLogLevel::Warn,
                &format!("this machine's clock is {skew} seconds off the server's"),
            );
        }
        if let Some(notice) = &ack.notice {
            tracing::info!("the server says: {notice}");
        }
        self.parts.status.online();
        self.parts.online.send_replace(Some(ack.intervals));
        self.tell_worker(ToWorker::Online(ack.intervals)).await;
    }

    fn offline(&mut self, reason: &str, away: Away, retry_in: Option<std::time::Duration>) {
        let reason = self.parts.log.masked(reason);
        self.parts.status.offline(&reason);
        let again = retry_in
            .map_or_else(String::new, |pause| format!("; trying again in {:.1} s", pause.as_secs_f64()));
        let text = format!("not connected to {}: {reason}{again}", self.parts.endpoint);
        match away {
            Away::Stopped => tracing::info!("{text}"),
            Away::Duplicate => {
                let text = format!("duplicate_host: {reason}; containers keep running{again}");
                self.complain(HostLogLevel::Error, &text);
            }
            Away::Unauthorized | Away::Unsupported | Away::Removed => {
                self.complain(HostLogLevel::Error, &text)
            }
            Away::Unreachable if self.said.as_deref() == Some(reason.as_str()) => tracing::debug!("{text}"),
            Away::Unreachable => tracing::warn!("{text}"),
        }
        self.said = Some(reason);
    }

    async fn tell_worker(&self, what: ToWorker) {
        // It is gone only when the agent ends.
        let _ = self.parts.worker.send(what).await;
    }

    fn complain(&self, level: HostLogLevel, text: &str) {
        complain(&self.parts.log, level, text);
    }
}

fn complain(log: &HostLog, level: HostLogLevel, text: &str) {
    match level {
        HostLogLevel::Error => tracing::error!("{text}"),
        _ => tracing::warn!("{text}"),
    }
    log.push(level, HostLogSource::Agent, About::default(), text);
}

/// An error with its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    text
}
