//! For logs: something that can happen a thousand times a second is said once a minute, with its count.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The pause between two lines.
const PAUSE: Duration = Duration::from_secs(60);

/// How often something happened since it was said last.
#[derive(Debug, Default)]
pub struct Seldom(Mutex<(u64, Option<Instant>)>);

impl Seldom {
    /// Nothing happened yet.
    pub const fn new() -> Self {
        Self(Mutex::new((0, None)))
    }

    /// It happened. When it is time to say so: how often it did, this time included.
    pub fn count(&self) -> Option<u64> {
        self.count_at(Instant::now())
    }

    fn count_at(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 += 1;
        if state.1.is_some_and(|said| now.saturating_duration_since(said) < PAUSE) {
            return None;
        }
        state.1 = Some(now);
        Some(std::mem::take(&mut state.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_often_is_said_once_a_minute_with_its_count() {
        let (seldom, start) = (Seldom::new(), Instant::now());
        let at = |milliseconds| seldom.count_at(start + Duration::from_millis(milliseconds));
        assert_eq!(at(0), Some(1));
        for turn in 1..600 {
            assert_eq!(at(turn * 100), None);
        }
        assert_eq!(at(60_000), Some(600));
        assert_eq!(at(60_100), None);
    }
}
