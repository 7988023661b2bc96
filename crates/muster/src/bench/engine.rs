//! `muster bench reconcile` and `muster bench start`: what the agent of a host costs, and how quickly it starts containers,
//! on this machine's own container engine. Needs root, like every host; tests/lab/bench runs both on a host of the lab.

mod ground;
mod options;
mod proxy;
mod reconcile;
mod start;

use std::{io::Write, path::PathBuf, time::Duration};

/// Where both measure.
#[derive(Debug, clap::Args)]
struct EngineArgs {
    /// The container engine's socket
    #[arg(long, default_value = "/var/run/docker.sock", value_name = "SOCKET")]
    docker: PathBuf,
    /// An image that the engine has, with `sleep` in it
    #[arg(long)]
    image: String,
    /// Only a little of it, to see that everything works; the figures mean nothing
    #[arg(long)]
    quick: bool,
}

/// What to measure.
#[derive(Debug, clap::Args)]
pub(super) struct ReconcileArgs {
    #[command(flatten)]
    engine: EngineArgs,
    /// Replicas that run
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=250))]
    replicas: u32,
    /// Seconds for which nothing happens; a pass begins each 30
    #[arg(long, default_value_t = 310, value_parser = clap::value_parser!(u32).range(31..=3_600))]
    seconds: u32,
}

/// What to measure.
#[derive(Debug, clap::Args)]
pub(super) struct StartArgs {
    #[command(flatten)]
    engine: EngineArgs,
    /// Deployments, each beside a `docker run -d`
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=100))]
    times: u32,
}

/// Measures and prints a table. Missed limits are printed, not failed.
pub(super) fn reconcile(args: &ReconcileArgs) -> anyhow::Result<()> {
    let (replicas, seconds) = if args.engine.quick { (3, 31) } else { (args.replicas, args.seconds) };
    let window = Duration::from_secs(seconds.into());
    let limits = runtime()?.block_on(reconcile::measured(&args.engine, replicas, window))?;
    let title = format!("an agent with {replicas} replicas and nothing to do");
    write!(std::io::stdout(), "{}", limits.table(&title, args.engine.quick))?;
    Ok(())
}

/// Measures and prints a table. Missed limits are printed, not failed.
pub(super) fn start(args: &StartArgs) -> anyhow::Result<()> {
    let times = if args.engine.quick { 2 } else { args.times };
    let limits = runtime()?.block_on(start::measured(&args.engine, times))?;
    write!(std::io::stdout(), "{}", limits.table("starting a container", args.engine.quick))?;
    Ok(())
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}
