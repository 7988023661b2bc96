//! Errors and close codes.

use serde::{Deserialize, Serialize};

/// Something went wrong; `re` of its frame says with what. Carries no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorMessage {
    /// What.
    pub code: ErrorCode,
    /// In words, for people.
    pub message: String,
    /// Whether the connection ends with it.
    #[serde(default)]
    pub fatal: bool,
    /// When it may be tried again, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// Another machine is this host (CONNECT-7).
    DuplicateHost,
    /// The token is not known.
    Unauthorized,
    /// The token is too old.
    TokenExpired,
    /// The operator removed this host.
    HostRemoved,
    /// No common version.
    UnsupportedProtocol,
    /// Longer than the limit (REQ-11).
    MessageTooLarge,
    /// Not a message.
    BadMessage,
    /// A type that is not known here.
    UnsupportedType,
    /// Nothing of that id is here.
    UnknownId,
    /// Another attempt is under way.
    WrongAttempt,
    /// Too much at once.
    Busy,
    /// Too often.
    RateLimited,
    /// Too late.
    Expired,
    /// Not there.
    NotFound,
    /// Not allowed here.
    Refused,
    /// The fault is here.
    Internal,
    /// Not higher than what was applied (STATE-6).
    StaleGeneration,
    /// Of another history.
    EpochMismatch,
    /// More would have been removed than was allowed (R33).
    RefusedRemovals,
    /// A later version's word.
    #[serde(other)]
    Unknown,
}

/// Why a WebSocket was closed, as its close code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CloseCode {
    /// 1000: on purpose, nothing is wrong.
    Normal,
    /// 1012: the server starts again; come back.
    Restart,
    /// 1009: a message was too long.
    TooLarge,
    /// 4000: three messages in a row were none.
    BadMessage,
    /// 4001: another machine is this host.
    DuplicateHost,
    /// 4002: the token is not, or no longer, good.
    Unauthorized,
    /// 4003: the operator removed this host.
    HostRemoved,
    /// 4004: no common version.
    UnsupportedProtocol,
    /// 4006: nothing was heard for 60 seconds (CONNECT-5).
    IdleTimeout,
    /// 4009: the same machine connected anew (R14).
    Replaced,
    /// 4010: the other side reads too slowly.
    SlowConsumer,
}

impl CloseCode {
    /// Its number.
    pub const fn number(self) -> u16 {
        match self {
            Self::Normal => 1000,
            Self::TooLarge => 1009,
            Self::Restart => 1012,
            Self::BadMessage => 4000,
            Self::DuplicateHost => 4001,
            Self::Unauthorized => 4002,
            Self::HostRemoved => 4003,
            Self::UnsupportedProtocol => 4004,
            Self::IdleTimeout => 4006,
            Self::Replaced => 4009,
            Self::SlowConsumer => 4010,
        }
    }

    /// The code of a number; `None` for those of others.
    pub const fn of(number: u16) -> Option<Self> {
        Some(match number {
            1000 => Self::Normal,
            1009 => Self::TooLarge,
            1012 => Self::Restart,
            4000 => Self::BadMessage,
            4001 => Self::DuplicateHost,
            4002 => Self::Unauthorized,
            4003 => Self::HostRemoved,
            4004 => Self::UnsupportedProtocol,
            4006 => Self::IdleTimeout,
            4009 => Self::Replaced,
            4010 => Self::SlowConsumer,
            _ => return None,
        })
    }

    /// In words.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Normal => "goodbye",
            Self::TooLarge => "message too large",
            Self::Restart => "the server starts again",
            Self::BadMessage => "not a message",
            Self::DuplicateHost => "duplicate_host",
            Self::Unauthorized => "unauthorized",
            Self::HostRemoved => "host_removed",
            Self::UnsupportedProtocol => "unsupported_protocol",
            Self::IdleTimeout => "silent for 60 seconds",
            Self::Replaced => "replaced by a newer connection",
            Self::SlowConsumer => "reads too slowly",
        }
    }
}
