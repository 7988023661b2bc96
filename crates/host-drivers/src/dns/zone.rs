//! Who may see which name. Built anew from each configuration, then only read.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use host_proto::desired::{Dns, DnsRecord, DnsValue, RecordType};
use host_proto::id::{NetworkId, ProjectId};
use reconcile::firewall::Subnet;

use crate::netd::{Config, Network};

/// Longest that an answer may be kept, in seconds, whatever a configuration says (R59).
const MAX_TTL: u32 = 5;

/// All names of a host, by project.
#[derive(Debug)]
pub struct Zone {
    domain: String,
    ttl_s: u32,
    range: Subnet,
    networks: Vec<Network>,
    members: HashMap<IpAddr, Vec<NetworkId>>,
    projects: HashMap<ProjectId, Project>,
}

#[derive(Debug, Default)]
struct Project {
    records: HashMap<String, Vec<DnsValue>>,
    /// Names that are no record but stand above one: they exist without data.
    above: HashSet<String>,
    /// Which name an address goes by, and how many addresses that name has.
    names: HashMap<IpAddr, (usize, String)>,
}

/// What there is for a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// Addresses, in the order of the configuration.
    Addresses(Vec<IpAddr>),
    /// The name of an address, without the final dot.
    Pointer(String),
    /// The name exists and has no such record: an empty answer, never "no such name" (R59).
    NoData,
    /// There is no such name, and nobody else is to be asked (R59).
    NoName,
    /// A name of the world.
    Elsewhere,
}

/// What of a name is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    V4,
    V6,
    /// Whatever addresses there are.
    Any,
    Pointer,
    /// A kind that names of ours never have.
    Other,
    /// One that is asked about zones at the root: a single label is then a domain of the world.
    Zone,
}

impl Zone {
    /// The names of a configuration.
    pub fn new(config: &Config) -> Self {
        let mut projects: HashMap<ProjectId, Project> = HashMap::new();
        for record in &config.dns.records {
            projects.entry(record.project_id.clone()).or_default().add(record);
        }
        let domain = config.dns.domain.trim_matches('.').to_ascii_lowercase();
        let members = config.members.iter().map(|(ip, networks)| (IpAddr::V4(*ip), networks.clone()));
        Self {
            domain: if domain.is_empty() { Dns::default().domain } else { domain },
            ttl_s: config.dns.ttl_s.clamp(1, MAX_TTL),
            range: config.range,
            networks: config.networks.clone(),
            members: members.collect(),
            projects,
        }
    }

    /// How long an answer may be kept, in seconds.
    pub(super) fn ttl_s(&self) -> u32 {
        self.ttl_s
    }

    /// The zone that all names of ours are in.
    pub(super) fn domain(&self) -> &str {
        &self.domain
    }

    /// What there is for a name in lower case without its final dot; none when the address is no neighbour's.
    pub(super) fn find(&self, asker: IpAddr, name: &str, wanted: Wanted) -> Option<Found> {
        let IpAddr::V4(v4) = asker else { return None };
        let home = self.networks.iter().find(|network| network.names && network.subnet.contains(v4))?;
        let seen = Sight { zone: self, home, asker };
        Some(match wanted {
            Wanted::Pointer => seen.pointer(name),
            _ => seen.forward(name, wanted),
        })
    }
}

impl Project {
    fn add(&mut self, record: &DnsRecord) {
        if record.kind == RecordType::Unknown {
            return;
        }
        let name = record.name.trim_matches('.').to_ascii_lowercase();
        let mut rest = name.as_str();
        while let Some((_, above)) = rest.split_once('.') {
            self.above.insert(above.to_owned());
            rest = above;
        }
        let fits = |value: &&DnsValue| value.ip.is_ipv4() == (record.kind == RecordType::A);
        let values: Vec<_> = record.values.iter().filter(fits).cloned().collect();
        for value in &values {
            // The name that says most: `web-1` has one address, `web` may have many.
            let rank = |(addresses, name): &(usize, String)| (*addresses, Reverse(name.len()));
            let this = (values.len(), name.clone());
            if self.names.get(&value.ip).is_none_or(|other| rank(&this) < rank(other)) {
                self.names.insert(value.ip, this);
            }
        }
        self.records.entry(name).or_default().extend(values);
    }
}

/// The zone as one asker sees it.
struct Sight<'a> {
    zone: &'a Zone,
    home: &'a Network,
    asker: IpAddr,
}

impl Sight<'_> {
    fn forward(&self, name: &str, wanted: Wanted) -> Found {
        let domain = self.zone.domain.as_str();
        if name == domain {
            return Found::NoData;
        }
        if let Some(inner) = name.strip_suffix(domain).and_then(|inner| inner.strip_suffix('.')) {
            let project = self.home.project.to_ascii_lowercase();
            return match inner.strip_suffix(project.as_str()) {
                Some("") => Found::NoData,
                Some(rest) => rest.strip_suffix('.').map_or(Found::NoName, |local| self.local(local, wanted)),
                None => Found::NoName,
            };
        }
        match self.local(name, wanted) {
            // A bare word is a name of ours or none: asking the world for it would tell the world our names, and
            // costs a time-out on a host without a way out.
            Found::NoName if name.is_empty() || name.contains('.') || wanted == Wanted::Zone => {
                Found::Elsewhere
            }
            found => found,
        }
    }

    /// A name within the asker's project.
    fn local(&self, name: &str, wanted: Wanted) -> Found {
        let Some(project) = self.zone.projects.get(&self.home.project_id) else { return Found::NoName };
        let Some(values) = project.records.get(name) else {
            return if project.above.contains(name) && !name.is_empty() {
                Found::NoData
            } else {
                Found::NoName
            };
        };
        let seen: Vec<_> = values.iter().filter(|value| self.sees(&value.network_id)).collect();
        if seen.is_empty() && !values.is_empty() {
            return Found::NoName;
        }
        let addresses: Vec<_> = seen
            .iter()
            .map(|value| value.ip)
            .filter(|ip| match wanted {
                Wanted::V4 => ip.is_ipv4(),
                Wanted::V6 => ip.is_ipv6(),
                Wanted::Any => true,
                Wanted::Pointer | Wanted::Other | Wanted::Zone => false,
            })
            .collect();
        if addresses.is_empty() { Found::NoData } else { Found::Addresses(addresses) }
    }

    fn pointer(&self, name: &str) -> Found {
        let Some(ip) = address_of(name) else { return self.forward(name, Wanted::Other) };
        let project = self.zone.projects.get(&self.home.project_id);
        let named = project.and_then(|project| {
            let (_, name) = project.names.get(&ip)?;
            let values = project.records.get(name)?;
            values.iter().any(|value| value.ip == ip && self.sees(&value.network_id)).then_some(name)
        });
        match (named, ip) {
            (Some(name), _) => {
                let project = self.home.project.to_ascii_lowercase();
                Found::Pointer(format!("{name}.{project}.{}", self.zone.domain))
            }
            (None, IpAddr::V4(v4)) if self.ours(v4) => Found::NoName,
            (None, _) => Found::Elsewhere,
        }
    }

    fn ours(&self, ip: Ipv4Addr) -> bool {
        self.zone.range.contains(ip) || self.zone.networks.iter().any(|network| network.subnet.contains(ip))
    }

    fn sees(&self, network: &NetworkId) -> bool {
        *network == self.home.id
            || self.zone.members.get(&self.asker).is_some_and(|networks| networks.contains(network))
    }
}

/// The address that a name below `in-addr.arpa` or `ip6.arpa` stands for.
fn address_of(name: &str) -> Option<IpAddr> {
    if let Some(digits) = name.strip_suffix(".in-addr.arpa") {
        let mut parts: Vec<&str> = digits.split('.').collect();
        parts.reverse();
        return parts.join(".").parse::<Ipv4Addr>().ok().map(IpAddr::V4);
    }
    let digits = name.strip_suffix(".ip6.arpa")?;
    let nibbles: Vec<_> = digits.split('.').rev().collect();
    if nibbles.len() != 32 || nibbles.iter().any(|nibble| nibble.len() != 1) {
        return None;
    }
    u128::from_str_radix(&nibbles.concat(), 16).ok().map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits)))
}
