//! Hosts: machines that join and connect. Who is connected now, and what is known only while it is, is in [`LiveHosts`];
//! the rest is in the store.
//!
//! Reading order: here, [`known`] (what follows from what they say), [`link`] (one connection), [`heard`] (what hosts say),
//! [`logs`] (lines of replicas, on their way through), [`install`] (how a machine gets the agent).

pub(crate) mod heard;
pub(crate) mod install;
mod known;
pub(crate) mod link;
pub(crate) mod logs;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use host_proto::desired::DesiredState;
use host_proto::id::HostId;
use host_proto::message::{DockerFacts, Facts, LeftVolume, Metrics, ToAgent};
use host_proto::report::{ItemResult, ReplicaReport};
use host_proto::server::{Admission, Pace};
use host_proto::{Frame, Moment, ToServer};
use model::UnixMillis;
use model::hosting::Subnet;
use scheduler::{Closed, Drained, Presence, Routes, Taken};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

pub(crate) use self::known::Ways;
use self::known::{Asked, Known, Own};
use crate::events::Hub;
use crate::services::lock;

/// A host that was silent for so long is offline (OFF-1).
pub(crate) const OFFLINE_AFTER: Duration = Duration::from_secs(60);
/// So many messages of others wait for a connection at most.
const ERRANDS: usize = 256;

/// Who is connected, and what is known of hosts while the server runs.
#[derive(Debug)]
pub(crate) struct LiveHosts {
    hosts: Mutex<BTreeMap<HostId, Entry>>,
    started: Instant,
    /// A connection ended.
    ended: Notify,
}

#[derive(Debug)]
struct Entry {
    admission: Admission,
    /// How often it may connect: each connection is written down.
    connects: Pace,
    /// How many lines of its own it may add, and how many it could not since the last that it could.
    lines: Pace,
    missed: u64,
    link: Option<Link>,
    /// Somebody who says to be this host is being looked at.
    deciding: bool,
    ended: Option<Instant>,
    known: Known,
}

/// A connection.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    /// Counts connections of this server.
    pub(crate) number: u64,
    errands: mpsc::Sender<Errand>,
    /// The state of the host may be another.
    changed: Arc<Notify>,
    connected_at: UnixMillis,
    heard: Heard,
    address: IpAddr,
}

/// When a connection last brought anything. Its task notes that for every message, so it takes no lock that all share.
#[derive(Debug, Clone)]
struct Heard(Arc<AtomicI64>);

impl Heard {
    fn new(at: UnixMillis) -> Self {
        Self(Arc::new(AtomicI64::new(at.0)))
    }

    fn note(&self, at: UnixMillis) {
        self.0.store(at.0, Ordering::Relaxed);
    }

    fn at(&self) -> UnixMillis {
        UnixMillis(self.0.load(Ordering::Relaxed))
    }
}

/// What others want of a connection.
#[derive(Debug)]
pub(crate) enum Errand {
    /// Send this; answers with its id go to the sender until it is dropped.
    Ask(Box<Frame<ToAgent>>, Option<mpsc::Sender<ToServer>>),
    /// Is it still there?
    Probe(oneshot::Sender<bool>),
    /// A newer connection took its place.
    Replaced,
    /// The host was removed.
    Removed(String),
}

/// A host as others see it now.
#[derive(Debug, Clone, Default)]
pub(crate) struct Look {
    /// Whether it is connected, or was a moment ago.
    pub(crate) online: bool,
    pub(crate) connected_at: Option<UnixMillis>,
    /// When its connection last brought anything.
    pub(crate) heard_at: Option<UnixMillis>,
    pub(crate) address: Option<IpAddr>,
    pub(crate) items: Vec<ItemResult>,
    /// The number of the state that it applied.
    pub(crate) generation: u64,
    pub(crate) in_sync: bool,
    /// Replicas that it has and nobody knows.
    pub(crate) unknown: usize,
    pub(crate) metrics: Option<Metrics>,
    /// The engine of a host that is connected; `None` while none answers.
    pub(crate) engine: Option<DockerFacts>,
    pub(crate) cpu_used: Option<f64>,
    pub(crate) skew_ms: Option<i64>,
    pub(crate) degraded: bool,
    pub(crate) alerts: Vec<String>,
}

/// What decisions look at of a host.
#[derive(Debug, Clone)]
pub(crate) struct ForDecisions {
    pub(crate) presence: Presence,
    /// It is connected, and no container engine answers there.
    pub(crate) engine_down: bool,
    pub(crate) items: Vec<ItemResult>,
    pub(crate) routes: Routes,
    pub(crate) closed: Closed,
    pub(crate) drained: Drained,
    pub(crate) foreign_ports: BTreeSet<u16>,
    pub(crate) taken: Arc<[Taken]>,
    pub(crate) refused: Vec<Subnet>,
    /// Containers that it has and nobody knows.
    pub(crate) unknown: usize,
}

impl Default for LiveHosts {
    fn default() -> Self {
        Self { hosts: Mutex::default(), started: Instant::now(), ended: Notify::new() }
    }
}

impl LiveHosts {
    /// A host as it is now.
    pub(crate) fn look(&self, id: &HostId) -> Look {
        let hosts = lock(&self.hosts);
        let Some(entry) = hosts.get(id) else {
            return Look::default();
        };
        let (generation, in_sync) =
            (entry.known.generation(), entry.link.is_some() && entry.known.is_in_sync());
        let Known { items, unknown, metrics, engine, cpu_used, skew_ms, degraded, alerts, .. } =
            entry.known.clone();
        Look {
            online: entry.is_online(),
            connected_at: entry.link.as_ref().map(|link| link.connected_at),
            heard_at: entry.link.as_ref().map(|link| link.heard.at()),
            address: entry.link.as_ref().map(|link| link.address),
            items,
            generation,
            in_sync,
            unknown: unknown.len(),
            metrics,
            engine,
            cpu_used,
            skew_ms,
            degraded,
            alerts,
        }
    }

    /// Whether a host can be told anything.
    pub(crate) fn presence(&self, id: &HostId) -> Presence {
        self.presence_of(lock(&self.hosts).get(id))
    }

    /// Whether a host is connected and has no container engine that answers.
    pub(crate) fn is_without_engine(&self, id: &HostId) -> bool {
        lock(&self.hosts).get(id).is_some_and(Entry::is_without_engine)
    }

    fn presence_of(&self, entry: Option<&Entry>) -> Presence {
        match entry.is_some_and(Entry::is_online) {
            true => Presence::Online,
            // The clocks start when the server is up (OFF-4).
            false if self.uptime() < OFFLINE_AFTER => Presence::Awaited,
            false => Presence::Gone,
        }
    }

    /// What decisions look at of a host.
    pub(crate) fn for_decisions(&self, id: &HostId) -> ForDecisions {
        let hosts = lock(&self.hosts);
        let entry = hosts.get(id);
        let nothing = Known::default();
        let known = entry.map_or(&nothing, |entry| &entry.known);
        let Known { items, routes, closed, drained, foreign_ports, taken, refused, .. } = known;
        ForDecisions {
            presence: self.presence_of(entry),
            engine_down: entry.is_some_and(Entry::is_without_engine),
            items: items.clone(),
            routes: routes.clone(),
            closed: closed.clone(),
            drained: drained.clone(),
            foreign_ports: foreign_ports.clone(),
            taken: taken.clone(),
            refused: refused.clone(),
            unknown: known.unknown.len(),
        }
    }

    /// The engine of a host makes no network with this block.
    pub(crate) fn refuses(&self, id: &HostId, block: Subnet) {
        self.with(id, |entry| {
            let refused = &mut entry.known.refused;
            refused.retain(|it| *it != block);
            refused.push(block);
        });
    }

    /// How many replicas a host has that nobody knows.
    pub(crate) fn unknown(&self, id: &HostId) -> usize {
        lock(&self.hosts).get(id).map_or(0, |entry| entry.known.unknown.len())
    }

    /// The volumes that a host said it has beside those of its state; `None` until it says which.
    pub(crate) fn left_volumes(&self, id: &HostId) -> Option<Arc<[LeftVolume]>> {
        lock(&self.hosts).get(id)?.known.left_volumes.clone()
    }

    /// How long the server has been up.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// The clock that all connections share.
    pub(crate) fn now(&self) -> Moment {
        Moment(u64::try_from(self.uptime().as_millis()).unwrap_or(u64::MAX))
    }

    /// Whether a host may connect once more now.
    fn may_connect(&self, id: &HostId) -> bool {
        let now = self.now();
        self.with(id, |entry| {
            let may = entry.connects.left(now) > 0;
            if may {
                entry.connects.take(now, 1);
            }
            may
        })
    }

    /// The hosts that are connected.
    pub(crate) fn connected(&self) -> Vec<HostId> {
        let hosts = lock(&self.hosts);
        hosts.iter().filter(|(_, entry)| entry.link.is_some()).map(|(id, _)| id.clone()).collect()
    }

    /// Tells a connected host's connection that its state may be another.
    pub(crate) fn state_changed(&self, id: &HostId) {
        if let Some(link) = lock(&self.hosts).get(id).and_then(|entry| entry.link.as_ref()) {
            link.changed.notify_one();
        }
    }

    /// Gives a connection something to do; whether there is one that has room for it.
    pub(crate) fn errand(&self, id: &HostId, errand: Errand) -> bool {
        let hosts = lock(&self.hosts);
        let link = hosts.get(id).and_then(|entry| entry.link.as_ref());
        link.is_some_and(|link| link.errands.try_send(errand).is_ok())
    }

    /// A state is on its way to a host; not so when a newer connection took the place of this one.
    fn sends(&self, id: &HostId, number: u64, state: &DesiredState, ways: Ways) -> bool {
        let asked = Asked::of(state, ways);
        self.of_newest(id, number, |known| known.asks(asked)).is_some()
    }

    /// Changes what is known of a host, unless a newer connection took the place of this one.
    fn of_newest<T>(&self, id: &HostId, number: u64, change: impl FnOnce(&mut Known) -> T) -> Option<T> {
        let mut hosts = lock(&self.hosts);
        let entry = hosts.get_mut(id).filter(|entry| entry.is_newest(number))?;
        Some(change(&mut entry.known))
    }

    /// Changes what is known of a host.
    fn with<T>(&self, id: &HostId, change: impl FnOnce(&mut Entry) -> T) -> T {
        let now = self.now();
        change(lock(&self.hosts).entry(id.clone()).or_insert_with(|| Entry::new(now)))
    }

    /// A connection begins; what it listens to.
    fn begin(&self, id: &HostId, link: LinkStart) -> Tasks {
        let (errands, queue) = mpsc::channel(ERRANDS);
        let changed = Arc::new(Notify::new());
        let LinkStart { number, connected_at, heard, address, engine } = link;
        self.with(id, |entry| {
            entry.known.engine = engine;
            let changed = changed.clone();
            let old = entry.link.replace(Link { number, errands, changed, connected_at, heard, address });
            if let Some(old) = old {
                let _ = old.errands.try_send(Errand::Replaced);
            }
            entry.ended = None;
        });
        Tasks { errands: queue, changed }
    }

    /// Waits until no host is connected.
    pub(crate) async fn all_gone(&self) {
        loop {
            let ended = self.ended.notified();
            if self.connected().is_empty() {
                return;
            }
            ended.await;
        }
    }

    /// A connection ended on which nothing was heard since then; whether it was the newest of its host.
    fn end(&self, id: &HostId, number: u64, silent_since: Instant) -> bool {
        let newest = self.with(id, |entry| {
            let newest = entry.is_newest(number);
            if newest {
                entry.link = None;
                entry.ended = Some(silent_since);
                entry.admission.disconnected();
            }
            newest
        });
        // Kept for one who is about to wait.
        self.ended.notify_one();
        newest
    }

    /// A host was removed: nothing is known of it any more.
    pub(crate) fn forget(&self, id: &HostId, reason: &str) {
        if let Some(entry) = lock(&self.hosts).remove(id)
            && let Some(link) = entry.link
        {
            let _ = link.errands.try_send(Errand::Removed(reason.to_owned()));
        }
    }

    /// What of a host's reports is news.
    fn news<'a>(&self, id: &HostId, reports: &'a [ReplicaReport]) -> Vec<&'a ReplicaReport> {
        self.with(id, |entry| {
            let known = &entry.known.reports;
            reports.iter().filter(|it| known.get(&it.replica_id) != Some(*it)).collect()
        })
    }

    /// Keeps reports of a host's own replicas, and none of others.
    fn keep_reports(&self, id: &HostId, own: &Own, news: &[ReplicaReport]) {
        self.with(id, |entry| {
            let known = &mut entry.known.reports;
            known.extend(news.iter().map(|it| (it.replica_id.clone(), it.clone())));
            known.retain(|replica, _| own.contains_key(replica));
        });
    }
}

/// What a connection listens to.
#[derive(Debug)]
struct Tasks {
    errands: mpsc::Receiver<Errand>,
    /// The state of the host may be another: kept for one who is about to wait, and never lost in a full queue.
    changed: Arc<Notify>,
}

/// What is known of a connection at its beginning.
#[derive(Debug, Clone)]
struct LinkStart {
    number: u64,
    connected_at: UnixMillis,
    heard: Heard,
    address: IpAddr,
    /// The engine, as its hello says.
    engine: Option<DockerFacts>,
}

impl Entry {
    fn new(now: Moment) -> Self {
        Self {
            admission: Admission::default(),
            connects: Pace::of_connects(now),
            lines: Pace::of_host_log(now),
            missed: 0,
            link: None,
            deciding: false,
            ended: None,
            known: Known::default(),
        }
    }

    fn is_newest(&self, number: u64) -> bool {
        self.link.as_ref().is_some_and(|link| link.number == number)
    }

    fn is_without_engine(&self) -> bool {
        self.link.is_some() && self.known.engine.is_none()
    }

    fn is_online(&self) -> bool {
        self.link.is_some() || self.ended.is_some_and(|ended| ended.elapsed() < OFFLINE_AFTER)
    }
}

/// Tells those who look at a host that it changed, and once more when a host that stays silent is offline. This holds
/// nothing of a server that stops meanwhile but its hub.
pub(crate) fn tell_of_silence(hub: &Arc<Hub>, id: &HostId, since: Instant) {
    hub.hosts_changed([id.to_string()]);
    let (hub, id) = (hub.clone(), id.to_string());
    tokio::spawn(async move {
        tokio::time::sleep_until(since + OFFLINE_AFTER).await;
        hub.hosts_changed([id]);
    });
}

/// Blocks of addresses that a host uses itself, as far as its own addresses tell: networks of ours keep off them.
pub(crate) fn local_subnets(facts: &Facts) -> Vec<Subnet> {
    let addresses = facts.private_ips.iter().chain(&facts.public_ips);
    addresses
        .filter_map(|ip| match ip {
            IpAddr::V4(ip) => {
                let [a, b, c, _] = ip.octets();
                Some(Subnet { base: [a, b, c, 0].into(), prefix: 24 })
            }
            IpAddr::V6(_) => None,
        })
        .collect()
}

#[cfg(test)]
mod tests;
