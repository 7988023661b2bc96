//! What only the whole shows: names that lead nowhere, circles, ports that collide, and limits that contradict each other.

use std::collections::{BTreeMap, BTreeSet};

use super::networks::DEFAULT;
use super::problem::Problems;
use super::service::{Draft, Read, Use, UseKind};
use super::walk::{At, shown};
use super::{Config, Project, Secret, Service};
use crate::service::{Condition, NetworkSpec, Port, Shared, VolumeSpec};

/// What a project has under its names. A value that could not be read is still known.
#[derive(Default)]
pub(super) struct Known {
    pub(super) networks: BTreeMap<String, NetworkSpec>,
    pub(super) volumes: BTreeMap<String, VolumeSpec>,
    pub(super) secrets: BTreeMap<String, Option<Secret>>,
    pub(super) configs: BTreeMap<String, Option<Config>>,
}

/// Checks a project across its services and keeps what they use. Services whose profiles are off have no [`Read`].
pub(super) fn project(
    name: String,
    services: BTreeMap<String, Option<Read>>,
    known: Known,
    problems: &mut Problems<'_>,
) -> Option<Project> {
    let names: BTreeMap<&str, bool> =
        services.iter().map(|(name, read)| (name.as_str(), read.is_some())).collect();
    let on: Vec<&Read> = services.values().flatten().collect();
    let mut used = Used::default();
    for used_by in on.iter().flat_map(|read| &read.uses) {
        used.add(used_by, &known, &names, problems);
    }
    circles(&on, problems);
    colliding_ports(&on, problems);
    conditions(&on, problems);
    let mut list = Vec::new();
    for Read { name, at, mut spec, .. } in services.into_values().flatten() {
        // What is not required and not there is no dependency.
        spec.depends_on.retain(|dependency| used.services.contains(&dependency.service));
        list.push(Service { name, spec, file: problems.file_name(at.place), line: at.place.line });
    }
    let Known { mut networks, volumes, secrets, configs } = known;
    let default = NetworkSpec { name: DEFAULT.to_owned(), internal: false };
    networks.entry(DEFAULT.to_owned()).or_insert(default);
    let kept = |names: &BTreeSet<String>, name: &String| names.contains(name);
    let networks: Vec<_> =
        networks.into_iter().filter(|(n, _)| kept(&used.networks, n)).map(|(_, v)| v).collect();
    let volumes: Vec<_> =
        volumes.into_iter().filter(|(n, _)| kept(&used.volumes, n)).map(|(_, v)| v).collect();
    for Service { spec, .. } in &mut list {
        spec.shared = Shared::of(&spec.container, &networks, &volumes);
    }
    Some(Project {
        name,
        services: list,
        networks,
        volumes,
        secrets: secrets.into_iter().filter(|(n, _)| kept(&used.secrets, n)).filter_map(|(_, v)| v).collect(),
        configs: configs.into_iter().filter(|(n, _)| kept(&used.configs, n)).filter_map(|(_, v)| v).collect(),
        warnings: Vec::new(),
    })
}

/// The names that services use.
#[derive(Default)]
struct Used {
    networks: BTreeSet<String>,
    volumes: BTreeSet<String>,
    secrets: BTreeSet<String>,
    configs: BTreeSet<String>,
    services: BTreeSet<String>,
}

impl Used {
    fn add(
        &mut self,
        used: &Use,
        known: &Known,
        services: &BTreeMap<&str, bool>,
        problems: &mut Problems<'_>,
    ) {
        let Use { kind, name, at } = used;
        let (is_known, section, into) = match kind {
            UseKind::Network => {
                (name == DEFAULT || known.networks.contains_key(name), "networks", &mut self.networks)
            }
            UseKind::Volume => (known.volumes.contains_key(name), "volumes", &mut self.volumes),
            UseKind::Secret => (known.secrets.contains_key(name), "secrets", &mut self.secrets),
            UseKind::Config => (known.configs.contains_key(name), "configs", &mut self.configs),
            UseKind::Service { is_required } => {
                match services.get(name.as_str()) {
                    Some(true) => {
                        self.services.insert(name.clone());
                    }
                    Some(false) if *is_required => {
                        problems.error(at, format!("the service {} is off by its profiles", shown(name)));
                    }
                    None if *is_required => {
                        problems.error(at, format!("there is no service {}", shown(name)));
                    }
                    Some(false) | None => {}
                }
                return;
            }
        };
        if is_known {
            into.insert(name.clone());
        } else {
            problems.error(at, format!("{} does not stand under {section}: at the top", shown(name)));
        }
    }
}

/// Dependencies that come back to where they began. What depends on nothing is taken away until nothing changes; what is
/// left is in a circle or waits for one.
fn circles(services: &[&Read], problems: &mut Problems<'_>) {
    let mut left: BTreeMap<&str, &&Read> = services.iter().map(|read| (read.name.as_str(), read)).collect();
    loop {
        let waits = |read: &Read| {
            read.spec.depends_on.iter().any(|dependency| left.contains_key(dependency.service.as_str()))
        };
        let free: Vec<&str> = left.iter().filter(|(_, read)| !waits(read)).map(|(name, _)| *name).collect();
        if free.is_empty() {
            break;
        }
        for name in free {
            left.remove(name);
        }
    }
    let Some(first) = left.keys().next().copied() else { return };
    let (mut chain, mut current) = (vec![first], first);
    while let Some(next) = left.get(current).and_then(|read| {
        read.spec
            .depends_on
            .iter()
            .map(|dependency| dependency.service.as_str())
            .find(|name| left.contains_key(name))
    }) {
        chain.push(next);
        if let Some(start) = chain[..chain.len() - 1].iter().position(|name| *name == next) {
            chain.drain(..start);
            break;
        }
        current = next;
    }
    let place = left.get(chain[0]).map(|read| read.at.get("depends_on").unwrap_or_else(|| read.at.clone()));
    if let Some(at) = place {
        problems.error(&at, format!("services wait for each other in a circle: {}", chain.join(", ")));
    }
}

/// One port of one host leads to one service. Services that are held to different hosts cannot collide.
fn colliding_ports(services: &[&Read], problems: &mut Problems<'_>) {
    let mut by_port: BTreeMap<u16, Vec<(&Read, &Port)>> = BTreeMap::new();
    for read in services {
        for (port, at) in &read.ports {
            let others = by_port.entry(port.host).or_default();
            let hosts = |other: &Read| (other.spec.placement.host.clone(), read.spec.placement.host.clone());
            let collides = |(other, taken): &&(&Read, &Port)| {
                let are_apart = matches!(hosts(other), (Some(a), Some(b)) if a != b);
                taken.collides(port) && !are_apart
            };
            if let Some((other, _)) = others.iter().find(collides) {
                let of = if other.name == read.name { "this service".to_owned() } else { shown(&other.name) };
                problems
                    .error(at, format!("port {}/{} of the host is taken by {of}", port.host, port.protocol));
            }
            others.push((read, port));
        }
    }
}

/// Who waits for health needs a service that says it.
fn conditions(services: &[&Read], problems: &mut Problems<'_>) {
    let by_name: BTreeMap<&str, &&Read> = services.iter().map(|read| (read.name.as_str(), read)).collect();
    for read in services {
        for dependency in read.spec.depends_on.iter().filter(|one| one.condition == Condition::Healthy) {
            let Some(other) = by_name.get(dependency.service.as_str()) else { continue };
            let at = read.at.get("depends_on").and_then(|at| at.get(&dependency.service));
            let Some(at) = at else { continue };
            match &other.spec.container.health {
                Some(health) if health.check == crate::service::Check::None => {
                    problems.error(&at, format!("the check of {} is switched off", shown(&other.name)));
                }
                Some(_) => {}
                None => {
                    let text =
                        "has no healthcheck here; unless its image has one it counts as healthy when it runs";
                    problems.warn(&at, format!("{} {text}", shown(&other.name)));
                }
            }
        }
    }
}

/// `container_name:`, which replicas cannot share.
pub(super) fn container_name(at: &At, draft: &Draft, problems: &mut Problems<'_>) {
    let Some(value) = at.get("container_name").filter(|value| !value.is_null()) else { return };
    match &draft.replicas {
        Some((2.., _)) => problems.error(&value, "several replicas cannot have one name; leave it out"),
        Some(_) | None => {
            problems.warn(
                &value,
                "is not used: names of containers are Muster's own; the service is reached by its name",
            );
        }
    }
}

/// Limits of one service that contradict each other.
pub(super) fn limits(at: &At, draft: &Draft, problems: &mut Problems<'_>) {
    let resources = &draft.container.resources;
    match (resources.memory_bytes, resources.memory_swap_bytes) {
        (Some(memory), Some(swap)) if swap < memory => {
            problems.error(at, "memswap_limit is below mem_limit; it is memory and swap together");
        }
        (None, Some(_)) => problems.error(at, "memswap_limit needs mem_limit"),
        _ => {}
    }
    let reserve = draft.placement.reserve;
    let above =
        |reserved: Option<u64>, limit: Option<u64>| matches!((reserved, limit), (Some(a), Some(b)) if a > b);
    if above(reserve.memory_bytes, resources.memory_bytes) || above(reserve.cpu_millis, resources.cpu_millis)
    {
        problems.error(at, "more is reserved than the limit allows");
    }
}
