//! Pauses between connections (CONNECT-6, R16): doubling from one second to thirty, each drawn from one second to that
//! length, so that a fleet that lost its server does not come back in step.

use std::time::Duration;

use crate::limits::{BACKOFF_MAX, BACKOFF_MIN};

#[derive(Debug)]
pub(super) struct Backoff {
    failures: u32,
    rng: fastrand::Rng,
}

impl Backoff {
    pub(super) fn new(seed: u64) -> Self {
        Self { failures: 0, rng: fastrand::Rng::with_seed(seed) }
    }

    /// The pause after one more failure.
    pub(super) fn next(&mut self) -> Duration {
        let ceiling = self.ceiling();
        self.between(BACKOFF_MIN, ceiling)
    }

    /// The pause after the server said no without saying for how long: from the longer half, so that a server that
    /// refuses is asked less often than one that cannot be reached.
    pub(super) fn next_refused(&mut self) -> Duration {
        let ceiling = self.ceiling();
        self.between((ceiling / 2).max(BACKOFF_MIN), ceiling)
    }

    /// A pause of this length and up to a fifth more.
    pub(super) fn around(&mut self, pause: Duration) -> Duration {
        self.between(pause, pause + pause / 5)
    }

    /// A length up to this one.
    pub(super) fn within(&mut self, spread: Duration) -> Duration {
        self.between(Duration::ZERO, spread)
    }

    /// The connection lasted: the next failure is the first one again.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }

    fn ceiling(&mut self) -> Duration {
        self.failures = self.failures.saturating_add(1);
        BACKOFF_MIN.saturating_mul(1 << self.failures.min(16)).min(BACKOFF_MAX)
    }

    fn between(&mut self, shortest: Duration, longest: Duration) -> Duration {
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        Duration::from_millis(self.rng.u64(millis(shortest)..=millis(longest)))
    }
}
