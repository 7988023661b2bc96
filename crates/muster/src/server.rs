//! `muster server`: reads the flags, builds the server, prints where it is, serves until a signal.

use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;

use control_plane::{Addresses, App, BuildError, Config, ConfigError, Listeners, RawConfig};
use tokio::sync::Notify;

use crate::cli::{CommonArgs, ServerArgs};
use crate::failure::{Failure, Kind};
use crate::{logging, output, ready_file};

/// Threads for console, API and background tasks; agents have threads of their own.
const WORKERS: usize = 2;

/// Runs the server.
pub(crate) fn run(args: ServerArgs, debug: bool) -> Result<(), Failure> {
    let (common, data_dir) = (args.common.clone(), args.data_dir.clone());
    logging::start(common.log_format, debug);
    let config = raw(args).check().map_err(wrong)?;
    runtime()?.block_on(async {
        let server = Started::new(config, &common).await?;
        server.greet(&data_dir)?;
        server.serve(&common, stop_signal()?, || {}).await
    })
}

fn raw(args: ServerArgs) -> RawConfig {
    let ServerArgs {
        data_dir,
        opamp_listen,
        listen,
        common,
        insecure_http,
        public_url,
        tls_cert,
        tls_key,
        public_metrics,
        trusted_proxy,
    } = args;
    RawConfig {
        insecure_http,
        public_url,
        tls_cert,
        tls_key,
        public_metrics,
        trusted_proxies: trusted_proxy,
        ..with_common(RawConfig::new(data_dir, opamp_listen, listen, env!("CARGO_PKG_VERSION")), &common)
    }
}

/// The settings that `server` and `dev` share.
pub(crate) fn with_common(raw: RawConfig, common: &CommonArgs) -> RawConfig {
    RawConfig {
        key_file: common.key_file.clone(),
        max_message: common.max_message.clone(),
        max_agents: common.max_agents,
        agent_expiry: common.agent_expiry.clone(),
        rollout_patience: common.rollout_patience.clone(),
        network_range: common.network_range.clone(),
        mesh_range: common.mesh_range.clone(),
        ..raw
    }
}

/// A setting that makes no sense names its flag.
pub(crate) fn wrong(error: ConfigError) -> Failure {
    Failure::usage(error)
}

/// The runtime of console, API and background tasks.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .thread_name("muster")
        .enable_all()
        .build()
        .map_err(|error| Failure::of(&error))
}

/// A server whose sockets are open.
pub(crate) struct Started {
    pub(crate) app: App,
    pub(crate) listeners: Listeners,
    pub(crate) addresses: Addresses,
}

impl Started {
    /// Builds the server and opens its sockets.
    pub(crate) async fn new(config: Config, common: &CommonArgs) -> Result<Self, Failure> {
        let threads = common.agent_threads.map_or_else(cores, usize::from);
        // Sockets first: a port that is taken is found out before anything is made.
        let listeners = Listeners::open(&config, threads).map_err(|error| Failure::of(&error))?;
        let app = App::build(config).await.map_err(|error| match error {
            error @ (BuildError::Files(_) | BuildError::Shared { .. }) => Failure::usage(error),
            other => Failure::of(&other),
        })?;
        let addresses = app.local_addresses(&listeners).map_err(|error| Failure::of(&error))?;
        Ok(Self { app, listeners, addresses })
    }

    /// Says where the server is, and on a first start how to begin.
    fn greet(&self, data_dir: &Path) -> Result<(), Failure> {
        let public = self.app.public_addresses(&self.listeners).map_err(|error| Failure::of(&error))?;
        let mut lines =
            vec![format!("Muster {}", env!("CARGO_PKG_VERSION")), format!("console   {}", public.console)];
        lines.push(format!("agents    {}", public.opamp));
        if let Some(fingerprint) = self.app.ca_fingerprint() {
            lines.push(format!("CA        {fingerprint} (SHA-256 of its public key)"));
        }
        if let Some(file) = self.app.ca_file() {
            lines.push(format!("CA file   {}", std::path::absolute(&file).unwrap_or(file).display()));
        }
        lines.extend(self.first_steps(&public.opamp, data_dir));
        output::line(&lines.join("\n"))
    }

    /// What a first start made, shown this once.
    fn first_steps(&self, opamp: &str, data_dir: &Path) -> Vec<String> {
        let first = self.app.first_start();
        let mut lines = Vec::new();
        if first.is_login_lost {
            lines.push(String::new());
            lines.push(
                "Nobody has logged in yet. If the password of the first start is lost, make another:"
                    .to_owned(),
            );
            lines.push(format!("  muster admin reset-login --data-dir {}", data_dir.display()));
        }
        if let Some(password) = &first.admin_password {
            lines.push(String::new());
            lines.push("First start. These are shown once:".to_owned());
            lines.push(format!("login     admin / {password}"));
        }
        if let Some(token) = &first.enrolment_token {
            lines.push(format!("token     {token}"));
            lines.push(String::new());
            lines.push(
                "To connect an agent, give it this endpoint, the token and the CA file. A Collector:"
                    .to_owned(),
            );
            lines.push(String::new());
            lines.extend(collector_snippet(opamp, token, self.app.ca_file().as_deref()));
        }
        lines
    }

    /// Serves until `stop` resolves.
    pub(crate) async fn serve(
        self,
        common: &CommonArgs,
        stop: impl Future<Output = ()>,
        listening: impl FnOnce(),
    ) -> Result<(), Failure> {
        let Self { app, listeners, addresses } = self;
        let (first, ca_file) = (app.first_start().clone(), app.ca_file());
        let failed = Arc::new(Notify::new());
        let mut failure = None;
        let ready = || {
            let written = common
                .ready_file
                .as_deref()
                .map_or(Ok(()), |path| ready_file::write(path, &addresses, &first, ca_file.as_deref()));
            if let Err(error) = written {
                failure =
                    Some(Failure::new(Kind::Failed, format!("--ready-file: cannot be written: {error}")));
                failed.notify_one();
            }
            listening();
        };
        let stop = async {
            tokio::select! {
                () = stop => {}
                () = failed.notified() => {}
            }
        };
        app.serve(listeners, ready, stop).await.map_err(|error| Failure::of(&error))?;
        failure.map_or(Ok(()), Err)
    }
}

fn collector_snippet(opamp: &str, token: &str, ca_file: Option<&std::path::Path>) -> Vec<String> {
    let mut lines = vec![
        "  extensions:".to_owned(),
        "    opamp:".to_owned(),
        "      server:".to_owned(),
        "        ws:".to_owned(),
        format!("          endpoint: {}", opamp.replacen("http", "ws", 1)),
        "          headers:".to_owned(),
        format!("            Authorization: Bearer {token}"),
    ];
    if let Some(file) = ca_file {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        lines.push("          tls:".to_owned());
        lines.push(format!("            ca_file: {}", file.display()));
    }
    lines
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Resolves at SIGTERM or SIGINT. A second signal ends the process at once.
pub(crate) fn stop_signal() -> Result<impl Future<Output = ()>, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let failed = |error: std::io::Error| Failure::of(&error);
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            std::process::exit(1);
        });
    })
}
