//! What is another between two specifications of a service, in words. Values of the environment are never among them:
//! they can be secret.

use std::collections::BTreeSet;
use std::fmt::Display;

use model::service::{ContainerSpec, Port, ServiceSpec, Shared, VolumeSpec};

/// What is another, a line for each; empty: nothing.
pub fn changes(before: &ServiceSpec, after: &ServiceSpec) -> Vec<String> {
    let mut lines = Vec::new();
    container(&before.container, &after.container, &mut lines);
    let (was, is) = (before.scale.count(), after.scale.count());
    if was != is {
        lines.push(format!("replicas {was} → {is}"));
    } else if before.scale != after.scale {
        lines.push("singleton".to_owned());
    }
    sets("port", before.ports.iter().map(port), after.ports.iter().map(port), &mut lines);
    if before.placement != after.placement {
        lines.push("placement".to_owned());
    }
    if before.update != after.update {
        lines.push(format!("update {} → {}", before.update.order.as_str(), after.update.order.as_str()));
    }
    if before.depends_on != after.depends_on {
        lines.push("depends_on".to_owned());
    }
    shared(&before.shared, &after.shared, &mut lines);
    lines
}

/// What is another about networks and volumes that it had before. Which ones it has is a matter of the container.
fn shared(before: &Shared, after: &Shared, lines: &mut Vec<String>) {
    for network in &after.networks {
        let name = &network.name;
        match (before.network(name).map(|it| it.internal), network.internal) {
            (Some(false), true) => {
                lines.push(format!("network {name} becomes internal: nothing outside is reached from it"));
            }
            (Some(true), false) => {
                lines.push(format!("network {name} is internal no more: all outside is reached from it"));
            }
            (Some(_) | None, _) => {}
        }
    }
    let other = |volume: &&VolumeSpec| before.volume(&volume.name).is_some_and(|was| was != *volume);
    lines.extend(after.volumes.iter().filter(other).map(|it| format!("options of the volume {}", it.name)));
}

/// A port as people write it: `8080/tcp → 80`.
pub fn port(port: &Port) -> String {
    let ip = port.host_ip.map(|ip| format!("{ip}:")).unwrap_or_default();
    format!("{ip}{}/{} → {}", port.host, port.protocol, port.container)
}

fn container(before: &ContainerSpec, after: &ContainerSpec, lines: &mut Vec<String>) {
    if before.image != after.image {
        lines.push(format!("image {} → {}", before.image.short(), after.image.short()));
    }
    environment(before, after, lines);
    let parts = [
        ("command", before.command != after.command || before.entrypoint != after.entrypoint),
        ("health check", before.health != after.health),
        ("mounts", before.mounts != after.mounts),
        ("networks", before.networks != after.networks),
        ("limits", before.resources != after.resources || before.ulimits != after.ulimits),
        ("labels", before.labels != after.labels),
        ("restart policy", before.restart != after.restart),
        ("stop", before.stop != after.stop),
        ("security", before.security != after.security),
        ("logging", before.logging != after.logging),
        (
            "user, directory or host name",
            (&before.user, &before.working_dir, &before.hostname, &before.extra_hosts, before.init)
                != (&after.user, &after.working_dir, &after.hostname, &after.extra_hosts, after.init),
        ),
    ];
    lines.extend(parts.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name.to_owned()));
}

fn environment(before: &ContainerSpec, after: &ContainerSpec, lines: &mut Vec<String>) {
    sets("variable", before.env.keys(), after.env.keys(), lines);
    let other = before.env.iter().filter(|(name, value)| after.env.get(*name).is_some_and(|is| is != *value));
    let names: Vec<&str> = other.map(|(name, _)| name.as_str()).collect();
    if !names.is_empty() {
        lines.push(format!("another value of {}", names.join(", ")));
    }
}

fn sets<T: Display>(
    what: &str,
    before: impl Iterator<Item = T>,
    after: impl Iterator<Item = T>,
    lines: &mut Vec<String>,
) {
    let before: BTreeSet<String> = before.map(|it| it.to_string()).collect();
    let after: BTreeSet<String> = after.map(|it| it.to_string()).collect();
    lines.extend(before.difference(&after).map(|gone| format!("{what} {gone} goes")));
    lines.extend(after.difference(&before).map(|new| format!("{what} {new} comes")));
}
