//! Does a replica work? What its host says of it, over time, becomes: not yet, ready, or failed with a reason that a
//! person can act on.

use host_proto::report::{HealthState, ReplicaReport, ReplicaState};
use model::UnixMillis;
use model::hosting::{Phase, Release, Replica};

/// A replica without a check is ready when it has run for so long: one that ends at once is not.
pub const SETTLE_MS: u64 = 3_000;
/// A container that cannot be made or started has failed after so long: some reasons pass by themselves.
pub const GIVE_UP_MS: u64 = 8_000;
/// So many restarts in its first life are a failure.
pub const RESTARTS: u64 = 3;
/// A new replica may take so long at least.
pub const PATIENCE_MS: u64 = 60_000;

/// What is known about a replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Not known yet; look again then at the latest.
    NotYet {
        /// When.
        look_at: UnixMillis,
    },
    /// It works.
    Ready,
    /// It does not, for this reason.
    Failed(String),
}

/// How long a new replica of a release may take until it is ready.
pub fn deadline_ms(release: &Release) -> u64 {
    release.spec.update.deadline_ms.unwrap_or_else(|| {
        let check = release.spec.container.health.as_ref().map_or(0, model::service::Health::patience_ms);
        // A pull comes first.
        check.saturating_add(30_000).max(PATIENCE_MS)
    })
}

/// Judges a replica that is starting.
pub fn judge(replica: &Replica, release: &Release, now: UnixMillis) -> Verdict {
    let deadline = later(replica.phase_since, deadline_ms(release));
    let Some(report) = &replica.report else {
        return until(deadline, now, || "its host did not say that it began".to_owned());
    };
    let since = replica.reported_since.unwrap_or(replica.phase_since);
    match report.state {
        ReplicaState::Running => match report.health {
            HealthState::Healthy => Verdict::Ready,
            HealthState::None => {
                let settled = later(since, SETTLE_MS);
                if now >= settled { Verdict::Ready } else { Verdict::NotYet { look_at: settled } }
            }
            HealthState::Starting | HealthState::Unhealthy | HealthState::Unknown => {
                until(deadline, now, || not_in_time(report))
            }
        },
        ReplicaState::Unhealthy => {
            let why = words(report, "its health check fails");
            Verdict::Failed(with_lines(format!("it is unhealthy: {why}"), report))
        }
        ReplicaState::Failed => {
            let over = later(since, GIVE_UP_MS);
            let why = || with_lines(words(report, "it cannot be started"), report);
            until(over.min(deadline), now, why)
        }
        ReplicaState::Exited | ReplicaState::Restarting if report.restarts >= RESTARTS => {
            Verdict::Failed(with_lines(ended(report), report))
        }
        ReplicaState::Exited => {
            // The engine starts it again unless it was told not to; then nothing comes any more.
            let over = later(since, GIVE_UP_MS);
            until(over.min(deadline), now, || with_lines(ended(report), report))
        }
        ReplicaState::Held => until(deadline, now, || {
            let held = report.held_reason.as_deref().unwrap_or("something else");
            format!("it could not begin in time: {held}")
        }),
        ReplicaState::Creating
        | ReplicaState::Starting
        | ReplicaState::Restarting
        | ReplicaState::Stuck
        | ReplicaState::Removing
        | ReplicaState::Removed
        | ReplicaState::Unknown => until(deadline, now, || not_in_time(report)),
    }
}

/// Judges a replica that is being prepared: it is ready when its container is made, and then waits for as long as the one
/// before needs.
pub fn judge_prepared(replica: &Replica, release: &Release, now: UnixMillis) -> Verdict {
    let made = replica.is_made() && replica.state() != ReplicaState::Failed;
    if made { Verdict::Ready } else { judge(replica, release, now) }
}

/// Whether names and ports may lead to a replica now.
pub fn takes_traffic(replica: &Replica) -> bool {
    replica.phase == Phase::Serving && replica.is_ready()
}

fn until(deadline: UnixMillis, now: UnixMillis, why: impl FnOnce() -> String) -> Verdict {
    if now >= deadline { Verdict::Failed(why()) } else { Verdict::NotYet { look_at: deadline } }
}

fn later(then: UnixMillis, by_ms: u64) -> UnixMillis {
    UnixMillis(then.0.saturating_add(i64::try_from(by_ms).unwrap_or(i64::MAX)))
}

fn not_in_time(report: &ReplicaReport) -> String {
    let text = match report.state {
        ReplicaState::Creating => "its container was not made in time; the image may still be on its way",
        _ => "it was not healthy in time",
    };
    with_lines(words(report, text), report)
}

fn words(report: &ReplicaReport, otherwise: &str) -> String {
    match &report.last_error {
        Some(error) => error.clone(),
        None => otherwise.to_owned(),
    }
}

fn ended(report: &ReplicaReport) -> String {
    let mut text = if report.oom_killed {
        "it used more memory than it may and was killed".to_owned()
    } else {
        match report.exit_code {
            Some(code) => format!("it ended with exit code {code}"),
            None => "it ended".to_owned(),
        }
    };
    if report.restarts > 0 {
        text.push_str(&format!(" after {} restarts", report.restarts));
    }
    text
}

/// The reason with what the container printed last, one line each.
fn with_lines(text: String, report: &ReplicaReport) -> String {
    let mut text = text;
    for line in &report.last_log_lines {
        text.push_str("\n  ");
        text.push_str(line);
    }
    text
}
