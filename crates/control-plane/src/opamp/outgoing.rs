//! What agents reported and the store does not have yet: a list of agents, each with its change. An agent that
//! changes ten times in a second is written once. Bounded in bytes: beyond the bound agents are asked to wait.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use model::UnixMillis;
use opamp_proto::Part;
use store::AgentWrite;
use tokio::sync::{Notify, watch};

use super::endpoint::LiveAgent;
use crate::clock;

/// So many changed agents are written before the second is over.
pub(crate) const FULL_BATCH: usize = 5_000;
/// Reported bytes that may wait for the store.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The changes that wait.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    changed: Mutex<Vec<Arc<LiveAgent>>>,
    bytes: AtomicUsize,
    failing: AtomicBool,
    /// Since when the oldest change waits, in milliseconds since 1970; 0: none does.
    waiting_since: AtomicI64,
    full: Notify,
    /// How often everything that was drained was written.
    turns: watch::Sender<u64>,
}

impl Outgoing {
    /// Adds to the change of an agent.
    pub(crate) fn push(
        &self,
        agent: &Arc<LiveAgent>,
        make: impl FnOnce() -> AgentWrite,
        add: impl FnOnce(&mut AgentWrite),
    ) {
        let mut pending = agent.data().pending();
        let is_new = pending.is_none();
        let write = Arc::make_mut(pending.get_or_insert_with(|| Arc::new(make())));
        let before = if is_new { 0 } else { weight(write) };
        add(write);
        let after = weight(write);
        drop(pending);
        // A part that replaces a longer one makes the sum smaller.
        self.bytes.fetch_add(after.wrapping_sub(before), Ordering::Relaxed);
        if is_new {
            let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
            changed.push(agent.clone());
            if changed.len() == 1 {
                let _ = self.waiting_since.compare_exchange(
                    0,
                    clock::now().0,
                    Ordering::Relaxed,
                    Ordering::Relaxed,
                );
            }
            let is_full = changed.len() == FULL_BATCH;
            drop(changed);
            if is_full {
                self.full.notify_one();
            }
        }
    }

    /// Takes everything that waits.
    pub(crate) fn drain(&self) -> Vec<Arc<AgentWrite>> {
        let changed = std::mem::take(&mut *self.changed.lock().unwrap_or_else(PoisonError::into_inner));
        changed.iter().filter_map(|agent| agent.data().pending().take()).collect()
    }

    /// Everything that was drained is written: only what came meanwhile waits.
    pub(crate) fn caught_up(&self) {
        let changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        let since = if changed.is_empty() { 0 } else { clock::now().0 };
        self.waiting_since.store(since, Ordering::Relaxed);
        drop(changed);
        self.turns.send_modify(|turns| *turns += 1);
    }

    /// Resolves when everything that waits now is written. A turn that is under way may have begun too early, the one
    /// after it has not. Waits for as long as the store fails.
    pub(crate) async fn flush(&self) {
        let mut turns = self.turns.subscribe();
        let goal = *turns.borrow() + 2;
        while *turns.borrow_and_update() < goal {
            self.full.notify_one();
            if turns.changed().await.is_err() {
                return;
            }
        }
    }

    /// How long the oldest change has been waiting.
    pub(crate) fn waiting_for(&self, now: UnixMillis) -> Duration {
        match self.waiting_since.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            since => now.since(UnixMillis(since)),
        }
    }

    /// How much waits, in bytes.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// These were written, or are not wanted any more.
    pub(crate) fn done<'w>(&self, writes: impl Iterator<Item = &'w AgentWrite>) {
        let bytes: usize = writes.map(weight).sum();
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Two changes became one.
    pub(crate) fn replaced(&self, before: &[AgentWrite], after: &AgentWrite) {
        let before: usize = before.iter().map(weight).sum();
        self.bytes.fetch_sub(before.saturating_sub(weight(after)), Ordering::Relaxed);
    }

    /// Resolves when a full batch waits.
    pub(crate) async fn full(&self) {
        self.full.notified().await;
    }

    /// Whether no more can be taken.
    pub(crate) fn is_over(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) > MAX_BYTES
    }

    /// Notes whether the store takes writes.
    pub(crate) fn set_failing(&self, failing: bool) {
        self.failing.store(failing, Ordering::Relaxed);
    }

    /// Whether the store does not take writes at the moment.
    pub(crate) fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }
}

/// What a change weighs in memory.
fn weight(write: &AgentWrite) -> usize {
    size_of::<AgentWrite>() + write.parts.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()
}

/// Adds a later change of the same session to an earlier one.
pub(crate) fn merge(earlier: &mut AgentWrite, later: AgentWrite) {
    let AgentWrite { uid: _, epoch, last_seen, sequence_num, capabilities, session, mark, parts } = later;
    earlier.epoch = epoch;
    earlier.last_seen = UnixMillis(earlier.last_seen.0.max(last_seen.0));
    earlier.sequence_num = sequence_num;
    earlier.capabilities = capabilities.or(earlier.capabilities);
    if session.is_some() {
        earlier.session = session;
        earlier.mark = None;
    }
    earlier.mark = mark.or(earlier.mark);
    for part in Part::ALL {
        if let Some(bytes) = parts.get(part) {
            earlier.parts.set(part, Some(bytes.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use model::{ServerEpoch, SessionEpoch, Transport};
    use opamp_proto::{AgentCapabilities, InstanceUid};
    use store::{Mark, SessionStart};

    use super::*;

    fn write(last_seen: i64) -> AgentWrite {
        let uid = InstanceUid::try_from_slice(&[1; 16]).unwrap();
        let epoch = SessionEpoch { server: ServerEpoch(1), session: 1 };
        AgentWrite::new(uid, epoch, UnixMillis(last_seen))
    }

    #[test]
    fn s2_a_later_change_replaces_what_it_names_and_leaves_the_rest() {
        let mut earlier = write(5);
        earlier.capabilities = Some(AgentCapabilities::from_bits(1));
        earlier.parts = earlier.parts.with(Part::Health, "old").with(Part::Description, "kept");
        let mut later = write(9);
        later.sequence_num = 7;
        later.parts = later.parts.with(Part::Health, "new");
        merge(&mut earlier, later);
        assert_eq!((earlier.last_seen, earlier.sequence_num), (UnixMillis(9), 7));
        assert_eq!(earlier.capabilities, Some(AgentCapabilities::from_bits(1)));
        assert_eq!(earlier.parts.get(Part::Health).unwrap().as_ref(), b"new");
        assert_eq!(earlier.parts.get(Part::Description).unwrap().as_ref(), b"kept");
    }

    #[test]
    fn the_end_of_a_session_outlasts_what_is_merged_into_it_and_a_new_beginning_takes_it_away() {
        let mut gone = write(5);
        gone.mark = Some(Mark::Disconnected(UnixMillis(6)));
        merge(&mut gone, write(5));
        assert_eq!(gone.mark, Some(Mark::Disconnected(UnixMillis(6))));
        let mut back = write(9);
        let start =
            SessionStart { transport: Transport::Http, peer_address: String::new(), since: UnixMillis(9) };
        back.session = Some(start.clone());
        merge(&mut gone, back);
        assert_eq!((gone.mark, gone.session), (None, Some(start)));
    }

    #[test]
    fn what_was_counted_on_its_way_in_is_counted_off_when_two_changes_become_one() {
        let outgoing = Outgoing::default();
        let (mut first, mut second) = (write(1), write(2));
        first.parts = first.parts.with(Part::Health, vec![0; 100]);
        second.parts = second.parts.with(Part::Health, vec![0; 10]);
        outgoing.bytes.store(weight(&first) + weight(&second), Ordering::Relaxed);
        let before = [first.clone(), second.clone()];
        merge(&mut first, second);
        outgoing.replaced(&before, &first);
        outgoing.done([first].iter());
        assert_eq!(outgoing.bytes.load(Ordering::Relaxed), 0);
    }
}
