//! Whether a peer is still there. Any traffic is a sign of life; after a spell of silence it is pinged, and after
//! some unanswered pings it is given up. A peer that sends heartbeats is never pinged.

use std::time::Duration;

use opamp_proto::Moment;

/// The state of one connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Liveness {
    interval: Duration,
    allowed: u32,
    heard: Moment,
    pings: u32,
}

/// What to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing before this moment.
    Wait(Moment),
    /// Send a ping, then ask again.
    Ping,
    /// The peer is gone.
    Gone,
}

impl Liveness {
    pub(crate) const fn new(now: Moment, interval: Duration, allowed: u32) -> Self {
        Self { interval, allowed, heard: now, pings: 0 }
    }

    /// Something arrived.
    pub(crate) const fn heard(&mut self, now: Moment) {
        self.heard = now;
        self.pings = 0;
    }

    /// What the time says.
    pub(crate) fn poll(&mut self, now: Moment) -> Verdict {
        let due = self.heard + self.interval.saturating_mul(self.pings + 1);
        if now < due {
            return Verdict::Wait(due);
        }
        if self.pings >= self.allowed {
            return Verdict::Gone;
        }
        self.pings += 1;
        Verdict::Ping
    }
}

/// The moment at which to look after `at`: a thirty-second part of the interval later at most, and the same for many
/// connections. A fleet's clocks then wake the server once in two seconds for all that are due, and not once for each:
/// with heartbeats every half minute that would be nearly as often as the heartbeats do.
pub(crate) fn look_at(at: Moment, interval: Duration) -> Moment {
    let grain = u64::try_from(interval.as_millis() / 32).unwrap_or(u64::MAX).max(1);
    Moment(at.0.checked_next_multiple_of(grain).unwrap_or(at.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_connections_are_looked_at_in_one_moment() {
        let minute = Duration::from_secs(60);
        let moments: std::collections::BTreeSet<_> =
            (0..60_000).map(|at| look_at(Moment(at), minute)).collect();
        assert_eq!(moments.len(), 33);
        assert!((0..60_000).all(|at| (at..at + 1_875).contains(&look_at(Moment(at), minute).0)));
        assert_eq!(look_at(Moment(u64::MAX), minute), Moment(u64::MAX));
        assert_eq!(look_at(Moment(7), Duration::ZERO), Moment(7));
    }

    fn liveness() -> Liveness {
        Liveness::new(Moment(0), Duration::from_secs(60), 2)
    }

    #[test]
    fn hb_13_a_peer_that_answers_neither_of_two_pings_is_given_up() {
        let mut liveness = liveness();
        assert_eq!(liveness.poll(Moment(59_999)), Verdict::Wait(Moment(60_000)));
        assert_eq!(liveness.poll(Moment(60_000)), Verdict::Ping);
        assert_eq!(liveness.poll(Moment(60_001)), Verdict::Wait(Moment(120_000)));
        assert_eq!(liveness.poll(Moment(120_000)), Verdict::Ping);
        assert_eq!(liveness.poll(Moment(120_001)), Verdict::Wait(Moment(180_000)));
        assert_eq!(liveness.poll(Moment(180_000)), Verdict::Gone);
    }

    #[test]
    fn any_traffic_is_a_sign_of_life() {
        let mut liveness = liveness();
        assert_eq!(liveness.poll(Moment(60_000)), Verdict::Ping);
        liveness.heard(Moment(100_000));
        assert_eq!(liveness.poll(Moment(159_999)), Verdict::Wait(Moment(160_000)));
        assert_eq!(liveness.poll(Moment(160_000)), Verdict::Ping);
    }
}
