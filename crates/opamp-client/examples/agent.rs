//! A small agent for tests and trials: it prints what happens as lines of JSON, applies any configuration
//! (one with the word "fail" in it fails), and ends in good order on SIGTERM or SIGINT.
//!
//! `agent URL [--token T] [--ca FILE] [--insecure] [--gzip] [--state-dir D] [--interval SECONDS]
//! [--name NAME]`
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::error::Error;
use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opamp_client::proto::agent::Status;
use opamp_client::proto::wire::{AgentConfigFile, AgentConfigMap, ComponentHealth};
use opamp_client::{Client, Event, Events, FileStorage, RemoteConfig, Tls};
use tokio::signal::unix::{SignalKind, signal};

struct Arguments {
    url: String,
    token: Option<String>,
    ca: Option<String>,
    insecure: bool,
    gzip: bool,
    state_dir: Option<String>,
    interval: u64,
    name: String,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let (client, events) = start(arguments).await?;
    line(&[("event", "started"), ("instance_uid", &client.instance_uid().to_string())]);
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let stop = async {
        tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} }
        client.stop().await;
    };
    tokio::join!(stop, follow(&client, events));
    Ok(())
}

impl Arguments {
    fn parse(mut given: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self {
            url: String::new(),
            token: None,
            ca: None,
            insecure: false,
            gzip: false,
            state_dir: None,
            interval: 30,
            name: "opamp-client-example".to_owned(),
        };
        while let Some(argument) = given.next() {
            let mut value = || given.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--token" => arguments.token = Some(value()?),
                "--ca" => arguments.ca = Some(value()?),
                "--insecure" => arguments.insecure = true,
                "--gzip" => arguments.gzip = true,
                "--state-dir" => arguments.state_dir = Some(value()?),
                "--interval" => {
                    arguments.interval = value()?.parse().map_err(|_| "--interval needs whole seconds")?
                }
                "--name" => arguments.name = value()?,
                url if !url.starts_with("--") && arguments.url.is_empty() => arguments.url = argument,
                _ => return Err(format!("unknown argument {argument}")),
            }
        }
        if arguments.url.is_empty() { Err("a URL is missing".to_owned()) } else { Ok(arguments) }
    }
}

async fn start(arguments: Arguments) -> Result<(Client, Events), Box<dyn Error>> {
    let mut tls = Tls::new();
    if let Some(file) = &arguments.ca {
        tls = tls.with_ca_pem(&std::fs::read(file)?)?;
    }
    if arguments.insecure {
        tls = tls.danger_accept_any_certificate();
    }
    let mut builder = Client::builder(arguments.url)
        .service(arguments.name, env!("CARGO_PKG_VERSION"))
        .attribute("os.type", std::env::consts::OS)
        .attribute("host.arch", std::env::consts::ARCH)
        .health(healthy())
        .effective_config(AgentConfigMap::default())
        .accept_remote_config()
        .accept_restart()
        .interval(Duration::from_secs(arguments.interval))
        .tls(tls);
    if arguments.gzip {
        builder = builder.gzip_requests();
    }
    if let Some(token) = &arguments.token {
        builder = builder.bearer_token(token);
    }
    if let Some(directory) = &arguments.state_dir {
        builder = builder.storage(FileStorage::new(directory));
    }
    Ok(builder.start().await?)
}

fn healthy() -> ComponentHealth {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let nanos = u64::try_from(now.as_nanos()).unwrap_or_default();
    ComponentHealth {
        healthy: true,
        start_time_unix_nano: nanos,
        status: "running".to_owned(),
        status_time_unix_nano: nanos,
        ..ComponentHealth::default()
    }
}

async fn follow(client: &Client, mut events: Events) {
    while let Some(event) = events.next().await {
        match event {
            Event::Connected { server } => {
                line(&[("event", "connected"), ("server_capabilities", &format!("{server:?}"))]);
            }
            Event::Disconnected { reason, .. } => line(&[("event", "disconnected"), ("reason", &reason)]),
            Event::FullStateRequested => line(&[("event", "report_full_state")]),
            Event::RemoteConfig(offer) => apply(client, offer),
            Event::InstanceUidChanged { new, .. } => {
                line(&[("event", "instance_uid"), ("instance_uid", &new.to_string())]);
            }
            Event::RestartRequested => line(&[("event", "restart")]),
            Event::MessageRefused { reason } => line(&[("event", "refused"), ("reason", &reason)]),
            Event::Ignored { reason } => line(&[("event", "ignored"), ("reason", &reason)]),
            Event::StorageFailed { reason } => line(&[("event", "storage_failed"), ("reason", &reason)]),
        }
    }
}

fn apply(client: &Client, offer: RemoteConfig) {
    let fails = |file: &AgentConfigFile| file.body.windows(4).any(|word| word == b"fail");
    let failed = offer.config.config_map.values().any(fails);
    let hash = offer.hash.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    line(&[
        ("event", "remote_config"),
        ("hash", &hash),
        ("status", if failed { "FAILED" } else { "APPLIED" }),
    ]);
    if failed {
        client.config_failed(offer.hash, "the configuration contains the word \"fail\"");
    } else {
        client.set(Status::EffectiveConfig(offer.config));
        client.config_applied(offer.hash);
    }
}

fn line(pairs: &[(&str, &str)]) {
    let body: Vec<String> =
        pairs.iter().map(|(key, value)| format!("{}:{}", json(key), json(value))).collect();
    println!("{{{}}}", body.join(","));
}

fn json(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => drop(write!(quoted, "\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}
