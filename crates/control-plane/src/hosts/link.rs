//! One connection of a host: the task that carries its bytes, and carries out what `host_proto`'s session decides.

mod admit;
mod socket;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use host_proto::id::HostId;
use host_proto::message::{CloseCode, DockerFacts, ErrorCode, ErrorMessage};
use host_proto::server::{Input, Output, Pace, Plan, Session, Settings};
use host_proto::{Frame, Moment, Secret, ToServer};
use model::{TokenHash, UnixMillis};
use store::{HostLink, StoreError};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::{Errand, Heard, LinkStart, Tasks};
use crate::clock;
use crate::services::Services;
use crate::tasks::stopped;

pub(crate) use socket::{Answer, Socket, accept};

/// Hosts that a server which stops sends away come back within this time (R17).
const SPREAD: Duration = Duration::from_secs(30);
/// When the database fails, the state is worked out again after so long.
const RETRY: Duration = Duration::from_secs(2);

static CONNECTIONS: AtomicU64 = AtomicU64::new(1);

/// Who connects, as the token and the socket say.
pub(crate) struct Arrival {
    pub(crate) link: HostLink,
    pub(crate) token: TokenHash,
    pub(crate) address: IpAddr,
}

/// Serves a connection to its end.
pub(crate) async fn serve(
    services: Arc<Services>,
    arrival: Arrival,
    socket: Socket,
    stopping: watch::Receiver<bool>,
) {
    let id = arrival.link.host.id.clone();
    let number = CONNECTIONS.fetch_add(1, Ordering::Relaxed);
    let started = Instant::now();
    let session = Session::new(Moment(0), Settings { features: features(), ..Settings::default() });
    let mut connection = Connection {
        services: services.clone(),
        id: id.clone(),
        arrival,
        number,
        started,
        silent_since: started,
        heard: Heard::new(clock::now()),
        session,
        socket,
        pace: Pace::of_messages(Moment(0)),
        cost: 0,
        tasks: None,
        epoch_due: false,
        asked: Vec::new(),
        retry: None,
        offered: None,
    };
    connection.run(stopping).await;
    let silent_since = connection.silent_since;
    if connection.tasks.is_none() {
        return;
    }
    // A server that stops waits for the end of its connections before it closes the database, and no longer.
    let _ = services.store.hosts_seen(vec![(id.clone(), connection.heard.at())]).await;
    if services.live.end(&id, number, silent_since) {
        tracing::info!(host = %id, "host {} is disconnected", connection.arrival.link.host.name);
        super::tell_of_silence(&services.hub, &id, silent_since);
    }
}

fn features() -> Vec<String> {
    ["deflate", "logs"].map(str::to_owned).to_vec()
}

struct Connection {
    services: Arc<Services>,
    id: HostId,
    arrival: Arrival,
    number: u64,
    started: Instant,
    /// When it last said anything; its end counts too, unless nobody heard of it.
    silent_since: Instant,
    heard: Heard,
    session: Session,
    socket: Socket,
    /// A host that says more than a host has to say is read more slowly: nothing is lost, and others are not held up.
    pace: Pace,
    /// What the message that is looked at counts for.
    cost: u32,
    /// There once the host is admitted.
    tasks: Option<Tasks>,
    /// Who waits for answers to what was asked.
    asked: Vec<mpsc::Sender<ToServer>>,
    /// The host knows of more than the database: before anything is worked out, it begins a history of its own.
    epoch_due: bool,
    /// When the state is worked out again after a failure.
    retry: Option<Instant>,
    /// The token that is on its way to the host.
    offered: Option<TokenHash>,
}

enum Event {
    Text(String),
    Heard,
    Gone,
    Errand(Errand),
    Changed,
    Timer,
    Stop,
}

impl Connection {
    fn now(&self) -> Moment {
        Moment(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    fn name(&self) -> &str {
        &self.arrival.link.host.name
    }

    async fn run(&mut self, mut stopping: watch::Receiver<bool>) {
        let mut told = false;
        loop {
            if self.carry_out().await.is_err() {
                return;
            }
            let event = self.next(&mut stopping, told).await;
            let now = self.now();
            if matches!(event, Event::Text(_) | Event::Heard | Event::Gone) {
                self.silent_since = Instant::now();
                self.heard.note(clock::now());
            }
            match event {
                Event::Text(text) => {
                    self.cost = Pace::cost(text.len());
                    self.pace.take(now, self.cost);
                    self.session.handle(now, Input::Text(text));
                }
                Event::Heard => {
                    self.pace.take(now, 1);
                    self.session.handle(now, Input::Heard);
                }
                Event::Gone => return,
                Event::Errand(errand) => self.on_errand(errand),
                Event::Changed => self.session.handle(now, Input::Changed),
                Event::Timer => {
                    if self.retry.is_some_and(|at| at <= Instant::now()) {
                        self.retry = None;
                        self.session.handle(now, Input::Changed);
                    }
                    self.session.handle(now, Input::Timer);
                }
                Event::Stop => {
                    told = true;
                    let spread = u64::try_from(SPREAD.as_millis()).unwrap_or(0);
                    let after = Duration::from_millis(crate::random::number(spread));
                    let reason = "the server stops".to_owned();
                    self.session.handle(now, Input::Goodbye { reason, reconnect_after: after });
                }
            }
        }
    }

    async fn next(&mut self, stopping: &mut watch::Receiver<bool>, told: bool) -> Event {
        let instant = |at: Moment| self.started + Duration::from_millis(at.0);
        let pause = Some(self.pace.ready_at()).filter(|at| *at > self.now());
        let deadlines = [self.session.poll_timeout().map(instant), pause.map(instant), self.retry];
        let deadline = deadlines.into_iter().flatten().min();
        let task = async {
            let Some(Tasks { errands, changed }) = &mut self.tasks else {
                return std::future::pending().await;
            };
            tokio::select! {
                errand = errands.recv() => errand.map_or(Event::Gone, Event::Errand),
                () = changed.notified() => Event::Changed,
            }
        };
        tokio::select! {
            answer = self.socket.next(), if pause.is_none() => match answer {
                Answer::Text(text) => Event::Text(text),
                Answer::Other => Event::Heard,
                Answer::End => Event::Gone,
            },
            event = task => event,
            () = sleep_until(deadline) => Event::Timer,
            () = stopped(stopping), if !told => Event::Stop,
        }
    }

    fn on_errand(&mut self, errand: Errand) {
        let now = self.now();
        match errand {
            Errand::Ask(frame, answers) => {
                self.asked.retain(|asked| !asked.is_closed());
                self.asked.extend(answers);
                self.session.handle(now, Input::Send(frame));
            }
            Errand::Probe(answer) => {
                self.socket.probes.push(answer);
                self.session.handle(now, Input::Probe);
            }
            Errand::Replaced => self.session.handle(now, Input::Replaced),
            Errand::Removed(reason) => self.session.handle(now, Input::Removed { reason }),
        }
    }

    /// Does what the session wants; an error ends the connection. What happens seldom gets its memory when it does: every
    /// connection holds what the largest of its futures needs.
    async fn carry_out(&mut self) -> Result<(), End> {
        while let Some(output) = self.session.poll_output() {
            match output {
                Output::Send(text) => {
                    self.socket.send(text).await?;
                    let now = self.now();
                    self.session.handle(now, Input::Sent);
                }
                Output::Ping => self.socket.ping().await?,
                Output::Close { code, reason } => {
                    self.socket.close(code.number(), &reason).await;
                    return Err(End);
                }
                Output::Hello(hello) => Box::pin(self.on_hello(*hello)).await,
                Output::StoreIsBehind { applied } => {
                    self.services.alert(
                        &self.id,
                        format!("it has applied generation {applied}, which this server never made"),
                    );
                    self.epoch_due = true;
                }
                Output::Plan(plan) => Box::pin(self.plan(plan)).await,
                Output::Message(frame) => Box::pin(self.on_message(*frame)).await,
                Output::RotateToken => Box::pin(self.rotate()).await,
                Output::TokenRotated => Box::pin(self.rotated()).await,
                Output::TokenNotRotated { error } => {
                    self.services.alert(&self.id, format!("its token could not be replaced: {error}"));
                }
                Output::Degraded(degraded) => {
                    self.services.live.with(&self.id, |entry| entry.known.degraded = degraded);
                    self.services.hub.hosts_changed([self.id.to_string()]);
                }
                Output::Probed { alive } => {
                    self.socket.probes.drain(..).for_each(|probe| {
                        let _ = probe.send(alive);
                    });
                }
                Output::Left { reason } => {
                    tracing::info!(host = %self.id, "host {} leaves: {reason}", self.name())
                }
                Output::NotSent { reason } => {
                    tracing::error!(host = %self.id, "the state of host {} was not sent: {reason}", self.name());
                }
            }
        }
        Ok(())
    }

    /// Works out what the host should run and gives it a number.
    async fn plan(&mut self, plan: Plan) {
        let input = match self.desired(plan).await {
            Ok(Some(state)) => Input::Desired(Box::new(state)),
            Ok(None) => Input::NoState,
            Err(error) => {
                self.failed(&error);
                self.retry = Some(Instant::now() + RETRY);
                Input::NoState
            }
        };
        let now = self.now();
        self.session.handle(now, input);
    }

    async fn desired(&mut self, plan: Plan) -> Result<Option<host_proto::DesiredState>, StoreError> {
        if self.epoch_due {
            self.services.begin_epoch(&self.id).await?;
            self.epoch_due = false;
        }
        let Some((mut state, ways)) = self.services.desired(&self.id).await? else { return Ok(None) };
        if !plan.first && !self.session.is_news(&state) {
            self.services.told_the_same(&self.id, self.number, ways).await?;
            return Ok(None);
        }
        state.generation = self.services.store.raise_generation(self.id.clone(), plan.above).await?;
        let is_newest = self.services.live.sends(&self.id, self.number, &state, ways);
        Ok(is_newest.then_some(state))
    }

    async fn on_message(&mut self, frame: Frame<ToServer>) {
        let services = self.services.clone();
        // What a host said before it connected anew is older than what its hello said since.
        if services.live.of_newest(&self.id, self.number, |_| ()).is_none() {
            return;
        }
        let heard = match frame.body {
            ToServer::StateApplied(applied) => services.heard_applied(&self.id, &applied).await,
            ToServer::ReplicaStatus(status) => services.heard_replicas(&self.id, &status.replicas).await,
            ToServer::Metrics(metrics) => services.heard_metrics(&self.id, *metrics).await,
            ToServer::HostLogsTail(tail) => services.heard_log(&self.id, tail).await,
            body @ (ToServer::LogsResult(_)
            | ToServer::LogLines(_)
            | ToServer::LogsEnded(_)
            | ToServer::Error(_)) => {
                self.asked.retain(|asked| !asked.is_closed());
                // Whoever reads too slowly loses lines; the reader is told by a gap in the numbers.
                let taken = self.asked.iter().filter(|asked| asked.try_send(body.clone()).is_ok()).count();
                if taken > 0 && matches!(body, ToServer::LogsResult(_) | ToServer::LogLines(_)) {
                    self.pace.give_back(self.cost);
                }
                Ok(())
            }
            // The session's own.
            ToServer::Hello(_)
            | ToServer::Ping(_)
            | ToServer::Pong(_)
            | ToServer::Goodbye(_)
            | ToServer::TokenRotated(_) => Ok(()),
        };
        if let Err(error) = heard {
            self.failed(&error);
        }
    }

    async fn rotate(&mut self) {
        let Ok(random) = crate::random::bytes::<32>() else { return };
        let text = host_token(&random);
        let hash = TokenHash::of(&text);
        match self.services.store.offer_host_token(self.id.clone(), hash, clock::now()).await {
            Ok(()) => {
                self.offered = Some(hash);
                let now = self.now();
                self.session.handle(now, Input::Rotate(Secret::new(text)));
            }
            Err(error) => self.failed(&error),
        }
    }

    async fn rotated(&mut self) {
        let Some(token) = self.offered.take() else { return };
        let now = clock::now();
        let until = now.after(host_proto::limits::TOKEN_GRACE);
        match self.services.store.confirm_host_token(self.id.clone(), token, now, until).await {
            Ok(_) => tracing::info!(host = %self.id, "host {} has a new token", self.name()),
            Err(error) => self.failed(&error),
        }
    }

    fn failed(&self, error: &StoreError) {
        let error: &dyn std::error::Error = error;
        tracing::error!(error, host = %self.id, "what host {} said or should be told could not be stored or read", self.name());
    }

    fn refuse(&mut self, code: CloseCode, error: ErrorMessage) {
        let now = self.now();
        self.session.handle(now, Input::Refuse { code, error });
    }

    fn busy(&mut self, text: &str) {
        let error = ErrorMessage {
            code: ErrorCode::Internal,
            message: text.to_owned(),
            fatal: false,
            retry_after_ms: Some(5_000),
        };
        self.refuse(CloseCode::Restart, error);
    }

    fn start(&self, connected_at: UnixMillis, engine: Option<DockerFacts>) -> LinkStart {
        LinkStart {
            number: self.number,
            connected_at,
            heard: self.heard.clone(),
            address: self.arrival.address,
            engine,
        }
    }
}

/// The connection is over.
struct End;

impl From<socket::Broken> for End {
    fn from(_: socket::Broken) -> Self {
        Self
    }
}

/// A host token of random bytes.
pub(crate) fn host_token(random: &[u8; 32]) -> String {
    format!("mst_host_{}", hex::encode(random))
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
