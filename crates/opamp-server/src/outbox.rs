//! How the rest of the server reaches a connection: which of its agents have something to send, whether it is
//! to prove that it lives, whether it is to close. It holds no messages: those are composed when they leave, so
//! the queue cannot grow beyond one entry for each agent on the connection (RETX-9).

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::Waker;

use futures_util::task::AtomicWaker;
use opamp_proto::InstanceUid;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::agent::CloseReason;

/// What a connection was asked to do.
#[derive(Debug, Default)]
pub(crate) struct Errands {
    /// An agent that has something to send: nearly always the only one.
    first: Option<InstanceUid>,
    others: HashSet<InstanceUid>,
    pub(crate) probes: Vec<oneshot::Sender<()>>,
    pub(crate) close: Option<CloseReason>,
}

impl Errands {
    fn push(&mut self, uid: InstanceUid) {
        if *self.first.get_or_insert(uid) != uid {
            self.others.insert(uid);
        }
    }

    /// The agent that has something to send, if that is all that is to be done.
    pub(crate) fn take_only_push(&mut self) -> Option<InstanceUid> {
        let is_all = self.others.is_empty() && self.probes.is_empty() && self.close.is_none();
        self.first.take_if(|_| is_all)
    }

    /// The agents that have something to send.
    pub(crate) fn take_pushes(&mut self) -> impl Iterator<Item = InstanceUid> + use<> {
        self.first.take().into_iter().chain(std::mem::take(&mut self.others))
    }
}

/// The connection's letter box.
#[derive(Debug)]
pub(crate) struct Outbox {
    home: Handle,
    waiting: AtomicBool,
    waker: AtomicWaker,
    errands: Mutex<Errands>,
}

impl Outbox {
    /// Of a connection whose task is spawned here.
    pub(crate) fn new() -> Self {
        Self {
            home: Handle::current(),
            waiting: AtomicBool::default(),
            waker: AtomicWaker::default(),
            errands: Mutex::default(),
        }
    }

    /// The runtime on which the connection's task runs.
    pub(crate) const fn home(&self) -> &Handle {
        &self.home
    }

    fn change(&self, change: impl FnOnce(&mut Errands)) {
        change(&mut self.errands.lock().unwrap_or_else(PoisonError::into_inner));
        if !self.waiting.swap(true, Ordering::AcqRel) {
            self.waker.wake();
        }
    }

    /// The agent has something to send.
    pub(crate) fn push(&self, uid: InstanceUid) {
        self.change(|errands| errands.push(uid));
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
