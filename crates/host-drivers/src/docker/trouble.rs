//! What an engine's error means for the next try, in the engine's own words.

use std::time::Duration;

use bollard::errors::Error;
use reconcile::{Trouble, TroubleKind};

/// Longest error text that is passed on, in bytes.
const LONGEST: usize = 2000;

/// Waits for an answer, not for ever. A silent engine is [`TroubleKind::Retry`] here: others may still be answered, and
/// whether it answers at all the next list shows.
pub(crate) async fn within<T>(
    limit: Duration,
    what: &str,
    call: impl Future<Output = Result<T, Error>>,
) -> Result<T, Trouble> {
    match tokio::time::timeout(limit, call).await {
        Ok(answer) => answer.map_err(|error| of(what, error)),
        Err(_) => Err(retry(format!("{what}: no answer within {} s", limit.as_secs()))),
    }
}

/// An error that another try may mend.
pub(crate) fn retry(text: String) -> Trouble {
    Trouble { text: shortened(text), kind: TroubleKind::Retry }
}

/// An error that no other try mends as things are.
pub(crate) fn refused(text: String) -> Trouble {
    Trouble { text: shortened(text), kind: TroubleKind::Refused }
}

/// Says what an error of the library means.
pub(crate) fn of(what: &str, error: Error) -> Trouble {
    match error {
        Error::DockerResponseServerError { status_code, message } => answered(what, status_code, &message),
        Error::DockerStreamError { error } => retry(format!("{what}: {error}")),
        Error::IOError { err } => unavailable(what, &err),
        Error::HyperResponseError { err } => unavailable(what, &err),
        Error::HyperLegacyError { err } => unavailable(what, &err),
        Error::RequestTimeoutError => unavailable(what, &"no answer"),
        Error::SocketNotFoundError(path) => {
            unavailable(what, &format!("there is no socket at {path}; is the engine running?"))
        }
        other => retry(format!("{what}: {other}")),
    }
}

fn unavailable(what: &str, error: &dyn std::fmt::Display) -> Trouble {
    let text = shortened(format!("{what}: the engine does not answer: {error}"));
    Trouble { text, kind: TroubleKind::Unavailable }
}

/// The engine answered, and not well.
fn answered(what: &str, status: u16, message: &str) -> Trouble {
    let message = message.trim();
    let text =
        if message.is_empty() { format!("{what}: status {status}") } else { format!("{what}: {message}") };
    let taken = message.contains("already in use by container") || message.contains("already exists");
    match status {
        400 => refused(text),
        409 if taken => refused(text),
        _ => retry(text),
    }
}

fn shortened(mut text: String) -> String {
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
        text.truncate(end);
        text.push('…');
    }
    text
}

/// The status that the engine answered with.
pub(crate) fn status_of(error: &Error) -> Option<u16> {
    match error {
        Error::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engines_words_are_kept_and_sorted_by_what_helps() {
        let kind = |status, message: &str| answered("create", status, message).kind;
        assert_eq!(
            kind(409, "The container name \"/x\" is already in use by container \"ab\""),
            TroubleKind::Refused
        );
        assert_eq!(kind(400, "invalid mount config"), TroubleKind::Refused);
        assert_eq!(kind(409, "removal of container ab is already in progress"), TroubleKind::Retry);
        assert_eq!(kind(500, "driver failed"), TroubleKind::Retry);
        assert_eq!(answered("start", 500, "driver failed\n").text, "start: driver failed");
        assert_eq!(answered("start", 500, "").text, "start: status 500");
        let long = retry("ä".repeat(2000));
        assert!(long.text.len() <= LONGEST + '…'.len_utf8() && long.text.ends_with('…'));
    }
}
