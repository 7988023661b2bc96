//! The loop that moves projects on. It is woken when something about a project changed and looks at all of it; what was
//! decided is written before any host hears of it, and a change that came between is looked at again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use host_proto::id::{HostId, ProjectId};
use model::UnixMillis;
use model::hosting::{DeploymentState, ProjectWorld};
use scheduler::Change;
use serde_json::json;
use store::{AuditEntry, Expected, StoreError};
use tokio::sync::watch;
use tokio::time::Instant;

use super::views::{Wanted, has_ports};
use super::{Dirty, Services};
use crate::clock;
use crate::tasks::stopped;

/// A step can make another one possible; so many follow at once.
const STEPS: usize = 16;
/// When the database fails, the project is looked at again after so long.
const RETRY: Duration = Duration::from_secs(2);
/// A deployment that is under way is looked at so often at least.
const UNDER_WAY: Duration = Duration::from_secs(5);

/// Works until the server stops.
pub(crate) async fn run(services: Arc<Services>, mut dirty: Dirty, mut stopping: watch::Receiver<bool>) {
    let mut alarms: BTreeMap<ProjectId, Instant> = BTreeMap::new();
    loop {
        let next = alarms.values().min().copied();
        let alarm = async {
            match next {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let mut due: BTreeSet<ProjectId> = BTreeSet::new();
        tokio::select! {
            project = dirty.recv() => match project {
                Some(project) => drop(due.insert(project)),
                None => return,
            },
            () = alarm => {}
            () = stopped(&mut stopping) => return,
        }
        while let Ok(project) = dirty.try_recv() {
            due.insert(project);
        }
        let now = Instant::now();
        due.extend(alarms.iter().filter(|(_, at)| **at <= now).map(|(project, _)| project.clone()));
        for project in due {
            alarms.remove(&project);
            if let Some(wait) = services.advance(&project).await {
                alarms.insert(project, Instant::now() + wait);
            }
        }
    }
}

impl Services {
    /// Moves a project on as far as it goes now; after how long it must be looked at again at the latest.
    async fn advance(&self, project: &ProjectId) -> Option<Duration> {
        for _ in 0..STEPS {
            match self.step(project).await {
                Ok(Moved::On) => {}
                Ok(Moved::Waits(until)) => return until,
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::error!(error, %project, "a step of the project {project} failed");
                    return Some(RETRY);
                }
            }
        }
        Some(Duration::ZERO)
    }

    async fn step(&self, id: &ProjectId) -> Result<Moved, StoreError> {
        let Some(world) = self.store.project(id.as_str()).await? else { return Ok(Moved::Waits(None)) };
        let changes = self.host_changes();
        let home = Wanted::at_home(&world, has_ports(&world));
        let mut hosts = self.host_views(&home).await?;
        let mut now = clock::now();
        let mut step = scheduler::step(&world, &hosts, now);
        if step.looks_further {
            hosts = self.host_views(&home.everywhere()).await?;
            now = clock::now();
            step = scheduler::step(&world, &hosts, now);
        }
        let services: Vec<_> = world.services.iter().map(|service| service.id.clone()).collect();
        self.remember_waits(&services, step.waits);
        self.remember_unplaced(id, step.unplaced, changes);
        if step.changes.is_empty() {
            let until = step.look_at.map(|at| until(now, at));
            // That a host is gone is nothing that anybody says.
            let under_way = world.deployment.is_some().then_some(UNDER_WAY);
            return Ok(Moved::Waits(until.into_iter().chain(under_way).min()));
        }
        tell(&world, &step.changes);
        let entries = entries(&world, &step.changes, now);
        let told = touched(&world, &step.changes);
        let state = step.changes.iter().find_map(|change| match change {
            Change::Deployment { state, .. } => Some(*state),
            _ => None,
        });
        let writes = self.allocated(&world, &hosts, step.changes, now).await?;
        if writes.is_empty() {
            // There was no room for what was to be added, and more comes only when something else goes.
            return Ok(Moved::Waits(Some(UNDER_WAY)));
        }
        let expected = Expected::OneOf(vec![world.project.version]);
        match self.store.write_steps(id.clone(), expected, writes, entries, now).await {
            Ok(()) => {}
            Err(StoreError::Changed(_)) => return Ok(Moved::On),
            Err(error) => return Err(error),
        }
        state.into_iter().for_each(|state| self.ended.count(state));
        self.hub.projects_changed([world.project.name.clone()]);
        told.iter().for_each(|host| self.live.state_changed(host));
        Ok(Moved::On)
    }
}

enum Moved {
    /// Something was done; look again.
    On,
    /// Nothing is to be done before something happens, or before so long.
    Waits(Option<Duration>),
}

fn until(now: UnixMillis, at: UnixMillis) -> Duration {
    // Rounded up, so that the next look sees the moment behind it.
    Duration::from_millis(u64::try_from(at.0.saturating_sub(now.0)).unwrap_or(0).saturating_add(1))
}

/// The hosts that something about changed.
fn touched(world: &ProjectWorld, changes: &[Change]) -> BTreeSet<HostId> {
    let mut hosts = BTreeSet::new();
    for change in changes {
        match change {
            Change::Add { host_id, .. } => drop(hosts.insert(host_id.clone())),
            Change::Phase { replica_id, .. }
            | Change::Adopt { replica_id, .. }
            | Change::Forget(replica_id) => {
                hosts.extend(world.replica(replica_id).map(|replica| replica.host_id.clone()));
            }
            Change::Leave { network_id, .. } => {
                let place = world.networks.iter().find(|place| place.id == *network_id);
                hosts.extend(place.map(|place| place.host_id.clone()));
            }
            // Which ports are open follows from the wanted releases.
            Change::Item { .. } => {}
            Change::Deployment { .. } => hosts.extend(world.hosts().into_iter().cloned()),
        }
    }
    hosts
}

/// What the deployment did by itself stands in the audit trail too.
fn entries(world: &ProjectWorld, changes: &[Change], now: UnixMillis) -> Vec<AuditEntry> {
    let Some(deployment) = &world.deployment else { return Vec::new() };
    let entry = |change: &Change| {
        let Change::Deployment { state, reason } = change else { return None };
        let action = match state {
            DeploymentState::Done => "deployment.done",
            DeploymentState::RollingBack => "deployment.fail",
            DeploymentState::RolledBack => "deployment.rolled-back",
            DeploymentState::Running | DeploymentState::Superseded => return None,
        };
        let before = json!({"state": deployment.state.as_str()});
        let mut after = json!({"state": state.as_str(), "project": world.project.name});
        if let Some(reason) = reason {
            after["reason"] = first_line(reason).into();
        }
        let entry = AuditEntry::of_system(now, action, format!("deployment/{}", deployment.id.0));
        Some(entry.with(Some(before), Some(after)))
    };
    changes.iter().filter_map(entry).collect()
}

/// The lines after the first of a reason are a container's own.
fn first_line(reason: &str) -> &str {
    reason.lines().next().unwrap_or_default()
}

/// What a person would look for in the log.
fn tell(world: &ProjectWorld, changes: &[Change]) {
    let project = &world.project.name;
    for change in changes {
        if let Change::Leave { why, .. } = change {
            tracing::warn!(project, "a network of {project} gets other addresses: {why}");
        }
        if let Change::Deployment { state, reason } = change {
            let number = world.deployment.as_ref().map_or(0, |it| it.id.0);
            match state {
                DeploymentState::RollingBack => {
                    // A container could forge lines of this log.
                    let reason = reason.as_deref().map(first_line).unwrap_or_default();
                    tracing::warn!(project, number, "deployment {number} of {project} goes back: {reason}");
                }
                state => {
                    let state = state.as_str();
                    tracing::info!(project, number, "deployment {number} of {project} is {state}");
                }
            }
        }
    }
}
