//! Who gets which address: a block for each network on a host, and an address in it for each replica. Addresses are given
//! again as late as possible, so that a name that somebody kept does not lead to another service.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use model::hosting::Subnet;

/// How many leading bits the addresses of one network on one host have in common.
pub const NETWORK_PREFIX: u8 = 24;

/// The next free block of a range. Blocks of ours and those that the host uses otherwise are not free.
pub fn free_subnet(range: Subnet, used: &[Subnet], after: Option<Subnet>) -> Option<Subnet> {
    let step = Subnet { base: range.base, prefix: NETWORK_PREFIX }.size();
    let blocks = range.size().checked_div(step)?;
    let first = after.filter(|it| range.contains(it.base)).map_or(0, |it| {
        (u64::from(it.first()).saturating_sub(u64::from(range.first())) / step).saturating_add(1)
    });
    (0..blocks).map(|turn| (first + turn) % blocks).find_map(|block| {
        let base = u64::from(range.first()) + block * step;
        let subnet = Subnet { base: Ipv4Addr::from(u32::try_from(base).ok()?), prefix: NETWORK_PREFIX };
        (!used.iter().any(|other| other.overlaps(subnet))).then_some(subnet)
    })
}

/// The next free address of a block: not its first (the block itself), second (the bridge) or last (broadcast), and
/// after the one that was given last. The last quarter is the engine's, for containers of others that somebody attaches
/// ([`Subnet::for_others`]); it is used when nothing else is left.
pub fn free_ip(subnet: Subnet, used: &BTreeSet<Ipv4Addr>, after: Option<Ipv4Addr>) -> Option<Ipv4Addr> {
    let first = u64::from(subnet.first()) + 2;
    let count = subnet.size().checked_sub(3)?;
    let ours = subnet.for_others().map_or(count, |theirs| u64::from(theirs.first()).saturating_sub(first));
    next_ip(first, ours, used, after).or_else(|| next_ip(first, count, used, after))
}

/// The next free one of so many addresses.
fn next_ip(first: u64, count: u64, used: &BTreeSet<Ipv4Addr>, after: Option<Ipv4Addr>) -> Option<Ipv4Addr> {
    let start = after
        .and_then(|ip| u64::from(u32::from(ip)).checked_sub(first).filter(|place| *place < count))
        .map_or(0, |place| place + 1);
    (0..count).find_map(|turn| {
        let ip = Ipv4Addr::from(u32::try_from(first + (start + turn) % count).ok()?);
        (!used.contains(&ip)).then_some(ip)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_given_in_turn_and_used_ones_are_left_out() {
        let range: Subnet = "10.208.0.0/22".parse().unwrap();
        let mut used: Vec<Subnet> = vec!["10.208.1.0/25".parse().unwrap()];
        let mut given = Vec::new();
        while let Some(next) = free_subnet(range, &used, given.last().copied()) {
            used.push(next);
            given.push(next);
        }
        let texts: Vec<String> = given.iter().map(Subnet::to_string).collect();
        assert_eq!(texts, ["10.208.0.0/24", "10.208.2.0/24", "10.208.3.0/24"]);
    }

    #[test]
    fn an_address_comes_again_only_after_all_others() {
        let subnet: Subnet = "10.208.0.0/29".parse().unwrap();
        let used = BTreeSet::new();
        let mut last = None;
        let mut given = Vec::new();
        for _ in 0..6 {
            last = free_ip(subnet, &used, last);
            given.push(last.unwrap().octets()[3]);
        }
        assert_eq!(given, [2, 3, 4, 5, 2, 3]);
        // The engine's own quarter comes when there is nothing else.
        let most: BTreeSet<Ipv4Addr> = (2..6).map(|last| Ipv4Addr::new(10, 208, 0, last)).collect();
        assert_eq!(free_ip(subnet, &most, last), Some(Ipv4Addr::new(10, 208, 0, 6)));
        let full: BTreeSet<Ipv4Addr> = (2..7).map(|last| Ipv4Addr::new(10, 208, 0, last)).collect();
        assert_eq!(free_ip(subnet, &full, None), None);
        // The same that the agent tells the engine.
        let network: Subnet = "10.208.4.0/24".parse().unwrap();
        assert_eq!(network.for_others().map(|range| range.to_string()).as_deref(), Some("10.208.4.192/26"));
    }
}
