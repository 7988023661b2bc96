//! What is known of a host while the server runs: what it was asked, what it said, and what follows from both. No clock and
//! no lock here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use host_proto::desired::{DesiredState, Section, Volume, VolumeState};
use host_proto::generation::Mark;
use host_proto::id::{ReplicaId, VolumeId};
use host_proto::limits::MAX_REPLICAS;
use host_proto::message::{DockerFacts, Hello, LeftVolume, Metrics, StateApplied};
use host_proto::report::{ItemResult, ItemState, Outcome, ReplicaReport, ReplicaState};
use model::UnixMillis;
use model::hosting::{Phase, Subnet};
use scheduler::{Closed, Drained, Routes, Taken};

/// The host's own replicas, as they are meant.
pub(super) type Own = BTreeMap<ReplicaId, Phase>;

/// What is known of a host.
#[derive(Debug, Default, Clone)]
pub(super) struct Known {
    /// Items that did not simply succeed.
    pub(super) items: Vec<ItemResult>,
    pub(super) outcome: Option<Outcome>,
    /// The state that it said last is applied.
    applied: Option<Mark>,
    /// The state that was sent last.
    asked: Asked,
    /// What it said of that.
    answer: Option<Answer>,
    /// The routes of the state that was applied last, and where they lead.
    pub(super) routes: Routes,
    /// The networks of the state that was applied last from which nothing outside is reached.
    pub(super) closed: Closed,
    /// Replicas that nothing there leads to any more.
    pub(super) drained: Drained,
    pub(super) foreign_ports: BTreeSet<u16>,
    /// Blocks of addresses that others use there.
    pub(super) taken: Arc<[Taken]>,
    /// Volumes of ours that it has beside those of its state; `None` until it says which.
    pub(super) left_volumes: Option<Arc<[LeftVolume]>>,
    /// Those that its engine refused since it connected.
    pub(super) refused: Vec<Subnet>,
    /// Replicas that it has a container of and that are not its own.
    pub(super) unknown: BTreeSet<ReplicaId>,
    pub(super) metrics: Option<Metrics>,
    /// The engine; `None` while none answers.
    pub(super) engine: Option<DockerFacts>,
    pub(super) cpu_used: Option<f64>,
    pub(super) skew_ms: Option<i64>,
    pub(super) degraded: bool,
    pub(super) alerts: Vec<String>,
    /// Of its own replicas.
    pub(super) reports: BTreeMap<ReplicaId, ReplicaReport>,
}

/// What a state asks of a host, as far as its answer decides something.
#[derive(Debug, Default, Clone)]
pub(super) struct Asked {
    mark: Option<Mark>,
    /// Volumes that it deletes.
    deletes: Vec<VolumeId>,
    routes: Routes,
    closed: Closed,
    ways: Ways,
}

/// Replicas on their way out, which a state does not tell apart from those that it never knew.
#[derive(Debug, Default, Clone)]
pub(crate) struct Ways {
    /// Those that it does not name any more, and that the host has not said are gone.
    pub(crate) leaves: Vec<ReplicaId>,
    /// Those that it names, and leads nobody to.
    pub(crate) drains: BTreeSet<ReplicaId>,
}

/// What a host said of the state that was sent last.
#[derive(Debug, Clone, Copy)]
struct Answer {
    /// Everything about replicas was looked at, and nothing held back.
    whole: bool,
    /// Names and ports lead where the state says, through a firewall that is as it says.
    leads: bool,
}

impl Asked {
    pub(super) fn of(state: &DesiredState, ways: Ways) -> Self {
        let goes = |volume: &&Volume| volume.state == VolumeState::Delete;
        Self {
            mark: Some(Mark::new(state.epoch.clone(), state.generation)),
            deletes: state.volumes.iter().filter(goes).map(|volume| volume.id.clone()).collect(),
            routes: scheduler::desired::routes_of(state),
            closed: scheduler::desired::closed_of(state),
            ways,
        }
    }

    fn is_answered_by(&self, applied: &StateApplied) -> bool {
        let is_it = |mark: &Mark| (&mark.epoch, mark.generation) == (&applied.epoch, applied.generation);
        self.mark.as_ref().is_some_and(is_it)
    }
}

impl Answer {
    fn of(applied: &StateApplied) -> Self {
        // Without a word about a section nothing is known of what became of it.
        let is_well = |section| applied.sections.get(&section).is_some_and(|it| it.error.is_none());
        let knows = matches!(applied.result, Outcome::Applied | Outcome::Partial);
        Self {
            whole: knows && applied.refused_reason.is_none() && is_well(Section::Replicas),
            leads: is_well(Section::Routes) && is_well(Section::Dns),
        }
    }
}

impl Known {
    /// A connection begins. What operators were told and what was measured stays.
    pub(super) fn begin(&mut self, hello: &Hello, own: &Own, skew_ms: Option<i64>) {
        *self = Self {
            foreign_ports: hello.foreign.ports.iter().copied().collect(),
            taken: Taken::of(&hello.foreign.blocks),
            applied: hello.applied(),
            skew_ms,
            engine: hello.facts.docker.clone(),
            alerts: std::mem::take(&mut self.alerts),
            metrics: self.metrics.take(),
            ..Self::default()
        };
        self.strangers(hello.replicas.iter(), own);
    }

    /// A state is on its way.
    pub(super) fn asks(&mut self, asked: Asked) {
        self.asked = asked;
        self.answer = None;
    }

    /// The state that was sent last is what it should have still, and others are on their way out; whether anything new is
    /// known to be drained.
    pub(super) fn asks_the_same(&mut self, ways: Ways, now: UnixMillis) -> bool {
        self.asked.ways = ways;
        self.drain(now)
    }

    /// It applied a state, or could not; whether that says anything new.
    pub(super) fn answers(&mut self, applied: &StateApplied, now: UnixMillis) -> bool {
        let items: Vec<_> =
            applied.items.iter().filter(|it| it.state != ItemState::Applied).cloned().collect();
        let mut changed = self.items != items;
        self.items = items;
        if self.asked.is_answered_by(applied) {
            let answer = Answer::of(applied);
            self.answer = Some(answer);
            if answer.leads && self.routes != self.asked.routes {
                self.routes.clone_from(&self.asked.routes);
                changed = true;
            }
            if answer.leads && self.closed != self.asked.closed {
                self.closed.clone_from(&self.asked.closed);
                changed = true;
            }
            changed |= self.drain(now);
        }
        if let Some(taken) = applied.blocks.as_deref().map(Taken::of)
            && self.taken != taken
        {
            self.taken = taken;
            changed = true;
        }
        if let Some(left) = &applied.left_volumes
            && self.left_volumes.as_deref() != Some(left)
        {
            self.left_volumes = Some(left.as_slice().into());
            changed = true;
        }
        self.unknown.retain(|it| !applied.removed.contains(it));
        self.applied = Some(Mark::new(applied.epoch.clone(), applied.generation));
        self.outcome = Some(applied.result);
        changed
    }

    fn drain(&mut self, now: UnixMillis) -> bool {
        let drains = &self.asked.ways.drains;
        self.drained.retain(|replica, _| drains.contains(replica));
        if !self.answer.is_some_and(|answer| answer.leads) {
            return false;
        }
        let before = self.drained.len();
        for replica in drains {
            self.drained.entry(replica.clone()).or_insert(now);
        }
        self.drained.len() > before
    }

    /// Replicas that the last state leaves out are gone when the host applied it, held nothing back and said nothing of
    /// them since it connected: those that it never had, or lost in a crash, and so cannot say are removed. Of one that it
    /// said is made it has to say that it is gone.
    pub(super) fn lost(&self) -> Vec<ReplicaId> {
        if !self.answer.is_some_and(|answer| answer.whole) {
            return Vec::new();
        }
        let made = |it: &ReplicaId| self.reports.get(it).is_some_and(|report| report.container_id.is_some());
        let told = |it: &ReplicaId| self.mentions(Section::Replicas, it.as_str());
        self.asked.ways.leaves.iter().filter(|it| !made(it) && !told(it)).cloned().collect()
    }

    /// The volumes that a state deletes are gone when the host applied that state and says nothing else of them.
    pub(super) fn deleted(&self, applied: &StateApplied) -> Vec<VolumeId> {
        let is_well = applied.sections.get(&Section::Volumes).is_some_and(|it| it.error.is_none());
        if !(is_well && self.asked.is_answered_by(applied)) {
            return Vec::new();
        }
        let still = |it: &VolumeId| self.mentions(Section::Volumes, it.as_str());
        self.asked.deletes.iter().filter(|it| !still(it)).cloned().collect()
    }

    fn mentions(&self, section: Section, id: &str) -> bool {
        self.items.iter().any(|item| item.section == section && item.id == id)
    }

    /// Takes in which containers it has of replicas that are not its own: they go once it may remove so many. Whether there
    /// are others now.
    pub(super) fn strangers<'a>(
        &mut self,
        reports: impl Iterator<Item = &'a ReplicaReport>,
        own: &Own,
    ) -> bool {
        let before = self.unknown.len();
        let mut changed = false;
        self.unknown.retain(|it| !own.contains_key(it));
        for report in reports.filter(|it| !own.contains_key(&it.replica_id)) {
            let is_there = report.container_id.is_some() && report.state != ReplicaState::Removed;
            changed |= match is_there {
                true if self.unknown.len() >= MAX_REPLICAS => false,
                true => self.unknown.insert(report.replica_id.clone()),
                false => self.unknown.remove(&report.replica_id),
            };
        }
        changed || self.unknown.len() != before
    }

    /// Whether it said that it is as it was told last.
    pub(super) fn is_in_sync(&self) -> bool {
        self.answer.is_some() && self.outcome == Some(Outcome::Applied)
    }

    /// The number of the state that it applied, in the history that it is told of now.
    pub(super) fn generation(&self) -> u64 {
        let told = self.asked.mark.as_ref();
        let same = |it: &&Mark| told.is_none_or(|told| told.epoch == it.epoch);
        self.applied.as_ref().filter(same).map_or(0, |it| it.generation)
    }

    /// New counters; what of the processors was used since those before. Those of replicas are for nobody yet.
    pub(super) fn measure(&mut self, mut metrics: Metrics) {
        metrics.replicas = Vec::new();
        let before = self.metrics.replace(metrics);
        let (Some(before), Some(now)) = (before, self.metrics.as_ref()) else { return };
        let total = now.host.cpu_total_us.saturating_sub(before.host.cpu_total_us);
        let busy = now.host.cpu_busy_us.saturating_sub(before.host.cpu_busy_us);
        #[allow(clippy::cast_precision_loss, reason = "a share for people")]
        let used = (total > 0).then(|| (busy as f64 / total as f64).min(1.0));
        self.cpu_used = used.or(self.cpu_used);
    }
}

#[cfg(test)]
pub(super) mod tests;
