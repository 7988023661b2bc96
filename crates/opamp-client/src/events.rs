//! What the application hears. The queue is bounded without ever making the session wait: a remote
//! configuration that was not fetched yet gives way to a newer one, and of the rest the oldest goes first.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use opamp_proto::wire::AgentConfigMap;
use opamp_proto::{InstanceUid, ServerCapabilities};
use tokio::sync::Notify;

/// Events that wait for an application that does not fetch them.
const MAX_WAITING: usize = 256;

/// One thing that the application may want to know.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The server answered for the first time, or again.
    Connected {
        /// What it can do; unspecified when it did not say.
        server: ServerCapabilities,
    },
    /// The server cannot be reached.
    Disconnected {
        /// Why, for people. Never holds a secret.
        reason: String,
        /// When the next attempt is made; `None` after a stop.
        retry_in: Option<Duration>,
    },
    /// Apply this, then call [`crate::Client::config_applied`] or [`crate::Client::config_failed`].
    RemoteConfig(RemoteConfig),
    /// The server asked for the full state and gets it; nothing to do.
    FullStateRequested,
    /// The server gave the agent another identity. It is stored already.
    InstanceUidChanged {
        /// The value before.
        old: InstanceUid,
        /// The value from now on.
        new: InstanceUid,
    },
    /// The server asks the agent to restart.
    RestartRequested,
    /// The server refused a message, which is not sent again.
    MessageRefused {
        /// The server's words.
        reason: String,
    },
    /// Something that the server sent was left out.
    Ignored {
        /// What and why.
        reason: String,
    },
    /// State could not be stored; the client goes on without.
    StorageFailed {
        /// Why.
        reason: String,
    },
}

/// A configuration that the server wants the agent to run on.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteConfig {
    /// Names it in the answer.
    pub hash: Bytes,
    /// The files by name.
    pub config: AgentConfigMap,
}

/// The events of one client, in the order in which they happened. Ends when the client has stopped.
#[derive(Debug)]
pub struct Events {
    queue: Arc<Queue>,
}

#[derive(Debug, Default)]
pub(crate) struct Queue {
    inner: Mutex<Inner>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    events: VecDeque<Event>,
    ended: bool,
    abandoned: bool,
}

impl Events {
    pub(crate) fn new(queue: Arc<Queue>) -> Self {
        Self { queue }
    }

    /// The next event; `None` after the client has stopped. Safe to cancel.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            let changed = self.queue.changed.notified();
            {
                let mut inner = self.queue.lock();
                if let Some(event) = inner.events.pop_front() {
                    return Some(event);
                }
                if inner.ended {
                    return None;
                }
            }
            changed.await;
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let mut inner = self.queue.lock();
        inner.abandoned = true;
        inner.events.clear();
    }
}

impl Queue {
    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, event: Event) {
        let mut inner = self.lock();
        if inner.abandoned {
            return;
        }
        if matches!(event, Event::RemoteConfig(_)) {
            inner.events.retain(|waiting| !matches!(waiting, Event::RemoteConfig(_)));
        }
        if inner.events.len() >= MAX_WAITING {
            let oldest = inner.events.iter().position(|waiting| !matches!(waiting, Event::RemoteConfig(_)));
            inner.events.remove(oldest.unwrap_or(0));
        }
        inner.events.push_back(event);
        drop(inner);
        self.changed.notify_one();
    }

    pub(crate) fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_one();
    }
}
