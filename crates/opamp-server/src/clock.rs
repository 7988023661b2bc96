//! The sessions' clock: milliseconds since the server was made.

use std::time::SystemTime;

use opamp_proto::Moment;
use tokio::time::{Duration, Instant};

/// One origin for everything in a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    origin: Instant,
    wall: SystemTime,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { origin: Instant::now(), wall: SystemTime::now() }
    }

    pub(crate) fn now(&self) -> Moment {
        Moment(u64::try_from(self.origin.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    pub(crate) fn instant(&self, moment: Moment) -> Instant {
        self.origin + Duration::from_millis(moment.0)
    }

    /// The time of day of a moment.
    pub(crate) fn wall(&self, moment: Moment) -> SystemTime {
        self.wall + Duration::from_millis(moment.0)
    }
}
