//! Ports that a host publishes: connections and packets go to the replicas that answer for a route, in turn. A change of
//! replicas does not touch the listening socket and no connection that goes on: an update has no gap.
//!
//! `balance` chooses, `tcp` and `udp` carry (packets by a `door`), `lives` ends what leads to a replica that is gone.

mod balance;
mod door;
mod lives;
mod relay;
mod tcp;
mod udp;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use host_proto::desired::{Protocol, Route};
use host_proto::id::RouteId;
use serde::{Deserialize, Serialize};
use socket2::{Domain, Socket, Type};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::netd::{Config, protocol};
use balance::Pool;
use door::Door;
use lives::Lives;

/// Connections of one route at the same time. Those over it wait in the kernel's queue.
const PER_ROUTE: usize = 4096;
/// How long sessions go on after their replica is gone.
const AFTERLIFE: Duration = Duration::from_secs(30);
/// Descriptors that are left to everything else: listeners, names, the control socket.
const SPARE_DESCRIPTORS: usize = 1024;

/// The ports of a host.
#[derive(Debug)]
pub struct Ports {
    /// As many sessions as there are pairs of descriptors.
    budget: Arc<Semaphore>,
    lives: Lives,
    listeners: BTreeMap<Key, Listener>,
}

/// Where a route listens: what makes two routes the same to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    protocol: Protocol,
    ip: Option<IpAddr>,
    port: u16,
}

#[derive(Debug)]
struct Listener {
    /// Ending it closes the socket; connections go on.
    task: JoinSet<()>,
    address: SocketAddr,
    served: Arc<Served>,
}

/// What a listener's tasks share.
#[derive(Debug)]
struct Served {
    pool: Mutex<Pool>,
    limit: Arc<Semaphore>,
    budget: Arc<Semaphore>,
    lives: Lives,
    counters: Counters,
}

/// How a route's port stands after `set`.
#[derive(Debug)]
pub struct PortResult {
    /// Which route.
    pub route: RouteId,
    /// What a person calls it: `port 8080/tcp`.
    pub name: String,
    /// Where it listens, or why it does not. It is tried again by the next `set`.
    pub listening: io::Result<SocketAddr>,
}

/// What a port carried since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PortCounters {
    /// Connections that came in, or clients that sent packets.
    pub accepted: u64,
    /// Of those: open now.
    pub active: u64,
    /// Of those: no replica could be reached.
    pub failed: u64,
    /// Packets that no session could be had for.
    pub dropped: u64,
    /// Bytes from clients.
    pub bytes_in: u64,
    /// Bytes to clients.
    pub bytes_out: u64,
}

#[derive(Debug, Default)]
struct Counters {
    accepted: AtomicU64,
    active: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
}

impl Ports {
    /// Ports for a process that may hold so many descriptors.
    pub fn new(descriptors: usize) -> Self {
        let sessions = (descriptors.saturating_sub(SPARE_DESCRIPTORS) / 2).max(16);
        Self {
            budget: Arc::new(Semaphore::new(sessions)),
            lives: Lives::new(AFTERLIFE),
            listeners: BTreeMap::new(),
        }
    }

    /// Serves the routes of a configuration from now on. A port that stays keeps its socket; a route without upstreams
    /// keeps its port too and resets who connects, so that nobody else takes the port during an update.
    ///
    /// A port of all addresses is open on each of them. While a deployment goes from one to the other both are wanted and
    /// lead to the same, and the kernel would refuse the second socket: the wider one does for both.
    pub async fn set(&mut self, config: &Config) -> Vec<PortResult> {
        let wanted: Vec<_> =
            config.routes.iter().filter_map(|route| Some((Key::of(route)?, route))).collect();
        let covered: Vec<Option<usize>> =
            wanted.iter().map(|it| wanted.iter().position(|by| covers(by, it))).collect();
        let is_served = |key: &Key| {
            let mut all = wanted.iter().zip(&covered);
            all.any(|((other, _), cover)| other == key && cover.is_none())
        };
        let gone: Vec<_> = self.listeners.extract_if(.., |key, _| !is_served(key)).collect();
        for (_, mut listener) in gone {
            // Waited for: the port may be wanted in the same breath, on another address.
            listener.task.shutdown().await;
        }
        let mut listening: Vec<io::Result<SocketAddr>> = Vec::with_capacity(wanted.len());
        listening.resize_with(wanted.len(), || Err(io::ErrorKind::NotConnected.into()));
        // The wider ones first.
        let mut order: Vec<usize> = (0..wanted.len()).collect();
        order.sort_by_key(|at| covered[*at].is_some());
        for at in order {
            let (key, route) = wanted[at];
            let taken = wanted[..at].iter().any(|(other, _)| *other == key);
            let by = covered[at].filter(|by| listening[*by].is_ok());
            listening[at] = match (taken, by) {
                (true, _) => Err(io::Error::new(
                    io::ErrorKind::AddrInUse,
                    "another service has it on this host already",
                )),
                (false, Some(_)) => key.look(),
                (false, None) => self.serve(key, route),
            };
        }
        self.lives.retire(|ip| config.knows(ip));
        let result = |((key, route), listening): ((Key, &Route), _)| PortResult {
            route: route.id.clone(),
            name: key.name(),
            listening,
        };
        wanted.into_iter().zip(listening).map(result).collect()
    }

    /// What each port carried, by its name.
    pub fn counters(&self) -> BTreeMap<String, PortCounters> {
        self.listeners.iter().map(|(key, listener)| (key.name(), listener.served.counters.read())).collect()
    }

    /// Closes all ports and waits until what goes on has ended, at most so long.
    pub async fn drain(mut self, patience: Duration) {
        self.listeners.clear();
        let _ = tokio::time::timeout(patience, self.lives.none_left()).await;
    }

    fn serve(&mut self, key: Key, route: &Route) -> io::Result<SocketAddr> {
        let upstreams: Vec<_> =
            route.upstreams.iter().map(|upstream| SocketAddr::new(upstream.ip, upstream.port)).collect();
        if let Some(listener) = self.listeners.get(&key) {
            listener.served.pool().replace(upstreams);
            return Ok(listener.address);
        }
        let socket = key.bind()?;
        let address = socket
            .local_addr()?
            .as_socket()
            .ok_or_else(|| io::Error::other("the kernel gave no address for the socket"))?;
        let served = Arc::new(Served {
            pool: Mutex::new(Pool::new(upstreams)),
            limit: Arc::new(Semaphore::new(PER_ROUTE)),
            budget: Arc::clone(&self.budget),
            lives: self.lives.clone(),
            counters: Counters::default(),
        });
        let mut task = JoinSet::new();
        match key.protocol {
            Protocol::Tcp => {
                let listener = tokio::net::TcpListener::from_std(socket.into())?;
                task.spawn(tcp::accept(listener, Arc::clone(&served)));
            }
            Protocol::Udp => {
                task.spawn(udp::receive(Door::new(socket)?, Arc::clone(&served)));
            }
        }
        self.listeners.insert(key, Listener { task, address, served });
        Ok(address)
    }
}

impl Key {
    fn of(route: &Route) -> Option<Self> {
        Some(Self { protocol: protocol(route.kind)?, ip: route.listen_ip, port: route.listen_port? })
    }

    /// How many addresses it is open on: of one, of IPv4, of all, of all without having asked for a family.
    const fn width(&self) -> u8 {
        match self.ip {
            None => 3,
            Some(IpAddr::V6(ip)) if ip.is_unspecified() => 2,
            Some(IpAddr::V4(ip)) if ip.is_unspecified() => 1,
            Some(_) => 0,
        }
    }

    /// Where it would listen, if the host has the address.
    fn look(&self) -> io::Result<SocketAddr> {
        let ip = self.ip.unwrap_or(Ipv6Addr::UNSPECIFIED.into());
        Self { port: 0, ..*self }.bind_to(SocketAddr::new(ip, 0)).map_err(in_words)?;
        Ok(SocketAddr::new(ip, self.port))
    }

    fn name(&self) -> String {
        let protocol = match self.protocol {
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
        };
        match self.ip {
            Some(ip) => format!("port {}/{protocol}", SocketAddr::new(ip, self.port)),
            None => format!("port {}/{protocol}", self.port),
        }
    }

    /// The socket: of both families when no address is wanted, of IPv4 alone on a host without IPv6.
    fn bind(&self) -> io::Result<Socket> {
        match self.ip {
            Some(ip) => self.bind_to(SocketAddr::new(ip, self.port)).map_err(in_words),
            None => match self.bind_to(SocketAddr::from((Ipv6Addr::UNSPECIFIED, self.port))) {
                Err(error) if no_v6(&error) => {
                    self.bind_to(SocketAddr::from((Ipv4Addr::UNSPECIFIED, self.port)))
                }
                bound => bound,
            },
        }
    }

    fn bind_to(&self, address: SocketAddr) -> io::Result<Socket> {
        let kind = match self.protocol {
            Protocol::Tcp => Type::STREAM,
            Protocol::Udp => Type::DGRAM,
        };
        let socket = Socket::new(Domain::for_address(address), kind, None)?;
        socket.set_nonblocking(true)?;
        if self.ip.is_none() && address.is_ipv6() {
            socket.set_only_v6(false)?;
        }
        if self.protocol == Protocol::Tcp {
            // Only over connections that are closing; a listener in the way is still an error.
            socket.set_reuse_address(true)?;
        }
        socket.bind(&address.into())?;
        if self.protocol == Protocol::Tcp {
            socket.listen(1024)?;
        }
        Ok(socket)
    }
}

/// Whether the port of one route is open wherever that of the other is to be, and leads to the same.
fn covers((by, route): &(Key, &Route), (key, other): &(Key, &Route)) -> bool {
    let reaches = by.width() > key.width() && (by.width() > 1 || key.ip.is_some_and(|ip| ip.is_ipv4()));
    let led = |route: &Route| -> BTreeSet<SocketAddr> {
        route.upstreams.iter().map(|upstream| SocketAddr::new(upstream.ip, upstream.port)).collect()
    };
    reaches && (by.protocol, by.port) == (key.protocol, key.port) && by.port != 0 && led(route) == led(other)
}

/// The kernel's own words for it are about requests.
fn in_words(error: io::Error) -> io::Error {
    match error.kind() {
        kind @ io::ErrorKind::AddrNotAvailable => io::Error::new(kind, "the host does not have this address"),
        _ => error,
    }
}

/// Whether a socket failed for lack of IPv6: no such family (97), or no such address (99) when it is switched off.
fn no_v6(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(97 | 99))
}

impl Served {
    fn pool(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counters {
    fn read(&self) -> PortCounters {
        let Self { accepted, active, failed, dropped, bytes_in, bytes_out } = self;
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        PortCounters {
            accepted: get(accepted),
            active: get(active),
            failed: get(failed),
            dropped: get(dropped),
            bytes_in: get(bytes_in),
            bytes_out: get(bytes_out),
        }
    }
}

#[cfg(test)]
mod tests;
