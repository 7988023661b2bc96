//! The application behind the OpAMP server: who may connect, who may stay, what changed. Nothing here waits for
//! the store except the enrolment of an instance_uid that has no live session.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use model::{AgentParts, ServerEpoch, SessionEpoch, Transport, UnixMillis};
use opamp_proto::Part;
use opamp_server::{
    Agent, CloseReason, ConnectRequest, Direction, Disconnect, Handler, Overload, Refusal, Rejection,
    StatusReport,
};
use store::{AgentWrite, EnrolOutcome, Enrolment, Mark, SessionStart, Store, StoreError};

use super::credentials::{Credentials, Entry};
use super::outgoing::Outgoing;
use super::state::AgentState;
use super::watched::Watched;
use crate::clock;
use crate::configs::Configs;
use crate::events::Hub;
use crate::http::TrustedProxies;
use crate::metrics::Counters;

/// When to come back while the store does not take writes (THROTTLE-3; THROTTLE-10 recommends no less).
const RETRY_STORE: Duration = Duration::from_secs(30);
/// When to come back while there is no room for another agent: an operator must act first.
const RETRY_FULL: Duration = Duration::from_secs(300);

/// A live agent of this server.
pub(crate) type LiveAgent = Agent<Endpoint>;

/// Who a connection is: the credential that it showed, and where it came from.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    pub(crate) credential: Arc<Entry>,
    pub(crate) address: Option<SocketAddr>,
}

impl PartialEq for Admission {
    /// The same credential: a polling agent may come from another address each time.
    fn eq(&self, other: &Self) -> bool {
        self.credential.id == other.credential.id
    }
}

/// How many agents are known, and how many may be (S37).
#[derive(Debug)]
pub(crate) struct Census {
    known: AtomicU64,
    max: Option<u64>,
}

impl Census {
    /// So many are known.
    pub(crate) const fn new(known: u64, max: Option<u64>) -> Self {
        Self { known: AtomicU64::new(known), max }
    }

    /// Takes a place for a new agent, if there is one.
    fn enter(&self) -> bool {
        let max = self.max.unwrap_or(u64::MAX);
        let enter = |known| (known < max).then_some(known + 1);
        self.known.fetch_update(Ordering::Relaxed, Ordering::Relaxed, enter).is_ok()
    }

    /// Agents were forgotten, or turned out to be known already.
    pub(crate) fn leave(&self, count: u64) {
        let leave = |known: u64| Some(known.saturating_sub(count));
        let _ = self.known.fetch_update(Ordering::Relaxed, Ordering::Relaxed, leave);
    }
}

/// What the endpoint works with.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) store: Store,
    pub(crate) credentials: Arc<Credentials>,
    pub(crate) outgoing: Arc<Outgoing>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) configs: Arc<Configs>,
    pub(crate) census: Arc<Census>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) proxies: TrustedProxies,
    pub(crate) epoch: ServerEpoch,
    pub(crate) sessions: AtomicU64,
    pub(crate) watched: Watched,
}

impl Handler for Endpoint {
    type Principal = Admission;
    type Data = AgentState;

    async fn authenticate(&self, request: &ConnectRequest<'_>) -> Result<Admission, Refusal> {
        let Some(credential) = self.credentials.find(request.headers) else {
            return Err(Refusal::Unauthorized(
                "an enrolment token is needed that is not revoked: Authorization: Bearer <token>".to_owned(),
            ));
        };
        let address = request.peer.address.map(|peer| self.proxies.client(peer, request.headers).address);
        Ok(Admission { credential, address })
    }

    async fn admit(&self, agent: &Arc<LiveAgent>, first: &StatusReport<'_>) -> Result<(), Rejection> {
        if self.outgoing.is_failing() {
            return Err(unavailable(RETRY_STORE));
        }
        let now = clock::now();
        let session = self.sessions.fetch_add(1, Ordering::Relaxed) + 1;
        let mut write = self.write_of(agent, session, now);
        write.session = Some(session_start(agent, now));
        add_report(&mut write, agent, first);
        let outcome = self.enrol(agent, write, now).await?;
        agent.data().admit(session, now, outcome == EnrolOutcome::Enrolled);
        agent.principal().credential.touch(now);
        Ok(())
    }

    fn reported(&self, agent: &Arc<LiveAgent>, report: &StatusReport<'_>) {
        let state = agent.data();
        if report.is_first() && agent.principal().credential.is_revoked() {
            // Revoked while it was being admitted: whoever ended the others could not see it yet.
            agent.close(CloseReason::Policy);
        }
        self.configs.reported(agent, report);
        if report.is_first() && state.was_enrolled() {
            return;
        }
        let make = || self.write_of(agent, state.session(), clock::now());
        self.outgoing.push(agent, make, |write| {
            if report.is_first() {
                write.session = Some(session_start(agent, state.since()));
            }
            write.last_seen = clock::now();
            add_report(write, agent, report);
        });
    }

    fn disconnected(&self, agent: &Arc<LiveAgent>, why: Disconnect) {
        tracing::debug!(agent = %agent.instance_uid(), ?why, "agent {} is gone", agent.instance_uid());
        if matches!(why, Disconnect::Moved) || agent.data().session() == 0 {
            return;
        }
        let now = clock::now();
        let heard = clock::of_system(agent.last_heard());
        let make = || self.write_of(agent, agent.data().session(), heard);
        self.outgoing.push(agent, make, |write| {
            write.last_seen = heard;
            write.mark = Some(Mark::Disconnected(now));
        });
    }

    fn passed(&self, agent: &Arc<LiveAgent>, direction: Direction, message: &[u8]) {
        if self.watched.anybody() {
            self.watched.passed(agent.instance_uid(), clock::now(), direction, message);
        }
    }

    fn overload(&self) -> Option<Overload> {
        self.outgoing.is_over().then_some(Overload { retry_after: Some(RETRY_STORE) })
    }
}

impl Endpoint {
    /// The change of an agent's session, empty so far.
    fn write_of(&self, agent: &Arc<LiveAgent>, session: u64, now: UnixMillis) -> AgentWrite {
        AgentWrite::new(agent.instance_uid(), SessionEpoch { server: self.epoch, session }, now)
    }

    /// Notes a turn in an agent's session.
    pub(crate) fn mark(&self, agent: &Arc<LiveAgent>, mark: Mark) {
        let heard = clock::of_system(agent.last_heard());
        let make = || self.write_of(agent, agent.data().session(), heard);
        self.outgoing.push(agent, make, |write| {
            write.last_seen = heard;
            // Once it is gone, it is gone.
            if !matches!(write.mark, Some(Mark::Disconnected(_))) {
                write.mark = Some(mark);
            }
        });
    }

    /// Asks the store whether the agent may stay, and makes its row if it is new.
    async fn enrol(
        &self,
        agent: &Arc<LiveAgent>,
        first: AgentWrite,
        now: UnixMillis,
    ) -> Result<EnrolOutcome, Rejection> {
        let uid = agent.instance_uid();
        let counted = self.census.enter();
        if !counted && !self.is_known(agent).await? {
            tracing::warn!(agent = %uid, "agent {uid} was turned away: as many agents are known as --max-agents allows");
            return Err(unavailable(RETRY_FULL));
        }
        let credential = agent.principal().credential.id;
        let begun = Instant::now();
        let outcome = self.store.enrol(vec![Enrolment { credential, now, first }]).await;
        let outcome =
            outcome.map(|outcomes| outcomes.into_iter().next().unwrap_or(EnrolOutcome::NoCredential));
        if let Ok(outcome) = outcome {
            self.counters.enrolled(outcome, begun.elapsed());
        }
        if counted && !matches!(outcome, Ok(EnrolOutcome::Enrolled)) {
            self.census.leave(1);
        }
        match outcome.map_err(|error| self.store_failed(error))? {
            outcome if outcome.is_admitted() => {
                if outcome == EnrolOutcome::Enrolled {
                    self.hub.changed([uid]);
                }
                Ok(outcome)
            }
            outcome => {
                tracing::info!(agent = %uid, credential = credential.0, ?outcome, "agent {uid} was refused");
                Err(Rejection::Unauthorized(refusal(outcome).to_owned()))
            }
        }
    }

    async fn is_known(&self, agent: &Arc<LiveAgent>) -> Result<bool, Rejection> {
        let binding = self.store.agent_binding(agent.instance_uid()).await;
        binding.map(|binding| binding.is_some()).map_err(|error| self.store_failed(error))
    }

    fn store_failed(&self, error: StoreError) -> Rejection {
        if !self.outgoing.is_failing() {
            tracing::error!(error = &error as &dyn std::error::Error, "an agent cannot be enrolled");
        }
        unavailable(RETRY_STORE)
    }
}

const fn unavailable(retry_after: Duration) -> Rejection {
    Rejection::Unavailable(Overload { retry_after: Some(retry_after) })
}

const fn refusal(outcome: EnrolOutcome) -> &'static str {
    match outcome {
        EnrolOutcome::BoundToOther { .. } => {
            "this instance_uid was enrolled with another token, which still holds"
        }
        EnrolOutcome::Expired => "this token has expired: it serves only agents that it enrolled before",
        EnrolOutcome::Revoked | EnrolOutcome::NoCredential => "this token was revoked",
        EnrolOutcome::Enrolled | EnrolOutcome::Rebound { .. } | EnrolOutcome::Known => "",
    }
}

fn session_start(agent: &Arc<LiveAgent>, since: UnixMillis) -> SessionStart {
    let transport = transport_of(agent.transport());
    let peer_address = agent.principal().address.map(|address| address.to_string()).unwrap_or_default();
    SessionStart { transport, peer_address, since }
}

/// The model's word for a transport.
pub(crate) const fn transport_of(transport: opamp_server::Transport) -> Transport {
    match transport {
        opamp_server::Transport::WebSocket => Transport::WebSocket,
        opamp_server::Transport::Http => Transport::Http,
    }
}

/// Copies what changed: a message's bytes do not outlive the call.
fn add_report(write: &mut AgentWrite, agent: &Arc<LiveAgent>, report: &StatusReport<'_>) {
    write.sequence_num = report.sequence_num();
    if report.capabilities_changed() || report.is_first() {
        write.capabilities = Some(agent.read(|session| session.capabilities()));
    }
    for part in report.changed().iter() {
        add_part(&mut write.parts, part, report.raw(part));
    }
}

fn add_part(parts: &mut AgentParts, part: Part, raw: Option<&[u8]>) {
    if let Some(raw) = raw {
        parts.set(part, Some(Bytes::copy_from_slice(raw)));
    }
}
