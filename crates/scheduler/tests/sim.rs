//! Deployments from beginning to end on a made-up host and a virtual clock: what was decided is done, containers become
//! what they would become, and at each step of the way what people rely on must hold.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod blocks;
mod networks;
mod world;

use model::hosting::{DeploymentState, Phase};
use model::service::{Condition, Order};
use proptest::prelude::*;
use scheduler::Presence;

use crate::world::{Fate, Sim, spec};

#[test]
fn a_first_deployment_starts_services_in_the_order_in_which_they_depend_on_each_other() {
    let mut sim = Sim::new();
    let db = spec("db:1").checked();
    let web = spec("web:1").after("db", Condition::Healthy);
    sim.deploy(&[("db", db), ("web", web)]);
    sim.run_until(|sim| sim.count("web") > 0);
    assert!(sim.serving("db") == 1, "web was made before db was healthy");
    sim.finish();
    assert_eq!(sim.state(), DeploymentState::Done);
    assert_eq!((sim.serving("db"), sim.serving("web")), (1, 1));
}

#[test]
fn an_update_replaces_one_replica_at_a_time_and_there_are_never_fewer_than_before() {
    let mut sim = Sim::new();
    sim.deploy(&[("web", spec("web:1").times(3).checked())]);
    sim.finish();
    sim.deploy(&[("web", spec("web:2").times(3).checked())]);
    sim.watch(|sim| {
        assert!(sim.serving("web") >= 3, "fewer than before");
        assert!(sim.count("web") <= 4, "more than one at a time");
    });
    sim.finish();
    assert_eq!(sim.state(), DeploymentState::Done);
    assert_eq!(sim.images("web"), ["web:2", "web:2", "web:2"]);
}

#[test]
fn stop_first_never_has_two_of_a_number_at_a_time() {
    let mut sim = Sim::new();
    sim.deploy(&[("db", spec("db:1").order(Order::StopFirst))]);
    sim.finish();
    sim.deploy(&[("db", spec("db:2").order(Order::StopFirst))]);
    sim.watch(|sim| assert!(sim.count("db") <= 1, "two at a time"));
    sim.finish();
    assert_eq!(sim.images("db"), ["db:2"]);
}

#[test]
fn stop_first_stops_nothing_before_the_next_one_is_made_and_then_one_at_a_time() {
    let mut sim = Sim::new();
    sim.deploy(&[("db", spec("db:1").order(Order::StopFirst).times(3).checked())]);
    sim.finish();
    sim.deploy(&[("db", spec("db:2").order(Order::StopFirst).times(3).checked())]);
    sim.watch(|sim| {
        assert!(sim.serving("db") >= 2, "more than one at a time");
        assert!(sim.serving("db") == 3 || sim.made("db", "db:2") > 0, "one stops before the next is made");
    });
    sim.finish();
    assert_eq!((sim.state(), sim.made("db", "db:2")), (DeploymentState::Done, 3));
}

#[test]
fn with_stop_first_too_a_release_that_cannot_be_made_stops_nothing() {
    for fate in [Fate::NoImage, Fate::Silent] {
        let mut sim = Sim::new();
        sim.deploy(&[("db", spec("db:1").order(Order::StopFirst))]);
        sim.finish();
        let before = sim.ids("db");
        sim.fate("db:2", fate);
        sim.deploy(&[("db", spec("db:2").order(Order::StopFirst))]);
        sim.watch(move |sim| assert_eq!(sim.serving("db"), 1, "{fate:?}: the old release does not serve"));
        sim.finish();
        assert_eq!((sim.state(), sim.ids("db")), (DeploymentState::RolledBack, before), "{fate:?}");
    }
}

#[test]
fn a_bad_release_goes_back_with_its_reason_and_the_old_one_serves_all_the_time() {
    for fate in [Fate::NoImage, Fate::NeverHealthy, Fate::Exits, Fate::Unhealthy, Fate::Silent] {
        let mut sim = Sim::new();
        sim.deploy(&[("web", spec("web:1").times(2).checked())]);
        sim.finish();
        sim.fate("web:2", fate);
        sim.deploy(&[("web", spec("web:2").times(2).checked())]);
        sim.watch(move |sim| assert_eq!(sim.serving("web"), 2, "{fate:?}: the old release does not serve"));
        sim.finish();
        assert_eq!(sim.state(), DeploymentState::RolledBack, "{fate:?}");
        assert_eq!(sim.images("web"), ["web:1", "web:1"], "{fate:?}");
        assert!(sim.reason().starts_with("web: "), "{fate:?}: {}", sim.reason());
    }
}

#[test]
fn a_bad_release_with_stop_first_brings_the_old_one_back() {
    let mut sim = Sim::new();
    sim.deploy(&[("db", spec("db:1").order(Order::StopFirst))]);
    sim.finish();
    sim.fate("db:2", Fate::Exits);
    sim.deploy(&[("db", spec("db:2").order(Order::StopFirst))]);
    sim.finish();
    assert_eq!((sim.state(), sim.images("db")), (DeploymentState::RolledBack, vec!["db:1".to_owned()]));
}

#[test]
fn one_bad_service_takes_all_of_its_deployment_back() {
    let mut sim = Sim::new();
    sim.deploy(&[("a", spec("a:1")), ("b", spec("b:1").after("a", Condition::Started))]);
    sim.finish();
    sim.fate("b:2", Fate::NoImage);
    sim.deploy(&[("a", spec("a:2")), ("b", spec("b:2").after("a", Condition::Started))]);
    sim.finish();
    assert_eq!(sim.state(), DeploymentState::RolledBack);
    assert_eq!((sim.images("a"), sim.images("b")), (vec!["a:1".to_owned()], vec!["b:1".to_owned()]));
}

#[test]
fn another_count_touches_no_replica_that_stays() {
    let mut sim = Sim::new();
    sim.deploy(&[("web", spec("web:1").times(2))]);
    sim.finish();
    let before = sim.ids("web");
    sim.deploy(&[("web", spec("web:1").times(4))]);
    sim.finish();
    assert_eq!(sim.serving("web"), 4);
    assert!(before.iter().all(|id| sim.ids("web").contains(id)));
    sim.deploy(&[("web", spec("web:1").times(1))]);
    sim.finish();
    assert_eq!(sim.ids("web"), before[..1]);
}

#[test]
fn going_back_from_more_replicas_that_do_not_work_is_over_when_they_are_gone() {
    for fate in [Fate::NoImage, Fate::Exits, Fate::Silent] {
        let mut sim = Sim::new();
        sim.deploy(&[("web", spec("web:1").times(2))]);
        sim.finish();
        let before = sim.ids("web");
        sim.fate("web:1", fate);
        sim.deploy(&[("web", spec("web:1").times(4))]);
        sim.finish();
        assert_eq!((sim.state(), sim.ids("web")), (DeploymentState::RolledBack, before), "{fate:?}");
        assert!(!sim.reason().contains("not back"), "{fate:?}: {}", sim.reason());
    }
}

#[test]
fn a_service_that_is_not_named_any_more_goes() {
    let mut sim = Sim::new();
    sim.deploy(&[("a", spec("a:1")), ("b", spec("b:1"))]);
    sim.finish();
    sim.deploy(&[("a", spec("a:1"))]);
    sim.finish();
    assert_eq!((sim.serving("a"), sim.count("b"), sim.state()), (1, 0, DeploymentState::Done));
}

#[test]
fn a_deployment_onto_no_host_says_why_and_goes_back() {
    let mut sim = Sim::new();
    sim.presence(Presence::Gone);
    sim.deploy(&[("web", spec("web:1"))]);
    sim.finish();
    assert_eq!(sim.state(), DeploymentState::RolledBack);
    assert!(sim.reason().contains("is offline"), "{}", sim.reason());
}

#[test]
fn a_deployment_whose_host_is_gone_ends_and_says_so() {
    let mut sim = Sim::new();
    sim.deploy(&[("web", spec("web:1"))]);
    sim.steps(1);
    sim.presence(Presence::Gone);
    sim.end();
    assert_eq!(sim.state(), DeploymentState::RolledBack);
    assert_eq!(sim.reason(), "web: the host h1 of replica 1 is offline");
    sim.presence(Presence::Online);
    sim.steps(40);
    assert_eq!(sim.count("web"), 0, "what was begun goes when the host is back");
}

#[test]
fn a_deployment_onto_a_host_whose_engine_does_not_answer_says_so_and_goes_back() {
    let mut sim = Sim::new();
    sim.deploy(&[("web", spec("web:1"))]);
    sim.finish();
    sim.engine_down(true);
    sim.deploy(&[("web", spec("web:2"))]);
    // Longer than a replica may take.
    sim.steps(300);
    sim.engine_down(false);
    sim.finish();
    assert_eq!(sim.state(), DeploymentState::RolledBack);
    assert_eq!(sim.reason(), "web: no container engine answers on h1");
    assert_eq!(sim.images("web"), ["web:1"]);
}

#[test]
fn what_serves_on_a_host_that_is_gone_is_not_given_up_for_what_cannot_start_there() {
    let mut sim = Sim::new();
    sim.deploy(&[("db", spec("db:1").order(Order::StopFirst))]);
    sim.finish();
    let before = sim.ids("db");
    sim.presence(Presence::Gone);
    sim.deploy(&[("db", spec("db:2").order(Order::StopFirst))]);
    sim.finish();
    assert_eq!((sim.state(), sim.ids("db")), (DeploymentState::RolledBack, before));
    assert_eq!(sim.reason(), "db: replica 1 of the release before is on h1, which is offline");
}

#[test]
fn going_back_ends_without_a_host_that_is_gone_and_the_rest_comes_when_it_is_there_again() {
    let mut sim = Sim::new();
    let web = || spec("web:1").after("db", Condition::Healthy).order(Order::StopFirst);
    sim.deploy(&[("db", spec("db:1").order(Order::StopFirst)), ("web", web())]);
    sim.finish();
    let before = sim.ids("db");
    sim.deploy(&[("db", spec("db:2").order(Order::StopFirst)), ("web", web())]);
    sim.run_until(|sim| sim.phase(&before[0]) == Phase::Removing);
    sim.presence(Presence::Gone);
    sim.end();
    assert_eq!(sim.state(), DeploymentState::RolledBack);
    assert!(sim.reason().contains("; db is not back as it was: "), "{}", sim.reason());
    sim.presence(Presence::Online);
    sim.run_until(|sim| sim.serving("db") == 1);
    assert_eq!(sim.images("db"), ["db:1"]);
}

#[test]
fn going_back_to_what_does_not_work_any_more_ends_as_well() {
    let mut sim = Sim::new();
    sim.deploy(&[("db", spec("db:1").order(Order::StopFirst))]);
    sim.finish();
    sim.deploy(&[("db", spec("db:2").order(Order::StopFirst))]);
    sim.fate("db:1", Fate::NoImage);
    sim.fate("db:2", Fate::Exits);
    sim.end();
    assert_eq!(sim.state(), DeploymentState::RolledBack);
    assert!(sim.reason().contains("; db is not back as it was: it cannot be started"), "{}", sim.reason());
}

#[test]
fn what_is_removed_does_not_wait_for_a_host_that_is_gone() {
    let mut sim = Sim::new();
    sim.deploy(&[("a", spec("a:1")), ("b", spec("b:1"))]);
    sim.finish();
    sim.presence(Presence::Gone);
    sim.deploy(&[]);
    sim.end();
    assert_eq!(sim.state(), DeploymentState::Done);
    sim.presence(Presence::Online);
    sim.steps(40);
    assert_eq!((sim.count("a"), sim.count("b")), (0, 0));
}

#[test]
fn off_4_a_server_that_starts_waits_for_hosts_before_it_decides_without_them() {
    let mut sim = Sim::new();
    sim.presence(Presence::Awaited);
    sim.deploy(&[("web", spec("web:1"))]);
    sim.steps(100);
    sim.presence(Presence::Online);
    sim.finish();
    assert_eq!(sim.state(), DeploymentState::Done);
}

#[test]
fn names_and_ports_never_lead_to_a_replica_that_leaves_or_is_not_ready() {
    let mut sim = Sim::new();
    sim.deploy(&[("web", spec("web:1").checked().port(8080, 80))]);
    sim.finish();
    sim.deploy(&[("web", spec("web:2").checked().port(8080, 80))]);
    sim.watch(|sim| {
        let state = sim.desired();
        let led: Vec<_> = state.routes.iter().flat_map(|it| &it.upstreams).map(|it| &it.replica_id).collect();
        assert!((1..=2).contains(&led.len()), "the port leads nowhere");
        assert!(led.iter().all(|id| sim.phase(id) == Phase::Serving));
        let names: Vec<_> = state.dns.records.iter().filter(|it| it.name == "web").collect();
        assert_eq!((names.len(), names[0].values.len()), (1, led.len()));
    });
    sim.finish();
}

#[test]
fn what_is_replaced_is_stopped_when_its_host_says_that_nothing_leads_to_it_any_more() {
    let drains = |sim: &Sim| sim.in_phase(Phase::Draining) == 1;
    for (answers, least, most) in [(true, 2_000, 3_000), (false, 9_000, 11_000)] {
        let mut sim = Sim::new();
        sim.deploy(&[("web", spec("web:1").port(8080, 80))]);
        sim.finish();
        sim.answers(answers);
        sim.deploy(&[("web", spec("web:2").port(8080, 80))]);
        sim.run_until(drains);
        let begun = sim.now();
        sim.run_until(|sim| !drains(sim));
        let took = sim.now() - begun;
        assert!((least..=most).contains(&took), "answers: {answers}, {took} ms");
    }
}

#[test]
fn off_4_what_is_drained_when_a_server_starts_is_stopped_when_its_host_was_heard() {
    let mut sim = Sim::new();
    sim.deploy(&[("web", spec("web:1").port(8080, 80))]);
    sim.finish();
    sim.deploy(&[("web", spec("web:2").port(8080, 80))]);
    sim.run_until(|sim| sim.in_phase(Phase::Draining) == 1);
    sim.presence(Presence::Awaited);
    for _ in 0..100 {
        sim.steps(1);
        assert_eq!((sim.in_phase(Phase::Draining), sim.in_phase(Phase::Removing)), (1, 0));
    }
    sim.presence(Presence::Gone);
    sim.steps(1);
    assert_eq!((sim.in_phase(Phase::Draining), sim.in_phase(Phase::Removing)), (0, 1));
}

#[test]
fn the_one_before_serves_until_it_is_known_that_new_ports_can_be_opened() {
    let cases = [("web:1", Order::StartFirst), ("web:2", Order::StartFirst), ("web:2", Order::StopFirst)];
    for (image, order) in cases {
        let mut sim = Sim::new();
        sim.deploy(&[("web", spec("web:1").order(order).port(8080, 80))]);
        sim.finish();
        let before = sim.ids("web");
        sim.deploy(&[("web", spec(image).order(order).port(8090, 80))]);
        sim.steps(1);
        sim.taken(8090);
        let old = before[0].clone();
        sim.watch(move |sim| {
            assert_eq!(sim.phase(&old), Phase::Serving, "the old one goes");
            assert!(sim.leads(8080), "{image}: nobody answers on the port that was open before");
        });
        sim.finish();
        assert_eq!((sim.state(), sim.ids("web")), (DeploymentState::RolledBack, before), "{image}");
        assert!(sim.reason().contains("port 8090/tcp on h1: address already in use"), "{}", sim.reason());
    }
}

#[test]
fn new_ports_are_open_when_their_host_has_applied_them_and_not_after_a_time() {
    for answers in [true, false] {
        let mut sim = Sim::new();
        sim.deploy(&[("web", spec("web:1").port(8080, 80))]);
        sim.finish();
        sim.deploy(&[("web", spec("web:1").port(8090, 80))]);
        sim.answers(answers);
        let begun = sim.now();
        sim.end();
        assert_eq!(sim.state(), DeploymentState::Done);
        let took = sim.now() - begun;
        // A host that says nothing is not waited for without end.
        assert!(
            if answers { took < 1_000 } else { (10_000..15_000).contains(&took) },
            "{answers}: {took} ms"
        );
    }
}

#[test]
fn what_is_done_is_reached_through_its_ports_and_a_silent_host_is_not_waited_for_without_end() {
    for answers in [true, false] {
        let mut sim = Sim::new();
        let page = |image| spec(image).order(Order::StopFirst).port(8080, 80);
        sim.deploy(&[("web", page("web:1"))]);
        sim.finish();
        sim.deploy(&[("web", page("web:2"))]);
        sim.steps(1);
        sim.answers(answers);
        let begun = sim.now();
        sim.end();
        assert_eq!(sim.state(), DeploymentState::Done);
        let led: Vec<_> = sim.applied_routes().into_values().flatten().collect();
        assert_eq!(led == sim.ids("web"), answers);
        let took = sim.now() - begun;
        assert_eq!(took < 10_000, answers, "{answers}: {took} ms");
    }
}

#[test]
fn a_port_that_a_busy_host_tries_late_fails_its_deployment_all_the_same() {
    let mut sim = Sim::new();
    sim.deploy(&[("web", spec("web:1").port(8080, 80))]);
    sim.finish();
    let before = sim.ids("web");
    sim.answers(false);
    sim.deploy(&[("web", spec("web:2").port(8090, 80))]);
    sim.steps(32);
    sim.taken(8090);
    sim.answers(true);
    sim.finish();
    assert_eq!((sim.state(), sim.ids("web")), (DeploymentState::RolledBack, before));
}

proptest! {
    /// Whatever is deployed over whatever, and whatever fails: it comes to an end, what serves is one release of each
    /// service, and as many as it wants.
    #[test]
    fn every_history_comes_to_rest(
        steps in proptest::collection::vec((0..3usize, 1..4u32, 0..8u8, any::<bool>(), 0..40u32), 1..6),
    ) {
        let mut sim = Sim::new();
        for (number, (service, count, fate, stop_first, hurry)) in steps.into_iter().enumerate() {
            let names = ["a", "b", "c"];
            let image = format!("x:{number}");
            if let Some(fate) = Fate::of(fate) {
                sim.fate(&image, fate);
            }
            let order = if stop_first { Order::StopFirst } else { Order::StartFirst };
            let changed = spec(&image).times(count).order(order).checked();
            let mut wish: Vec<_> = sim.current();
            wish.retain(|(name, _)| *name != names[service]);
            wish.push((names[service], changed));
            sim.deploy(&wish);
            // The next deployment may come before this one is over.
            sim.steps(hurry);
        }
        sim.finish();
        sim.assert_at_rest();
    }
}
