//! The rules that a state names itself, each as one line of a table. Only checked values get into a line; the comment,
//! which is free text, loses what could end a string.

use std::fmt::Write as _;

use host_proto::desired::{Action, Chain, FirewallRule, PortRange, Protocol, Where};

use super::block::Block;
use super::ruleset::{Chains, REJECT, Zone};

/// Longest comment in bytes; nftables holds 128 with its end.
const MAX_COMMENT: usize = 120;

/// Adds a rule to its chain, or says why it cannot be.
pub(super) fn add(rule: &FirewallRule, zones: &[Zone], chains: &mut Chains) -> Result<(), String> {
    let host = rule.chain == Chain::HostIn;
    let chain = match rule.chain {
        Chain::NetIn => &mut chains.net_in,
        Chain::NetOut => &mut chains.net_out,
        Chain::HostIn => &mut chains.host_in,
        Chain::MeshIn => return Err("this host has no mesh yet".to_owned()),
        Chain::Unknown => return Err("this version does not know where the rule stands".to_owned()),
    };
    let src = End::of(&rule.src, zones)?;
    let dst = End::of(&rule.dst, zones)?;
    if let (Some(src), Some(dst)) = (src.is_v4(), dst.is_v4())
        && src != dst
    {
        return Err("one end is IPv4, the other IPv6".to_owned());
    }
    let mut line = String::new();
    src.write(Side::Source, &mut line);
    dst.write(if host { Side::HostAddress } else { Side::Destination }, &mut line);
    line.push_str(&ports(rule.proto, &rule.ports)?);
    line.push_str(match rule.action {
        Action::Accept => "accept",
        Action::Reject | Action::Unknown => REJECT,
    });
    let comment = comment(&format!("{} {}", rule.id, rule.comment));
    let _ = write!(line, " comment \"{comment}\"");
    chain.push(line);
    Ok(())
}

enum End<'a> {
    Any,
    Block(Block),
    Zone(&'a Zone),
}

#[derive(Clone, Copy)]
enum Side {
    Source,
    Destination,
    /// The receiver is the host, so a network stands for the host's address in it.
    HostAddress,
}

impl<'a> End<'a> {
    fn of(place: &Where, zones: &'a [Zone]) -> Result<Self, String> {
        Ok(match place {
            Where::Any => Self::Any,
            Where::Cidr(text) => Self::Block(text.parse().map_err(|bad: super::BadBlock| bad.to_string())?),
            Where::Network(id) => Self::Zone(
                zones
                    .iter()
                    .find(|zone| zone.id == *id)
                    .ok_or_else(|| format!("there is no network {id} here"))?,
            ),
        })
    }

    fn is_v4(&self) -> Option<bool> {
        match self {
            Self::Any => None,
            Self::Block(block) => Some(matches!(block, Block::V4(_))),
            Self::Zone(_) => Some(true),
        }
    }

    fn write(&self, side: Side, line: &mut String) {
        let (interface, address) = match side {
            Side::Source => ("iifname", "saddr"),
            Side::Destination => ("oifname", "daddr"),
            Side::HostAddress => ("", "daddr"),
        };
        let _ = match self {
            Self::Any => Ok(()),
            Self::Block(block @ Block::V4(_)) => write!(line, "ip {address} {block} "),
            Self::Block(block @ Block::V6 { .. }) => write!(line, "ip6 {address} {block} "),
            Self::Zone(zone) if interface.is_empty() => write!(line, "ip daddr {} ", zone.gateway),
            Self::Zone(zone) => write!(line, "{interface} \"{}\" ip {address} {} ", zone.bridge, zone.subnet),
        };
    }
}

fn ports(proto: Option<Protocol>, ports: &[PortRange]) -> Result<String, String> {
    let word = proto.map(|proto| match proto {
        Protocol::Tcp => "tcp",
        Protocol::Udp => "udp",
    });
    if ports.is_empty() {
        return Ok(word.map(|word| format!("meta l4proto {word} ")).unwrap_or_default());
    }
    if let Some(bad) = ports.iter().find(|range| range.first > range.last) {
        return Err(format!("ports {}-{} are none", bad.first, bad.last));
    }
    let set = merged(ports).iter().map(|(first, last)| span(*first, *last)).collect::<Vec<_>>().join(", ");
    Ok(match word {
        Some(word) => format!("{word} dport {{ {set} }} "),
        None => format!("meta l4proto {{ tcp, udp }} th dport {{ {set} }} "),
    })
}

fn span(first: u16, last: u16) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}

/// Ranges that touch or overlap as one: nft refuses a set with overlapping ranges.
fn merged(ports: &[PortRange]) -> Vec<(u16, u16)> {
    let mut ranges: Vec<_> = ports.iter().map(|range| (range.first, range.last)).collect();
    ranges.sort_unstable();
    let mut merged: Vec<(u16, u16)> = Vec::new();
    for (first, last) in ranges {
        match merged.last_mut() {
            Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
            _ => merged.push((first, last)),
        }
    }
    merged
}

fn comment(text: &str) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || " -_.,:;/()+=@#".contains(c);
    text.trim().chars().map(|c| if harmless(c) { c } else { '_' }).take(MAX_COMMENT).collect()
}
