//! Networks: those that a service is on, and those that a project has. Also the names in a container's hosts file.

use std::collections::BTreeSet;

use super::keys;
use super::problem::Problems;
use super::service::{Use, UseKind, unsupported};
use super::walk::{At, shown};
use crate::service::{Attachment, ExtraHost, HostAddress, NetworkSpec, is_name};

pub(super) use crate::service::DEFAULT_NETWORK as DEFAULT;

/// The most networks of a service.
const MAX_NETWORKS: usize = 16;

/// `networks:` of a service.
pub(super) fn attachments(at: &At, problems: &mut Problems<'_>) -> (Vec<Attachment>, Vec<Use>) {
    let mut list: Vec<Attachment> = Vec::new();
    let mut uses = Vec::new();
    let named: Vec<(String, At)> = if at.is_list() {
        let items = at.items(problems);
        items.into_iter().filter_map(|item| Some((item.text(problems)?, item))).collect()
    } else {
        at.entries(problems)
    };
    for (network, item) in named {
        if list.iter().any(|other| other.network == network) {
            continue;
        }
        if list.len() >= MAX_NETWORKS {
            problems.error(at, format!("a service is on at most {MAX_NETWORKS} networks"));
            break;
        }
        let aliases = if item.is_map() { aliases(&item, problems) } else { Vec::new() };
        uses.push(Use { kind: UseKind::Network, name: network.clone(), at: item });
        list.push(Attachment { network, aliases });
    }
    list.sort_by(|a, b| a.network.cmp(&b.network));
    (list, uses)
}

/// The network of a service that names none.
pub(super) fn default(at: &At) -> (Vec<Attachment>, Vec<Use>) {
    let attachment = Attachment { network: DEFAULT.to_owned(), aliases: Vec::new() };
    (vec![attachment], vec![Use { kind: UseKind::Network, name: DEFAULT.to_owned(), at: at.clone() }])
}

fn aliases(at: &At, problems: &mut Problems<'_>) -> Vec<String> {
    let mut aliases = BTreeSet::new();
    for (key, value) in at.entries(problems) {
        match key.as_str() {
            "aliases" => {
                for item in value.items(problems) {
                    let Some(alias) = item.text(problems) else { continue };
                    if is_host_name(&alias) {
                        aliases.insert(alias.to_ascii_lowercase());
                    } else {
                        problems.error(&item, format!("{} is no name of DNS", shown(&alias)));
                    }
                }
            }
            _ => unsupported(&value, &key, keys::ATTACHMENT, &["aliases"], problems),
        }
    }
    aliases.into_iter().collect()
}

/// A network at the top.
pub(super) fn network(name: &str, at: &At, problems: &mut Problems<'_>) -> NetworkSpec {
    if !is_name(name) {
        problems.error(at, super::service::bad_name(name));
    }
    let mut spec = NetworkSpec { name: name.to_owned(), internal: false };
    for (key, value) in at.entries(problems) {
        match key.as_str() {
            _ if value.is_null() => {}
            "internal" => spec.internal = value.boolean(problems).unwrap_or(false),
            "driver" => {
                let driver = value.text(problems).unwrap_or_default();
                if driver == "overlay" {
                    problems.warn(&value, "the network is Muster's own kind; leave the driver out");
                } else if !matches!(driver.as_str(), "" | "default" | "bridge") {
                    let text = "is not supported; every network is Muster's own kind: leave the driver out";
                    problems.error(&value, format!("the driver {} {text}", shown(&driver)));
                }
            }
            _ => unsupported(&value, &key, keys::NETWORK, &["internal", "driver"], problems),
        }
    }
    spec
}

/// `extra_hosts:`: a list of `name:address` or `name=address`, or a map.
pub(super) fn extra_hosts(at: &At, problems: &mut Problems<'_>) -> Vec<ExtraHost> {
    let mut pairs: Vec<(String, String, At)> = Vec::new();
    if at.is_map() {
        for (name, value) in at.entries(problems) {
            for one in value.one_or_many(problems) {
                pairs.extend(one.text(problems).map(|address| (name.clone(), address, one)));
            }
        }
    } else {
        for item in at.items(problems) {
            let Some(text) = item.text(problems) else { continue };
            match text.split_once('=').or_else(|| text.split_once(':')) {
                Some((name, address)) => pairs.push((name.to_owned(), address.to_owned(), item)),
                None => problems.error(&item, format!("{} is no name with an address after =", shown(&text))),
            }
        }
    }
    let mut hosts = BTreeSet::new();
    for (name, address, item) in pairs {
        if !is_host_name(&name) {
            problems.error(&item, format!("{} is no name of a host", shown(&name)));
            continue;
        }
        let plain = address.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(&address);
        match plain.parse() {
            Ok(ip) => {
                hosts.insert(ExtraHost { name, address: HostAddress::Ip(ip) });
            }
            Err(_) if plain == "host-gateway" => {
                hosts.insert(ExtraHost { name, address: HostAddress::Gateway });
            }
            Err(_) => problems.error(&item, format!("{} is no address", shown(&address))),
        }
    }
    hosts.into_iter().collect()
}

/// Labels of letters, digits, `-` and `_` between dots.
pub(super) fn is_host_name(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    text.len() <= 253 && text.split('.').all(is_label)
}
