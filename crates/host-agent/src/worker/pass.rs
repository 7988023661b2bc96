//! One pass: look, plan, begin what is to be done, phase by phase, and say how it ended.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use host_drivers::docker::Look;
use host_drivers::health::targets;
use host_proto::desired::{DesiredState, Section};
use host_proto::id::ReplicaId;
use host_proto::limits::{LEFT_VOLUMES, TAKEN_BLOCKS};
use host_proto::message::{HostLogLevel, HostLogSource, ToServer};
use host_proto::report::{ItemResult, ItemState, ReplicaReport, ReplicaState};
use reconcile::adoption::{take_blocks, with_unclaimed};
use reconcile::images::pull_name;
use reconcile::report::{Sight, reports};
use reconcile::{Actual, Allowed, Item, Memory, Phase, Plan, Run, Seen, Step, has_room, plan};
use tokio::task::AbortHandle;

use super::{Done, LISTS_EVERY, Running, SWEEP_EVERY, Worker};
use crate::handles::Snapshot;
use crate::hostlog::{About, HostLog};
use crate::images::{EngineShelf, needed};
use crate::report::Pass;

/// So many passes in a row that changed something begin at once.
const RESTLESS: u32 = 20;
/// An engine or a netd that does not answer is asked again after this.
const SOON: Duration = Duration::from_secs(2);
/// Those after them wait so long.
const CALM: Duration = Duration::from_secs(2);

impl Worker {
    /// Begins a pass. One that is under way is given up for it; its steps go on to their end.
    pub(super) async fn pass(&mut self) {
        let began = self.parts.clock.now();
        self.passes += 1;
        self.next_pass = began + self.every;
        let mut look = std::mem::take(&mut self.look);
        self.ended.clear();
        look.lists |= self.passes % LISTS_EVERY == 1;
        // A list of many containers takes the engine longer than to make one more. What is planned from an old one is
        // looked at afterwards, as all that is done is.
        let (hurry, rested) = (std::mem::take(&mut self.hurry), std::mem::take(&mut self.rested));
        look.recent = hurry && rested && !look.lists && look.suspects.is_empty();
        let recent = look.recent;
        let state = self.wanted.as_ref().map(|wanted| wanted.state.clone());
        // The firewall follows from the state alone, so it need not wait for the look.
        let (mut actual, firewall) = tokio::join!(
            self.parts.engines.observe(state.as_ref(), &look),
            self.parts.net.firewall(state.as_deref()),
        );
        self.take_in(&actual, look);
        let state = self.adopt(&mut actual).or(state);
        let now = self.parts.clock.now();
        self.crashes.observe(now, &actual);
        self.ask_replicas(state.as_deref(), &actual).await;
        actual.set_health(&self.prober.states().borrow());
        self.give_up_pulls(state.as_deref());
        let plan = self.decide(&actual);
        let memory = &mut self.memory;
        let busy = |item: &Item| plan.mentions(item);
        memory.keep(busy);
        if !plan.is_idle() {
            tracing::debug!("{plan}");
        }
        let changed = !plan.is_idle();
        self.run = Some(Running {
            run: Run::new(plan.clone()),
            plan,
            actual: Arc::new(actual),
            phase: 0,
            began,
            firewall,
            firewall_error: None,
            net_items: Vec::new(),
            changed,
            recent,
        });
        self.publish();
        self.advance().await;
    }

    /// Whether the engine answered, and what to do when it did not.
    fn take_in(&mut self, actual: &Actual, look: Look) {
        match &actual.containers {
            Seen::Unknown(reason) => {
                if !std::mem::replace(&mut self.engine_down, true) {
                    self.complain(&format!("the container engine does not answer: {reason}"));
                }
                // What was to be looked at closely still is, and soon.
                self.look = Look { lists: true, ..look };
                self.next_pass = self.parts.clock.now() + SOON;
            }
            Seen::Known(_) => {
                if std::mem::replace(&mut self.engine_down, false) {
                    tracing::info!("the container engine answers again");
                }
            }
        }
    }

    /// What nobody claims is served as long as it is there. The firewall follows in the next pass: it was open for more.
    fn adopt(&mut self, actual: &mut Actual) -> Option<Arc<DesiredState>> {
        let moving = moving(&self.ended, &self.memory);
        let wanted = self.wanted.as_mut()?;
        let unclaimed = wanted.told.unclaimed.as_ref()?;
        let seen = actual.containers.known()?;
        let adopted = with_unclaimed(&wanted.told.state, unclaimed, Some(seen), moving);
        take_blocks(&adopted, &wanted.told.state, actual, TAKEN_BLOCKS);
        wanted.unclaimed = adopted.unclaimed;
        if *wanted.state != adopted.state {
            wanted.state = Arc::new(adopted.state);
            self.due = true;
        }
        Some(wanted.state.clone())
    }

    /// Those replicas whose check is the host's are asked by a task of its own.
    async fn ask_replicas(&mut self, state: Option<&DesiredState>, actual: &Actual) {
        let Some(state) = state.filter(|_| actual.containers.known().is_some()) else { return };
        let targets = targets(state, actual);
        if self.asked != targets {
            self.asked.clone_from(&targets);
            self.prober.ask(targets).await;
        }
    }

    /// Images that the state does not need any more are not waited for: their places are others'.
    fn give_up_pulls(&self, state: Option<&DesiredState>) {
        let Some(state) = state else { return };
        let needed = |image: &str| state.replicas.iter().any(|spec| pull_name(&spec.image) == image);
        for (item, task) in self.under_way.values() {
            if let Item::Image(image) = item
                && !needed(image)
            {
                task.abort();
            }
        }
    }

    fn decide(&self, actual: &Actual) -> Plan {
        let Some(wanted) = &self.wanted else { return Plan::default() };
        let allowed = Allowed {
            fresh: wanted.fresh,
            adopt: wanted.told.adopt || wanted.state.adopt,
            removals: wanted.state.removals,
            unclaimed: wanted.unclaimed.clone(),
        };
        plan(&wanted.state, actual, &allowed, &self.memory, self.parts.clock.now())
    }

    /// Begins what can begin, and goes from phase to phase (STATE-2). Nothing before the state is on the disk (STATE-3).
    pub(super) async fn advance(&mut self) {
        if self.kept.is_some() {
            return;
        }
        loop {
            let Some(running) = &mut self.run else { return };
            let Some(phase) = Self::phase(running) else { return self.finish() };
            loop {
                let under_way = self.under_way.values().map(|(item, _)| item);
                let Some(step) = running.run.next(phase, |item| has_room(under_way.clone(), item)) else {
                    break;
                };
                let item = step.item.clone();
                self.memory.begin(&item);
                let task = begin(&mut self.steps, &self.parts.engines, self.wanted.as_ref(), step);
                self.under_way.insert(task.id(), (item, task));
            }
            if !running.run.is_over(phase) {
                return;
            }
            running.phase += 1;
            match phase {
                Phase::Networks => self.firewall(),
                Phase::Files => self.lead_away().await,
                Phase::Replicas => {
                    self.serve().await;
                    self.parts.net.look_at_docker().await;
                }
                Phase::Volumes | Phase::Cleanup => {}
            }
        }
    }

    /// R34: before anything is attached. Without it nothing goes on: a container would stand open.
    fn firewall(&mut self) {
        let Some(running) = &mut self.run else { return };
        match std::mem::replace(&mut running.firewall, Ok(Vec::new())) {
            Ok(items) => running.net_items.extend(items),
            Err(error) => {
                running.phase = Phase::ALL.len();
                running.firewall_error = Some(error.clone());
                self.complain(&format!("the firewall is not in place, so nothing is started: {error}"));
            }
        }
    }

    /// A host that was away may be told that a replica goes without ever having been told that another took its place.
    async fn lead_away(&mut self) {
        let stops = self.run.as_ref().is_some_and(|running| running.plan.stops_any());
        if let (true, Some(wanted)) = (stops, &self.wanted) {
            let state = wanted.state.clone();
            self.parts.net.lead_away(&state).await;
        }
    }

    async fn serve(&mut self) {
        let Some(state) = self.wanted.as_ref().map(|wanted| wanted.state.clone()) else { return };
        let items = self.parts.net.serve(&state).await;
        self.tell_ports(&items);
        if self.parts.net.down.is_some() {
            self.next_pass = self.next_pass.min(self.parts.clock.now() + SOON);
        }
        if let Some(running) = &mut self.run {
            running.net_items.extend(items);
        }
    }

    /// What cannot be carried stands in the host's log once, until it is another.
    fn tell_ports(&mut self, items: &[ItemResult]) {
        let is_bad = |it: &&ItemResult| matches!(it.state, ItemState::Failed | ItemState::Refused);
        let bad: BTreeSet<String> = items.iter().filter(is_bad).map(in_words).collect();
        for text in bad.difference(&self.bad_ports) {
            tracing::warn!("{text}");
            self.parts.log.push(HostLogLevel::Error, HostLogSource::Net, About::default(), text);
        }
        self.bad_ports = bad;
    }

    /// Everything of the plan ended. When it changed something, another look says whether all is well.
    fn finish(&mut self) {
        self.publish();
        let Some(running) = self.run.take() else { return };
        let now = self.parts.clock.now();
        let took = now.since(running.began);
        self.parts.seen.send_modify(|snapshot| {
            snapshot.reconciles += 1;
            snapshot.reconciles_with_changes += u64::from(running.changed);
            snapshot.reconcile_last_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        });
        if running.recent {
            self.due = true;
            return;
        }
        if running.changed && running.firewall_error.is_none() {
            // A plan that is never done, by a fault of ours or of the engine's, must not keep the host busy.
            self.restless += 1;
            if self.restless > RESTLESS {
                self.next_pass = now + CALM;
            } else {
                self.due = true;
            }
            return;
        }
        self.restless = 0;
        if !self.ended.is_empty() {
            // The look is older than what became of them.
            self.due = true;
        } else if self.steps.is_empty() {
            self.rested = running.actual.containers.known().is_some();
            self.settled(running);
        }
    }

    /// Nothing begins any more: how it stands is told.
    fn settled(&mut self, running: Running) {
        let Some(wanted) = &self.wanted else { return };
        let now = self.parts.clock.now();
        let mut items = running.plan.items(&self.memory, now);
        items.extend(running.net_items);
        self.parts.status.applied(items.iter().map(in_words).collect(), wanted.state.replicas.len());
        let engine_error = match &running.actual.containers {
            Seen::Known(_) => None,
            Seen::Unknown(reason) => Some(reason.clone()),
        };
        let left_volumes = reconcile::volumes::left(&wanted.told.state, &running.actual, LEFT_VOLUMES);
        let failed: Vec<Section> = items.iter().map(|item| item.section).collect();
        let state = wanted.state.clone();
        self.parts.seen.send_modify(|snapshot| snapshot.from_cache = !wanted.fresh);
        if engine_error.is_none() {
            self.parts.seen.send_modify(|snapshot| {
                snapshot.sections = state.section_hashes.clone();
                snapshot.sections.retain(|section, _| !failed.contains(section));
            });
        }
        if !wanted.fresh {
            return;
        }
        self.keep_images(&state);
        let pass = Pass {
            state: &state,
            items,
            engine_error,
            firewall_error: running.firewall_error,
            netd_error: self.parts.net.down.clone(),
            refused_removals: running.plan.refused.any(),
            selftest: self.parts.net.selftest.clone(),
            blocks: running.actual.taken.known().cloned(),
            left_volumes,
            duration_ms: u64::try_from(now.since(self.since).as_millis()).unwrap_or(u64::MAX),
        };
        if let Some(applied) = self.reporter.applied(pass) {
            self.say(ToServer::StateApplied(applied));
        }
    }

    /// What runs is written down, and every now and then images that nobody needs make room (R43).
    fn keep_images(&mut self, state: &Arc<DesiredState>) {
        let now = self.parts.clock.now();
        let due = now >= self.next_sweep;
        let (Some(hands), Some(info)) = (self.parts.engines.hands(), &self.parts.engines.info) else {
            return;
        };
        if due {
            self.next_sweep = now + SWEEP_EVERY;
        }
        let (images, state) = (self.parts.images.clone(), state.clone());
        let mut shelf = EngineShelf { engine: hands.engine, root: PathBuf::from(&info.facts.root_dir) };
        let now_ms = crate::clock::wall_us() / 1_000;
        tokio::spawn(async move {
            let (list, noted) = (images.clone(), state.clone());
            let written = tokio::task::spawn_blocking(move || list.note(&noted, now_ms)).await;
            if due && written.is_ok() {
                images.sweep((state.gc, needed(&state)), now_ms, &mut shelf).await;
            }
        });
    }

    /// Lets others see what was seen, and tells the server what changed.
    fn publish(&mut self) {
        let Some(running) = &self.run else { return };
        let desired = self.wanted.as_ref().map(|wanted| wanted.state.as_ref());
        let sight = Sight {
            desired,
            actual: &running.actual,
            plan: &running.plan,
            memory: &self.memory,
            crashes: &self.crashes,
            now: self.parts.clock.now(),
        };
        let mut seen = reports(&sight);
        // What a container printed last goes to the server, and from there to people and into its database. The secrets of
        // one that the state does not list are not known to an agent that began after it was dropped.
        let wanted: BTreeSet<&ReplicaId> =
            desired.iter().flat_map(|state| &state.replicas).map(|spec| &spec.replica_id).collect();
        for report in seen.iter_mut().flatten() {
            if !wanted.contains(&report.replica_id) {
                report.last_log_lines.clear();
            }
            // An error may be what a health check printed.
            for text in report.last_log_lines.iter_mut().chain(&mut report.last_error) {
                *text = self.parts.log.masked(text);
            }
        }
        self.ill = tell_ill(&self.parts.log, desired, seen.as_deref().unwrap_or_default(), &self.ill);
        let moving = moving(&self.ended, &self.memory);
        if let Some(reports) = &seen
            && self.online
            && let Some(status) = self.reporter.changes(reports, &moving)
        {
            self.say(ToServer::ReplicaStatus(status));
        }
        let reported = |id: &ReplicaId| seen.iter().flatten().any(|report| report.replica_id == *id);
        let unlisted = self.reporter.known().any(|id| !reported(id) && moving(id));
        let info = self.parts.engines.info.clone();
        let actual = running.actual.clone();
        self.parts.seen.send_modify(|snapshot| {
            snapshot.moving = unlisted;
            see(snapshot, seen, info);
            snapshot.actual = Some(actual);
        });
    }
}

/// Whether what was seen of a replica may not be so any more: a step for it is under way, or ended after the look.
fn moving<'a>(ended: &'a BTreeSet<ReplicaId>, memory: &'a Memory) -> impl Fn(&ReplicaId) -> bool + 'a {
    |id| ended.contains(id) || memory.is_busy(&Item::Replica(id.clone()))
}

/// Says of replicas whose health checks fail, and did not before, that they do. All whose do.
fn tell_ill(
    log: &HostLog,
    desired: Option<&DesiredState>,
    seen: &[ReplicaReport],
    before: &BTreeSet<ReplicaId>,
) -> BTreeSet<ReplicaId> {
    let mut ill = BTreeSet::new();
    for report in seen.iter().filter(|report| report.state == ReplicaState::Unhealthy) {
        let id = &report.replica_id;
        ill.insert(id.clone());
        if !before.contains(id) {
            let spec = desired.iter().flat_map(|state| &state.replicas).find(|spec| spec.replica_id == *id);
            let name = spec.map_or(id.as_str(), |spec| spec.name.as_str());
            let why = report.last_error.as_deref().unwrap_or("its health check fails");
            let about = About { replica: Some(id.clone()), release: None };
            let text = format!("{name}: is unhealthy: {why}");
            log.push(HostLogLevel::Error, HostLogSource::Replica, about, &text);
        }
    }
    ill
}

fn see(
    snapshot: &mut Snapshot,
    replicas: Option<Vec<ReplicaReport>>,
    info: Option<host_drivers::docker::EngineInfo>,
) {
    snapshot.looked = true;
    snapshot.replicas = replicas.map(|mut replicas| {
        replicas.retain(|replica| replica.state != ReplicaState::Removed);
        replicas
    });
    snapshot.docker = info.as_ref().map(|info| info.facts.clone());
    snapshot.containers = info.map(|info| info.containers).unwrap_or_default();
}

/// Does a step in a task of its own.
fn begin(
    steps: &mut tokio::task::JoinSet<Done>,
    engines: &super::Engines,
    wanted: Option<&super::Wanted>,
    step: Step,
) -> AbortHandle {
    let hands = engines.hands();
    let state = wanted.map(|wanted| wanted.state.clone());
    let words = step.actions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    steps.spawn(async move {
        let result = match (hands, &state) {
            (Some(hands), Some(state)) => hands.carry_out(&step, state).await,
            _ => Err(reconcile::Trouble {
                text: "the engine does not answer".to_owned(),
                kind: reconcile::TroubleKind::Unavailable,
            }),
        };
        Done { item: step.item, title: step.title, words, result }
    })
}

/// `port 8080/tcp: address already in use`.
fn in_words(item: &ItemResult) -> String {
    format!("{}: {}", item.name, item.error.as_deref().unwrap_or("not as it should be"))
}
