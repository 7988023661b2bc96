//! Which addresses are in use on a machine, beside those of our own networks: what networks of ours must keep off. Of IPv4
//! only, since ours have no other.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::net::Ipv4Addr;

use host_proto::limits::TAKEN_BLOCKS;
use host_proto::message::{TakenBlock, Taker};
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::SockaddrStorage;
use reconcile::firewall::BRIDGE_PREFIX;

/// The kernel's routes.
const ROUTES: &str = "/proc/net/route";
/// So much of them is read: a router has hundreds of thousands.
const ROUTES_READ: u64 = 1 << 20;
/// Longest name that is told, in bytes.
const NAME: usize = 64;

/// All blocks in use: those of the engine's networks, as it says, those of interfaces, and those that are routed somewhere.
pub(crate) fn all(networks: Vec<(String, String)>) -> Vec<TakenBlock> {
    let networks =
        networks.into_iter().filter_map(|(block, name)| taken(Taker::Network, parsed(&block)?, &name));
    bounded(networks.chain(machine()))
}

/// Those that the machine shows without its engine.
pub fn of_machine() -> Vec<TakenBlock> {
    bounded(machine())
}

fn machine() -> impl Iterator<Item = TakenBlock> {
    let mut routes = String::new();
    if let Ok(file) = File::open(ROUTES) {
        // What is not read says nothing that others do not.
        let _ = file.take(ROUTES_READ).read_to_string(&mut routes);
    }
    interfaces().into_iter().chain(routed(&routes))
}

fn interfaces() -> Vec<TakenBlock> {
    let Ok(found) = getifaddrs() else { return Vec::new() };
    let v4 = |address: &SockaddrStorage| address.as_sockaddr_in().map(|at| u32::from(at.ip()));
    found
        .filter_map(|one| {
            let (address, mask) = (v4(one.address.as_ref()?)?, v4(one.netmask.as_ref()?)?);
            taken(Taker::Interface, (address, mask), &one.interface_name)
        })
        .collect()
}

/// The routes of a table as the kernel prints it: numbers in the order of the machine's bytes, in hexadecimal.
fn routed(table: &str) -> Vec<TakenBlock> {
    let number = |text: &str| u32::from_str_radix(text, 16).ok().map(u32::from_be);
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, base, mask) = (words.first()?, number(words.get(1)?)?, number(words.get(7)?)?);
        taken(Taker::Route, (base, mask), name)
    };
    table.lines().skip(1).filter_map(of_line).collect()
}

/// A block as it is told. The default route and the machine itself are in nobody's way, and bridges of ours are ours.
fn taken(by: Taker, (address, mask): (u32, u32), name: &str) -> Option<TakenBlock> {
    let prefix = mask.leading_ones();
    let is_mask = mask.count_ones() == prefix;
    let base = Ipv4Addr::from(address & mask);
    let ours = by != Taker::Network && name.starts_with(BRIDGE_PREFIX);
    if prefix == 0 || !is_mask || base.is_loopback() || ours {
        return None;
    }
    let end = (0..=name.len().min(NAME)).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
    Some(TakenBlock { by, block: format!("{base}/{prefix}"), name: name[..end].to_owned() })
}

fn parsed(block: &str) -> Option<(u32, u32)> {
    let (base, prefix) = block.split_once('/')?;
    let (base, prefix): (Ipv4Addr, u32) = (base.parse().ok()?, prefix.parse().ok()?);
    let mask = u32::MAX.checked_shl(32_u32.checked_sub(prefix)?).unwrap_or(0);
    Some((base.into(), mask))
}

/// Each block once, by what holds it hardest; as many as are told, in an order that is the same each time.
fn bounded(blocks: impl Iterator<Item = TakenBlock>) -> Vec<TakenBlock> {
    let sorted: BTreeSet<TakenBlock> = blocks.collect();
    let mut known = BTreeSet::new();
    let first = sorted.into_iter().filter(|it| known.insert(it.block.clone()));
    first.take(TAKEN_BLOCKS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(blocks: &[TakenBlock]) -> Vec<String> {
        blocks.iter().map(|it| format!("{:?} {} {}", it.by, it.block, it.name)).collect()
    }

    #[test]
    fn routes_are_told_with_their_length_but_not_the_default_one_nor_those_of_our_bridges() {
        let table = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
            eth0\t00000000\tFE0012C6\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
            tun0\t0000D00A\t0100080A\t0003\t0\t0\t0\t0000FCFF\t0\t0\t0\n\
            mst0123456789\t0001D00A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
            short\t0001\n";
        assert_eq!(texts(&routed(table)), ["Route 10.208.0.0/14 tun0"]);
    }

    #[test]
    fn a_block_is_told_once_and_as_what_holds_it_hardest() {
        let networks =
            [("10.208.3.0/24", "corp"), ("fd00::/64", "six"), ("172.17.0.1/16", "bridge"), ("x", "y")];
        let networks = networks.map(|(block, name)| (parsed(block), name));
        let networks = networks.into_iter().filter_map(|(block, name)| taken(Taker::Network, block?, name));
        let bridge = taken(Taker::Interface, parsed("172.17.0.1/16").unwrap(), "docker0");
        let route = taken(Taker::Route, parsed("172.17.0.0/16").unwrap(), "docker0");
        let told = bounded(route.into_iter().chain(bridge).chain(networks));
        assert_eq!(texts(&told), ["Network 10.208.3.0/24 corp", "Network 172.17.0.0/16 bridge"]);
    }

    #[test]
    fn no_more_are_told_than_the_protocol_has_room_for_and_networks_come_first() {
        let routes = (0..2_000_u32).filter_map(|it| taken(Taker::Route, (it << 12, 0xFFFF_F000), "eth0"));
        let network = taken(Taker::Network, parsed("192.168.0.0/20").unwrap(), &"n".repeat(100)).unwrap();
        let told = bounded(routes.chain([network.clone()]));
        assert_eq!((told.len(), &told[0], told[0].name.len()), (TAKEN_BLOCKS, &network, NAME));
    }

    #[test]
    fn this_machine_tells_no_loopback() {
        assert!(of_machine().iter().all(|it| !it.block.starts_with("127.")), "{:?}", of_machine());
    }
}
