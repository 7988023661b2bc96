//! How a rollout goes on: a machine without clock that hears how the released agents fare, and says whether the next
//! batch may go, or why not. Whoever carries it out writes a batch down before its offers leave, so that nothing is
//! lost or done twice; after a restart the machine is made anew from what was written.

use std::collections::HashMap;
use std::time::Duration;

use opamp_proto::InstanceUid;

use super::Grant;
use super::standing::Standing;
use crate::time::UnixMillis;

/// How long a released agent may take to say APPLIED, whether it is connected or not.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(300);

/// What stopped a rollout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Of which kind.
    pub kind: FaultKind,
    /// The agent that it was seen on.
    pub agent: Option<InstanceUid>,
    /// What the agent or the operator says.
    pub text: String,
}

/// The kind of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// An agent could not apply the revision.
    Failed,
    /// An agent that was well is not any more.
    HealthLost,
    /// An agent gave no answer in time.
    NoAnswer,
    /// The agents of a batch left, and none of them has applied the revision: it may be what ended them.
    Left,
    /// An operator wants it so.
    Operator,
}

impl FaultKind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Failed, Self::HealthLost, Self::NoAnswer, Self::Left, Self::Operator];

    /// The words in API, CLI and database.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::HealthLost => "health lost",
            Self::NoAnswer => "no answer",
            Self::Left => "left",
            Self::Operator => "operator",
        }
    }
}

/// What to do now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing before this time, unless something is heard. `None`: nothing at all.
    Wait(Option<UnixMillis>),
    /// Release so many agents.
    Release(u64),
    /// Stop, and ask an operator.
    Pause(Fault),
    /// Everybody has it.
    Finish,
}

/// How a released agent fares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Released {
    standing: Standing,
    was_healthy: bool,
    healthy: Option<bool>,
    forgiven: bool,
    batch: u32,
    since: UnixMillis,
    /// How long its answer may take.
    patience: Duration,
    /// How long it may be away before it answered.
    absence: Duration,
    /// Since when it is not connected.
    gone: Option<UnixMillis>,
}

impl Released {
    fn fault(&self, now: UnixMillis) -> Option<FaultKind> {
        if self.forgiven {
            return None;
        }
        match self.standing {
            Standing::Failed => Some(FaultKind::Failed),
            // Who is not there cannot answer.
            Standing::Unanswered | Standing::Applying | Standing::Waiting if self.gone.is_some() => None,
            Standing::Unanswered => Some(FaultKind::NoAnswer),
            Standing::Applied if self.was_healthy && self.healthy == Some(false) => {
                Some(FaultKind::HealthLost)
            }
            Standing::Applied => None,
            Standing::Applying | Standing::Waiting if now >= self.due() => Some(FaultKind::NoAnswer),
            Standing::Applying | Standing::Waiting => None,
        }
    }

    const fn is_settled(&self) -> bool {
        self.forgiven || matches!(self.standing, Standing::Applied)
    }

    /// Whether it has to be looked at: it is not settled, or not well.
    fn is_open(&self) -> bool {
        !self.is_settled() || (self.was_healthy && self.healthy == Some(false))
    }

    /// When it is waited for no longer.
    fn due(&self) -> UnixMillis {
        match self.gone {
            Some(gone) => gone.after(self.absence),
            None => self.since.after(self.patience),
        }
    }

    /// Whether it left before it answered, and was waited for.
    fn has_left(&self, now: UnixMillis) -> bool {
        self.fault(now).is_none() && !self.is_settled() && self.gone.is_some() && now >= self.due()
    }
}

/// A rollout that is under way.
#[derive(Debug, Clone, Default)]
pub struct Rollout {
    batch_size: u64,
    /// How long agents that left are waited for; `None`: without end, where the whole batch did.
    absence: Option<Duration>,
    released: HashMap<InstanceUid, Released>,
    /// Those that are not settled, or not well: the only ones that have to be looked at.
    open: HashMap<InstanceUid, ()>,
}

/// The size of a batch for so many agents: at least one.
pub fn batch_size(agents: u64, percent: u8) -> u64 {
    (agents * u64::from(percent.clamp(1, 100))).div_ceil(100).max(1)
}

impl Rollout {
    /// A rollout in batches of this size that has released nobody. `absence` is how long agents that left before they
    /// answered are waited for; `None`: a batch of which nobody else is left is waited for without end.
    pub fn new(batch_size: u64, absence: Option<Duration>) -> Self {
        Self { batch_size: batch_size.max(1), absence, ..Self::default() }
    }

    /// An agent was released, now or before a restart. It is heard of later.
    pub fn release(&mut self, uid: InstanceUid, grant: &Grant) {
        let released = Released {
            standing: Standing::Waiting,
            was_healthy: grant.was_healthy,
            healthy: None,
            forgiven: grant.forgiven,
            batch: grant.batch,
            since: grant.at,
            patience: ANSWER_WITHIN,
            absence: self.absence.unwrap_or(ANSWER_WITHIN),
            gone: None,
        };
        self.put(uid, released);
    }

    /// How a released agent fares. About others there is nothing to know.
    pub fn hear(&mut self, uid: InstanceUid, standing: Standing, healthy: Option<bool>) {
        let Some(released) = self.released.get_mut(&uid) else { return };
        (released.standing, released.healthy) = (standing, healthy);
        let is_open = released.is_open();
        self.set_open(uid, is_open);
    }

    /// Whether a released agent is there, and the gap that it keeps between its messages, if it polls. An agent that
    /// comes back has all its time again; one that polls seldom has three of its gaps.
    pub fn look(&mut self, uid: InstanceUid, is_there: bool, gap: Option<Duration>, now: UnixMillis) {
        if let Some(released) = self.released.get_mut(&uid) {
            match (is_there, released.gone) {
                (true, Some(_)) => (released.since, released.gone) = (now, None),
                (false, None) => released.gone = Some(now),
                _ => {}
            }
            if let Some(gap) = gap {
                released.patience = ANSWER_WITHIN.max(gap * 3);
                released.absence = self.absence.unwrap_or(ANSWER_WITHIN).max(gap * 3);
            }
        }
    }

    /// How long an agent has for its answer.
    pub fn patience(&self, uid: InstanceUid) -> Duration {
        self.released.get(&uid).map_or(ANSWER_WITHIN, |released| released.patience)
    }

    fn put(&mut self, uid: InstanceUid, released: Released) {
        self.set_open(uid, released.is_open());
        self.released.insert(uid, released);
    }

    fn set_open(&mut self, uid: InstanceUid, is_open: bool) {
        match is_open {
            true => drop(self.open.insert(uid, ())),
            false => drop(self.open.remove(&uid)),
        }
    }

    /// An agent that was released is gone for good, or another assignment has it now.
    pub fn forget(&mut self, uid: InstanceUid) {
        self.released.remove(&uid);
        self.open.remove(&uid);
    }

    /// An operator goes on in spite of what was seen; the agents that are forgiven.
    pub fn forgive(&mut self, now: UnixMillis) -> Vec<InstanceUid> {
        let faulty = |uid: &&InstanceUid| self.released.get(uid).is_some_and(|one| one.fault(now).is_some());
        let forgiven: Vec<_> = self.open.keys().filter(faulty).copied().collect();
        forgiven.iter().for_each(|uid| self.pardon(*uid));
        forgiven
    }

    /// An operator goes on in spite of what this agent does.
    pub fn pardon(&mut self, uid: InstanceUid) {
        if let Some(released) = self.released.get(&uid).filter(|released| !released.forgiven) {
            let released = Released { forgiven: true, ..*released };
            self.put(uid, released);
        }
    }

    /// The released agents that are not settled, or not well.
    pub fn unsettled(&self) -> Vec<InstanceUid> {
        self.open.keys().copied().collect()
    }

    /// The agents that left before they answered and were waited for, in an order that does not depend on chance.
    pub fn left(&self, now: UnixMillis) -> Vec<InstanceUid> {
        let has_left = |uid: &&InstanceUid| self.released.get(uid).is_some_and(|one| one.has_left(now));
        let mut left: Vec<_> = self.open.keys().filter(has_left).copied().collect();
        left.sort_unstable();
        left
    }

    /// Whether an agent was released.
    pub fn has(&self, uid: InstanceUid) -> bool {
        self.released.contains_key(&uid)
    }

    /// What to do now. `candidates`: how many agents could be released and are not.
    ///
    /// Who left before it answered is waited for for a while, and then left out: it is offered the revision when it is
    /// back. But where nobody of the last batch has applied the revision, the rollout pauses: it may be what ended them.
    pub fn step(&self, now: UnixMillis, candidates: u64) -> Step {
        let mut first: Option<(FaultKind, InstanceUid)> = None;
        let (mut waits, mut due, mut left) = (false, None, None);
        for (uid, released) in self.open.keys().filter_map(|uid| Some((*uid, self.released.get(uid)?))) {
            match released.fault(now) {
                // Which of several is named does not depend on chance.
                Some(kind) if first.as_ref().is_none_or(|(_, other)| uid < *other) => {
                    first = Some((kind, uid))
                }
                Some(_) => {}
                None if released.is_settled() => {}
                None if released.has_left(now) => {
                    left = Some(left.map_or(uid, |other: InstanceUid| other.min(uid)))
                }
                None => {
                    waits = true;
                    let at = released.due();
                    due = Some(due.map_or(at, |due: UnixMillis| due.min(at)));
                }
            }
        }
        let pause = |kind, uid| Step::Pause(Fault { kind, agent: Some(uid), text: String::new() });
        let left = left.filter(|_| !self.last_batch_has_it());
        match (first, left) {
            (Some((kind, uid)), _) => pause(kind, uid),
            (None, _) if waits => Step::Wait(due),
            (None, Some(_)) if self.absence.is_none() => Step::Wait(None),
            (None, Some(uid)) => pause(FaultKind::Left, uid),
            (None, None) if candidates == 0 => Step::Finish,
            (None, None) => Step::Release(candidates.min(self.batch_size)),
        }
    }

    /// Whether somebody of the last batch has applied the revision, or is not waited for.
    fn last_batch_has_it(&self) -> bool {
        let last = self.released.values().map(|released| released.batch).max();
        self.released.values().any(|released| Some(released.batch) == last && released.is_settled())
    }
}

#[cfg(test)]
mod tests;
