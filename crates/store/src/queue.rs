//! A queue between callers, who never wait, and threads, who do. Callers bound it themselves: each waits for
//! its answer before it asks again.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    ready: Condvar,
}

struct State<T> {
    items: VecDeque<T>,
    closed: bool,
}

/// What came of waiting for an item.
pub(crate) enum Next<T> {
    Item(T),
    Nothing,
    Closed,
}

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::new(State { items: VecDeque::new(), closed: false }), ready: Condvar::new() }
    }

    /// Adds an item; dropped when the queue is closed.
    pub(crate) fn push(&self, item: T) {
        let mut state = self.lock();
        if !state.closed {
            state.items.push_back(item);
            self.ready.notify_one();
        }
    }

    /// Waits for an item; `None` when the queue is closed and empty.
    pub(crate) fn pop(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if let Some(item) = state.items.pop_front() {
                return Some(item);
            }
            if state.closed {
                return None;
            }
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The same, but not for longer than `patience`: [`Next::Nothing`] then.
    pub(crate) fn pop_within(&self, patience: Duration) -> Next<T> {
        let (mut state, _) = self
            .ready
            .wait_timeout_while(self.lock(), patience, |state| state.items.is_empty() && !state.closed)
            .unwrap_or_else(PoisonError::into_inner);
        match state.items.pop_front() {
            Some(item) => Next::Item(item),
            None if state.closed => Next::Closed,
            None => Next::Nothing,
        }
    }

    /// An item that is there now.
    pub(crate) fn try_pop(&self) -> Option<T> {
        self.lock().items.pop_front()
    }

    /// Takes no more items; those inside are still handed out.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.ready.notify_all();
    }

    /// Closes it and drops what is inside, whose callers then learn that nobody will answer.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        state.closed = true;
        let items = std::mem::take(&mut state.items);
        drop(state);
        drop(items);
        self.ready.notify_all();
    }

    /// A thread that panicked while it held the lock left the queue whole: every change is one step.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
