//! Networks: made when they are missing, never changed (R35), removed when nothing of ours stands in them any more.

use std::collections::BTreeSet;

use crate::action::Action;
use crate::actual::{Container, Listed, Seen};
use crate::item::{Item, Phase};
use crate::plan::{Planner, Step, Why};

/// Plans the networks that are missing.
pub(crate) fn make(planner: &mut Planner<'_>) {
    for network in &planner.desired.networks {
        let item = Item::Network(network.id.clone());
        let title = format!("network {}", network.name);
        match name_state(&planner.actual.networks, network.id.as_str(), &network.name) {
            NameState::Ours => {}
            NameState::Held(why) => planner.hold(item, title, why),
            NameState::Free => {
                let action =
                    Action::CreateNetwork { network: network.id.clone(), name: network.name.clone() };
                planner.step(Step {
                    item,
                    title,
                    phase: Phase::Networks,
                    needs: Vec::new(),
                    actions: vec![action],
                });
            }
        }
    }
}

/// How a name that we want stands at the engine.
pub(crate) enum NameState {
    /// The object is there.
    Ours,
    /// It can be made.
    Free,
    /// It cannot, or nobody knows.
    Held(Why),
}

/// Compares by the label, never by the name: an object of that name that is not ours is not touched (STATE-8).
pub(crate) fn name_state(seen: &Seen<Listed>, id: &str, name: &str) -> NameState {
    let listed = match seen {
        Seen::Unknown(why) => return NameState::Held(Why::Unknown(why.clone())),
        Seen::Known(listed) => listed,
    };
    if listed.ours.contains_key(id) {
        NameState::Ours
    } else if listed.foreign.contains(name) {
        NameState::Held(Why::Refused(format!("the name {name} is taken by one that is not ours")))
    } else if let Some(holder) = listed.holder(name) {
        NameState::Held(Why::Refused(format!("the name {name} is still held by {holder}")))
    } else {
        NameState::Free
    }
}

/// Plans the removal of networks that the state does not list and that are, or become, empty.
pub(crate) fn clean_up(planner: &mut Planner<'_>) {
    let (Seen::Known(listed), Seen::Known(containers)) =
        (&planner.actual.networks, &planner.actual.containers)
    else {
        return;
    };
    let wanted: BTreeSet<&str> = planner.desired.networks.iter().map(|network| network.id.as_str()).collect();
    let mut steps = Vec::new();
    for (id, name) in &listed.ours {
        let Ok(network) = id.parse() else { continue };
        if wanted.contains(id.as_str()) {
            continue;
        }
        let users = containers.iter().filter(|container| container.networks.contains_key(name));
        let Some(needs) = when_gone(planner, users) else { continue };
        let actions = vec![Action::RemoveNetwork { name: name.clone() }];
        let title = format!("network {name}");
        steps.push(Step { item: Item::Network(network), title, phase: Phase::Cleanup, needs, actions });
    }
    let count = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    let over = count > planner.allowed.removals.networks;
    let lock = planner.removal_lock();
    if lock.is_none() && over {
        planner.plan.refused.networks = count;
    }
    let lock = lock.or(over.then_some(Why::Budget));
    for step in steps {
        match &lock {
            Some(why) => planner.hold(step.item, step.title, why.clone()),
            None => {
                planner.step(step);
            }
        }
    }
}

/// The steps that remove all these containers; `None` when one of them stays.
pub(crate) fn when_gone<'c>(
    planner: &Planner<'_>,
    users: impl Iterator<Item = &'c Container>,
) -> Option<Vec<Item>> {
    let mut needs = Vec::new();
    for user in users {
        let leaves = planner.plan.steps.iter().find(|step| {
            step.actions.iter().any(
                |action| matches!(action, Action::RemoveContainer { container, .. } if *container == user.id),
            )
        })?;
        needs.push(leaves.item.clone());
    }
    Some(needs)
}
