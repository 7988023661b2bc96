//! Counters of the machine, of the agent and of replicas (REQ-8), from the kernel's own files: an engine's statistics cost
//! it two samples of each container. What cannot be read is zero.

mod cgroup;
mod net;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use host_proto::id::ReplicaId;
use host_proto::message::{AgentMetrics, DiskMetrics, HostMetrics, ReplicaMetrics};
use nix::sys::statvfs::statvfs;
use nix::unistd::{SysconfVar, sysconf};
use reconcile::images::Fullness;
use reconcile::{Actual, ContainerState};

use crate::facts::mount_of;

/// Counters of the machine. `places` are directories whose file systems matter.
pub fn host(places: &[&Path]) -> HostMetrics {
    let (busy, total) = cpu(&text("/proc/stat"), tick_us());
    let memory = text("/proc/meminfo");
    let bytes = |name| kilobytes(&memory, name);
    let load = text("/proc/loadavg");
    HostMetrics {
        cpu_busy_us: busy,
        cpu_total_us: total,
        load1: load.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or_default(),
        mem_total_bytes: bytes("MemTotal"),
        mem_available_bytes: bytes("MemAvailable"),
        swap_used_bytes: bytes("SwapTotal").saturating_sub(bytes("SwapFree")),
        disk: disks(places),
        net: net::interfaces(&text("/proc/net/dev")),
    }
}

/// Memory of the machine in bytes.
pub(crate) fn memory_total() -> u64 {
    kilobytes(&text("/proc/meminfo"), "MemTotal")
}

/// Memory and processor time of this process and of its ended children; the rest is the caller's to count.
pub fn agent() -> AgentMetrics {
    let status = text("/proc/self/status");
    let stat = text("/proc/self/stat");
    // The name in the second field may hold anything; what follows its bracket is numbers: utime, stime, cutime, cstime
    // are the 14th to 17th field.
    let fields = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let ticks: u64 = fields.split(' ').skip(11).take(4).filter_map(|word| word.parse::<u64>().ok()).sum();
    AgentMetrics {
        rss_bytes: kilobytes(&status, "VmRSS"),
        cpu_us: ticks * tick_us(),
        ..AgentMetrics::default()
    }
}

/// Counters of the replicas that run. Those whose process is not known yet are left out until the next time.
pub fn replicas(actual: &Actual) -> Vec<ReplicaMetrics> {
    let containers = actual.containers.known().into_iter().flatten();
    containers
        .filter(|container| container.state == ContainerState::Running)
        .filter_map(|container| {
            let pid = container.details.as_ref()?.pid?;
            replica(&container.replica_id, &container.id, pid)
        })
        .collect()
}

fn replica(id: &ReplicaId, container: &str, pid: u32) -> Option<ReplicaMetrics> {
    let usage = cgroup::read(Path::new("/sys/fs/cgroup"), &text(&format!("/proc/{pid}/cgroup")), container)?;
    let (rx_bytes, tx_bytes) = net::totals(&text(&format!("/proc/{pid}/net/dev")));
    Some(ReplicaMetrics {
        replica_id: id.clone(),
        cpu_us: usage.cpu_us,
        mem_bytes: usage.memory_bytes,
        mem_limit_bytes: usage.limit_bytes,
        rx_bytes,
        tx_bytes,
        pids: usage.pids,
    })
}

/// How full the file system of a directory is.
pub fn fullness(place: &Path) -> Option<Fullness> {
    let found = statvfs(place).ok()?;
    let used = |all: u64, free: u64| {
        let pct = all.saturating_sub(free).saturating_mul(100).checked_div(all).unwrap_or_default();
        u8::try_from(pct.min(100)).unwrap_or(100)
    };
    let (blocks, free) = (found.blocks(), found.blocks_available());
    let (files, files_free) = (found.files(), found.files_available());
    Some(Fullness { bytes_pct: used(blocks, free), inodes_pct: used(files, files_free) })
}

fn disks(places: &[&Path]) -> Vec<DiskMetrics> {
    let mounts = text("/proc/self/mounts");
    let mut seen = BTreeSet::new();
    let mut disks = Vec::new();
    for place in places {
        let Some((mount, _)) = mount_of(&mounts, &place.to_string_lossy()) else { continue };
        let Ok(found) = statvfs(mount.as_str()) else { continue };
        if seen.insert(mount.clone()) {
            let unit = found.fragment_size();
            disks.push(DiskMetrics {
                mount,
                total_bytes: found.blocks() * unit,
                free_bytes: found.blocks_available() * unit,
                inodes_total: found.files(),
                inodes_free: found.files_available(),
            });
        }
    }
    disks
}

fn text(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Microseconds of one tick of the kernel's counters.
fn tick_us() -> u64 {
    let per_second = sysconf(SysconfVar::CLK_TCK).ok().flatten().and_then(|ticks| u64::try_from(ticks).ok());
    1_000_000 / per_second.filter(|ticks| *ticks > 0).unwrap_or(100)
}

/// Busy and whole time of all processors since boot. Time of guests is part of the user's already.
fn cpu(stat: &str, tick_us: u64) -> (u64, u64) {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu ")).unwrap_or_default();
    let fields: Vec<u64> =
        line.split_ascii_whitespace().take(8).filter_map(|word| word.parse().ok()).collect();
    let total: u64 = fields.iter().sum();
    // The fourth and fifth are idle and waiting for a disk.
    let idle: u64 = fields.iter().skip(3).take(2).sum();
    ((total - idle) * tick_us, total * tick_us)
}

/// The value of a line as `MemTotal:   123 kB`, in bytes.
fn kilobytes(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let number = line.and_then(|rest| rest.split_ascii_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or_default() * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_and_memory_are_read_from_the_kernels_words() {
        let stat = "cpu  10 1 5 100 4 0 2 0 7 0\ncpu0 1 1 1 1\n";
        assert_eq!(cpu(stat, 10_000), (180_000, 1_220_000));
        assert_eq!(cpu("", 10_000), (0, 0));
        let memory = "MemTotal:       16 kB\nMemAvailable:    8 kB\n";
        assert_eq!((kilobytes(memory, "MemTotal"), kilobytes(memory, "SwapTotal")), (16_384, 0));
    }

    #[test]
    fn this_machine_has_counters() {
        let metrics = host(&[Path::new("/"), Path::new("/"), Path::new("/proc")]);
        assert!(metrics.cpu_total_us > metrics.cpu_busy_us && metrics.mem_total_bytes > 0);
        assert!(!metrics.disk.is_empty());
        assert!(agent().rss_bytes > 0);
        assert!(fullness(Path::new("/")).is_some());
    }
}
