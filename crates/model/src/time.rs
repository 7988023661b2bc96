//! A moment of the wall clock, as it is stored and shown. Not the protocol's clock: that is
//! `opamp_proto::Moment`, which only counts forward.

use std::time::Duration;

/// Milliseconds since 1970-01-01T00:00:00Z; negative before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UnixMillis(pub i64);

impl UnixMillis {
    /// Milliseconds since 1970 from the nanoseconds that OpAMP counts; 0 there means "not known" (HEALTH-5).
    pub const fn from_wire_nanos(nanos: u64) -> Option<Self> {
        match nanos {
            0 => None,
            nanos => Some(Self((nanos / 1_000_000) as i64)),
        }
    }

    /// The moment `duration` later; stops at the end of what can be counted.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The moment `duration` earlier; stops at the beginning of what can be counted.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long ago `earlier` was; zero when it was not.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}
