//! A closer look at one container: when it was started, how it ended, what it printed last. It costs a call each, so it is
//! taken when the list shows a change, and never of a container that goes on as it was.

use std::time::Duration;

use bollard::models::{ContainerInspectResponse, ContainerStateStatusEnum, HealthStatusEnum};
use bollard::query_parameters::InspectContainerOptions;
use host_proto::report::HealthState;
use reconcile::{Container, ContainerState, Details, Trouble};

use super::Engine;
use super::trouble::within;

const LIMIT: Duration = Duration::from_secs(10);
/// Lines that are shown of a container that failed.
const LAST_LINES: usize = 10;
/// Longest of them that is shown, in characters.
const LINE_CHARS: usize = 500;

impl Engine {
    /// Looks at a container closely: what the list does not show, and its health when it runs. Its last lines are read
    /// when it failed.
    pub(crate) async fn details(
        &self,
        container: &Container,
    ) -> Result<(Details, Option<HealthState>), Trouble> {
        let call = self.docker.inspect_container(&container.id, None::<InspectContainerOptions>);
        let found = within(LIMIT, "inspect", call).await?;
        let runs = running(&found);
        let mut details = details(found);
        if failed(container, &details) {
            let lines = self.last_lines(&container.id, LAST_LINES).await.unwrap_or_default();
            details.last_log_lines =
                lines.iter().map(|line| line.chars().take(LINE_CHARS).collect()).collect();
        }
        Ok((details, runs))
    }
}

/// The health of a container that runs.
fn running(found: &ContainerInspectResponse) -> Option<HealthState> {
    let state = found.state.as_ref()?;
    let runs = state.status == Some(ContainerStateStatusEnum::RUNNING);
    let said = state.health.as_ref().and_then(|health| health.status);
    let health = match said {
        Some(HealthStatusEnum::STARTING) => HealthState::Starting,
        Some(HealthStatusEnum::HEALTHY) => HealthState::Healthy,
        Some(HealthStatusEnum::UNHEALTHY) => HealthState::Unhealthy,
        Some(HealthStatusEnum::NONE | HealthStatusEnum::EMPTY) | None => HealthState::None,
    };
    runs.then_some(health)
}

fn failed(container: &Container, details: &Details) -> bool {
    let ended = matches!(
        container.state,
        ContainerState::Exited | ContainerState::Restarting | ContainerState::Dead | ContainerState::Created
    );
    let badly =
        details.exit_code.is_some_and(|code| code != 0) || details.error.is_some() || details.oom_killed;
    (ended && badly) || details.restarts > 0 || container.health == HealthState::Unhealthy
}

fn details(found: ContainerInspectResponse) -> Details {
    let state = found.state.unwrap_or_default();
    let never = |time: &String| time.starts_with("0001-");
    // One that is started again and again "runs" for the engine also while it waits for its turn.
    let running = state.running.unwrap_or_default() && !state.restarting.unwrap_or_default();
    let check = state.health.and_then(|health| {
        let last = health.log?.pop()?;
        let output = last.output.unwrap_or_default();
        let failed = last.exit_code.is_some_and(|code| code != 0);
        failed.then(|| format!("health check: {}", output.trim()))
    });
    Details {
        started_at: state.started_at.filter(|time| !never(time)),
        exit_code: state.exit_code.filter(|_| !running),
        oom_killed: state.oom_killed.unwrap_or_default(),
        error: state.error.filter(|error| !error.is_empty()).or(check),
        restarts: found.restart_count.and_then(|count| u64::try_from(count).ok()).unwrap_or_default(),
        pid: state.pid.and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid != 0),
        last_log_lines: Vec::new(),
    }
}
