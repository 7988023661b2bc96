//! The container engine: connect, observe, do what a plan says, and read what containers print. Decides nothing; every
//! call has a time limit, and every error keeps the engine's own words.

mod apply;
mod civil;
mod connect;
pub mod events;
mod inspect;
pub mod labels;
mod list;
pub mod logs;
mod network;
mod observe;
mod pull;
mod spec;
mod status;
mod trouble;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bollard::Docker;
use host_proto::id::HostId;
use reconcile::{Container, ContainerState};

pub use connect::{ApiVersion, EngineInfo};
pub use observe::{Look, Observer};

/// What an engine is used with.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Its unix socket.
    pub socket: PathBuf,
    /// Whose objects are ours.
    pub host: HostId,
    /// Where files for containers lie.
    pub files: FilePlaces,
    /// Paths of the host that a service may mount, with all below them; none when empty.
    pub allow_host_paths: Vec<PathBuf>,
}

/// Where files for containers lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlaces {
    /// Files, on disk.
    pub files: PathBuf,
    /// Secrets, in memory.
    pub secrets: PathBuf,
}

/// A connected engine.
#[derive(Debug)]
pub struct Engine {
    docker: Docker,
    api: ApiVersion,
    options: EngineOptions,
    images: Mutex<BTreeMap<String, String>>,
    /// Containers that were started, by identifier or name, and that no look has shown running or ended since.
    started: Mutex<BTreeSet<String>>,
}

impl Engine {
    /// The version of the API that is spoken.
    pub const fn api(&self) -> ApiVersion {
        self.api
    }

    /// Whose objects are ours.
    pub const fn host(&self) -> &HostId {
        &self.options.host
    }

    /// The images that the last look found, by the name that a state gives them, with what this engine knows each by.
    fn remember_images(&self, found: BTreeMap<String, String>) {
        *self.images.lock().unwrap_or_else(PoisonError::into_inner) = found;
    }

    fn remember_start(&self, container: &str) {
        self.starts().insert(container.to_owned());
    }

    fn forget_start(&self, container: &Container) {
        self.starts().retain(|key| !is(container, key));
    }

    /// Those of a list that were started and that it does not show running: an engine that cannot write, as with a full
    /// disk, starts a container and goes on listing it as it was. What the list has running, or not at all, is forgotten.
    fn owed_starts(&self, containers: &[Container]) -> BTreeSet<String> {
        let mut owed = BTreeSet::new();
        let rests = |it: &&Container| matches!(it.state, ContainerState::Created | ContainerState::Exited);
        self.starts().retain(|key| {
            let listed = containers.iter().filter(rests).find(|container| is(container, key));
            owed.extend(listed.map(|container| container.id.clone()));
            listed.is_some()
        });
        owed
    }

    fn starts(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remembered_image(&self, name: &str) -> Option<String> {
        self.images.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }
}

/// Whether an engine knows a container by this.
fn is(container: &Container, key: &str) -> bool {
    container.id == key || container.name == key
}
