//! Which images were pulled here for which release, and which of them go when the disk gets full (R43). An engine keeps no
//! labels for images, so it is written down: what is not on the list was brought by somebody else and is never touched.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use host_drivers::docker::Engine;
use host_drivers::facts;
use host_proto::DesiredState;
use host_proto::desired::{DesiredRun, Gc};
use reconcile::Trouble;
use reconcile::images::{Fullness, Used, garbage, pull_name};
use serde::{Deserialize, Serialize};

use crate::atomic;

/// So many uses are remembered; the oldest are forgotten first, and their images stay.
const MOST: usize = 4_096;

/// The list, shared by those who add to it and those who clear up.
#[derive(Debug, Clone)]
pub(crate) struct Images {
    path: PathBuf,
    list: Arc<Mutex<List>>,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct List {
    /// What was pulled, by what it was pulled by.
    pulled: BTreeSet<String>,
    used: Vec<Used>,
}

impl Images {
    /// The list in this file. One that cannot be read is begun anew: what was on it stays on the disk.
    pub(crate) fn open(path: PathBuf) -> Self {
        let list = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_else(|error| {
                tracing::warn!("{} is begun anew, the images on it stay: {error}", path.display());
                List::default()
            }),
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    tracing::warn!("{} cannot be read: {error}", path.display());
                }
                List::default()
            }
        };
        Self { path, list: Arc::new(Mutex::new(list)) }
    }

    /// An image was pulled for a replica of ours. It is written down with its first use.
    pub(crate) fn pulled(&self, image: &str) {
        self.lock().pulled.insert(image.to_owned());
    }

    /// A state is in place: its replicas were made from these images. Writes, and only when one of them is new.
    pub(crate) fn note(&self, state: &DesiredState, now_ms: u64) {
        let mut list = self.lock();
        let before = list.used.len();
        for spec in state.replicas.iter().filter(|spec| spec.desired == DesiredRun::Running) {
            let image = pull_name(&spec.image);
            let same = |used: &&Used| used.image == image && used.release_id == spec.release_id;
            if !list.pulled.contains(&image) || list.used.iter().any(|used| same(&used)) {
                continue;
            }
            let (service_id, release_id) = (spec.service_id.clone(), spec.release_id.clone());
            list.used.push(Used { image, service_id, release_id, used_at_ms: now_ms });
        }
        let new = list.used.len() > before;
        let surplus = list.used.len().saturating_sub(MOST);
        for used in list.used.drain(..surplus).collect::<Vec<_>>() {
            list.pulled.remove(&used.image);
        }
        if new {
            self.save(&list);
        }
    }

    /// Removes what nobody needs, the longest unused first, until the disk has room again; how many went.
    pub(crate) async fn sweep(
        &self,
        (gc, needed): (Gc, BTreeSet<String>),
        now_ms: u64,
        shelf: &mut impl Shelf,
    ) -> usize {
        let Some(full) = shelf.fullness() else { return 0 };
        let chosen = garbage(&gc, &self.lock().used, &needed, full, now_ms);
        let mut gone = 0;
        for image in chosen {
            if shelf.fullness().is_none_or(|now| now.bytes_pct.max(now.inodes_pct) < gc.disk_low_pct) {
                break;
            }
            match shelf.remove(&image).await {
                Ok(()) => {
                    tracing::info!(
                        "removed the image {image}, which no release needs: the disk was full to {} %",
                        full.bytes_pct
                    );
                    self.forget(&image);
                    gone += 1;
                }
                // A container of somebody else uses it.
                Err(trouble) => tracing::debug!("the image {image} stays: {trouble}"),
            }
        }
        gone
    }

    fn forget(&self, image: &str) {
        let mut list = self.lock();
        list.pulled.remove(image);
        list.used.retain(|used| used.image != image);
        self.save(&list);
    }

    /// When it cannot be written, as on a full disk, the next change tries again; what it lacks then stays on the disk. The
    /// list is held meanwhile, so that an older one never replaces a newer one.
    fn save(&self, list: &List) {
        let text = serde_json::to_vec(list).unwrap_or_default();
        if let Err(error) = atomic::replace(&self.path, &[&text]) {
            tracing::warn!("{} cannot be written: {error}", self.path.display());
        }
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where images lie.
pub(crate) trait Shelf: Send {
    /// How full its disk is; `None` when that cannot be seen.
    fn fullness(&mut self) -> Option<Fullness>;

    /// Removes an image that nothing uses.
    fn remove(&mut self, image: &str) -> impl Future<Output = Result<(), Trouble>> + Send;
}

/// Those of an engine.
pub(crate) struct EngineShelf {
    pub(crate) engine: Arc<Engine>,
    /// Where it keeps them.
    pub(crate) root: PathBuf,
}

impl Shelf for EngineShelf {
    fn fullness(&mut self) -> Option<Fullness> {
        facts::fullness(&self.root)
    }

    async fn remove(&mut self, image: &str) -> Result<(), Trouble> {
        self.engine.remove_image(image).await
    }
}

/// The images of a state, whatever its replicas shall do.
pub(crate) fn needed(state: &DesiredState) -> BTreeSet<String> {
    state.replicas.iter().map(|spec| pull_name(&spec.image)).collect()
}

#[cfg(test)]
mod tests;
