//! How a machine stops being a host. Containers keep running unless their removal is asked for; then only those with this
//! host's label are removed, and never a volume. The identity goes last, so that a leave that broke off can be repeated.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use host_drivers::docker::{Engine, EngineOptions, FilePlaces, Look, Observer};
use host_drivers::files::release;
use host_drivers::netd;
use host_drivers::nft::{Nft, Program};
use host_proto::DesiredState;
use host_proto::id::HostId;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use reconcile::{Action, Trouble};

use crate::cache::Cache;
use crate::identity::{Identity, IdentityError};
use crate::link::chain;
use crate::options::Options;
use crate::status::status;
use crate::units;

/// How long an agent may take to end.
const END_WITHIN: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Left {
    /// Containers that were removed.
    pub containers: usize,
    /// Networks that were removed.
    pub networks: usize,
    /// Names of volumes that are left: their data is nobody's to delete but a person's.
    pub volumes: Vec<String>,
}

/// Why a machine is still a host.
#[derive(Debug, thiserror::Error)]
pub enum LeaveError {
    /// It is none.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The agent does not end.
    #[error("the agent (process {pid}) did not end; stop it and try again")]
    StillRunning {
        /// Its process.
        pid: u32,
    },
    /// systemd did not let go.
    #[error(transparent)]
    Unit(#[from] units::UnitError),
    /// The engine refused.
    #[error("{what}: {trouble}")]
    Engine {
        /// What was to be removed.
        what: String,
        /// Why it was not.
        trouble: Trouble,
    },
    /// A file of ours.
    #[error("{}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Stops the agent, removes what is asked for, and forgets who this host was.
///
/// # Errors
/// See [`LeaveError`]. The identity is there until everything else is done.
pub async fn leave(options: &Options, remove_containers: bool) -> Result<Left, LeaveError> {
    let (identity, joined) = Identity::read_joined(&options.identity)?;
    let [boot, netd, agent] = units::UNITS;
    // Its unit first, or systemd starts it again.
    units::remove(&[agent]).await?;
    stop_agent(options).await?;
    let mut left = Left::default();
    // Without containers there is nothing that the rest is for.
    if remove_containers || !has_containers(options, &joined.host_id).await {
        left = remove_ours(options, &joined.host_id).await?;
        // Names, ports and rules are for containers that are gone now.
        units::remove(&[netd, boot]).await?;
        close_net(options).await;
        let secrets = options.secrets();
        release(&secrets).map_err(|source| LeaveError::File { path: secrets.clone(), source })?;
        for folder in [options.files(), secrets] {
            remove_folder(&folder)?;
        }
    }
    let cache = Cache::new(options.cache(), joined.host_id, identity.cache_key());
    cache.remove().map_err(|source| LeaveError::File { path: options.cache(), source })?;
    std::fs::remove_file(&options.identity)
        .map_err(|source| LeaveError::File { path: options.identity.clone(), source })?;
    Ok(left)
}

/// Ends what serves the containers of a host that has none: names, ports and the firewall's table. Whether that was so; the
/// machine stays a host.
///
/// # Errors
/// See [`LeaveError`]: the identity or the engine.
pub async fn rest(options: &Options) -> Result<bool, LeaveError> {
    let (_, joined) = Identity::read_joined(&options.identity)?;
    let engine = engine(options, &joined.host_id).await?;
    let actual = Observer::new(engine).observe(None, &lists()).await;
    if !known(actual.containers, "containers")?.is_empty() {
        return Ok(false);
    }
    close_net(options).await;
    Ok(true)
}

/// Whether there are containers of ours, or nobody knows.
async fn has_containers(options: &Options, host: &HostId) -> bool {
    let Ok(engine) = engine(options, host).await else { return true };
    let actual = Observer::new(engine).observe(None, &lists()).await;
    actual.containers.known().is_none_or(|found| !found.is_empty())
}

/// What is looked at: what there is of ours.
fn lists() -> Look {
    Look { lists: true, ..Look::default() }
}

/// Names, ports and rules.
async fn close_net(options: &Options) {
    stop_netd(options).await;
    if let Err(error) = Nft::new(Program::new(options.nft.clone())).remove().await {
        tracing::warn!("the firewall's table is still there: {}", chain(&error));
    }
}

async fn engine(options: &Options, host: &HostId) -> Result<Arc<Engine>, LeaveError> {
    let engine = Engine::connect(EngineOptions {
        socket: options.docker.clone(),
        host: host.clone(),
        files: FilePlaces { files: options.files(), secrets: options.secrets() },
        allow_host_paths: Vec::new(),
    });
    Ok(Arc::new(engine.await.map_err(failed("the container engine"))?))
}

fn failed(what: &str) -> impl FnOnce(Trouble) -> LeaveError {
    let what = what.to_owned();
    move |trouble| LeaveError::Engine { what, trouble }
}

async fn stop_agent(options: &Options) -> Result<(), LeaveError> {
    let Some(running) = status(options)?.running else { return Ok(()) };
    if end(running.pid).await { Ok(()) } else { Err(LeaveError::StillRunning { pid: running.pid }) }
}

async fn stop_netd(options: &Options) {
    if let Ok(status) = netd::Client::new(options.netd_socket()).status().await
        && !end(status.pid).await
    {
        tracing::warn!("netd (process {}) did not end", status.pid);
    }
}

/// Asks a process to end; whether it did.
async fn end(pid: u32) -> bool {
    let Ok(number) = i32::try_from(pid) else { return false };
    if kill(Pid::from_raw(number), Signal::SIGTERM).is_err() {
        return true;
    }
    let gone = async {
        while Path::new(&format!("/proc/{pid}")).exists() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    };
    tokio::time::timeout(END_WITHIN, gone).await.is_ok()
}

/// Removes containers and networks with this host's label. What has another label, or none, is not even listed.
async fn remove_ours(options: &Options, host: &HostId) -> Result<Left, LeaveError> {
    let engine = engine(options, host).await?;
    let actual = Observer::new(engine.clone()).observe(None, &lists()).await;
    let nothing = DesiredState::empty("", 0);
    let mut left = Left::default();
    for container in known(actual.containers, "containers")? {
        let id = container.id;
        if let Err(trouble) =
            engine.apply(&Action::Stop { container: id.clone(), grace_ms: None }, &nothing).await
        {
            tracing::warn!("{}: it does not stop, so it is killed: {trouble}", container.name);
        }
        let remove = Action::RemoveContainer { container: id, force: true };
        engine.apply(&remove, &nothing).await.map_err(failed(&container.name))?;
        left.containers += 1;
    }
    for name in known(actual.networks, "networks")?.ours.into_values() {
        let remove = Action::RemoveNetwork { name: name.clone() };
        engine.apply(&remove, &nothing).await.map_err(failed(&name))?;
        left.networks += 1;
    }
    left.volumes = known(actual.volumes, "volumes")?.ours.into_values().collect();
    Ok(left)
}

fn known<T>(seen: reconcile::Seen<T>, what: &str) -> Result<T, LeaveError> {
    match seen {
        reconcile::Seen::Known(value) => Ok(value),
        reconcile::Seen::Unknown(text) => Err(LeaveError::Engine {
            what: what.to_owned(),
            trouble: Trouble { text, kind: reconcile::TroubleKind::Unavailable },
        }),
    }
}

fn remove_folder(path: &Path) -> Result<(), LeaveError> {
    match std::fs::remove_dir_all(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(LeaveError::File { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}
