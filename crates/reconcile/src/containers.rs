//! Containers: one for each replica of the state, made from its `spec_hash` (R27). Removals are planned first, since an
//! address or a singleton's turn must be given back before it is taken.

mod make;

pub(crate) use make::sources;
mod removal;

use std::collections::{BTreeMap, BTreeSet};

use host_proto::desired::{DesiredRun, ReplicaSpec, RestartPolicy};
use host_proto::id::ReplicaId;

use crate::action::Action;
use crate::actual::{Container, ContainerState, Seen};
use crate::item::{Item, Phase};
use crate::plan::{Planner, Step, Why};

/// A container that could not be started so often in a row is made anew.
const HOPELESS: u32 = 3;

/// What people call a replica.
pub(crate) fn title(spec: &ReplicaSpec) -> String {
    format!("{}/{}-{}", spec.project, spec.service, spec.number)
}

/// Containers by replica: the one that counts, and those that are one too many.
#[derive(Default)]
struct Grouped<'a> {
    main: BTreeMap<&'a ReplicaId, &'a Container>,
    surplus: Vec<&'a Container>,
}

/// Plans everything about containers.
pub(crate) fn reconcile(planner: &mut Planner<'_>) {
    let containers = match &planner.actual.containers {
        Seen::Known(containers) => containers,
        Seen::Unknown(why) => return nothing_is_known(planner, why),
    };
    let specs: BTreeMap<&ReplicaId, &ReplicaSpec> =
        planner.desired.replicas.iter().map(|spec| (&spec.replica_id, spec)).collect();
    let grouped = group(containers, &specs);
    removal::plan(planner, &specs, &grouped);
    for spec in &planner.desired.replicas {
        replica(planner, spec, &grouped);
    }
    told(planner, &grouped);
}

/// What nobody claims is told of as long as it is there, whatever else is done about it.
fn told(planner: &mut Planner<'_>, grouped: &Grouped<'_>) {
    for id in &planner.allowed.unclaimed {
        let item = Item::Replica(id.clone());
        if let Some(container) = grouped.main.get(id)
            && !planner.plan.mentions(&item)
        {
            planner.hold(item, container.title.clone(), Why::Adopt);
        }
    }
}

/// The engine did not answer: nothing begins, and it is said of each replica.
fn nothing_is_known(planner: &mut Planner<'_>, why: &str) {
    for spec in &planner.desired.replicas {
        planner.hold(Item::Replica(spec.replica_id.clone()), title(spec), Why::Unknown(why.to_owned()));
    }
}

fn group<'a>(containers: &'a [Container], specs: &BTreeMap<&ReplicaId, &ReplicaSpec>) -> Grouped<'a> {
    let mut grouped = Grouped::default();
    for container in containers {
        let hash = specs.get(&container.replica_id).map(|spec| spec.spec_hash.as_str());
        let rank = |one: &Container| (Some(one.spec_hash.as_str()) == hash, one.is_active());
        match grouped.main.get_mut(&container.replica_id) {
            None => {
                grouped.main.insert(&container.replica_id, container);
            }
            Some(main) if rank(container) > rank(main) => {
                grouped.surplus.push(std::mem::replace(main, container))
            }
            Some(_) => grouped.surplus.push(container),
        }
    }
    grouped
}

fn replica(planner: &mut Planner<'_>, spec: &ReplicaSpec, grouped: &Grouped<'_>) {
    let main = grouped.main.get(&spec.replica_id).copied();
    match (spec.desired, main) {
        (DesiredRun::Absent | DesiredRun::Unknown, _) => {}
        (_, None) => make::create(planner, spec, grouped, None),
        (_, Some(container)) if container.spec_hash != spec.spec_hash => {
            make::create(planner, spec, grouped, Some(container));
        }
        (DesiredRun::Stopped, Some(container)) => stop(planner, spec, container),
        (DesiredRun::Running, Some(container)) => run(planner, spec, container, grouped),
    }
}

/// A container of the right kind exists: see that it runs.
fn run(planner: &mut Planner<'_>, spec: &ReplicaSpec, container: &Container, grouped: &Grouped<'_>) {
    match container.state {
        ContainerState::Running => attach(planner, spec, container),
        ContainerState::Created => start(planner, spec, container, grouped),
        ContainerState::Exited => match spec.restart.policy {
            RestartPolicy::UnlessStopped | RestartPolicy::Unknown => start(planner, spec, container, grouped),
            // It has ended, and that is how it should be: a finished job is reported, never run again (R40).
            RestartPolicy::OnFailure | RestartPolicy::No => {}
        },
        ContainerState::Dead => make::create(planner, spec, grouped, Some(container)),
        // The engine is at it, a person froze it, or nobody knows: left as it is.
        ContainerState::Restarting
        | ContainerState::Removing
        | ContainerState::Paused
        | ContainerState::Unknown => {}
    }
}

/// Networks that the container lacks, once they are there.
fn attachments(planner: &Planner<'_>, spec: &ReplicaSpec, container: &Container) -> Result<Vec<Action>, Why> {
    let mut actions = Vec::new();
    for attachment in &spec.networks {
        let name = make::network_name(planner, &attachment.network_id)?;
        if !container.networks.contains_key(name) {
            let (container, network) = (container.id.clone(), name.to_owned());
            actions.push(Action::Connect { container, network, ip: attachment.ip });
        }
    }
    Ok(actions)
}

fn attach(planner: &mut Planner<'_>, spec: &ReplicaSpec, container: &Container) {
    let begin = attachments(planner, spec, container);
    match begin {
        Ok(actions) if actions.is_empty() => {}
        Ok(actions) => with_networks(planner, spec, actions, Vec::new()),
        Err(why) => planner.hold(Item::Replica(spec.replica_id.clone()), title(spec), why),
    }
}

/// Starts a container that does not run. Allowed without a fresh state too (R28), never for a fenced replica (R85).
fn start(planner: &mut Planner<'_>, spec: &ReplicaSpec, container: &Container, grouped: &Grouped<'_>) {
    // An engine that was killed while it started one may refuse to start it for ever; another one starts. Nothing is made
    // of what nobody claims.
    let may_go = planner.allowed.fresh && !planner.allowed.unclaimed.contains(&spec.replica_id);
    if may_go && planner.memory.failures(&Item::Replica(spec.replica_id.clone())) >= HOPELESS {
        return make::create(planner, spec, grouped, Some(container));
    }
    let first = container.state == ContainerState::Created;
    let begin = make::may_start(planner, spec, grouped, first)
        .and_then(|()| match first {
            true => make::turns(planner, spec, grouped),
            false => make::volumes_are_free(planner, spec, grouped),
        })
        .and_then(|turns| Ok((turns, attachments(planner, spec, container)?)));
    match begin {
        Err(why) => planner.hold(Item::Replica(spec.replica_id.clone()), title(spec), why),
        Ok((turns, mut actions)) => {
            actions.push(Action::Start { container: container.id.clone() });
            with_networks(planner, spec, actions, turns);
        }
    }
}

/// Actions on a container that need its networks and what else it stands on, and these first.
fn with_networks(planner: &mut Planner<'_>, spec: &ReplicaSpec, actions: Vec<Action>, first: Vec<Item>) {
    let item = Item::Replica(spec.replica_id.clone());
    match planner.needs(sources(spec).into_iter().chain(first)) {
        Err(why) => planner.hold(item, title(spec), why),
        Ok(needs) => {
            planner.step(Step { item, title: title(spec), phase: Phase::Replicas, needs, actions });
        }
    }
}

/// A container that should rest and does not. Not without a fresh state (STATE-5).
fn stop(planner: &mut Planner<'_>, spec: &ReplicaSpec, container: &Container) {
    if !container.is_active() {
        return;
    }
    let item = Item::Replica(spec.replica_id.clone());
    if !planner.allowed.fresh {
        return planner.hold(item, title(spec), Why::NotFresh);
    }
    let container = container.id.clone();
    let action = match planner.memory.failures(&item) {
        0 => Action::Stop { container, grace_ms: Some(spec.stop.grace_ms) },
        _ => Action::Kill { container },
    };
    let needs = Vec::new();
    planner.step(Step { item, title: title(spec), phase: Phase::Replicas, needs, actions: vec![action] });
}

/// Containers of a plan that will be gone after it, by the engine's id.
fn leaving(planner: &Planner<'_>) -> BTreeSet<String> {
    planner
        .plan
        .steps
        .iter()
        .flat_map(|step| &step.actions)
        .filter_map(|action| match action {
            Action::RemoveContainer { container, .. } => Some(container.clone()),
            _ => None,
        })
        .collect()
}
