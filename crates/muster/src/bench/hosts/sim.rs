//! A simulated host: the agent's own session with a connection, without an engine. It does at once what it is told, and
//! sends the pings and figures that an agent sends.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::bail;
use host_proto::{
    DesiredState, Frame, Moment, ToServer,
    agent::{Event, Input, Output, Session, Settings},
    desired::Section,
    limits::METRICS_EVERY,
    message::{
        AgentMetrics, DiskMetrics, EngineMetrics, Hello, HostMetrics, Metrics, NetMetrics, Pong,
        ReplicaMetrics, SectionResult, StateApplied,
    },
    report::Outcome,
};
use tokio::time::Instant;

use super::{
    line::{Came, Line},
    machine,
};
use crate::bench::target::Target;

/// What all hosts together have done; each looks only at its own messages.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// States that came.
    pub(super) states: AtomicU64,
    /// Replicas that the last states of all hosts list.
    pub(super) replicas: AtomicU64,
}

/// A host that joined.
pub(super) struct SimHost {
    line: Line,
    session: Session,
    hello: Hello,
    started: Instant,
    seen: Arc<Seen>,
    state: Option<Box<DesiredState>>,
    metrics: u64,
    next_metrics: Instant,
}

impl SimHost {
    /// Connects, and waits until it was told what to run.
    pub(super) async fn connect(
        target: &Target,
        hello: Hello,
        seen: Arc<Seen>,
        offset: Duration,
    ) -> anyhow::Result<Self> {
        let line = Line::open(target).await?;
        let started = Instant::now();
        let session =
            Session::new(Settings { session_secret: None, has_previous_token: false, position: None }, 1);
        let next_metrics = started + offset;
        let mut host = Self { line, session, hello, started, seen, state: None, metrics: 0, next_metrics };
        host.handle(Input::Start).await?;
        host.handle(Input::Connected).await?;
        while host.state.is_none() {
            host.turn().await?;
        }
        Ok(host)
    }

    /// Lives until something goes wrong: that.
    pub(super) async fn live(mut self) -> anyhow::Error {
        loop {
            if let Err(error) = self.turn().await {
                return error;
            }
        }
    }

    fn now(&self) -> Moment {
        Moment(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// One thing that happens.
    async fn turn(&mut self) -> anyhow::Result<()> {
        let due = self.session.poll_timeout().map(|at| self.started + Duration::from_millis(at.0));
        let due = due.map_or(self.next_metrics, |due| due.min(self.next_metrics));
        let input = tokio::select! {
            came = self.line.next() => match came? {
                Came::Text(text) => Input::Text(text),
                Came::Other => Input::Heard,
            },
            () = tokio::time::sleep_until(due) => Input::Timer,
        };
        self.handle(input).await?;
        if self.session.is_online() && Instant::now() >= self.next_metrics {
            self.next_metrics += METRICS_EVERY;
            let metrics = self.measured();
            self.handle(Input::Send(Box::new(Frame::plain(ToServer::Metrics(Box::new(metrics)))))).await?;
        }
        Ok(())
    }

    async fn handle(&mut self, input: Input) -> anyhow::Result<()> {
        let now = self.now();
        self.session.handle(now, input);
        while let Some(output) = self.session.poll_output() {
            let now = self.now();
            match output {
                Output::Hello => self.session.handle(now, Input::Hello(Box::new(self.hello.clone()))),
                Output::Send(text) => {
                    self.line.send(&text).await?;
                    self.session.handle(now, Input::Sent);
                }
                Output::Ping => self.line.ping().await?,
                Output::Apply { state, .. } => self.apply(state),
                Output::Probe(ping) => {
                    let pong = Pong { seq: ping.seq, t_us: ping.t_us, reconcile_lag_ms: Some(0) };
                    self.session.handle(now, Input::Alive(pong));
                }
                Output::PersistToken(_) => self.session.handle(now, Input::TokenPersisted(Ok(()))),
                Output::Close { reason, .. } => bail!("the session ended: {reason}"),
                Output::Event(Event::Offline { reason, .. }) => bail!("the server sent it away: {reason}"),
                Output::Abort | Output::Stopped => bail!("the session ended"),
                Output::Connect(_) | Output::PersistSecret(_) | Output::Request(_) | Output::Event(_) => {}
            }
        }
        Ok(())
    }

    /// Everything runs at once.
    fn apply(&mut self, state: Box<DesiredState>) {
        let replicas: Vec<_> = state.replicas.iter().map(machine::running).collect();
        let before = self.state.as_ref().map_or(&[][..], |before| &before.replicas);
        let gone = before.iter().map(|it| &it.replica_id);
        let gone = gone.filter(|id| state.replicas.iter().all(|it| it.replica_id != **id));
        let applied = StateApplied {
            epoch: state.epoch.clone(),
            generation: state.generation,
            result: Outcome::Applied,
            refused_reason: None,
            sections: sections(&state),
            items: Vec::new(),
            replicas,
            removed: gone.cloned().collect(),
            net_selftest: None,
            blocks: None,
            left_volumes: None,
            duration_ms: 1,
        };
        self.seen.states.fetch_add(1, Ordering::Relaxed);
        self.seen.replicas.fetch_add(state.replicas.len() as u64, Ordering::Relaxed);
        self.seen.replicas.fetch_sub(before.len() as u64, Ordering::Relaxed);
        self.state = Some(state);
        let now = self.now();
        self.session
            .handle(now, Input::Send(Box::new(Frame::plain(ToServer::StateApplied(Box::new(applied))))));
    }

    /// What an agent of a small machine tells each half minute; every counter has moved.
    fn measured(&mut self) -> Metrics {
        self.metrics += 1;
        let n = self.metrics;
        let replicas = self.state.iter().flat_map(|state| &state.replicas).map(|spec| ReplicaMetrics {
            replica_id: spec.replica_id.clone(),
            cpu_us: 1_234_567 * n,
            mem_bytes: 23 << 20,
            mem_limit_bytes: 0,
            rx_bytes: 54_321 * n,
            tx_bytes: 12_345 * n,
            pids: 7,
        });
        let disk = DiskMetrics {
            mount: "/var/lib/docker".to_owned(),
            total_bytes: 40 << 30,
            free_bytes: (20 << 30) - 4096 * n,
            inodes_total: 2_621_440,
            inodes_free: 2_400_000,
        };
        let net = NetMetrics {
            iface: "eth0".to_owned(),
            rx_bytes: 654_321 * n,
            tx_bytes: 321_654 * n,
            rx_drops: 0,
        };
        Metrics {
            seq: n,
            at: machine::NOW.to_owned(),
            host: HostMetrics {
                cpu_busy_us: 7_654_321 * n,
                cpu_total_us: 60_000_000 * n,
                load1: 0.42,
                mem_total_bytes: 8 << 30,
                mem_available_bytes: (5 << 30) - 4096 * n,
                swap_used_bytes: 0,
                disk: vec![disk],
                net: vec![net],
            },
            engine: EngineMetrics { containers: 3, up: true, facts: None },
            agent: AgentMetrics {
                rss_bytes: 20 << 20,
                cpu_us: 50_000 * n,
                reconciles: n,
                connects: 1,
                ..AgentMetrics::default()
            },
            replicas: replicas.collect(),
            dropped_before: 0,
        }
    }
}

/// Each section went well.
fn sections(state: &DesiredState) -> BTreeMap<Section, SectionResult> {
    let result = |section: &Section| SectionResult {
        ok: true,
        hash: state.section_hashes.get(section).cloned().unwrap_or_default(),
        error: None,
    };
    Section::ALL.iter().map(|section| (*section, result(section))).collect()
}
