//! What is measured on: a server, and this machine as its host, with an agent and a netd that were started here and
//! whose files lie in a temporary folder. All of it ends with the value.

use std::{
    fs::File,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::bench::{
    api::{Api, Connection},
    process::{Process, held},
    server::Server,
};

/// The project that is deployed.
pub(super) const PROJECT: &str = "bench";
const ONLINE_WITHIN: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);

/// A server with this machine as its only host.
pub(super) struct Ground {
    agent: Child,
    netd: Child,
    api: Api,
    places: Places,
    _server: Server,
}

/// The agent's places, as its flags name them.
struct Places {
    folder: PathBuf,
    docker: PathBuf,
}

impl Places {
    fn flags(&self) -> Vec<String> {
        let at = |flag: &str, path: &Path| format!("--{flag}={}", path.display());
        vec![
            at("identity", &self.folder.join("agent.json")),
            at("data-dir", &self.folder.join("data")),
            at("run-dir", &self.folder.join("run")),
            at("docker", &self.docker),
        ]
    }

    fn command(&self, verb: &str) -> anyhow::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["agent", verb]).args(self.flags()).stdin(Stdio::null());
        Ok(command)
    }

    fn start(&self, verb: &str) -> anyhow::Result<Child> {
        let log = File::create(self.folder.join(format!("{verb}.log")))?;
        let mut command = held(&self.command(verb)?)?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        command.spawn().context("cannot start the agent")
    }
}

impl Ground {
    /// Starts all of it. `docker`: what the agent takes for its engine.
    pub(super) async fn start(server: Server, docker: PathBuf) -> anyhow::Result<Self> {
        let (console, password) = server.api.as_ref().context("the server has no API")?;
        let api = Api::log_in(console, password, server.ca.as_deref()).await?;
        let mut asking = Connection::open(api.target().clone()).await?;
        let made = asking.call("POST", "/api/v1/join-tokens", json!({ "host_name": "bench" })).await?;
        let token = made["token"].as_str().context("a join token without its text")?;
        let places = Places { folder: server.folder().join("agent"), docker };
        std::fs::create_dir(&places.folder)?;
        join(&places, console, server.ca.as_deref(), token)?;
        let (netd, agent) = (places.start("netd")?, places.start("run")?);
        let ground = Self { agent, netd, api, places, _server: server };
        ground.until_online().await?;
        Ok(ground)
    }

    pub(super) async fn ask(&self) -> anyhow::Result<Connection> {
        Connection::open(self.api.target().clone()).await
    }

    /// The agent, and netd.
    pub(super) fn processes(&self) -> anyhow::Result<[Process; 2]> {
        Ok([Process::new(self.agent.id())?, Process::new(self.netd.id())?])
    }

    /// The folders that the agent and netd write to.
    pub(super) fn folder(&self) -> &Path {
        &self.places.folder
    }

    /// Deploys a Compose file; the number of the deployment.
    pub(super) async fn deploy(&self, asking: &mut Connection, compose: &str) -> anyhow::Result<String> {
        asking.deploy(PROJECT, compose).await
    }

    /// Waits until a deployment is over, and well.
    pub(super) async fn until_done(
        &self,
        asking: &mut Connection,
        id: &str,
        within: Duration,
    ) -> anyhow::Result<()> {
        asking.until_done(id, within).await.with_context(|| format!("the agent said: {}", self.said()))
    }

    /// Takes this machine's containers, networks and rules away again. What carries the engine's socket goes on meanwhile.
    pub(super) async fn leave(mut self) -> anyhow::Result<()> {
        self.stop();
        let mut command = tokio::process::Command::from(self.places.command("leave")?);
        let done = command.args(["--remove-containers", "--yes"]).output().await?;
        ensure!(done.status.success(), "agent leave: {}", String::from_utf8_lossy(&done.stderr));
        Ok(())
    }

    async fn until_online(&self) -> anyhow::Result<()> {
        let mut asking = self.ask().await?;
        let end = Instant::now() + ONLINE_WITHIN;
        loop {
            let hosts = asking.call("GET", "/api/v1/hosts", Value::Null).await?;
            let host = &hosts["items"][0];
            if host["state"] == "online" && host["engine"].is_string() {
                return Ok(());
            }
            ensure!(Instant::now() < end, "the agent did not connect: {host}; {}", self.said());
            sleep(LOOK).await;
        }
    }

    /// The agent's last words.
    fn said(&self) -> String {
        let log = std::fs::read_to_string(self.places.folder.join("run.log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(5).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    fn stop(&mut self) {
        for child in [&mut self.agent, &mut self.netd] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        self.stop();
    }
}

fn join(places: &Places, console: &str, ca: Option<&Path>, token: &str) -> anyhow::Result<()> {
    let mut command = places.command("join")?;
    command.args(["--server", console, "--token-stdin"]);
    if let Some(ca) = ca {
        command.arg("--ca-file").arg(ca);
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(token.as_bytes())?;
    }
    let done = child.wait_with_output()?;
    ensure!(done.status.success(), "agent join: {}", String::from_utf8_lossy(&done.stderr));
    Ok(())
}
