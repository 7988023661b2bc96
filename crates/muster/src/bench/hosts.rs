//! `muster bench hosts`: a server with a thousand simulated hosts on it. What a host costs while nothing happens, how long
//! it takes until all have joined, what a deployment on each costs, and how long until all know what concerns them all.

mod line;
mod machine;
mod sim;

use std::{
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, ensure};
use host_proto::{
    join::{CONNECT_PATH, JOIN_PATH, JoinAnswer},
    limits::METRICS_EVERY,
};
use serde_json::{Value, json};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    api::{Api, Connection},
    commits::Commits,
    limits::Limits,
    process::{Process, reserve_descriptors},
    server::Server,
    target::Target,
};
use sim::{Seen, SimHost};

/// Joins at the same time; the server takes no more than thirty that it does not know the end of.
const JOINING: usize = 16;
/// Come and go before memory is looked at.
const WARM_UP: usize = 32;
const CALM: Duration = Duration::from_millis(1_200);
const CALM_LIMIT: Duration = Duration::from_secs(20);
const KNOWN_WITHIN: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(5);
/// Connections on which projects are deployed.
const DEPLOYING: usize = 4;
const COMPOSE: &str = "services: {web: {image: 'bench/web:1', environment: {A: b}}}\n";

/// What docs/guide/benchmarks.md gives the reasons for.
mod most {
    /// Bytes of a connected host.
    pub(super) const BYTES: f64 = 32.0 * 1024.0;
    /// Milliseconds of processor time for a host in a minute.
    pub(super) const CPU_MS: f64 = 2.0;
    /// Transactions in a minute, of all hosts together.
    pub(super) const COMMITS: f64 = 10.0;
    /// Milliseconds of processor time to take in a host.
    pub(super) const JOIN_MS: f64 = 10.0;
    /// Milliseconds of processor time for a deployment on one host, until it is over.
    pub(super) const DEPLOY_MS: f64 = 50.0;
    /// Seconds until all thousand know.
    pub(super) const PUSH_S: f64 = 10.0;
}

/// What to measure.
#[derive(Debug, clap::Args)]
pub(super) struct HostsArgs {
    /// Simulated hosts, and as many projects
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    hosts: u16,
    /// Seconds for which nothing happens
    #[arg(long, default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    seconds: u32,
    /// A few hosts for a moment, to see that everything works; the figures mean nothing
    #[arg(long)]
    quick: bool,
}

/// Measures and prints a table. Missed limits are printed, not failed; a host that is sent away fails.
pub(super) fn run(args: &HostsArgs) -> anyhow::Result<()> {
    let (hosts, seconds) = if args.quick { (20, 2) } else { (args.hosts.into(), args.seconds) };
    reserve_descriptors(hosts + WARM_UP)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let limits = runtime.block_on(measured(hosts, Duration::from_secs(seconds.into())))?;
    write!(std::io::stdout(), "{}", limits.table(&format!("{hosts} hosts"), args.quick))?;
    Ok(())
}

async fn measured(hosts: usize, idle: Duration) -> anyhow::Result<Limits> {
    let server = Server::muster(&std::env::current_exe()?, true)?;
    let (console, password) = server.api.as_ref().context("the server has no API")?;
    let api = Api::log_in(console, password, server.ca.as_deref()).await?;
    let target = Target::new(console, None, server.ca.as_deref(), false)?;
    let bench = Bench {
        process: Process::new(server.pid())?,
        commits: Commits::of(&server.data())?,
        api,
        target,
        seen: Arc::default(),
    };
    let mut limits = Limits::default();
    bench.warm_up().await?;
    let mut fleet = bench.joins(hosts, &mut limits).await?;
    bench.deploys(hosts, &mut limits).await?;
    bench.pushes(hosts, &mut limits).await?;
    bench.idles(hosts, idle, &mut limits).await?;
    match fleet.iter_mut().find_map(JoinSet::try_join_next) {
        Some(ended) => Err(ended?.context("a host did not stay connected")),
        None => Ok(limits),
    }
}

/// Connected hosts, until they are dropped; those that ended say why.
type Fleet = Vec<JoinSet<anyhow::Error>>;

/// A server and what is known of it.
struct Bench {
    process: Process,
    commits: Commits,
    api: Api,
    target: Target,
    seen: Arc<Seen>,
}

impl Bench {
    async fn rest(&self) -> anyhow::Result<()> {
        self.process.quiet(CALM, CALM_LIMIT).await
    }

    async fn ask(&self) -> anyhow::Result<Connection> {
        Connection::open(self.api.target().clone()).await
    }

    /// Time and memory for all to join.
    async fn joins(&self, hosts: usize, limits: &mut Limits) -> anyhow::Result<Fleet> {
        let tokens = self.tokens("host", hosts).await?;
        self.rest().await?;
        let (resident, cpu, begun) = (self.process.resident()?, self.process.cpu()?, Instant::now());
        let fleet = self.join_with(tokens).await?;
        let took = begun.elapsed();
        self.rest().await?;
        let cpu = millis(self.process.cpu()?.saturating_sub(cpu)) / hosts as f64;
        let resident = self.process.resident()? as f64 - resident as f64;
        limits.hold("resident bytes per connected host, TLS", resident / hosts as f64, most::BYTES);
        limits.tell("seconds until all have joined, are connected and know their state", took.as_secs_f64());
        limits.hold("processor time to take in a host, ms", cpu, most::JOIN_MS);
        Ok(fleet)
    }

    /// As many deployments as there are hosts, of one replica each: a project stays on the host that it began on.
    async fn deploys(&self, hosts: usize, limits: &mut Limits) -> anyhow::Result<()> {
        let (cpu, commits, begun) = (self.process.cpu()?, self.commits.count()?, Instant::now());
        let mut asking = JoinSet::new();
        for first in 0..DEPLOYING {
            let mut api = self.ask().await?;
            asking.spawn(async move {
                let mut last = None;
                for number in (first..hosts).step_by(DEPLOYING) {
                    last = Some(api.deploy(&format!("bench-{number}"), COMPOSE).await?);
                }
                anyhow::Ok((api, last))
            });
        }
        let mut last = Vec::new();
        while let Some(asked) = asking.join_next().await {
            last.push(asked??);
        }
        wait_for("deployments", &self.seen.replicas, hosts as u64).await?;
        let took = begun.elapsed();
        // Each is over when its replica has run for a while, so those that were begun last are over last.
        for (mut api, id) in last {
            if let Some(id) = id {
                api.until_done(&id, KNOWN_WITHIN).await?;
            }
        }
        self.rest().await?;
        let cpu = millis(self.process.cpu()?.saturating_sub(cpu)) / hosts as f64;
        let commits = self.commits.count()?.wrapping_sub(commits);
        limits.tell(
            format!(
                "seconds for {hosts} deployments, one after the other on each of {DEPLOYING} connections"
            ),
            took.as_secs_f64(),
        );
        limits.hold("processor time of a deployment, ms", cpu, most::DEPLOY_MS);
        limits.tell("transactions of a deployment", f64::from(commits) / hosts as f64);
        Ok(())
    }

    /// Something that every host must know: a credential for the registry of its image.
    async fn pushes(&self, hosts: usize, limits: &mut Limits) -> anyhow::Result<()> {
        let mut api = self.ask().await?;
        let goal = self.seen.states.load(Ordering::Relaxed) + hosts as u64;
        let (cpu, begun) = (self.process.cpu()?, Instant::now());
        let body = json!({ "registry": "docker.io", "username": "bench", "password": "of the bench" });
        api.call("PUT", "/api/v1/registries", body).await?;
        wait_for("states", &self.seen.states, goal).await?;
        let took = begun.elapsed();
        self.rest().await?;
        let cpu = millis(self.process.cpu()?.saturating_sub(cpu)) / hosts as f64;
        limits.hold("seconds until every host knows a new credential", took.as_secs_f64(), most::PUSH_S);
        limits.tell("processor time of a push to one host, ms", cpu);
        Ok(())
    }

    /// Nothing happens: pings each 20 s from both sides, figures each 30 s.
    async fn idles(&self, hosts: usize, idle: Duration, limits: &mut Limits) -> anyhow::Result<()> {
        let (cpu, commits) = (self.process.cpu()?, self.commits.count()?);
        sleep(idle).await;
        let minutes = idle.as_secs_f64() / 60.0;
        let cpu = millis(self.process.cpu()?.saturating_sub(cpu)) / hosts as f64 / minutes;
        let commits = f64::from(self.commits.count()?.wrapping_sub(commits)) / minutes;
        limits.hold("processor time per idle host and minute, ms", cpu, most::CPU_MS);
        limits.hold("transactions per minute, all idle hosts together", commits, most::COMMITS);
        Ok(())
    }

    /// A few hosts come, go and are forgotten, so that what a server takes once for all is no price of a host.
    async fn warm_up(&self) -> anyhow::Result<()> {
        let tokens = self.tokens("early", WARM_UP).await?;
        drop(self.join_with(tokens).await?);
        let mut api = self.ask().await?;
        let known = api.call("GET", "/api/v1/hosts", Value::Null).await?;
        for host in known["items"].as_array().into_iter().flatten() {
            let name = host["name"].as_str().context("a host without a name")?;
            api.call("DELETE", &format!("/api/v1/hosts/{name}"), Value::Null).await?;
        }
        self.rest().await
    }

    /// Names, each with a token to join by.
    async fn tokens(&self, name: &str, count: usize) -> anyhow::Result<Vec<(String, String)>> {
        let mut api = self.ask().await?;
        let mut tokens = Vec::with_capacity(count);
        for number in 0..count {
            let name = format!("{name}-{number:04}");
            let made = api.call("POST", "/api/v1/join-tokens", json!({ "host_name": name })).await?;
            let token = made["token"].as_str().context("a join token without its text")?;
            tokens.push((name, token.to_owned()));
        }
        Ok(tokens)
    }

    /// Joins and connects them all. Any failure ends the run: fewer hosts would be a wrong figure.
    async fn join_with(&self, tokens: Vec<(String, String)>) -> anyhow::Result<Fleet> {
        let total = tokens.len().max(1) as u32;
        let queue = Arc::new(std::sync::Mutex::new(tokens.into_iter().enumerate().collect::<Vec<_>>()));
        let mut workers: JoinSet<anyhow::Result<JoinSet<anyhow::Error>>> = JoinSet::new();
        for _ in 0..JOINING {
            let (queue, target, seen) = (queue.clone(), self.target.clone(), self.seen.clone());
            workers.spawn(async move {
                let mut living = JoinSet::new();
                loop {
                    let next = queue.lock().ok().and_then(|mut queue| queue.pop());
                    let Some((index, (name, token))) = next else { return Ok(living) };
                    // Figures come evenly, as those of hosts that were started at any time.
                    let offset = METRICS_EVERY * (index as u32 + 1) / total;
                    let host = one(&target, &name, &token, seen.clone(), offset).await?;
                    living.spawn(host.live());
                }
            });
        }
        let mut fleet = Fleet::new();
        while let Some(living) = workers.join_next().await {
            fleet.push(living??);
        }
        Ok(fleet)
    }
}

async fn one(
    target: &Target,
    name: &str,
    token: &str,
    seen: Arc<Seen>,
    offset: Duration,
) -> anyhow::Result<SimHost> {
    let request = serde_json::to_string(&machine::join(name, token))?;
    let answer = Connection::open(target.clone()).await?.request("POST", JOIN_PATH, &request).await?;
    let joined: JoinAnswer = serde_json::from_slice(&answer)?;
    let target = target.as_host(CONNECT_PATH, joined.host_token.expose());
    SimHost::connect(&target, machine::hello(name), seen, offset).await
}

async fn wait_for(what: &str, count: &AtomicU64, goal: u64) -> anyhow::Result<()> {
    let end = Instant::now() + KNOWN_WITHIN;
    loop {
        let now = count.load(Ordering::Relaxed);
        if now >= goal {
            return Ok(());
        }
        ensure!(Instant::now() < end, "hosts know of {now} {what}, {goal} are expected");
        sleep(LOOK).await;
    }
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
