//! Waiting for a rollout: how far it is in words, and the exit code of how it ended.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use api::Client;
use api::assignments::{Assignment, Pause, Progress};
use tokio::time::Instant;

use crate::cli::Waiting;
use crate::failure::{Code, Failure};
use crate::output::safe;

/// How often a rollout is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// How long to wait; `None`: not at all.
pub(super) fn limit(waiting: &Waiting) -> Result<Option<Duration>, Failure> {
    if !waiting.wait {
        return Ok(None);
    }
    let limit = control_plane::config::parse_duration(&waiting.timeout);
    let wrong = || {
        let text = &waiting.timeout;
        Failure::usage(format!("--timeout: {text:?} is no duration, write it as 90s, 15m, 12h or 30d"))
    };
    limit.map(Some).ok_or_else(wrong)
}

/// How far a rollout is, in one line.
pub(super) fn progress(one: &Assignment) -> String {
    let Progress { eligible, released, applied, applying, failed, waiting, offline, .. } = one.progress;
    format!(
        "{applied} of {eligible} agents applied revision {}, {released} released, {applying} applying, {failed} failed, \
         {waiting} waiting, {offline} offline",
        one.revision
    )
}

/// Why a rollout waits, in one line.
pub(super) fn pause_text(pause: &Pause) -> String {
    let agent = pause.agent.as_ref().map_or_else(String::new, |uid| format!(" (agent {uid})"));
    match pause.text.is_empty() {
        true => format!("{}{agent}", pause.kind),
        false => format!("{}: {}{agent}", pause.kind, safe(&pause.text)),
    }
}

/// Waits until a rollout is over. Exit code 5 when it stopped before its end, 6 when the time is over.
pub(super) async fn wait(client: &Client, id: &str, limit: Option<Duration>) -> Result<(), Failure> {
    let Some(limit) = limit else { return Ok(()) };
    let (end, mut shown) = (Instant::now() + limit, Shown::new());
    loop {
        let one = client.assignment(id).await?.value;
        shown.show(&format!("{}: {}", one.state, progress(&one)));
        match one.state.as_str() {
            "done" => return Ok(()),
            "paused" => {
                let why = one.pause.as_ref().map_or_else(String::new, pause_text);
                let failure = Failure::new(Code::Partly, format!("the rollout is paused: {why}"));
                let hint =
                    format!("muster assignments agents {id} --state failed, then resume, abort or rollback");
                return Err(failure.hint(hint));
            }
            "aborted" => return Err(Failure::new(Code::Partly, "the rollout was aborted")),
            _ if Instant::now() >= end => {
                let text = format!("the rollout is not over: {}", progress(&one));
                return Err(Failure::new(Code::TimedOut, text).hint("It goes on without this command."));
            }
            _ => tokio::time::sleep(LOOK).await,
        }
    }
}

/// Progress on standard error: one line that changes on a terminal, a line for each change elsewhere.
struct Shown {
    last: String,
    on_terminal: bool,
}

impl Shown {
    fn new() -> Self {
        Self { last: String::new(), on_terminal: io::stderr().is_terminal() }
    }

    fn show(&mut self, text: &str) {
        if self.last == text {
            return;
        }
        let mut err = io::stderr().lock();
        // Nobody is told when standard error is closed; the exit code says how it ended.
        let _ = match self.on_terminal {
            true => write!(err, "\r\u{1b}[K{text}").and_then(|()| err.flush()),
            false => writeln!(err, "{text}"),
        };
        text.clone_into(&mut self.last);
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if self.on_terminal && !self.last.is_empty() {
            let _ = writeln!(io::stderr());
        }
    }
}
