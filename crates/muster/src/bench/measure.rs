//! Puts a load on a server and measures what the server pays: processor time and resident memory from the system.
//! A window of measurement ends only when the server has come to rest, so that work put off (storage) is counted.

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep_until};

use super::{
    agent::Transport,
    api::{Answers, Api, Latency},
    inventory,
    load::{self, Counts},
    message::Kind,
    process::{Process, own_cpu, reserve_descriptors},
    push::Pusher,
    target::Target,
};

/// The kinds of load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Mode {
    /// Agents connect, report and then say nothing: resident bytes per agent
    Idle,
    /// Each agent sends a changed status of 456 bytes as soon as the last one is answered
    Status,
    /// The same with heartbeats
    Heartbeat,
    /// The same statuses over HTTP with keep-alive
    Http,
    /// HTTP from agents that accept compressed answers
    HttpGzip,
    /// New agents connect, report in full, are answered and leave
    Joins,
    /// Idle agents with a heartbeat per interval, spread evenly; resident bytes per agent too
    Fleet,
    /// Every agent is offered a new configuration, again and again, and answers that it applied it
    Push,
    /// A hundred thousand agents are known: how quickly the API answers
    Inventory,
}

impl Mode {
    /// How many agents make a sensible load of this kind.
    pub(super) fn agents(self) -> usize {
        match self {
            Self::Idle => 5_000,
            Self::Fleet => 15_000,
            Self::Joins => 64,
            Self::Push => 8_000,
            Self::Inventory => 100_000,
            _ => 256,
        }
    }

    /// How long a window must be to say something, in seconds.
    pub(super) fn seconds(self) -> f64 {
        if self == Self::Fleet { 60.0 } else { 5.0 }
    }
}

/// One run.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) mode: Mode,
    pub(super) target: Target,
    pub(super) agents: usize,
    pub(super) seconds: f64,
    /// Between two heartbeats of an agent of the fleet.
    pub(super) interval: Duration,
    /// The server, if it runs here and is to be measured.
    pub(super) server: Option<Process>,
    /// Where to measure how quickly operators are answered meanwhile.
    pub(super) api: Option<Api>,
    /// Where the yardstick is told to push.
    pub(super) control: Option<Target>,
}

/// What a run found. Times are in seconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Figures {
    pub(super) agents: usize,
    /// Messages or joins answered as they should be, in the window.
    pub(super) done: u64,
    pub(super) errors: u64,
    pub(super) first_error: Option<String>,
    /// Length of the window in which load was offered.
    pub(super) window: f64,
    /// The server's processor time from the window's start until it had come to rest.
    pub(super) server_cpu: Option<f64>,
    /// The part of it that was used before the load ended.
    pub(super) server_cpu_in_window: Option<f64>,
    /// The kernel's part of it, 0 to 1.
    pub(super) server_kernel_share: Option<f64>,
    /// The load generator's own processor time in the window.
    pub(super) client_cpu: f64,
    /// Resident bytes before the first agent and with all of them idle.
    pub(super) resident: Option<(u64, u64)>,
    pub(super) api: Option<Latency>,
    /// How quickly each kind of question was answered.
    #[serde(default)]
    pub(super) answers: Answers,
}

impl Figures {
    /// Messages or joins per second of the server's processor time.
    pub(super) fn per_cpu_second(&self) -> Option<f64> {
        self.server_cpu.filter(|cpu| *cpu > 0.0).map(|cpu| self.done as f64 / cpu)
    }

    /// Microseconds of the server's processor time per message or join.
    pub(super) fn micros_each(&self) -> Option<f64> {
        self.per_cpu_second().map(|rate| 1e6 / rate)
    }

    /// Resident bytes that one idle agent costs.
    pub(super) fn bytes_per_agent(&self) -> Option<f64> {
        self.resident.map(|(before, with)| (with as f64 - before as f64) / self.agents as f64)
    }
}

/// How long a server must be at rest before a window opens or closes; longer than a write-behind store waits.
const CALM: Duration = Duration::from_millis(1_200);
const CALM_LIMIT: Duration = Duration::from_secs(8);
/// How long the API is asked, after the window, under the same load.
const API_WINDOW: Duration = Duration::from_secs(4);

/// Runs the plan.
pub(super) async fn run(plan: Plan) -> anyhow::Result<Figures> {
    if plan.mode != Mode::Inventory {
        reserve_descriptors(plan.agents)?;
    }
    plan.warm_up().await?;
    plan.rest().await?;
    let before = plan.resident()?;
    let counts = Arc::new(Counts::default());
    let mut figures = match plan.mode {
        Mode::Idle => plan.idle(&counts).await?,
        Mode::Fleet => plan.fleet(&counts).await?,
        Mode::Joins => plan.joins(&counts).await?,
        Mode::Push => plan.push(&counts).await?,
        Mode::Inventory => plan.inventory(&counts).await?,
        Mode::Status => plan.closed_loop(&counts, Transport::WebSocket, Kind::Status).await?,
        Mode::Heartbeat => plan.closed_loop(&counts, Transport::WebSocket, Kind::Heartbeat).await?,
        Mode::Http => plan.closed_loop(&counts, Transport::Http { gzip: false }, Kind::Status).await?,
        Mode::HttpGzip => plan.closed_loop(&counts, Transport::Http { gzip: true }, Kind::Status).await?,
    };
    figures.agents = plan.agents;
    figures.resident = figures.resident.and_then(|(_, with)| Some((before?, with)));
    (figures.errors, figures.first_error) = counts.errors();
    Ok(figures)
}

impl Plan {
    /// A few agents come and go before memory is looked at. What a server took to start (Muster hashes a password in
    /// 19 MiB) is given back by then, and what it takes once for all is there: neither is the price of an agent.
    async fn warm_up(&self) -> anyhow::Result<()> {
        const AGENTS: usize = 128;
        if matches!(self.mode, Mode::Idle | Mode::Fleet) {
            self.rest().await?;
            for agent in load::bring_up(&self.target, Transport::WebSocket, AGENTS).await? {
                agent.leave().await?;
            }
        }
        Ok(())
    }

    async fn rest(&self) -> anyhow::Result<()> {
        match &self.server {
            Some(server) => server.quiet(CALM, CALM_LIMIT).await,
            None => Ok(()),
        }
    }

    fn resident(&self) -> anyhow::Result<Option<u64>> {
        self.server.as_ref().map(Process::resident).transpose()
    }

    fn ends(&self, start: Instant) -> Instant {
        start + Duration::from_secs_f64(self.seconds)
    }

    async fn idle(&self, counts: &Arc<Counts>) -> anyhow::Result<Figures> {
        let agents = load::bring_up(&self.target, Transport::WebSocket, self.agents).await?;
        self.rest().await?;
        let with = self.resident()?;
        let window = Window::open(self)?;
        let end = self.ends(window.start);
        load::idle(agents, counts, end).await;
        Ok(Figures { resident: with.map(|with| (0, with)), ..window.close(self, counts).await? })
    }

    async fn closed_loop(
        &self,
        counts: &Arc<Counts>,
        transport: Transport,
        kind: Kind,
    ) -> anyhow::Result<Figures> {
        let agents = load::bring_up(&self.target, transport, self.agents).await?;
        self.rest().await?;
        let window = Window::open(self)?;
        let agents = load::closed_loop(agents, &self.target, kind, counts, self.ends(window.start)).await;
        let figures = window.close(self, counts).await?;
        let Some(api) = self.api.clone() else { return Ok(figures) };
        let asking = api.ask(API_WINDOW);
        load::closed_loop(agents, &self.target, kind, counts, Instant::now() + API_WINDOW).await;
        Ok(Figures { api: Some(asking.join()?), ..figures })
    }

    async fn joins(&self, counts: &Arc<Counts>) -> anyhow::Result<Figures> {
        let window = Window::open(self)?;
        load::joins(&self.target, self.agents, counts, self.ends(window.start)).await?;
        window.close(self, counts).await
    }

    /// Pushes to all, as often as goes into the window. A push is over when every agent has answered and the server
    /// has stored it.
    async fn push(&self, counts: &Arc<Counts>) -> anyhow::Result<Figures> {
        let agents = load::bring_up_configurable(&self.target, self.agents).await?;
        let mut pusher = Pusher::new(self.api.clone(), self.control.clone())?;
        let living = load::obey(agents, &self.target, counts);
        pusher.push(self.agents, counts).await?;
        self.rest().await?;
        let before = counts.done();
        let window = Window::open(self)?;
        let end = self.ends(window.start);
        while Instant::now() < end {
            pusher.push(self.agents, counts).await?;
        }
        let mut figures = window.close(self, counts).await?;
        figures.done -= before;
        drop(living);
        Ok(figures)
    }

    async fn inventory(&self, counts: &Arc<Counts>) -> anyhow::Result<Figures> {
        let api = self.api.clone().context("the server's API must be known (--api-url)")?;
        let window = Window::open(self)?;
        let answers = inventory::run(&self.target, api, self.agents, counts).await?;
        Ok(Figures { answers, ..window.close(self, counts).await? })
    }

    async fn fleet(&self, counts: &Arc<Counts>) -> anyhow::Result<Figures> {
        /// Heartbeats run for this long before they are counted.
        const WARM_UP: Duration = Duration::from_secs(1);
        let agents = load::bring_up(&self.target, Transport::WebSocket, self.agents).await?;
        self.rest().await?;
        let with = self.resident()?;
        let start = Instant::now() + WARM_UP;
        let end = self.ends(start);
        let last = if self.api.is_some() { end + API_WINDOW } else { end + Duration::from_millis(100) };
        let (target, counting, interval) = (self.target.clone(), counts.clone(), self.interval);
        let fleet =
            tokio::spawn(async move { load::fleet(agents, &target, &counting, interval, last).await });
        sleep_until(start).await;
        let window = Window::open(self)?;
        let done = counts.done();
        sleep_until(end).await;
        // No rest here: the fleet goes on, and what is put off is a constant stream.
        let mut figures = window.close_now(self, counts)?;
        figures.done -= done;
        if let Some(api) = self.api.clone() {
            let asking = api.ask(API_WINDOW);
            fleet.await?;
            figures.api = Some(asking.join()?);
        } else {
            fleet.await?;
        }
        Ok(Figures { resident: with.map(|with| (0, with)), ..figures })
    }
}

/// A window of measurement.
struct Window {
    start: Instant,
    client: Duration,
    server: Option<(Duration, super::process::Ticks)>,
}

impl Window {
    fn open(plan: &Plan) -> anyhow::Result<Self> {
        let server = match &plan.server {
            Some(server) => Some((server.cpu()?, server.ticks()?)),
            None => None,
        };
        Ok(Self { start: Instant::now(), client: own_cpu(), server })
    }

    /// Closes it for the client now and for the server when it has come to rest.
    async fn close(self, plan: &Plan, counts: &Counts) -> anyhow::Result<Figures> {
        let figures = self.close_now(plan, counts)?;
        plan.rest().await?;
        let later = self.close_now(plan, counts)?;
        Ok(Figures {
            server_cpu: later.server_cpu,
            server_kernel_share: later.server_kernel_share,
            ..figures
        })
    }

    fn close_now(&self, plan: &Plan, counts: &Counts) -> anyhow::Result<Figures> {
        let mut figures = Figures {
            done: counts.done(),
            window: self.start.elapsed().as_secs_f64(),
            client_cpu: own_cpu().saturating_sub(self.client).as_secs_f64(),
            ..Figures::default()
        };
        if let (Some(server), Some((cpu, ticks))) = (&plan.server, self.server) {
            let used = server.cpu()?.saturating_sub(cpu).as_secs_f64();
            figures.server_cpu = Some(used);
            figures.server_cpu_in_window = Some(used);
            figures.server_kernel_share = Some(server.ticks()?.kernel_share_since(ticks));
        }
        Ok(figures)
    }
}
