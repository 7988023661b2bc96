//! What netd serves: the part of a desired state that names and ports need, and nothing of its secrets. It replaces what
//! was there (R60); nothing is merged.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use host_proto::desired::{DesiredRun, DesiredState, Dns, Protocol, Route, RouteKind};
use host_proto::id::{NetworkId, ProjectId};
use reconcile::firewall::Subnet;
use serde::{Deserialize, Serialize};

/// What netd serves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// What the addresses of all networks come from: addresses in it are never asked for elsewhere.
    pub range: Subnet,
    /// The networks of this host; those with `names` are served on their gateways.
    pub networks: Vec<Network>,
    /// In which networks the owner of an address stands: one that stands in two sees the names of both.
    pub members: BTreeMap<Ipv4Addr, Vec<NetworkId>>,
    /// The names.
    pub dns: Dns,
    /// The ports: routes of kind `tcp` and `udp`.
    pub routes: Vec<Route>,
}

/// A network that asks for names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// Which.
    pub id: NetworkId,
    /// Whose.
    pub project_id: ProjectId,
    /// The project's name, as it stands in DNS.
    pub project: String,
    /// Who may ask.
    pub subnet: Subnet,
    /// Where it is asked.
    pub gateway: Ipv4Addr,
    /// Whether it is answered.
    pub names: bool,
}

impl Config {
    /// A configuration that serves nothing.
    pub fn empty(range: Subnet) -> Self {
        Self {
            range,
            networks: Vec::new(),
            members: BTreeMap::new(),
            dns: Dns::default(),
            routes: Vec::new(),
        }
    }

    /// The part of a state that netd serves. A network whose subnet cannot be read is left out: the firewall's table
    /// names it and holds it closed. Ports without a number are left out too; there is nothing to listen on.
    pub fn of(state: &DesiredState, range: Subnet) -> Self {
        let networks = state.networks.iter().filter_map(|network| {
            Some(Network {
                id: network.id.clone(),
                project_id: network.project_id.clone(),
                project: network.project.clone(),
                subnet: network.subnet.parse().ok()?,
                gateway: network.gateway,
                names: network.internal_dns,
            })
        });
        let mut members: BTreeMap<Ipv4Addr, Vec<NetworkId>> = BTreeMap::new();
        for replica in state.replicas.iter().filter(|replica| replica.desired != DesiredRun::Absent) {
            let all: Vec<_> =
                replica.networks.iter().map(|attachment| attachment.network_id.clone()).collect();
            for attachment in &replica.networks {
                members.insert(attachment.ip, all.clone());
            }
        }
        let served = |route: &&Route| {
            protocol(route.kind).is_some() && route.listen_port.is_some_and(|port| port != 0)
        };
        Self {
            range,
            networks: networks.collect(),
            members,
            dns: state.dns.clone(),
            routes: state.routes.iter().filter(served).cloned().collect(),
        }
    }

    /// The same while what it replaces goes: nothing leads to those who leave any more, and they keep their names to the
    /// end. A network in whose block another one stands now is not served twice.
    pub fn while_leaving(mut self, before: &Self) -> Self {
        let overlap = |a: &Network, b: &Network| a.subnet.contains(b.gateway) || b.subnet.contains(a.gateway);
        let free = |it: &&Network| !self.networks.iter().any(|own| own.id == it.id || overlap(own, it));
        let more: Vec<_> = before.networks.iter().filter(free).cloned().collect();
        self.networks.extend(more);
        for (ip, networks) in &before.members {
            self.members.entry(*ip).or_insert_with(|| networks.clone());
        }
        self
    }

    /// Whether an address still belongs to something that should exist: a replica, or the end of a route.
    pub(crate) fn knows(&self, ip: IpAddr) -> bool {
        let member = match ip {
            IpAddr::V4(ip) => self.members.contains_key(&ip),
            IpAddr::V6(_) => false,
        };
        member || self.routes.iter().flat_map(|route| &route.upstreams).any(|upstream| upstream.ip == ip)
    }
}

/// The transport of a route; none for routes that are not ports.
pub(crate) fn protocol(kind: RouteKind) -> Option<Protocol> {
    match kind {
        RouteKind::Tcp => Some(Protocol::Tcp),
        RouteKind::Udp => Some(Protocol::Udp),
        RouteKind::Http | RouteKind::Unknown => None,
    }
}

#[cfg(test)]
mod tests;
