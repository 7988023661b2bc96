//! The health of a replica that the host itself asks, by `http` or `tcp`: a machine that says when to ask, counts the
//! answers and keeps the thresholds (R68). It asks nothing; `host-drivers` does.

use std::time::Duration;

use host_proto::Moment;
use host_proto::desired::Health;
use host_proto::report::HealthState;

/// While it is not known whether a replica works, it is asked at least this often: a rollout waits for the answer.
const EAGER: Duration = Duration::from_secs(1);
/// No check is asked more often than this, whatever a file says.
const SHORTEST: Duration = Duration::from_millis(100);

/// The check of one replica.
#[derive(Debug, Clone)]
pub struct Probe {
    settings: Health,
    started: Moment,
    state: HealthState,
    successes: u32,
    failures: u32,
    last_counted: Option<Moment>,
    next: Moment,
    asking: bool,
}

impl Probe {
    /// A replica was started.
    pub fn new(settings: Health, started: Moment) -> Self {
        Self {
            settings,
            started,
            state: HealthState::Starting,
            successes: 0,
            failures: 0,
            last_counted: None,
            next: started,
            asking: false,
        }
    }

    /// What is known.
    pub const fn state(&self) -> HealthState {
        self.state
    }

    /// What is asked and how.
    pub const fn settings(&self) -> &Health {
        &self.settings
    }

    /// How long an answer may take.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.settings.timeout_ms).max(SHORTEST)
    }

    /// When to ask next; `None` while an answer is awaited.
    pub fn due_at(&self) -> Option<Moment> {
        (!self.asking).then_some(self.next)
    }

    /// It is being asked.
    pub fn ask(&mut self) {
        self.asking = true;
    }

    /// It answered, well or not. Returns the new state when it is another one.
    pub fn answer(&mut self, now: Moment, works: bool) -> Option<HealthState> {
        self.asking = false;
        let before = self.state;
        if works {
            self.failures = 0;
            self.successes = self.successes.saturating_add(1);
            if self.successes >= self.settings.success_threshold.max(1) {
                self.state = HealthState::Healthy;
            }
        } else {
            self.successes = 0;
            self.count_failure(now);
        }
        let pause =
            if self.state == HealthState::Healthy { self.interval() } else { self.interval().min(EAGER) };
        self.next = now + pause;
        (self.state != before).then_some(self.state)
    }

    fn interval(&self) -> Duration {
        Duration::from_millis(self.settings.interval_ms).max(SHORTEST)
    }

    /// Failures count once per interval, however eagerly it is asked, and not in the start period of a replica that never
    /// worked: `retries × interval` is what a person wrote.
    fn count_failure(&mut self, now: Moment) {
        let starting = self.state == HealthState::Starting;
        if starting && now.since(self.started) < Duration::from_millis(self.settings.start_period_ms) {
            return;
        }
        let counted_just_now = self.last_counted.is_some_and(|at| now.since(at) < self.interval());
        if starting && counted_just_now {
            return;
        }
        self.last_counted = Some(now);
        self.failures = self.failures.saturating_add(1);
        if self.failures >= self.settings.retries.max(1) {
            self.state = HealthState::Unhealthy;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Health {
        Health {
            interval_ms: 5_000,
            timeout_ms: 1_000,
            start_period_ms: 10_000,
            retries: 2,
            success_threshold: 2,
            ..Health::default()
        }
    }

    /// Asks whenever it is due until `until`; returns the changes with their times.
    fn drive(probe: &mut Probe, until: u64, works: impl Fn(u64) -> bool) -> Vec<(u64, HealthState)> {
        let mut changes = Vec::new();
        while let Some(at) = probe.due_at().filter(|at| at.0 <= until) {
            probe.ask();
            assert_eq!(probe.due_at(), None);
            changes.extend(probe.answer(at, works(at.0)).map(|state| (at.0, state)));
        }
        changes
    }

    #[test]
    fn a_replica_that_comes_up_late_is_healthy_after_so_many_successes_in_a_row() {
        let mut probe = Probe::new(settings(), Moment(0));
        let changes = drive(&mut probe, 60_000, |at| at >= 3_000);
        assert_eq!(changes, [(4_000, HealthState::Healthy)]);
    }

    #[test]
    fn failures_count_after_the_start_period_and_once_per_interval() {
        let mut probe = Probe::new(settings(), Moment(0));
        assert_eq!(drive(&mut probe, 60_000, |_| false), [(15_000, HealthState::Unhealthy)]);
    }

    #[test]
    fn one_failure_does_not_make_a_healthy_replica_unhealthy() {
        let mut probe = Probe::new(settings(), Moment(0));
        drive(&mut probe, 20_000, |_| true);
        let next = probe.due_at().unwrap().0;
        assert_eq!(drive(&mut probe, 120_000, |at| at != next), []);
        let changes = drive(&mut probe, 200_000, |at| at > 180_000);
        assert_eq!(
            changes.iter().map(|change| change.1).collect::<Vec<_>>(),
            [HealthState::Unhealthy, HealthState::Healthy]
        );
    }
}
