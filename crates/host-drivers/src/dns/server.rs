//! The sockets of the name server: two for each gateway, bound to that address only, also when the engine has not made
//! the bridge yet. A gateway that is no longer served is closed, so that whoever asks hears it at once.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::answer::{self, MAX_UDP_QUERY, Reply, Transport, Verdict, answer};
use super::limit::{Rate, Shares};
use super::relay;
use super::upstream::{ResolverFiles, Upstreams};
use super::zone::Zone;
use crate::netd::Config;

/// Questions a second and asker; beyond it packets are dropped, as by any full queue.
const QUESTIONS_PER_SECOND: u32 = 5_000;
/// Questions that wait for other servers: each asker, and all. Each holds a descriptor.
const WAITING: (usize, usize) = (64, 512);
/// Connections: each asker, and all.
const CONNECTIONS: (usize, usize) = (16, 256);
/// How long a connection may be silent, and a question may take to arrive.
const SILENT: Duration = Duration::from_secs(10);

/// The name server of a host.
#[derive(Debug)]
pub struct Server {
    port: u16,
    shared: Arc<Shared>,
    /// The tasks of each gateway; ending them closes its sockets.
    gateways: BTreeMap<Ipv4Addr, (JoinSet<()>, SocketAddr)>,
}

/// What was asked and answered since the process began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DnsCounters {
    /// Questions that were answered from our names.
    pub found: u64,
    /// Questions for names of ours that there are none of.
    pub no_name: u64,
    /// Questions that were not understood, or came from elsewhere.
    pub refused: u64,
    /// Questions that others were asked.
    pub asked: u64,
    /// Of those: got no answer.
    pub failed: u64,
    /// Packets over the limit of their sender.
    pub dropped: u64,
}

#[derive(Debug, Default)]
struct Counters {
    found: AtomicU64,
    no_name: AtomicU64,
    refused: AtomicU64,
    asked: AtomicU64,
    failed: AtomicU64,
    dropped: AtomicU64,
}

#[derive(Debug)]
struct Shared {
    names: RwLock<Arc<Names>>,
    upstreams: Upstreams,
    rate: Mutex<Rate>,
    waiting: Shares,
    connections: Shares,
    counters: Counters,
}

#[derive(Debug)]
struct Names {
    zone: Zone,
    /// Servers that the configuration names; the host's own when there are none.
    upstreams: Vec<SocketAddr>,
    gateways: HashSet<IpAddr>,
}

impl Server {
    /// A server that serves nothing yet. `port` is 53 but in tests; 0 lets the kernel choose one for each gateway.
    pub fn new(config: &Config, port: u16, files: ResolverFiles) -> Self {
        let shared = Shared {
            names: RwLock::new(Arc::new(Names::of(config))),
            upstreams: Upstreams::new(files),
            rate: Mutex::new(Rate::new(QUESTIONS_PER_SECOND)),
            waiting: Shares::new(WAITING.0, WAITING.1),
            connections: Shares::new(CONNECTIONS.0, CONNECTIONS.1),
            counters: Counters::default(),
        };
        Self { port, shared: Arc::new(shared), gateways: BTreeMap::new() }
    }

    /// Serves these names from now on, and listens where it does not yet. Gives for each gateway that should be served
    /// where it listens, or why it does not; calling it again tries again.
    pub async fn set(&mut self, config: &Config) -> Vec<(Ipv4Addr, io::Result<SocketAddr>)> {
        *self.shared.names.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Names::of(config));
        let wanted: Vec<_> =
            config.networks.iter().filter(|network| network.names).map(|network| network.gateway).collect();
        let gone: Vec<_> = self.gateways.extract_if(.., |gateway, _| !wanted.contains(gateway)).collect();
        for (_, (mut tasks, _)) in gone {
            tasks.shutdown().await;
        }
        wanted.into_iter().map(|gateway| (gateway, self.listen(gateway))).collect()
    }

    /// What was asked since the process began.
    pub fn counters(&self) -> DnsCounters {
        let Counters { found, no_name, refused, asked, failed, dropped } = &self.shared.counters;
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        DnsCounters {
            found: get(found),
            no_name: get(no_name),
            refused: get(refused),
            asked: get(asked),
            failed: get(failed),
            dropped: get(dropped),
        }
    }

    fn listen(&mut self, gateway: Ipv4Addr) -> io::Result<SocketAddr> {
        if let Some((_, address)) = self.gateways.get(&gateway) {
            return Ok(*address);
        }
        let (tcp, address) = tcp_socket(SocketAddr::from((gateway, self.port)))?;
        let udp = udp_socket(address)?;
        let mut tasks = JoinSet::new();
        tasks.spawn(packets(udp, Arc::clone(&self.shared)));
        tasks.spawn(connections(tcp, Arc::clone(&self.shared)));
        self.gateways.insert(gateway, (tasks, address));
        Ok(address)
    }
}

impl Names {
    fn of(config: &Config) -> Self {
        let gateways: HashSet<_> =
            config.networks.iter().map(|network| IpAddr::V4(network.gateway)).collect();
        let upstreams = config.dns.upstreams.iter().filter(|server| !gateways.contains(&server.ip()));
        Self { zone: Zone::new(config), upstreams: upstreams.copied().collect(), gateways }
    }
}

/// A socket on an address that may not be there yet (IP_FREEBIND).
fn bound(address: SocketAddr, kind: Type, protocol: Protocol) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), kind, Some(protocol))?;
    socket.set_freebind_v4(true)?;
    socket.set_nonblocking(true)?;
    if kind == Type::STREAM {
        // Only over connections that are closing; a listener in the way is still an error.
        socket.set_reuse_address(true)?;
    }
    socket.bind(&address.into())?;
    Ok(socket)
}

fn tcp_socket(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = bound(address, Type::STREAM, Protocol::TCP)?;
    socket.listen(128)?;
    let listener = TcpListener::from_std(socket.into())?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

fn udp_socket(address: SocketAddr) -> io::Result<UdpSocket> {
    UdpSocket::from_std(bound(address, Type::DGRAM, Protocol::UDP)?.into())
}

/// A step of a loop that must not end and must not spin: waits a little after an error of the kernel.
async fn pause(error: &io::Error) {
    tracing::warn!("the name server's socket: {error}");
    tokio::time::sleep(Duration::from_millis(200)).await;
}

async fn packets(socket: UdpSocket, shared: Arc<Shared>) {
    let socket = Arc::new(socket);
    // One byte more than is read, to tell a longer packet.
    let mut buffer = vec![0; MAX_UDP_QUERY + 1];
    loop {
        let (length, from) = match socket.recv_from(&mut buffer).await {
            Ok(got) => got,
            Err(error) => {
                pause(&error).await;
                continue;
            }
        };
        let packet = &buffer[..length];
        if length > MAX_UDP_QUERY || !shared.allows(from.ip()) {
            continue;
        }
        match shared.answer(from.ip(), packet, Transport::Udp) {
            Some(bytes) if bytes.is_empty() => {}
            Some(bytes) => {
                // A full send buffer drops the packet, as the network would.
                let _ = socket.try_send_to(&bytes, from);
            }
            None => shared.ask_for(&socket, packet, from),
        }
    }
}

async fn connections(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                let Some(share) = shared.connections.take(from.ip()) else { continue };
                let shared = Arc::clone(&shared);
                tokio::spawn(async move {
                    let _share = share;
                    let _ = connection(stream, from.ip(), &shared).await;
                });
            }
            Err(error) => pause(&error).await,
        }
    }
}

async fn connection(mut stream: TcpStream, from: IpAddr, shared: &Shared) -> io::Result<()> {
    loop {
        let length = timeout(SILENT, stream.read_u16()).await??;
        let mut packet = vec![0; usize::from(length)];
        timeout(SILENT, stream.read_exact(&mut packet)).await??;
        if !shared.allows(from) {
            return Ok(());
        }
        let answer = match shared.answer(from, &packet, Transport::Tcp) {
            Some(bytes) => Some(bytes),
            None => shared.ask(from, &packet, Transport::Tcp).await,
        };
        // Nothing to say to what is no question: the connection ends.
        let Some(answer) = answer.filter(|answer| !answer.is_empty()) else { return Ok(()) };
        let length = u16::try_from(answer.len()).map_err(io::Error::other)?;
        let message = [&length.to_be_bytes()[..], &answer].concat();
        timeout(SILENT, stream.write_all(&message)).await??;
    }
}

impl Shared {
    fn names(&self) -> Arc<Names> {
        Arc::clone(&self.names.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn allows(&self, asker: IpAddr) -> bool {
        let mut rate = self.rate.lock().unwrap_or_else(PoisonError::into_inner);
        let allowed = rate.allows(asker, Instant::now());
        drop(rate);
        if !allowed {
            self.counters.dropped.fetch_add(1, Ordering::Relaxed);
        }
        allowed
    }

    /// What can be said at once: nothing (no bytes) to what is no question; none when others have to be asked.
    fn answer(&self, asker: IpAddr, packet: &[u8], transport: Transport) -> Option<Vec<u8>> {
        match answer(&self.names().zone, asker, packet, transport) {
            Reply::Answer(bytes, verdict) => {
                let counter = match verdict {
                    Verdict::Found => &self.counters.found,
                    Verdict::NoName => &self.counters.no_name,
                    Verdict::Refused => &self.counters.refused,
                };
                counter.fetch_add(1, Ordering::Relaxed);
                Some(bytes)
            }
            Reply::Ask => None,
            Reply::Ignore => Some(Vec::new()),
        }
    }

    /// Asks the host's servers. Without any, or with too many questions waiting, the answer is a failure at once.
    async fn ask(&self, asker: IpAddr, packet: &[u8], transport: Transport) -> Option<Vec<u8>> {
        self.counters.asked.fetch_add(1, Ordering::Relaxed);
        let answer = match self.waiting.take(asker) {
            Some(_share) => {
                let names = self.names();
                let host;
                let servers = if names.upstreams.is_empty() {
                    host = self.upstreams.servers(&names.gateways);
                    &host
                } else {
                    &names.upstreams
                };
                relay::ask(servers, packet, transport).await
            }
            None => None,
        };
        answer.or_else(|| {
            self.counters.failed.fetch_add(1, Ordering::Relaxed);
            answer::failure(packet)
        })
    }

    fn ask_for(self: &Arc<Self>, socket: &Arc<UdpSocket>, packet: &[u8], from: SocketAddr) {
        let (shared, socket, packet) = (Arc::clone(self), Arc::clone(socket), packet.to_vec());
        tokio::spawn(async move {
            if let Some(answer) = shared.ask(from.ip(), &packet, Transport::Udp).await {
                let _ = socket.send_to(&answer, from).await;
            }
        });
    }
}

#[cfg(test)]
mod tests;
