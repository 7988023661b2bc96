//! Lines that replicas print (REQ-3) and lines of the host's own (REQ-9). Times are microseconds since 1970: nanoseconds
//! would not fit the 53 bits of a JSON number.

use serde::{Deserialize, Serialize};

use crate::id::{QueryId, ReleaseId, ReplicaId, ServiceId, SubscriptionId};

/// Give me lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogsQuery {
    /// Comes back with each answer.
    pub query_id: QueryId,
    /// Of which replicas.
    pub replica_ids: Vec<ReplicaId>,
    /// Not before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_us: Option<u64>,
    /// Not after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_us: Option<u64>,
    /// From which end.
    #[serde(default)]
    pub direction: Direction,
    /// At most so many lines, up to 5000.
    pub limit: u32,
    /// Only lines with this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// Only these streams; both when empty.
    #[serde(default)]
    pub streams: Vec<LogStream>,
}

/// From which end lines are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The last ones; they come in order of time all the same.
    #[default]
    Backward,
    /// The first ones.
    Forward,
    /// A later version's word: treated as `Backward`.
    #[serde(other)]
    Unknown,
}

/// Lines that were asked for; the last message of a query says `eof`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogsResult {
    /// Which query.
    pub query_id: QueryId,
    /// Counts from 0.
    pub seq: u64,
    /// In order of time.
    pub lines: Vec<LogLine>,
    /// Whether it was the last.
    pub eof: bool,
    /// Why there are fewer than were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated_reason: Option<String>,
}

/// No more of a query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogsCancel {
    /// Which.
    pub query_id: QueryId,
}

/// Follow the lines of replicas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogsSubscribe {
    /// Comes back with each batch.
    pub subscription_id: SubscriptionId,
    /// Of these replicas.
    #[serde(default)]
    pub replica_ids: Vec<ReplicaId>,
    /// Of all replicas of this service, also those to come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_id: Option<ServiceId>,
    /// Begin with so many lines of each, up to 1000.
    #[serde(default)]
    pub tail: u32,
    /// Begin here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_us: Option<u64>,
    /// Only lines with this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// Only these streams; both when empty.
    #[serde(default)]
    pub streams: Vec<LogStream>,
    /// So many batches may be on their way (R81).
    #[serde(default = "eight")]
    pub window_batches: u32,
}

fn eight() -> u32 {
    8
}

/// A batch of lines, at most 64 KiB.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLines {
    /// Of which subscription.
    pub subscription_id: SubscriptionId,
    /// Counts from 1.
    pub seq: u64,
    /// In order of time for each replica.
    pub lines: Vec<LogLine>,
    /// So many were dropped before these, since nobody took the batches (R81).
    #[serde(default)]
    pub dropped: u64,
}

/// So many batches were taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogsAck {
    /// Of which subscription.
    pub subscription_id: SubscriptionId,
    /// Up to this one.
    pub seq: u64,
}

/// Follow no longer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogsUnsubscribe {
    /// Which subscription.
    pub subscription_id: SubscriptionId,
}

/// A subscription is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogsEnded {
    /// Which.
    pub subscription_id: SubscriptionId,
    /// Why.
    pub reason: EndReason,
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Why a subscription is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// As asked.
    Unsubscribed,
    /// Its replicas are gone.
    ReplicaRemoved,
    /// The engine gives no lines.
    Error,
    /// A later version's word.
    #[serde(other)]
    Unknown,
}

/// A line that a replica printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// When.
    pub ts_us: u64,
    /// Which replica.
    pub replica_id: ReplicaId,
    /// On which stream.
    pub stream: LogStream,
    /// The text without its line end; bytes that are no UTF-8 make `b64` instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The bytes in base64, when they are no UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b64: Option<String>,
    /// The line goes on in the next one.
    #[serde(default)]
    pub partial: bool,
}

/// A stream of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogStream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
    /// A later version's word.
    #[serde(other)]
    Unknown,
}

/// The host's own last lines (REQ-9): every 30 seconds when there is something new, at once for `deploy`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostLogsTail {
    /// Number of the first line; lines count from 1 since the agent's start. A number twice is the same line.
    pub seq: u64,
    /// The lines, with secrets masked.
    pub lines: Vec<HostLogLine>,
}

/// A line of a host's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostLogLine {
    /// When.
    pub ts_us: u64,
    /// How bad.
    pub level: HostLogLevel,
    /// Who says it.
    pub source: HostLogSource,
    /// About which replica.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_id: Option<ReplicaId>,
    /// About which release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release_id: Option<ReleaseId>,
    /// What.
    pub text: String,
}

/// How bad a line of a host's own is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostLogLevel {
    /// Something failed.
    Error,
    /// Something may fail.
    Warn,
    /// A step of a deployment.
    Deploy,
    /// A later version's word.
    #[serde(other)]
    Unknown,
}

/// Who wrote a line of a host's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostLogSource {
    /// The agent.
    Agent,
    /// The engine.
    Docker,
    /// What carries traffic.
    Net,
    /// A replica.
    Replica,
    /// A later version's word.
    #[serde(other)]
    Unknown,
}
