//! Packets: those of one client go to one replica, from a socket of its own, so that answers find back. A client that
//! is silent for a minute is forgotten.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::net::UdpSocket;
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio::time::timeout;

use super::Served;
use super::door::Door;
use super::lives::Life;

/// How long client and replica may both be silent.
const SILENT: Duration = Duration::from_secs(60);
/// Longest packet there can be.
const MAX_PACKET: usize = 65_535;

/// Who sends, and to which address of ours: what an answer needs to find back.
type Client = (SocketAddr, Option<IpAddr>);
type Table = Arc<Mutex<HashMap<Client, Arc<Session>>>>;

#[derive(Debug)]
struct Session {
    upstream: SocketAddr,
    socket: UdpSocket,
    /// Whether the client has sent since it was looked at last.
    heard: AtomicBool,
    /// Tells the task of the way back that the session is over.
    over: Notify,
}

/// What a session holds while it goes on.
struct Held {
    life: Life,
    _permits: (OwnedSemaphorePermit, OwnedSemaphorePermit),
}

/// What a packet needs on its way.
struct Way {
    table: Table,
    door: Arc<Door>,
    served: Arc<Served>,
}

/// Takes in packets until it is dropped; then the ways back end with their silence.
pub(super) async fn receive(door: Door, served: Arc<Served>) {
    let way = Way { table: Table::default(), door: Arc::new(door), served };
    let mut buffer = vec![0; MAX_PACKET];
    loop {
        match way.door.receive(&mut buffer).await {
            Ok((length, from, to)) => {
                if way.send((from, to), &buffer[..length]).await.is_none() {
                    way.served.counters.dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
            Err(error) => {
                tracing::debug!("a packet was not taken in: {error}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

impl Way {
    /// Sends a packet on. A replica that refused an earlier one is left for another, once.
    async fn send(&self, client: Client, packet: &[u8]) -> Option<()> {
        for _ in 0..2 {
            let session = self.session(client).await?;
            match session.socket.send(packet).await {
                Ok(sent) => {
                    session.heard.store(true, Ordering::Relaxed);
                    self.served.counters.bytes_in.fetch_add(sent as u64, Ordering::Relaxed);
                    return Some(());
                }
                Err(_) => {
                    self.served.pool().failed(session.upstream, Instant::now());
                    forget(&self.table, client, &session);
                }
            }
        }
        None
    }

    async fn session(&self, client: Client) -> Option<Arc<Session>> {
        let known = lock(&self.table).get(&client).cloned();
        if let Some(session) = known {
            if self.served.pool().has(session.upstream) {
                return Some(session);
            }
            forget(&self.table, client, &session);
        }
        let permits = (
            Arc::clone(&self.served.limit).try_acquire_owned().ok()?,
            Arc::clone(&self.served.budget).try_acquire_owned().ok()?,
        );
        let upstream = *self.served.pool().order(Instant::now()).first()?;
        let session = Arc::new(Session {
            upstream,
            socket: connected(upstream).await.ok()?,
            heard: AtomicBool::new(true),
            over: Notify::new(),
        });
        lock(&self.table).insert(client, Arc::clone(&session));
        let held = Held { life: self.served.lives.begin(upstream.ip()), _permits: permits };
        self.spawn_way_back(client, Arc::clone(&session), held);
        Some(session)
    }

    fn spawn_way_back(&self, client: Client, session: Arc<Session>, held: Held) {
        let (table, door, served) =
            (Arc::clone(&self.table), Arc::downgrade(&self.door), Arc::clone(&self.served));
        served.counters.accepted.fetch_add(1, Ordering::Relaxed);
        served.counters.active.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            way_back(&session, &door, client, &served, held).await;
            served.counters.active.fetch_sub(1, Ordering::Relaxed);
            forget(&table, client, &session);
        });
    }
}

/// Carries answers until both sides were silent for long, the replica refuses, or the session is over. It does not hold
/// the route's socket: a port that is closed is free at once.
async fn way_back(session: &Session, door: &Weak<Door>, client: Client, served: &Served, mut held: Held) {
    let mut buffer = vec![0; MAX_PACKET];
    loop {
        let received = tokio::select! {
            received = timeout(SILENT, session.socket.recv(&mut buffer)) => received,
            () = session.over.notified() => return,
            () = held.life.over() => return,
        };
        match received {
            Ok(Ok(length)) => {
                served.counters.bytes_out.fetch_add(length as u64, Ordering::Relaxed);
                let Some(door) = door.upgrade() else { return };
                let _ = door.send(&buffer[..length], client.0, client.1).await;
            }
            Ok(Err(_)) => {
                served.pool().failed(session.upstream, Instant::now());
                return;
            }
            Err(_) if session.heard.swap(false, Ordering::Relaxed) => {}
            Err(_) => return,
        }
    }
}

async fn connected(upstream: SocketAddr) -> io::Result<UdpSocket> {
    let own: IpAddr = match upstream {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((own, 0)).await?;
    socket.connect(upstream).await?;
    Ok(socket)
}

fn lock(table: &Table) -> MutexGuard<'_, HashMap<Client, Arc<Session>>> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a session out of the table, unless another has its place already.
fn forget(table: &Table, client: Client, session: &Arc<Session>) {
    session.over.notify_one();
    let mut table = lock(table);
    if table.get(&client).is_some_and(|known| Arc::ptr_eq(known, session)) {
        table.remove(&client);
    }
}
