//! Properties of every plan, on hosts and states that chance made: nothing to do when all is as wanted; doing a plan leaves
//! nothing to do; what is not ours is never named; without a fresh state nothing is taken away; every kind of action comes
//! up. And a host whose calls fail now and then gets there all the same.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod world;

use std::collections::BTreeSet;
use std::mem::{Discriminant, discriminant};
use std::time::Duration;

use host_proto::DesiredState;
use host_proto::desired::{DesiredRun, Kind, Removals, VolumeState};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use reconcile::{Action, ContainerState, FileSeen, Plan, TroubleKind};
use world::{World, container, file, network, replica, state, volume};

/// What chance decides about one replica: whether it is wanted, and whether and how it is there.
#[derive(Debug, Clone)]
struct Throw {
    wanted: Option<DesiredRun>,
    there: Option<ContainerState>,
    other_hash: bool,
    attached: bool,
    depends: bool,
    singleton: bool,
}

fn throw() -> impl Strategy<Value = Throw> {
    let wanted = prop_oneof![
        Just(None),
        Just(Some(DesiredRun::Running)),
        Just(Some(DesiredRun::Running)),
        Just(Some(DesiredRun::Stopped)),
        Just(Some(DesiredRun::Absent)),
    ];
    let there = prop_oneof![
        Just(None),
        Just(Some(ContainerState::Created)),
        Just(Some(ContainerState::Running)),
        Just(Some(ContainerState::Exited)),
        Just(Some(ContainerState::Dead)),
    ];
    (wanted, there, any::<bool>(), any::<bool>(), any::<bool>(), proptest::bool::weighted(0.1)).prop_map(
        |(wanted, there, other_hash, attached, depends, singleton)| Throw {
            wanted,
            there,
            other_hash,
            attached,
            depends,
            singleton,
        },
    )
}

/// Everything about a host that is not a replica's.
#[derive(Debug, Clone)]
struct Rest {
    wanted_network: bool,
    network_there: bool,
    other_network: bool,
    volume: Option<VolumeState>,
    volume_there: bool,
    file: bool,
    file_there: Option<FileSeen>,
    image_there: bool,
}

fn rest() -> impl Strategy<Value = Rest> {
    let volume = prop_oneof![Just(None), Just(Some(VolumeState::Present)), Just(Some(VolumeState::Delete))];
    let file_there = prop_oneof![Just(None), Just(Some(FileSeen::Right)), Just(Some(FileSeen::Wrong))];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (flags, volume, any::<bool>(), file_there).prop_map(
        |(
            (network_there, other_network, volume_there, file, image_there),
            volume,
            wanted_network,
            file_there,
        )| Rest {
            wanted_network: wanted_network || file,
            network_there,
            other_network,
            volume,
            volume_there,
            file,
            file_there,
            image_there,
        },
    )
}

fn world() -> impl Strategy<Value = World> {
    (vec(throw(), 0..6), rest()).prop_map(|(throws, rest)| build(&throws, &rest))
}

fn build(throws: &[Throw], rest: &Rest) -> World {
    let mut desired = state(0);
    desired.removals = Removals { replicas: 99, volumes: 99, networks: 99, ..Removals::default() };
    if !rest.wanted_network {
        desired.networks = vec![network(2)];
    }
    if let Some(state) = rest.volume {
        let confirmation = Some("vol_1".to_owned());
        desired.volumes.push(host_proto::desired::Volume {
            state,
            delete_confirmation: confirmation,
            ..volume(1)
        });
    }
    if rest.file {
        desired.files.push(file(1));
    }
    let mut world = World::new(desired);
    if rest.network_there || throws.iter().any(|throw| throw.there.is_some() && throw.attached) {
        world.networks().ours.insert("net_1".to_owned(), "muster-shop-1".to_owned());
    }
    if rest.other_network {
        world.networks().ours.insert("net_7".to_owned(), "muster-shop-7".to_owned());
    }
    world.networks().foreign.extend(["foreign".to_owned(), "bridge".to_owned()]);
    world.volumes().foreign.insert("foreign".to_owned());
    if rest.volume_there {
        world.volumes().ours.insert("vol_1".to_owned(), "muster-data-1".to_owned());
    }
    world.files().extend(rest.file_there.map(|seen| ("fil_1".parse().unwrap(), seen)));
    world.actual.images.extend(rest.image_there.then(|| "nginx:1".to_owned()));
    for (place, throw) in throws.iter().enumerate() {
        add(&mut world, u32::try_from(place).unwrap() + 1, throw);
    }
    world
}

fn add(world: &mut World, number: u32, throw: &Throw) {
    let mut spec = replica(number);
    spec.networks[0].network_id = world.desired.networks[0].id.clone();
    if throw.singleton {
        spec.kind = Kind::Singleton;
        spec.service_id = format!("svc_{number}").parse().unwrap();
    }
    if let Some(state) = throw.there {
        let mut one = container(&spec, &format!("old{number}"));
        one.state = state;
        if throw.other_hash {
            one.spec_hash = "h0".to_owned();
        }
        if throw.attached {
            one.networks.insert("muster-shop-1".to_owned(), None);
        }
        world.containers().push(one);
    }
    if let Some(wanted) = throw.wanted {
        spec.desired = wanted;
        // Only on one that is wanted to run: it would wait for the others for ever, and rightly.
        let before = world.desired.replicas.last().filter(|before| before.desired == DesiredRun::Running);
        if let (Some(before), true) = (before, throw.depends) {
            spec.depends_on.push(before.replica_id.clone());
        }
        world.desired.replicas.push(spec);
    }
}

fn actions(plan: &Plan) -> impl Iterator<Item = &Action> {
    plan.steps.iter().flat_map(|step| &step.actions)
}

/// Names of ours that an action names: everything that it names must be one of them.
fn named(action: &Action) -> Option<&str> {
    match action {
        Action::RemoveNetwork { name } | Action::DeleteVolume { name } => Some(name),
        Action::Stop { container, .. }
        | Action::Kill { container }
        | Action::RemoveContainer { container, .. }
        | Action::Start { container }
        | Action::Connect { container, .. } => Some(container),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// STATE-11, STATE-2.
    #[test]
    fn state_11_doing_a_plan_leaves_nothing_to_do_and_then_the_plan_is_empty(mut world in world()) {
        world.settle();
        let plan = world.plan();
        prop_assert!(plan.is_satisfied(), "{plan}");
        let before = world.actual.clone();
        world.settle();
        prop_assert_eq!(before, world.actual);
    }

    /// STATE-8.
    #[test]
    fn state_8_what_is_not_ours_is_never_named(world in world()) {
        let mut ours: BTreeSet<String> = world.desired.replicas.iter().map(|spec| spec.name.clone()).collect();
        for one in world.actual.containers.known().unwrap() {
            ours.extend([one.id.clone(), one.name.clone()]);
        }
        ours.extend(world.actual.networks.known().unwrap().ours.values().cloned());
        ours.extend(world.actual.volumes.known().unwrap().ours.values().cloned());
        for action in actions(&world.plan()) {
            prop_assert!(named(action).is_none_or(|name| ours.contains(name)), "{action:?}");
        }
    }

    /// STATE-5, STATE-7.
    #[test]
    fn state_5_nothing_is_taken_away_without_a_fresh_state_and_nothing_removed_with_adopt(mut world in world()) {
        world.fresh = false;
        for action in actions(&world.plan()) {
            prop_assert!(!action.takes_away(), "{action:?}");
        }
        world.fresh = true;
        world.desired.adopt = true;
        let dead: BTreeSet<String> = world.actual.containers.known().unwrap().iter()
            .filter(|one| one.state == ContainerState::Dead).map(|one| one.id.clone()).collect();
        for action in actions(&world.plan()) {
            let removes = match action {
                Action::RemoveContainer { container, .. } => !dead.contains(container),
                Action::RemoveNetwork { .. } | Action::DeleteVolume { .. } | Action::RemoveFile { .. } => true,
                _ => false,
            };
            prop_assert!(!removes, "{action:?}");
        }
    }

    /// R33.
    #[test]
    fn r33_no_more_is_removed_than_was_announced(mut world in world(), budget in 0_u32..3) {
        world.desired.removals = Removals { replicas: budget, ..Removals::default() };
        let listed: BTreeSet<_> = world.desired.replicas.iter().map(|spec| spec.replica_id.clone()).collect();
        let unlisted: BTreeSet<String> = world.actual.containers.known().unwrap().iter()
            .filter(|one| !listed.contains(&one.replica_id)).map(|one| one.id.clone()).collect();
        let plan = world.plan();
        let removed = actions(&plan)
            .filter(|action| matches!(action, Action::RemoveContainer { container, .. } if unlisted.contains(container)))
            .count();
        prop_assert!(removed <= budget as usize);
        let kept = |action: &Action| !matches!(action, Action::DeleteVolume { .. } | Action::RemoveNetwork { .. });
        let all_kept = actions(&plan).all(kept);
        prop_assert!(all_kept, "{plan}");
    }

    /// STATE-10: faults delay, they do not prevent.
    #[test]
    fn state_10_a_host_whose_calls_fail_now_and_then_gets_there(mut world in world(), seed in any::<u64>()) {
        let mut random = fastrand::Rng::with_seed(seed);
        for _ in 0..30 {
            let plan = world.plan();
            world.carry_out(plan, &mut |_| match random.u8(0..10) {
                0 | 1 => Some(TroubleKind::Retry),
                2 => Some(TroubleKind::Refused),
                3 => Some(TroubleKind::Unavailable),
                _ => None,
            });
            world.wait(Duration::from_secs(20));
        }
        world.wait(Duration::from_secs(60));
        world.settle();
        prop_assert!(world.plan().is_satisfied(), "{}", world.plan());
    }
}

/// Every kind of action is planned for some host: a kind that never comes up would be proved by nothing above.
#[test]
fn every_kind_of_action_comes_up() {
    let mut runner = TestRunner::deterministic();
    let mut kinds: BTreeSet<String> = BTreeSet::new();
    let mut seen: Vec<Discriminant<Action>> = Vec::new();
    for _ in 0..300 {
        let mut world = world().new_tree(&mut runner).unwrap().current();
        for failures in 0..2 {
            let plan = world.plan();
            for action in actions(&plan) {
                if !seen.contains(&discriminant(action)) {
                    seen.push(discriminant(action));
                    kinds.insert(format!("{action:?}").split([' ', '{']).next().unwrap().to_owned());
                }
            }
            if failures == 0 {
                world.carry_out(plan, &mut |action| action.takes_away().then_some(TroubleKind::Retry));
                world.wait(Duration::from_secs(60));
            }
        }
    }
    assert_eq!(kinds.len(), 13, "{kinds:?}");
}

/// What an empty state asks of an empty host.
#[test]
fn nothing_is_asked_of_nothing() {
    let world = World::new(DesiredState::empty("epoch", 1));
    assert_eq!(world.plan().to_string(), "nothing to do\n");
}
