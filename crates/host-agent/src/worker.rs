//! The task that owns the host: observe, plan, apply, report, again and again (STATE-9). It alone decides when; what is
//! to be done is decided by `reconcile`, and done by `host-drivers`. While steps are under way it stays awake: a newer state
//! begins at once, and pings are answered (R18).

mod engine;
mod pass;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use host_drivers::docker::Look;
use host_drivers::docker::events::Hint;
use host_drivers::health::{Prober, Target};
use host_proto::desired::DesiredState;
use host_proto::id::ReplicaId;
use host_proto::message::{HostLogLevel, HostLogSource, Intervals, Ping, Pong, ToServer};
use host_proto::report::ItemResult;
use host_proto::{Moment, limits};
use reconcile::report::CrashWatch;
use reconcile::{Actual, Item, Memory, Phase, Plan, Run, Trouble, TroubleKind};
use tokio::sync::{mpsc, watch};
use tokio::task::{self, AbortHandle, JoinError, JoinSet};

use crate::clock::Clock;
use crate::handles::{Kept, LinkHandle, Snapshot, ToLink, ToWorker, Told};
use crate::hostlog::{About, HostLog};
use crate::images::Images;
use crate::net::Net;
use crate::report::Reporter;
use crate::status::StatusFile;
pub(crate) use engine::Engines;

/// Networks and volumes are listed on every so many passes without a reason.
const LISTS_EVERY: u64 = 10;
/// How often it is looked whether images have to make room.
const SWEEP_EVERY: Duration = Duration::from_secs(10 * 60);
/// A worker that is later than this says so.
const LATE: Duration = Duration::from_secs(1);

/// What the worker needs.
pub(crate) struct Parts {
    pub(crate) engines: Engines,
    pub(crate) net: Net,
    pub(crate) clock: Clock,
    pub(crate) log: HostLog,
    pub(crate) status: StatusFile,
    pub(crate) images: Images,
    pub(crate) link: LinkHandle,
    pub(crate) seen: watch::Sender<Snapshot>,
    /// What the cache held.
    pub(crate) cached: Option<Told>,
    pub(crate) seed: u64,
}

/// What the host should run, and what may be done for it.
struct Wanted {
    told: Told,
    /// What it works towards: what it was told, and what runs beside that while it adopts.
    state: Arc<DesiredState>,
    /// Whom of that the server does not name.
    unclaimed: BTreeSet<ReplicaId>,
    fresh: bool,
}

impl Wanted {
    fn new(told: Told, fresh: bool) -> Self {
        let state = told.whole();
        let unclaimed = told.unclaimed.iter().flat_map(|it| &it.replicas);
        let unclaimed = unclaimed.map(|spec| spec.replica_id.clone()).collect();
        Self { told, state, unclaimed, fresh }
    }
}

/// The owner.
pub(crate) struct Worker {
    parts: Parts,
    wanted: Option<Wanted>,
    /// There while the wanted state is not on the disk.
    kept: Option<Kept>,
    memory: Memory,
    crashes: CrashWatch,
    reporter: Reporter,
    online: bool,
    run: Option<Running>,
    steps: JoinSet<Done>,
    /// What the steps are about.
    under_way: HashMap<task::Id, (Item, AbortHandle)>,
    /// Replicas whose steps ended since the last look began.
    ended: BTreeSet<ReplicaId>,
    look: Look,
    /// Ports that cannot be carried, in words that stand in the log.
    bad_ports: BTreeSet<String>,
    /// Replicas whose health checks fail, as stands in the log.
    ill: BTreeSet<ReplicaId>,
    /// A pass is to begin.
    due: bool,
    /// A state came that the next pass may begin with what was seen last.
    hurry: bool,
    /// Nothing is known to have happened since the last look.
    rested: bool,
    next_pass: Moment,
    every: Duration,
    passes: u64,
    /// Passes in a row that changed something.
    restless: u32,
    engine_down: bool,
    prober: Prober,
    /// Whom the prober was told to ask.
    asked: BTreeMap<ReplicaId, Target>,
    /// When the state that is being applied came.
    since: Moment,
    next_sweep: Moment,
}

/// A plan that is being carried out, and what it was made from.
struct Running {
    run: Run,
    plan: Plan,
    actual: Arc<Actual>,
    phase: usize,
    began: Moment,
    /// What became of the firewall, until that is looked at.
    firewall: Result<Vec<ItemResult>, String>,
    firewall_error: Option<String>,
    net_items: Vec<ItemResult>,
    changed: bool,
    /// It was made from what was seen before: another look follows, whatever comes of it.
    recent: bool,
}

/// A step that ended.
struct Done {
    item: Item,
    title: String,
    words: String,
    result: Result<(), Trouble>,
}

impl Done {
    /// A step that came to no end of its own.
    fn without_words(item: Item, why: &str, kind: TroubleKind) -> Self {
        let trouble = Trouble { text: why.to_owned(), kind };
        Self { title: item.id().to_owned(), item, words: String::new(), result: Err(trouble) }
    }

    /// What was tried and what came of it. The trouble mostly names the action itself, which is not said twice.
    fn failure(&self, trouble: &str) -> String {
        let verb = |text: &str| text.split([':', ' ']).next().map(str::to_owned);
        match self.words.split(", ").any(|action| verb(action) == verb(trouble)) {
            true => trouble.to_owned(),
            false => format!("{}: {trouble}", self.words),
        }
    }
}

impl Worker {
    pub(crate) fn new(parts: Parts) -> Self {
        let wanted = parts.cached.clone().map(|told| Wanted::new(told, false));
        parts.seen.send_modify(|snapshot| snapshot.from_cache = wanted.is_some());
        let seed = parts.seed;
        Self {
            parts,
            wanted,
            kept: None,
            memory: Memory::new(seed),
            crashes: CrashWatch::default(),
            reporter: Reporter::default(),
            online: false,
            run: None,
            steps: JoinSet::new(),
            under_way: HashMap::new(),
            ended: BTreeSet::new(),
            look: Look { lists: true, ..Look::default() },
            bad_ports: BTreeSet::new(),
            ill: BTreeSet::new(),
            due: true,
            hurry: false,
            rested: false,
            next_pass: Moment::default(),
            every: limits::RECONCILE_EVERY,
            passes: 0,
            restless: 0,
            engine_down: false,
            prober: Prober::spawn(),
            asked: BTreeMap::new(),
            since: Moment::default(),
            next_sweep: Moment::default(),
        }
    }

    /// Runs until nobody speaks to it any more.
    pub(crate) async fn run(mut self, mut inbox: mpsc::Receiver<ToWorker>) {
        let (hints, mut hinted) = mpsc::channel(64);
        self.parts.net.watch(hints.clone());
        self.parts.engines.hint_to(hints);
        let mut health = self.prober.states();
        loop {
            if self.due {
                self.due = false;
                self.pass().await;
            }
            let wake = self.parts.clock.instant(self.wake_at());
            tokio::select! {
                message = inbox.recv() => match message {
                    Some(message) => self.told(message),
                    None => return,
                },
                Some(hint) = hinted.recv() => self.hinted(hint),
                Some(done) = self.steps.join_next_with_id() => self.ended(done).await,
                () = until_kept(&mut self.kept) => {
                    self.kept = None;
                    self.advance().await;
                }
                Ok(()) = health.changed() => self.due = true,
                () = tokio::time::sleep_until(wake) => self.due = true,
            }
        }
    }

    /// The next pass without another reason, or when something that failed is to be tried again.
    fn wake_at(&self) -> Moment {
        // A retry that is due already waits for the pass that is under way.
        let retry = self.memory.next_retry().filter(|_| self.run.is_none());
        retry.map_or(self.next_pass, |retry| retry.min(self.next_pass))
    }

    fn told(&mut self, message: ToWorker) {
        match message {
            ToWorker::Apply { told, kept } => self.wants(Wanted::new(told, true), kept),
            ToWorker::Online(intervals) => self.went_online(intervals),
            ToWorker::Offline => {
                self.online = false;
                if let Some(wanted) = &mut self.wanted {
                    wanted.fresh = false;
                }
            }
            ToWorker::Probe(ping) => self.answer(ping),
        }
    }

    fn wants(&mut self, wanted: Wanted, kept: Kept) {
        let state = &wanted.state;
        tracing::debug!("state {} of {} replicas is to be applied", state.generation, state.replicas.len());
        // Other networks or volumes are compared with what is there; else events say when that changes.
        let same = |before: &Wanted| {
            before.fresh && before.state.networks == state.networks && before.state.volumes == state.volumes
        };
        self.look.lists |= !self.wanted.as_ref().is_some_and(same);
        self.wanted = Some(wanted);
        self.kept = Some(kept);
        self.since = self.parts.clock.now();
        self.restless = 0;
        // What failed under the last state may work under this one.
        self.memory.retry_now();
        self.due = true;
        self.hurry = true;
    }

    fn went_online(&mut self, intervals: Intervals) {
        self.online = true;
        self.every = Duration::from_millis(intervals.reconcile_ms.clamp(1_000, 600_000));
        let said = self.parts.seen.borrow().replicas.clone();
        self.reporter.reset(said.as_deref());
        self.due = true;
    }

    /// Late means: a pass that should have begun has not.
    fn answer(&self, ping: Ping) {
        let lag = self.parts.clock.now().since(self.next_pass);
        let lag = if self.run.is_some() || lag < LATE { Duration::ZERO } else { lag };
        let lag = u64::try_from(lag.as_millis()).unwrap_or(u64::MAX);
        let pong = Pong { seq: ping.seq, t_us: ping.t_us, reconcile_lag_ms: Some(lag) };
        self.parts.link.tell(ToLink::Alive(pong));
    }

    fn hinted(&mut self, hint: Hint) {
        self.rested = false;
        self.look.lists |= hint.lists;
        self.look.suspects.extend(hint.suspects);
        if hint.reopened {
            self.parts.engines.reopened();
        }
        self.due = true;
    }

    async fn ended(&mut self, done: Result<(task::Id, Done), JoinError>) {
        self.rested = false;
        let id = done.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
        let Some((item, _)) = self.under_way.remove(&id) else { return };
        let done = match done {
            Ok((_, done)) => {
                self.tell_step(&done);
                done
            }
            Err(error) if error.is_cancelled() => {
                tracing::info!("{} is needed no longer: it is not waited for", item.id());
                Done::without_words(item, "it is needed no longer", TroubleKind::Unavailable)
            }
            Err(error) => {
                // A panic in a driver: what it worked on is looked at and tried again, after a pause as for any failure.
                self.complain(&format!("{}: a step ended in an unexpected way: {error}", item.id()));
                let why = "it ended in an unexpected way: see the agent's log";
                Done::without_words(item, why, TroubleKind::Retry)
            }
        };
        let succeeded = done.result.is_ok();
        if let (true, Item::Image(image)) = (succeeded, &done.item) {
            self.parts.images.pulled(image);
        }
        let is_network = matches!(done.item, Item::Network(_) | Item::Volume(_));
        // What failed may have missed a network or volume that was taken away a moment ago.
        self.look.lists |= is_network || !succeeded;
        if let Item::Replica(id) = &done.item {
            self.ended.insert(id.clone());
        }
        self.memory.end(self.parts.clock.now(), &done.item, done.result);
        match &mut self.run {
            Some(running) => {
                running.run.end(&done.item, succeeded);
                self.advance().await;
            }
            // Its plan was given up for a newer one.
            None => self.due = true,
        }
    }

    fn tell_step(&self, done: &Done) {
        let about = match &done.item {
            Item::Replica(id) => About { replica: Some(id.clone()), release: None },
            _ => About::default(),
        };
        match &done.result {
            Ok(()) => {
                tracing::info!("{}: {}", done.title, done.words);
                if matches!(done.item, Item::Replica(_)) {
                    let text = format!("{}: {}", done.title, done.words);
                    self.parts.log.push(HostLogLevel::Deploy, HostLogSource::Replica, about, &text);
                }
            }
            Err(trouble) => {
                let text = self.parts.log.masked(&format!("{}: {}", done.title, done.failure(&trouble.text)));
                tracing::warn!("{text}");
                self.parts.log.push(HostLogLevel::Error, HostLogSource::Docker, about, &text);
            }
        }
    }

    fn complain(&self, text: &str) {
        tracing::error!("{text}");
        self.parts.log.push(HostLogLevel::Error, HostLogSource::Agent, About::default(), text);
    }

    fn say(&self, body: ToServer) {
        if self.online {
            self.parts.link.send(body);
        }
    }

    fn phase(running: &Running) -> Option<Phase> {
        Phase::ALL.get(running.phase).copied()
    }
}

/// Waits for a state to be on the disk; for ever when it is.
async fn until_kept(kept: &mut Option<Kept>) {
    match kept {
        Some(kept) => {
            let _ = kept.await;
        }
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_what_was_tried_once() {
        let done = |words: &str| Done {
            item: Item::Image("web:1".to_owned()),
            title: "image web:1".to_owned(),
            words: words.to_owned(),
            result: Ok(()),
        };
        assert_eq!(done("pull").failure("pull: manifest unknown"), "pull: manifest unknown");
        let begun = done("create container shop-web-1, start");
        assert_eq!(begun.failure("start: driver failed"), "start: driver failed");
        assert_eq!(done("write").failure("no space left"), "write: no space left");
    }
}
