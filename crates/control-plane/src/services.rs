//! What runs on hosts: projects, services, releases, deployments. One controller looks at each project when something
//! about it changed, lets `scheduler` decide, writes what was decided, and tells the hosts.
//!
//! Reading order: here, [`controller`] (the loop), [`views`] (what is looked at), [`allocate`] (identifiers and addresses),
//! [`state`] (what a host is told), [`deploy`] (a deployment begins), [`files`] (secrets and configurations).

pub(crate) mod allocate;
pub(crate) mod controller;
pub(crate) mod deploy;
pub(crate) mod files;
pub(crate) mod state;
pub(crate) mod views;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use host_proto::id::{HostId, ProjectId, ServiceId};
use model::hosting::{DeploymentState, Host, Subnet};
use store::{RESTORED_AT, Store, StoreError};
use tokio::sync::mpsc;

use crate::events::Hub;
use crate::hosts::LiveHosts;
use crate::secrets::Sealer;

/// The setting with the history that generations count in, and the restore that it was made for.
const EPOCH: &str = "host_epoch";
/// Where addresses of containers come from, unless the operator says otherwise.
pub const DEFAULT_NETWORK_RANGE: &str = "10.208.0.0/12";
/// Where addresses of hosts in the mesh come from, unless the operator says otherwise.
pub const DEFAULT_MESH_RANGE: &str = "10.98.0.0/16";

/// The services of this server.
#[derive(Debug)]
pub(crate) struct Services {
    pub(crate) store: Store,
    pub(crate) sealer: Sealer,
    pub(crate) hub: Arc<Hub>,
    pub(crate) live: Arc<LiveHosts>,
    pub(crate) networks: Subnet,
    pub(crate) mesh: Subnet,
    /// The history that generations count in, of each host that has none of its own (R31).
    epoch: String,
    /// What services wait for, as of the last look.
    waits: Mutex<BTreeMap<ServiceId, String>>,
    /// Projects with a replica that no host could take at the last look.
    unplaced: Mutex<Unplaced>,
    /// How deployments ended since the server started.
    pub(crate) ended: Ended,
    dirty: mpsc::UnboundedSender<ProjectId>,
    /// Taken by the controller when the server begins to serve.
    queue: Mutex<Option<Dirty>>,
}

/// Where addresses come from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ranges {
    pub(crate) networks: Subnet,
    pub(crate) mesh: Subnet,
}

/// Projects with a replica that no host could take.
#[derive(Debug, Default)]
struct Unplaced {
    projects: BTreeSet<ProjectId>,
    /// How often hosts were not what they were before.
    changes: u64,
}

/// How many deployments came to an end, by how.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    pub(crate) done: AtomicU64,
    pub(crate) rolled_back: AtomicU64,
}

impl Ended {
    /// A deployment is in this state now.
    pub(crate) fn count(&self, state: DeploymentState) {
        let counter = match state {
            DeploymentState::Done => &self.done,
            DeploymentState::RolledBack => &self.rolled_back,
            // One whose place another took did not come to its end.
            DeploymentState::Running | DeploymentState::RollingBack | DeploymentState::Superseded => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Projects that the controller has to look at.
pub(crate) type Dirty = mpsc::UnboundedReceiver<ProjectId>;

impl Services {
    /// The services of a store. Nothing moves before [`controller::run`] does.
    pub(crate) async fn load(
        store: Store,
        sealer: Sealer,
        hub: Arc<Hub>,
        live: Arc<LiveHosts>,
        ranges: Ranges,
    ) -> Result<Arc<Self>, StoreError> {
        let epoch = epoch_of(&store).await?;
        let (dirty, queue) = mpsc::unbounded_channel();
        let services = Arc::new(Self {
            store,
            sealer,
            hub,
            live,
            networks: ranges.networks,
            mesh: ranges.mesh,
            epoch,
            waits: Mutex::default(),
            unplaced: Mutex::default(),
            ended: Ended::default(),
            dirty,
            queue: Mutex::new(Some(queue)),
        });
        for project in services.store.project_ids().await? {
            services.look_at(project);
        }
        Ok(services)
    }

    /// The history that the generations of a host count in now (R31).
    pub(crate) fn epoch_of<'a>(&'a self, host: &'a Host) -> &'a str {
        host.epoch.as_deref().unwrap_or(&self.epoch)
    }

    /// A host has applied more than this database knows of: from here on its generations count anew, and it removes nothing
    /// until an operator says so (R26, R31). Numbers are per host, so when the database is an older one each host that was
    /// told anything since then says so itself, and none can say it for others.
    pub(crate) async fn begin_epoch(&self, id: &HostId) -> Result<(), StoreError> {
        self.store.host_adopts(id.clone(), new_epoch()).await?;
        tracing::warn!(
            host = %id,
            "host {id} knows of more than this database: it keeps what it runs until an operator decides"
        );
        Ok(())
    }

    /// Has the controller look at a project.
    pub(crate) fn look_at(&self, project: ProjectId) {
        // The controller ends only with the server.
        let _ = self.dirty.send(project);
    }

    /// Hosts are not what they were: has the controller look at each project that lacks one.
    pub(crate) fn place_again(&self) {
        let mut unplaced = lock(&self.unplaced);
        unplaced.changes += 1;
        std::mem::take(&mut unplaced.projects).into_iter().for_each(|project| self.look_at(project));
    }

    /// How often hosts were not what they were before.
    fn host_changes(&self) -> u64 {
        lock(&self.unplaced).changes
    }

    /// Remembers whether a project lacks a host, as hosts were after so many changes.
    fn remember_unplaced(&self, project: &ProjectId, is_unplaced: bool, changes: u64) {
        let mut known = lock(&self.unplaced);
        known.projects.remove(project);
        match is_unplaced {
            false => {}
            true if known.changes == changes => drop(known.projects.insert(project.clone())),
            // What changed meanwhile may be the host that it lacks.
            true => self.look_at(project.clone()),
        }
    }

    /// The projects to look at, for the one controller.
    pub(crate) fn take_queue(&self) -> Option<Dirty> {
        lock(&self.queue).take()
    }

    /// What a service waits for, in words.
    pub(crate) fn waits_for(&self, service: &ServiceId) -> Option<String> {
        lock(&self.waits).get(service).cloned()
    }

    fn remember_waits(&self, services: &[ServiceId], waits: BTreeMap<ServiceId, String>) {
        let mut known = lock(&self.waits);
        services.iter().for_each(|id| drop(known.remove(id)));
        known.extend(waits);
    }
}

/// Reads the epoch, or makes one: at the first start, and at the first start after a restore (STATE-13).
async fn epoch_of(store: &Store) -> Result<String, StoreError> {
    let restored = store.setting(RESTORED_AT).await?.unwrap_or_default();
    let known = store.setting(EPOCH).await?;
    if let Some((epoch, of)) = known.as_deref().and_then(|text| text.split_once(' ')) {
        if of == restored {
            return Ok(epoch.to_owned());
        }
        store.hosts_adopt().await?;
    }
    let epoch = new_epoch();
    store.put_setting(EPOCH, format!("{epoch} {restored}")).await?;
    Ok(epoch)
}

fn new_epoch() -> String {
    let random: [u8; 16] = crate::random::bytes().unwrap_or_default();
    hex::encode(random)
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
