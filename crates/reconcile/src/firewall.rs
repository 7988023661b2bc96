//! Which packets may pass on a host: the networks and rules of a desired state as one nftables table (R34, R48). Every
//! bridge of ours begins with `mst`, so a network that the table does not know yet is refused by its name alone.
//!
//! The table stands beside the engine's own rules and a step before them. A packet has to pass both: what is accepted
//! here can still be dropped there (R49), what is refused here is refused. Nothing else on the machine is touched.

mod block;
mod explicit;
mod ruleset;

use host_proto::desired::{DesiredState, Egress, Network};
use host_proto::id::RuleId;

pub use block::{BadBlock, Block, Subnet};
pub use ruleset::{BRIDGE_PREFIX, Ruleset, TABLE};

use ruleset::{Chains, Zone};

/// A table and what of the state is not in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// What is to be in place.
    pub ruleset: Ruleset,
    /// What this version cannot put in place. Its packets are refused, as without it.
    pub refused: Vec<Refused>,
}

/// A part of the state that is not in the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The identifier of the network or rule.
    pub id: String,
    /// Why, for people.
    pub reason: String,
}

/// The table for a state. `range` is what the addresses of all networks of all hosts come from: no container reaches
/// into it beyond its own network, wherever its packets go.
///
/// - Within a network all may talk. Between two networks nobody may, also within one project: who shall talk to both is
///   attached to both.
/// - Out of a network with `egress: allow` the world can be reached, but no address of `range` and no service of this
///   host. With `deny` nothing can.
/// - The host answers names on the network's own gateway and echo requests, nothing else.
/// - Into a network comes what belongs to a connection that began within, and what a rule allows. Published ports need
///   no rule: the host itself connects, and what the host sends is not filtered.
/// - The rules of the state come before these, in their order; the first that fits decides.
/// - What belongs to a connection that was accepted once goes on, but for what a network began that is closed now.
pub fn compile(state: &DesiredState, range: Subnet) -> Compiled {
    let mut refused = Vec::new();
    let mut zones: Vec<Zone> = Vec::new();
    for network in &state.networks {
        match zone(network, &zones) {
            Ok(zone) => zones.push(zone),
            Err(reason) => refused.push(Refused { id: network.id.to_string(), reason }),
        }
    }
    let mut chains = Chains::default();
    for rule in &state.firewall {
        if let Err(reason) = explicit::add(rule, &zones, &mut chains) {
            refused.push(refusal(&rule.id, reason));
        }
    }
    Compiled { ruleset: Ruleset::new(&zones, &chains, range), refused }
}

/// The table for a host that knows no state: nothing passes from or to a network of ours.
pub fn closed(range: Subnet) -> Ruleset {
    Ruleset::new(&[], &Chains::default(), range)
}

fn refusal(id: &RuleId, reason: String) -> Refused {
    Refused { id: id.to_string(), reason }
}

fn zone(network: &Network, known: &[Zone]) -> Result<Zone, String> {
    let subnet: Subnet = network.subnet.parse().map_err(|bad: BadBlock| bad.to_string())?;
    if !ruleset::is_bridge(&network.bridge) {
        return Err(format!(
            "`{}` is no name of ours for a bridge: `{BRIDGE_PREFIX}` and 1 to 12 letters and digits",
            network.bridge
        ));
    }
    if !subnet.contains(network.gateway) {
        return Err(format!("the gateway {} is not in {subnet}", network.gateway));
    }
    if let Some(other) = known.iter().find(|other| other.bridge == network.bridge) {
        return Err(format!("the bridge {} is that of {} already", network.bridge, other.id));
    }
    Ok(Zone {
        id: network.id.clone(),
        bridge: network.bridge.clone(),
        subnet,
        gateway: network.gateway,
        world: network.egress == Egress::Allow,
        names: network.internal_dns,
    })
}

#[cfg(test)]
mod tests;
