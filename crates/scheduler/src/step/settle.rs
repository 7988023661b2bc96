//! A deployment as a whole: it is done when every service of it is where it should be, and goes back as a whole when one
//! cannot get there, so that releases which were made for each other stay together.

use std::time::Duration;

use host_proto::desired::Section;
use host_proto::id::ServiceId;
use host_proto::report::ItemState;
use model::UnixMillis;
use model::hosting::{Deployment, DeploymentItem, DeploymentState, ItemOutcome, Phase, ProjectWorld};

use super::{Change, Failures, Step};
use crate::judge::GIVE_UP_MS;
use crate::world::{HostView, age_ms};

/// A host has so long to say that a new port cannot be opened, before its deployment is done.
const OPEN_MS: u64 = GIVE_UP_MS / 2 + 1_000;

/// Services of the deployment whose ports cannot be opened.
pub(super) fn failures(world: &ProjectWorld, hosts: &[HostView], now: UnixMillis) -> Failures {
    let mut failures = Failures::new();
    let Some(deployment) = world.deployment.as_ref().filter(|it| it.state == DeploymentState::Running) else {
        return failures;
    };
    // A port that was let go a moment ago may still be held.
    if age_ms(now, deployment.created_at) < GIVE_UP_MS / 2 {
        return failures;
    }
    for item in &deployment.items {
        let Some(service) = world.services.iter().find(|service| service.id == item.service_id) else {
            continue;
        };
        let Some(release) = item.to.as_ref().and_then(|id| world.releases.get(id)) else { continue };
        let before = item.from.as_ref().and_then(|id| world.releases.get(id));
        for port in &release.spec.ports {
            // A port that the service had already is no fault of this deployment.
            if before.is_some_and(|before| before.spec.ports.contains(port)) {
                continue;
            }
            let id = crate::desired::route_of(service, port);
            for view in hosts {
                let fault = view.items.iter().find(|it| {
                    it.section == Section::Routes
                        && id.as_ref().is_some_and(|id| it.id == id.as_str())
                        && matches!(it.state, ItemState::Failed | ItemState::Refused)
                });
                if let Some(fault) = fault {
                    let why = fault.error.clone().unwrap_or_else(|| "it cannot be opened".to_owned());
                    let text = format!("port {}/{} on {}: {why}", port.host, port.protocol, view.host.name);
                    failures.entry(item.service_id.clone()).or_insert(text);
                }
            }
        }
    }
    failures
}

/// What becomes of the deployment.
pub(super) fn deployment(world: &ProjectWorld, failed: &Failures, now: UnixMillis, step: &mut Step) {
    let Some(deployment) = &world.deployment else { return };
    match deployment.state {
        DeploymentState::Running => running(world, deployment, failed, now, step),
        DeploymentState::RollingBack => {
            if deployment.items.iter().all(|item| is_there(world, item, item.from.as_ref())) {
                let reason = deployment.reason.clone();
                step.changes.push(Change::Deployment { state: DeploymentState::RolledBack, reason });
            }
        }
        DeploymentState::Done | DeploymentState::RolledBack | DeploymentState::Superseded => {}
    }
}

fn running(
    world: &ProjectWorld,
    deployment: &Deployment,
    failed: &Failures,
    now: UnixMillis,
    step: &mut Step,
) {
    let first = deployment.items.iter().find_map(|item| Some((item, failed.get(&item.service_id)?)));
    if let Some((item, why)) = first {
        let name =
            world.services.iter().find(|it| it.id == item.service_id).map_or("", |it| it.name.as_str());
        // What was begun for the deployment is let go at the next look, when the wanted releases are those before.
        step.changes.clear();
        step.changes.push(Change::Item {
            service_id: item.service_id.clone(),
            outcome: ItemOutcome::Failed(why.clone()),
        });
        step.changes.push(Change::Deployment {
            state: DeploymentState::RollingBack,
            reason: Some(format!("{name}: {why}")),
        });
        return;
    }
    let mut all = true;
    for item in &deployment.items {
        let mut there = is_there(world, item, item.to.as_ref());
        if let Some(until) = opening(world, &item.service_id, now).filter(|_| there) {
            there = false;
            step.look_at(until);
        }
        all &= there;
        if there && item.outcome == ItemOutcome::Waiting {
            step.changes
                .push(Change::Item { service_id: item.service_id.clone(), outcome: ItemOutcome::Done });
        }
    }
    if all {
        step.changes.push(Change::Deployment { state: DeploymentState::Done, reason: None });
    }
}

/// Until when the host of a service may still say that a new port of this deployment cannot be opened; nothing when there is
/// none, or it had its time.
pub(super) fn opening(world: &ProjectWorld, service: &ServiceId, now: UnixMillis) -> Option<UnixMillis> {
    let running = |it: &&Deployment| it.state == DeploymentState::Running;
    let deployment = world.deployment.as_ref().filter(running)?;
    let item = deployment.items.iter().find(|it| it.service_id == *service)?;
    let until = deployment.created_at.after(Duration::from_millis(OPEN_MS));
    (now < until && opens_ports(world, item)).then_some(until)
}

/// Whether a service publishes ports that it did not publish before.
fn opens_ports(world: &ProjectWorld, item: &DeploymentItem) -> bool {
    let release = |id: &Option<host_proto::id::ReleaseId>| id.as_ref().and_then(|id| world.releases.get(id));
    let before = release(&item.from);
    release(&item.to).is_some_and(|after| {
        after.spec.ports.iter().any(|port| before.is_none_or(|it| !it.spec.ports.contains(port)))
    })
}

/// Whether a service runs this release, all of it, and nothing else that takes traffic.
fn is_there(
    world: &ProjectWorld,
    item: &DeploymentItem,
    release: Option<&host_proto::id::ReleaseId>,
) -> bool {
    let release = release.and_then(|id| world.releases.get(id));
    let count = release.map_or(0, |release| release.spec.scale.count());
    let mut numbers = std::collections::BTreeSet::new();
    for replica in world.replicas_of(&item.service_id) {
        let same = release.is_some_and(|it| {
            world.release_of(replica).is_some_and(|its| its.container_hash == it.container_hash)
        });
        match replica.phase {
            Phase::Serving if same && replica.number <= count => {
                numbers.insert(replica.number);
            }
            // What is being removed may take its time, unless nothing else is to be seen.
            Phase::Removing if release.is_some() => {}
            _ => return false,
        }
    }
    u32::try_from(numbers.len()).is_ok_and(|has| has == count)
}
