//! A replica of a state as a request to the engine: everything that a container is made of, in one pure function.

mod host;

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use bollard::models::{
    ContainerCreateBody, EndpointIpamConfig, EndpointSettings, HealthConfig, NetworkingConfig,
};
use host_proto::DesiredState;
use host_proto::desired::{Attachment, Health, HealthCheck, Network, ReplicaSpec};

use super::connect::ApiVersion;
use super::{EngineOptions, labels};
pub(super) use host::volume_options;

/// The network that a container is made in, and those that it is attached to before it starts.
#[derive(Debug)]
pub(crate) struct Request {
    /// What the engine is asked for.
    pub(crate) body: ContainerCreateBody,
    /// More networks: name and settings.
    pub(crate) more: Vec<(String, EndpointSettings)>,
}

/// What the engine is asked for. `image` is what the image is known by on this host. An error is a text for people.
pub(crate) fn request(
    options: &EngineOptions,
    api: ApiVersion,
    desired: &DesiredState,
    spec: &ReplicaSpec,
    image: String,
) -> Result<Request, String> {
    let networks = networks(desired, spec)?;
    let mut ends: Vec<(String, EndpointSettings)> = networks
        .iter()
        .enumerate()
        .map(|(place, (network, at))| (network.name.clone(), endpoint(at.ip, place == 0, api)))
        .collect();
    let more = if ends.is_empty() { Vec::new() } else { ends.split_off(1) };
    let first =
        (!ends.is_empty()).then(|| NetworkingConfig { endpoints_config: Some(HashMap::from_iter(ends)) });
    let env = spec.env.iter().map(|(name, value)| format!("{name}={}", value.expose())).collect();
    let body = ContainerCreateBody {
        image: Some(image),
        cmd: spec.command.clone(),
        entrypoint: spec.entrypoint.clone(),
        working_dir: spec.workdir.clone(),
        user: spec.user.clone(),
        hostname: spec.hostname.clone(),
        env: Some(env),
        healthcheck: health(&spec.health),
        labels: Some(labels::of_replica(&options.host, spec)),
        stop_signal: spec.stop.signal.clone(),
        stop_timeout: Some(whole_seconds(spec.stop.grace_ms)),
        host_config: Some(host::config(options, desired, spec, &networks)?),
        networking_config: first,
        ..ContainerCreateBody::default()
    };
    Ok(Request { body, more })
}

/// The networks of a replica with its address in each, in order.
type Networks<'a> = Vec<(&'a Network, &'a Attachment)>;

fn networks<'a>(desired: &'a DesiredState, spec: &'a ReplicaSpec) -> Result<Networks<'a>, String> {
    spec.networks
        .iter()
        .map(|at| {
            let network = desired.networks.iter().find(|network| network.id == at.network_id);
            network
                .map(|network| (network, at))
                .ok_or_else(|| format!("there is no network {}", at.network_id))
        })
        .collect()
}

/// The settings of a container's end of a network. The first network is its way out, where the engine can be told so; an
/// older one decides by the networks' names.
pub(crate) fn endpoint(ip: Ipv4Addr, first: bool, api: ApiVersion) -> EndpointSettings {
    let ipam = EndpointIpamConfig { ipv4_address: Some(ip.to_string()), ..EndpointIpamConfig::default() };
    let priority = (first && api >= ApiVersion::GATEWAY_PRIORITY).then_some(1);
    EndpointSettings { ipam_config: Some(ipam), gw_priority: priority, ..EndpointSettings::default() }
}

/// The check that the engine makes. Where the host asks itself the image's own check is switched off: two that disagree
/// would say nothing.
fn health(health: &Health) -> Option<HealthConfig> {
    let test = match &health.check {
        HealthCheck::None | HealthCheck::Unknown => return None,
        HealthCheck::Disabled | HealthCheck::Http { .. } | HealthCheck::Tcp { .. } => vec!["NONE".to_owned()],
        HealthCheck::Exec { command } => command.clone(),
    };
    if !matches!(health.check, HealthCheck::Exec { .. }) {
        return Some(HealthConfig { test: Some(test), ..HealthConfig::default() });
    }
    Some(HealthConfig {
        test: Some(test),
        interval: Some(nanos(health.interval_ms)),
        timeout: Some(nanos(health.timeout_ms)),
        start_period: Some(nanos(health.start_period_ms)),
        retries: Some(i64::from(health.retries.max(1))),
        ..HealthConfig::default()
    })
}

/// Milliseconds as the engine wants them.
fn nanos(millis: u64) -> i64 {
    i64::try_from(Duration::from_millis(millis).as_nanos()).unwrap_or(i64::MAX)
}

/// The engine waits in whole seconds.
fn whole_seconds(millis: u64) -> i64 {
    signed(millis.div_ceil(1000))
}

/// Sizes and counts as the engine wants them.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
