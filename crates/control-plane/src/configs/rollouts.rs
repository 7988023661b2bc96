//! The task behind rollouts. It hears which agents have news, writes down what was decided about them, and lets the
//! pure machine of each rollout say what comes next. A batch is durable before its offers leave: after a crash the
//! same agents are offered the same revision, and nobody else.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use model::assignment::{Desired, Fault, FaultKind, Rollout, Standing, Step};
use model::config::drift;
use model::{Assignment, AssignmentId, AssignmentState, ConfigState, Grant, Place, RevisionId, UnixMillis};
use opamp_proto::wire::{AgentCapabilities as Bit, EffectiveConfig, Message as _};
use opamp_proto::{InstanceUid, Part};
use opamp_server::Server;
use store::{AssignmentChange, AuditEntry, Store, StoreError};

use super::change::told;
use super::live::{at_once, live, met};
use super::plan::Known;
use super::{Configs, News, Plan};
use crate::clock;
use crate::events::Hub;
use crate::opamp::{Endpoint, LiveAgent};

/// News are collected for so long.
const COLLECT: Duration = Duration::from_millis(200);
/// Rollouts are looked at at least so often: silence is no news.
const LOOK: Duration = Duration::from_secs(2);
/// Effective configurations that are compared in one turn: each takes a fraction of a millisecond, and nobody waits.
const COMPARED: usize = 100;
/// Agents written in one go.
const WRITE_CHUNK: usize = 1000;

/// The task.
#[derive(Debug)]
pub(crate) struct Rollouts {
    pub(crate) configs: Arc<Configs>,
    pub(crate) server: Server<Endpoint>,
    pub(crate) store: Store,
    pub(crate) hub: Arc<Hub>,
    /// The machine of each rollout under way, with the target that it was made for.
    running: HashMap<AssignmentId, (RevisionId, Rollout)>,
    /// What agents said when they could not apply something, until the next step was taken.
    faults: HashMap<InstanceUid, String>,
    /// Agents whose effective configuration is to be compared with what they were given.
    comparing: VecDeque<InstanceUid>,
    /// Before this nobody could answer this server.
    started: UnixMillis,
}

impl Rollouts {
    /// A task that has not begun.
    pub(crate) fn new(configs: Arc<Configs>, server: Server<Endpoint>, store: Store, hub: Arc<Hub>) -> Self {
        Self {
            configs,
            server,
            store,
            hub,
            running: HashMap::new(),
            faults: HashMap::new(),
            comparing: VecDeque::new(),
            started: clock::now(),
        }
    }

    /// Runs for good.
    pub(crate) async fn run(mut self) {
        let mut places: HashMap<InstanceUid, Place> = HashMap::new();
        loop {
            let wait = tokio::time::timeout(LOOK, self.configs.wake.notified());
            let _ = wait.await;
            tokio::time::sleep(COLLECT).await;
            // First the machines, so that nothing is heard that nobody listens to.
            if let Err(error) = self.meet_all().await {
                tracing::warn!(error = &error as &dyn std::error::Error, "rollouts wait for the database");
                continue;
            }
            let news = std::mem::take(&mut *self.configs.news());
            for (uid, news) in news {
                self.hear(uid, news, &mut places);
            }
            self.write_down(&mut places).await;
            self.compare_some().await;
            if let Err(error) = self.turn().await {
                // What was not written was not done; the next turn tries again.
                tracing::warn!(error = &error as &dyn std::error::Error, "rollouts wait for the database");
            }
        }
    }

    /// Takes over what is new about an agent, which may be gone by now.
    fn hear(&mut self, uid: InstanceUid, news: News, places: &mut HashMap<InstanceUid, Place>) {
        let plan = self.configs.plan();
        for (id, (target, rollout)) in &mut self.running {
            let is_its = |place: &Place| place.assignment == Some(*id) && place.revision == Some(*target);
            let fault = news.fault.as_ref().filter(|place| is_its(place));
            let is_at_once = plan.assignment(*id).is_some_and(|one| one.settled == Some(*target));
            if is_at_once && !rollout.has(uid) && (fault.is_some() || is_its(&news.place)) {
                rollout.release(uid, &met(*target, news.healthy));
            }
            if let Some(fault) = fault {
                rollout.hear(uid, Standing::Failed, news.healthy);
                self.faults.insert(uid, fault.reason.clone());
            } else if news.place.assignment != Some(*id) {
                rollout.forget(uid);
            } else if let Some(standing) = news.standing {
                rollout.hear(uid, standing, news.healthy);
            }
        }
        places.insert(uid, news.place);
        let agent = self.server.agents().get(uid);
        if agent.is_some_and(|agent| agent.data().placed().as_ref().is_some_and(|placed| placed.reports_anew))
        {
            self.comparing.push_back(uid);
        }
    }

    /// Writes what was decided; what the store does not take waits.
    async fn write_down(&self, places: &mut HashMap<InstanceUid, Place>) {
        while !places.is_empty() {
            let chunk: Vec<_> =
                places.iter().take(WRITE_CHUNK).map(|(uid, place)| (*uid, place.clone())).collect();
            let uids: Vec<_> = chunk.iter().map(|(uid, _)| *uid).collect();
            if let Err(error) = self.store.place_agents(chunk).await {
                tracing::debug!(error = &error as &dyn std::error::Error, "states of configurations wait");
                return;
            }
            uids.iter().for_each(|uid| drop(places.remove(uid)));
            self.hub.changed(uids);
        }
    }

    /// Looks for drift where an agent reported what it runs. What it reported may not be stored yet: then it waits.
    async fn compare_some(&mut self) {
        let plan = self.configs.plan();
        for _ in 0..self.comparing.len().min(COMPARED) {
            let Some(uid) = self.comparing.pop_front() else { return };
            let Some(agent) = self.server.agents().get(uid) else { continue };
            let Some(revision) = self.configs.to_compare(&agent) else { continue };
            let Some(known) = plan.revision(revision).cloned() else { continue };
            let Ok(Some(effective)) = self.store.effective_config(uid).await else { continue };
            let is_current = agent
                .read(|session| session.part(Part::EffectiveConfig).is_some_and(|kept| kept.is(&effective)));
            if !is_current {
                if let Some(placed) = agent.data().placed().as_mut() {
                    placed.reports_anew = true;
                }
                self.comparing.push_back(uid);
                continue;
            }
            let compare = move || drifts(&known, &effective);
            let drifted = tokio::task::spawn_blocking(compare).await.unwrap_or(false);
            self.configs.compared(&agent, revision, drifted);
        }
    }

    /// Makes the machines of rollouts that began, and lets go of those that ended.
    async fn meet_all(&mut self) -> Result<(), StoreError> {
        let plan = self.configs.plan();
        self.running.retain(|id, (target, _)| {
            plan.assignment(*id)
                .is_some_and(|one| one.state == AssignmentState::Rolling && one.target == Some(*target))
        });
        for assignment in plan.assignments() {
            if let (AssignmentState::Rolling, Some(target)) = (assignment.state, assignment.target) {
                self.meet(&plan, assignment.id, target).await?;
            }
        }
        Ok(())
    }

    /// Lets every rollout take its next step.
    async fn turn(&mut self) -> Result<(), StoreError> {
        let plan = self.configs.plan();
        for assignment in plan.assignments() {
            match assignment.state {
                AssignmentState::Rolling => self.step(assignment.id).await?,
                AssignmentState::Clearing => self.clear(assignment.id).await?,
                _ => {}
            }
        }
        self.faults.clear();
        Ok(())
    }

    /// Makes the machine of a rollout that was begun, perhaps by an earlier start of this server. Who had applied it
    /// then is not waited for; the others get their time anew, since nobody could answer while no server ran.
    async fn meet(&mut self, plan: &Plan, id: AssignmentId, target: RevisionId) -> Result<(), StoreError> {
        let Some(assignment) = plan.assignment(id) else { return Ok(()) };
        let known = self.running.contains_key(&id);
        let mut rollout = match self.running.remove(&id) {
            Some((_, rollout)) => rollout,
            None => Rollout::new(assignment.batch_size),
        };
        let mut fresh = Vec::new();
        if !known && assignment.settled == Some(target) {
            let all = live(&self.server);
            let released = all
                .iter()
                .filter_map(|agent| Some((agent.instance_uid(), at_once(agent, assignment, target)?)));
            fresh.extend(released);
        }
        for (uid, grant) in plan.grants(id).filter(|(_, grant)| grant.revision == target) {
            match rollout.has(uid) {
                false => fresh.push((uid, *grant)),
                true if grant.forgiven => rollout.pardon(uid),
                true => {}
            }
        }
        let places = match known || assignment.settled == Some(target) {
            true => HashMap::new(),
            false => self.store.agent_places(fresh.iter().map(|(uid, _)| *uid).collect()).await?,
        };
        for (uid, grant) in fresh {
            rollout.release(uid, &Grant { at: UnixMillis(grant.at.0.max(self.started.0)), ..grant });
            let place = places.get(&uid).filter(|place| place.revision == Some(target));
            if place.is_some_and(|place| matches!(place.state, ConfigState::InSync | ConfigState::Drifted)) {
                rollout.hear(uid, Standing::Applied, None);
            }
            if let Some(agent) = self.server.agents().get(uid)
                && let Some((standing, healthy)) = self.configs.standing(&agent)
            {
                rollout.hear(uid, standing, healthy);
            }
        }
        self.running.insert(id, (target, rollout));
        Ok(())
    }

    /// One step of one rollout. The change is made from what the plan says now, under the lock of all changes.
    async fn step(&mut self, id: AssignmentId) -> Result<(), StoreError> {
        let configs = self.configs.clone();
        let _changing = configs.changing.lock().await;
        let plan = configs.plan();
        let Some(assignment) = plan.assignment(id).filter(|one| one.state == AssignmentState::Rolling) else {
            return Ok(());
        };
        // An operator may have set another revision since the machine was made: then it is not about that one.
        let running = self.running.get(&id).filter(|(target, _)| assignment.target == Some(*target));
        let Some((target, rollout)) = running else { return Ok(()) };
        let (target, now) = (*target, clock::now());
        let change = match rollout.step(now, 1) {
            Step::Wait(_) => return Ok(()),
            Step::Pause(fault) => self.pause(assignment, fault, now),
            Step::Release(_) | Step::Finish => {
                let candidates = self.candidates(id, target).await;
                match rollout.step(now, candidates.len() as u64) {
                    Step::Release(count) => release(assignment, target, candidates, count, now),
                    _ => finish(assignment, target, now),
                }
            }
        };
        self.carry_out(&configs, &plan, change).await
    }

    /// Writes a change, takes it into the plan, and tells the agents that it is about.
    async fn carry_out(
        &self,
        configs: &Arc<Configs>,
        plan: &Plan,
        change: AssignmentChange,
    ) -> Result<(), StoreError> {
        let id = change.assignment.id;
        let entry = entry(plan, &change);
        let Some(now) = self.store.change_assignment(change.clone(), entry).await? else { return Ok(()) };
        tracing::info!(
            assignment = id.0,
            state = %now.state,
            released = change.grant.len(),
            "assignment {id}: {}", in_words(&now, change.grant.len())
        );
        let mut next = plan.clone();
        next.apply(&change, now);
        next.learn(&self.store).await?;
        configs.set_plan(next);
        self.hub.assignments_changed([id]);
        match change.settle {
            true => configs.refresh_all(&self.server, id).await,
            false => change.grant.iter().for_each(|(uid, _)| {
                if let Some(agent) = self.server.agents().get(*uid) {
                    configs.refresh(&agent, id);
                }
            }),
        }
        Ok(())
    }

    fn pause(&self, assignment: &Assignment, fault: Fault, now: UnixMillis) -> AssignmentChange {
        let live = |uid| {
            let agent = self.server.agents().get(uid)?;
            let placed = agent.data().placed();
            placed.as_ref().map(|placed| placed.place.reason.clone())
        };
        let said = fault.agent.and_then(|uid| self.faults.get(&uid).cloned().or_else(|| live(uid)));
        let text = said.filter(|text| !text.is_empty()).unwrap_or_else(|| match fault.kind {
            FaultKind::HealthLost => "it was healthy before, and is not any more".to_owned(),
            FaultKind::Failed => "it could not apply it, and gave no reason".to_owned(),
            _ => "it gave no answer within five minutes".to_owned(),
        });
        let state = AssignmentState::Paused;
        let pause = Some(Fault { text, ..fault });
        AssignmentChange::of(Assignment { state, pause, updated_at: now, ..assignment.clone() })
    }

    /// The connected agents that the rollout could release, in an order that spreads a batch over the fleet.
    async fn candidates(&self, id: AssignmentId, target: RevisionId) -> Vec<(InstanceUid, bool)> {
        let server = self.server.clone();
        let look = move || {
            let mut found = Vec::new();
            server.agents().for_each(|agent| {
                if let Some(is_well) = is_candidate(agent, id, target) {
                    found.push((spread(agent.instance_uid(), id), agent.instance_uid(), is_well));
                }
            });
            found.sort_unstable();
            found.into_iter().map(|(_, uid, is_well)| (uid, is_well)).collect()
        };
        tokio::task::spawn_blocking(look).await.unwrap_or_default()
    }

    /// Ends the clearing of an assignment once everybody who had something from it gave it back.
    async fn clear(&self, id: AssignmentId) -> Result<(), StoreError> {
        let mut open = false;
        self.server.agents().for_each(|agent| {
            let desired = agent.data().placed().as_ref().map(|placed| placed.desired);
            if desired == Some(Desired::Clear(id)) {
                let standing = self.configs.standing(agent);
                open |= !matches!(
                    standing,
                    Some((Standing::Applied | Standing::Failed | Standing::Unanswered, _))
                );
            }
        });
        let away = self.store.assignment_counts().await?;
        // Who never had anything from it has nothing to give back.
        let has_nothing = |state| matches!(state, ConfigState::Unmanaged | ConfigState::NotConfigurable);
        let is_open = |count: &store::AssignmentCount| {
            count.assignment == id
                && !count.connected
                && !has_nothing(count.state)
                && (count.revision.is_some() || count.state != ConfigState::InSync)
        };
        if open || away.iter().any(is_open) {
            return Ok(());
        }
        let configs = &self.configs;
        let _changing = configs.changing.lock().await;
        let entry = AuditEntry::of_system(clock::now(), "assignment.cleared", format!("assignment/{id}"));
        self.store.delete_assignment(id, entry).await?;
        let mut next = Plan::clone(&configs.plan());
        next.remove(id);
        configs.set_plan(next);
        self.hub.assignments_changed([id]);
        configs.decide_all(&self.server).await;
        Ok(())
    }
}

/// Whether a rollout could release an agent: it is this assignment's, takes configurations, is heard, and is to run
/// something else so far. The value: whether it is well.
fn is_candidate(agent: &LiveAgent, id: AssignmentId, target: RevisionId) -> Option<bool> {
    let data = agent.data();
    let desired = data.placed().as_ref().map(|placed| placed.desired)?;
    let is_its = desired.assignment() == Some(id) && desired.revision() != Some(target);
    let takes = agent.read(|session| session.capabilities().has(Bit::AcceptsRemoteConfig));
    (is_its && takes && !data.is_silent()).then(|| data.health() != Some(false))
}

/// A number that has nothing to do with where and when an agent was made.
fn spread(uid: InstanceUid, id: AssignmentId) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64 ^ id.0.cast_unsigned();
    for byte in uid.as_bytes() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}

/// Whether an agent that says that it runs a revision runs something else.
fn drifts(known: &Known, effective: &Bytes) -> bool {
    let effective = EffectiveConfig::decode(effective.clone()).ok().and_then(|config| config.config_map);
    let found = known.files.as_ref().zip(effective).and_then(|(files, effective)| drift(files, &effective));
    found.is_some_and(|found| !found.is_empty())
}

fn release(
    assignment: &Assignment,
    target: RevisionId,
    candidates: Vec<(InstanceUid, bool)>,
    count: u64,
    now: UnixMillis,
) -> AssignmentChange {
    let batch = assignment.batches + 1;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let grant = candidates.into_iter().take(count).map(|(uid, was_healthy)| {
        (uid, Grant { revision: target, batch, was_healthy, forgiven: false, at: now })
    });
    let grant = grant.collect();
    let assignment = Assignment { batches: batch, updated_at: now, ..assignment.clone() };
    AssignmentChange { grant, ..AssignmentChange::of(assignment) }
}

fn finish(assignment: &Assignment, target: RevisionId, now: UnixMillis) -> AssignmentChange {
    let assignment = Assignment {
        state: AssignmentState::Done,
        settled: Some(target),
        target: None,
        pause: None,
        updated_at: now,
        ..assignment.clone()
    };
    AssignmentChange { settle: true, ..AssignmentChange::of(assignment) }
}

/// What the rollout itself does stands in the audit trail too.
fn entry(plan: &Plan, change: &AssignmentChange) -> AuditEntry {
    let to = &change.assignment;
    let action = match to.state {
        AssignmentState::Done => "assignment.done",
        AssignmentState::Paused => "assignment.pause",
        _ => "assignment.release",
    };
    let before = plan.assignment(to.id).map(|from| told(plan, from));
    let mut after = told(plan, to);
    after["released"] = change.grant.len().into();
    AuditEntry::of_system(to.updated_at, action, format!("assignment/{}", to.id)).with(before, Some(after))
}

fn in_words(assignment: &Assignment, released: usize) -> String {
    match (&assignment.state, &assignment.pause) {
        (AssignmentState::Rolling, _) => format!("batch {} with {released} agents", assignment.batches),
        (AssignmentState::Paused, Some(fault)) => {
            let agent = fault.agent.map(|uid| format!(" on agent {uid}")).unwrap_or_default();
            format!("paused, {}{agent}: {}", fault.kind.as_str(), fault.text)
        }
        (state, _) => state.to_string(),
    }
}
