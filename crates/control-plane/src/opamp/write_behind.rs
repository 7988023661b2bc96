//! The task that writes behind: every second, or sooner when much has changed, what agents reported goes to the
//! store in one transaction. What the store does not take is kept and tried again, and goes first.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use opamp_proto::InstanceUid;
use opamp_server::{CloseReason, Server};
use store::{AgentWrite, Store, StoreError, WriteReport};
use tokio::sync::watch;
use tokio::time::Instant;

use super::endpoint::Endpoint;
use super::outgoing::{FULL_BATCH, Outgoing, merge};
use crate::events::Hub;

/// The longest pause between two attempts while the store fails.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How long the last attempt may take at shutdown.
const LAST_ATTEMPT: Duration = Duration::from_secs(5);

/// What is written in one transaction.
type Batch = Arc<[Arc<AgentWrite>]>;

/// Writes behind.
#[derive(Debug)]
pub(crate) struct WriteBehind {
    pub(crate) store: Store,
    pub(crate) server: Server<Endpoint>,
    pub(crate) outgoing: Arc<Outgoing>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) interval: Duration,
    /// What the store did not take.
    pub(crate) kept: Vec<Arc<AgentWrite>>,
}

impl WriteBehind {
    /// Runs until `shutdown` is true, then writes what is left.
    pub(crate) async fn run(mut self, mut shutdown: watch::Receiver<bool>) {
        let mut pause = self.interval;
        loop {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.outgoing.full(), if self.kept.is_empty() => {}
                _ = shutdown.wait_for(|stop| *stop) => break,
            }
            pause = if self.turn().await { self.interval } else { (pause * 2).min(LONGEST_PAUSE) };
        }
        let until = Instant::now() + LAST_ATTEMPT;
        while !self.turn().await {
            if Instant::now() >= until {
                tracing::error!(
                    agents = self.kept.len(),
                    "changes of {} agents could not be written",
                    self.kept.len()
                );
                return;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Writes what waits; whether the store took it.
    async fn turn(&mut self) -> bool {
        let fresh = self.outgoing.drain();
        self.keep(fresh);
        while !self.kept.is_empty() {
            let rest = self.kept.split_off(self.kept.len().min(FULL_BATCH));
            let batch: Batch = std::mem::replace(&mut self.kept, rest).into();
            let begun = Instant::now();
            let outcome = self.store.write_shared(batch.clone()).await;
            self.server.handler().counters.written(begun.elapsed());
            match outcome {
                Ok(report) => self.written(&batch, &report),
                Err(error) => {
                    self.failed(&batch, &error);
                    return false;
                }
            }
        }
        self.outgoing.caught_up();
        true
    }

    /// Puts fresh changes behind those that the store did not take, one for each session of an agent.
    fn keep(&mut self, fresh: Vec<Arc<AgentWrite>>) {
        if self.kept.is_empty() {
            self.kept = fresh;
            return;
        }
        let mut places: HashMap<_, _> =
            self.kept.iter().enumerate().map(|(place, write)| ((write.uid, write.epoch), place)).collect();
        for write in fresh {
            match places.get(&(write.uid, write.epoch)) {
                Some(place) => {
                    let before = [(*self.kept[*place]).clone(), (*write).clone()];
                    merge(Arc::make_mut(&mut self.kept[*place]), Arc::unwrap_or_clone(write));
                    self.outgoing.replaced(&before, &self.kept[*place]);
                }
                None => {
                    places.insert((write.uid, write.epoch), self.kept.len());
                    self.kept.push(write);
                }
            }
        }
    }

    fn written(&self, batch: &Batch, report: &WriteReport) {
        self.outgoing.done(batch.iter().map(Arc::as_ref));
        if self.outgoing.is_failing() {
            tracing::info!("the database takes writes again");
            self.outgoing.set_failing(false);
        }
        let replaced = report.replaced.iter().flat_map(|replaced| [replaced.old, replaced.new]);
        self.hub.changed(batch.iter().map(|write| write.uid).chain(replaced));
        for uid in &report.unknown {
            self.let_enrol_again(*uid);
        }
    }

    /// The row is gone: the agent was forgotten while it was coming back.
    fn let_enrol_again(&self, uid: InstanceUid) {
        if let Some(agent) = self.server.agents().get(uid) {
            tracing::info!(agent = %uid, "agent {uid} was forgotten and must enrol again");
            self.server.end(&agent, CloseReason::GoingAway);
        }
    }

    fn failed(&mut self, batch: &Batch, error: &StoreError) {
        if !self.outgoing.is_failing() {
            tracing::error!(
                error = error as &dyn std::error::Error,
                "the database takes no writes; what agents report is kept in memory, new agents are asked to wait"
            );
        }
        self.outgoing.set_failing(true);
        let rest = std::mem::replace(&mut self.kept, batch.to_vec());
        self.kept.extend(rest);
    }
}
