//! The agent, put together in one place: which tasks there are and what each of them has. They end when the link has said
//! goodbye; containers and netd go on (R39, R41).

use std::fs::{File, OpenOptions};
use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use host_proto::Mark;
use host_proto::agent::{Position, Session, Settings};
use host_proto::message::{HostLogLevel, HostLogSource};
use nix::fcntl::{Flock, FlockArg};
use reconcile::firewall::Subnet;
use tokio::sync::{mpsc, watch};

use crate::cache::{Cache, CacheError, Cached};
use crate::clock::{Clock, wall};
use crate::dial::Endpoint;
use crate::handles::{LinkHandle, Snapshot, ToLink, Told};
use crate::hostlog::{About, HostLog};
use crate::identity::{Identity, IdentityError, Joined};
use crate::images::Images;
use crate::link::{self, Link, Machine, chain};
use crate::logs::{self, Logs};
use crate::net::Net;
use crate::options::{Options, private_folder};
use crate::status::StatusFile;
use crate::telemetry::Telemetry;
use crate::trust::{self, BadTrust};
use crate::worker::{self, Engines, Worker};

/// A goodbye takes no longer.
const LEAVE_WITHIN: Duration = Duration::from_secs(6);
/// Older copies of a state are good for networking only: what ran then may run elsewhere now.
const OLD: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Why the agent could not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is no identity.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// A setting is wrong.
    #[error("{0}")]
    Setting(String),
    /// The server's certificate cannot be checked.
    #[error(transparent)]
    Trust(#[from] BadTrust),
    /// A folder or file of ours.
    #[error("{}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Another agent runs with the same folders.
    #[error("another agent runs here already: it holds {}", path.display())]
    Running {
        /// What it holds.
        path: PathBuf,
    },
}

/// Runs the agent until `shutdown` is ready, then says goodbye. Whatever fails on the way to the server is tried again;
/// nothing but a wrong setting ends it.
///
/// # Errors
/// See [`RunError`]: all before it begins.
pub async fn run(options: Options, shutdown: impl Future<Output = ()>) -> Result<(), RunError> {
    let (identity, joined) = Identity::read_joined(&options.identity)?;
    let machine_id = options
        .read_machine_id()
        .map_err(|source| RunError::File { path: options.machine_id.clone(), source })?;
    let range = network_range(&options)?;
    let endpoint = Endpoint::new(&joined.connect_url).map_err(RunError::Setting)?;
    let tls = trust::client_config(&joined.trust_anchors)?;
    let _lock = prepare(&options)?;
    let log = HostLog::default();
    let cache = Cache::new(options.cache(), joined.host_id.clone(), identity.cache_key());
    let cached = recall(&cache, &log);
    let machine = Machine {
        options: Arc::new(options.clone()),
        machine_id,
        instance_id: identity.instance_id.clone(),
        wg_public_key: identity.wg_public_key(),
        started_at: wall(),
    };
    tracing::info!(host = %joined.host_id, "the agent of {} begins", joined.name);
    let start = Start { options, identity, joined, machine, range, endpoint, tls, cache, cached, log };
    start.go(shutdown).await;
    Ok(())
}

/// Everything that was read.
struct Start {
    options: Options,
    identity: Identity,
    joined: Joined,
    machine: Machine,
    range: Subnet,
    endpoint: Endpoint,
    tls: Arc<rustls::ClientConfig>,
    cache: Cache,
    cached: Option<Cached>,
    log: HostLog,
}

impl Start {
    /// Starts the tasks, and ends them.
    async fn go(self, shutdown: impl Future<Output = ()>) {
        let clock = Clock::start();
        let options = Arc::new(self.options);
        let status = StatusFile::new(&options);
        let (to_link, link_inbox) = mpsc::unbounded_channel();
        let handle = LinkHandle(to_link);
        let (to_worker, worker_inbox) = mpsc::channel(64);
        let (requests, asked) = mpsc::channel(256);
        let (see, seen) = watch::channel(Snapshot::default());
        let (share, engine) = watch::channel(None);
        let (connect, online) = watch::channel(None);
        let worker = Worker::new(worker::Parts {
            engines: Engines::new(&options, self.joined.host_id.clone(), share),
            net: Net::new(&options, self.range, self.log.clone()),
            clock,
            log: self.log.clone(),
            status: status.clone(),
            images: Images::open(options.images()),
            link: handle.clone(),
            seen: see,
            cached: self.cached.as_ref().map(usable),
            seed: seed(),
        });
        let parts = logs::Parts { engine, seen: seen.clone(), online: online.clone(), link: handle.clone() };
        let telemetry = Telemetry {
            options: options.clone(),
            log: self.log.clone(),
            seen: seen.clone(),
            online,
            link: handle.clone(),
        };
        let link = Link::new(link::Parts {
            session: Session::new(settings(&self.joined, self.cached.as_ref()), seed()),
            options,
            identity: self.identity,
            joined: self.joined,
            machine: self.machine,
            endpoint: self.endpoint,
            tls: self.tls,
            cache: self.cache,
            told: self.cached.as_ref().map(told),
            clock,
            log: self.log,
            status: status.clone(),
            worker: to_worker,
            requests,
            online: connect,
            seen,
            handle: handle.clone(),
        });
        let others = [
            tokio::spawn(worker.run(worker_inbox)),
            tokio::spawn(Logs::new(parts).run(asked)),
            tokio::spawn(telemetry.run()),
        ];
        let mut link = tokio::spawn(link.run(link_inbox));
        tokio::select! {
            () = shutdown => {
                handle.tell(ToLink::Stop("the agent is stopped".to_owned()));
                let _ = tokio::time::timeout(LEAVE_WITHIN, &mut link).await;
            }
            _ = &mut link => {}
        }
        link.abort();
        for task in others {
            task.abort();
        }
        status.remove();
    }
}

/// Makes the folders, and holds the lock: two agents would fight over the same containers.
fn prepare(options: &Options) -> Result<Flock<File>, RunError> {
    for folder in [&options.data_dir, &options.run_dir] {
        private_folder(folder).map_err(|source| RunError::File { path: folder.clone(), source })?;
    }
    let path = options.run_dir.join("agent.lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(|source| RunError::File { path: path.clone(), source })?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|_| RunError::Running { path })
}

/// What the addresses of all networks come from.
pub(crate) fn network_range(options: &Options) -> Result<Subnet, RunError> {
    let bad =
        |reason: String| RunError::Setting(format!("network range {:?}: {reason}", options.network_range));
    options.network_range.parse().map_err(|error: reconcile::firewall::BadBlock| bad(error.to_string()))
}

/// What the cache holds; one that cannot be used is told and not applied (STATE-12).
pub(crate) fn recall(cache: &Cache, log: &HostLog) -> Option<Cached> {
    match cache.load() {
        Ok(cached) => {
            if let Some(cached) = &cached {
                log.know(&told(cached).whole(), &[]);
            }
            cached
        }
        Err(error) => {
            let text = chain(&error);
            let text = match error {
                CacheError::SetAside { .. } => format!("{text}; nothing of it is applied"),
                CacheError::Io { .. } => text,
            };
            tracing::error!("{text}");
            log.push(HostLogLevel::Error, HostLogSource::Agent, About::default(), &text);
            None
        }
    }
}

/// The part of a kept state that may be worked towards.
pub(crate) fn usable(cached: &Cached) -> Told {
    let mut known = told(cached);
    if cached.age > OLD {
        tracing::warn!(
            "the copy of the desired state is older than 30 days: only networks are taken from it"
        );
        for state in std::iter::once(&mut known.state).chain(&mut known.unclaimed) {
            let state = Arc::make_mut(state);
            state.replicas.clear();
            state.certificates.clear();
        }
    }
    known
}

/// What was kept, as it came.
pub(crate) fn told(cached: &Cached) -> Told {
    Told {
        state: Arc::new(cached.state.clone()),
        adopt: cached.adopting,
        unclaimed: cached.unclaimed.clone().map(Arc::new),
    }
}

fn settings(joined: &Joined, cached: Option<&Cached>) -> Settings {
    Settings {
        session_secret: joined.session_secret.clone(),
        has_previous_token: joined.previous_token.is_some(),
        position: cached.map(|cached| Position {
            mark: Mark::new(cached.state.epoch.clone(), cached.state.generation),
            adopting: cached.adopting,
        }),
    }
}

/// Jitter needs to differ between hosts, no more.
fn seed() -> u64 {
    let mut bytes = [0; 8];
    // Without random numbers the time of the start is different enough.
    if getrandom::fill(&mut bytes).is_err() {
        return crate::clock::wall_us();
    }
    u64::from_ne_bytes(bytes)
}
