//! The task behind rollouts. It hears which agents have news, writes down what was decided about them, and lets the
//! pure machine of each rollout say what comes next. A batch is durable before its offers leave: after a crash the
//! same agents are offered the same revision, and nobody else.

mod candidates;
mod compare;
mod meet;
mod steps;

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::assignment::{FaultKind, Rollout, Standing, Step};
use model::{AssignmentId, AssignmentState, ConfigState, Place, RevisionId, UnixMillis};
use opamp_proto::InstanceUid;
use opamp_server::Server;
use store::{AssignmentChange, Store, StoreError};

use super::live::met;
use super::{AllNews, Configs, News, Plan};
use crate::clock;
use crate::events::Hub;
use crate::opamp::Endpoint;
use steps::{entry, finish, in_words, release};

/// News are collected for so long.
const COLLECT: Duration = Duration::from_millis(200);
/// Rollouts are looked at at least so often: silence is no news.
const LOOK: Duration = Duration::from_secs(2);
/// How long a state that passes by itself may wait for what comes after it.
const PASSING: Duration = Duration::from_secs(1);
/// Agents written in one go.
const WRITE_CHUNK: usize = 4000;

/// What is to be written about agents, and since when.
type Places = HashMap<InstanceUid, (Place, Instant)>;

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
    /// A table for news, empty.
    heard: AllNews,
    /// Agents whose effective configuration is to be compared with what they were given.
    comparing: VecDeque<InstanceUid>,
    /// Before this nobody could answer this server.
    started: UnixMillis,
    /// When it was looked last who is there.
    looked: Instant,
    /// How long agents that left are waited for.
    absence: Option<Duration>,
}

impl Rollouts {
    /// A task that has not begun.
    pub(crate) fn new(
        configs: Arc<Configs>,
        server: Server<Endpoint>,
        store: Store,
        hub: Arc<Hub>,
        absence: Option<Duration>,
    ) -> Self {
        Self {
            configs,
            server,
            store,
            hub,
            running: HashMap::new(),
            faults: HashMap::new(),
            heard: AllNews::new(),
            comparing: VecDeque::new(),
            started: clock::now(),
            looked: Instant::now(),
            absence,
        }
    }

    /// Runs for good.
    pub(crate) async fn run(mut self) {
        let mut places = Places::new();
        loop {
            let look = if places.is_empty() { LOOK } else { PASSING / 2 };
            let wait = tokio::time::timeout(look, self.configs.wake.notified());
            let _ = wait.await;
            tokio::time::sleep(COLLECT).await;
            // First the machines, so that nothing is heard that nobody listens to.
            if let Err(error) = self.meet_all().await {
                tracing::warn!(error = &error as &dyn std::error::Error, "rollouts wait for the database");
                continue;
            }
            self.hear_all(&mut places);
            self.write_down(&mut places).await;
            self.configs.decide_damped(&self.server);
            self.compare_some().await;
            if self.looked.elapsed() >= LOOK {
                self.look_around();
            }
            if let Err(error) = self.turn().await {
                // What was not written was not done; the next turn tries again.
                tracing::warn!(error = &error as &dyn std::error::Error, "rollouts wait for the database");
            }
        }
    }

    /// Takes over what is new. The table is used again while there are news: to make one for a whole fleet in each turn
    /// costs more than what is done with it.
    fn hear_all(&mut self, places: &mut Places) {
        let mut news = std::mem::take(&mut self.heard);
        std::mem::swap(&mut news, &mut *self.configs.news());
        if news.is_empty() {
            return;
        }
        let plan = self.configs.plan();
        for (uid, news) in news.drain() {
            self.hear(&plan, uid, news, places);
        }
        self.heard = news;
    }

    /// Takes over what is new about an agent, which may be gone by now.
    fn hear(&mut self, plan: &Plan, uid: InstanceUid, news: News, places: &mut Places) {
        for (id, (target, rollout)) in &mut self.running {
            let is_its = |place: &Place| place.assignment == Some(*id) && place.revision == Some(*target);
            let fault = news.fault.as_deref().filter(|place| is_its(place));
            let is_at_once = plan.assignment(*id).is_some_and(|one| one.settled == Some(*target));
            if is_at_once && !rollout.has(uid) && (fault.is_some() || is_its(&news.place)) {
                rollout.release(uid, &met(*target, news.healthy));
            }
            if let Some(fault) = fault {
                rollout.hear(uid, Standing::Failed, news.healthy);
                self.faults.insert(uid, fault.reason.clone());
            } else if news.place.assignment != Some(*id) {
                rollout.forget(uid);
            } else if let Some(standing) = news.standing.filter(|_| is_its(&news.place)) {
                // How it stood with another revision says nothing about this one.
                rollout.hear(uid, standing, news.healthy);
            }
        }
        match places.entry(uid) {
            Entry::Occupied(mut known) => known.get_mut().0 = news.place,
            Entry::Vacant(free) => drop(free.insert((news.place, Instant::now()))),
        }
        if news.reports_anew {
            self.comparing.push_back(uid);
        }
    }

    /// Writes what was decided; what the store does not take waits. So does for a moment what will be something else in
    /// the next: most agents answer an offer at once, and then only their answer is written.
    async fn write_down(&self, places: &mut Places) {
        let is_passing = |place: &Place| {
            matches!(place.state, ConfigState::Offered | ConfigState::Applying) && place.reason.is_empty()
        };
        let is_due = |(place, since): &(Place, Instant)| !is_passing(place) || since.elapsed() >= PASSING;
        let due = places.iter().filter(|(_, waiting)| is_due(waiting));
        let due: Vec<_> = due.map(|(uid, (place, _))| (*uid, place.clone())).collect();
        for chunk in due.chunks(WRITE_CHUNK) {
            let written = match self.note_failures(chunk).await {
                Ok(()) => self.store.place_agents(chunk.to_vec()).await,
                Err(error) => Err(error),
            };
            if let Err(error) = written {
                tracing::debug!(error = &error as &dyn std::error::Error, "states of configurations wait");
                return;
            }
            chunk.iter().for_each(|(uid, _)| drop(places.remove(uid)));
            self.hub.changed(chunk.iter().map(|(uid, _)| *uid));
        }
    }

    /// Remembers who fails since when. What failed before this start is looked up.
    async fn note_failures(&self, chunk: &[(InstanceUid, Place)]) -> Result<(), StoreError> {
        let failures = &self.configs.failures;
        let is_new = |(uid, place): &&(_, Place)| place.state == ConfigState::Failed && !failures.knows(*uid);
        let new: Vec<_> = chunk.iter().filter(is_new).map(|(uid, _)| *uid).collect();
        let stood = match new.is_empty() {
            true => HashMap::new(),
            false => self.store.agent_places(new).await?,
        };
        let now = clock::now();
        chunk.iter().for_each(|(uid, place)| failures.note(*uid, place, stood.get(uid), now));
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
        let mut next = rollout.step(now, 1);
        if matches!(&next, Step::Pause(fault) if fault.kind == FaultKind::NoAnswer) {
            // Unless it left a moment ago.
            self.look_around();
            let Some((_, rollout)) = self.running.get(&id) else { return Ok(()) };
            next = rollout.step(now, 1);
        }
        let Some((_, rollout)) = self.running.get(&id) else { return Ok(()) };
        let change = match next {
            Step::Wait(_) => return Ok(()),
            Step::Pause(fault) => self.pause(assignment, fault, now).await?,
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
            true => Configs::refresh_all(&self.server, id).await,
            false => {
                let granted = change.grant.iter().filter_map(|(uid, _)| self.server.agents().get(*uid));
                Configs::refresh_some(&self.server, granted.collect(), id).await;
            }
        }
        Ok(())
    }
}
