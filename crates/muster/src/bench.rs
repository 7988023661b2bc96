//! `muster bench`: puts the load of many agents on an OpAMP server and measures what the server pays for it. `compare`
//! measures Muster beside a small server on opamp-go. What the figures mean: docs/guide/benchmarks.md.
//!
//! Reading order: `measure` (what is measured), `load` (what the agents do), `agent`, `message`; then `compare`, `table`. Of
//! hosts: `hosts` (simulated ones on one server), `engine` (one agent on a real container engine).

mod agent;
mod answer;
mod api;
mod commits;
mod compare;
mod engine;
mod hosts;
mod inventory;
mod limits;
mod load;
mod measure;
mod message;
mod process;
mod push;
mod server;
mod stream;
mod table;
mod target;

use std::{io::Write, path::PathBuf, time::Duration};

use anyhow::Context;

use api::Api;
use measure::{Figures, Mode, Plan};
use process::Process;
use server::Server;
use target::Target;

/// Measure what agents cost a server
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Put one kind of load on a server; without --url on one that is started for it
    Load(LoadArgs),
    /// Measure Muster beside another server, in turns, and print a table
    Compare(compare::CompareArgs),
    /// Bring up a server with simulated hosts and measure what a host costs it
    Hosts(hosts::HostsArgs),
    /// Run replicas on this machine's engine and measure what an agent costs that has nothing to do
    Reconcile(engine::ReconcileArgs),
    /// Measure how long it takes until a deployment runs on this machine's engine, beside docker run
    Start(engine::StartArgs),
    /// Become a program that ends with this benchmark
    #[command(hide = true)]
    Held(process::HeldArgs),
}

/// One kind of load.
#[derive(Debug, clap::Args)]
struct LoadArgs {
    #[arg(value_enum)]
    mode: Mode,
    /// OpAMP endpoint of the server (http, https, ws or wss); a `muster server` is started if absent
    #[arg(long)]
    url: Option<String>,
    /// Process id of the server, to measure its processor time and memory
    #[arg(long, requires = "url")]
    pid: Option<u32>,
    /// Enrolment token, sent as `Authorization: Bearer`
    #[arg(long, requires = "url", env = "MUSTER_BENCH_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// PEM file with the authority that signed the server's certificate
    #[arg(long, requires = "url")]
    ca_file: Option<PathBuf>,
    /// URL of Muster's console, to measure how quickly the API answers meanwhile
    #[arg(long, requires = "url", requires = "api_password")]
    api_url: Option<String>,
    /// Password of the user `admin`
    #[arg(long, env = "MUSTER_BENCH_PASSWORD", hide_env_values = true)]
    api_password: Option<String>,
    /// Where the yardstick is told to push a configuration to all of its agents
    #[arg(long, requires = "url")]
    push_url: Option<String>,
    /// Start the server with TLS
    #[arg(long, conflicts_with = "url")]
    tls: bool,
    /// Agents at the same time [default: by mode: idle 5000, fleet 15000, push 8000, inventory 100000, joins 64, else 256]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    agents: Option<u32>,
    /// Seconds of load [default: 5, fleet 60]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    seconds: Option<u32>,
    /// Seconds between two heartbeats of an agent of the fleet
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    interval: u32,
    /// Threads of the load generator; one leaves most of a small machine to the server
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: u16,
    /// Permit a target that is not on this machine. Only for servers of your own
    #[arg(long)]
    yes: bool,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

/// Runs `muster bench`. Fails if the load cannot be put on the server, or if the server answered wrongly.
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    match args.command {
        Command::Load(args) => load(args),
        Command::Compare(args) => compare::run(args),
        Command::Hosts(args) => hosts::run(&args),
        Command::Reconcile(args) => engine::reconcile(&args),
        Command::Start(args) => engine::start(&args),
        Command::Held(args) => process::become_held(&args),
    }
}

fn load(args: LoadArgs) -> anyhow::Result<()> {
    let runtime = if args.threads > 1 {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(args.threads.into())
            .enable_all()
            .build()?
    } else {
        tokio::runtime::Builder::new_current_thread().enable_all().build()?
    };
    let figures = runtime.block_on(measured(&args))?;
    let text =
        if args.json { serde_json::to_string(&figures)? } else { table::sentences(args.mode, &figures) };
    writeln!(std::io::stdout(), "{text}")?;
    // With --json the reader decides.
    match &figures.first_error {
        Some(first) if !args.json => {
            anyhow::bail!("{} answers were wrong or missing, the first: {first}", figures.errors)
        }
        _ => Ok(()),
    }
}

async fn measured(args: &LoadArgs) -> anyhow::Result<Figures> {
    let started = match args.url {
        Some(_) => None,
        None => Some(Server::muster(&std::env::current_exe()?, args.tls)?),
    };
    let (target, pid, api) = match (&started, &args.url) {
        (Some(server), _) => {
            let target = Target::new(&server.opamp, server.token.as_deref(), server.ca.as_deref(), false)?;
            let api = match &server.api {
                Some((console, password)) => {
                    Some(Api::log_in(console, password, server.ca.as_deref()).await?)
                }
                None => None,
            };
            (target, Some(server.pid()), api)
        }
        (None, url) => {
            let url = url.as_deref().context("no server to put the load on")?;
            let target = Target::new(url, args.token.as_deref(), args.ca_file.as_deref(), args.yes)?;
            let api = match (&args.api_url, &args.api_password) {
                (Some(console), Some(password)) => {
                    Some(Api::log_in(console, password, args.ca_file.as_deref()).await?)
                }
                _ => None,
            };
            (target, args.pid, api)
        }
    };
    let plan = Plan {
        mode: args.mode,
        target,
        agents: args.agents.map_or_else(|| args.mode.agents(), |agents| agents as usize),
        seconds: args.seconds.map_or_else(|| args.mode.seconds(), f64::from),
        interval: Duration::from_secs(args.interval.into()),
        server: pid.map(Process::new).transpose()?,
        api,
        control: match &args.push_url {
            Some(url) => Some(Target::new(url, None, None, args.yes)?),
            None => None,
        },
    };
    measure::run(plan).await
}
