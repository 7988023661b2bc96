//! The hub: collects what changed for a quarter of a second (agents, assignments, what has a name), numbers each
//! collection, and keeps the last ones, so that a console that was away for a moment misses nothing. Who is too far behind is told to
//! read everything again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::AssignmentId;
use opamp_proto::InstanceUid;
use tokio::sync::watch;

/// How long changes are collected.
pub(crate) const COALESCE: Duration = Duration::from_millis(250);
/// How many collections are kept: over two minutes of constant change.
const KEPT: usize = 512;
/// A collection with more agents than this says only "something changed": reading the list once is cheaper.
const MAX_UIDS: usize = 500;

/// The number of a collection: the server's start, then a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EventId {
    pub(crate) epoch: u64,
    pub(crate) seq: u64,
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.epoch, self.seq)
    }
}

impl FromStr for EventId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (epoch, seq) = text.split_once('-').ok_or(())?;
        Ok(Self { epoch: epoch.parse().map_err(drop)?, seq: seq.parse().map_err(drop)? })
    }
}

/// What changes are told by name or identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Noun {
    /// Configurations, by name.
    Configs,
    /// Hosts, by identifier.
    Hosts,
    /// Projects, by name.
    Projects,
}

impl Noun {
    /// The name of the event.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Configs => "configs",
            Self::Hosts => "hosts",
            Self::Projects => "projects",
        }
    }
}

/// What a listener gets next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    /// These agents changed.
    Agents(EventId, Arc<[InstanceUid]>),
    /// These assignments changed.
    Assignments(EventId, Arc<[AssignmentId]>),
    /// Things of these names or identifiers changed.
    Named(EventId, Noun, Arc<[String]>),
    /// Anything may have changed.
    Reset(EventId),
}

/// Collects and keeps.
#[derive(Debug)]
pub(crate) struct Hub {
    epoch: u64,
    pending: Mutex<Pending>,
    kept: Mutex<VecDeque<Kept>>,
    newest: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Pending {
    uids: BTreeSet<InstanceUid>,
    /// More than is worth counting.
    overflow: bool,
    assignments: BTreeSet<AssignmentId>,
    named: BTreeMap<Noun, BTreeSet<String>>,
}

#[derive(Debug, Clone)]
struct Kept {
    seq: u64,
    what: What,
}

#[derive(Debug, Clone)]
enum What {
    Agents(Arc<[InstanceUid]>),
    /// Too many to name.
    Anything,
    Assignments(Arc<[AssignmentId]>),
    Named(Noun, Arc<[String]>),
}

impl Hub {
    /// A hub that numbers in this epoch.
    pub(crate) fn new(epoch: u64) -> Self {
        Self { epoch, pending: Mutex::default(), kept: Mutex::default(), newest: watch::Sender::new(0) }
    }

    /// Notes that agents changed.
    pub(crate) fn changed(&self, uids: impl IntoIterator<Item = InstanceUid>) {
        let Some(mut pending) = self.pending_if_heard() else { return };
        for uid in uids {
            if pending.overflow {
                return;
            }
            pending.uids.insert(uid);
            if pending.uids.len() > MAX_UIDS {
                pending.uids.clear();
                pending.overflow = true;
            }
        }
    }

    /// Notes that assignments changed.
    pub(crate) fn assignments_changed(&self, ids: impl IntoIterator<Item = AssignmentId>) {
        if let Some(mut pending) = self.pending_if_heard() {
            pending.assignments.extend(ids);
        }
    }

    /// Notes that configurations changed.
    pub(crate) fn configs_changed(&self, names: impl IntoIterator<Item = String>) {
        self.named_changed(Noun::Configs, names);
    }

    /// Notes that hosts changed.
    pub(crate) fn hosts_changed(&self, ids: impl IntoIterator<Item = String>) {
        self.named_changed(Noun::Hosts, ids);
    }

    /// Notes that projects changed.
    pub(crate) fn projects_changed(&self, names: impl IntoIterator<Item = String>) {
        self.named_changed(Noun::Projects, names);
    }

    fn named_changed(&self, noun: Noun, names: impl IntoIterator<Item = String>) {
        if let Some(mut pending) = self.pending_if_heard() {
            pending.named.entry(noun).or_default().extend(names);
        }
    }

    fn pending_if_heard(&self) -> Option<MutexGuard<'_, Pending>> {
        if self.newest.receiver_count() == 0 && self.is_unheard() {
            return None;
        }
        Some(self.pending.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether nobody ever listened: then there is nothing that anyone could resume.
    fn is_unheard(&self) -> bool {
        *self.newest.borrow() == 0
    }

    /// Ends a collection, if anything is in it. Called every [`COALESCE`].
    pub(crate) fn flush(&self) {
        let pending = std::mem::take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner));
        let Pending { uids, overflow, assignments, named } = pending;
        let agents = match overflow {
            true => Some(What::Anything),
            false => (!uids.is_empty()).then(|| What::Agents(uids.into_iter().collect())),
        };
        let assignments =
            (!assignments.is_empty()).then(|| What::Assignments(assignments.into_iter().collect()));
        let named = named.into_iter().map(|(noun, names)| What::Named(noun, names.into_iter().collect()));
        for what in [agents, assignments].into_iter().flatten().chain(named) {
            let seq = *self.newest.borrow() + 1;
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() == KEPT {
                kept.pop_front();
            }
            kept.push_back(Kept { seq, what });
            drop(kept);
            self.newest.send_replace(seq);
        }
    }

    /// Listens for what comes. The second value is where the listener stands now.
    pub(crate) fn listen(&self) -> (watch::Receiver<u64>, EventId) {
        let receiver = self.newest.subscribe();
        let seq = *receiver.borrow();
        (receiver, EventId { epoch: self.epoch, seq })
    }

    /// What follows `after`; `None` when nothing does yet.
    pub(crate) fn next(&self, after: EventId) -> Option<Next> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = kept.back().map_or(0, |last| last.seq);
        if after.epoch != self.epoch || after.seq > newest {
            return Some(Next::Reset(EventId { epoch: self.epoch, seq: newest }));
        }
        if after.seq == newest {
            return None;
        }
        let next = kept.iter().find(|kept| kept.seq == after.seq + 1);
        let id = EventId { epoch: self.epoch, seq: after.seq + 1 };
        Some(match next.map(|kept| &kept.what) {
            Some(What::Agents(uids)) => Next::Agents(id, uids.clone()),
            Some(What::Assignments(ids)) => Next::Assignments(id, ids.clone()),
            Some(What::Named(noun, names)) => Next::Named(id, *noun, names.clone()),
            Some(What::Anything) | None => Next::Reset(EventId { epoch: self.epoch, seq: newest }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uid(number: u16) -> InstanceUid {
        let mut bytes = [1; 16];
        bytes[..2].copy_from_slice(&number.to_be_bytes());
        InstanceUid::try_from_slice(&bytes).unwrap()
    }

    fn id(seq: u64) -> EventId {
        EventId { epoch: 7, seq }
    }

    #[test]
    fn changes_are_collected_and_each_collection_has_its_number() {
        let hub = Hub::new(7);
        let (_receiver, start) = hub.listen();
        assert_eq!(hub.next(start), None);
        hub.changed([uid(2), uid(1), uid(2)]);
        assert_eq!(hub.next(start), None);
        hub.flush();
        hub.flush();
        assert_eq!(hub.next(start), Some(Next::Agents(id(1), [uid(1), uid(2)].into())));
        assert_eq!(hub.next(id(1)), None);
    }

    #[test]
    fn who_was_away_resumes_and_who_was_away_too_long_starts_anew() {
        let hub = Hub::new(7);
        let (_receiver, start) = hub.listen();
        for number in 0..KEPT as u16 + 1 {
            hub.changed([uid(number)]);
            hub.flush();
        }
        assert_eq!(hub.next(start), Some(Next::Reset(id(KEPT as u64 + 1))));
        assert_eq!(hub.next(id(1)), Some(Next::Agents(id(2), [uid(1)].into())));
        assert_eq!(hub.next(EventId { epoch: 6, seq: 1 }), Some(Next::Reset(id(KEPT as u64 + 1))));
        assert_eq!(hub.next(id(9999)), Some(Next::Reset(id(KEPT as u64 + 1))));
    }

    #[test]
    fn a_flood_is_told_as_a_reset() {
        let hub = Hub::new(7);
        let (_receiver, start) = hub.listen();
        hub.changed((0..=MAX_UIDS as u16 + 5).map(uid));
        hub.flush();
        assert_eq!(hub.next(start), Some(Next::Reset(id(1))));
    }

    #[test]
    fn an_id_reads_back_and_junk_is_none() {
        assert_eq!(id(12).to_string().parse(), Ok(id(12)));
        for junk in ["", "1", "1-", "-1", "a-b", "1-2-3"] {
            assert_eq!(junk.parse::<EventId>(), Err(()));
        }
    }
}
