//! Whether the other side is there (CONNECT-5) and whether it still works (R18). Two layers: any frame keeps the path
//! alive, while a JSON `ping` is answered by the task that does the work.

use std::time::Duration;

use crate::message::{Intervals, Ping};
use crate::moment::Moment;

/// So many unanswered pings in a row, while frames flow, mean that the other side's work stands still (R18).
const UNANSWERED: u32 = 3;

/// What is due.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Due {
    Nothing,
    /// Ping on both layers.
    Ping(Ping),
    /// Nothing was heard for too long.
    Dead,
}

/// Watches one connection.
#[derive(Debug)]
pub(crate) struct Liveness {
    every: Duration,
    dead: Duration,
    heard: Moment,
    ping_at: Moment,
    seq: u64,
    /// Pings since the last answer.
    unanswered: u32,
}

impl Liveness {
    pub(crate) fn new(now: Moment, intervals: &Intervals) -> Self {
        let (every, dead) = bounded(intervals);
        Self { every, dead, heard: now, ping_at: now + every, seq: 0, unanswered: 0 }
    }

    /// The server tuned the intervals.
    pub(crate) fn tune(&mut self, now: Moment, intervals: &Intervals) {
        (self.every, self.dead) = bounded(intervals);
        self.ping_at = now + self.every;
    }

    pub(crate) fn heard(&mut self, now: Moment) {
        self.heard = now;
    }

    pub(crate) fn deadline(&self) -> Moment {
        self.ping_at.min(self.heard + self.dead)
    }

    pub(crate) fn due(&mut self, now: Moment) -> Due {
        if now.since(self.heard) >= self.dead {
            return Due::Dead;
        }
        if now < self.ping_at {
            return Due::Nothing;
        }
        self.ping_at = now + self.every;
        Due::Ping(self.ping(now))
    }

    /// A ping out of turn.
    pub(crate) fn ping(&mut self, now: Moment) -> Ping {
        self.seq += 1;
        self.unanswered = self.unanswered.saturating_add(1);
        Ping { seq: self.seq, t_us: now.0.saturating_mul(1000) }
    }

    pub(crate) fn answered(&mut self) {
        self.unanswered = 0;
    }

    /// Whether the work of the other side stands still. The ping under way does not count against it.
    pub(crate) fn is_stuck(&self) -> bool {
        self.unanswered > UNANSWERED
    }
}

/// A server that says "every millisecond" or "never" is not obeyed to the letter.
fn bounded(intervals: &Intervals) -> (Duration, Duration) {
    let every = Duration::from_millis(intervals.ping_ms.clamp(100, 60_000));
    let dead = Duration::from_millis(intervals.dead_ms.clamp(300, 600_000));
    (every, dead.max(every * 2))
}
