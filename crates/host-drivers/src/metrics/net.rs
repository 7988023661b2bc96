//! Interfaces, as `/proc/net/dev` lists them.

use host_proto::message::NetMetrics;

/// Interfaces of containers: each is counted with its replica already.
const OF_CONTAINERS: [&str; 2] = ["veth", "lo"];

/// The interfaces of the machine itself.
pub(super) fn interfaces(text: &str) -> Vec<NetMetrics> {
    lines(text).filter(|one| !OF_CONTAINERS.iter().any(|prefix| one.iface.starts_with(prefix))).collect()
}

/// Bytes in and out of a container.
pub(super) fn totals(text: &str) -> (u64, u64) {
    let outer = lines(text).filter(|one| one.iface != "lo");
    outer.fold((0, 0), |(rx, tx), one| (rx + one.rx_bytes, tx + one.tx_bytes))
}

fn lines(text: &str) -> impl Iterator<Item = NetMetrics> + '_ {
    text.lines().filter_map(|line| {
        let (name, rest) = line.split_once(':')?;
        let numbers: Vec<u64> = rest.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect();
        Some(NetMetrics {
            iface: name.trim().to_owned(),
            rx_bytes: *numbers.first()?,
            rx_drops: *numbers.get(3)?,
            tx_bytes: *numbers.get(8)?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEV: &str = "Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     500       5    0    0    0     0          0         0      500       5    0    0    0     0       0          0
  eth0:    1000      10    0    3    0     0          0         0     2000      20    0    0    0     0       0          0
vethab:      70       1    0    0    0     0          0         0       80       1    0    0    0     0       0          0
";

    #[test]
    fn each_interface_counts_once() {
        let eth0 = NetMetrics { iface: "eth0".to_owned(), rx_bytes: 1000, tx_bytes: 2000, rx_drops: 3 };
        assert_eq!(interfaces(DEV), [eth0]);
        assert_eq!(totals(DEV), (1070, 2080));
    }
}
