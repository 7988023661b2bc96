//! Pauses between attempts: doubling from the first to the longest, each drawn from zero to that length
//! ("full jitter"), so that a fleet that lost its server does not come back in step (ESTAB-5, `C33`).

use std::time::Duration;

#[derive(Debug)]
pub(super) struct Backoff {
    first: Duration,
    max: Duration,
    failures: u32,
    /// Whether the one attempt without a pause has been used (ESTAB-7).
    instant_used: bool,
    rng: fastrand::Rng,
}

impl Backoff {
    pub(super) fn new(first: Duration, max: Duration, seed: u64) -> Self {
        Self { first, max, failures: 0, instant_used: false, rng: fastrand::Rng::with_seed(seed) }
    }

    /// The pause after one more failure.
    pub(super) fn next(&mut self) -> Duration {
        let ceiling = self.first.saturating_mul(1 << self.failures.min(30)).min(self.max);
        self.failures = self.failures.saturating_add(1);
        let millis = u64::try_from(ceiling.as_millis()).unwrap_or(u64::MAX);
        Duration::from_millis(self.rng.u64(0..=millis))
    }

    /// The server is well: the next failure is the first one again.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
        self.instant_used = false;
    }

    /// Whether the next attempt may start without a pause: once, until the server is known to be well again.
    pub(super) fn take_instant(&mut self) -> bool {
        !std::mem::replace(&mut self.instant_used, true)
    }
}
