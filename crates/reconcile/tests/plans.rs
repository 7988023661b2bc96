//! Plans in words: one case for each rule, compared as a whole.

mod world;

use std::time::Duration;

use host_proto::desired::{DesiredRun, Kind, Pull, RestartPolicy, VolumeState};
use host_proto::report::HealthState;
use reconcile::{Actual, ContainerState, FileSeen, Seen, TroubleKind, Why};
use world::{World, container, file, network, replica, state, volume};

/// Compares a plan with its text; the text's indentation is that of the test.
fn check(world: &World, expected: &str) {
    let shown = world.plan().to_string();
    let shown: Vec<&str> = shown.lines().map(str::trim).collect();
    let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(shown, expected, "\n{}", world.plan());
}

#[test]
fn state_2_a_new_host_gets_networks_volumes_files_and_replicas_in_this_order() {
    let mut desired = state(1);
    desired.volumes.push(volume(1));
    desired.files.push(file(1));
    let mounts = r#"[{"type": "volume", "volume_id": "vol_1", "target": "/data"},
                     {"type": "file", "file_id": "fil_1", "target": "/etc/x"}]"#;
    desired.replicas[0].mounts = serde_json::from_str(mounts).unwrap();
    let mut world = World::new(desired);
    check(
        &world,
        "networks:
           + network muster-shop-1: create muster-shop-1
         volumes:
           + volume muster-data-1: create muster-data-1
         files:
           + file fil_1: write
         replicas:
           + image nginx:1: pull
           + shop/web-1: create container shop-web-1, start",
    );
    world.settle();
    assert_eq!(world.done.len(), 6);
    check(&world, "nothing to do");
}

#[test]
fn state_11_a_state_that_is_satisfied_makes_an_empty_plan() {
    let world = World::settled(state(3));
    assert!(world.plan().is_satisfied());
    check(&world, "nothing to do");
}

#[test]
fn state_5_without_a_fresh_state_nothing_is_taken_away() {
    let mut world = World::settled(state(3));
    world.desired.removals.replicas = 3;
    world.desired.replicas.remove(0);
    world.spec(1).desired = DesiredRun::Stopped;
    world.spec(2).spec_hash = "h2".to_owned();
    world.fresh = false;
    let reason = "not taken away before the control plane has said so on this connection";
    check(
        &world,
        &format!(
            "not now:
               ! shop/web-1: {reason}
               ! shop/web-2: {reason}
               ! shop/web-3: {reason}"
        ),
    );
}

#[test]
fn r28_without_a_fresh_state_what_is_missing_or_exited_still_comes_back() {
    let mut world = World::settled(state(3));
    world.container("rep_1").state = ContainerState::Exited;
    world.container("rep_2").networks.clear();
    world.containers().retain(|one| one.replica_id.as_str() != "rep_3");
    world.fresh = false;
    check(
        &world,
        "replicas:
           + shop/web-1: start
           + shop/web-2: attach to muster-shop-1 as 10.208.4.3
           + shop/web-3: create container shop-web-3, start",
    );
}

#[test]
fn state_7_with_adopt_set_things_are_added_and_nothing_is_removed() {
    let mut world = World::settled(state(2));
    world.desired.removals.replicas = 9;
    world.desired.adopt = true;
    world.desired.replicas[0] = replica(3);
    world.spec(2).spec_hash = "h2".to_owned();
    check(
        &world,
        "replicas:
           + shop/web-3: create container shop-web-3, start
         not now:
           ! shop/web-1: not removed, since the state only adopts
           ! shop/web-2: not removed, since the state only adopts",
    );
}

#[test]
fn r33_more_removals_than_announced_are_refused_and_the_rest_goes_on() {
    let mut world = World::settled(state(3));
    world.desired.replicas = vec![replica(4)];
    world.desired.removals.replicas = 2;
    let reason = "not removed, since the state announced fewer removals";
    check(
        &world,
        &format!(
            "replicas:
               + shop/web-4: create container shop-web-4, start
             not now:
               ! shop/web-1: {reason}
               ! shop/web-2: {reason}
               ! shop/web-3: {reason}"
        ),
    );
    assert_eq!(world.plan().refused.replicas, 3);
    world.desired.removals.replicas = 3;
    world.settle();
    assert!(!world.plan().refused.any());
    check(&world, "nothing to do");
    assert_eq!(world.containers().len(), 1);
}

#[test]
fn r33_a_list_that_came_out_empty_removes_nothing() {
    let mut world = World::settled(state(2));
    world.desired = host_proto::DesiredState::empty("epoch", 2);
    assert!(world.plan().is_idle());
    // The network is not empty, so nothing is asked of its budget.
    assert_eq!((world.plan().refused.replicas, world.plan().refused.networks), (2, 0));
}

#[test]
fn a_replica_that_is_absent_in_so_many_words_needs_no_budget() {
    let mut world = World::settled(state(2));
    world.spec(1).desired = DesiredRun::Absent;
    check(
        &world,
        "replicas:
           - shop/web-1: stop within 10 s, remove",
    );
}

#[test]
fn r27_a_container_made_from_something_else_is_replaced() {
    let mut world = World::settled(state(1));
    world.spec(1).spec_hash = "h2".to_owned();
    check(
        &world,
        "replicas:
           ~ shop/web-1: stop within 10 s, remove, create container shop-web-1, start",
    );
    world.settle();
    assert_eq!(world.container("rep_1").spec_hash, "h2");
}

#[test]
fn state_8_a_name_that_others_have_taken_is_refused_and_their_object_is_not_touched() {
    let mut desired = state(1);
    desired.volumes.push(volume(1));
    let mut world = World::new(desired);
    world.networks().foreign.insert("muster-shop-1".to_owned());
    world.volumes().foreign.insert("muster-data-1".to_owned());
    check(
        &world,
        "replicas:
           + image nginx:1: pull
         not now:
           ! network muster-shop-1: the name muster-shop-1 is taken by one that is not ours
           ! volume muster-data-1: the name muster-data-1 is taken by one that is not ours
           ! shop/web-1: needs network muster-shop-1: the name muster-shop-1 is taken by one that is not ours",
    );
}

#[test]
fn r29_what_cannot_be_seen_is_neither_made_nor_removed() {
    let mut world = World::settled(state(1));
    world.desired.removals.replicas = 9;
    world.actual = Actual::unknown("no answer");
    check(
        &world,
        "not now:
           ! network muster-shop-1: not known: no answer
           ! shop/web-1: not known: no answer",
    );
    world.actual = Actual { networks: Seen::Unknown("no answer".to_owned()), ..Actual::empty() };
    let held = world.plan().held.pop().unwrap();
    assert_eq!(
        held.why,
        Why::Needs { title: "network muster-shop-1".to_owned(), reason: "not known: no answer".to_owned() }
    );
}

#[test]
fn r85_a_fenced_replica_does_not_start_even_from_the_cache() {
    let mut world = World::settled(state(2));
    world.container("rep_1").state = ContainerState::Exited;
    world.containers().retain(|one| one.replica_id.as_str() != "rep_2");
    world.desired.fenced_replica_ids = vec!["rep_1".parse().unwrap(), "rep_2".parse().unwrap()];
    world.fresh = false;
    check(
        &world,
        "not now:
           ! shop/web-1: may not start on this host
           ! shop/web-2: may not start on this host",
    );
}

#[test]
fn a_replica_waits_until_what_it_depends_on_is_ready_the_first_time_only() {
    let mut world = World::new(state(2));
    world.spec(2).depends_on = vec!["rep_1".parse().unwrap(), "rep_elsewhere".parse().unwrap()];
    let first = world.plan();
    world.carry_out(first, &mut |_| None);
    world.container("rep_1").health = HealthState::Starting;
    check(
        &world,
        "not now:
           ! shop/web-2: waits for shop/web-1 to be ready",
    );
    world.container("rep_1").health = HealthState::Healthy;
    world.settle();
    world.container("rep_1").health = HealthState::Unhealthy;
    world.container("rep_2").state = ContainerState::Exited;
    check(
        &world,
        "replicas:
           + shop/web-2: start",
    );
}

#[test]
fn a_check_of_the_hosts_own_that_was_not_answered_yet_is_no_readiness() {
    let mut world = World::settled(state(1));
    let check = r#"{"check": "tcp", "port": 80}"#;
    world.spec(1).health = serde_json::from_str(check).unwrap();
    let check = world.spec(1).health.check.clone();
    assert!(!world.container("rep_1").is_ready_by(&check));
    world.actual.set_health(&[("rep_1".parse().unwrap(), HealthState::Healthy)].into());
    assert!(world.container("rep_1").is_ready_by(&check));
}

#[test]
fn r30_one_that_does_not_stop_is_killed_then_removed_by_force_then_stuck() {
    let mut world = World::settled(state(1));
    world.spec(1).desired = DesiredRun::Absent;
    let mut tried = Vec::new();
    for _ in 0..4 {
        let plan = world.plan();
        let actions: Vec<String> = plan.steps[0].actions.iter().map(ToString::to_string).collect();
        tried.push(actions.join(", "));
        world.carry_out(plan, &mut |_| Some(TroubleKind::Retry));
        assert!(world.plan().is_idle(), "tried again without a pause");
        world.wait(Duration::from_secs(60));
    }
    assert_eq!(tried, ["stop within 10 s, remove", "kill, remove", "remove by force", "remove by force"]);
    assert!(world.memory.is_stuck(&world.plan().steps[0].item));
    world.settle();
    assert!(world.containers().is_empty());
}

/// As after an engine that was killed while it started one: its own parts are in the way of this container for ever.
#[test]
fn r30_one_that_cannot_be_started_again_and_again_is_made_anew_but_not_without_a_fresh_state() {
    let mut world = World::settled(state(1));
    for container in world.containers() {
        container.state = ContainerState::Exited;
    }
    let mut tried = Vec::new();
    for round in 0..5 {
        world.fresh = round != 3;
        let plan = world.plan();
        let actions: Vec<String> = plan.steps[0].actions.iter().map(ToString::to_string).collect();
        tried.push(actions.join(", ").replace(&world.containers()[0].id, "it"));
        world.carry_out(plan, &mut |_| Some(TroubleKind::Retry));
        world.wait(Duration::from_secs(60));
    }
    let anew = "remove by force, create container shop-web-1, start";
    assert_eq!(tried, ["start", "start", "start", "start", anew]);
    world.settle();
    assert_eq!(world.containers().len(), 1);
}

#[test]
fn state_10_one_item_that_fails_does_not_hold_the_others() {
    let mut desired = state(2);
    desired.replicas[1].image.reference = "broken:1".to_owned();
    let mut world = World::new(desired);
    let plan = world.plan();
    world.carry_out(plan, &mut |action| {
        action
            .to_string()
            .contains("pull")
            .then_some(TroubleKind::Retry)
            .filter(|_| matches!(action, reconcile::Action::PullImage { image } if image == "broken:1"))
    });
    assert_eq!(world.containers().len(), 1);
    check(
        &world,
        "not now:
           ! image broken:1: failed, again in 1 s: cannot pull
           ! shop/web-2: needs image broken:1: cannot pull",
    );
}

#[test]
fn an_image_that_is_named_by_digest_is_pulled_once_and_never_pulled_when_forbidden() {
    let mut world = World::settled(state(1));
    world.containers().clear();
    world.spec(1).image.pull = Pull::Always;
    check(
        &world,
        "replicas:
           + image nginx:1: pull
           + shop/web-1: create container shop-web-1, start",
    );
    world.spec(1).image.digest = Some("sha256:ab".to_owned());
    world.actual.images.insert("nginx@sha256:ab".to_owned());
    assert_eq!(world.plan().steps.len(), 1);
    world.actual.images.clear();
    world.spec(1).image.pull = Pull::Never;
    check(
        &world,
        "not now:
           ! image nginx@sha256:ab: not on this host, and may not be pulled
           ! shop/web-1: needs image nginx@sha256:ab: not on this host, and may not be pulled",
    );
}

#[test]
fn r40_a_container_that_ended_as_it_should_is_not_started_again() {
    let mut world = World::settled(state(1));
    world.container("rep_1").state = ContainerState::Exited;
    for policy in [RestartPolicy::No, RestartPolicy::OnFailure] {
        world.spec(1).restart.policy = policy;
        check(&world, "nothing to do");
    }
}

#[test]
fn what_the_engine_or_a_person_is_at_is_left_alone() {
    let mut world = World::settled(state(1));
    for state in [ContainerState::Restarting, ContainerState::Removing, ContainerState::Paused] {
        world.container("rep_1").state = state;
        check(&world, "nothing to do");
    }
    world.container("rep_1").state = ContainerState::Dead;
    check(
        &world,
        "replicas:
           ~ shop/web-1: remove by force, create container shop-web-1, start",
    );
}

#[test]
fn a_singleton_starts_only_when_the_one_before_it_is_gone() {
    let mut world = World::settled(state(1));
    world.spec(1).replica_id = "rep_9".parse().unwrap();
    world.spec(1).name = "shop-web-9".to_owned();
    world.spec(1).kind = Kind::Singleton;
    let waits = "shop/web-1: waits for shop-web-1 to be gone, since it runs once only";
    assert!(world.plan().to_string().contains(waits), "{}", world.plan());
    world.desired.removals.replicas = 1;
    let plan = world.plan();
    assert_eq!(plan.steps[1].needs, [plan.steps[0].item.clone()]);
    world.carry_out(plan, &mut |action| {
        matches!(action, reconcile::Action::Stop { .. }).then_some(TroubleKind::Retry)
    });
    assert_eq!(world.containers().len(), 1, "two at a time");
    world.wait(Duration::from_secs(60));
    world.settle();
    assert_eq!(world.container("rep_9").state, ContainerState::Running);
}

#[test]
fn the_next_singleton_is_made_beside_the_one_before_and_started_when_that_is_gone() {
    let mut world = World::settled(state(1));
    let mut next = replica(9);
    (next.kind, next.desired) = (Kind::Singleton, DesiredRun::Stopped);
    next.service_id = world.spec(1).service_id.clone();
    next.image.reference = "nginx:2".to_owned();
    world.desired.replicas.push(next);
    check(
        &world,
        "replicas:
           + image nginx:2: pull
           + shop/web-9: create container shop-web-9",
    );
    world.settle();
    assert_eq!(world.container("rep_1").state, ContainerState::Running);
    world.desired.replicas[1].desired = DesiredRun::Running;
    check(
        &world,
        "not now:
           ! shop/web-9: waits for shop-web-1 to be gone, since it runs once only",
    );
    world.desired.replicas.remove(0);
    world.desired.removals.replicas = 1;
    let plan = world.plan();
    assert_eq!(plan.steps[1].needs, [plan.steps[0].item.clone()], "{plan}");
    world.settle();
    assert_eq!((world.containers().len(), world.container("rep_9").state), (1, ContainerState::Running));
}

#[test]
fn r43_a_volume_goes_only_with_its_confirmation_and_when_nothing_uses_it() {
    let mut desired = state(1);
    desired.volumes.push(volume(1));
    let mut world = World::settled(desired);
    world.container("rep_1").volumes.insert("muster-data-1".to_owned());
    world.desired.volumes[0].state = VolumeState::Delete;
    let listed = std::mem::replace(&mut world.actual.volumes, Seen::Unknown("the engine is busy".to_owned()));
    check(
        &world,
        "not now:
           ! volume muster-data-1: not known: the engine is busy",
    );
    world.actual.volumes = listed;
    let refused = "not now:
        ! volume muster-data-1: not removed, since the state announced fewer removals";
    check(&world, refused);
    assert_eq!(world.plan().refused.volumes, 1);
    world.desired.removals.volumes = 1;
    check(
        &world,
        "not now:
           ! volume muster-data-1: not deleted: the confirmation does not name this volume",
    );
    world.desired.volumes[0].delete_confirmation = Some("vol_1".to_owned());
    check(
        &world,
        "not now:
           ! volume muster-data-1: waits for shop-web-1 to be gone",
    );
    world.spec(1).desired = DesiredRun::Absent;
    check(
        &world,
        "replicas:
           - shop/web-1: stop within 10 s, remove
         no longer needed:
           - volume muster-data-1: delete muster-data-1 and all that is in it",
    );
    world.settle();
    assert!(world.volumes().ours.is_empty());
}

#[test]
fn a_volume_that_the_state_does_not_list_any_more_is_kept() {
    let mut desired = state(0);
    desired.volumes.push(volume(1));
    let mut world = World::settled(desired);
    world.desired.volumes.clear();
    world.desired.removals.volumes = 9;
    check(&world, "nothing to do");
}

/// As after a restore of the control plane: what was deployed after the back-up and is deployed again has other identifiers.
#[test]
fn state_7_a_volume_is_not_made_anew_beside_one_of_its_name_that_the_control_plane_does_not_know() {
    let mut desired = state(0);
    desired.volumes.push(volume(1));
    let mut world = World::settled(desired);
    world.desired.volumes = vec![volume(2)];
    check(
        &world,
        "not now:
           ! volume muster-data-2: this host has muster-data-1, made for a volume of this name and not known to the control \
         plane: it may have the data. Copy what is needed, remove it with docker volume rm, and deploy again",
    );
    // Two that the control plane knows are its own business, as when one of them is on its way out.
    world.desired.volumes.push(volume(1));
    check(
        &world,
        "volumes:
           + volume muster-data-2: create muster-data-2",
    );
    world.settle();
    world.volumes().ours.remove("vol_2");
    world.desired.volumes.pop();
    world.volumes().ours.remove("vol_1");
    check(
        &world,
        "volumes:
           + volume muster-data-2: create muster-data-2",
    );
}

#[test]
fn r35_a_network_is_removed_when_the_last_container_has_left_it() {
    let mut world = World::settled(state(1));
    world.desired.networks = vec![network(2)];
    world.desired.removals.networks = 1;
    world.spec(1).networks[0].network_id = "net_2".parse().unwrap();
    world.spec(1).spec_hash = "h2".to_owned();
    check(
        &world,
        "networks:
           + network muster-shop-2: create muster-shop-2
         replicas:
           ~ shop/web-1: stop within 10 s, remove, create container shop-web-1, start
         no longer needed:
           - network muster-shop-1: remove muster-shop-1",
    );
    world.settle();
    check(&world, "nothing to do");
    assert_eq!(world.networks().ours.len(), 1);
}

#[test]
fn files_are_written_again_when_wrong_and_removed_when_nothing_names_them() {
    let mut desired = state(1);
    desired.files = vec![file(1), file(2)];
    let mut world = World::settled(desired);
    world.files().insert("fil_1".parse().unwrap(), FileSeen::Wrong);
    world.container("rep_1").files.insert("fil_2".parse().unwrap());
    world.desired.files.remove(1);
    check(
        &world,
        "files:
           + file fil_1: write",
    );
    world.container("rep_1").files.clear();
    world.settle();
    assert_eq!(world.files().len(), 1);
}

#[test]
fn a_second_container_of_one_replica_goes_and_the_right_one_stays() {
    let mut world = World::settled(state(1));
    let mut double = container(&replica(1), "double");
    double.name = "older".to_owned();
    double.spec_hash = "h0".to_owned();
    double.state = ContainerState::Running;
    world.containers().insert(0, double);
    check(
        &world,
        "replicas:
           - shop/web-1 (older): stop, remove",
    );
}

#[test]
fn a_step_that_is_under_way_is_not_planned_again() {
    let mut world = World::new(state(1));
    let plan = world.plan();
    for step in &plan.steps[..2] {
        world.memory.begin(&step.item);
    }
    check(
        &world,
        "not now:
           ! network muster-shop-1: under way
           ! image nginx:1: under way
           ! shop/web-1: needs network muster-shop-1: under way",
    );
}
