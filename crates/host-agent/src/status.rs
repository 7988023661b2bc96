//! What the running agent says of itself, in a file in memory that `muster agent status` reads; and that reading.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::clock::wall;
use crate::identity::{Identity, IdentityError};
use crate::options::Options;

/// How an agent stands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Running {
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// Whether it is connected.
    pub online: bool,
    /// Since when it is, or is not, RFC 3339.
    pub since: String,
    /// Why it is not.
    pub reason: Option<String>,
    /// Whether the control plane said that it does not list this host any more.
    pub removed: bool,
    /// Of which epoch.
    pub epoch: String,
    /// The state that it works on.
    pub generation: u64,
    /// What is not as it should be, in words.
    pub items: Vec<String>,
    /// Replicas, and those of them that are not as they should be.
    pub replicas: usize,
}

/// What is known about the host on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// Its identifier.
    pub host_id: String,
    /// Where it connects.
    pub server: String,
    /// What its agent says; `None` when none runs.
    pub running: Option<Running>,
}

/// The file, kept up to date.
#[derive(Debug, Clone)]
pub(crate) struct StatusFile {
    path: PathBuf,
    running: Arc<Mutex<Running>>,
}

impl StatusFile {
    pub(crate) fn new(options: &Options) -> Self {
        let running = Running {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            since: wall(),
            ..Running::default()
        };
        Self { path: options.status(), running: Arc::new(Mutex::new(running)) }
    }

    pub(crate) fn online(&self) {
        self.change(|running| {
            running.online = true;
            running.since = wall();
            running.reason = None;
            running.removed = false;
        });
    }

    pub(crate) fn removed(&self) {
        self.change(|running| running.removed = true);
    }

    pub(crate) fn offline(&self, reason: &str) {
        self.change(|running| {
            if running.online || running.reason.is_none() {
                running.since = wall();
            }
            running.online = false;
            running.reason = Some(reason.to_owned());
        });
    }

    pub(crate) fn state(&self, epoch: &str, generation: u64) {
        self.change(|running| (running.epoch, running.generation) = (epoch.to_owned(), generation));
    }

    pub(crate) fn applied(&self, items: Vec<String>, replicas: usize) {
        self.change(|running| (running.items, running.replicas) = (items, replicas));
    }

    pub(crate) fn remove(&self) {
        let _ = std::fs::remove_file(&self.path);
    }

    /// Written when something changed. That it cannot be written keeps nothing from working.
    fn change(&self, change: impl FnOnce(&mut Running)) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let before = running.clone();
        change(&mut running);
        if *running != before
            && let Err(error) = write(&self.path, &running)
        {
            tracing::debug!("{}: {error}", self.path.display());
        }
    }
}

fn write(path: &Path, running: &Running) -> std::io::Result<()> {
    let beside = path.with_extension("new");
    std::fs::write(&beside, serde_json::to_vec(running)?)?;
    std::fs::rename(beside, path)
}

/// What is known about the host on this machine.
///
/// # Errors
/// When it is none.
pub fn status(options: &Options) -> Result<Status, IdentityError> {
    let (_, joined) = Identity::read_joined(&options.identity)?;
    let text = std::fs::read(options.status()).ok();
    let running = text.and_then(|text| serde_json::from_slice::<Running>(&text).ok());
    // A file outlives an agent that was killed.
    let alive = |running: &Running| Path::new(&format!("/proc/{}", running.pid)).exists();
    Ok(Status {
        name: joined.name,
        host_id: joined.host_id.to_string(),
        server: joined.connect_url,
        running: running.filter(alive),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn that_the_host_was_removed_is_kept_until_it_is_connected_again() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { run_dir: folder.path().to_owned(), ..Options::default() };
        let said = || serde_json::from_slice::<Running>(&std::fs::read(options.status()).unwrap()).unwrap();
        let file = StatusFile::new(&options);
        file.online();
        file.removed();
        file.offline("the server closed the connection");
        assert!(said().removed && !said().online, "{:?}", said());
        file.online();
        assert!(!said().removed, "it is a host again");
    }
}
