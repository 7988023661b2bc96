//! When a desired state is computed and whether it is sent (R26): at once when the last one is 200 milliseconds old,
//! else when it is; the first of a connection always, later ones only when they say something new. One that was computed
//! and not sent holds the next up for a moment only.

use std::time::Duration;

use super::Plan;
use crate::desired::DesiredState;
use crate::generation::Mark;
use crate::moment::Moment;

/// Changes within this time of the last plan go into the next one.
const COALESCE: Duration = Duration::from_millis(200);
/// The same when nothing came of that plan: it cost the host nothing, and the server little.
const COALESCE_QUIET: Duration = Duration::from_millis(20);
/// A first state that could not be computed is asked for again after this.
const RETRY_AFTER: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Pacer {
    /// What the host applied before this connection.
    applied: Option<Mark>,
    /// The store was rolled back: states of the host's epoch must not be sent.
    behind: bool,
    /// What the store numbered last, and what was sent since.
    last: Mark,
    wanted_at: Option<Moment>,
    planning: bool,
    planned_at: Option<Moment>,
    /// Nothing came of the last plan.
    quiet: bool,
    sent: Option<Sent>,
}

#[derive(Debug)]
struct Sent {
    digest: String,
    /// The host has not yet said that it applied this state, which it only adopts.
    adopting: Option<u64>,
}

/// What becomes of a state.
pub(super) enum Fate {
    Send,
    /// It says nothing new.
    Skip,
    Refuse(String),
}

impl Pacer {
    pub(super) fn new(now: Moment, applied: Option<Mark>, stored: Mark, behind: bool) -> Self {
        Self {
            applied,
            behind,
            last: stored,
            wanted_at: Some(now),
            planning: false,
            planned_at: None,
            quiet: false,
            sent: None,
        }
    }

    pub(super) fn changed(&mut self, now: Moment) {
        let pause = if self.quiet { COALESCE_QUIET } else { COALESCE };
        let at = self.planned_at.map_or(now, |planned| now.max(planned + pause));
        self.wanted_at = Some(self.wanted_at.map_or(at, |wanted| wanted.min(at)));
    }

    pub(super) fn deadline(&self) -> Option<Moment> {
        self.wanted_at.filter(|_| !self.planning)
    }

    /// The plan that is due.
    pub(super) fn due(&mut self, now: Moment) -> Option<Plan> {
        self.deadline().filter(|at| now >= *at)?;
        self.wanted_at = None;
        self.planning = true;
        self.planned_at = Some(now);
        self.quiet = false;
        let same_epoch = self.applied.as_ref().filter(|applied| applied.epoch == self.last.epoch);
        let above = self.last.generation.max(same_epoch.map_or(0, |applied| applied.generation));
        let first = self.sent.is_none();
        let behind = first && self.behind;
        // A new epoch counts from the beginning.
        Some(Plan { above: if behind { 0 } else { above }, first })
    }

    /// Nothing came of the plan.
    pub(super) fn nothing(&mut self, now: Moment) {
        self.planning = false;
        self.came_to_nothing();
        if self.sent.is_none() {
            self.wanted_at = Some(now + RETRY_AFTER);
        }
    }

    /// What changed meanwhile need not wait for long.
    fn came_to_nothing(&mut self) {
        self.quiet = true;
        let soon = self.planned_at.map(|planned| planned + COALESCE_QUIET);
        self.wanted_at = self.wanted_at.zip(soon).map(|(wanted, soon)| wanted.min(soon));
    }

    /// Judges the state that came of the plan, and notes it as sent when it is to be. Sets `adopt` where it must
    /// be: a state that is the first of an epoch for the host (R32).
    pub(super) fn planned(&mut self, now: Moment, state: &mut DesiredState) -> Fate {
        self.planning = false;
        let mark = Mark::new(state.epoch.clone(), state.generation);
        if let Some(reason) = self.misnumbered(&mark) {
            self.nothing(now);
            return Fate::Refuse(reason);
        }
        let other_epoch = self.applied.as_ref().is_none_or(|applied| applied.epoch != mark.epoch);
        let adopts = other_epoch && (self.sent.is_none() || self.last.epoch != mark.epoch);
        state.adopt |= adopts;
        let digest = state.seal();
        if self.sent.as_ref().is_some_and(|sent| sent.digest == digest) {
            self.came_to_nothing();
            return Fate::Skip;
        }
        self.last = mark;
        self.sent = Some(Sent { digest, adopting: adopts.then_some(state.generation) });
        Fate::Send
    }

    /// Whether a state with this content would be sent: the caller need not number one that would not.
    pub(super) fn is_news(&self, state: &DesiredState) -> bool {
        self.sent.as_ref().is_none_or(|sent| sent.digest != state.digest())
    }

    /// The host applied a state. One that it only adopted is followed by another look: what is too much may go then.
    pub(super) fn applied(&mut self, now: Moment, generation: u64) {
        let Some(sent) = &mut self.sent else { return };
        if sent.adopting == Some(generation) {
            sent.adopting = None;
            self.changed(now);
        }
    }

    fn misnumbered(&self, mark: &Mark) -> Option<String> {
        if self.behind && self.applied.as_ref().is_some_and(|applied| applied.epoch == mark.epoch) {
            return Some("the store was rolled back, and the state is not of a new epoch".to_owned());
        }
        let others = [self.applied.as_ref(), Some(&self.last)];
        let above = others.into_iter().flatten().filter(|other| other.epoch == mark.epoch);
        let above = above.map(|other| other.generation).max().unwrap_or(0);
        (mark.generation <= above).then(|| format!("generation {} is not above {above}", mark.generation))
    }
}
