//! How the rest of the server reaches a connection: which of its agents have something to send, whether it is
//! to prove that it lives, whether it is to close. It holds no messages: those are composed when they leave, so
//! the queue cannot grow beyond one entry for each agent on the connection (RETX-9).

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::Waker;

use futures_util::task::AtomicWaker;
use opamp_proto::InstanceUid;
use tokio::sync::oneshot;

use crate::agent::CloseReason;

/// What a connection was asked to do.
#[derive(Debug, Default)]
pub(crate) struct Errands {
    pub(crate) push: HashSet<InstanceUid>,
    pub(crate) probes: Vec<oneshot::Sender<()>>,
    pub(crate) close: Option<CloseReason>,
}

/// The connection's letter box.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: AtomicBool,
    waker: AtomicWaker,
    errands: Mutex<Errands>,
}

impl Outbox {
    fn change(&self, change: impl FnOnce(&mut Errands)) {
        change(&mut self.errands.lock().unwrap_or_else(PoisonError::into_inner));
        if !self.waiting.swap(true, Ordering::AcqRel) {
            self.waker.wake();
        }
    }

    /// The agent has something to send.
    pub(crate) fn push(&self, uid: InstanceUid) {
        self.change(|errands| {
            errands.push.insert(uid);
        });
    }

    /// Resolves when the peer proves that it is there; fails when the connection ends first.
    pub(crate) fn probe(&self) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        self.change(|errands| errands.probes.push(sender));
        receiver
    }

    /// The connection is to close.
    pub(crate) fn close(&self, reason: CloseReason) {
        self.change(|errands| {
            errands.close.get_or_insert(reason);
        });
    }

    /// Whom to wake when there is something to do.
    pub(crate) fn register(&self, waker: &Waker) {
        self.waker.register(waker);
    }

    /// What there is to do, if anything.
    pub(crate) fn take(&self) -> Option<Errands> {
        if !self.waiting.swap(false, Ordering::AcqRel) {
            return None;
        }
        Some(std::mem::take(&mut *self.errands.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}
