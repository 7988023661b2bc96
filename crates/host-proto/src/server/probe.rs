//! Whether a host that seems connected really is (R14): something must be heard within five seconds of a ping.

use std::time::Duration;

use crate::moment::Moment;

/// R14.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub(super) struct Probe {
    until: Option<Moment>,
}

impl Probe {
    pub(super) fn begin(&mut self, now: Moment) {
        self.until.get_or_insert(now + ANSWER_WITHIN);
    }

    pub(super) fn deadline(&self) -> Option<Moment> {
        self.until
    }

    /// Something was heard. True when it was waited for.
    pub(super) fn heard(&mut self) -> bool {
        self.until.take().is_some()
    }

    /// True when nothing was heard in time.
    pub(super) fn failed(&mut self, now: Moment) -> bool {
        let over = self.until.is_some_and(|until| now >= until);
        if over {
            self.until = None;
        }
        over
    }
}
