//! One subscription: followers of its replicas, also of those to come, whose lines go out in batches. Beyond the window
//! of batches that the server has not taken, lines are dropped and counted (R81).

use std::collections::BTreeMap;
use std::time::Duration;

use host_drivers::docker::logs::{Filter, Followed, Follower};
use host_proto::id::ReplicaId;
use host_proto::message::{EndReason, LogLine, LogLines, LogsEnded, LogsSubscribe, ToServer};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{MAX_BATCH, Parts, size_of_line};

/// Lines that come this closely go out together.
const GATHER: Duration = Duration::from_millis(50);
/// Lines that wait between a follower and its batch.
const WAITING: usize = 1024;
/// Bounds of the window that a server may ask for.
const WINDOW: std::ops::RangeInclusive<u32> = 1..=64;

pub(super) struct Subscription {
    parts: Parts,
    asked: LogsSubscribe,
    acked: watch::Receiver<u64>,
    /// Which container of which replica is followed.
    followed: BTreeMap<ReplicaId, String>,
    followers: JoinSet<(ReplicaId, String)>,
    batch: Vec<LogLine>,
    /// When what was gathered goes out.
    flush_at: Instant,
    size: usize,
    sent: u64,
    dropped: u64,
    /// Replicas that come later are followed from their beginning.
    begun: bool,
}

impl Subscription {
    pub(super) fn new(parts: Parts, asked: LogsSubscribe, acked: watch::Receiver<u64>) -> Self {
        Self {
            parts,
            asked,
            acked,
            followed: BTreeMap::new(),
            followers: JoinSet::new(),
            batch: Vec::new(),
            flush_at: Instant::now(),
            size: 0,
            sent: 0,
            dropped: 0,
            begun: false,
        }
    }

    pub(super) async fn run(mut self) {
        let (lines, mut came) = mpsc::channel(WAITING);
        let (mut seen, mut engine) = (self.parts.seen.clone(), self.parts.engine.clone());
        // What they hold by now is no news: it would be read as another engine, and everything told from the beginning.
        let _ = (seen.borrow_and_update(), engine.borrow_and_update());
        self.follow(&lines);
        loop {
            let gather = tokio::time::sleep_until(self.flush_at);
            tokio::select! {
                Some(line) = came.recv() => self.take(line),
                Some(gone) = self.followers.join_next() => {
                    if let Ok((replica, container)) = gone {
                        self.followed.retain(|id, held| *id != replica || *held != container);
                    }
                    if self.is_over() {
                        return self.end();
                    }
                }
                changed = seen.changed() => {
                    if changed.is_err() { return }
                    self.follow(&lines);
                }
                changed = engine.changed() => {
                    if changed.is_err() { return }
                    self.followers.abort_all();
                    self.followed.clear();
                    self.follow(&lines);
                }
                () = gather, if !self.batch.is_empty() => self.flush(),
            }
        }
    }

    /// Begins to follow what is not followed yet.
    fn follow(&mut self, lines: &mpsc::Sender<LogLine>) {
        let Some(engine) = self.parts.engine.borrow().clone() else { return };
        let wanted = self.wanted();
        let first = !std::mem::replace(&mut self.begun, true);
        for (replica, container) in wanted {
            if self.followed.get(&replica) == Some(&container) {
                continue;
            }
            let begin = if first { (self.asked.tail, self.asked.since_us) } else { (u32::MAX, None) };
            let filter =
                Filter { contains: self.asked.contains.clone(), streams: self.asked.streams.clone() };
            let mut follower =
                Follower::new(engine.clone(), replica.clone(), container.clone(), begin, filter);
            self.followed.insert(replica.clone(), container.clone());
            let lines = lines.clone();
            self.followers.spawn(async move {
                while let Followed::Line(line) = follower.next().await {
                    if lines.send(line).await.is_err() {
                        break;
                    }
                }
                (replica, container)
            });
        }
    }

    /// Containers of the replicas that were asked for.
    fn wanted(&self) -> Vec<(ReplicaId, String)> {
        let seen = self.parts.seen.borrow();
        let reports = seen.replicas.as_deref().unwrap_or_default();
        let asked = reports.iter().filter(|report| {
            self.asked.replica_ids.contains(&report.replica_id)
                || self.asked.service_id.as_ref() == Some(&report.service_id)
        });
        asked.filter_map(|report| Some((report.replica_id.clone(), report.container_id.clone()?))).collect()
    }

    fn take(&mut self, line: LogLine) {
        let length = size_of_line(&line);
        if self.size + length > MAX_BATCH {
            self.flush();
        }
        if self.batch.is_empty() {
            self.flush_at = Instant::now() + GATHER;
        }
        self.size += length;
        self.batch.push(line);
    }

    /// Sends what was gathered, or drops it when the server does not take what was sent before.
    fn flush(&mut self) {
        let lines = std::mem::take(&mut self.batch);
        self.size = 0;
        let window = u64::from(self.asked.window_batches.clamp(*WINDOW.start(), *WINDOW.end()));
        if self.sent.saturating_sub(*self.acked.borrow()) >= window {
            self.dropped += lines.len() as u64;
            return;
        }
        self.sent += 1;
        let batch = LogLines {
            subscription_id: self.asked.subscription_id.clone(),
            seq: self.sent,
            lines,
            dropped: std::mem::take(&mut self.dropped),
        };
        self.parts.link.send(ToServer::LogLines(batch));
    }

    /// Whether there is nothing more to come: a service can have new replicas at any time.
    fn is_over(&self) -> bool {
        self.asked.service_id.is_none() && self.followed.is_empty() && self.wanted().is_empty()
    }

    fn end(mut self) {
        if !self.batch.is_empty() {
            self.flush();
        }
        let ended = LogsEnded {
            subscription_id: self.asked.subscription_id.clone(),
            reason: EndReason::ReplicaRemoved,
            message: None,
        };
        self.parts.link.send(ToServer::LogsEnded(ended));
    }
}
