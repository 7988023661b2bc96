//! The replacement of a host's token over the open socket (TOKEN-1 to TOKEN-3).
//!
//! Both tokens work from the moment the new one exists until ten minutes after the host confirmed it; a host that lost
//! its connection in between may come back with either.

use std::time::Duration;

use crate::limits::TOKEN_AGE;
use crate::moment::Moment;

/// An unanswered or refused rotation is tried again after this.
const RETRY_AFTER: Duration = Duration::from_secs(60 * 60);
/// The host has to write one file.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Rotation {
    due: Option<Moment>,
    /// The id of the message under way; kept after its time is over, for a late answer.
    id: Option<String>,
    until: Option<Moment>,
}

impl Rotation {
    /// At the beginning of a connection; an overdue token is replaced at once (R88).
    pub(super) fn begin(&mut self, now: Moment, age: Duration) {
        self.due = Some(now + TOKEN_AGE.saturating_sub(age));
    }

    pub(super) fn deadline(&self) -> Option<Moment> {
        match (self.due, self.until) {
            (Some(due), Some(until)) => Some(due.min(until)),
            (due, until) => due.or(until),
        }
    }

    /// True once when it is time. Should the caller not come up with a token, it is time again later.
    pub(super) fn is_due(&mut self, now: Moment) -> bool {
        let due = self.due.is_some_and(|due| now >= due);
        if due {
            self.due = Some(now + RETRY_AFTER);
        }
        due
    }

    pub(super) fn sent(&mut self, now: Moment, id: String) {
        self.id = Some(id);
        self.until = Some(now + ANSWER_WITHIN);
    }

    /// True when the host did not answer in time.
    pub(super) fn is_unanswered(&mut self, now: Moment) -> bool {
        let over = self.until.is_some_and(|until| now >= until);
        if over {
            self.until = None;
        }
        over
    }

    /// True when it is the answer to what was sent last.
    pub(super) fn answered(&mut self, now: Moment, re: Option<&str>, ok: bool) -> bool {
        if self.id.is_none() || self.id.as_deref() != re {
            return false;
        }
        self.id = None;
        self.until = None;
        self.due = Some(now + if ok { TOKEN_AGE } else { RETRY_AFTER });
        true
    }
}
