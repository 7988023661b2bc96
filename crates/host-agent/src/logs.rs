//! What the server asks for of the lines that replicas print (REQ-3): queries are answered once, subscriptions until they
//! are given up, their replicas are gone, or the connection ends. Nothing here ever holds a container back (R81).

mod subscription;

use std::collections::HashMap;
use std::sync::Arc;

use host_drivers::docker::Engine;
use host_proto::Frame;
use host_proto::id::{QueryId, ReplicaId, SubscriptionId};
use host_proto::limits::LOG_QUERY_LINES;
use host_proto::message::{
    Direction, EndReason, ErrorCode, ErrorMessage, Intervals, LogLine, LogsEnded, LogsQuery, LogsResult,
    LogsSubscribe, ToAgent, ToServer,
};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

use crate::handles::{LinkHandle, Snapshot};
use subscription::Subscription;

/// Longest text of one message, in bytes: small enough that a ping does not wait for it.
const MAX_BATCH: usize = 64 * 1024;

/// What the task works with.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) engine: watch::Receiver<Option<Arc<Engine>>>,
    pub(crate) seen: watch::Receiver<Snapshot>,
    pub(crate) online: watch::Receiver<Option<Intervals>>,
    pub(crate) link: LinkHandle,
}

/// The owner of all queries and subscriptions.
pub(crate) struct Logs {
    parts: Parts,
    tasks: JoinSet<()>,
    queries: HashMap<QueryId, AbortHandle>,
    subscriptions: HashMap<SubscriptionId, Following>,
}

struct Following {
    task: AbortHandle,
    acks: watch::Sender<u64>,
}

impl Logs {
    pub(crate) fn new(parts: Parts) -> Self {
        Self { parts, tasks: JoinSet::new(), queries: HashMap::new(), subscriptions: HashMap::new() }
    }

    /// Runs until nobody asks any more.
    pub(crate) async fn run(mut self, mut requests: mpsc::Receiver<Frame<ToAgent>>) {
        let mut online = self.parts.online.clone();
        loop {
            tokio::select! {
                request = requests.recv() => match request {
                    Some(frame) => self.request(frame),
                    None => return,
                },
                changed = online.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    // Whoever asked is gone; the server asks again (REQ-13).
                    if online.borrow_and_update().is_none() {
                        self.tasks.abort_all();
                        self.queries.clear();
                        self.subscriptions.clear();
                    }
                }
                Some(_) = self.tasks.join_next() => {
                    self.queries.retain(|_, task| !task.is_finished());
                    self.subscriptions.retain(|_, following| !following.task.is_finished());
                }
            }
        }
    }

    fn request(&mut self, frame: Frame<ToAgent>) {
        match frame.body {
            ToAgent::LogsQuery(query) => self.query(frame.id, query),
            ToAgent::LogsCancel(cancel) => {
                if let Some(task) = self.queries.remove(&cancel.query_id) {
                    task.abort();
                }
            }
            ToAgent::LogsSubscribe(subscribe) => self.subscribe(subscribe),
            ToAgent::LogsAck(ack) => {
                if let Some(following) = self.subscriptions.get(&ack.subscription_id) {
                    following.acks.send_if_modified(|acked| {
                        let newer = ack.seq > *acked;
                        *acked = ack.seq.max(*acked);
                        newer
                    });
                }
            }
            ToAgent::LogsUnsubscribe(unsubscribe) => self.unsubscribe(unsubscribe.subscription_id),
            _ => {
                let error = ErrorMessage {
                    code: ErrorCode::UnsupportedType,
                    message: "this agent cannot do that".to_owned(),
                    fatal: false,
                    retry_after_ms: None,
                };
                if frame.id.is_some() {
                    self.parts.link.answer(frame.id, ToServer::Error(error));
                }
            }
        }
    }

    /// A query that is asked again under its id is the same one: it is not run twice (REQ-12).
    fn query(&mut self, re: Option<String>, query: LogsQuery) {
        if self.queries.contains_key(&query.query_id) {
            return;
        }
        let id = query.query_id.clone();
        let task = self.tasks.spawn(answer(self.parts.clone(), re, query));
        self.queries.insert(id, task);
    }

    fn subscribe(&mut self, subscribe: LogsSubscribe) {
        let id = subscribe.subscription_id.clone();
        if self.subscriptions.contains_key(&id) {
            return;
        }
        let (acks, acked) = watch::channel(0);
        let task = self.tasks.spawn(Subscription::new(self.parts.clone(), subscribe, acked).run());
        self.subscriptions.insert(id, Following { task, acks });
    }

    fn unsubscribe(&mut self, id: SubscriptionId) {
        if let Some(following) = self.subscriptions.remove(&id) {
            following.task.abort();
            let ended = LogsEnded { subscription_id: id, reason: EndReason::Unsubscribed, message: None };
            self.parts.link.send(ToServer::LogsEnded(ended));
        }
    }
}

/// The container of a replica, as it was seen last.
fn container_of(seen: &Snapshot, replica: &ReplicaId) -> Option<String> {
    let replicas = seen.replicas.as_deref().unwrap_or_default();
    replicas.iter().find(|report| report.replica_id == *replica)?.container_id.clone()
}

async fn answer(parts: Parts, re: Option<String>, mut query: LogsQuery) {
    query.limit = query.limit.clamp(1, LOG_QUERY_LINES);
    let mut lines = Vec::new();
    let mut reasons = Vec::new();
    let engine = parts.engine.borrow().clone();
    for replica in &query.replica_ids {
        let container = container_of(&parts.seen.borrow(), replica);
        let (Some(engine), Some(container)) = (&engine, container) else {
            reasons.push(format!("{replica} has no container here"));
            continue;
        };
        match engine.read_logs(replica, &container, &query).await {
            Ok(read) => {
                lines.extend(read.lines);
                reasons.extend(read.truncated);
            }
            Err(trouble) => reasons.push(trouble.text),
        }
    }
    limit(&mut lines, &query);
    let reason = (!reasons.is_empty()).then(|| reasons.join("; "));
    let batches = batches(lines);
    let last = batches.len() - 1;
    for (number, lines) in batches.into_iter().enumerate() {
        let eof = number == last;
        let result = LogsResult {
            query_id: query.query_id.clone(),
            seq: number as u64,
            lines,
            eof,
            truncated_reason: reason.clone().filter(|_| eof),
        };
        parts.link.answer(re.clone(), ToServer::LogsResult(result));
    }
}

/// As many as were asked for, from the end that was asked for, in order of time.
fn limit(lines: &mut Vec<LogLine>, query: &LogsQuery) {
    lines.sort_by_key(|line| line.ts_us);
    let most = usize::try_from(query.limit).unwrap_or(usize::MAX);
    match query.direction {
        Direction::Forward => lines.truncate(most),
        Direction::Backward | Direction::Unknown => {
            lines.drain(..lines.len().saturating_sub(most));
        }
    }
}

/// At least one batch, each short enough to let others through.
fn batches(lines: Vec<LogLine>) -> Vec<Vec<LogLine>> {
    let mut batches = vec![Vec::new()];
    let mut size = 0;
    for line in lines {
        let length = size_of_line(&line);
        if size + length > MAX_BATCH && size > 0 {
            batches.push(Vec::new());
            size = 0;
        }
        size += length;
        if let Some(batch) = batches.last_mut() {
            batch.push(line);
        }
    }
    batches
}

/// About what a line takes in a message.
fn size_of_line(line: &LogLine) -> usize {
    let text = line.text.as_ref().or(line.b64.as_ref()).map_or(0, String::len);
    text + line.replica_id.as_str().len() + 80
}

#[cfg(test)]
mod tests;
