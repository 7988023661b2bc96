//! What one asker may take, so that the others get something too. Both are bounded in memory.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Most askers that are told apart.
const MAX_ASKERS: usize = 4096;

/// So many questions a second and asker.
#[derive(Debug)]
pub(super) struct Rate {
    per_second: u32,
    windows: HashMap<IpAddr, (Instant, u32)>,
}

impl Rate {
    pub(super) fn new(per_second: u32) -> Self {
        Self { per_second, windows: HashMap::new() }
    }

    /// Whether one more is within the limit.
    pub(super) fn allows(&mut self, asker: IpAddr, now: Instant) -> bool {
        if self.windows.len() >= MAX_ASKERS && !self.windows.contains_key(&asker) {
            self.windows.clear();
        }
        let (begun, count) = self.windows.entry(asker).or_insert((now, 0));
        if now.saturating_duration_since(*begun) >= Duration::from_secs(1) {
            (*begun, *count) = (now, 0);
        }
        *count += 1;
        *count <= self.per_second
    }
}

/// So many things at once, in all and for each asker.
#[derive(Debug, Clone)]
pub(super) struct Shares {
    each: usize,
    total: usize,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// One thing that an asker holds, until it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    asker: IpAddr,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Shares {
    pub(super) fn new(each: usize, total: usize) -> Self {
        Self { each, total, taken: Arc::default() }
    }

    /// One more, if there is one.
    pub(super) fn take(&self, asker: IpAddr) -> Option<Share> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let of_asker = taken.get(&asker).copied().unwrap_or(0);
        if of_asker >= self.each || taken.values().sum::<usize>() >= self.total {
            return None;
        }
        taken.insert(asker, of_asker + 1);
        drop(taken);
        Some(Share { asker, taken: Arc::clone(&self.taken) })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.asker) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.asker);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_asker_does_not_take_what_is_anothers() {
        let (greedy, modest) = (IpAddr::from([10, 0, 0, 2]), IpAddr::from([10, 0, 0, 3]));
        let now = Instant::now();
        let mut rate = Rate::new(2);
        assert_eq!([(); 3].map(|()| rate.allows(greedy, now)), [true, true, false]);
        assert!(rate.allows(modest, now));
        assert!(rate.allows(greedy, now + Duration::from_secs(1)));

        let shares = Shares::new(2, 3);
        let held: Vec<_> = (0..3).filter_map(|_| shares.take(greedy)).collect();
        assert_eq!(held.len(), 2);
        let other = shares.take(modest);
        assert!(other.is_some() && shares.take(modest).is_none(), "three in all");
        drop(held);
        assert!(shares.take(modest).is_some());
    }

    #[test]
    fn the_table_of_askers_is_bounded() {
        let mut rate = Rate::new(1);
        let now = Instant::now();
        for n in 0..100_000_u32 {
            rate.allows(IpAddr::V4(n.into()), now);
        }
        assert!(rate.windows.len() <= MAX_ASKERS);
    }
}
