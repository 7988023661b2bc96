//! Time: monotonic for everything that is decided (R8), the wall clock only for what people read.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use host_proto::Moment;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tokio::time::Instant;

/// The agent's clock; every task has a copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { start: Instant::now() }
    }

    pub(crate) fn now(self) -> Moment {
        Moment(u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// The instant of a moment, to sleep until it.
    pub(crate) fn instant(self, moment: Moment) -> Instant {
        self.start + Duration::from_millis(moment.0)
    }
}

/// The wall clock as RFC 3339.
pub(crate) fn wall() -> String {
    OffsetDateTime::now_utc().format(&Rfc3339).unwrap_or_default()
}

/// The wall clock in microseconds since 1970.
pub(crate) fn wall_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// How far the server's clock is from ours, in whole seconds; `None` when it says nothing that can be read.
pub(crate) fn skew_s(server: &str) -> Option<i64> {
    let server = OffsetDateTime::parse(server, &Rfc3339).ok()?;
    Some((server - OffsetDateTime::now_utc()).whole_seconds())
}
