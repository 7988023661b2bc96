//! `ports:` in its short and its long form, with ranges.

use std::net::IpAddr;

use super::problem::Problems;
use super::service::unsupported;
use super::walk::{At, shown};
use super::{MAX_PORTS, keys};
use crate::config::tree::{Node, Value};
use crate::service::{Port, Protocol};

/// A port in the words of a file.
#[derive(Debug, Clone, Copy, Default)]
struct Words<'t> {
    host_ip: Option<&'t str>,
    host: Option<&'t str>,
    container: &'t str,
    protocol: Option<&'t str>,
}

/// The published ports of a service, each with where it stands.
pub(super) fn read(at: &At, problems: &mut Problems<'_>) -> Vec<(Port, At)> {
    let mut ports: Vec<(Port, At)> = Vec::new();
    for item in at.items(problems) {
        let list = if item.is_map() { long(&item, problems) } else { short(&item, problems) };
        for port in list {
            if ports.iter().any(|(other, _)| *other == port) {
                continue;
            }
            if ports.len() >= MAX_PORTS {
                problems.error(&item, format!("a service publishes at most {MAX_PORTS} ports"));
                return ports;
            }
            ports.push((port, item.clone()));
        }
    }
    ports
}

/// `expose:` opens nothing that networks would close, so that it is only checked.
pub(super) fn check_expose(at: &At, problems: &mut Problems<'_>) {
    for item in at.items(problems) {
        let Some(text) = item.text(problems) else { continue };
        let (range, protocol) = text.split_once('/').map_or((text.as_str(), None), |(a, b)| (a, Some(b)));
        let checked = self::range(range).and_then(|_| self::protocol(protocol));
        if let Err(reason) = checked {
            problems.error(&item, reason);
        }
    }
}

/// What makes two entries of several files the same port.
pub(super) fn merge_key(item: &Node) -> Option<String> {
    let field = |name: &str| item.get(name).and_then(|node| node.text());
    let words = match &item.value {
        Value::Scalar(scalar) => cut(&scalar.text),
        Value::Map(_) => Words {
            host_ip: field("host_ip"),
            host: field("published"),
            container: field("target")?,
            protocol: field("protocol"),
        },
        Value::List(_) => return None,
    };
    let Words { host_ip, host, container, protocol } = words;
    let (host_ip, host) = (host_ip.unwrap_or("0.0.0.0"), host.unwrap_or_default());
    Some(format!("{host_ip}|{host}|{container}|{}", protocol.unwrap_or("tcp")))
}

fn short(item: &At, problems: &mut Problems<'_>) -> Vec<Port> {
    let Some(text) = item.text(problems) else { return Vec::new() };
    published(&cut(&text)).unwrap_or_else(|reason| {
        problems.error(item, format!("{}: {reason}", shown(&text)));
        Vec::new()
    })
}

fn long(item: &At, problems: &mut Problems<'_>) -> Vec<Port> {
    let mut texts: [Option<String>; 4] = [const { None }; 4];
    const FIELDS: [&str; 4] = ["host_ip", "published", "target", "protocol"];
    for (key, value) in item.entries(problems) {
        match FIELDS.iter().position(|field| *field == key) {
            Some(index) if !value.is_null() => texts[index] = value.text(problems),
            Some(_) => {}
            None => unsupported(&value, &key, keys::PORT, &FIELDS, problems),
        }
    }
    let [host_ip, host, container, protocol] = &texts;
    let Some(container) = container else {
        problems.error(item, "has no target: the port of the container");
        return Vec::new();
    };
    let (host_ip, host, protocol) = (host_ip.as_deref(), host.as_deref(), protocol.as_deref());
    published(&Words { host_ip, host, container, protocol }).unwrap_or_else(|reason| {
        problems.error(item, reason);
        Vec::new()
    })
}

/// `[[ip:]host:]container[/protocol]`. An address of version 6 may stand in brackets.
fn cut(text: &str) -> Words<'_> {
    let (rest, protocol) = match text.rsplit_once('/') {
        Some((rest, protocol)) => (rest, Some(protocol)),
        None => (text, None),
    };
    let Some((left, container)) = rest.rsplit_once(':') else {
        return Words { container: rest, protocol, ..Words::default() };
    };
    let (host_ip, host) = match left.rsplit_once(':') {
        Some((ip, host)) => (Some(ip), Some(host)),
        None if left.contains('.') => (Some(left), None),
        None => (None, Some(left)),
    };
    Words { host_ip, host: host.filter(|host| !host.is_empty()), container, protocol }
}

fn published(words: &Words<'_>) -> Result<Vec<Port>, String> {
    let host_ip = words.host_ip.filter(|ip| !ip.is_empty()).map(address).transpose()?;
    let protocol = protocol(words.protocol)?;
    let container = range(words.container)?;
    let Some(host) = words.host.filter(|host| !host.is_empty()) else {
        return Err(format!(
            "names no port of the host; write one before a colon, such as \"8080:{}\"",
            words.container
        ));
    };
    let host = range(host)?;
    if host.clone().count() != container.clone().count() {
        return Err("both ranges must have as many ports; no port is chosen out of a range".to_owned());
    }
    let port = |(host, container)| Port { host, container, protocol, host_ip };
    Ok(host.zip(container).map(port).collect())
}

fn address(text: &str) -> Result<IpAddr, String> {
    let plain = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    plain.parse().map_err(|_| format!("{} is no address of the host", shown(text)))
}

fn protocol(text: Option<&str>) -> Result<Protocol, String> {
    match text.map(str::to_ascii_lowercase).as_deref() {
        None | Some("tcp") => Ok(Protocol::Tcp),
        Some("udp") => Ok(Protocol::Udp),
        Some(other) => Err(format!("the protocol {} is not supported; tcp and udp are", shown(other))),
    }
}

/// `80` or `80-90`.
fn range(text: &str) -> Result<std::ops::RangeInclusive<u16>, String> {
    let bad = || {
        format!("{} is no port; write a number from 1 to 65535, or a range such as 8000-8010", shown(text))
    };
    let port = |text: &str| {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u16>().ok().filter(|port| digits && *port > 0).ok_or_else(bad)
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (port(first)?, port(last)?);
    if first > last {
        return Err(bad());
    }
    Ok(first..=last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Vec<String>, String> {
        let show = |port: Port| {
            let ip = port.host_ip.map_or(String::new(), |ip| format!("{ip} "));
            format!("{ip}{}->{}/{}", port.host, port.container, port.protocol)
        };
        Ok(published(&cut(text))?.into_iter().map(show).collect())
    }

    #[test]
    fn short_forms_are_cut_from_the_right() {
        for (text, ports) in [
            ("8080:80", vec!["8080->80/tcp"]),
            ("53:53/udp", vec!["53->53/udp"]),
            ("127.0.0.1:8080:80", vec!["127.0.0.1 8080->80/tcp"]),
            ("[::1]:8080:80/TCP", vec!["::1 8080->80/tcp"]),
            ("::1:8080:80", vec!["::1 8080->80/tcp"]),
            ("3000-3001:4000-4001", vec!["3000->4000/tcp", "3001->4001/tcp"]),
        ] {
            assert_eq!(of(text).unwrap(), ports, "{text}");
        }
    }

    #[test]
    fn what_is_no_port_is_refused() {
        for text in ["80", "127.0.0.1::80", "127.0.0.1:80", "3000-3005", ":80"] {
            assert!(of(text).unwrap_err().contains("names no port of the host"), "{text}");
        }
        for text in ["a:80", "0:80", "65536:80", "80:", "9-8:9-8", "+80:80", "80:80-"] {
            assert!(of(text).unwrap_err().contains("is no port"), "{text}");
        }
        assert!(of("8000-8010:80").unwrap_err().contains("as many ports"));
        assert!(of("80:80/sctp").unwrap_err().contains("sctp"));
        assert!(of("host:80:80").unwrap_err().contains("is no address"));
    }
}
