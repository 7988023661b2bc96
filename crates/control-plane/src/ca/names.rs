//! The names that the server's certificate is good for: whatever an agent on this machine or on the net may
//! reasonably have been told to connect to.

use std::net::IpAddr;

use rcgen::SanType;

/// localhost, the loopback addresses, this machine's name, the addresses that are listened on, and the host of the
/// public URL. A name that no certificate can hold is left out.
pub(crate) fn server_names(public_host: Option<&str>, listening: &[IpAddr]) -> Vec<SanType> {
    let mut hosts = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    hosts.extend(hostname());
    hosts.extend(listening.iter().filter(|ip| !ip.is_unspecified()).map(IpAddr::to_string));
    hosts.extend(public_host.map(|host| host.trim_matches(['[', ']']).to_owned()));
    let mut names: Vec<SanType> = Vec::new();
    for host in hosts {
        let name = match host.parse::<IpAddr>() {
            Ok(ip) => Some(SanType::IpAddress(ip)),
            Err(_) => host.try_into().ok().map(SanType::DnsName),
        };
        names.extend(name.filter(|name| !names.contains(name)));
    }
    names
}

/// What the kernel calls this machine.
pub(crate) fn hostname() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let name = name.trim();
    (!name.is_empty() && name != "(none)").then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_and_the_public_host_are_always_there_and_each_name_once() {
        let names = server_names(Some("muster.example.org"), &[[127, 0, 0, 1].into(), [10, 0, 0, 7].into()]);
        let dns = |name: &str| SanType::DnsName(name.to_owned().try_into().unwrap());
        for wanted in [
            dns("localhost"),
            dns("muster.example.org"),
            SanType::IpAddress([127, 0, 0, 1].into()),
            SanType::IpAddress([10, 0, 0, 7].into()),
        ] {
            assert_eq!(names.iter().filter(|name| **name == wanted).count(), 1, "{wanted:?}");
        }
    }
}
