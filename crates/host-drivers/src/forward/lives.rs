//! The sessions that go on, by the replica that they lead to. A replica that left a route keeps its sessions; one that
//! is gone altogether leaves its peers waiting for ever, so those sessions are ended after a while.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};

/// All sessions of the process.
#[derive(Debug, Clone)]
pub(super) struct Lives {
    afterlife: Duration,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    upstreams: Mutex<HashMap<IpAddr, Upstream>>,
    ended: Notify,
}

#[derive(Debug)]
struct Upstream {
    sessions: usize,
    over: watch::Sender<bool>,
    /// Marks one time that it was found gone, so that an old timer does not end what came back.
    gone: Option<u64>,
}

/// One session, until it is dropped.
#[derive(Debug)]
pub(super) struct Life {
    ip: IpAddr,
    over: watch::Receiver<bool>,
    shared: Arc<Shared>,
}

impl Lives {
    /// Sessions that go on for so long after their replica is gone: what it sent last may still be on its way.
    pub(super) fn new(afterlife: Duration) -> Self {
        Self { afterlife, shared: Arc::default() }
    }

    /// A session to a replica begins.
    pub(super) fn begin(&self, ip: IpAddr) -> Life {
        let mut upstreams = self.shared.lock();
        let upstream = upstreams.entry(ip).or_insert_with(|| Upstream {
            sessions: 0,
            over: watch::Sender::new(false),
            gone: None,
        });
        upstream.sessions += 1;
        let over = upstream.over.subscribe();
        drop(upstreams);
        Life { ip, over, shared: Arc::clone(&self.shared) }
    }

    /// Sets an end to the sessions of replicas that are not known any more, and spares those that are known again.
    pub(super) fn retire(&self, known: impl Fn(IpAddr) -> bool) {
        for (ip, upstream) in self.shared.lock().iter_mut() {
            if known(*ip) {
                upstream.gone = None;
            } else if upstream.gone.is_none() {
                let mark = fastrand::u64(..);
                upstream.gone = Some(mark);
                tokio::spawn(end(self.clone(), *ip, mark));
            }
        }
    }

    /// Waits until no session goes on.
    pub(super) async fn none_left(&self) {
        loop {
            let ended = self.shared.ended.notified();
            if self.shared.lock().is_empty() {
                return;
            }
            ended.await;
        }
    }
}

async fn end(lives: Lives, ip: IpAddr, mark: u64) {
    tokio::time::sleep(lives.afterlife).await;
    if let Some(upstream) = lives.shared.lock().get(&ip)
        && upstream.gone == Some(mark)
    {
        upstream.over.send_replace(true);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, Upstream>> {
        self.upstreams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Life {
    /// Waits until the session has to end.
    pub(super) async fn over(&mut self) {
        if self.over.wait_for(|over| *over).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        let mut upstreams = self.shared.lock();
        if let Some(upstream) = upstreams.get_mut(&self.ip) {
            upstream.sessions -= 1;
            if upstream.sessions == 0 {
                upstreams.remove(&self.ip);
            }
        }
        drop(upstreams);
        // Kept for one who is about to wait.
        self.shared.ended.notify_one();
    }
}
