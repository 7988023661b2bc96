//! The loop of netd: it owns the name server and the ports, and answers one request after the other.

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::process;
use std::time::{Duration, Instant};

use host_proto::desired::Section;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::sleep_until;

use super::config::Config;
use super::control::{Asked, Control};
use super::item::ItemStatus;
use super::wire::{Request, Response, Status};
use crate::dns::{ResolverFiles, Server};
use crate::forward::Ports;

/// How often what could not listen is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(2);
/// Descriptors when the limit cannot be read: that of every system.
const DESCRIPTORS: u64 = 1024;

/// What netd needs to run.
#[derive(Debug)]
pub struct Options {
    /// Where it is asked.
    pub socket: PathBuf,
    /// What it serves at first, as from the agent's cache: names and ports work before the agent does (R41).
    pub config: Config,
    /// The port of the name server: 53. Tests let the kernel choose (0).
    pub dns_port: u16,
    /// Where the host keeps its own name servers.
    pub resolver: ResolverFiles,
    /// How long connections may go on when it is told to end.
    pub drain: Duration,
}

/// Why netd could not run.
#[derive(Debug, thiserror::Error)]
pub enum NetdError {
    /// Its socket cannot be had.
    #[error("cannot listen on {}", path.display())]
    Socket {
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It cannot be told to end.
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
}

impl Options {
    /// The usual: port 53, the files of a usual host, and ten seconds to end.
    pub fn new(socket: impl Into<PathBuf>, config: Config) -> Self {
        Self {
            socket: socket.into(),
            config,
            dns_port: 53,
            resolver: ResolverFiles::default(),
            drain: Duration::from_secs(10),
        }
    }
}

/// Runs netd until SIGTERM or SIGINT: what a process of its own does. It takes as many descriptors as it may have.
///
/// # Errors
/// When its socket cannot be had. What it serves never ends it: an item that cannot listen is told and tried again.
pub async fn run(options: Options) -> Result<(), NetdError> {
    let mut terminate = signal(SignalKind::terminate()).map_err(NetdError::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(NetdError::Signals)?;
    let told = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    serve(options, told).await
}

/// Serves until `shutdown` is ready; then takes in nothing new, and gives what goes on some time to end.
///
/// # Errors
/// When its socket cannot be had.
pub async fn serve(options: Options, shutdown: impl Future<Output = ()>) -> Result<(), NetdError> {
    let control = Control::bind(&options.socket)
        .map_err(|source| NetdError::Socket { path: options.socket.clone(), source })?;
    let (asked, mut requests) = mpsc::channel::<Asked>(16);
    let mut netd = Netd {
        begun: Instant::now(),
        server: Server::new(&options.config, options.dns_port, options.resolver),
        ports: Ports::new(descriptors()),
        config: options.config,
        items: Vec::new(),
    };
    netd.apply().await;
    let requests = async {
        // A moment, not a time to wait: requests must not put it off.
        let mut due = tokio::time::Instant::now();
        loop {
            let failing = netd.items.iter().any(|item| item.error.is_some());
            tokio::select! {
                Some((request, answer)) = requests.recv() => {
                    // Whoever asked may be gone; what was asked is done.
                    let _ = answer.send(netd.answer(request).await);
                }
                () = sleep_until(due), if failing => {
                    netd.apply().await;
                    due = tokio::time::Instant::now() + TRY_AGAIN;
                }
            }
        }
    };
    tokio::select! {
        () = requests => {}
        () = control.accept(&asked) => {}
        () = shutdown => {}
    }
    let Netd { server, ports, .. } = netd;
    drop(server);
    ports.drain(options.drain).await;
    let _ = std::fs::remove_file(&options.socket);
    Ok(())
}

struct Netd {
    begun: Instant,
    server: Server,
    ports: Ports,
    config: Config,
    items: Vec<ItemStatus>,
}

impl Netd {
    async fn answer(&mut self, request: Request) -> Response {
        match request {
            Request::Set(config) => {
                self.config = *config;
                self.apply().await;
                Response::Results(self.items.clone())
            }
            Request::Status => Response::Status(Box::new(Status {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                pid: process::id(),
                up_s: self.begun.elapsed().as_secs(),
                items: self.items.clone(),
                dns: self.server.counters(),
                ports: self.ports.counters(),
            })),
        }
    }

    /// Serves the configuration. Names first: a port of a project must not take a gateway's.
    async fn apply(&mut self) {
        let mut items = Vec::new();
        for (gateway, listening) in self.server.set(&self.config).await {
            let network = self.config.networks.iter().find(|network| network.gateway == gateway);
            let id = network.map_or("", |network| network.id.as_str());
            items.push(ItemStatus::new(Section::Dns, id, format!("names on {gateway}"), listening));
        }
        for port in self.ports.set(&self.config).await {
            items.push(ItemStatus::new(Section::Routes, port.route.as_str(), port.name, port.listening));
        }
        for item in items.iter().filter(|item| item.error.is_some() && !self.items.contains(item)) {
            let error = item.error.as_deref().unwrap_or_default();
            tracing::warn!(item = item.name, "{}: {error}", item.name);
        }
        self.items = items;
    }
}

/// As many descriptors as this process may have: the limit is raised as far as it goes.
fn descriptors() -> usize {
    let limit = match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((soft, hard)) if soft < hard && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() => hard,
        Ok((soft, _)) => soft,
        Err(_) => DESCRIPTORS,
    };
    usize::try_from(limit).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
