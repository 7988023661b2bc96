//! Who failed within the last hour, and why: the figure that a console shows beside the states of now. In memory: after
//! a restart it begins with what fails then, since no row says when something failed.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::{ConfigState, Place, UnixMillis};
use opamp_proto::InstanceUid;

/// How long a failure is recent.
pub(crate) const RECENT: Duration = Duration::from_secs(3600);
/// The most that are remembered; when there are more, the fleet has one problem and its reason is known.
const MAX: usize = 200_000;

/// Agents that fail, and since when.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<HashMap<InstanceUid, (UnixMillis, Place)>>);

/// Agents that failed for the same reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailureGroup {
    pub(crate) reason: String,
    pub(crate) agents: u64,
    pub(crate) example: InstanceUid,
}

impl Failures {
    fn all(&self) -> MutexGuard<'_, HashMap<InstanceUid, (UnixMillis, Place)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far an agent is now. `stood`: how far it was stored to be before, for one that failed before this start.
    pub(super) fn note(&self, uid: InstanceUid, place: &Place, stood: Option<&Place>, now: UnixMillis) {
        let mut all = self.all();
        if place.state != ConfigState::Failed {
            all.remove(&uid);
            return;
        }
        let is_full = all.len() >= MAX;
        match all.entry(uid) {
            Entry::Occupied(known) if known.get().1 == *place => {}
            Entry::Occupied(mut known) => drop(known.insert((now, place.clone()))),
            // When that was nobody knows any more.
            Entry::Vacant(_) if stood == Some(place) || is_full => {}
            Entry::Vacant(free) => drop(free.insert((now, place.clone()))),
        }
    }

    /// Whether it is known how an agent stood: nobody needs to look it up.
    pub(super) fn knows(&self, uid: InstanceUid) -> bool {
        self.all().contains_key(&uid)
    }

    /// The most frequent reasons of agents that failed recently and fail still, at most `limit`.
    pub(crate) fn groups(&self, now: UnixMillis, limit: usize) -> Vec<FailureGroup> {
        let mut groups: HashMap<String, (u64, InstanceUid)> = HashMap::new();
        let mut all = self.all();
        all.retain(|_, (at, _)| now.since(*at) < RECENT);
        for (uid, (_, place)) in all.iter() {
            match groups.get_mut(&place.reason) {
                Some((agents, example)) => (*agents, *example) = (*agents + 1, (*example).min(*uid)),
                None => drop(groups.insert(place.reason.clone(), (1, *uid))),
            }
        }
        drop(all);
        let group = |(reason, (agents, example))| FailureGroup { reason, agents, example };
        let mut groups: Vec<_> = groups.into_iter().map(group).collect();
        groups.sort_unstable_by(|a, b| b.agents.cmp(&a.agents).then_with(|| a.reason.cmp(&b.reason)));
        groups.truncate(limit);
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uid(number: u8) -> InstanceUid {
        InstanceUid::try_from_slice(&[number; 16]).unwrap()
    }

    fn failed(reason: &str) -> Place {
        Place { state: ConfigState::Failed, assignment: None, revision: None, reason: reason.to_owned() }
    }

    #[test]
    fn failures_are_grouped_by_their_reason_for_an_hour_or_until_they_are_repaired() {
        let (failures, now) = (Failures::default(), UnixMillis(0));
        for (number, reason) in [(2, "a"), (1, "a"), (3, "b"), (4, "c")] {
            failures.note(uid(number), &failed(reason), None, now);
        }
        failures.note(uid(4), &Place::UNMANAGED, None, now);
        let group = |reason: &str, agents, example| FailureGroup {
            reason: reason.to_owned(),
            agents,
            example: uid(example),
        };
        assert_eq!(failures.groups(now, 10), [group("a", 2, 1), group("b", 1, 3)]);
        assert_eq!(failures.groups(now, 1), [group("a", 2, 1)]);
        // What is said again is not newer.
        let later = now.after(Duration::from_secs(3000));
        failures.note(uid(3), &failed("b"), None, later);
        failures.note(uid(1), &failed("other"), None, later);
        assert_eq!(failures.groups(now.after(RECENT), 10), [group("other", 1, 1)]);
    }

    #[test]
    fn what_failed_before_this_start_is_not_called_recent() {
        let failures = Failures::default();
        failures.note(uid(1), &failed("a"), Some(&failed("a")), UnixMillis(0));
        failures.note(uid(2), &failed("b"), Some(&failed("a")), UnixMillis(0));
        let reasons: Vec<_> = failures.groups(UnixMillis(0), 10).into_iter().map(|one| one.reason).collect();
        assert_eq!(reasons, ["b"]);
    }
}
