//! How often one may try to log in: a budget for each address and one for each account. A budget is a bucket that
//! fills by itself; an attempt that succeeds is given back. Pure: the time comes in.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use model::UnixMillis;

/// How much may be tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Attempts that can be made at once.
    pub(crate) burst: u32,
    /// How long it takes until one more can be made.
    pub(crate) refill: Duration,
}

/// Ten at once, then one in six seconds: nobody types faster, and an address behind which an office sits still works.
pub(crate) const PER_ADDRESS: Budget = Budget { burst: 10, refill: Duration::from_secs(6) };
/// An account can be attacked from many addresses. 7,200 guesses a day against 100 bits are nothing, and its owner
/// is never locked out for longer than it takes to get one more attempt.
pub(crate) const PER_ACCOUNT: Budget = Budget { burst: 30, refill: Duration::from_secs(12) };

/// No more keys than this are remembered; the fullest budgets are forgotten first.
const MAX_KEYS: usize = 10_000;

/// Both budgets.
#[derive(Debug)]
pub(crate) struct LoginThrottle {
    addresses: Mutex<Buckets<IpAddr>>,
    accounts: Mutex<Buckets<String>>,
}

#[derive(Debug)]
struct Buckets<K> {
    budget: Budget,
    /// When the bucket will be full again; a key that is not there has a full one.
    full_at: HashMap<K, UnixMillis>,
}

impl LoginThrottle {
    /// All budgets full.
    pub(crate) fn new(per_address: Budget, per_account: Budget) -> Self {
        Self {
            addresses: Mutex::new(Buckets::new(per_address)),
            accounts: Mutex::new(Buckets::new(per_account)),
        }
    }

    /// Takes one attempt from both budgets, or says how long to wait; then nothing is taken.
    pub(crate) fn take(&self, address: IpAddr, account: &str, now: UnixMillis) -> Result<(), Duration> {
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        let (address, account) = (network(address), account.to_owned());
        let wait = addresses.wait(&address, now).max(accounts.wait(&account, now));
        if !wait.is_zero() {
            return Err(wait);
        }
        addresses.take(address, now);
        accounts.take(account, now);
        Ok(())
    }

    /// Gives back an attempt that succeeded.
    pub(crate) fn give_back(&self, address: IpAddr, account: &str) {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner).give_back(&network(address));
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner).give_back(&account.to_owned());
    }
}

/// Whoever has one IPv6 address has its /64.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((u128::from(v6) & !u128::from(u64::MAX)).into()),
        v4 => v4,
    }
}

impl<K: Hash + Eq + Clone> Buckets<K> {
    fn new(budget: Budget) -> Self {
        Self { budget, full_at: HashMap::new() }
    }

    fn wait(&self, key: &K, now: UnixMillis) -> Duration {
        let Some(full_at) = self.full_at.get(key) else { return Duration::ZERO };
        let missing = full_at.since(now);
        missing.saturating_sub(self.budget.refill * self.budget.burst.saturating_sub(1))
    }

    fn take(&mut self, key: K, now: UnixMillis) {
        if self.full_at.len() >= MAX_KEYS && !self.full_at.contains_key(&key) {
            self.make_room(now);
        }
        let full_at = self.full_at.entry(key).or_insert(now);
        *full_at = (*full_at).max(now).after(self.budget.refill);
    }

    fn give_back(&mut self, key: &K) {
        if let Some(full_at) = self.full_at.get_mut(key) {
            *full_at = full_at.before(self.budget.refill);
        }
    }

    fn make_room(&mut self, now: UnixMillis) {
        self.full_at.retain(|_, full_at| *full_at > now);
        if self.full_at.len() >= MAX_KEYS {
            let mut moments: Vec<_> = self.full_at.values().copied().collect();
            let middle = moments.len() / 2;
            let (_, median, _) = moments.select_nth_unstable(middle);
            let median = *median;
            self.full_at.retain(|_, full_at| *full_at > median);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn throttle() -> LoginThrottle {
        let budget = |burst| Budget { burst, refill: Duration::from_secs(10) };
        LoginThrottle::new(budget(3), budget(5))
    }

    #[test]
    fn an_address_runs_out_and_gets_one_attempt_back_at_a_time() {
        let (throttle, now) = (throttle(), UnixMillis(1_000_000));
        for _ in 0..3 {
            assert_eq!(throttle.take(HERE, "a", now), Ok(()));
        }
        assert_eq!(throttle.take(HERE, "a", now), Err(Duration::from_secs(10)));
        let later = now.after(Duration::from_secs(10));
        assert_eq!(throttle.take(HERE, "b", later), Ok(()));
        assert_eq!(throttle.take(HERE, "b", later), Err(Duration::from_secs(10)));
    }

    #[test]
    fn an_account_runs_out_whatever_addresses_are_used_and_others_do_not_suffer() {
        let (throttle, now) = (throttle(), UnixMillis(1_000_000));
        for host in 1..=5 {
            assert_eq!(throttle.take([10, 0, 0, host].into(), "a", now), Ok(()));
        }
        assert!(throttle.take([10, 0, 0, 6].into(), "a", now).is_err());
        assert_eq!(throttle.take([10, 0, 0, 6].into(), "b", now), Ok(()));
    }

    #[test]
    fn a_success_costs_nothing_and_an_ipv6_network_is_one_address() {
        let (throttle, now) = (throttle(), UnixMillis(1_000_000));
        for _ in 0..20 {
            assert_eq!(throttle.take(HERE, "a", now), Ok(()));
            throttle.give_back(HERE, "a");
        }
        for last in ["2001:db8::1", "2001:db8::2", "2001:db8::3"] {
            assert_eq!(throttle.take(last.parse().unwrap(), "b", now), Ok(()));
        }
        assert!(throttle.take("2001:db8::4".parse().unwrap(), "c", now).is_err());
    }

    #[test]
    fn memory_is_bounded_and_who_tries_most_is_remembered() {
        let (throttle, now) = (throttle(), UnixMillis(1_000_000));
        for _ in 0..3 {
            throttle.take(HERE, "a", now).unwrap();
        }
        for number in 0..3 * MAX_KEYS {
            let [_, a, b, c] = (number as u32).to_be_bytes();
            let _ = throttle.take([11, a, b, c].into(), &number.to_string(), now);
        }
        assert!(throttle.addresses.lock().unwrap().full_at.len() <= MAX_KEYS);
        assert!(throttle.take(HERE, "fresh", now).is_err());
    }
}
