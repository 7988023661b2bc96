//! The server, built once in one place: [`Config`] → [`App::build`] → [`App::serve`]. Agents are served by threads
//! of their own, each with its socket and its single-threaded runtime; console, API and background tasks run on the
//! runtime of the caller.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use opamp_proto::ServerCapabilities;
use opamp_proto::server::SessionSettings;
use opamp_proto::wire::ServerCapabilities as Bit;
use opamp_server::{Server, Settings, TlsSource};
use store::Store;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::auth::{LoginThrottle, Passwords};
use crate::ca::CertificateSource;
use crate::config::{Config, TlsChoice};
use crate::configs::Configs;
use crate::events::Hub;
use crate::fleet::Fleet;
use crate::hosts::LiveHosts;
use crate::hosts::install::Agents;
use crate::http::{About, Context, ContextInner, Readiness, Streams, router, serve};
use crate::listen::Listeners;
use crate::opamp::{Census, Credentials, Endpoint, Outgoing, Watched, WriteBehind};
use crate::secrets::Sealer;
use crate::services::{Services, controller};
use crate::setup::{self, Ready};
use crate::tasks::{Tasks, stopped};

pub use crate::setup::{FirstStart, SetupError as BuildError};

/// The path of the OpAMP endpoint (MODEL-7).
const OPAMP_PATH: &str = "/v1/opamp";
/// How long agents may take to close at shutdown; the whole stop is bounded by ten seconds.
const CLOSE_AGENTS: Duration = Duration::from_secs(4);
/// How long hosts may take, after that.
const CLOSE_HOSTS: Duration = Duration::from_secs(2);

/// A server that is ready to serve.
#[derive(Debug)]
pub struct App {
    config: Config,
    store: Store,
    server: Server<Endpoint>,
    credentials: Arc<Credentials>,
    sealer: Sealer,
    certificates: Option<Arc<CertificateSource>>,
    outgoing: Arc<Outgoing>,
    hub: Arc<Hub>,
    configs: Arc<Configs>,
    services: Arc<Services>,
    census: Arc<Census>,
    first_start: FirstStart,
    restored_at: Option<String>,
}

/// Why a server stopped by itself.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A socket or thread failed.
    #[error("cannot serve")]
    Io(#[from] io::Error),
    /// TLS does not accept our settings.
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
}

/// Where a server can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses {
    /// The OpAMP endpoint's URL.
    pub opamp: String,
    /// The URL of console and API, without a final slash.
    pub console: String,
}

impl App {
    /// Opens the data directory, or makes what is missing in it.
    pub async fn build(config: Config) -> Result<Self, BuildError> {
        let Ready { store, credentials, sealer, certificates, first_start, restored_at } =
            setup::prepare(&config).await?;
        let counts = store.agent_counts().await?;
        let census = Arc::new(Census::new(counts.total + counts.replaced, config.max_agents));
        let epoch = store.server_epoch();
        let (credentials, outgoing) = (Arc::new(credentials), Arc::new(Outgoing::default()));
        let hub = Arc::new(Hub::new(epoch.0));
        let configs = Arc::new(Configs::load(store.clone(), hub.clone()).await?);
        let (live, ranges) = (Arc::new(LiveHosts::default()), config.ranges);
        let services = Services::load(store.clone(), sealer.clone(), hub.clone(), live, ranges).await?;
        let endpoint = Endpoint {
            store: store.clone(),
            credentials: credentials.clone(),
            outgoing: outgoing.clone(),
            hub: hub.clone(),
            configs: configs.clone(),
            census: census.clone(),
            counters: Arc::default(),
            proxies: config.trusted_proxies.clone(),
            epoch,
            sessions: AtomicU64::new(0),
            watched: Watched::default(),
        };
        let server = Server::new(endpoint, settings(&config));
        let certificates = certificates.map(Arc::new);
        Ok(Self {
            config,
            store,
            server,
            credentials,
            sealer,
            certificates,
            outgoing,
            hub,
            configs,
            services,
            census,
            first_start,
            restored_at,
        })
    }

    /// What is to be shown once.
    pub fn first_start(&self) -> &FirstStart {
        &self.first_start
    }

    /// SHA-256 of the authority's public key; `None` without TLS or with a certificate of one's own.
    pub fn ca_fingerprint(&self) -> Option<String> {
        self.certificates.as_ref().and_then(|source| source.authority_fingerprint())
    }

    /// The certificate authority's certificate, for clients; `None` where there is none of ours.
    pub fn ca_file(&self) -> Option<std::path::PathBuf> {
        (self.config.tls == TlsChoice::Own).then(|| self.config.ca_file())
    }

    /// The URLs that work on this machine with these sockets.
    pub fn local_addresses(&self, listeners: &Listeners) -> io::Result<Addresses> {
        let scheme = if self.certificates.is_some() { "https" } else { "http" };
        Ok(Addresses {
            opamp: format!("{scheme}://{}{OPAMP_PATH}", reachable(listeners.opamp_address()?)),
            console: format!("{scheme}://{}", reachable(listeners.console.local_addr()?)),
        })
    }

    /// The URLs that people and agents are told: those of `--public-url` where it is given.
    pub fn public_addresses(&self, listeners: &Listeners) -> io::Result<Addresses> {
        let Some(url) = &self.config.public_url else { return self.local_addresses(listeners) };
        let scheme = if self.certificates.is_some() || url.secure { "https" } else { "http" };
        let host = if url.host.contains(':') { format!("[{}]", url.host) } else { url.host.clone() };
        let port = listeners.opamp_address()?.port();
        Ok(Addresses { opamp: format!("{scheme}://{host}:{port}{OPAMP_PATH}"), console: url.text.clone() })
    }

    /// Serves until `shutdown` resolves, then stops in good order: agents are told to come back later (1001), open
    /// requests end, what is not written yet is written. `listening` is called once both listeners accept.
    ///
    /// # Errors
    /// When it cannot begin. Later failures are logged and survived.
    pub async fn serve(
        self,
        listeners: Listeners,
        listening: impl FnOnce(),
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let (stop, stopping) = watch::channel(false);
        let (end, ending) = watch::channel(false);
        let about = self.about(&listeners)?;
        let threads = self.serve_agents(listeners.opamp, &stopping, &ending)?;
        let writer = tokio::spawn(self.write_behind().run(ending.clone()));
        self.tasks().start(&stopping);
        if let Some(queue) = self.services.take_queue() {
            tokio::spawn(controller::run(self.services.clone(), queue, stopping.clone()));
        }
        let tls = self.certificates.as_ref().map(|source| source.server_config(&[b"h2", b"http/1.1"]));
        let console = TcpListener::from_std(listeners.console)?;
        let console = tokio::spawn(serve(
            console,
            tls.transpose()?,
            router(self.context(about, stopping.clone())),
            stopping,
        ));
        listening();
        shutdown.await;
        tracing::info!("stopping");
        stop.send_replace(true);
        self.server.close(CLOSE_AGENTS).await;
        let _ = console.await;
        let _ = tokio::time::timeout(CLOSE_HOSTS, self.services.live.all_gone()).await;
        end.send_replace(true);
        let _ = writer.await;
        let store = self.store.clone();
        let _ = tokio::task::spawn_blocking(move || {
            store.close();
            threads.into_iter().for_each(|thread| drop(thread.join()));
        })
        .await;
        Ok(())
    }

    /// One thread for each socket. A thread lives until `ending`, since its connections live on it.
    fn serve_agents(
        &self,
        sockets: Vec<std::net::TcpListener>,
        stopping: &watch::Receiver<bool>,
        ending: &watch::Receiver<bool>,
    ) -> Result<Vec<JoinHandle<()>>, ServeError> {
        let config =
            self.certificates.as_ref().map(|source| source.server_config(&[b"http/1.1"])).transpose()?;
        let tls = config.map(|config| -> TlsSource { Arc::new(move || config.clone()) });
        let mut threads = Vec::new();
        for (number, socket) in sockets.into_iter().enumerate() {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let agents = AgentThread {
                server: self.server.clone(),
                tls: tls.clone(),
                stopping: stopping.clone(),
                ending: ending.clone(),
            };
            let body = move || runtime.block_on(agents.run(socket));
            threads.push(std::thread::Builder::new().name(format!("agents-{number}")).spawn(body)?);
        }
        Ok(threads)
    }

    fn about(&self, listeners: &Listeners) -> io::Result<About> {
        let Addresses { opamp, console } = self.public_addresses(listeners)?;
        Ok(About {
            version: self.config.version.clone(),
            restored_at: self.restored_at.clone(),
            ca_fingerprint: self.ca_fingerprint(),
            authority_pem: self.ca_file().and_then(|path| std::fs::read_to_string(path).ok()),
            opamp_endpoint: opamp,
            public_url: console,
            secure: self.certificates.is_some(),
        })
    }

    fn context(&self, about: About, stopping: watch::Receiver<bool>) -> Context {
        let (store, server) = (self.store.clone(), self.server.clone());
        Context::new(ContextInner {
            fleet: Fleet::new(
                store.clone(),
                server.clone(),
                self.census.clone(),
                self.hub.clone(),
                self.configs.clone(),
            ),
            store,
            server,
            credentials: self.credentials.clone(),
            sealer: self.sealer.clone(),
            less_access: watch::Sender::new(0),
            hub: self.hub.clone(),
            configs: self.configs.clone(),
            services: self.services.clone(),
            agents: Arc::new(Agents::new(&self.config.data_dir, self.config.ranges.networks)),
            passwords: Passwords::new(),
            throttle: LoginThrottle::default(),
            proxies: self.config.trusted_proxies.clone(),
            streams: Arc::new(Streams::default()),
            readiness: Readiness::default(),
            public_metrics: self.config.public_metrics,
            certificates: self.certificates.clone(),
            started: Instant::now(),
            stopping,
            about,
        })
    }

    fn write_behind(&self) -> WriteBehind {
        WriteBehind {
            store: self.store.clone(),
            server: self.server.clone(),
            outgoing: self.outgoing.clone(),
            hub: self.hub.clone(),
            interval: self.config.write_behind,
            kept: Vec::new(),
        }
    }

    fn tasks(&self) -> Tasks {
        Tasks {
            store: self.store.clone(),
            server: self.server.clone(),
            credentials: self.credentials.clone(),
            certificates: self.certificates.clone(),
            census: self.census.clone(),
            hub: self.hub.clone(),
            configs: self.configs.clone(),
            agent_expiry: self.config.agent_expiry,
            rollout_patience: self.config.rollout_patience,
        }
    }
}

/// What a thread that serves agents has.
struct AgentThread {
    server: Server<Endpoint>,
    tls: Option<TlsSource>,
    stopping: watch::Receiver<bool>,
    ending: watch::Receiver<bool>,
}

impl AgentThread {
    async fn run(mut self, socket: std::net::TcpListener) {
        let mut stopping = self.stopping.clone();
        let stop = async move { stopped(&mut stopping).await };
        let served = match TcpListener::from_std(socket) {
            Ok(listener) => self.server.serve(listener, self.tls.clone(), stop).await,
            Err(error) => Err(error),
        };
        if let Err(error) = served {
            tracing::error!(%error, "a thread cannot accept agents any more");
        }
        let _ = self.ending.wait_for(|end| *end).await;
    }
}

fn settings(config: &Config) -> Settings {
    // Only what works (S6).
    let capabilities: ServerCapabilities = [
        Bit::AcceptsStatus,
        Bit::OffersRemoteConfig,
        Bit::AcceptsEffectiveConfig,
        Bit::AcceptsPackagesStatus,
    ]
    .into_iter()
    .collect();
    Settings {
        path: OPAMP_PATH.to_owned(),
        max_message: config.max_message,
        session: SessionSettings { capabilities, ..SessionSettings::default() },
        ..Settings::default()
    }
}

/// An address that a program on this machine can connect to.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => ([127, 0, 0, 1], v4.port()).into(),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => (std::net::Ipv6Addr::LOCALHOST, v6.port()).into(),
        other => other,
    }
}
