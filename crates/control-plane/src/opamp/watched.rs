//! The last messages of agents that somebody watches. Nothing is kept of others, and nothing of anybody while nobody
//! looks: then a message costs one look at a number. What is kept is bounded, in memory only, and still encoded.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use model::UnixMillis;
use opamp_proto::InstanceUid;
use opamp_server::Direction;

/// How many messages are kept of an agent.
const MOST_MESSAGES: usize = 20;
/// How many agents are watched at once: with the two other limits at most 40 MiB are kept.
const MOST_AGENTS: usize = 32;
/// Of a longer message only the length is kept. Full reports with a large configuration are shorter.
const MOST_BYTES: usize = 64 << 10;
/// For how long one look keeps an agent watched.
const WATCH: Duration = Duration::from_secs(60);

/// A message that passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Passed {
    pub(crate) at: UnixMillis,
    pub(crate) direction: Direction,
    pub(crate) size: usize,
    /// `None`: it was too long.
    pub(crate) bytes: Option<Bytes>,
}

/// What somebody sees who looks at an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) until: UnixMillis,
    /// The newest first.
    pub(crate) messages: Vec<Passed>,
}

#[derive(Debug)]
struct Watch {
    until: UnixMillis,
    messages: VecDeque<Passed>,
}

/// Who is watched.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    /// How many there are, to be read without the lock.
    count: AtomicUsize,
    agents: Mutex<HashMap<InstanceUid, Watch>>,
}

impl Watched {
    /// Shows what was kept, and keeps on for a while. `None`: as many agents are watched as may be.
    pub(crate) fn look(&self, uid: InstanceUid, now: UnixMillis) -> Option<Look> {
        let mut agents = self.lock();
        agents.retain(|_, watch| watch.until > now);
        let until = UnixMillis(now.0.saturating_add(i64::try_from(WATCH.as_millis()).unwrap_or(i64::MAX)));
        if agents.len() >= MOST_AGENTS && !agents.contains_key(&uid) {
            self.count.store(agents.len(), Ordering::Relaxed);
            return None;
        }
        let watch = agents.entry(uid).or_insert_with(|| Watch { until, messages: VecDeque::new() });
        watch.until = until;
        let messages = watch.messages.iter().rev().cloned().collect();
        self.count.store(agents.len(), Ordering::Relaxed);
        Some(Look { until, messages })
    }

    /// Whether a message of anybody is to be told at all.
    pub(crate) fn anybody(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Keeps a message if its agent is watched.
    pub(crate) fn passed(&self, uid: InstanceUid, now: UnixMillis, direction: Direction, message: &[u8]) {
        let mut agents = self.lock();
        let Some(watch) = agents.get_mut(&uid) else { return };
        if watch.until <= now {
            agents.remove(&uid);
            self.count.store(agents.len(), Ordering::Relaxed);
            return;
        }
        if watch.messages.len() == MOST_MESSAGES {
            watch.messages.pop_front();
        }
        let size = message.len();
        let bytes = (size <= MOST_BYTES).then(|| Bytes::copy_from_slice(message));
        watch.messages.push_back(Passed { at: now, direction, size, bytes });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<InstanceUid, Watch>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uid(number: u8) -> InstanceUid {
        InstanceUid::try_from_slice(&[number; 16]).unwrap()
    }

    fn told(watched: &Watched, number: u8, at: i64, message: &[u8]) {
        watched.passed(uid(number), UnixMillis(at), Direction::FromAgent, message);
    }

    #[test]
    fn nothing_is_kept_of_an_agent_that_nobody_watches() {
        let watched = Watched::default();
        told(&watched, 1, 1, b"before");
        assert!(!watched.anybody());
        assert_eq!(watched.look(uid(1), UnixMillis(2)).unwrap().messages, vec![]);
        told(&watched, 2, 3, b"another's");
        told(&watched, 1, 4, b"now");
        let seen = watched.look(uid(1), UnixMillis(5)).unwrap();
        let message = Passed {
            at: UnixMillis(4),
            direction: Direction::FromAgent,
            size: 3,
            bytes: Some(Bytes::from_static(b"now")),
        };
        assert_eq!(seen, Look { until: UnixMillis(60_005), messages: vec![message] });
    }

    #[test]
    fn the_last_twenty_are_kept_and_of_a_long_one_the_length() {
        let watched = Watched::default();
        watched.look(uid(1), UnixMillis(0)).unwrap();
        (1..=25).for_each(|at| told(&watched, 1, at, b"x"));
        told(&watched, 1, 26, &vec![0; MOST_BYTES + 1]);
        let seen = watched.look(uid(1), UnixMillis(30)).unwrap().messages;
        assert_eq!((seen.len(), seen[0].size, &seen[0].bytes), (20, MOST_BYTES + 1, &None));
        assert_eq!(seen[19].at, UnixMillis(7), "the oldest that is left");
    }

    #[test]
    fn a_watch_ends_when_nobody_looks_any_more() {
        let watched = Watched::default();
        watched.look(uid(1), UnixMillis(0)).unwrap();
        told(&watched, 1, 59_999, b"kept");
        assert!(watched.anybody());
        told(&watched, 1, 60_000, b"late");
        assert!(!watched.anybody(), "and what was kept is gone");
        assert_eq!(watched.look(uid(1), UnixMillis(60_001)).unwrap().messages, vec![]);
    }

    #[test]
    fn only_so_many_are_watched_at_once() {
        let watched = Watched::default();
        for number in 1..=MOST_AGENTS {
            assert!(watched.look(uid(u8::try_from(number).unwrap()), UnixMillis(0)).is_some());
        }
        assert_eq!(watched.look(uid(200), UnixMillis(1)), None);
        assert!(watched.look(uid(1), UnixMillis(1)).is_some(), "one that is watched stays so");
        assert!(watched.look(uid(200), UnixMillis(60_001)).is_some(), "the others were left alone");
    }
}
