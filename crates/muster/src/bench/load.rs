//! The loads themselves: agents are brought up, put to work for a while, and counted. What the server pays for it is
//! measured by `measure`; nothing here looks at the server's process.

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::Context;
use tokio::time::{Instant, sleep_until, timeout};

use super::{
    agent::{Agent, Transport},
    message::Kind,
    target::Target,
};

/// An answer that takes longer counts as lost.
const PATIENCE: Duration = Duration::from_secs(20);
/// How many agents connect at the same time.
const CONNECTING: usize = 64;

/// What has happened so far; shared by all agents of a run.
#[derive(Debug, Default)]
pub(super) struct Counts {
    done: AtomicU64,
    errors: AtomicU64,
    first_error: Mutex<Option<String>>,
}

impl Counts {
    /// Messages or joins that were answered as they should be.
    pub(super) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// How many failed, and the first failure.
    pub(super) fn errors(&self) -> (u64, Option<String>) {
        let first = self.first_error.lock().map(|text| text.clone()).unwrap_or_default();
        (self.errors.load(Ordering::Relaxed), first)
    }

    fn failed(&self, error: &anyhow::Error) {
        self.errors.fetch_add(1, Ordering::Relaxed);
        if let Ok(mut first) = self.first_error.lock() {
            first.get_or_insert_with(|| format!("{error:#}"));
        }
    }

    /// Counts an attempt; says whether it succeeded.
    fn count(&self, result: anyhow::Result<()>) -> bool {
        match result {
            Ok(()) => {
                self.done.fetch_add(1, Ordering::Relaxed);
                true
            }
            Err(error) => {
                self.failed(&error);
                false
            }
        }
    }
}

async fn patient<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    timeout(PATIENCE, work).await.context("the server did not answer in time")?
}

/// Brings up `count` agents, each with its full report answered. Any failure ends the run: a load on fewer agents
/// than asked for would be a wrong figure.
pub(super) async fn bring_up(
    target: &Target,
    transport: Transport,
    count: usize,
) -> anyhow::Result<Vec<Agent>> {
    let mut joining = Vec::new();
    for worker in 0..CONNECTING.min(count) {
        let target = target.clone();
        let share = count / CONNECTING + usize::from(worker < count % CONNECTING);
        joining.push(tokio::spawn(async move {
            let mut random = fastrand::Rng::with_seed(getrandom::u64()?);
            let mut agents = Vec::with_capacity(share);
            for _ in 0..share {
                agents.push(patient(joined(&target, transport, &mut random)).await?);
            }
            anyhow::Ok(agents)
        }));
    }
    let mut agents = Vec::with_capacity(count);
    for worker in joining {
        agents.extend(worker.await??);
    }
    Ok(agents)
}

/// Brings up agents that take remote configurations.
pub(super) async fn bring_up_configurable(target: &Target, count: usize) -> anyhow::Result<Vec<Agent>> {
    let mut random = fastrand::Rng::with_seed(getrandom::u64()?);
    let mut agents = Vec::with_capacity(count);
    for _ in 0..count {
        let join = async {
            let agent = Agent::connect(target, Transport::WebSocket, &mut random).await?;
            let mut agent = agent.configurable();
            agent.report(target).await?;
            anyhow::Ok(agent)
        };
        agents.push(patient(join).await?);
    }
    Ok(agents)
}

/// Lets the agents do what they are offered until the task is ended. Counted is each offer whose answer was sent.
pub(super) fn obey(agents: Vec<Agent>, target: &Target, counts: &Arc<Counts>) -> tokio::task::JoinSet<()> {
    let mut living = tokio::task::JoinSet::new();
    for mut agent in agents {
        let (target, counts) = (target.clone(), counts.clone());
        living.spawn(async move {
            loop {
                match agent.obey(&target).await {
                    Ok(true) => drop(counts.count(Ok(()))),
                    Ok(false) => {}
                    Err(error) => return counts.failed(&error),
                }
            }
        });
    }
    living
}

async fn joined(target: &Target, transport: Transport, random: &mut fastrand::Rng) -> anyhow::Result<Agent> {
    let mut agent = Agent::connect(target, transport, random).await?;
    agent.report(target).await?;
    Ok(agent)
}

/// Each agent sends its next message as soon as the last one is answered, until `end`. Returns the agents that are
/// still well.
pub(super) async fn closed_loop(
    agents: Vec<Agent>,
    target: &Target,
    kind: Kind,
    counts: &Arc<Counts>,
    end: Instant,
) -> Vec<Agent> {
    let mut working = Vec::with_capacity(agents.len());
    for mut agent in agents {
        let mut message = agent.repeated(target, kind);
        let counts = counts.clone();
        working.push(tokio::spawn(async move {
            while Instant::now() < end {
                if !counts.count(patient(agent.say(&mut message)).await) {
                    return None;
                }
            }
            Some(agent)
        }));
    }
    let mut well = Vec::new();
    for worker in working {
        well.extend(worker.await.ok().flatten());
    }
    well
}

/// So many new agents come, report in full, are answered and leave.
pub(super) async fn come_and_go(target: &Target, count: usize, counts: &Arc<Counts>) -> anyhow::Result<()> {
    let seed = getrandom::u64()?;
    let mut workers = tokio::task::JoinSet::new();
    for worker in 0..CONNECTING.min(count) {
        let (target, counts) = (target.clone(), counts.clone());
        let share = count / CONNECTING + usize::from(worker < count % CONNECTING);
        let mut random = fastrand::Rng::with_seed(seed.wrapping_add(worker as u64));
        workers.spawn(async move {
            for _ in 0..share {
                let join = async { joined(&target, Transport::WebSocket, &mut random).await?.leave().await };
                patient(join).await?;
                counts.count(Ok(()));
            }
            anyhow::Ok(())
        });
    }
    while let Some(worker) = workers.join_next().await {
        worker??;
    }
    Ok(())
}

/// New agents come, report in full, are answered and leave, `side_by_side` at a time, until `end`.
pub(super) async fn joins(
    target: &Target,
    side_by_side: usize,
    counts: &Arc<Counts>,
    end: Instant,
) -> anyhow::Result<()> {
    let seed = getrandom::u64()?;
    let workers: Vec<_> = (0..side_by_side)
        .map(|worker| {
            let (target, counts) = (target.clone(), counts.clone());
            let mut random = fastrand::Rng::with_seed(seed.wrapping_add(worker as u64));
            tokio::spawn(async move {
                while Instant::now() < end {
                    let join =
                        async { joined(&target, Transport::WebSocket, &mut random).await?.leave().await };
                    if !counts.count(patient(join).await) {
                        // A server in trouble is not hammered.
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await?;
    }
    Ok(())
}

/// Idle agents, each with one heartbeat per `interval`, spread evenly over it, until `end`.
pub(super) async fn fleet(
    agents: Vec<Agent>,
    target: &Target,
    counts: &Arc<Counts>,
    interval: Duration,
    end: Instant,
) {
    let (start, total) = (Instant::now(), agents.len().max(1) as u32);
    let mut living = Vec::with_capacity(agents.len());
    for (index, mut agent) in agents.into_iter().enumerate() {
        let mut message = agent.repeated(target, Kind::Heartbeat);
        let counts = counts.clone();
        let mut next = start + interval * index as u32 / total;
        living.push(tokio::spawn(async move {
            while next < end {
                if let Some(error) = idle_until(&mut agent, next).await {
                    return counts.failed(&error);
                }
                if !counts.count(patient(agent.say(&mut message)).await) {
                    return;
                }
                next += interval;
            }
            if let Some(error) = idle_until(&mut agent, end).await {
                counts.failed(&error);
            }
        }));
    }
    for agent in living {
        let _ = agent.await;
    }
}

/// Keeps the agents connected and quiet until `end`.
pub(super) async fn idle(agents: Vec<Agent>, counts: &Arc<Counts>, end: Instant) {
    let living: Vec<_> = agents
        .into_iter()
        .map(|mut agent| {
            let counts = counts.clone();
            tokio::spawn(async move {
                if let Some(error) = idle_until(&mut agent, end).await {
                    counts.failed(&error);
                }
            })
        })
        .collect();
    for agent in living {
        let _ = agent.await;
    }
}

async fn idle_until(agent: &mut Agent, moment: Instant) -> Option<anyhow::Error> {
    let mut idling = pin!(agent.idle());
    tokio::select! {
        () = sleep_until(moment) => None,
        error = &mut idling => Some(error),
    }
}
