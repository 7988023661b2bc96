//! One service: towards as many working replicas of the wanted release as are wanted, one replaced at a time.

use model::UnixMillis;
use model::hosting::{Phase, Release, Replica};
use model::service::{Condition, Order, Scale};

use super::settle::opening;
use super::{AWAITED, Change, DRAIN, DRAIN_PATIENCE, Failures, Look, Step};
use crate::judge::{Verdict, judge, judge_prepared};
use crate::world::Presence;

impl Look<'_> {
    /// What happens next for this service.
    pub(super) fn advance(&self, step: &mut Step, failed: &mut Failures) {
        let replicas: Vec<&Replica> = self.world.replicas_of(&self.service.id).collect();
        for replica in &replicas {
            self.go_on(step, failed, replica);
        }
        match self.wanted.release {
            Some(release) => {
                self.fill(step, failed, release, &replicas);
                for replica in replicas.iter().filter(|it| it.stays() && it.number > self.wanted.count) {
                    self.dismiss(step, replica);
                }
            }
            None => replicas.iter().filter(|it| it.stays()).for_each(|it| self.dismiss(step, it)),
        }
    }

    /// A replica's own way, whatever becomes of the others.
    fn go_on(&self, step: &mut Step, failed: &mut Failures, replica: &Replica) {
        // One too many is dismissed, whether it works or not.
        let is_wanted = self.is_current(replica) && replica.number <= self.wanted.count;
        if replica.stays() && is_wanted && self.gives_up_place(step, failed, replica) {
            return;
        }
        match replica.phase {
            Phase::Preparing if is_wanted => self.look_at_prepared(step, failed, replica),
            Phase::Starting if is_wanted => self.look_at_new(step, failed, replica),
            Phase::Preparing | Phase::Starting | Phase::Serving => {}
            Phase::Draining => match self.drained_at(replica) {
                Some(at) if self.now < at => step.look_at(at),
                _ => step.phase(replica, Phase::Removing),
            },
            Phase::Removing => {
                if replica.state() == host_proto::report::ReplicaState::Removed {
                    step.changes.push(Change::Forget(replica.id.clone()));
                }
            }
        }
    }

    /// When a replica that is drained may be stopped: a while after its host said that nothing leads to it any more, or when
    /// it does not say so for too long. `None`: now, as the host is gone, and does on its own what it is told when it is back.
    fn drained_at(&self, replica: &Replica) -> Option<UnixMillis> {
        let view = self.hosts.iter().find(|view| view.host.id == replica.host_id)?;
        let at_last = replica.phase_since.after(DRAIN_PATIENCE);
        match view.presence {
            Presence::Online => {
                let drained = view.drained.get(&replica.id).map(|since| since.after(DRAIN));
                Some(drained.map_or(at_last, |at| at.min(at_last)))
            }
            Presence::Awaited => Some(self.now.after(AWAITED)),
            Presence::Gone => None,
        }
    }

    /// The name of the host of a replica, if it is connected and has no engine that answers: nothing is made there.
    fn without_engine(&self, replica: &Replica) -> Option<&str> {
        let view = self.hosts.iter().find(|view| view.host.id == replica.host_id)?;
        (view.presence == Presence::Online && view.engine_down).then_some(view.host.name.as_str())
    }

    fn waits(&self, replica: &Replica, until: &str) -> String {
        match self.without_engine(replica) {
            Some(host) => format!("the container engine of {host} to answer"),
            None => format!("replica {} to be {until}", replica.number),
        }
    }

    fn failure(&self, replica: &Replica, why: String) -> String {
        match self.without_engine(replica) {
            Some(host) => format!("no container engine answers on {host}"),
            None => why,
        }
    }

    fn look_at_new(&self, step: &mut Step, failed: &mut Failures, replica: &Replica) {
        let Some(release) = self.wanted.release else { return };
        if let Some(host) = self.gone(replica) {
            // What may never be there twice is moved by people only (OFF-2).
            let moves = self.order() == Order::StartFirst && release.spec.scale != Scale::Singleton;
            let placed = moves.then(|| self.place(release));
            step.looks_further |= placed.as_ref().is_some_and(|it| !it.at_home);
            if placed.is_some_and(|it| it.host.is_some()) {
                step.phase(replica, Phase::Removing);
            } else {
                self.fail(step, failed, format!("the host {host} of replica {} is offline", replica.number));
            }
            return;
        }
        match judge(replica, release, self.now) {
            Verdict::Ready => match opening(self.world, self.hosts, &self.service.id, self.now) {
                // The one that it replaces would be gone when the port turns out to be taken.
                Some(until) if self.replaces(replica) => {
                    step.look_at(until);
                    step.wait(self.service, "its ports to be open".to_owned());
                }
                _ => step.phase(replica, Phase::Serving),
            },
            Verdict::NotYet { look_at } => {
                step.look_at(look_at);
                step.wait(self.service, self.waits(replica, "ready"));
            }
            Verdict::Failed(why) => {
                let why = self.failure(replica, why);
                failed.entry(self.service.id.clone()).or_insert(why);
            }
        }
    }

    /// The one that it replaces goes on until this one could be started, and is gone before it is: so an image that is not
    /// to be had costs nobody anything.
    fn look_at_prepared(&self, step: &mut Step, failed: &mut Failures, replica: &Replica) {
        let Some(release) = self.wanted.release else { return };
        if let Some(host) = self.gone(replica) {
            return self.fail(
                step,
                failed,
                format!("the host {host} of replica {} is offline", replica.number),
            );
        }
        match judge_prepared(replica, release, self.now) {
            Verdict::Ready => {
                let older = self.older(replica);
                let serving: Vec<&Replica> =
                    older.iter().copied().filter(|it| it.phase == Phase::Serving).collect();
                if older.is_empty() {
                    step.phase(replica, Phase::Starting);
                } else if serving.is_empty() {
                    self.wait_for_end(step, failed, replica.number, &older);
                } else if self.is_one_starting() {
                    step.wait(self.service, "the replica before it to be ready".to_owned());
                } else if let Some(until) = opening(self.world, self.hosts, &self.service.id, self.now) {
                    step.look_at(until);
                    step.wait(self.service, "its ports to be open".to_owned());
                } else {
                    serving.into_iter().for_each(|it| self.dismiss(step, it));
                }
            }
            Verdict::NotYet { look_at } => {
                step.look_at(look_at);
                step.wait(self.service, self.waits(replica, "made"));
            }
            Verdict::Failed(why) => {
                let why = self.failure(replica, why);
                failed.entry(self.service.id.clone()).or_insert(why);
            }
        }
    }

    /// Each number from 1 to the wanted count gets a replica of the wanted release.
    fn fill(&self, step: &mut Step, failed: &mut Failures, release: &Release, replicas: &[&Replica]) {
        if failed.contains_key(&self.service.id) && self.is_deployed() {
            return;
        }
        // One at a time: while a new one is not ready, no other is replaced. Places where nothing runs are filled at once.
        let replaced = |old: &Replica| {
            let took = |it: &&Replica| it.phase == Phase::Serving && it.number == old.number;
            replicas.iter().copied().filter(took).any(|it| self.is_current(it))
        };
        let leaves = |it: &&Replica| {
            let goes = matches!(it.phase, Phase::Draining | Phase::Removing);
            let is_here = it.number <= self.wanted.count && self.is_online(it);
            is_here && !self.is_current(it) && (goes || replaced(it))
        };
        let comes = |it: &&Replica| it.is_coming() && self.is_current(it) && self.has_older(it, replicas);
        let awaited = replicas.iter().copied().find(|it| comes(it) || leaves(it));
        let mut busy = awaited.is_some();
        for number in 1..=self.wanted.count {
            let here: Vec<&Replica> = replicas.iter().copied().filter(|it| it.number == number).collect();
            let (new, old): (Vec<&Replica>, Vec<&Replica>) =
                here.into_iter().partition(|it| it.stays() && self.is_current(it));
            if let Some(replica) = new.iter().find(|it| it.release_id != release.id) {
                let change = Change::Adopt { replica_id: replica.id.clone(), release_id: release.id.clone() };
                step.changes.push(change);
            }
            // What was begun for another release is of no use to anybody.
            old.iter().filter(|it| it.is_coming()).for_each(|it| self.dismiss(step, it));
            let staying: Vec<&Replica> =
                old.iter().copied().filter(|it| it.phase == Phase::Serving).collect();
            if let Some(replica) = new.iter().find(|it| it.phase == Phase::Serving) {
                // Surplus copies of the same number go with the old ones (OFF-3).
                let surplus = new.iter().filter(|it| it.id != replica.id);
                staying.into_iter().chain(surplus.copied()).for_each(|it| self.dismiss(step, it));
            } else if new.is_empty() {
                if let Some(first) = self.waits_for(release) {
                    step.wait(self.service, first);
                } else if staying.is_empty() {
                    let gone = old.is_empty() || self.order() == Order::StartFirst;
                    if gone {
                        self.add(step, failed, number, release, Phase::Starting);
                    } else {
                        self.wait_for_end(step, failed, number, &old);
                    }
                } else if !busy {
                    busy = true;
                    match self.order() {
                        Order::StartFirst => self.add(step, failed, number, release, Phase::Starting),
                        // The one that serves on a host that is gone is not given up for one that cannot start there.
                        Order::StopFirst if staying.iter().any(|it| self.gone(it).is_some()) => {
                            self.wait_for_end(step, failed, number, &staying);
                        }
                        Order::StopFirst => self.add(step, failed, number, release, Phase::Preparing),
                    }
                } else if let Some(other) = awaited {
                    let what = if other.is_coming() { "ready" } else { "gone from its host" };
                    step.wait(self.service, format!("replica {} to be {what}", other.number));
                }
            }
        }
    }

    /// A place is taken until the replica there has ended, which a host that is gone will not say.
    fn wait_for_end(&self, step: &mut Step, failed: &mut Failures, number: u32, there: &[&Replica]) {
        match there.iter().find_map(|it| self.gone(it)) {
            Some(host) => {
                let why = format!("replica {number} of the release before is on {host}, which is offline");
                self.fail(step, failed, why);
            }
            None => step.wait(self.service, format!("replica {number} of the release before to be gone")),
        }
    }

    /// A replica leaves: names and ports first, if they lead to it.
    fn dismiss(&self, step: &mut Step, replica: &Replica) {
        match replica.phase {
            Phase::Preparing | Phase::Starting => step.phase(replica, Phase::Removing),
            Phase::Serving => {
                step.phase(replica, Phase::Draining);
            }
            Phase::Draining | Phase::Removing => {}
        }
    }

    fn replaces(&self, replica: &Replica) -> bool {
        let replicas: Vec<&Replica> = self.world.replicas_of(&self.service.id).collect();
        self.has_older(replica, &replicas)
    }

    /// Whether a new replica of the service is not ready yet.
    fn is_one_starting(&self) -> bool {
        let starts = |it: &Replica| it.phase == Phase::Starting && self.is_current(it);
        self.world.replicas_of(&self.service.id).any(starts)
    }

    /// Replicas of the same number that are not gone.
    fn older(&self, replica: &Replica) -> Vec<&Replica> {
        let same = |it: &&Replica| it.number == replica.number && it.id != replica.id;
        self.world.replicas_of(&self.service.id).filter(same).collect()
    }

    /// Whether a replica replaces one that still runs.
    fn has_older(&self, replica: &Replica, replicas: &[&Replica]) -> bool {
        replicas
            .iter()
            .any(|it| it.number == replica.number && it.id != replica.id && it.phase != Phase::Removing)
    }

    fn is_deployed(&self) -> bool {
        let running = |it: &model::hosting::Deployment| {
            it.state == model::hosting::DeploymentState::Running
                && it.items.iter().any(|item| item.service_id == self.service.id)
        };
        self.world.deployment.as_ref().is_some_and(running)
    }

    /// The service that comes first and is not there yet, if any.
    fn waits_for(&self, release: &Release) -> Option<String> {
        release.spec.depends_on.iter().find_map(|dependency| {
            let service = self.world.service(&dependency.service)?;
            let wanted = self.world.wanted(service);
            wanted.release?;
            let hash = |replica: &&Replica| {
                self.world.release_of(replica).map(|it| &it.container_hash)
                    == wanted.release.map(|it| &it.container_hash)
            };
            let there =
                self.world.replicas_of(&service.id).filter(hash).any(|replica| match dependency.condition {
                    Condition::Started => matches!(
                        replica.state(),
                        host_proto::report::ReplicaState::Running
                            | host_proto::report::ReplicaState::Starting
                    ),
                    Condition::Healthy => replica.phase == Phase::Serving && replica.is_ready(),
                });
            let condition = match dependency.condition {
                Condition::Started => "to run",
                Condition::Healthy => "to be healthy",
            };
            (!there && wanted.count > 0).then(|| format!("{} {condition}", dependency.service))
        })
    }
}
