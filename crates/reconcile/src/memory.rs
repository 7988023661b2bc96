//! What was tried before, for each item by itself: how often it failed, in whose words, and when it may be tried again
//! (R30, STATE-10). Pauses grow from one second to a minute, with jitter, so that a hundred items that failed together do
//! not come back together.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use host_proto::Moment;

use crate::item::Item;

/// First pause after a failure.
pub const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Longest pause after a failure.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// So many failures to stop or remove a container make it stuck: every rung of the ladder was tried (R30).
pub const STUCK_AFTER: u32 = 3;

/// Why something failed, and whether another try can help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Trouble {
    /// In the words of the engine or kernel.
    pub text: String,
    /// What it means for the next try.
    pub kind: TroubleKind,
}

/// What a failure means for the next try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TroubleKind {
    /// It may work the next time.
    Retry,
    /// It cannot work as things are: a foreign object stands in the way, or the engine calls the request wrong. Tried
    /// again all the same, at the longest pause: a person may have cleared the way.
    Refused,
    /// The engine does not answer. That is no fault of the item: nothing is counted, and what is there is unknown until
    /// a new list (R29).
    Unavailable,
}

/// How the tries for an item went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempts {
    /// Failures in a row.
    pub failures: u32,
    /// Not before.
    pub retry_at: Moment,
    /// The last error.
    pub error: String,
    /// Whether it was refused rather than failed.
    pub refused: bool,
}

/// What was tried before. Belongs to whoever carries plans out; `plan` only reads it.
#[derive(Debug, Clone)]
pub struct Memory {
    failed: BTreeMap<Item, Attempts>,
    busy: BTreeSet<Item>,
    random: fastrand::Rng,
}

impl Memory {
    /// An empty memory. `start` is where the chance of the jitter begins, so that a run can be repeated.
    pub fn new(start: u64) -> Self {
        Self { failed: BTreeMap::new(), busy: BTreeSet::new(), random: fastrand::Rng::with_seed(start) }
    }

    /// A step for this item begins: no plan names it until it has ended.
    pub fn begin(&mut self, item: &Item) {
        self.busy.insert(item.clone());
    }

    /// Whether a step for this item is under way.
    pub fn is_busy(&self, item: &Item) -> bool {
        self.busy.contains(item)
    }

    /// A step ended.
    pub fn end(&mut self, now: Moment, item: &Item, outcome: Result<(), Trouble>) {
        self.busy.remove(item);
        match outcome {
            Ok(()) => {
                self.failed.remove(item);
            }
            Err(trouble) if trouble.kind == TroubleKind::Unavailable => {}
            Err(trouble) => self.failed(now, item, trouble),
        }
    }

    fn failed(&mut self, now: Moment, item: &Item, trouble: Trouble) {
        let failures = self.failed.get(item).map_or(0, |before| before.failures).saturating_add(1);
        let refused = trouble.kind == TroubleKind::Refused;
        let pause = if refused { LONGEST_PAUSE } else { pause(failures) };
        // Between three quarters and all of the pause.
        let millis = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        let jittered = millis - self.random.u64(0..=millis / 4);
        let retry_at = now + Duration::from_millis(jittered);
        self.failed.insert(item.clone(), Attempts { failures, retry_at, error: trouble.text, refused });
    }

    /// How the tries for an item went; `None` when the last one succeeded or there was none.
    pub fn attempts(&self, item: &Item) -> Option<&Attempts> {
        self.failed.get(item)
    }

    /// Failures in a row of an item.
    pub fn failures(&self, item: &Item) -> u32 {
        self.failed.get(item).map_or(0, |attempts| attempts.failures)
    }

    /// Whether every way to stop or remove it was tried in vain.
    pub fn is_stuck(&self, item: &Item) -> bool {
        self.failures(item) >= STUCK_AFTER
    }

    /// Everything may be tried at once: the desired state is another one, or a person asked for it.
    pub fn retry_now(&mut self) {
        for attempts in self.failed.values_mut() {
            attempts.retry_at = Moment::default();
        }
    }

    /// Forgets the failures of items that no plan names any more.
    pub fn keep(&mut self, mut wanted: impl FnMut(&Item) -> bool) {
        self.failed.retain(|item, _| wanted(item));
    }

    /// When the next item may be tried again, if any waits.
    pub fn next_retry(&self) -> Option<Moment> {
        self.failed.iter().filter(|(item, _)| !self.busy.contains(*item)).map(|(_, a)| a.retry_at).min()
    }
}

/// The pause after so many failures, without jitter.
fn pause(failures: u32) -> Duration {
    let doubled = FIRST_PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(6));
    doubled.min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item() -> Item {
        Item::Image("nginx:1".to_owned())
    }

    fn trouble(kind: TroubleKind) -> Result<(), Trouble> {
        Err(Trouble { text: "no such thing".to_owned(), kind })
    }

    #[test]
    fn state_10_pauses_grow_from_a_second_to_a_minute_and_a_success_forgets_them() {
        let mut memory = Memory::new(7);
        let now = Moment(1_000_000);
        let mut pauses = Vec::new();
        for _ in 0..9 {
            memory.end(now, &item(), trouble(TroubleKind::Retry));
            pauses.push(memory.attempts(&item()).unwrap().retry_at - now);
        }
        for (count, pause) in pauses.iter().enumerate() {
            let full = Duration::from_secs(60.min(1 << count));
            assert!(*pause <= full && *pause >= full * 3 / 4, "{count}: {pause:?} of {full:?}");
        }
        memory.end(now, &item(), Ok(()));
        assert_eq!(memory.attempts(&item()), None);
    }

    #[test]
    fn state_10_an_engine_that_does_not_answer_is_no_failure_of_the_item() {
        let mut memory = Memory::new(7);
        memory.begin(&item());
        assert!(memory.is_busy(&item()));
        memory.end(Moment(5), &item(), trouble(TroubleKind::Unavailable));
        assert!(!memory.is_busy(&item()));
        assert_eq!(memory.failures(&item()), 0);
        assert_eq!(memory.next_retry(), None);
    }
}
