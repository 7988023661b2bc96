//! In which order the steps of a plan begin: phase by phase, and within a phase as soon as what a step needs is done. Steps
//! that need nothing of each other may run at the same time. A step whose need failed is skipped; the others go on
//! (STATE-10). Knows nothing of how a step is done.

use std::collections::BTreeSet;

use host_proto::desired::registry_of;

use crate::item::{Item, Phase};
use crate::plan::{Plan, Step};

/// Steps at a time that are no pulls: they are mostly waiting for the engine, and an engine has other work too.
const STEPS_AT_A_TIME: usize = 8;
/// Pulls at a time. They take none of the places of other steps: a registry may send little for hours.
const PULLS_AT_A_TIME: usize = 8;
/// Of those, pulls of one registry: one that says nothing holds up no other.
const PULLS_OF_A_REGISTRY: usize = 3;

/// Whether a step about `item` may begin beside those that are under way.
pub fn has_room<'a>(under_way: impl Iterator<Item = &'a Item> + Clone, item: &Item) -> bool {
    let pulls = under_way.clone().filter_map(|other| match other {
        Item::Image(image) => Some(image),
        _ => None,
    });
    let Item::Image(image) = item else {
        return under_way.count() - pulls.count() < STEPS_AT_A_TIME;
    };
    let of_same = pulls.clone().filter(|other| registry_of(other) == registry_of(image));
    pulls.clone().count() < PULLS_AT_A_TIME && of_same.count() < PULLS_OF_A_REGISTRY
}

/// A plan that is being carried out.
#[derive(Debug)]
pub struct Run {
    waiting: Vec<Step>,
    running: Vec<(Phase, Item)>,
    failed: BTreeSet<Item>,
    undone: BTreeSet<Item>,
}

impl Run {
    /// Begins with a plan.
    pub fn new(plan: Plan) -> Self {
        let undone = plan.steps.iter().map(|step| step.item.clone()).collect();
        Self { waiting: plan.steps, running: Vec::new(), failed: BTreeSet::new(), undone }
    }

    /// A step of this phase that may begin now, among those for which there is room. The caller does it, and says how it
    /// went by [`Run::end`].
    pub fn next(&mut self, phase: Phase, has_room: impl Fn(&Item) -> bool) -> Option<Step> {
        self.skip();
        let ready = self.waiting.iter().position(|step| {
            step.phase == phase
                && step.needs.iter().all(|need| !self.undone.contains(need))
                && has_room(&step.item)
        })?;
        let step = self.waiting.remove(ready);
        self.running.push((step.phase, step.item.clone()));
        Some(step)
    }

    /// Drops the steps whose needs failed, and those that need them.
    fn skip(&mut self) {
        loop {
            let failed = &self.failed;
            let (hopeless, waiting): (Vec<Step>, Vec<Step>) = std::mem::take(&mut self.waiting)
                .into_iter()
                .partition(|step| step.needs.iter().any(|need| failed.contains(need)));
            self.waiting = waiting;
            if hopeless.is_empty() {
                return;
            }
            self.failed.extend(hopeless.into_iter().map(|step| step.item));
        }
    }

    /// A step ended.
    pub fn end(&mut self, item: &Item, succeeded: bool) {
        self.running.retain(|(_, running)| running != item);
        if succeeded {
            self.undone.remove(item);
        } else {
            self.failed.insert(item.clone());
        }
    }

    /// Whether nothing of this phase is left: the next one may begin.
    pub fn is_over(&mut self, phase: Phase) -> bool {
        self.skip();
        !self.waiting.iter().any(|step| step.phase == phase)
            && !self.running.iter().any(|(running, _)| *running == phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replica(number: usize) -> Item {
        Item::Replica(format!("rep_{number}").parse().unwrap())
    }

    fn pull(registry: &str, number: usize) -> Item {
        Item::Image(format!("{registry}/app{number}:1"))
    }

    #[test]
    fn a_registry_that_sends_nothing_holds_up_neither_other_steps_nor_other_registries() {
        let mut under_way = Vec::new();
        while has_room(under_way.iter(), &pull("slow.example", 0)) {
            under_way.push(pull("slow.example", under_way.len()));
        }
        assert_eq!(under_way.len(), PULLS_OF_A_REGISTRY);
        assert!(has_room(under_way.iter(), &pull("other.example", 0)));
        let mut replicas = 0;
        while has_room(under_way.iter(), &replica(0)) {
            replicas += 1;
            under_way.push(replica(replicas));
        }
        assert_eq!(replicas, STEPS_AT_A_TIME);
        // Nor do other steps hold up pulls.
        assert!(has_room(under_way.iter(), &pull("other.example", 0)));
        let others = (0..PULLS_AT_A_TIME).map(|number| pull(&format!("r{number}.example"), number));
        let all: Vec<Item> = others.collect();
        assert!(!has_room(all.iter(), &pull("other.example", 0)));
    }
}
