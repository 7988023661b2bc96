//! The host's side of the network: the firewall's table, and netd, which serves names and ports in a process of its own.

use std::process::Stdio;
use std::time::Duration;

use host_drivers::docker::events::Hint;
use host_drivers::netd;
use host_drivers::nft::{DockerFirewall, Drift, Ensured, Nft, Program};
use host_proto::desired::{DesiredState, Section};
use host_proto::message::{HostLogLevel, HostLogSource, NetSelftest};
use host_proto::report::{ItemResult, ItemState};
use reconcile::firewall::{self, Subnet};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::hostlog::{About, HostLog};
use crate::link::chain;
use crate::options::Options;

/// How long a netd that was just started may take until it answers.
const START_WITHIN: Duration = Duration::from_secs(5);
const START_PAUSE: Duration = Duration::from_millis(100);
/// One that ends again and again is started so often at most.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The owner of both.
pub(crate) struct Net {
    nft: Nft,
    client: netd::Client,
    range: Subnet,
    command: Option<Vec<String>>,
    /// What netd was given, and the process that has it.
    given: Option<(netd::Config, u32)>,
    log: HostLog,
    pub(crate) selftest: NetSelftest,
    /// Why netd did not take what it is to serve the last time.
    pub(crate) down: Option<String>,
}

impl Net {
    pub(crate) fn new(options: &Options, range: Subnet, log: HostLog) -> Self {
        Self {
            nft: Nft::new(Program::new(options.nft.clone())),
            client: netd::Client::new(options.netd_socket()),
            range,
            command: options.netd_command.clone(),
            given: None,
            log,
            selftest: NetSelftest { docker_firewall_ok: true, ..NetSelftest::default() },
            down: None,
        }
    }

    /// Has the owner of the host look as soon as netd has ended: what it carried is refused until it runs again.
    pub(crate) fn watch(&self, hints: mpsc::Sender<Hint>) {
        let client = self.client.clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = client.gone() => {}
                    () = hints.closed() => return,
                }
                if hints.send(Hint::default()).await.is_err() {
                    return;
                }
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        });
    }

    /// Puts the table in place, or a closed one when no state is known. What of the state is not in it is told by item.
    pub(crate) async fn firewall(&mut self, state: Option<&DesiredState>) -> Result<Vec<ItemResult>, String> {
        let (ruleset, refused) = match state {
            Some(state) => {
                let compiled = firewall::compile(state, self.range);
                (compiled.ruleset, compiled.refused)
            }
            None => (firewall::closed(self.range), Vec::new()),
        };
        let ensured = self.nft.ensure(&ruleset).await;
        self.selftest.firewall_ok = ensured.is_ok();
        match ensured.map_err(|error| chain(&error))? {
            Ensured::InPlace | Ensured::Applied => {}
            Ensured::Restored(drift) => {
                let what = match drift {
                    Drift::Missing => "was removed",
                    Drift::Altered => "was changed",
                };
                self.warn(&format!("our table of the firewall {what} by somebody; it is in place again"));
            }
        }
        let result = |refused: firewall::Refused| ItemResult {
            section: Section::Firewall,
            name: refused.id.clone(),
            id: refused.id,
            state: ItemState::Refused,
            error: Some(refused.reason),
            attempts: 0,
            retry_in_ms: None,
        };
        Ok(refused.into_iter().map(result).collect())
    }

    /// Whether the engine's own rules are there. Nothing waits for the answer.
    pub(crate) async fn look_at_docker(&mut self) {
        let missing = self.nft.docker_firewall().await.is_ok_and(|found| found == DockerFirewall::Missing);
        if missing && self.selftest.docker_firewall_ok {
            self.warn(
                "docker_firewall_missing: the engine's own rules are gone, containers have no way out; a restart of the \
                 engine brings them back",
            );
        }
        self.selftest.docker_firewall_ok = !missing;
    }

    /// Before anything is stopped: nothing leads to it any more. What else there is to say is said by [`Net::serve`].
    pub(crate) async fn lead_away(&mut self, state: &DesiredState) {
        let config = netd::Config::of(state, self.range);
        let config = match &self.given {
            Some((before, _)) => config.while_leaving(before),
            None => config,
        };
        if self.give(config).await.is_err() {
            self.given = None;
        }
    }

    /// Has netd serve the names and ports of a state, and tells what it cannot. Asks it only how it stands when it has
    /// this already.
    pub(crate) async fn serve(&mut self, state: &DesiredState) -> Vec<ItemResult> {
        let config = netd::Config::of(state, self.range);
        let given = self.give(config).await;
        self.down = given.as_ref().err().cloned();
        let items = match given {
            Ok(items) => items,
            Err(error) => {
                self.given = None;
                self.selftest.dns_ok = false;
                return vec![down(&error)];
            }
        };
        self.selftest.dns_ok = !items.iter().any(|item| item.section == Section::Dns && item.error.is_some());
        let result = |item: netd::ItemStatus| ItemResult {
            section: item.section,
            id: item.id,
            name: item.name,
            state: ItemState::Failed,
            error: item.error,
            attempts: 0,
            retry_in_ms: None,
        };
        items.into_iter().filter(|item| item.error.is_some()).map(result).collect()
    }

    async fn give(&mut self, config: netd::Config) -> Result<Vec<netd::ItemStatus>, String> {
        let status = match self.client.status().await {
            Ok(status) => status,
            Err(netd::ClientError::NotRunning { .. }) if self.command.is_some() => self.start().await?,
            Err(error) => return Err(chain(&error)),
        };
        if self.given.as_ref().is_some_and(|(given, pid)| *given == config && *pid == status.pid) {
            return Ok(status.items);
        }
        let items = self.client.set(&config).await.map_err(|error| chain(&error))?;
        self.given = Some((config, status.pid));
        Ok(items)
    }

    /// Starts netd, and once more when nothing is heard of it: it may have been killed before it could answer. Where one
    /// runs already another ends at once.
    async fn start(&self) -> Result<netd::Status, String> {
        let begun = Instant::now();
        let mut spawned: Option<Instant> = None;
        loop {
            if spawned.is_none_or(|at| at.elapsed() > LOOK_AGAIN) {
                self.spawn().await?;
                spawned = Some(Instant::now());
            }
            match self.client.status().await {
                Ok(status) => return Ok(status),
                Err(error) if begun.elapsed() > START_WITHIN => return Err(chain(&error)),
                Err(_) => tokio::time::sleep(START_PAUSE).await,
            }
        }
    }

    /// Starts netd in a session of its own: it outlives this agent (R41).
    async fn spawn(&self) -> Result<(), String> {
        let Some([program, arguments @ ..]) = self.command.as_deref() else {
            return Err("netd does not run".to_owned());
        };
        let mut command = tokio::process::Command::new("setsid");
        command.arg("--fork").arg(program).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
        tracing::info!("netd does not run: starting it");
        let ended = command.status().await.map_err(|error| format!("netd cannot be started: {error}"))?;
        if !ended.success() {
            return Err(format!("netd cannot be started: {ended}"));
        }
        Ok(())
    }

    fn warn(&self, text: &str) {
        tracing::warn!("{text}");
        self.log.push(HostLogLevel::Warn, HostLogSource::Net, About::default(), text);
    }
}

fn down(error: &str) -> ItemResult {
    ItemResult {
        section: Section::Dns,
        id: "netd".to_owned(),
        name: "names and ports".to_owned(),
        state: ItemState::Failed,
        error: Some(error.to_owned()),
        attempts: 0,
        retry_in_ms: None,
    }
}
