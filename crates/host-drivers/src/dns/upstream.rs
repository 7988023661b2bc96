//! The host's own name servers: read from its files when something is asked, and again when a file is another. A
//! systemd-resolved that listens on 127.0.0.53 keeps its real servers in a file of its own.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How long the files are believed without a look at them. A look is two calls of the kernel.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// As many servers as glibc reads, and some more.
const MAX_SERVERS: usize = 8;

/// Where the host keeps its servers.
#[derive(Debug, Clone)]
pub struct ResolverFiles {
    /// What programs of the host read.
    pub etc: PathBuf,
    /// The real servers behind systemd-resolved.
    pub resolved: PathBuf,
    /// The port that servers of these files are asked on.
    pub port: u16,
}

impl Default for ResolverFiles {
    fn default() -> Self {
        Self {
            etc: PathBuf::from("/etc/resolv.conf"),
            resolved: PathBuf::from("/run/systemd/resolve/resolv.conf"),
            port: 53,
        }
    }
}

type Stamp = Option<(SystemTime, u64)>;

/// The servers, read on demand.
#[derive(Debug)]
pub(super) struct Upstreams {
    files: ResolverFiles,
    read: Mutex<Option<Reading>>,
}

#[derive(Debug)]
struct Reading {
    looked: Instant,
    stamps: [Stamp; 2],
    servers: Vec<IpAddr>,
}

impl Upstreams {
    pub(super) fn new(files: ResolverFiles) -> Self {
        Self { files, read: Mutex::new(None) }
    }

    /// The servers of the host now, without any of `ours`.
    pub(super) fn servers(&self, ours: &HashSet<IpAddr>) -> Vec<SocketAddr> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if read.as_ref().is_none_or(|read| now.saturating_duration_since(read.looked) >= LOOK_EVERY) {
            let stamps = [stamp(&self.files.etc), stamp(&self.files.resolved)];
            let servers = match read.take() {
                Some(old) if old.stamps == stamps => old.servers,
                _ => self.load(),
            };
            *read = Some(Reading { looked: now, stamps, servers });
        }
        let servers = read.iter().flat_map(|read| &read.servers);
        servers.filter(|ip| !ours.contains(ip)).map(|ip| SocketAddr::new(*ip, self.files.port)).collect()
    }

    fn load(&self) -> Vec<IpAddr> {
        let etc = std::fs::read_to_string(&self.files.etc).unwrap_or_default();
        let resolved = std::fs::read_to_string(&self.files.resolved).ok();
        let servers = choose(&etc, resolved.as_deref());
        tracing::info!(servers = ?servers, "the host's name servers are {servers:?}");
        servers
    }
}

fn stamp(path: &PathBuf) -> Stamp {
    let meta = std::fs::metadata(path).ok()?;
    Some((meta.modified().ok()?, meta.len()))
}

/// The real servers: those of the stub are replaced by what is behind it, when that is known.
fn choose(etc: &str, resolved: Option<&str>) -> Vec<IpAddr> {
    let stub = |ip: &IpAddr| [IpAddr::from([127, 0, 0, 53]), IpAddr::from([127, 0, 0, 54])].contains(ip);
    let listed = parse(etc);
    let behind = resolved.map(parse).unwrap_or_default();
    if listed.iter().any(stub) && !behind.is_empty() {
        let rest = listed.into_iter().filter(|ip| !stub(ip));
        let mut servers = behind;
        servers.extend(rest);
        servers.retain(|ip| !stub(ip));
        return servers;
    }
    listed
}

/// The servers of a resolv.conf. A server without an address that stands alone (`fe80::1%eth0`) is left out.
fn parse(text: &str) -> Vec<IpAddr> {
    let mut servers = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        if words.next() != Some("nameserver") {
            continue;
        }
        let Some(ip) = words.next().and_then(|word| word.parse::<IpAddr>().ok()) else { continue };
        if !ip.is_unspecified() && !servers.contains(&ip) && servers.len() < MAX_SERVERS {
            servers.push(ip);
        }
    }
    servers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ips(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn the_stub_of_resolved_is_replaced_by_what_is_behind_it() {
        let stub = "# made by resolved\nnameserver 127.0.0.53\noptions edns0\nsearch corp.example\n";
        assert_eq!(
            choose(stub, Some("nameserver 9.9.9.9\nnameserver 2620:fe::fe\n")),
            ips(&["9.9.9.9", "2620:fe::fe"])
        );
        assert_eq!(choose(stub, None), ips(&["127.0.0.53"]));
        assert_eq!(choose(stub, Some("nameserver 127.0.0.53\n")), ips(&[]));
        assert_eq!(choose("nameserver 127.0.0.1\n", Some("nameserver 9.9.9.9\n")), ips(&["127.0.0.1"]));
    }

    #[test]
    fn odd_lines_of_a_resolver_file_are_passed_over() {
        let text = "nameserver\n nameserver\t1.1.1.1 \n;nameserver 2.2.2.2\nnameserver fe80::1%eth0\nnameserver 0.0.0.0\n\
                    nameserver 1.1.1.1\nnameservers 3.3.3.3\n";
        assert_eq!(parse(text), ips(&["1.1.1.1"]));
    }

    #[test]
    fn a_changed_file_is_read_again_and_we_never_ask_ourselves() {
        let folder = tempfile::tempdir().unwrap();
        let files =
            ResolverFiles { etc: folder.path().join("a"), resolved: folder.path().join("b"), port: 53 };
        std::fs::write(&files.etc, "nameserver 1.1.1.1\nnameserver 10.208.1.1\n").unwrap();
        let upstreams = Upstreams::new(files.clone());
        let ours = HashSet::from([IpAddr::from([10, 208, 1, 1])]);
        assert_eq!(upstreams.servers(&ours), ["1.1.1.1:53".parse().unwrap()]);
        std::fs::write(&files.etc, "nameserver 8.8.8.8\nnameserver 8.8.4.4\n").unwrap();
        upstreams.read.lock().unwrap().as_mut().unwrap().looked -= LOOK_EVERY;
        assert_eq!(upstreams.servers(&ours).len(), 2);
        std::fs::remove_file(&files.etc).unwrap();
        upstreams.read.lock().unwrap().as_mut().unwrap().looked -= LOOK_EVERY;
        assert!(upstreams.servers(&ours).is_empty());
    }
}
