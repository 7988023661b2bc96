//! What is kept with each live agent beside its session: which session it is, what is not written yet, its rhythm, and
//! what it is to run. Small, since there is one for each of a hundred thousand agents.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::UnixMillis;
use model::state::PollGap;
use store::AgentWrite;

use crate::configs::Placed;

/// Kept with each live agent.
#[derive(Debug, Default)]
pub(crate) struct AgentState {
    /// The number of the session on this server; 0 before the agent was admitted.
    session: AtomicU64,
    since: AtomicI64,
    /// Whether the first report was written with the enrolment.
    enrolled: AtomicBool,
    silent: AtomicBool,
    /// 0: never said; 1: ill; 2: well.
    health: AtomicU8,
    pending: Mutex<Option<Arc<AgentWrite>>>,
    rhythm: Mutex<Rhythm>,
    placed: Mutex<Option<Box<Placed>>>,
}

/// When a polling agent comes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rhythm {
    /// When it was heard last, as far as the silence task looked.
    pub(crate) heard: UnixMillis,
    /// The gap that it keeps.
    pub(crate) gap: PollGap,
}

impl AgentState {
    /// The agent was admitted as this session; `enrolled`: its first report is written already.
    pub(crate) fn admit(&self, session: u64, since: UnixMillis, enrolled: bool) {
        self.since.store(since.0, Ordering::Relaxed);
        self.enrolled.store(enrolled, Ordering::Relaxed);
        self.session.store(session, Ordering::Release);
    }

    /// The number of the session.
    pub(crate) fn session(&self) -> u64 {
        self.session.load(Ordering::Acquire)
    }

    /// When the session began.
    pub(crate) fn since(&self) -> UnixMillis {
        UnixMillis(self.since.load(Ordering::Relaxed))
    }

    /// Whether the first report was written with the enrolment.
    pub(crate) fn was_enrolled(&self) -> bool {
        self.enrolled.load(Ordering::Relaxed)
    }

    /// Whether the agent is overdue.
    pub(crate) fn is_silent(&self) -> bool {
        self.silent.load(Ordering::Relaxed)
    }

    /// Notes whether it is overdue; whether that is news.
    pub(crate) fn set_silent(&self, silent: bool) -> bool {
        self.silent.swap(silent, Ordering::Relaxed) != silent
    }

    /// Whether it said last that it is well.
    pub(crate) fn health(&self) -> Option<bool> {
        match self.health.load(Ordering::Relaxed) {
            0 => None,
            number => Some(number == 2),
        }
    }

    /// Notes whether it says that it is well.
    pub(crate) fn set_health(&self, healthy: Option<bool>) {
        self.health.store(healthy.map_or(0, |healthy| 1 + u8::from(healthy)), Ordering::Relaxed);
    }

    /// What it is to run, and how far it is.
    pub(crate) fn placed(&self) -> MutexGuard<'_, Option<Box<Placed>>> {
        self.placed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is not written yet.
    pub(crate) fn pending(&self) -> MutexGuard<'_, Option<Arc<AgentWrite>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its rhythm.
    pub(crate) fn rhythm(&self) -> MutexGuard<'_, Rhythm> {
        self.rhythm.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
