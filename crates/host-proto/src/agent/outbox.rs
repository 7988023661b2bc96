//! What waits for the socket, in order of urgency (R24): control, then states, then results, then what can be dropped.
//! Dropped lines and metrics are counted in what follows them, so that the server knows of every gap.

use std::collections::VecDeque;
use std::time::Duration;

use crate::frame::Frame;
use crate::limits::MAX_MESSAGE;
use crate::message::{LogLines, Metrics, ToServer};
use crate::moment::Moment;

/// Batches of lines that may wait: 8 for each of 16 subscriptions.
const MAX_BATCHES: usize = 128;
/// More than this: the server does not read, and asked for too much before.
const MAX_RESULTS: usize = 4096;
/// A text that the socket did not take for so long: the way is blocked. See the server's side.
const STUCK_AFTER: Duration = Duration::from_secs(180);

#[derive(Debug, Default)]
pub(super) struct Outbox {
    control: VecDeque<Frame<ToServer>>,
    states: VecDeque<Frame<ToServer>>,
    results: VecDeque<Frame<ToServer>>,
    batches: VecDeque<LogLines>,
    metrics: Option<Box<Metrics>>,
    writing_since: Option<Moment>,
}

impl Outbox {
    pub(super) fn push(&mut self, frame: Frame<ToServer>) {
        match frame.body {
            ToServer::Metrics(metrics) => self.push_metrics(metrics),
            ToServer::LogLines(batch) => self.push_batch(batch),
            ToServer::StateApplied(_) | ToServer::ReplicaStatus(_) => self.states.push_back(frame),
            ToServer::LogsResult(_) | ToServer::LogsEnded(_) | ToServer::HostLogsTail(_) => {
                if self.results.len() < MAX_RESULTS {
                    self.results.push_back(frame);
                }
            }
            _ => self.control.push_back(frame),
        }
    }

    /// Counters only grow, so the newest one says it all (R87).
    fn push_metrics(&mut self, mut metrics: Box<Metrics>) {
        if let Some(older) = self.metrics.take() {
            metrics.dropped_before += older.dropped_before + 1;
        }
        self.metrics = Some(metrics);
    }

    fn push_batch(&mut self, batch: LogLines) {
        self.batches.push_back(batch);
        if self.batches.len() <= MAX_BATCHES {
            return;
        }
        let Some(oldest) = self.batches.pop_front() else { return };
        let lost = oldest.dropped + oldest.lines.len() as u64;
        let same = |batch: &&mut LogLines| batch.subscription_id == oldest.subscription_id;
        if let Some(next) = self.batches.iter_mut().find(same) {
            next.dropped += lost;
        }
    }

    /// The next text; too long ones are left out, since the server would close the connection for them.
    pub(super) fn next(&mut self, now: Moment) -> Option<String> {
        if self.writing_since.is_some() {
            return None;
        }
        loop {
            let text = self.pop()?.encode().ok().filter(|text| text.len() <= MAX_MESSAGE);
            if let Some(text) = text {
                self.writing_since = Some(now);
                return Some(text);
            }
        }
    }

    fn pop(&mut self) -> Option<Frame<ToServer>> {
        let queues = [&mut self.control, &mut self.states, &mut self.results];
        if let Some(frame) = queues.into_iter().find_map(VecDeque::pop_front) {
            return Some(frame);
        }
        if let Some(batch) = self.batches.pop_front() {
            return Some(Frame::plain(ToServer::LogLines(batch)));
        }
        self.metrics.take().map(|metrics| Frame::plain(ToServer::Metrics(metrics)))
    }

    pub(super) fn sent(&mut self) {
        self.writing_since = None;
    }

    /// What waited for a connection that is gone; only how much was lost is kept.
    pub(super) fn forget(&mut self) {
        let metrics = self.metrics.take();
        *self = Self { metrics, ..Self::default() };
    }

    pub(super) fn deadline(&self) -> Option<Moment> {
        self.writing_since.map(|since| since + STUCK_AFTER)
    }

    pub(super) fn is_stuck(&self, now: Moment) -> bool {
        self.deadline().is_some_and(|deadline| now >= deadline)
    }
}
