//! What the two sides say, as types: [`ToServer`] is what a host sends, [`ToAgent`] what the control plane sends.

mod fault;
mod logs;
mod metrics;
mod session;
mod state;

use serde_json::value::{RawValue, to_raw_value};

pub use fault::{CloseCode, ErrorCode, ErrorMessage};
pub use logs::{
    Direction, EndReason, HostLogLevel, HostLogLine, HostLogSource, HostLogsTail, LogLine, LogLines,
    LogStream, LogsAck, LogsCancel, LogsEnded, LogsQuery, LogsResult, LogsSubscribe, LogsUnsubscribe,
};
pub use metrics::{
    AgentMetrics, DiskMetrics, EngineMetrics, HostMetrics, Metrics, NetMetrics, ReplicaMetrics,
};
pub use session::{
    AgentBuild, Disk, DockerFacts, Facts, Foreign, Goodbye, Hello, HelloAck, Identity, Intervals, Limits,
    Ping, Pong, ProtocolVersion, TakenBlock, Taker, TokenRotate, TokenRotated, WireGuardFacts,
};
pub use state::{HostRemoved, LeftVolume, NetSelftest, ReplicaStatus, SectionResult, StateApplied};

use crate::desired::DesiredState;
use crate::frame::Body;

macro_rules! messages {
    ($(#[$doc:meta])* $name:ident { $($(#[$what:meta])* $variant:ident($body:ty) = $kind:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $name {
            $($(#[$what])* $variant($body),)*
        }

        impl Body for $name {
            fn kind(&self) -> &'static str {
                match self { $(Self::$variant(_) => $kind,)* }
            }

            fn data(&self) -> Result<Box<RawValue>, serde_json::Error> {
                match self { $(Self::$variant(body) => to_raw_value(body),)* }
            }

            fn read(kind: &str, data: &RawValue) -> Option<Result<Self, serde_json::Error>> {
                match kind {
                    $($kind => Some(serde_json::from_str::<$body>(data.get()).map(|body| Self::$variant(body.into()))),)*
                    _ => None,
                }
            }
        }
    };
}

messages! {
    /// What a host sends.
    ToServer {
        /// The first message of a connection (CONNECT-3).
        Hello(Box<Hello>) = "hello",
        /// Are you there?
        Ping(Ping) = "ping",
        /// I am.
        Pong(Pong) = "pong",
        /// The connection ends on purpose.
        Goodbye(Goodbye) = "goodbye",
        /// Something went wrong.
        Error(ErrorMessage) = "error",
        /// The new token is on disk (TOKEN-3).
        TokenRotated(TokenRotated) = "token_rotated",
        /// How a state was applied (STATE-2).
        StateApplied(Box<StateApplied>) = "state_applied",
        /// How replicas stand, when that changed.
        ReplicaStatus(ReplicaStatus) = "replica_status",
        /// Lines that were asked for (REQ-3).
        LogsResult(LogsResult) = "logs_result",
        /// Lines of a subscription (REQ-3).
        LogLines(LogLines) = "log_lines",
        /// A subscription is over.
        LogsEnded(LogsEnded) = "logs_ended",
        /// Counters of the host and its replicas (REQ-8).
        Metrics(Box<Metrics>) = "metrics",
        /// The host's own last lines (REQ-9).
        HostLogsTail(HostLogsTail) = "host_logs_tail",
    }
}

messages! {
    /// What the control plane sends.
    ToAgent {
        /// The answer to `hello` (CONNECT-4).
        HelloAck(HelloAck) = "hello_ack",
        /// Are you there?
        Ping(Ping) = "ping",
        /// I am.
        Pong(Pong) = "pong",
        /// The connection ends on purpose.
        Goodbye(Goodbye) = "goodbye",
        /// Something went wrong.
        Error(ErrorMessage) = "error",
        /// A new host token (TOKEN-1).
        TokenRotate(TokenRotate) = "token_rotate",
        /// What the host should run (STATE-1).
        DesiredState(Box<DesiredState>) = "desired_state",
        /// Give me lines (REQ-3).
        LogsQuery(LogsQuery) = "logs_query",
        /// No more of them.
        LogsCancel(LogsCancel) = "logs_cancel",
        /// Follow the lines of replicas (REQ-3).
        LogsSubscribe(LogsSubscribe) = "logs_subscribe",
        /// So many batches were taken.
        LogsAck(LogsAck) = "logs_ack",
        /// Follow them no longer.
        LogsUnsubscribe(LogsUnsubscribe) = "logs_unsubscribe",
        /// The operator removed this host (R7): containers stay.
        HostRemoved(HostRemoved) = "host_removed",
    }
}
