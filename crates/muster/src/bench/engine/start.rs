//! `muster bench start`: how long it takes from a deployment's request until its container runs, beside `docker run -d`
//! of the same image with the same options on the same engine, in turns.

use std::{
    process::Stdio,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, ensure};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

use super::{
    EngineArgs,
    ground::{Ground, PROJECT},
    options::Copy,
};
use crate::bench::{limits::Limits, server::Server};

/// Nineteen deployments of twenty run within this time, in seconds.
const WITHIN_S: f64 = 2.0;
/// And within so many times what `docker run` takes.
const RATIO: f64 = 1.2;
const PATIENCE: Duration = Duration::from_secs(60);
/// The label of a replica with its service's name.
const SERVICE: &str = "muster.service_name";
/// The label of a container that is the yardstick.
const YARDSTICK: &str = "muster-bench";

pub(super) async fn measured(args: &EngineArgs, times: u32) -> anyhow::Result<Limits> {
    let server = Server::muster(&std::env::current_exe()?, true)?;
    let ground = Ground::start(server, args.docker.clone()).await?;
    let engine = Engine::watch(args)?;
    let measured = turns(args, &ground, engine, times).await;
    let swept = sweep(args).await;
    let (ours, docker) = measured?;
    swept?;
    ground.leave().await?;
    let mut limits = Limits::default();
    let (our, their) = (percentiles(&ours), percentiles(&docker));
    limits.tell("deployments, and as many `docker run -d`", f64::from(times));
    limits.tell("request to container running, p50, s", our.0);
    limits.hold("request to container running, p95, s", our.1, WITHIN_S);
    limits.tell("docker run to container running, p50, s", their.0);
    limits.tell("docker run to container running, p95, s", their.1);
    limits.hold("ratio of the p50", our.0 / their.0, RATIO);
    limits.hold("ratio of the p95", our.1 / their.1, RATIO);
    Ok(limits)
}

/// Seconds of each deployment and of each `docker run`, in turns. Each deployment adds a service to the project; whatever
/// was started goes on running.
async fn turns(
    args: &EngineArgs,
    ground: &Ground,
    mut engine: Engine,
    times: u32,
) -> anyhow::Result<(Vec<f64>, Vec<f64>)> {
    let mut asking = ground.ask().await?;
    let mut compose = "services:\n".to_owned();
    let (mut ours, mut docker, mut copy) = (Vec::new(), Vec::new(), Copy::default());
    for turn in 0..=times {
        let service = format!("s{turn}");
        compose
            .push_str(&format!("  {service}:\n    image: {}\n    command: [sleep, '1000000']\n", args.image));
        let begun = now_ns();
        let id = ground.deploy(&mut asking, &compose).await?;
        let started = engine.started(SERVICE, &service).await?;
        ground.until_done(&mut asking, &id, PATIENCE).await?;
        if turn == 0 {
            // The first makes the project's network too, and says what a replica is started with.
            copy = Copy::of(&inspected(args, &started.id).await?)?;
        } else {
            ours.push(started.after(begun));
        }
        let begun = now_ns();
        run(args, copy.flags(turn), &turn.to_string()).await?;
        let started = engine.started(YARDSTICK, &turn.to_string()).await?;
        if turn > 0 {
            docker.push(started.after(begun));
        }
    }
    Ok((ours, docker))
}

/// A container that the engine says it has started.
struct Started {
    id: String,
    at_ns: u64,
}

impl Started {
    fn after(&self, begun_ns: u64) -> f64 {
        self.at_ns.saturating_sub(begun_ns) as f64 / 1e9
    }
}

/// The engine's events.
struct Engine {
    lines: Lines<BufReader<ChildStdout>>,
    _events: Child,
}

impl Engine {
    fn watch(args: &EngineArgs) -> anyhow::Result<Self> {
        let mut command = docker(args);
        command.args(["events", "--filter", "type=container", "--filter", "event=start"]);
        command.args(["--format", "{{json .}}"]).stdout(Stdio::piped()).kill_on_drop(true);
        let mut events = command.spawn().context("cannot start docker")?;
        let output = events.stdout.take().context("no output")?;
        Ok(Self { lines: BufReader::new(output).lines(), _events: events })
    }

    /// Waits for the start of the container with this label.
    async fn started(&mut self, label: &str, value: &str) -> anyhow::Result<Started> {
        let waiting = async {
            while let Some(line) = self.lines.next_line().await? {
                let event: Value = serde_json::from_str(&line)?;
                let actor = &event["Actor"];
                if actor["Attributes"][label] == value {
                    let id = actor["ID"].as_str().context("an event without a container")?.to_owned();
                    return Ok(Started {
                        id,
                        at_ns: event["timeNano"].as_u64().context("an event without a time")?,
                    });
                }
            }
            anyhow::bail!("the engine's events ended")
        };
        timeout(PATIENCE, waiting)
            .await
            .with_context(|| format!("no container with {label}={value} was started"))?
    }
}

fn docker(args: &EngineArgs) -> Command {
    let mut command = Command::new("docker");
    command.arg("-H").arg(format!("unix://{}", args.docker.display())).stdin(Stdio::null());
    command
}

async fn run(args: &EngineArgs, flags: Vec<String>, turn: &str) -> anyhow::Result<()> {
    let mut command = docker(args);
    command.args(["run", "-d", "--label", &format!("{YARDSTICK}={turn}")]).args(flags);
    good(command.arg(&args.image).args(["sleep", "1000000"])).await.map(drop)
}

async fn inspected(args: &EngineArgs, id: &str) -> anyhow::Result<Value> {
    let output = good(docker(args).args(["inspect", id])).await?;
    let mut all: Value = serde_json::from_slice(&output)?;
    Ok(all[0].take())
}

/// Ends the yardstick's containers.
async fn sweep(args: &EngineArgs) -> anyhow::Result<()> {
    let ids = good(docker(args).args(["ps", "-aq", "--filter", &format!("label={YARDSTICK}")])).await?;
    let ids = String::from_utf8_lossy(&ids).into_owned();
    if ids.trim().is_empty() {
        return Ok(());
    }
    good(docker(args).args(["rm", "-f"]).args(ids.split_whitespace())).await.map(drop)
}

async fn good(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let done = command.output().await.context("cannot start docker")?;
    ensure!(
        done.status.success(),
        "docker: {} (project {PROJECT})",
        String::from_utf8_lossy(&done.stderr).trim()
    );
    Ok(done.stdout)
}

fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// The middle, and what nineteen of twenty stay below.
fn percentiles(values: &[f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = (sorted.len() as f64 * share).ceil() as usize;
        sorted.get(place.saturating_sub(1)).copied().unwrap_or_default()
    };
    (at(0.5), at(0.95))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nineteen_of_twenty_are_at_or_below_the_95th_percentile() {
        let values: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        assert_eq!(percentiles(&values), (10.0, 19.0));
        assert_eq!(percentiles(&[]), (0.0, 0.0));
    }
}
