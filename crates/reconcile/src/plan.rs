//! The decision: desired × actual → plan. A plan is data: what begins, what waits and why. It prints itself in words; that
//! text is what `muster diff` shows and what goes to the log. Each kind of thing is decided in its own module; here are
//! the shape of a plan and the gate that every step passes.

mod show;

use std::collections::BTreeMap;

use host_proto::desired::Section;
use host_proto::report::{ItemResult, ItemState};
use host_proto::{DesiredState, Moment};

use crate::action::Action;
use crate::actual::Actual;
use crate::allowed::{Allowed, RefusedRemovals};
use crate::item::{Item, Phase};
use crate::memory::Memory;
use crate::{containers, files, networks, volumes};

/// What is to be done, and what is not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// What begins, in order of phases.
    pub steps: Vec<Step>,
    /// What is not done, and why.
    pub held: Vec<Held>,
    /// Removals beyond the budget (R33).
    pub refused: RefusedRemovals,
}

/// What is to be done for one item: actions one after the other, up to the first that fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Which.
    pub item: Item,
    /// What people call it.
    pub title: String,
    /// When.
    pub phase: Phase,
    /// Steps of this plan that must have succeeded before.
    pub needs: Vec<Item>,
    /// What.
    pub actions: Vec<Action>,
}

/// Something that is not as it should be and is not touched now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Which.
    pub item: Item,
    /// What people call it.
    pub title: String,
    /// Why.
    pub why: Why,
}

/// Why something is not touched now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// It would be taken away, and no state came on this connection yet (STATE-5).
    NotFresh,
    /// It would be removed, and the state only adopts (STATE-7).
    Adopt,
    /// It would be removed, and the state announced fewer removals (R33).
    Budget,
    /// It may not start here (R85).
    Fenced,
    /// A container that the control plane does not name has what it needs.
    InUse {
        /// What: a volume, an address.
        what: String,
        /// The engine's name for that container.
        by: String,
        /// It goes once the host no longer adopts.
        adopting: bool,
    },
    /// It waits for these to be ready, or to be gone.
    Waits(Vec<String>),
    /// Something that it needs is not there: what, and what is wrong with that.
    Needs {
        /// What people call what is missing.
        title: String,
        /// What is wrong with it.
        reason: String,
    },
    /// It failed and is tried again later.
    Retry {
        /// Failures in a row.
        failures: u32,
        /// How long from now.
        in_ms: u64,
        /// The last error.
        error: String,
    },
    /// It cannot be done as things are.
    Refused(String),
    /// It cannot be seen.
    Unknown(String),
    /// A step for it is under way.
    Busy,
}

/// Decides what is to be done.
///
/// Pure: the same arguments make the same plan. Objects without our label are never named by an action (STATE-8); a
/// state that is satisfied makes an empty plan (STATE-11); nothing is taken away that `allowed` does not allow.
pub fn plan(
    desired: &DesiredState,
    actual: &Actual,
    allowed: &Allowed,
    memory: &Memory,
    now: Moment,
) -> Plan {
    let mut planner =
        Planner { desired, actual, allowed, memory, now, plan: Plan::default(), missing: BTreeMap::new() };
    networks::make(&mut planner);
    volumes::make(&mut planner);
    files::write(&mut planner);
    containers::reconcile(&mut planner);
    networks::clean_up(&mut planner);
    volumes::delete(&mut planner);
    files::clean_up(&mut planner);
    planner.plan
}

/// What all the deciding modules share.
pub(crate) struct Planner<'a> {
    pub(crate) desired: &'a DesiredState,
    pub(crate) actual: &'a Actual,
    pub(crate) allowed: &'a Allowed,
    pub(crate) memory: &'a Memory,
    pub(crate) now: Moment,
    pub(crate) plan: Plan,
    /// Items that are wanted and not there: what people call them, and why they do not come in this pass (`None`: a step
    /// of this plan makes them).
    missing: BTreeMap<Item, (String, Option<String>)>,
}

impl Planner<'_> {
    /// Plans a step, unless one for the item is under way or it failed too short a time ago.
    pub(crate) fn step(&mut self, step: Step) -> bool {
        if let Some(why) = self.not_now(&step.item) {
            self.hold(step.item, step.title, why);
            return false;
        }
        self.missing.entry(step.item.clone()).or_insert_with(|| (step.title.clone(), None));
        self.plan.steps.push(step);
        true
    }

    fn not_now(&self, item: &Item) -> Option<Why> {
        if self.memory.is_busy(item) {
            return Some(Why::Busy);
        }
        let attempts = self.memory.attempts(item).filter(|attempts| attempts.retry_at > self.now)?;
        if attempts.refused {
            return Some(Why::Refused(attempts.error.clone()));
        }
        let in_ms = attempts.retry_at.0.saturating_sub(self.now.0);
        Some(Why::Retry { failures: attempts.failures, in_ms, error: attempts.error.clone() })
    }

    /// Says that an item is not touched, and why.
    pub(crate) fn hold(&mut self, item: Item, title: String, why: Why) {
        let reason = match &why {
            Why::Retry { error, .. } => error.clone(),
            other => other.to_string(),
        };
        self.missing.insert(item.clone(), (title.clone(), Some(reason)));
        self.plan.held.push(Held { item, title, why });
    }

    /// Whether a step of this plan is about this item.
    pub(crate) fn is_planned(&self, item: &Item) -> bool {
        matches!(self.missing.get(item), Some((_, None)))
    }

    /// Which of the items that something needs are made by this plan; an error when one will not be there.
    pub(crate) fn needs(&self, items: impl IntoIterator<Item = Item>) -> Result<Vec<Item>, Why> {
        let mut needs = Vec::new();
        for item in items {
            match self.missing.get(&item) {
                None => {}
                Some((_, None)) => needs.push(item),
                Some((title, Some(reason))) => {
                    return Err(Why::Needs { title: title.clone(), reason: reason.clone() });
                }
            }
        }
        Ok(needs)
    }

    /// Why nothing may be removed at all now.
    pub(crate) const fn removal_lock(&self) -> Option<Why> {
        if !self.allowed.fresh {
            Some(Why::NotFresh)
        } else if self.allowed.adopt {
            Some(Why::Adopt)
        } else {
            None
        }
    }
}

impl Plan {
    /// Whether nothing begins. Things may wait all the same.
    pub fn is_idle(&self) -> bool {
        self.steps.is_empty()
    }

    /// Whether a container that may run is stopped or taken away.
    pub fn stops_any(&self) -> bool {
        self.steps.iter().flat_map(|step| &step.actions).any(Action::stops)
    }

    /// Whether everything is as it should be.
    pub fn is_satisfied(&self) -> bool {
        self.steps.is_empty() && self.held.is_empty()
    }

    /// Whether the plan says anything about an item: what it does not name needs no memory.
    pub fn mentions(&self, item: &Item) -> bool {
        self.steps.iter().any(|step| step.item == *item) || self.held.iter().any(|held| held.item == *item)
    }

    /// What is reported of the items that are not as they should be (STATE-10). Meant for a plan that was made after
    /// everything of the last one ended.
    pub fn items(&self, memory: &Memory, now: Moment) -> Vec<ItemResult> {
        self.held.iter().map(|held| held.result(memory, now)).collect()
    }

    /// Whether anything of a section begins or waits.
    pub fn concerns(&self, section: Section) -> bool {
        self.steps.iter().any(|step| step.item.section() == section)
            || self.held.iter().any(|held| held.item.section() == section)
    }
}

impl Held {
    fn result(&self, memory: &Memory, now: Moment) -> ItemResult {
        let attempts = memory.attempts(&self.item);
        let state = match &self.why {
            Why::Retry { .. } => ItemState::Failed,
            Why::Refused(_) | Why::Budget => ItemState::Refused,
            _ => ItemState::Held,
        };
        let error = match &self.why {
            Why::Retry { error, .. } => error.clone(),
            other => other.to_string(),
        };
        ItemResult {
            section: self.item.section(),
            id: self.item.id().to_owned(),
            name: self.title.clone(),
            state,
            error: Some(error),
            attempts: attempts.map_or(0, |attempts| attempts.failures),
            retry_in_ms: attempts.map(|attempts| attempts.retry_at.0.saturating_sub(now.0)),
        }
    }
}
