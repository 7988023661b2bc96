//! What a machine is: for people and for placement. Everything is what the kernel says; what cannot be read is left
//! empty, since no decision hangs on it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use host_proto::message::{Disk, DockerFacts, Facts};
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sys::statvfs::statvfs;
use nix::sys::utsname::{UtsName, uname};
use reconcile::images::Fullness;

/// Interfaces of engines and of ours: their addresses are nobody's way to this host.
const INNER: [&str; 6] = ["docker", "br-", "veth", "mst", "virbr", "cni"];

/// Reads the facts. `docker` is what the engine says, when it answers; `data` is our own data directory.
pub fn read(docker: Option<DockerFacts>, data: &Path) -> Facts {
    let addresses = addresses();
    let (public, private) = addresses.into_iter().partition(is_public);
    let root = docker.as_ref().map(|facts| facts.root_dir.clone()).filter(|root| !root.is_empty());
    let mut places = BTreeSet::from(["/".to_owned(), data.to_string_lossy().into_owned()]);
    places.extend(root);
    let system = uname().ok();
    let said = |word: Option<&OsStr>| word.map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    Facts {
        hostname: said(system.as_ref().map(UtsName::nodename)),
        kernel: said(system.as_ref().map(UtsName::release)),
        arch: std::env::consts::ARCH.to_owned(),
        os_release: os_release(&fs::read_to_string("/etc/os-release").unwrap_or_default()),
        cpu_count: std::thread::available_parallelism()
            .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX)),
        memory_bytes: crate::metrics::memory_total(),
        disk: disks(&places),
        docker,
        wg: None,
        public_ips: public,
        private_ips: private,
        virtualization: virtualization(),
    }
}

fn line(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn os_release(text: &str) -> String {
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    value.unwrap_or("Linux").trim_matches('"').to_owned()
}

/// The file systems that these places lie on, each once.
fn disks(places: &BTreeSet<String>) -> Vec<Disk> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut seen = BTreeSet::new();
    let mut disks = Vec::new();
    for place in places {
        let Some((mount, fs)) = mount_of(&mounts, place) else { continue };
        if let (true, Ok(found)) = (seen.insert(mount.clone()), statvfs(mount.as_str())) {
            let unit = found.fragment_size();
            disks.push(Disk {
                mount,
                total_bytes: found.blocks() * unit,
                free_bytes: found.blocks_available() * unit,
                fs,
            });
        }
    }
    disks
}

/// How full the file system of a path is, in percent of what its users may take; `None` when there is no such path.
pub fn fullness(path: &Path) -> Option<Fullness> {
    let found = statvfs(path).ok()?;
    let pct = |total: u64, available: u64| {
        let taken = total.saturating_sub(available).saturating_mul(100).checked_div(total).unwrap_or(0);
        u8::try_from(taken).unwrap_or(100)
    };
    Some(Fullness {
        bytes_pct: pct(found.blocks(), found.blocks_available()),
        inodes_pct: pct(found.files(), found.files_available()),
    })
}

/// Where the file system of a path is mounted, and which kind it is: the longest mount that the path lies below; of
/// those that are mounted at one place the last, which hides the others.
pub(crate) fn mount_of(mounts: &str, path: &str) -> Option<(String, String)> {
    let mut best: Option<(String, String)> = None;
    for line in mounts.lines() {
        let mut words = line.split(' ').skip(1);
        let (Some(mount), Some(kind)) = (words.next(), words.next()) else { continue };
        // The kernel writes a space as \040.
        let mount = mount.replace("\\040", " ");
        let longer = best.as_ref().is_none_or(|(known, _)| mount.len() >= known.len());
        if longer && Path::new(path).starts_with(&mount) {
            best = Some((mount, kind.to_owned()));
        }
    }
    best
}

fn addresses() -> BTreeSet<IpAddr> {
    let Ok(found) = getifaddrs() else { return BTreeSet::new() };
    let up = InterfaceFlags::IFF_UP;
    found
        .filter(|one| one.flags.contains(up) && !one.flags.contains(InterfaceFlags::IFF_LOOPBACK))
        .filter(|one| !INNER.iter().any(|prefix| one.interface_name.starts_with(prefix)))
        .filter_map(|one| {
            let address = one.address?;
            let v4 = address.as_sockaddr_in().map(|at| IpAddr::V4(at.ip()));
            v4.or_else(|| address.as_sockaddr_in6().map(|at| IpAddr::V6(at.ip())))
        })
        .filter(|ip| !is_link_local(ip))
        .collect()
}

fn is_link_local(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

/// Whether the world could reach an address: not one that is kept for private, shared or local use.
fn is_public(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => {
            let shared = Ipv4Addr::from(u32::from(*ip) & 0xFFC0_0000) == Ipv4Addr::new(100, 64, 0, 0);
            !(ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_documentation() || shared)
        }
        IpAddr::V6(ip) => !(ip.is_unique_local() || ip.is_unicast_link_local() || *ip == Ipv6Addr::LOCALHOST),
    }
}

/// What the machine runs in, as far as it shows.
fn virtualization() -> String {
    if Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists() {
        return "container".to_owned();
    }
    let vendor = line("/sys/class/dmi/id/sys_vendor").to_ascii_lowercase();
    let product = line("/sys/class/dmi/id/product_name").to_ascii_lowercase();
    let known = [
        ("qemu", "kvm"),
        ("kvm", "kvm"),
        ("vmware", "vmware"),
        ("virtualbox", "virtualbox"),
        ("xen", "xen"),
        ("microsoft", "hyperv"),
        ("amazon", "kvm"),
        ("google", "kvm"),
        ("firecracker", "kvm"),
    ];
    let found = known.iter().find(|(word, _)| vendor.contains(word) || product.contains(word));
    let flagged = || {
        let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        if cpu.lines().any(|line| line.starts_with("flags") && line.contains(" hypervisor")) {
            "vm"
        } else {
            "none"
        }
    };
    found.map_or_else(flagged, |(_, name)| *name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_lies_on_the_longest_mount_and_of_equal_ones_on_the_last() {
        let mounts = "/dev/a / ext4 rw 0 0\n/dev/b /var xfs rw 0 0\n/dev/c /var/li ext2 rw 0 0\n\
                      tmpfs /var/with\\040space tmpfs rw 0 0\nnone /var tmpfs rw 0 0\n";
        let of = |path| mount_of(mounts, path).unwrap();
        assert_eq!(of("/etc"), ("/".to_owned(), "ext4".to_owned()));
        assert_eq!(of("/var/lib/docker"), ("/var".to_owned(), "tmpfs".to_owned()));
        assert_eq!(of("/var/with space/x").1, "tmpfs");
    }

    #[test]
    fn private_shared_and_documentation_addresses_are_not_public() {
        let public = |text: &str| is_public(&text.parse().unwrap());
        for inner in ["10.0.0.1", "192.168.1.1", "100.64.0.1", "127.0.0.1", "fd00::1", "fe80::1", "::1"] {
            assert!(!public(inner), "{inner}");
        }
        assert!(public("8.8.8.8") && public("100.128.0.1") && public("2a00::1"));
    }

    #[test]
    fn this_machine_has_facts() {
        let facts = read(None, Path::new("/tmp"));
        assert!(facts.cpu_count > 0 && facts.memory_bytes > 0 && !facts.kernel.is_empty());
        assert!(facts.disk.iter().any(|disk| disk.total_bytes > 0));
        assert_eq!(os_release("NAME=x\nPRETTY_NAME=\"Debian 12\"\n"), "Debian 12");
    }
}
