//! Containers that should not be there: of replicas that the state does not list, that it lists as absent, and doubles.

use std::collections::BTreeMap;

use host_proto::desired::{DesiredRun, ReplicaSpec};
use host_proto::id::ReplicaId;

use super::{Grouped, title};
use crate::action::Action;
use crate::actual::{Container, ContainerState};
use crate::item::{Item, Phase};
use crate::plan::{Planner, Step, Why};

/// Plans the removals. Only those of replicas that the state does not name at all count against the budget: the budget
/// is there for a list that came out empty by a fault (R33), and `absent` is a clear word.
pub(super) fn plan(
    planner: &mut Planner<'_>,
    specs: &BTreeMap<&ReplicaId, &ReplicaSpec>,
    grouped: &Grouped<'_>,
) {
    let unlisted = grouped.main.keys().filter(|id| !specs.contains_key(*id)).count();
    let count = u32::try_from(unlisted).unwrap_or(u32::MAX);
    let lock = planner.removal_lock();
    let over = count > planner.allowed.removals.replicas;
    if lock.is_none() && over {
        planner.plan.refused.replicas = count;
    }
    for (id, container) in &grouped.main {
        let item = Item::Replica((*id).clone());
        match specs.get(id) {
            None => {
                let why = lock.clone().or(over.then_some(Why::Budget));
                remove(planner, item, container.title.clone(), container, None, why);
            }
            Some(spec) if spec.desired == DesiredRun::Absent => {
                remove(planner, item, title(spec), container, Some(spec), lock.clone());
            }
            Some(_) => {}
        }
    }
    for container in &grouped.surplus {
        let item = Item::Container(container.id.clone());
        let name = format!("{} ({})", container.title, container.name);
        remove(planner, item, name, container, None, lock.clone());
    }
}

fn remove(
    planner: &mut Planner<'_>,
    item: Item,
    title: String,
    container: &Container,
    spec: Option<&ReplicaSpec>,
    lock: Option<Why>,
) {
    if container.state == ContainerState::Removing {
        return planner.hold(item, title, Why::Busy);
    }
    if let Some(why) = lock {
        return planner.hold(item, title, why);
    }
    let actions = ladder(container, spec.map(|spec| spec.stop.grace_ms), planner.memory.failures(&item));
    planner.step(Step { item, title, phase: Phase::Replicas, needs: Vec::new(), actions });
}

/// The rungs of R30: ask it to stop; kill it; remove it by force. Each failure leads to the next.
pub(super) fn ladder(container: &Container, grace_ms: Option<u64>, failures: u32) -> Vec<Action> {
    let id = || container.id.clone();
    let remove = |force| Action::RemoveContainer { container: id(), force };
    let runs = container.is_active() || container.state == ContainerState::Unknown;
    match (container.state, failures) {
        (ContainerState::Dead, _) | (_, 2..) => vec![remove(true)],
        (_, 0) if runs => vec![Action::Stop { container: id(), grace_ms }, remove(false)],
        (_, 1) if runs => vec![Action::Kill { container: id() }, remove(false)],
        _ => vec![remove(false)],
    }
}
