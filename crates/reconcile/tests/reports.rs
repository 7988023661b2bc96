//! What is reported of replicas, and in which order the steps of a plan begin.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod world;

use std::time::Duration;

use host_proto::desired::DesiredRun;
use host_proto::report::{HealthState, ItemState, ReplicaReport, ReplicaState};
use reconcile::report::{CrashWatch, Sight, reports};
use reconcile::{Action, Actual, ContainerState, Details, Item, Phase, Run, TroubleKind};
use world::{World, state};

fn told(world: &World, crashes: &CrashWatch) -> Vec<ReplicaReport> {
    let plan = world.plan();
    let sight = Sight {
        desired: Some(&world.desired),
        actual: &world.actual,
        plan: &plan,
        memory: &world.memory,
        crashes,
        now: world.now,
    };
    reports(&sight).unwrap()
}

fn states(world: &World) -> Vec<ReplicaState> {
    told(world, &CrashWatch::default()).into_iter().map(|report| report.state).collect()
}

#[test]
fn connect_3_every_replica_is_told_also_those_without_a_container_and_those_that_nobody_wants() {
    let mut world = World::settled(state(2));
    world.desired.replicas[0] = world::replica(3);
    world.container("rep_2").health = HealthState::Healthy;
    let told = told(&world, &CrashWatch::default());
    let shown: Vec<_> = told.iter().map(|one| (one.replica_id.as_str(), one.state)).collect();
    assert_eq!(
        shown,
        [
            ("rep_1", ReplicaState::Running),
            ("rep_2", ReplicaState::Running),
            ("rep_3", ReplicaState::Creating),
        ]
    );
    assert_eq!(told[1].ip.unwrap().to_string(), "10.208.4.3");
    assert_eq!((told[1].health, told[2].container_id.is_some()), (HealthState::Healthy, false));
    assert!(told[0].held_reason.as_ref().unwrap().contains("fewer removals"));
}

#[test]
fn r29_nothing_is_told_while_the_engine_does_not_answer() {
    let mut world = World::settled(state(1));
    world.actual = Actual::unknown("no answer");
    let plan = world.plan();
    let crashes = CrashWatch::default();
    let sight = Sight {
        desired: None,
        actual: &world.actual,
        plan: &plan,
        memory: &world.memory,
        crashes: &crashes,
        now: world.now,
    };
    assert_eq!(reports(&sight), None);
}

#[test]
fn a_state_says_what_a_person_would() {
    let mut world = World::settled(state(1));
    for (seen, health, expected) in [
        (ContainerState::Running, HealthState::Starting, ReplicaState::Starting),
        (ContainerState::Running, HealthState::Unhealthy, ReplicaState::Unhealthy),
        (ContainerState::Running, HealthState::None, ReplicaState::Running),
        (ContainerState::Restarting, HealthState::None, ReplicaState::Restarting),
        (ContainerState::Exited, HealthState::None, ReplicaState::Exited),
        (ContainerState::Removing, HealthState::None, ReplicaState::Removing),
        (ContainerState::Dead, HealthState::None, ReplicaState::Failed),
    ] {
        world.container("rep_1").state = seen;
        world.container("rep_1").health = health;
        assert_eq!(states(&world), [expected], "{seen:?}");
    }
}

#[test]
fn a_failure_is_told_in_the_words_of_the_engine_also_when_it_was_the_image() {
    let mut world = World::new(state(1));
    let plan = world.plan();
    world.carry_out(plan, &mut |action| {
        matches!(action, Action::PullImage { .. }).then_some(TroubleKind::Retry)
    });
    let one = told(&world, &CrashWatch::default()).remove(0);
    assert_eq!(
        (one.state, one.last_error.as_deref()),
        (ReplicaState::Failed, Some("image nginx:1: cannot pull"))
    );
    world.wait(Duration::from_secs(60));
    let plan = world.plan();
    world.carry_out(plan, &mut |action| matches!(action, Action::Start { .. }).then_some(TroubleKind::Retry));
    let one = told(&world, &CrashWatch::default()).remove(0);
    assert_eq!((one.state, one.last_error.as_deref()), (ReplicaState::Failed, Some("cannot start")));
    let items = world.plan().items(&world.memory, world.now);
    assert_eq!((items.len(), items[0].state, items[0].attempts), (1, ItemState::Failed, 1));
    assert!(items[0].retry_in_ms.unwrap() > 0);
}

#[test]
fn a_network_that_cannot_be_made_is_what_its_replicas_failed_for() {
    let mut world = World::new(state(1));
    let plan = world.plan();
    world.carry_out(plan, &mut |action| {
        matches!(action, Action::CreateNetwork { .. }).then_some(TroubleKind::Retry)
    });
    let name = world.desired.networks[0].name.clone();
    // While it waits for the next try, and while that is under way.
    for waited in [0, 60] {
        world.wait(Duration::from_secs(waited));
        let one = told(&world, &CrashWatch::default()).remove(0);
        assert_eq!(one.state, ReplicaState::Failed, "after {waited} s");
        let said = one.last_error.unwrap();
        assert!(said.starts_with(&format!("network {name}: cannot")), "{said}");
    }
}

#[test]
fn one_that_waits_for_another_is_held_and_one_that_is_under_way_is_creating() {
    let mut world = World::new(state(2));
    world.desired.replicas[1].depends_on = vec!["rep_1".parse().unwrap()];
    assert_eq!(states(&world), [ReplicaState::Creating, ReplicaState::Held]);
    world.memory.begin(&Item::Image("nginx:1".to_owned()));
    let told = told(&world, &CrashWatch::default());
    assert_eq!(told[0].state, ReplicaState::Creating);
    assert_eq!(told[1].held_reason.as_deref(), Some("waits for shop/web-1 to be ready"));
}

#[test]
fn r30_one_that_nothing_stops_is_stuck() {
    let mut world = World::settled(state(1));
    world.desired.replicas[0].desired = DesiredRun::Absent;
    for _ in 0..3 {
        let plan = world.plan();
        world.carry_out(plan, &mut |_| Some(TroubleKind::Retry));
        world.wait(Duration::from_secs(60));
    }
    assert_eq!(states(&world), [ReplicaState::Stuck]);
    world.memory.begin(&Item::Replica("rep_1".parse().unwrap()));
}

#[test]
fn three_restarts_within_a_minute_are_a_loop_until_it_runs_steadily() {
    let mut world = World::settled(state(1));
    let mut crashes = CrashWatch::default();
    let mut seen = Vec::new();
    for restarts in [7, 8, 9, 10, 10, 10, 11] {
        world.container("rep_1").details = Some(Details { restarts, ..Details::default() });
        crashes.observe(world.now, &world.actual);
        seen.push(told(&world, &crashes)[0].state);
        world.wait(Duration::from_secs(5));
    }
    let (running, looping) = (ReplicaState::Running, ReplicaState::Restarting);
    assert_eq!(seen, [running, running, running, looping, looping, running, looping]);
    world.wait(Duration::from_secs(120));
    world.container("rep_1").details = Some(Details { restarts: 12, ..Details::default() });
    crashes.observe(world.now, &world.actual);
    assert_eq!(told(&world, &crashes)[0].state, running, "one in two minutes");
}

#[test]
fn state_10_a_step_begins_when_what_it_needs_is_done_and_is_skipped_when_that_failed() {
    let mut world = World::new(state(2));
    world.desired.replicas[1].image.reference = "other:1".to_owned();
    let mut run = Run::new(world.plan());
    assert_eq!(run.next(Phase::Replicas, |_| true).map(|step| step.title).as_deref(), Some("image nginx:1"));
    let other = run.next(Phase::Replicas, |_| true).unwrap();
    assert_eq!(other.title, "image other:1");
    assert_eq!(run.next(Phase::Replicas, |_| true), None, "the replicas need their network and image");
    run.end(&other.item, false);
    run.end(&Item::Image("nginx:1".to_owned()), true);
    let network = run.next(Phase::Networks, |_| true).unwrap();
    assert!(!run.is_over(Phase::Networks));
    run.end(&network.item, true);
    assert!(run.is_over(Phase::Networks));
    let replica = run.next(Phase::Replicas, |_| true).unwrap();
    assert_eq!(replica.title, "shop/web-1");
    assert_eq!(run.next(Phase::Replicas, |_| true), None);
    run.end(&replica.item, true);
    assert!(Phase::ALL.into_iter().all(|phase| run.is_over(phase)), "the one whose image failed is skipped");
}
