//! Counters of what passes and of what is refused, for whoever watches the server. One atomic addition each, on the
//! way of every message; nothing is looked up and nothing is locked.

use std::sync::atomic::{AtomicU64, Ordering};

use http::StatusCode;
use opamp_proto::server::Transport;

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// How often it was counted since the server was made.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, number: usize) {
        self.0.fetch_add(number as u64, Ordering::Relaxed);
    }
}

/// What passed over one transport. Bytes are those of messages, unpacked and without frames and headers of HTTP.
#[derive(Debug, Default)]
pub struct Flow {
    /// Messages that came.
    pub messages_in: Count,
    /// Their bytes.
    pub bytes_in: Count,
    /// Messages that left.
    pub messages_out: Count,
    /// Their bytes.
    pub bytes_out: Count,
    /// Messages that changed what is known of an agent.
    pub reports: Count,
    /// Messages that were processed and changed nothing.
    pub heartbeats: Count,
}

impl Flow {
    pub(crate) fn received(&self, bytes: usize) {
        self.messages_in.add(1);
        self.bytes_in.add(bytes);
    }

    pub(crate) fn sent(&self, bytes: usize) {
        self.messages_out.add(1);
        self.bytes_out.add(bytes);
    }

    pub(crate) fn processed(&self, is_news: bool) {
        if is_news { self.reports.add(1) } else { self.heartbeats.add(1) }
    }
}

/// Why something was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// No credential, or not one that is good for this agent.
    Unauthorized,
    /// A good credential that is not for this.
    Forbidden,
    /// A message that cannot be processed: BAD_REQUEST.
    BadRequest,
    /// A message over the limit.
    TooLarge,
    /// Too much to do: UNAVAILABLE, 503 or 429.
    Busy,
    /// A request that is no OpAMP.
    NotOpamp,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 6] =
        [Self::Unauthorized, Self::Forbidden, Self::BadRequest, Self::TooLarge, Self::Busy, Self::NotOpamp];

    /// A word for it, for a label.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::BadRequest => "bad_request",
            Self::TooLarge => "too_large",
            Self::Busy => "busy",
            Self::NotOpamp => "not_opamp",
        }
    }

    /// What a status of HTTP says, if it refuses.
    pub(crate) fn of(status: StatusCode) -> Option<Self> {
        match status {
            StatusCode::UNAUTHORIZED => Some(Self::Unauthorized),
            StatusCode::FORBIDDEN => Some(Self::Forbidden),
            StatusCode::PAYLOAD_TOO_LARGE => Some(Self::TooLarge),
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => Some(Self::Busy),
            status if status.is_client_error() => Some(Self::NotOpamp),
            _ => None,
        }
    }
}

/// All counters of a server.
#[derive(Debug, Default)]
pub struct Traffic {
    websocket: Flow,
    http: Flow,
    refused: [Count; Reason::ALL.len()],
}

impl Traffic {
    /// What passed over a transport.
    pub const fn over(&self, transport: Transport) -> &Flow {
        match transport {
            Transport::WebSocket => &self.websocket,
            Transport::Http => &self.http,
        }
    }

    /// How often something was refused.
    pub const fn refused(&self, reason: Reason) -> &Count {
        &self.refused[reason as usize]
    }
}
