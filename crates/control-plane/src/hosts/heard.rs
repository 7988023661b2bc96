//! What hosts say, and what becomes of it: reports of replicas move their projects on, results of items are kept for
//! decisions and for people, lines of the host's own are stored.

use std::collections::BTreeSet;

use host_proto::id::{HostId, ReplicaId, VolumeId};
use host_proto::message::{Hello, HostLogsTail, Metrics, StateApplied};
use host_proto::report::{ReplicaReport, ReplicaState};
use model::hosting::Phase;
use store::{LinesAllowed, Reported, StoreError};

use super::Ways;
use super::known::Own;
use crate::clock;
use crate::services::Services;

/// The most alerts of a host that are kept.
const ALERTS: usize = 10;

impl Services {
    /// A host said hello: what it runs is compared with what it should have.
    pub(super) async fn heard_hello(&self, id: &HostId, hello: &Hello) -> Result<(), StoreError> {
        let own = self.replicas_of(id).await?;
        self.live.with(id, |entry| entry.known.begin(hello, &own, skew(&hello.time_at)));
        if hello.replicas_known {
            let here: BTreeSet<&ReplicaId> = hello.replicas.iter().map(|it| &it.replica_id).collect();
            self.forget_replicas(id, &own, own.keys().filter(|it| !here.contains(it))).await?;
        }
        self.heard_replicas(id, &hello.replicas).await
    }

    /// The replicas that are meant to be on a host. What it says of others is neither kept nor written.
    async fn replicas_of(&self, id: &HostId) -> Result<Own, StoreError> {
        Ok(self.store.replicas_on(id.clone()).await?.into_iter().collect())
    }

    /// A host says how replicas stand.
    pub(super) async fn heard_replicas(
        &self,
        id: &HostId,
        reports: &[ReplicaReport],
    ) -> Result<(), StoreError> {
        let now = clock::now();
        let news = self.live.news(id, reports);
        if news.is_empty() {
            return Ok(());
        }
        let own = self.replicas_of(id).await?;
        if self.live.with(id, |entry| entry.known.strangers(news.iter().copied(), &own)) {
            self.live.state_changed(id);
            self.place_again();
        }
        let news = news.into_iter().filter(|it| own.contains_key(&it.replica_id)).cloned();
        let (gone, news): (Vec<_>, Vec<_>) = news.partition(|it| it.state == ReplicaState::Removed);
        self.forget_replicas(id, &own, gone.iter().map(|it| &it.replica_id)).await?;
        self.live.keep_reports(id, &own, &news);
        if news.is_empty() {
            return Ok(());
        }
        let reports = news.into_iter().map(|report| Reported { report, since: now }).collect();
        for project in self.store.report_replicas(id.clone(), reports).await? {
            self.live.state_changed(id);
            self.look_at(project);
        }
        self.hub.hosts_changed([id.to_string()]);
        Ok(())
    }

    /// A host applied a state, or could not.
    pub(super) async fn heard_applied(&self, id: &HostId, applied: &StateApplied) -> Result<(), StoreError> {
        let now = clock::now();
        let (changed, deleted) = self.live.with(id, |entry| {
            let known = &mut entry.known;
            (known.answers(applied, now), known.deleted(applied))
        });
        if !applied.removed.is_empty() {
            let own = self.replicas_of(id).await?;
            self.forget_replicas(id, &own, applied.removed.iter()).await?;
        }
        self.heard_deleted(id, deleted).await?;
        self.forget_lost(id).await?;
        self.heard_replicas(id, &applied.replicas).await?;
        if changed {
            // A port that is open, or cannot be opened, decides about deployments.
            self.look_at_all_of(id).await?;
            // And what volumes it has, about those which wait for a place.
            self.place_again();
        }
        self.hub.hosts_changed([id.to_string()]);
        Ok(())
    }

    /// These are not there any more: those of `own` that were to go are forgotten.
    async fn forget_replicas<'a>(
        &self,
        id: &HostId,
        own: &Own,
        absent: impl Iterator<Item = &'a ReplicaId>,
    ) -> Result<(), StoreError> {
        let absent: BTreeSet<_> = absent.collect();
        self.live.with(id, |entry| entry.known.reports.retain(|replica, _| !absent.contains(replica)));
        let gone = absent.into_iter().filter(|it| own.get(*it) == Some(&Phase::Removing));
        let gone: Vec<_> = gone.cloned().collect();
        if gone.is_empty() {
            return Ok(());
        }
        let projects = self.store.replicas_gone(id.clone(), gone).await?;
        if !projects.is_empty() {
            // The networks that only they were on go next.
            self.live.state_changed(id);
        }
        projects.into_iter().for_each(|project| self.look_at(project));
        // Their ports are free for others.
        self.place_again();
        Ok(())
    }

    async fn heard_deleted(&self, id: &HostId, gone: Vec<VolumeId>) -> Result<(), StoreError> {
        if gone.is_empty() {
            return Ok(());
        }
        tracing::info!(host = %id, "host {id} has deleted {} volumes, as it was told", gone.len());
        for project in self.store.volumes_gone(id.clone(), gone).await? {
            self.look_at(project);
        }
        self.live.state_changed(id);
        Ok(())
    }

    /// The state that a host was told last says nothing new, but other replicas are on their way out.
    pub(super) async fn told_the_same(&self, id: &HostId, number: u64, ways: Ways) -> Result<(), StoreError> {
        let now = clock::now();
        if self.live.of_newest(id, number, |known| known.asks_the_same(ways, now)) == Some(true) {
            self.look_at_all_of(id).await?;
        }
        self.forget_lost(id).await
    }

    /// Forgets what a state without it has shown to be lost.
    async fn forget_lost(&self, id: &HostId) -> Result<(), StoreError> {
        let lost = self.live.with(id, |entry| entry.known.lost());
        if lost.is_empty() {
            return Ok(());
        }
        let own = self.replicas_of(id).await?;
        self.forget_replicas(id, &own, lost.iter()).await
    }

    async fn look_at_all_of(&self, id: &HostId) -> Result<(), StoreError> {
        for rows in self.store.projects_on(id.clone()).await? {
            self.look_at(rows.project.id);
        }
        Ok(())
    }

    /// A host says how much of it is in use.
    pub(super) async fn heard_metrics(&self, id: &HostId, metrics: Metrics) -> Result<(), StoreError> {
        let engine = metrics.engine.facts.clone().filter(|_| metrics.engine.up);
        // An agent that does not say what its engine is said that when it connected.
        let told = engine.is_some() || !metrics.engine.up;
        let changed = self.live.with(id, |entry| {
            entry.known.measure(metrics);
            let changed = told && entry.known.engine != engine;
            if changed {
                entry.known.engine.clone_from(&engine);
            }
            changed
        });
        if !changed {
            return Ok(());
        }
        // One that is gone for a moment is no reason to place nothing there: that is decided by what was known last.
        if let Some(engine) = engine {
            self.store.host_engine(id.clone(), engine).await?;
            self.place_again();
        }
        self.hub.hosts_changed([id.to_string()]);
        Ok(())
    }

    /// Lines of the host's own. One that says more than can be read has some of them left out, and that is said.
    pub(super) async fn heard_log(&self, id: &HostId, tail: HostLogsTail) -> Result<(), StoreError> {
        let now = self.live.now();
        let count = tail.lines.len() as u64;
        let allowed = self.live.with(id, |entry| match entry.lines.left(now) {
            0 => {
                entry.missed = entry.missed.saturating_add(count);
                None
            }
            most => Some((most, std::mem::take(&mut entry.missed))),
        });
        let Some((most, missed)) = allowed else { return Ok(()) };
        let written = self.store.add_host_log(id.clone(), tail.lines, LinesAllowed { most, missed }).await?;
        self.live.with(id, |entry| {
            entry.lines.take(now, written);
            if written == 0 {
                entry.missed = entry.missed.saturating_add(missed);
            }
        });
        Ok(())
    }

    /// Something that an operator should know about a host.
    pub(super) fn alert(&self, id: &HostId, text: String) {
        tracing::warn!(host = %id, "host {id}: {text}");
        self.live.with(id, |entry| {
            let alerts = &mut entry.known.alerts;
            alerts.retain(|it| *it != text);
            alerts.push(text);
            if alerts.len() > ALERTS {
                alerts.remove(0);
            }
        });
        self.hub.hosts_changed([id.to_string()]);
    }
}

/// How far a host's clock is ahead, in milliseconds.
fn skew(text: &str) -> Option<i64> {
    let theirs = clock::parse(text)?;
    Some(theirs.0.saturating_sub(clock::now().0))
}
