//! The demo agent's health: three parts that really look at this machine, so that what the console shows moves.

use std::collections::BTreeMap;

use opamp_proto::wire::ComponentHealth;

use super::agent::now_nanos;

/// Below this share of free memory the part is not healthy.
const LOW_MEMORY_PERCENT: u64 = 3;

/// The health of the agent and of its parts now.
pub(super) fn health(started: u64) -> ComponentHealth {
    let parts: BTreeMap<String, ComponentHealth> = [
        ("input/load".to_owned(), part(started, load())),
        ("input/memory".to_owned(), part(started, memory())),
        ("output/demo".to_owned(), part(started, Ok("keeps everything to itself".to_owned()))),
    ]
    .into_iter()
    .collect();
    let sick: Vec<&str> =
        parts.iter().filter(|(_, part)| !part.healthy).map(|(name, _)| name.as_str()).collect();
    let status =
        if sick.is_empty() { "all parts run".to_owned() } else { format!("{} does not", sick.join(", ")) };
    ComponentHealth {
        component_health_map: parts.clone(),
        ..part(started, if sick.is_empty() { Ok(status) } else { Err(status) })
    }
}

/// A part that runs with a status, or does not for a reason.
fn part(started: u64, state: Result<String, String>) -> ComponentHealth {
    let (healthy, status, last_error) = match state {
        Ok(status) => (true, status, String::new()),
        Err(why) => (false, "degraded".to_owned(), why),
    };
    ComponentHealth {
        healthy,
        status,
        last_error,
        start_time_unix_nano: started,
        status_time_unix_nano: now_nanos(),
        ..Default::default()
    }
}

fn load() -> Result<String, String> {
    let text = read("/proc/loadavg")?;
    let load = text.split(' ').next().unwrap_or_default();
    Ok(format!("load {load}"))
}

fn memory() -> Result<String, String> {
    let text = read("/proc/meminfo")?;
    let field = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    let (total, free) =
        field("MemTotal:").zip(field("MemAvailable:")).ok_or("/proc/meminfo has no totals")?;
    let percent = free * 100 / total.max(1);
    if percent < LOW_MEMORY_PERCENT {
        Err(format!("only {percent} % of memory is free"))
    } else {
        Ok(format!("{percent} % free"))
    }
}

fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))
}
