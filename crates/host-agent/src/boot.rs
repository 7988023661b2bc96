//! What has to be there before the container engine starts (R41): the firewall's table, the secrets in memory, and netd;
//! all from the copy of the state on disk, so that a host boots without its control plane (STATE-4).

use std::future::Future;

use host_drivers::docker::FilePlaces;
use host_drivers::files::Files;
use host_drivers::netd;
use host_proto::desired::DesiredState;

use crate::cache::Cache;
use crate::hostlog::HostLog;
use crate::identity::{Identity, IdentityError};
use crate::net::Net;
use crate::options::{Options, private_folder};
use crate::run::{RunError, network_range, recall, usable};

/// What a boot came to, in words for the log of the system. Nothing of it keeps the machine from booting.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Booted {
    /// What is in place.
    pub done: Vec<String>,
    /// What is not, and why.
    pub failed: Vec<String>,
}

/// Puts in place what the engine's containers need.
///
/// # Errors
/// When this machine is no host, or a setting is wrong. Everything else is in the answer.
pub async fn boot(options: &Options) -> Result<Booted, RunError> {
    let range = network_range(options)?;
    let state = remembered(options)?;
    let mut booted = Booted::default();
    for folder in [&options.data_dir, &options.run_dir] {
        if let Err(error) = private_folder(folder) {
            booted.failed.push(format!("{}: {error}", folder.display()));
        }
    }
    let mut net = Net::new(options, range, HostLog::default());
    match net.firewall(state.as_ref()).await {
        Ok(refused) if refused.is_empty() => booted.done.push("firewall".to_owned()),
        Ok(refused) => booted.failed.push(format!("{} rules of the firewall", refused.len())),
        Err(error) => booted.failed.push(format!("firewall: {error}")),
    }
    let Some(state) = state else {
        booted
            .failed
            .push("no copy of a desired state: networks stay closed until the agent connects".to_owned());
        return Ok(booted);
    };
    files(options, &state, &mut booted);
    // With systemd netd has a unit of its own, which comes after this one.
    if options.netd_command.is_none() {
        return Ok(booted);
    }
    let failing = net.serve(&state).await;
    if failing.is_empty() {
        booted.done.push("names and ports".to_owned());
    }
    let words =
        |item: host_proto::report::ItemResult| format!("{}: {}", item.name, item.error.unwrap_or_default());
    booted.failed.extend(failing.into_iter().map(words));
    Ok(booted)
}

/// Serves names and ports until `shutdown` is ready: what the process of its own does. Begins with the state on disk.
///
/// # Errors
/// When this machine is no host, a setting is wrong, or another netd runs.
pub async fn serve_net(options: &Options, shutdown: impl Future<Output = ()>) -> Result<(), RunError> {
    let range = network_range(options)?;
    private_folder(&options.run_dir)
        .map_err(|source| RunError::File { path: options.run_dir.clone(), source })?;
    let config = match remembered(options)? {
        Some(state) => netd::Config::of(&state, range),
        None => netd::Config::empty(range),
    };
    let socket = options.netd_socket();
    netd::serve(netd::Options::new(socket, config), shutdown)
        .await
        .map_err(|error| RunError::Setting(crate::link::chain(&error)))
}

fn remembered(options: &Options) -> Result<Option<DesiredState>, IdentityError> {
    let (identity, joined) = Identity::read_joined(&options.identity)?;
    let cache = Cache::new(options.cache(), joined.host_id, identity.cache_key());
    let cached = recall(&cache, &HostLog::default());
    Ok(cached.map(|cached| usable(&cached).whole().as_ref().clone()))
}

/// Memory is empty after a boot: the secrets are written again. Files on disk are looked at by the agent.
fn files(options: &Options, state: &DesiredState, booted: &mut Booted) {
    let files = Files::new(FilePlaces { files: options.files(), secrets: options.secrets() });
    if let Err(trouble) = files.prepare() {
        booted.failed.push(trouble.text);
        return;
    }
    let mut written = 0;
    for file in state.files.iter().filter(|file| file.secret) {
        match files.write(file) {
            Ok(()) => written += 1,
            Err(trouble) => booted.failed.push(format!("{}: {}", file.id, trouble.text)),
        }
    }
    booted.done.push(format!("{written} secrets"));
}
