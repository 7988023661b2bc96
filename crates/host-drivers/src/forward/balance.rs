//! Which replica is next: in turn, without those that could not be reached a moment ago (R61).

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// How long an upstream that could not be reached is passed over (R61).
const EJECTED_FOR: Duration = Duration::from_secs(10);

/// The upstreams of a route.
#[derive(Debug)]
pub(super) struct Pool {
    upstreams: Vec<SocketAddr>,
    next: usize,
    ejected: HashMap<SocketAddr, Instant>,
}

impl Pool {
    pub(super) fn new(upstreams: Vec<SocketAddr>) -> Self {
        Self { upstreams, next: 0, ejected: HashMap::new() }
    }

    /// Other upstreams from now on. What is known of those that stay is kept.
    pub(super) fn replace(&mut self, upstreams: Vec<SocketAddr>) {
        self.ejected.retain(|upstream, _| upstreams.contains(upstream));
        self.upstreams = upstreams;
    }

    /// Whom to try, in order: the next in turn, then the others, and at the end those that failed a moment ago: when
    /// all have, trying is better than refusing.
    pub(super) fn order(&mut self, now: Instant) -> Vec<SocketAddr> {
        self.ejected.retain(|_, since| now.saturating_duration_since(*since) < EJECTED_FOR);
        let (ejected, mut order): (Vec<_>, Vec<_>) =
            self.upstreams.iter().copied().partition(|upstream| self.ejected.contains_key(upstream));
        if !order.is_empty() {
            let turn = self.next % order.len();
            order.rotate_left(turn);
        }
        self.next = self.next.wrapping_add(1);
        order.extend(ejected);
        order
    }

    /// An upstream could not be reached.
    pub(super) fn failed(&mut self, upstream: SocketAddr, now: Instant) {
        if self.has(upstream) {
            self.ejected.insert(upstream, now);
        }
    }

    /// An upstream was reached.
    pub(super) fn works(&mut self, upstream: SocketAddr) {
        self.ejected.remove(&upstream);
    }

    /// Whether it is one of ours still.
    pub(super) fn has(&self, upstream: SocketAddr) -> bool {
        self.upstreams.contains(&upstream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(last: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, last], 80))
    }

    #[test]
    fn upstreams_take_turns_and_one_that_failed_comes_last_for_ten_seconds() {
        let now = Instant::now();
        let mut pool = Pool::new(vec![at(1), at(2), at(3)]);
        assert_eq!(pool.order(now), [at(1), at(2), at(3)]);
        assert_eq!(pool.order(now), [at(2), at(3), at(1)]);
        pool.failed(at(2), now);
        let later = now + Duration::from_millis(9_999);
        for _ in 0..4 {
            assert_eq!(pool.order(later)[2], at(2));
        }
        let firsts: Vec<_> = (0..3).map(|_| pool.order(now + EJECTED_FOR)[0]).collect();
        assert!(firsts.contains(&at(2)));
    }

    #[test]
    fn when_all_failed_all_are_tried() {
        let now = Instant::now();
        let mut pool = Pool::new(vec![at(1), at(2)]);
        pool.failed(at(1), now);
        pool.failed(at(2), now);
        assert_eq!(pool.order(now).len(), 2);
        pool.works(at(2));
        assert_eq!(pool.order(now)[0], at(2));
        assert!(Pool::new(vec![]).order(now).is_empty());
    }

    #[test]
    fn other_upstreams_keep_what_is_known_of_those_that_stay() {
        let now = Instant::now();
        let mut pool = Pool::new(vec![at(1), at(2)]);
        pool.failed(at(1), now);
        pool.replace(vec![at(1), at(3)]);
        assert_eq!(pool.order(now), [at(3), at(1)]);
        pool.failed(at(2), now);
        assert!(!pool.has(at(2)) && pool.ejected.len() == 1);
    }
}
