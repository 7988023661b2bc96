//! Waiting for a rollout: how far it is in words, and the exit code of how it ended.

use std::time::Duration;

use api::assignments::{Assignment, Pause, Progress};
use api::{Client, ClientError};
use tokio::time::Instant;

use super::progress::Shown;
use crate::cli::{Format, Waiting};
use crate::failure::{Failure, Kind};
use crate::output::{self, safe};

/// How often a rollout is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// How long to wait; `None`: not at all.
pub(super) fn limit(waiting: &Waiting) -> Result<Option<Duration>, Failure> {
    if !waiting.wait {
        return Ok(None);
    }
    duration("timeout", &waiting.timeout).map(Some)
}

/// The duration that a flag gives.
pub(super) fn duration(flag: &str, text: &str) -> Result<Duration, Failure> {
    control_plane::config::parse_duration(text).ok_or_else(|| {
        Failure::usage(format!("--{flag}: {text:?} is no duration, write it as 90s, 15m, 12h or 30d"))
    })
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
    let agent = pause.agent.as_ref().map_or_else(String::new, |uid| {
        let name = pause.agent_name.iter().map(|name| format!("{}, ", safe(name)));
        let host = pause.host.iter().map(|host| format!(" on {}", safe(host)));
        format!(" (agent {}{uid}{})", name.collect::<String>(), host.collect::<String>())
    });
    match pause.text.is_empty() {
        true => format!("{}{agent}", pause.kind),
        false => format!("{}: {}{agent}", pause.kind, safe(&pause.text)),
    }
}

/// Waits until a rollout is over if that was asked for, prints how it is then, and ends as it ended: exit code 5 when
/// it stopped before its end, 6 when the time is over.
pub(super) async fn finish(
    client: &Client,
    format: Format,
    what: &str,
    one: Assignment,
    limit: Option<Duration>,
) -> Result<(), Failure> {
    let (one, what, end) = match limit {
        Some(limit) => {
            let (one, end) = until_over(client, one, Instant::now() + limit).await?;
            let what = format!("is {}", one.state);
            (one, what, end)
        }
        None => (one, what.to_owned(), Ok(())),
    };
    let table = || format!("assignment/{} {what}: {}", one.id, progress(&one));
    output::value(format, &one, table, || vec![one.id.clone()])?;
    end
}

/// Looks until the rollout is over or the time is; the last state that was seen, and how that ends the command.
async fn until_over(
    client: &Client,
    mut one: Assignment,
    until: Instant,
) -> Result<(Assignment, Result<(), Failure>), Failure> {
    let mut shown = Shown::new();
    let line = |one: &Assignment| format!("assignment/{} {}: {}", one.id, one.state, progress(one));
    shown.show(&line(&one));
    loop {
        if let Some(end) = ended(&one) {
            return Ok((one, end));
        }
        if Instant::now() >= until {
            let text = format!("the rollout is not over: {}", progress(&one));
            let failure = Failure::new(Kind::TimedOut, text).hint("It goes on without this command.");
            return Ok((one, Err(failure)));
        }
        tokio::time::sleep(LOOK).await;
        match client.assignment(&one.id).await {
            Ok(answer) => {
                one = answer.value;
                shown.show(&line(&one));
            }
            // A server that is being restarted comes back, and the rollout with it.
            Err(error @ ClientError::Unreachable { .. }) => shown.away(&error.to_string()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// How a rollout that is over ends a command; `None`: it goes on.
fn ended(one: &Assignment) -> Option<Result<(), Failure>> {
    match one.state.as_str() {
        "done" => Some(Ok(())),
        "paused" => {
            let why = one.pause.as_ref().map_or_else(String::new, pause_text);
            let failure = Failure::new(Kind::Partly, format!("the rollout is paused: {why}"));
            let hint = format!(
                "muster assignments agents {} --state failed, then resume, abort or rollback",
                one.id
            );
            Some(Err(failure.hint(hint)))
        }
        "aborted" => Some(Err(Failure::new(Kind::Partly, "the rollout was aborted"))),
        _ => None,
    }
}

/// Waits until an assignment that is being cleared is gone.
pub(super) async fn until_gone(client: &Client, id: &str, limit: Duration) -> Result<(), Failure> {
    let (until, mut shown) = (Instant::now() + limit, Shown::new());
    loop {
        match client.assignment(id).await {
            Err(error) if error.status() == Some(404) => return Ok(()),
            Err(error @ ClientError::Unreachable { .. }) => shown.away(&error.to_string()),
            Err(error) => return Err(error.into()),
            Ok(answer) => {
                let left = answer.value.progress.matched;
                shown.show(&format!("assignment/{id} {}: {left} agents are left", answer.value.state));
            }
        }
        if Instant::now() >= until {
            return Err(Failure::new(Kind::TimedOut, "not all agents have answered")
                .hint("It goes on without this command."));
        }
        tokio::time::sleep(LOOK).await;
    }
}
