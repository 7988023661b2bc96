//! How often one may try to log in. Each address has a budget. Beside it each account has one for addresses from which
//! nobody logged in to it yet; when strangers have used that up, every network of strangers gets a small budget of
//! its own for this account. So guessing at an account stays slow, and nobody can shut its owner out: not at a place
//! where the owner was before, and not at a new one. Pure: the time comes in.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use model::UnixMillis;

/// How much may be tried: a bucket that fills by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Budget {
    /// Attempts that can be made at once.
    burst: u32,
    /// How long it takes until one more can be made.
    refill: Duration,
}

/// Ten at once, then one in six seconds: nobody types faster, and an address behind which an office sits still works.
const PER_ADDRESS: Budget = Budget { burst: 10, refill: Duration::from_secs(6) };
/// For all strangers together: 7,200 guesses a day against 100 bits, or against twelve characters, are nothing.
const PER_ACCOUNT: Budget = Budget { burst: 30, refill: Duration::from_secs(12) };
/// For the strangers of one network, when that is used up. Ten thousand networks make 1.4 million guesses a day.
const PER_NETWORK: Budget = Budget { burst: 2, refill: Duration::from_secs(600) };

/// No more keys than this are remembered; the fullest budgets are forgotten first.
const MAX_KEYS: usize = 10_000;
/// How long an address is known after a login.
const KNOWN: Duration = Duration::from_secs(90 * 86_400);

/// All budgets.
#[derive(Debug, Default)]
pub(crate) struct LoginThrottle(Mutex<Budgets>);

/// An attempt that was taken from budgets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attempt {
    address: IpAddr,
    account: String,
    from: Source,
}

/// What an attempt was taken from beside the address's budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    KnownAddress,
    Account,
    Network,
}

#[derive(Debug)]
struct Budgets {
    addresses: Buckets<IpAddr>,
    accounts: Buckets<String>,
    networks: Buckets<(IpAddr, String)>,
    /// Until when an address counts as known to an account.
    known: HashMap<(IpAddr, String), UnixMillis>,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            addresses: Buckets::new(PER_ADDRESS),
            accounts: Buckets::new(PER_ACCOUNT),
            networks: Buckets::new(PER_NETWORK),
            known: HashMap::new(),
        }
    }
}

impl LoginThrottle {
    /// Takes one attempt, or says how long to wait; then nothing is taken.
    pub(crate) fn take(&self, address: IpAddr, account: &str, now: UnixMillis) -> Result<Attempt, Duration> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take(address, account, now)
    }

    /// Gives back an attempt that succeeded, and remembers its address.
    pub(crate) fn succeeded(&self, attempt: Attempt, now: UnixMillis) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).succeeded(attempt, now);
    }
}

impl Budgets {
    fn take(&mut self, address: IpAddr, account: &str, now: UnixMillis) -> Result<Attempt, Duration> {
        let (host, account) = (one_host(address), account.to_owned());
        let wait = self.addresses.wait(&host, now);
        if !wait.is_zero() {
            return Err(wait);
        }
        let from = self.second_budget(address, &account, now)?;
        self.addresses.take(host, now);
        Ok(Attempt { address, account, from })
    }

    fn second_budget(&mut self, address: IpAddr, account: &str, now: UnixMillis) -> Result<Source, Duration> {
        let known = (one_host(address), account.to_owned());
        if self.known.get(&known).is_some_and(|until| *until > now) {
            return Ok(Source::KnownAddress);
        }
        let account = account.to_owned();
        if self.accounts.wait(&account, now).is_zero() {
            self.accounts.take(account, now);
            return Ok(Source::Account);
        }
        let key = (network(address), account);
        let wait = self.networks.wait(&key, now);
        if !wait.is_zero() {
            return Err(wait.min(self.accounts.wait(&key.1, now)));
        }
        self.networks.take(key, now);
        Ok(Source::Network)
    }

    fn succeeded(&mut self, attempt: Attempt, now: UnixMillis) {
        let Attempt { address, account, from } = attempt;
        self.addresses.give_back(&one_host(address));
        match from {
            Source::KnownAddress => {}
            Source::Account => self.accounts.give_back(&account),
            Source::Network => self.networks.give_back(&(network(address), account.clone())),
        }
        let key = (one_host(address), account);
        if self.known.len() >= MAX_KEYS && !self.known.contains_key(&key) {
            keep_later_half(&mut self.known, now);
        }
        self.known.insert(key, now.after(KNOWN));
    }
}

/// Whoever has one IPv6 address has its /64.
fn one_host(address: IpAddr) -> IpAddr {
    masked(address, 32, 64)
}

/// What one owner usually has at most.
fn network(address: IpAddr) -> IpAddr {
    masked(address, 24, 48)
}

fn masked(address: IpAddr, v4: u32, v6: u32) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & u32::MAX.unbounded_shl(32 - v4)))
        }
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & u128::MAX.unbounded_shl(128 - v6)))
        }
    }
}

#[derive(Debug)]
struct Buckets<K> {
    budget: Budget,
    /// When the bucket will be full again; a key that is not there has a full one.
    full_at: HashMap<K, UnixMillis>,
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
            keep_later_half(&mut self.full_at, now);
        }
        let full_at = self.full_at.entry(key).or_insert(now);
        *full_at = (*full_at).max(now).after(self.budget.refill);
    }

    fn give_back(&mut self, key: &K) {
        if let Some(full_at) = self.full_at.get_mut(key) {
            *full_at = full_at.before(self.budget.refill);
        }
    }
}

/// Forgets what is over, and if that is not enough, the half that is over first.
fn keep_later_half<K: Hash + Eq>(moments: &mut HashMap<K, UnixMillis>, now: UnixMillis) {
    moments.retain(|_, moment| *moment > now);
    if moments.len() >= MAX_KEYS {
        let mut all: Vec<_> = moments.values().copied().collect();
        let middle = all.len() / 2;
        let (_, median, _) = all.select_nth_unstable(middle);
        let median = *median;
        moments.retain(|_, moment| *moment > median);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: UnixMillis = UnixMillis(1_000_000);
    const HOME: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

    fn after(seconds: u64) -> UnixMillis {
        START.after(Duration::from_secs(seconds))
    }

    /// An address in a network of its own.
    fn stranger(number: u16) -> IpAddr {
        let [a, b] = number.to_be_bytes();
        [10, a, b, 9].into()
    }

    /// Strangers use up what an account has for all of them, and go on for an hour.
    fn attack(throttle: &LoginThrottle, account: &str) {
        for number in 0..300 {
            let _ = throttle.take(stranger(number), account, after(u64::from(number) * 12));
        }
        for number in 0..40 {
            let _ = throttle.take(stranger(number), account, after(3600));
        }
    }

    #[test]
    fn an_address_runs_out_and_gets_one_attempt_back_at_a_time() {
        let throttle = LoginThrottle::default();
        for _ in 0..10 {
            assert!(throttle.take(HOME, "a", START).is_ok());
        }
        assert_eq!(throttle.take(HOME, "a", START), Err(Duration::from_secs(6)));
        assert!(throttle.take(HOME, "b", after(6)).is_ok());
        assert_eq!(throttle.take(HOME, "b", after(6)), Err(Duration::from_secs(6)));
    }

    #[test]
    fn strangers_together_guess_slowly_at_an_account_and_others_do_not_suffer() {
        let throttle = LoginThrottle::default();
        // One network of strangers: the account's budget, then the network's.
        let guesses = (0..100).filter(|host| throttle.take([10, 0, 0, *host].into(), "a", START).is_ok());
        assert_eq!(guesses.count(), 30 + 2);
        assert!(throttle.take([10, 0, 0, 200].into(), "a", START).is_err());
        assert!(throttle.take([10, 0, 0, 200].into(), "b", START).is_ok());
        // The next day: what both budgets refilled, and no more.
        let day = (1..=86_400).filter(|second| {
            let host = u8::try_from(second % 250).unwrap();
            throttle.take([10, 0, 0, host].into(), "a", after(*second)).is_ok()
        });
        let most = 86_400 / 12 + 86_400 / 600;
        assert!((most - 2..=most).contains(&day.count()));
    }

    #[test]
    fn the_owner_is_not_shut_out_where_a_login_succeeded_before() {
        let throttle = LoginThrottle::default();
        let first = throttle.take(HOME, "admin", START).unwrap();
        throttle.succeeded(first, START);
        attack(&throttle, "admin");
        for _ in 0..10 {
            assert!(throttle.take(HOME, "admin", after(3600)).is_ok());
        }
        assert!(throttle.take(HOME, "admin", after(3600)).is_err());
        // Known to one account is not known to another, and not for ever.
        attack(&throttle, "other");
        assert_eq!(throttle.take(HOME, "other", after(3606)).unwrap().from, Source::Network);
        let next_year = START.after(Duration::from_secs(365 * 86_400));
        assert_eq!(throttle.take(HOME, "admin", next_year).unwrap().from, Source::Account);
    }

    #[test]
    fn the_owner_is_not_shut_out_at_a_new_place_either() {
        let throttle = LoginThrottle::default();
        attack(&throttle, "admin");
        let attempt = throttle.take(HOME, "admin", after(3600)).unwrap();
        assert_eq!(attempt.from, Source::Network);
        throttle.succeeded(attempt, after(3600));
        let again = throttle.take(HOME, "admin", after(3601)).unwrap();
        assert_eq!(again.from, Source::KnownAddress);
    }

    #[test]
    fn a_success_costs_nothing_and_an_ipv6_network_is_one_address() {
        let throttle = LoginThrottle::default();
        for _ in 0..50 {
            let attempt = throttle.take(HOME, "a", START).unwrap();
            throttle.succeeded(attempt, START);
        }
        for last in 0..10 {
            assert!(throttle.take(format!("2001:db8::{last}").parse().unwrap(), "b", START).is_ok());
        }
        assert!(throttle.take("2001:db8::ffff".parse().unwrap(), "c", START).is_err());
        assert!(throttle.take("2001:db8:0:1::1".parse().unwrap(), "c", START).is_ok());
        assert_eq!(network("2001:db8:0:1::1".parse().unwrap()), "2001:db8::".parse::<IpAddr>().unwrap());
        assert_eq!(network("::ffff:192.0.2.77".parse().unwrap()), "192.0.2.0".parse::<IpAddr>().unwrap());
    }

    #[test]
    fn memory_is_bounded_and_who_tries_most_is_remembered() {
        let throttle = LoginThrottle::default();
        for _ in 0..10 {
            throttle.take(HOME, "a", START).unwrap();
        }
        for number in 0..3 * MAX_KEYS {
            let [_, a, b, c] = u32::try_from(number).unwrap().to_be_bytes();
            if let Ok(attempt) = throttle.take([11, a, b, c].into(), &number.to_string(), START) {
                throttle.succeeded(attempt.clone(), START);
                let _ = throttle.take(attempt.address, &attempt.account, START);
            }
        }
        let budgets = throttle.0.lock().unwrap();
        assert!(budgets.addresses.full_at.len() <= MAX_KEYS && budgets.known.len() <= MAX_KEYS);
        assert!(budgets.accounts.full_at.len() <= MAX_KEYS && budgets.networks.full_at.len() <= MAX_KEYS);
        drop(budgets);
        assert!(throttle.take(HOME, "fresh", START).is_err());
    }
}
