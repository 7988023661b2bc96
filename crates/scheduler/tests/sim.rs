//! Deployments from beginning to end on a made-up host and a virtual clock: what was decided is done, containers become
//! what they would become, and at each step of the way what people rely on must hold.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod world;

use model::hosting::{DeploymentState, Phase};
use model::service::{Condition, Order};
use proptest::prelude::*;

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
    sim.online(false);
    sim.deploy(&[("web", spec("web:1"))]);
    sim.finish();
    assert_eq!(sim.state(), DeploymentState::RolledBack);
    assert!(sim.reason().contains("is offline"), "{}", sim.reason());
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
fn the_one_before_serves_until_it_is_known_that_new_ports_can_be_opened() {
    for image in ["web:1", "web:2"] {
        let mut sim = Sim::new();
        sim.deploy(&[("web", spec("web:1").port(8080, 80))]);
        sim.finish();
        let before = sim.ids("web");
        sim.deploy(&[("web", spec(image).port(8090, 80))]);
        sim.steps(1);
        sim.taken(8090);
        let old = before[0].clone();
        sim.watch(move |sim| assert_eq!(sim.phase(&old), Phase::Serving, "the old one goes"));
        sim.finish();
        assert_eq!((sim.state(), sim.ids("web")), (DeploymentState::RolledBack, before), "{image}");
        assert!(sim.reason().contains("port 8090/tcp on h1: address already in use"), "{}", sim.reason());
    }
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
