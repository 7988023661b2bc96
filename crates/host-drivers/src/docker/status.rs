//! The `Status` text of a container list. It is meant for people, and it is the one place where a list says how a container
//! ended and, up to API 1.51, how its health is: reading it saves a closer look at every container in every pass.

use host_proto::report::HealthState;

/// The exit code in `Exited (137) 2 hours ago` or `Restarting (1) 3 seconds ago`.
pub(crate) fn exit_code(status: &str) -> Option<i64> {
    let rest = status.strip_prefix("Exited (").or_else(|| status.strip_prefix("Restarting ("))?;
    rest.split_once(')')?.0.parse().ok()
}

/// The health in `Up 5 minutes (healthy)`; `None` (nothing is asked) when there is none.
pub(crate) fn health(status: &str) -> HealthState {
    let Some((_, rest)) = status.rsplit_once(" (") else { return HealthState::None };
    match rest {
        "healthy)" => HealthState::Healthy,
        "unhealthy)" => HealthState::Unhealthy,
        "health: starting)" => HealthState::Starting,
        _ => HealthState::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_how_it_ended_and_how_it_is() {
        assert_eq!(exit_code("Exited (137) 2 hours ago"), Some(137));
        assert_eq!(exit_code("Restarting (1) Less than a second ago"), Some(1));
        assert_eq!(exit_code("Up 5 minutes"), None);
        assert_eq!(exit_code("Exited (x) ago"), None);
        assert_eq!(health("Up 5 minutes (healthy)"), HealthState::Healthy);
        assert_eq!(health("Up 5 minutes (unhealthy)"), HealthState::Unhealthy);
        assert_eq!(health("Up 1 second (health: starting)"), HealthState::Starting);
        assert_eq!(health("Up 5 minutes (Paused)"), HealthState::None);
        assert_eq!(health("Up 5 minutes"), HealthState::None);
    }
}
