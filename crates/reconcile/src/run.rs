//! In which order the steps of a plan begin: phase by phase, and within a phase as soon as what a step needs is done. Steps
//! that need nothing of each other may run at the same time. A step whose need failed is skipped; the others go on
//! (STATE-10). Knows nothing of how a step is done.

use std::collections::BTreeSet;

use crate::item::{Item, Phase};
use crate::plan::{Plan, Step};

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

    /// A step of this phase that may begin now. The caller does it, and says how it went by [`Run::end`].
    pub fn next(&mut self, phase: Phase) -> Option<Step> {
        self.skip();
        let ready = self.waiting.iter().position(|step| {
            step.phase == phase && step.needs.iter().all(|need| !self.undone.contains(need))
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
