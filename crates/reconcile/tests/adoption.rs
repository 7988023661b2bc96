//! A control plane that was restored from an older back-up: what it does not name runs on, is reached, and has its volume to
//! itself, until a state comes that does not adopt.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod world;

use host_proto::DesiredState;
use host_proto::desired::{DnsRecord, FirewallRule, ReplicaSpec, Route};
use proptest::collection::vec;
use proptest::prelude::*;
use reconcile::adoption::{Adopted, take_blocks, unclaimed, with_unclaimed};
use reconcile::{Action, Actual, Container, ContainerState, Seen};
use serde_json::json;
use world::{World, container, file, network, replica, volume};

/// Replica `number`, the only one of its service in this release, at `10.208.<network>.<number>`; `vol_1` is its data.
fn only(number: u32, service: &str, release: u32, network: u32) -> ReplicaSpec {
    let mut spec = replica(number);
    spec.service_id = format!("svc_{service}").parse().unwrap();
    spec.service = service.to_owned();
    spec.release_id = format!("rel_{release}").parse().unwrap();
    spec.number = 1;
    spec.networks[0].network_id = format!("net_{network}").parse().unwrap();
    spec
}

fn with_data(mut spec: ReplicaSpec) -> ReplicaSpec {
    spec.mounts =
        serde_json::from_str(r#"[{"type": "volume", "volume_id": "vol_1", "target": "/data"}]"#).unwrap();
    spec
}

/// A port of the service, and its name, lead to these.
fn lead_to(state: &mut DesiredState, service: &str, replicas: &[ReplicaSpec]) {
    let upstream =
        |spec: &ReplicaSpec| json!({"replica_id": spec.replica_id, "ip": spec.networks[0].ip, "port": 80});
    let value =
        |spec: &ReplicaSpec| json!({"ip": spec.networks[0].ip, "network_id": spec.networks[0].network_id});
    let upstreams: Vec<_> = replicas.iter().map(upstream).collect();
    let values: Vec<_> = replicas.iter().map(value).collect();
    let route =
        json!({"id": format!("rte_{service}"), "kind": "tcp", "listen_port": 8080, "upstreams": upstreams});
    let record = json!({"project_id": "prj_1", "name": service, "type": "A", "values": values});
    state.routes.push(serde_json::from_value::<Route>(route).unwrap());
    state.dns.records.push(serde_json::from_value::<DnsRecord>(record).unwrap());
}

fn rule(number: u32) -> FirewallRule {
    let (id, network) = (format!("fwr_{number}"), format!("net_{number}"));
    serde_json::from_value(json!({
        "id": id, "chain": "net_in", "action": "accept", "src": "any", "dst": {"network": network},
    }))
    .unwrap()
}

/// What the host ran: `kept` in its second release, with data, and `new`, which the restored server has never heard of.
fn before() -> DesiredState {
    let mut state = DesiredState::empty("first", 7);
    state.networks = vec![network(1), network(2)];
    state.firewall = vec![rule(2)];
    state.volumes = vec![volume(1)];
    state.files = vec![file(1)];
    let (kept, mut new) = (with_data(only(2, "kept", 2, 1)), only(3, "new", 1, 2));
    new.mounts =
        serde_json::from_str(r#"[{"type": "file", "file_id": "fil_1", "target": "/etc/x"}]"#).unwrap();
    lead_to(&mut state, "kept", std::slice::from_ref(&kept));
    lead_to(&mut state, "new", std::slice::from_ref(&new));
    state.replicas = vec![kept, new];
    state
}

/// What the restored server wants: `kept` in its first release.
fn restored() -> DesiredState {
    let mut state = DesiredState::empty("second", 1);
    state.adopt = true;
    state.networks = vec![network(1)];
    state.volumes = vec![volume(1)];
    let kept = with_data(only(1, "kept", 1, 1));
    lead_to(&mut state, "kept", std::slice::from_ref(&kept));
    state.replicas = vec![kept];
    state
}

/// The host on which all of `before` runs, and which is given `own` now.
fn host(before: &DesiredState, own: &DesiredState) -> World {
    let mut world = World::settled(before.clone());
    for one in world.containers() {
        let data = one.service_id.as_str() == "svc_kept";
        one.volumes.extend(data.then(|| "muster-data-1".to_owned()));
    }
    tell(&mut world, before, own);
    world
}

fn tell(world: &mut World, before: &DesiredState, own: &DesiredState) {
    let left = unclaimed(before, own).unwrap();
    let seen = world.actual.containers.known().unwrap().clone();
    let adopted = with_unclaimed(own, &left, Some(&seen), |_| false);
    (world.desired, world.unclaimed) = (adopted.state, adopted.unclaimed);
}

fn upstreams<'a>(state: &'a DesiredState, route: &str) -> Vec<&'a str> {
    let found = state.routes.iter().find(|it| it.id.as_str() == route);
    found.iter().flat_map(|it| &it.upstreams).map(|it| it.replica_id.as_str()).collect()
}

fn named(state: &DesiredState, name: &str) -> Vec<String> {
    let found = state.dns.records.iter().filter(|it| it.name == name);
    found.flat_map(|it| &it.values).map(|it| it.ip.to_string()).collect()
}

fn check(world: &World, expected: &[&str]) {
    let shown = world.plan().to_string();
    let shown: Vec<&str> = shown.lines().map(str::trim).collect();
    assert_eq!(shown, expected);
}

const WAITS: &str = "! shop/kept-1: volume `muster-data-1` is in use by shop-web-2, which this server does not know: \
    `muster hosts set HOST --adopting=false` lets this host remove it, and whatever else this server does not know";
const NOT_REMOVED: [&str; 2] = [
    "! shop/kept: not removed, since the state only adopts",
    "! shop/new: not removed, since the state only adopts",
];

/// What the world calls a container is its replica's title with its number.
fn not_removed() -> [String; 2] {
    NOT_REMOVED.map(|text| text.replace(": not", "-1: not"))
}

#[test]
fn state_7_what_a_restored_server_does_not_name_is_reached_and_has_its_volume_to_itself() {
    let world = host(&before(), &restored());
    let [kept, new] = not_removed();
    check(&world, &["not now:", WAITS, &kept, &new]);
    let state = &world.desired;
    assert_eq!((upstreams(state, "rte_kept"), upstreams(state, "rte_new")), (vec!["rep_2"], vec!["rep_3"]));
    assert_eq!(
        (named(state, "kept"), named(state, "new")),
        (vec!["10.208.4.3".into()], vec!["10.208.4.4".into()])
    );
    assert_eq!(state.networks.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["net_2", "net_1"]);
    assert_eq!((state.firewall.len(), state.files.len(), state.volumes.len()), (1, 1, 1));
    assert_eq!((state.epoch.as_str(), state.generation), ("second", 1));
}

#[test]
fn state_7_after_a_reboot_what_nobody_names_is_started_and_nothing_takes_its_volume() {
    let mut world = host(&before(), &restored());
    world.containers().iter_mut().for_each(|one| one.state = ContainerState::Exited);
    world.fresh = false;
    let started = ["replicas:", "+ shop/kept-1: start", "+ shop/new-1: start", "not now:", WAITS];
    let mut expected = started.to_vec();
    expected.insert(1, "+ image nginx:1: pull");
    world.actual.images.clear();
    check(&world, &expected);
}

#[test]
fn state_7_what_a_person_removes_is_not_made_again_and_gives_its_volume_back() {
    let mut world = host(&before(), &restored());
    world.containers().retain(|one| one.replica_id.as_str() != "rep_2");
    tell(&mut world, &before(), &restored());
    let [_, new] = not_removed();
    check(&world, &["replicas:", "+ shop/kept-1: create container shop-web-1, start", "not now:", &new]);
    assert_eq!(upstreams(&world.desired, "rte_kept"), ["rep_1"]);
    assert_eq!(named(&world.desired, "kept"), ["10.208.4.2"]);
}

#[test]
fn state_7_a_container_that_may_be_made_this_moment_counts_as_there() {
    let left = unclaimed(&before(), &restored()).unwrap();
    let adopted = with_unclaimed(&restored(), &left, Some(&[]), |id| id.as_str() == "rep_2");
    assert_eq!(adopted.unclaimed.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["rep_2"]);
}

#[test]
fn state_7_what_a_history_names_once_and_takes_away_is_not_held_by_what_was_before_it() {
    let mut own = restored();
    own.replicas.push(only(3, "new", 1, 2));
    let left = unclaimed(&before(), &own).unwrap();
    let left = unclaimed(&left, &restored()).unwrap();
    assert_eq!(left.replicas.iter().map(|it| it.replica_id.as_str()).collect::<Vec<_>>(), ["rep_2"]);
    own.replicas.push(only(2, "kept", 2, 1));
    assert_eq!(unclaimed(&left, &own), None);
    let mut fenced = restored();
    fenced.fenced_replica_ids = vec!["rep_2".parse().unwrap(), "rep_3".parse().unwrap()];
    assert_eq!(unclaimed(&before(), &fenced), None, "may not start here");
}

#[test]
fn state_7_a_port_and_a_name_of_both_lead_to_both_where_nothing_is_written() {
    let (mut old, mut own) = (before(), restored());
    old.replicas[0].mounts.clear();
    own.replicas[0].mounts.clear();
    let world = host(&old, &own);
    assert_eq!(upstreams(&world.desired, "rte_kept"), ["rep_2", "rep_1"]);
    assert_eq!(named(&world.desired, "kept"), ["10.208.4.2", "10.208.4.3"]);
    assert!(world.plan().to_string().contains("+ shop/kept-1: create container shop-web-1, start"));
}

#[test]
fn state_7_two_of_one_release_were_made_to_run_beside_each_other() {
    let (old, mut own) = (before(), restored());
    own.replicas[0].release_id = "rel_2".parse().unwrap();
    own.replicas[0].number = 2;
    let world = host(&old, &own);
    assert!(world.plan().to_string().contains("+ shop/kept-2: create container shop-web-1, start"));
    assert_eq!(upstreams(&world.desired, "rte_kept"), ["rep_2", "rep_1"]);
}

#[test]
fn state_7_one_that_runs_once_only_waits_for_one_that_nobody_names() {
    let (mut old, mut own) = (before(), restored());
    for spec in [&mut old.replicas[0], &mut own.replicas[0]] {
        spec.mounts.clear();
        spec.kind = host_proto::desired::Kind::Singleton;
    }
    let mut world = host(&old, &own);
    world.containers().iter_mut().for_each(|one| one.state = ContainerState::Exited);
    let held = "! shop/kept-1: waits for shop-web-2 to be gone, since it runs once only";
    assert!(world.plan().to_string().contains(held), "{}", world.plan());
    assert_eq!(upstreams(&world.desired, "rte_kept"), ["rep_2"]);
}

#[test]
fn state_7_an_address_of_what_nobody_names_is_not_given_to_another() {
    let (old, mut own) = (before(), restored());
    own.replicas.push(only(9, "other", 1, 1));
    own.replicas[1].networks[0].ip = "10.208.4.3".parse().unwrap();
    let world = host(&old, &own);
    let held = "! shop/other-1: address 10.208.4.3 is in use by shop-web-2, which this server does not know";
    assert!(world.plan().to_string().contains(held), "{}", world.plan());
}

#[test]
fn the_blocks_of_what_nobody_names_are_told_as_taken() {
    let (old, own) = (before(), restored());
    let left = unclaimed(&old, &own).unwrap();
    let adopted = with_unclaimed(&own, &left, None, |_| false);
    let mut actual = Actual::empty();
    take_blocks(&adopted, &own, &mut actual, 512);
    let told: Vec<_> = actual.taken.known().unwrap().iter().map(|it| it.block.as_str()).collect();
    assert_eq!(told, ["10.208.2.0/24"]);
}

/// Without adoption too: a container that the state does not list has the volume until it is gone.
#[test]
fn a_volume_is_not_given_to_a_second_one_before_the_first_is_gone() {
    let mut old = before();
    old.replicas[1].mounts.clear();
    old.files.clear();
    let mut world = host(&old, &restored());
    (world.desired, world.unclaimed) = (restored(), std::collections::BTreeSet::new());
    world.desired.adopt = false;
    let budget = "not removed, since the state announced fewer removals";
    let waits = "! shop/kept-1: volume `muster-data-1` is in use by shop-web-2, which this server does not know: it has to be \
        gone first";
    let (kept, new) = (format!("! shop/kept-1: {budget}"), format!("! shop/new-1: {budget}"));
    check(&world, &["not now:", &kept, &new, waits]);
    world.desired.removals.replicas = 2;
    let plan = world.plan();
    let made = plan.steps.iter().find(|step| step.item.id() == "rep_1").unwrap();
    assert!(made.needs.iter().any(|item| item.id() == "rep_2"), "{plan}");
    world.settle();
    assert_eq!(world.containers().len(), 1);
}

/// What chance decides about a replica: its service, whether each side names it, and how it is there.
type Throw = (u32, bool, bool, u32, Option<ContainerState>);

fn throw() -> impl Strategy<Value = Throw> {
    let there = prop_oneof![
        Just(None),
        Just(Some(ContainerState::Running)),
        Just(Some(ContainerState::Running)),
        Just(Some(ContainerState::Exited)),
    ];
    (0_u32..3, any::<bool>(), any::<bool>(), 1_u32..4, there)
}

fn chance(throws: &[Throw]) -> (DesiredState, DesiredState, Vec<Container>) {
    let (mut old, mut own) = (DesiredState::empty("first", 7), DesiredState::empty("second", 1));
    own.adopt = true;
    let mut containers = Vec::new();
    for state in [&mut old, &mut own] {
        state.networks = vec![network(1)];
        state.volumes = vec![volume(1)];
    }
    old.networks.push(network(2));
    for (place, (service, first, second, release, there)) in throws.iter().enumerate() {
        let number = u32::try_from(place).unwrap() + 1;
        let name = format!("s{service}");
        let net = if *second { 1 } else { 1 + number % 2 };
        let mut spec = only(number, &name, *release, net);
        // Services 0 and 1 write to the volume, the last one does not.
        if *service < 2 {
            spec = with_data(spec);
        }
        if let Some(state) = there {
            let mut one = container(&spec, &format!("c{number}"));
            one.state = *state;
            one.volumes.extend((*service < 2).then(|| "muster-data-1".to_owned()));
            let ip = (*state == ContainerState::Running).then_some(spec.networks[0].ip);
            one.networks.insert(format!("muster-shop-{net}"), ip);
            containers.push(one);
        }
        for (state, named) in [(&mut old, first), (&mut own, second)] {
            if *named {
                state.replicas.push(spec.clone());
            }
        }
    }
    for state in [&mut old, &mut own] {
        for service in 0..3 {
            let name = format!("s{service}");
            let of: Vec<_> = state.replicas.iter().filter(|it| it.service == name).cloned().collect();
            if !of.is_empty() {
                lead_to(state, &name, &of);
            }
        }
    }
    (old, own, containers)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn state_7_whatever_a_restored_server_names_nothing_that_runs_is_put_at_risk(throws in vec(throw(), 0..7)) {
        let (old, own, containers) = chance(&throws);
        let Some(left) = unclaimed(&old, &own) else {
            let all = old.replicas.iter().all(|it| own.replicas.iter().any(|other| other.replica_id == it.replica_id));
            prop_assert!(all);
            return Ok(());
        };
        prop_assert_eq!(unclaimed(&left, &own), Some(left.clone()), "nothing is lost by saying it twice");
        let Adopted { state, unclaimed: ids } = with_unclaimed(&own, &left, Some(&containers), |_| false);
        // What the server names is as it says.
        for spec in &own.replicas {
            prop_assert!(state.replicas.contains(spec) && !ids.contains(&spec.replica_id));
        }
        for network in &own.networks {
            prop_assert!(state.networks.contains(network));
        }
        for spec in state.replicas.iter().filter(|it| ids.contains(&it.replica_id)) {
            let id = &spec.networks[0].network_id;
            prop_assert!(state.networks.iter().any(|it| it.id == *id), "its network is there");
            // Who was reached is reached by the same port and name.
            let route = format!("rte_{}", spec.service);
            prop_assert!(upstreams(&state, &route).contains(&spec.replica_id.as_str()));
            prop_assert!(named(&state, &spec.service).contains(&spec.networks[0].ip.to_string()));
        }
        let mut world = World::new(state);
        world.actual.containers = Seen::Known(containers);
        world.networks().ours.insert("net_1".to_owned(), "muster-shop-1".to_owned());
        world.networks().ours.insert("net_2".to_owned(), "muster-shop-2".to_owned());
        world.volumes().ours.insert("vol_1".to_owned(), "muster-data-1".to_owned());
        world.actual.images.insert("nginx:1".to_owned());
        world.unclaimed = ids.clone();
        let plan = world.plan();
        for action in plan.steps.iter().flat_map(|step| &step.actions) {
            prop_assert!(!action.takes_away(), "{action:?}");
        }
        // Nobody begins to write where one of another release of his service, whom the server does not name, does.
        for step in plan.steps.iter().filter(|step| step.actions.iter().any(|it| matches!(it, Action::Start { .. }))) {
            let spec = world.desired.replicas.iter().find(|it| it.replica_id.as_str() == step.item.id()).unwrap();
            let beside = world.desired.replicas.iter().any(|other| {
                ids.contains(&other.replica_id) && !ids.contains(&spec.replica_id) && !spec.mounts.is_empty()
                    && other.service_id == spec.service_id && other.replica_id != spec.replica_id
            });
            prop_assert!(!beside, "{plan}");
        }
    }
}
