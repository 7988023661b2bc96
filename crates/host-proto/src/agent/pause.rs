//! How long to stay away after a connection, and how grave it is (R15 to R17). The close code can be lost on the way,
//! so what the server said before it counts as much.

use std::time::Duration;

use super::backoff::Backoff;
use super::{Away, Failure};
use crate::limits::REFUSED_PAUSE;
use crate::message::{CloseCode, ErrorCode, ErrorMessage};

/// After a refusal of our version: an operator, or an upgrade, has to come first.
const UNSUPPORTED_PAUSE: Duration = Duration::from_secs(30 * 60);
/// Longest stated pause that is obeyed: a server that says "in ten years" means something else.
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);

/// What the server said before the connection ended.
#[derive(Debug, Default)]
pub(super) struct LastWords {
    /// A fatal error.
    pub(super) error: Option<ErrorMessage>,
    /// When to come back.
    pub(super) reconnect_after: Option<Duration>,
    /// How far hosts are spread when the server restarts without a word.
    pub(super) spread: Duration,
}

/// What follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Another attempt after this time.
    Retry(Away, Duration),
    /// None.
    Never,
}

/// Decides.
pub(super) fn after(failure: &Failure, words: &LastWords, backoff: &mut Backoff) -> Next {
    let away = words.error.as_ref().map_or_else(|| of_failure(failure), |error| of_code(error.code));
    let said = words.error.as_ref().and_then(|error| error.retry_after_ms).map(Duration::from_millis);
    let said = said.or(words.reconnect_after).or(retry_after(failure)).map(|pause| pause.min(LONGEST_PAUSE));
    let pause = match (away, said) {
        (Away::Removed, _) => return Next::Never,
        (Away::Duplicate | Away::Unauthorized, None) => backoff.around(REFUSED_PAUSE),
        (Away::Unsupported, None) => backoff.around(UNSUPPORTED_PAUSE),
        // The server spread its hosts itself (R17).
        (Away::Unreachable | Away::Stopped, Some(said)) if words.reconnect_after.is_some() => said,
        (_, Some(said)) => backoff.around(said).max(backoff.next()),
        (_, None) => match failure {
            Failure::Status { .. } => backoff.next_refused(),
            Failure::Closed { code: Some(1012), .. } => backoff.next() + backoff.within(words.spread),
            Failure::Broken(_) | Failure::Closed { .. } | Failure::Protocol(_) => backoff.next(),
        },
    };
    Next::Retry(away, pause)
}

fn retry_after(failure: &Failure) -> Option<Duration> {
    match failure {
        Failure::Status { retry_after, .. } => *retry_after,
        _ => None,
    }
}

fn of_failure(failure: &Failure) -> Away {
    match failure {
        Failure::Status { code: 401 | 403, .. } => Away::Unauthorized,
        Failure::Status { code: 409, .. } => Away::Duplicate,
        Failure::Status { code: 426, .. } => Away::Unsupported,
        Failure::Closed { code: Some(code), .. } => match CloseCode::of(*code) {
            Some(CloseCode::DuplicateHost) => Away::Duplicate,
            Some(CloseCode::Unauthorized) => Away::Unauthorized,
            Some(CloseCode::HostRemoved) => Away::Removed,
            Some(CloseCode::UnsupportedProtocol) => Away::Unsupported,
            _ => Away::Unreachable,
        },
        _ => Away::Unreachable,
    }
}

fn of_code(code: ErrorCode) -> Away {
    match code {
        ErrorCode::DuplicateHost => Away::Duplicate,
        ErrorCode::Unauthorized | ErrorCode::TokenExpired => Away::Unauthorized,
        ErrorCode::HostRemoved => Away::Removed,
        ErrorCode::UnsupportedProtocol => Away::Unsupported,
        _ => Away::Unreachable,
    }
}
