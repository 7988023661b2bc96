//! What happens next in a project: replicas are added where some are missing, those that work take the place of those
//! that they replace, one at a time, and a deployment comes to its end or goes back. It looks at everything anew each
//! time and remembers nothing, so a server that starts again goes on where the last one was.

mod advance;
mod settle;

use std::collections::BTreeMap;
use std::time::Duration;

use host_proto::id::{HostId, NetworkId, ReleaseId, ReplicaId, ServiceId};
use model::UnixMillis;
use model::hosting::{
    DeploymentState, ItemOutcome, NetworkPlace, Phase, ProjectWorld, Release, Replica, Service, Wanted,
};
use model::service::Order;

use crate::blocks::{can_move, lost};
use crate::place::{Placed, place};
use crate::world::{HostView, Presence, gone};

/// Names and ports lead elsewhere for so long before a replica is stopped: the time that an answer of DNS may be kept.
pub const DRAIN: Duration = Duration::from_secs(2);
/// A host that does not say that they do is not waited for any longer than this.
const DRAIN_PATIENCE: Duration = Duration::from_secs(10);
/// Hosts that may be on their way back are looked for so often.
const AWAITED: Duration = Duration::from_secs(1);

/// Something that is to be done, in this order, all of it or nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A new replica; its identifier and its addresses are the caller's to give.
    Add {
        /// Of which service.
        service_id: ServiceId,
        /// In which release.
        release_id: ReleaseId,
        /// Its number.
        number: u32,
        /// Where.
        host_id: HostId,
        /// How it begins: at once, or by preparing for the place of another.
        phase: Phase,
    },
    /// A replica goes on to another phase.
    Phase {
        /// Which.
        replica_id: ReplicaId,
        /// To which.
        phase: Phase,
    },
    /// A replica is what another release wants as well.
    Adopt {
        /// Which.
        replica_id: ReplicaId,
        /// Whose it is from now on.
        release_id: ReleaseId,
    },
    /// A replica is gone.
    Forget(ReplicaId),
    /// A network cannot be where it should, and gets another place when something is to stand in it again.
    Leave {
        /// Which.
        network_id: NetworkId,
        /// Why, for people.
        why: String,
    },
    /// A service of the deployment is where it should be, or cannot get there.
    Item {
        /// Which.
        service_id: ServiceId,
        /// How it stands.
        outcome: ItemOutcome,
    },
    /// The deployment goes on to another state. With [`DeploymentState::Done`] the releases that it led to become the
    /// current ones.
    Deployment {
        /// To which.
        state: DeploymentState,
        /// Why, when it goes back.
        reason: Option<String>,
    },
}

/// What happens next.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Step {
    /// What is to be done.
    pub changes: Vec<Change>,
    /// What each service waits for, for people.
    pub waits: BTreeMap<ServiceId, String>,
    /// When to look again, if nothing happens before.
    pub look_at: Option<UnixMillis>,
    /// A host was sought for a replica, and none that the project is on already can take it: what is decided holds only
    /// if all hosts were looked at.
    pub looks_further: bool,
    /// A replica that is wanted has no host: another look is due when hosts change, which is nothing that the project's own
    /// hosts say.
    pub unplaced: bool,
}

impl Step {
    fn look_at(&mut self, when: UnixMillis) {
        self.look_at = Some(self.look_at.map_or(when, |known| known.min(when)));
    }

    fn phase(&mut self, replica: &Replica, phase: Phase) {
        self.changes.push(Change::Phase { replica_id: replica.id.clone(), phase });
    }

    fn wait(&mut self, service: &Service, what: impl Into<String>) {
        self.waits.entry(service.id.clone()).or_insert_with(|| what.into());
    }
}

/// Decides what happens next in a project. `hosts` are at least those that it is on; when that is not enough the step
/// [says so](Step::looks_further).
pub fn step(world: &ProjectWorld, hosts: &[HostView], now: UnixMillis) -> Step {
    let mut step = Step::default();
    let mut failed = settle::failures(world, hosts, now);
    for service in &world.services {
        let look = Look { world, hosts, now, service, wanted: world.wanted(service) };
        look.advance(&mut step, &mut failed);
    }
    settle::deployment(world, hosts, &failed, now, &mut step);
    step
}

/// Why services of the deployment cannot get where they should.
pub(crate) type Failures = BTreeMap<ServiceId, String>;

/// One service, and all that is looked at to decide about it.
struct Look<'a> {
    world: &'a ProjectWorld,
    hosts: &'a [HostView],
    now: UnixMillis,
    service: &'a Service,
    wanted: Wanted<'a>,
}

impl Look<'_> {
    /// Whether a replica is what is wanted.
    fn is_current(&self, replica: &Replica) -> bool {
        let hash = |release: &Release| release.container_hash.clone();
        let (is, wanted) = (self.world.release_of(replica).map(hash), self.wanted.release.map(hash));
        is.is_some() && is == wanted
    }

    fn order(&self) -> Order {
        self.wanted.release.map_or(Order::StopFirst, |release| release.spec.update.order)
    }

    /// Whether the host of a replica can be told anything.
    fn is_online(&self, replica: &Replica) -> bool {
        self.hosts.iter().any(|view| view.host.id == replica.host_id && view.presence == Presence::Online)
    }

    /// The name of the host of a replica, if that host is gone.
    fn gone(&self, replica: &Replica) -> Option<&str> {
        gone(self.hosts, replica)
    }

    fn place(&self, release: &Release) -> Placed {
        place(self.world, self.service, release, self.hosts, &[])
    }

    /// The service cannot get where it should.
    fn fail(&self, step: &mut Step, failed: &mut Failures, why: String) {
        step.wait(self.service, why.clone());
        failed.entry(self.service.id.clone()).or_insert(why);
    }

    /// A replica whose network cannot be where it should goes, so that the next one stands in another; whether it is one.
    fn gives_up_place(&self, step: &mut Step, failed: &mut Failures, replica: &Replica) -> bool {
        let Some(view) = self.hosts.iter().find(|view| view.host.id == replica.host_id) else { return false };
        let its = |place: &&NetworkPlace| replica.addresses.iter().any(|it| it.network_id == place.id);
        let lost =
            self.world.networks.iter().filter(its).find_map(|it| Some((it, lost(self.world, view, it)?)));
        let Some((place, why)) = lost else { return false };
        let why = format!("the network {} on {}: {why}", place.spec.name, view.host.name);
        if !can_move(view) {
            self.fail(step, failed, why);
            return true;
        }
        let change = Change::Leave { network_id: place.id.clone(), why: why.clone() };
        if !step.changes.contains(&change) {
            step.changes.push(change);
        }
        step.phase(replica, Phase::Removing);
        step.wait(self.service, format!("other addresses, since {why}"));
        true
    }

    /// Adds a replica, or says why that cannot be.
    fn add(&self, step: &mut Step, failed: &mut Failures, number: u32, release: &Release, phase: Phase) {
        let coming = |change: &Change| match change {
            Change::Add { service_id, host_id, .. } if *service_id == self.service.id => {
                Some(host_id.clone())
            }
            _ => None,
        };
        let coming: Vec<HostId> = step.changes.iter().filter_map(coming).collect();
        let placed = place(self.world, self.service, release, self.hosts, &coming);
        step.looks_further |= !placed.at_home;
        step.unplaced |= placed.host.is_none();
        match placed.host {
            Some(host_id) => step.changes.push(Change::Add {
                service_id: self.service.id.clone(),
                release_id: release.id.clone(),
                number,
                host_id,
                phase,
            }),
            None if placed.soon => {
                step.wait(
                    self.service,
                    placed.nowhere.unwrap_or_else(|| "its hosts to connect again".to_owned()),
                );
                step.look_at(self.now.after(AWAITED));
            }
            None => self.fail(step, failed, placed.why_not()),
        }
    }
}
