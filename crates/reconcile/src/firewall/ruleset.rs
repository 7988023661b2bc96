//! The text of the table. nft reads it whole and puts it in place at once or not at all. It holds nothing that depends
//! on the moment: the same networks and rules give the same text, so a hash says whether it is another.

use std::fmt;
use std::fmt::Write as _;
use std::net::Ipv4Addr;

use host_proto::id::NetworkId;
use sha2::{Digest, Sha256};

use super::block::Subnet;

/// Family and name of the table: all that is ours in the kernel's rules.
pub const TABLE: &str = "inet muster";

/// What every bridge of ours is called by.
pub const BRIDGE_PREFIX: &str = "mst";

/// Refusal with an answer, so that a container knows at once instead of waiting (`type` is for nft before 1.0).
pub(super) const REJECT: &str = "reject with icmpx type admin-prohibited";

/// What belongs to a connection that was accepted once.
const ESTABLISHED: &str = "ct state established,related accept";

/// A network of ours, checked.
pub(super) struct Zone {
    pub(super) id: NetworkId,
    pub(super) bridge: String,
    pub(super) subnet: Subnet,
    pub(super) gateway: Ipv4Addr,
    pub(super) world: bool,
    pub(super) names: bool,
}

/// The state's own rules, as lines.
#[derive(Default)]
pub(super) struct Chains {
    pub(super) net_out: Vec<String>,
    pub(super) net_in: Vec<String>,
    pub(super) host_in: Vec<String>,
}

/// A table for nft, to be printed and compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruleset {
    text: String,
}

/// Whether a text can be the name of a bridge of ours, at most 15 bytes as the kernel wants it.
pub(super) fn is_bridge(name: &str) -> bool {
    name.strip_prefix(BRIDGE_PREFIX).is_some_and(|rest| {
        (1..=12).contains(&rest.len()) && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

impl Ruleset {
    pub(super) fn new(zones: &[Zone], chains: &Chains, range: Subnet) -> Self {
        let mut text = format!("table {TABLE} {{\n");
        for (name, lines) in hooks(zones) {
            chain(&mut text, &name, &lines);
        }
        chain(&mut text, "leaving", &dispatch(zones, "from", REJECT));
        chain(&mut text, "entering", &["jump net_in".to_owned(), "drop".to_owned()]);
        chain(&mut text, "to_host", &dispatch(zones, "host", REJECT));
        chain(&mut text, "net_out", &chains.net_out);
        chain(&mut text, "net_in", &chains.net_in);
        chain(&mut text, "host_in", &chains.host_in);
        for zone in zones {
            chain(&mut text, &format!("from_{}", zone.bridge), &from(zone, range));
            chain(&mut text, &format!("host_{}", zone.bridge), &host(zone));
        }
        text.push_str("}\n");
        Self { text }
    }

    /// The table as it is written in a file of nft.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What to give to nft: one batch that replaces the table, whether there is one or not.
    pub fn batch(&self) -> String {
        format!("table {TABLE}\ndelete table {TABLE}\n{}", self.text)
    }

    /// SHA-256 of the text, 64 hexadecimal digits.
    pub fn hash(&self) -> String {
        hex::encode(Sha256::digest(self.text.as_bytes()))
    }
}

impl fmt::Display for Ruleset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn chain(text: &mut String, name: &str, lines: &[String]) {
    let _ = writeln!(text, "\tchain {name} {{");
    for line in lines {
        let _ = writeln!(text, "\t\t{line}");
    }
    text.push_str("\t}\n");
}

/// The two places where packets come by: a step before the engine's own rules (priority 0), so that a refusal is ours
/// and has an answer.
fn hooks(zones: &[Zone]) -> [(String, Vec<String>); 2] {
    let forward = [
        "type filter hook forward priority -5; policy accept;",
        ESTABLISHED,
        "iifname \"mst*\" jump leaving",
        "oifname \"mst*\" jump entering",
    ];
    let input = [
        "type filter hook input priority -5; policy accept;",
        "iifname != \"mst*\" accept",
        ESTABLISHED,
        "jump to_host",
    ];
    let lines = |lines: [&str; 4]| lines.map(str::to_owned).to_vec();
    let mut forward = lines(forward);
    // A network that was open a moment ago is closed for what it began then as well. What began outside of it and was
    // let in by a rule goes on.
    let closed: Vec<_> =
        zones.iter().filter(|zone| !zone.world).map(|zone| format!("\"{}\"", zone.bridge)).collect();
    if !closed.is_empty() {
        forward.insert(1, format!("iifname {{ {} }} ct direction original jump leaving", closed.join(", ")));
    }
    [("forward".to_owned(), forward), ("input".to_owned(), lines(input))]
}

/// To the chain of the bridge that the packet came in by, and refused when it is none that the table knows.
fn dispatch(zones: &[Zone], prefix: &str, otherwise: &str) -> Vec<String> {
    let jumps: Vec<_> =
        zones.iter().map(|zone| format!("\"{0}\" : jump {prefix}_{0}", zone.bridge)).collect();
    let mut lines = Vec::new();
    if !jumps.is_empty() {
        lines.push(format!("iifname vmap {{ {} }}", jumps.join(", ")));
    }
    lines.push(otherwise.to_owned());
    lines
}

/// What a network's containers may reach. An address that is not theirs is dropped first: names are answered, and rules
/// decided, by the address that asks.
fn from(zone: &Zone, range: Subnet) -> Vec<String> {
    let mut lines = vec![
        format!("oifname \"{}\" accept", zone.bridge),
        format!("ip saddr != {} drop", zone.subnet),
        "jump net_out".to_owned(),
        "oifname \"mst*\" jump net_in".to_owned(),
        format!("oifname \"mst*\" {REJECT}"),
        format!("ip daddr {range} {REJECT}"),
    ];
    if zone.world {
        lines.push(format!("ip saddr {} accept", zone.subnet));
    }
    lines
}

/// What a network's containers may ask of the host. Whatever acknowledges something is let through: the host may have
/// begun that connection while there were no rules, and the kernel takes the container's next segment for the first
/// of a connection to the host. It opens nothing: the host answers it with a reset if it has no such connection, and on
/// that the kernel forgets it.
fn host(zone: &Zone) -> Vec<String> {
    let mut lines =
        vec![format!("ip saddr != {} drop", zone.subnet), "tcp flags & ack == ack accept".to_owned()];
    if zone.names {
        let names = "meta l4proto { tcp, udp } th dport 53 accept";
        lines.push(format!("ip saddr {} ip daddr {} {names}", zone.subnet, zone.gateway));
    }
    lines.push(format!("ip saddr {} icmp type echo-request accept", zone.subnet));
    lines.push("jump host_in".to_owned());
    lines
}
