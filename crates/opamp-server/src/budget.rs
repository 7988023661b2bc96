//! A bound on the bytes that all connections together may hold while receiving and decoding. Messages up to
//! [`FREE`] are not counted: they are most of the traffic and bounded by the number of connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What one message may hold without being counted, in bytes.
pub(crate) const FREE: usize = 64 * 1024;

/// The bound and what is taken of it.
#[derive(Debug)]
pub(crate) struct Budget {
    left: AtomicUsize,
}

impl Budget {
    pub(crate) fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self { left: AtomicUsize::new(bytes) })
    }

    fn take(&self, bytes: usize) -> bool {
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes)).is_ok()
    }
}

/// What one message holds; given back when dropped.
#[derive(Debug)]
pub(crate) struct Held {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Held {
    pub(crate) const fn nothing(budget: Arc<Budget>) -> Self {
        Self { budget, bytes: 0 }
    }

    /// Holds `total` bytes from now on, those up to [`FREE`] for nothing. Says whether there was room.
    pub(crate) fn grow_to(&mut self, total: usize) -> bool {
        let wanted = total.saturating_sub(FREE);
        if wanted <= self.bytes {
            return true;
        }
        let taken = self.budget.take(wanted - self.bytes);
        if taken {
            self.bytes = wanted;
        }
        taken
    }

    /// Gives everything back.
    pub(crate) fn release(&mut self) {
        if self.bytes > 0 {
            self.budget.left.fetch_add(self.bytes, Ordering::Relaxed);
            self.bytes = 0;
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.release();
    }
}
