//! The hub: collects the instance_uids that changed for a quarter of a second, numbers each collection, and keeps
//! the last ones, so that a console that was away for a moment misses nothing. Who is too far behind is told to
//! read everything again.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

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

/// What a listener gets next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    /// These agents changed.
    Agents(EventId, Arc<[InstanceUid]>),
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
}

#[derive(Debug, Clone)]
struct Kept {
    seq: u64,
    /// `None`: too many to name.
    uids: Option<Arc<[InstanceUid]>>,
}

impl Hub {
    /// A hub that numbers in this epoch.
    pub(crate) fn new(epoch: u64) -> Self {
        Self { epoch, pending: Mutex::default(), kept: Mutex::default(), newest: watch::Sender::new(0) }
    }

    /// Notes that agents changed.
    pub(crate) fn changed(&self, uids: impl IntoIterator<Item = InstanceUid>) {
        if self.newest.receiver_count() == 0 && self.is_unheard() {
            return;
        }
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        for uid in uids {
            if pending.overflow {
                return;
            }
            pending.uids.insert(uid);
            if pending.uids.len() > MAX_UIDS {
                *pending = Pending { uids: BTreeSet::new(), overflow: true };
            }
        }
    }

    /// Whether nobody ever listened: then there is nothing that anyone could resume.
    fn is_unheard(&self) -> bool {
        *self.newest.borrow() == 0
    }

    /// Ends a collection, if anything is in it. Called every [`COALESCE`].
    pub(crate) fn flush(&self) {
        let pending = std::mem::take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner));
        if pending.uids.is_empty() && !pending.overflow {
            return;
        }
        let uids = (!pending.overflow).then(|| pending.uids.into_iter().collect());
        let seq = *self.newest.borrow() + 1;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(Kept { seq, uids });
        drop(kept);
        self.newest.send_replace(seq);
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
        match kept.iter().find(|kept| kept.seq == after.seq + 1) {
            Some(Kept { seq, uids: Some(uids) }) => {
                Some(Next::Agents(EventId { epoch: self.epoch, seq: *seq }, uids.clone()))
            }
            _ => Some(Next::Reset(EventId { epoch: self.epoch, seq: newest })),
        }
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
