//! Lines of replicas on their way from hosts to a person (REQ-3). Nothing is kept: the hosts have the lines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use host_proto::id::{HostId, QueryId, ReplicaId, SubscriptionId};
use host_proto::message::{
    Direction, LogLine, LogStream, LogsAck, LogsQuery, LogsSubscribe, LogsUnsubscribe, ToAgent,
};
use host_proto::{Frame, ToServer};
use store::StoreError;
use tokio::sync::mpsc;

use super::{Errand, LiveHosts};
use crate::clock;
use crate::services::Services;
use crate::services::allocate::{random, unsigned};

/// A host has so long to answer a query.
const QUERY: Duration = Duration::from_secs(15);
/// So many messages of a host wait for a reader; then lines are lost, with a count.
const WAITING: usize = 64;

/// Whose lines are wanted, and which.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// Replicas by host.
    pub(crate) replicas: BTreeMap<HostId, Vec<ReplicaId>>,
    /// What a replica and its host are called.
    pub(crate) names: BTreeMap<String, (String, String)>,
    pub(crate) since_us: Option<u64>,
    pub(crate) until_us: Option<u64>,
    pub(crate) contains: Option<String>,
    pub(crate) limit: u32,
}

/// Lines, and which hosts gave none.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) lines: Vec<LogLine>,
    /// Hosts that did not answer.
    pub(crate) silent: BTreeSet<HostId>,
}

impl Services {
    /// Asks the hosts for lines.
    pub(crate) async fn query_logs(&self, wanted: &Wanted) -> Result<Found, StoreError> {
        let mut asked = Vec::new();
        let mut found = Found::default();
        for (host, replicas) in &wanted.replicas {
            let query_id = QueryId::generate(unsigned(clock::now()), random()?);
            let query = LogsQuery {
                query_id: query_id.clone(),
                replica_ids: replicas.clone(),
                since_us: wanted.since_us,
                until_us: wanted.until_us,
                direction: Direction::Backward,
                limit: wanted.limit,
                contains: wanted.contains.clone(),
                streams: Vec::new(),
            };
            let (answers, queue) = mpsc::channel(WAITING);
            let frame = Frame::asking(query_id.to_string(), ToAgent::LogsQuery(query));
            if self.live.errand(host, Errand::Ask(Box::new(frame), Some(answers))) {
                asked.push((host.clone(), query_id, queue));
            } else {
                found.silent.insert(host.clone());
            }
        }
        let deadline = tokio::time::Instant::now() + QUERY;
        for (host, query_id, mut queue) in asked {
            match tokio::time::timeout_at(deadline, collect(&query_id, wanted.limit, &mut queue)).await {
                Ok(Some(lines)) => found.lines.extend(lines),
                Ok(None) | Err(_) => drop(found.silent.insert(host)),
            }
        }
        found.lines.sort_by_key(|line| line.ts_us);
        keep_last(&mut found.lines, wanted.limit);
        Ok(found)
    }
}

/// The lines that answer a query; of more than were asked for the last ones.
async fn collect(query: &QueryId, limit: u32, queue: &mut mpsc::Receiver<ToServer>) -> Option<Vec<LogLine>> {
    let mut lines = Vec::new();
    while let Some(message) = queue.recv().await {
        if let ToServer::LogsResult(result) = message
            && result.query_id == *query
        {
            lines.extend(result.lines);
            keep_last(&mut lines, limit);
            if result.eof {
                return Some(lines);
            }
        }
    }
    None
}

fn keep_last(lines: &mut Vec<LogLine>, limit: u32) {
    let surplus = lines.len().saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX));
    lines.drain(..surplus);
}

/// Follows the lines of replicas on one host, until it is dropped.
pub(crate) struct Following {
    live: Arc<LiveHosts>,
    host: HostId,
    id: SubscriptionId,
    queue: mpsc::Receiver<ToServer>,
}

/// What a host says about lines that are followed.
pub(crate) enum Followed {
    /// Lines; so many were lost before them.
    Lines(Vec<LogLine>, u64),
    /// No more come from this host.
    Ended,
}

impl Following {
    /// Begins to follow; `None`: the host is not connected.
    pub(crate) fn begin(
        live: Arc<LiveHosts>,
        host: HostId,
        replicas: Vec<ReplicaId>,
        tail: u32,
        wanted: &Wanted,
    ) -> Result<Option<Self>, StoreError> {
        let id = SubscriptionId::generate(unsigned(clock::now()), random()?);
        let subscribe = LogsSubscribe {
            subscription_id: id.clone(),
            replica_ids: replicas,
            service_id: None,
            tail,
            since_us: wanted.since_us,
            contains: wanted.contains.clone(),
            streams: Vec::new(),
            window_batches: 8,
        };
        let (answers, queue) = mpsc::channel(WAITING);
        let frame = Frame::asking(id.to_string(), ToAgent::LogsSubscribe(subscribe));
        let begun = live.errand(&host, Errand::Ask(Box::new(frame), Some(answers)));
        Ok(begun.then(|| Self { live, host, id, queue }))
    }

    /// What comes next.
    pub(crate) async fn next(&mut self) -> Followed {
        while let Some(message) = self.queue.recv().await {
            match message {
                ToServer::LogLines(batch) if batch.subscription_id == self.id => {
                    let ack = LogsAck { subscription_id: self.id.clone(), seq: batch.seq };
                    self.say(ToAgent::LogsAck(ack));
                    return Followed::Lines(batch.lines, batch.dropped);
                }
                ToServer::LogsEnded(ended) if ended.subscription_id == self.id => return Followed::Ended,
                _ => {}
            }
        }
        Followed::Ended
    }

    fn say(&self, message: ToAgent) {
        self.live.errand(&self.host, Errand::Ask(Box::new(Frame::plain(message)), None));
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.say(ToAgent::LogsUnsubscribe(LogsUnsubscribe { subscription_id: self.id.clone() }));
    }
}

/// A line as the API tells it.
pub(crate) fn told(line: &LogLine, names: &BTreeMap<String, (String, String)>) -> api::services::LogLine {
    let (replica, host) = names.get(line.replica_id.as_str()).cloned().unwrap_or_default();
    let text = match (&line.text, &line.b64) {
        (Some(text), _) => text.clone(),
        (None, Some(b64)) => {
            let bytes = STANDARD.decode(b64).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        }
        (None, None) => String::new(),
    };
    api::services::LogLine {
        at: clock::rfc3339_micros(line.ts_us),
        replica,
        host,
        stream: if line.stream == LogStream::Err { "err" } else { "out" }.to_owned(),
        text,
    }
}
