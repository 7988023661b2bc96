//! A deployment as a whole: it is done when every service of it is where it should be, and goes back as a whole when one
//! cannot get there, so that releases which were made for each other stay together.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use host_proto::desired::Section;
use host_proto::id::{NetworkId, ReleaseId, ReplicaId, RouteId, ServiceId};
use host_proto::report::{ItemResult, ItemState};
use model::UnixMillis;
use model::hosting::{
    Deployment, DeploymentItem, DeploymentState, ItemOutcome, Phase, ProjectWorld, Replica,
};
use model::service::Port;

use super::{Change, Failures, Step};
use crate::judge::{GIVE_UP_MS, takes_traffic};
use crate::world::{HostView, Presence, age_ms, gone};

/// A host that does not say that it has applied what its ports lead to is not waited for any longer than this, once all else
/// is there.
const OPEN_PATIENCE: Duration = Duration::from_secs(10);

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
        // A port that the service had already is no fault of this deployment.
        for port in new_ports(world, item) {
            let Some(id) = crate::desired::route_of(service, port) else { continue };
            for (view, fault) in hosts.iter().filter_map(|view| Some((view, fault_of(view, &id)?))) {
                let why = fault.error.as_deref().unwrap_or("it cannot be opened");
                let number = match port.host_ip {
                    Some(ip) => std::net::SocketAddr::new(ip, port.host).to_string(),
                    None => port.host.to_string(),
                };
                let text = format!("port {number}/{} on {}: {why}", port.protocol, view.host.name);
                failures.entry(item.service_id.clone()).or_insert(text);
            }
        }
    }
    failures
}

/// What becomes of the deployment.
pub(super) fn deployment(
    world: &ProjectWorld,
    hosts: &[HostView],
    failed: &Failures,
    now: UnixMillis,
    step: &mut Step,
) {
    let Some(deployment) = &world.deployment else { return };
    match deployment.state {
        DeploymentState::Running => running(world, hosts, failed, now, step),
        DeploymentState::RollingBack => rolling_back(world, deployment, hosts, failed, step),
        DeploymentState::Done | DeploymentState::RolledBack | DeploymentState::Superseded => {}
    }
}

fn name_of<'a>(world: &'a ProjectWorld, service: &ServiceId) -> &'a str {
    world.services.iter().find(|it| it.id == *service).map_or("", |it| it.name.as_str())
}

/// It is over when every service is back, or cannot get back by itself: then its reason says so, and people can go on.
fn rolling_back(
    world: &ProjectWorld,
    deployment: &Deployment,
    hosts: &[HostView],
    failed: &Failures,
    step: &mut Step,
) {
    let mut missing: Vec<&DeploymentItem> = deployment.items.iter().collect();
    missing.retain(|item| !is_there(world, hosts, item, item.from.as_ref()));
    let mut hindered: BTreeMap<&str, String> = BTreeMap::new();
    loop {
        let before = missing.len();
        missing.retain(|item| {
            let why = hindrance(world, hosts, failed, &hindered, item);
            let is_hindered = why.is_some();
            hindered.extend(why.map(|why| (name_of(world, &item.service_id), why)));
            !is_hindered
        });
        if missing.len() == before {
            break;
        }
    }
    if !missing.is_empty() {
        return;
    }
    let mut reason = deployment.reason.clone().unwrap_or_default();
    for (name, why) in hindered {
        reason.push_str(&format!("; {name} is not back as it was: {why}"));
    }
    let reason = Some(reason).filter(|it| !it.is_empty());
    step.changes.push(Change::Deployment { state: DeploymentState::RolledBack, reason });
}

/// What keeps a service from what it ran before, that no waiting ends.
fn hindrance(
    world: &ProjectWorld,
    hosts: &[HostView],
    failed: &Failures,
    hindered: &BTreeMap<&str, String>,
    item: &DeploymentItem,
) -> Option<String> {
    // What is new only has to go, and that needs no answer of a host that is gone.
    let release = item.from.as_ref().and_then(|id| world.releases.get(id))?;
    let leaving = world.replicas_of(&item.service_id).filter(|it| it.phase != Phase::Serving);
    let away = || leaving.filter_map(|it| gone(hosts, it)).next().map(|host| format!("{host} is offline"));
    let first = || {
        let mut needed = release.spec.depends_on.iter().map(|it| it.service.as_str());
        let first = needed.find(|name| hindered.contains_key(name));
        first.map(|name| format!("it waits for {name}"))
    };
    failed.get(&item.service_id).cloned().or_else(away).or_else(first)
}

fn running(world: &ProjectWorld, hosts: &[HostView], failed: &Failures, now: UnixMillis, step: &mut Step) {
    let Some(deployment) = &world.deployment else { return };
    let first = deployment.items.iter().find_map(|item| Some((item, failed.get(&item.service_id)?)));
    if let Some((item, why)) = first {
        let name = name_of(world, &item.service_id);
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
        let mut there = is_there(world, hosts, item, item.to.as_ref());
        let waits = || {
            let of = |until: Option<UnixMillis>, what| until.map(|until| (until, what));
            of(opening(world, hosts, &item.service_id, now), "its ports to be open")
                .or_else(|| of(leading(world, hosts, item, now), "its ports to lead to it"))
                .or_else(|| of(closing(world, hosts, item, now), "its networks to be closed"))
        };
        if there && let Some((until, what)) = waits() {
            there = false;
            step.look_at(until);
            if let Some(service) = world.services.iter().find(|it| it.id == item.service_id) {
                step.wait(service, what);
            }
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

/// Until when to wait for hosts of a service to say whether new ports of this deployment can be opened; nothing when they
/// have said that they are open, or when there are none.
pub(super) fn opening(
    world: &ProjectWorld,
    hosts: &[HostView],
    service: &ServiceId,
    now: UnixMillis,
) -> Option<UnixMillis> {
    let running = |it: &&Deployment| it.state == DeploymentState::Running;
    let deployment = world.deployment.as_ref().filter(running)?;
    let item = deployment.items.iter().find(|it| it.service_id == *service)?;
    let service = world.services.iter().find(|it| it.id == *service)?;
    let ports = new_ports(world, item);
    let routes: Vec<RouteId> = ports.filter_map(|port| crate::desired::route_of(service, port)).collect();
    waiting(hosts, now, |view| {
        let mut here =
            world.replicas_of(&service.id).filter(|it| it.host_id == view.host.id && it.stays()).peekable();
        here.peek()?;
        let is_open = |id: &RouteId| view.routes.contains_key(id) && fault_of(view, id).is_none();
        // Containers come first in what a host does, and its answer comes when all is done.
        let since = here.filter_map(|it| it.reported_since).fold(deployment.created_at, Ord::max);
        (!routes.iter().all(is_open)).then_some(since)
    })
}

/// Until when to wait for hosts that are online and have not said what is waited for. `since` tells from when on that may
/// be asked of one; nothing of one that has said it, or has nothing to say.
fn waiting(
    hosts: &[HostView],
    now: UnixMillis,
    since: impl Fn(&HostView) -> Option<UnixMillis>,
) -> Option<UnixMillis> {
    let online = hosts.iter().filter(|view| view.presence == Presence::Online);
    let last = online.filter_map(since).max()?.after(OPEN_PATIENCE);
    (now < last).then_some(last)
}

/// Until when to wait for hosts to say that the ports of a service lead to somebody: what is done can be reached. One that
/// still leads to a replica that is drained is no gap, and one that cannot be opened is told elsewhere.
fn leading(
    world: &ProjectWorld,
    hosts: &[HostView],
    item: &DeploymentItem,
    now: UnixMillis,
) -> Option<UnixMillis> {
    let release = world.releases.get(item.to.as_ref()?)?;
    let service = world.services.iter().find(|it| it.id == item.service_id)?;
    let routes: Vec<RouteId> =
        release.spec.ports.iter().filter_map(|port| crate::desired::route_of(service, port)).collect();
    waiting(hosts, now, |view| {
        let here = || world.replicas_of(&service.id).filter(|it| it.host_id == view.host.id);
        let since = here().filter(|it| takes_traffic(it)).map(|it| it.phase_since).max()?;
        let is_served = |led: &BTreeSet<ReplicaId>| {
            let answers = |it: &Replica| matches!(it.phase, Phase::Serving | Phase::Draining);
            here().any(|it| answers(it) && led.contains(&it.id))
        };
        let leads = |id: &RouteId| view.routes.get(id).is_some_and(is_served) || fault_of(view, id).is_some();
        (!routes.iter().all(leads)).then_some(since)
    })
}

/// Until when to wait for hosts to say that the networks of a service are closed which are to be internal: what is done is
/// closed.
fn closing(
    world: &ProjectWorld,
    hosts: &[HostView],
    item: &DeploymentItem,
    now: UnixMillis,
) -> Option<UnixMillis> {
    let release = world.releases.get(item.to.as_ref()?)?;
    let began = world.deployment.as_ref()?.created_at;
    let internal = |id: &NetworkId| {
        let place = world.networks.iter().find(|place| place.id == *id);
        let spec = place.and_then(|place| release.spec.shared.network(&place.spec.name));
        spec.is_some_and(|spec| spec.internal)
    };
    waiting(hosts, now, |view| {
        let here = || world.replicas.iter().filter(|it| it.host_id == view.host.id);
        let mine = here().filter(|it| it.service_id == item.service_id && it.stays());
        let open = |id: &NetworkId| internal(id) && !view.closed.contains(id);
        let is_open = mine.flat_map(|it| &it.addresses).any(|at| open(&at.network_id));
        // Those that needed it open went last.
        is_open.then(|| here().map(|it| it.phase_since).fold(began, Ord::max))
    })
}

/// The ports that a service publishes and did not publish before.
fn new_ports<'a>(world: &'a ProjectWorld, item: &DeploymentItem) -> impl Iterator<Item = &'a Port> {
    let release = |id: &Option<ReleaseId>| id.as_ref().and_then(|id| world.releases.get(id));
    let (before, after) = (release(&item.from), release(&item.to));
    let is_new = move |port: &&Port| before.is_none_or(|before| !before.spec.ports.contains(port));
    after.into_iter().flat_map(|it| &it.spec.ports).filter(is_new)
}

/// What a host says is wrong with a route.
fn fault_of<'a>(view: &'a HostView, route: &RouteId) -> Option<&'a ItemResult> {
    view.items.iter().find(|it| {
        it.section == Section::Routes
            && it.id == route.as_str()
            && matches!(it.state, ItemState::Failed | ItemState::Refused)
    })
}

/// Whether a service runs this release, all of it, and nothing else that takes traffic.
fn is_there(
    world: &ProjectWorld,
    hosts: &[HostView],
    item: &DeploymentItem,
    release: Option<&ReleaseId>,
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
            // What is being removed may take its time, unless nothing else is to be seen; a host that is gone removes it
            // when it is back.
            Phase::Removing if release.is_some() || gone(hosts, replica).is_some() => {}
            _ => return false,
        }
    }
    u32::try_from(numbers.len()).is_ok_and(|has| has == count)
}
