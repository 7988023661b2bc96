//! What monitoring asks for: counters that the parts of the server add to, and the page that is made of them and of
//! what can be looked up when somebody asks. The page is `GET /metrics` of the console's port.

mod hosting;
mod page;
mod process;
mod snapshot;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::metrics::histogram::Histogram;
use store::EnrolOutcome;

pub(crate) use page::{CONTENT_TYPE, write};
pub(crate) use snapshot::{Snapshot, Sources};

/// Upper bounds of the classes in which times are counted, in seconds: a commit takes milliseconds, a disk in trouble
/// seconds.
const TIMES: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.0, 10.0];

/// What became of enrolments, by the word that the page has for it.
const OUTCOMES: [&str; 4] = ["enrolled", "known", "rebound", "refused"];

/// Counters of the control plane. Those of messages are the OpAMP server's own.
#[derive(Debug)]
pub(crate) struct Counters {
    logins_failed: AtomicU64,
    enrolments: [AtomicU64; OUTCOMES.len()],
    batch: Histogram,
    enrolment: Histogram,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            logins_failed: AtomicU64::new(0),
            enrolments: Default::default(),
            batch: Histogram::new(TIMES),
            enrolment: Histogram::new(TIMES),
        }
    }
}

impl Counters {
    /// A login failed.
    pub(crate) fn login_failed(&self) {
        self.logins_failed.fetch_add(1, Ordering::Relaxed);
    }

    /// An agent asked to be let in, and the store took this long.
    pub(crate) fn enrolled(&self, outcome: EnrolOutcome, took: Duration) {
        let place = match outcome {
            EnrolOutcome::Enrolled => 0,
            EnrolOutcome::Known => 1,
            EnrolOutcome::Rebound { .. } => 2,
            _ => 3,
        };
        self.enrolments[place].fetch_add(1, Ordering::Relaxed);
        self.enrolment.observe(took.as_secs_f64());
    }

    /// A batch of changes was written.
    pub(crate) fn written(&self, took: Duration) {
        self.batch.observe(took.as_secs_f64());
    }
}
