//! How often a host may do something that costs the server: so much at once, and so much in a second when it goes on. What
//! comes of an empty pace is the caller's: to read on later, to leave lines out, to refuse.

use std::time::Duration;

use crate::limits::{
    BYTES_PER_MESSAGE, CONNECTS_AT_ONCE, CONNECTS_PER_SECOND, HOST_LOG_AT_ONCE, HOST_LOG_PER_SECOND,
    MESSAGES_AT_ONCE, MESSAGES_PER_SECOND,
};
use crate::moment::Moment;

/// What is left of an allowance that fills again.
#[derive(Debug, Clone)]
pub struct Pace {
    per_second: i64,
    at_once: i64,
    /// In thousandths, so that a millisecond adds a whole number of them. Below zero: more was taken than there was.
    level: i64,
    at: Moment,
}

impl Pace {
    /// Messages of one connection.
    pub fn of_messages(now: Moment) -> Self {
        Self::new(now, MESSAGES_PER_SECOND, MESSAGES_AT_ONCE)
    }

    /// Lines of a host's own.
    pub fn of_host_log(now: Moment) -> Self {
        Self::new(now, HOST_LOG_PER_SECOND, HOST_LOG_AT_ONCE)
    }

    /// Connections of a host.
    pub fn of_connects(now: Moment) -> Self {
        Self::new(now, CONNECTS_PER_SECOND, CONNECTS_AT_ONCE)
    }

    fn new(now: Moment, per_second: u32, at_once: u32) -> Self {
        let (per_second, at_once) = (i64::from(per_second), i64::from(at_once) * 1000);
        Self { per_second, at_once, level: at_once, at: now }
    }

    /// For how many messages one of so many bytes counts.
    pub fn cost(bytes: usize) -> u32 {
        u32::try_from(bytes / BYTES_PER_MESSAGE).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// How many there are.
    pub fn left(&mut self, now: Moment) -> u32 {
        let passed = i64::try_from(now.since(self.at).as_millis()).unwrap_or(i64::MAX);
        self.level = self.level.saturating_add(passed.saturating_mul(self.per_second)).min(self.at_once);
        self.at = self.at.max(now);
        u32::try_from(self.level / 1000).unwrap_or(0)
    }

    /// Takes so many, also when there are fewer.
    pub fn take(&mut self, now: Moment, count: u32) {
        self.left(now);
        self.level = self.level.saturating_sub(i64::from(count) * 1000);
    }

    /// These did not count.
    pub fn give_back(&mut self, count: u32) {
        self.level = self.level.saturating_add(i64::from(count) * 1000).min(self.at_once);
    }

    /// From when on there is one again.
    pub fn ready_at(&self) -> Moment {
        let missing = u64::try_from(1000 - self.level).unwrap_or(0);
        self.at + Duration::from_millis(missing.div_ceil(u64::try_from(self.per_second).unwrap_or(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{MAX_MESSAGE, SILENCE};

    #[test]
    fn so_much_at_once_and_then_so_much_in_a_second() {
        let mut pace = Pace::of_messages(Moment(5));
        assert_eq!((pace.left(Moment(5)), pace.ready_at()), (MESSAGES_AT_ONCE, Moment(5)));
        pace.take(Moment(5), MESSAGES_AT_ONCE);
        assert_eq!((pace.left(Moment(5)), pace.ready_at()), (0, Moment(55)));
        assert_eq!(pace.left(Moment(54)), 0);
        assert_eq!(pace.left(Moment(55)), 1);
        assert_eq!(pace.left(Moment(1055)), MESSAGES_PER_SECOND + 1);
        assert_eq!(pace.left(Moment(u64::MAX)), MESSAGES_AT_ONCE);
    }

    #[test]
    fn what_was_taken_beyond_it_is_waited_for_and_what_is_given_back_is_not() {
        let mut pace = Pace::of_messages(Moment(0));
        pace.take(Moment(0), MESSAGES_AT_ONCE + MESSAGES_PER_SECOND);
        assert_eq!(pace.ready_at(), Moment(1050));
        pace.give_back(MESSAGES_PER_SECOND);
        assert_eq!(pace.ready_at(), Moment(50));
        pace.give_back(u32::MAX);
        assert_eq!(pace.left(Moment(0)), MESSAGES_AT_ONCE);
    }

    #[test]
    fn the_longest_message_holds_a_host_up_for_less_than_the_silence_that_ends_a_connection() {
        let mut pace = Pace::of_messages(Moment(0));
        pace.take(Moment(0), MESSAGES_AT_ONCE);
        pace.take(Moment(0), Pace::cost(MAX_MESSAGE));
        assert!(pace.ready_at().since(Moment(0)) < SILENCE / 2);
    }
}
