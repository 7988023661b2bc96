//! How often what an agent is to run may change by its own doing. An agent that says now this and now that of itself is
//! matched by one selector and then by another; without a bound each of its words would cost a write and an offer.
//! Pure: the time is an argument. What operators change is never held up.

use std::time::Duration;

use crate::time::UnixMillis;

/// So many changes may come in a row.
pub const BURST: u32 = 5;
/// One more may come each time that this has passed.
pub const PAUSE: Duration = Duration::from_secs(60);

/// Counts the changes of one agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Damper {
    /// When all changes so far are forgotten: each adds a pause to it.
    over: UnixMillis,
}

impl Damper {
    /// A change is wanted now. `Err`: not before this time.
    pub fn change(&mut self, now: UnixMillis) -> Result<(), UnixMillis> {
        let not_before = self.not_before(now);
        if not_before > now {
            return Err(not_before);
        }
        self.over = self.over.max(now).after(PAUSE);
        Ok(())
    }

    /// Whether a change could come now.
    pub fn may_change(&self, now: UnixMillis) -> bool {
        self.not_before(now) <= now
    }

    fn not_before(&self, now: UnixMillis) -> UnixMillis {
        self.over.max(now).before(PAUSE * (BURST - 1))
    }

    /// Whether nothing is to be remembered any more.
    pub fn is_over(&self, now: UnixMillis) -> bool {
        self.over <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_changes_go_through_and_then_one_a_minute() {
        let mut damper = Damper::default();
        let start = UnixMillis(1_000_000);
        assert!(damper.is_over(start));
        for _ in 0..BURST {
            assert_eq!(damper.change(start), Ok(()));
        }
        let minute = start.after(PAUSE);
        assert_eq!(damper.change(start), Err(minute));
        assert!(!damper.may_change(start) && damper.may_change(minute));
        assert_eq!(damper.change(minute.before(Duration::from_millis(1))), Err(minute));
        assert_eq!(damper.change(minute), Ok(()));
        assert_eq!(damper.change(minute), Err(minute.after(PAUSE)));
    }

    #[test]
    fn an_agent_that_flips_without_end_changes_once_a_minute_and_is_forgotten_when_it_rests() {
        let (mut damper, mut changes) = (Damper::default(), 0);
        for second in 0..3600 {
            changes += u32::from(damper.change(UnixMillis(second * 1000)).is_ok());
        }
        assert_eq!(changes, BURST + 59);
        assert!(!damper.is_over(UnixMillis(3_600_000)));
        assert!(damper.is_over(UnixMillis(3_600_000).after(PAUSE * BURST)));
        assert_eq!(damper.change(UnixMillis(10_000_000)), Ok(()));
    }
}
