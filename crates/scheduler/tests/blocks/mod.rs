//! A network of somebody else on a host has the block of addresses that a network of ours was to have: deployments come to
//! their end all the same, in another block, and networks that work stay where they are.

use model::hosting::DeploymentState;
use model::service::Order;

use crate::world::{Sim, spec};

#[test]
fn a_block_that_somebody_elses_network_has_is_not_asked_for() {
    let mut sim = Sim::new();
    sim.foreign_network("10.208.0.0/23", "corp");
    // The host connects and says so before anything is deployed.
    sim.steps(1);
    sim.deploy(&[("web", spec("web:1").times(2).checked())]);
    sim.finish();
    assert_eq!((sim.state(), sim.refusals()), (DeploymentState::Done, 0));
    assert_eq!(sim.blocks(), ["10.208.2.0/24"]);
}

#[test]
fn a_block_that_the_engine_refuses_is_given_up_within_the_deployment() {
    let (first, stop) = (Order::StartFirst, Order::StopFirst);
    let cases = [
        (true, first, "10.208.0.0/23", "10.208.2.0/24"),
        (false, first, "10.208.0.0/23", "10.208.2.0/24"),
        (false, stop, "10.208.0.0/23", "10.208.2.0/24"),
        (true, stop, "10.208.0.0/24", "10.208.1.0/24"),
        (false, first, "10.208.0.0/24", "10.208.1.0/24"),
    ];
    for (tells, order, block, expected) in cases {
        let mut sim = Sim::new();
        if !tells {
            sim.tells_no_blocks();
        }
        sim.deploy(&[("web", spec("web:1").order(order).times(2).checked()), ("db", spec("db:1"))]);
        // The controller has decided, and the network comes before the host is told.
        sim.foreign_network(block, "corp");
        sim.finish();
        assert_eq!(sim.state(), DeploymentState::Done, "{}", sim.reason());
        assert_eq!((sim.serving("web"), sim.serving("db")), (2, 1));
        assert_eq!(sim.blocks(), [expected], "tells: {tells}, {order:?}, {block}");
    }
}

#[test]
fn a_network_that_has_containers_stays_where_it_is_whatever_is_said_of_its_block() {
    let mut sim = Sim::new();
    sim.deploy(&[("web", spec("web:1").times(2).checked())]);
    sim.finish();
    let (before, ids) = (sim.blocks(), sim.ids("web"));
    sim.foreign_network("10.208.0.0/16", "overlay");
    sim.steps(40);
    assert_eq!((sim.blocks(), sim.ids("web")), (before.clone(), ids));
    sim.deploy(&[("web", spec("web:2").times(2).checked())]);
    sim.watch(|sim| assert_eq!(sim.serving("web").min(2), 2, "fewer than before"));
    sim.finish();
    assert_eq!((sim.state(), sim.blocks()), (DeploymentState::Done, before));
}

#[test]
fn a_place_that_was_kept_and_is_somebody_elses_now_is_left_for_another() {
    let mut sim = Sim::new();
    sim.deploy(&[("web", spec("web:1"))]);
    sim.finish();
    sim.deploy(&[]);
    sim.finish();
    assert!(sim.blocks().is_empty());
    sim.foreign_network("10.208.0.128/25", "corp");
    sim.steps(1);
    sim.deploy(&[("web", spec("web:1"))]);
    sim.finish();
    assert_eq!((sim.state(), sim.refusals()), (DeploymentState::Done, 0));
    assert_eq!(sim.blocks(), ["10.208.1.0/24"]);
}

#[test]
fn when_nothing_is_left_the_deployment_says_what_is_in_the_way() {
    let mut sim = Sim::new();
    sim.foreign_network("10.192.0.0/10", "corp");
    sim.steps(1);
    sim.deploy(&[("web", spec("web:1"))]);
    sim.end();
    assert_eq!(sim.state(), DeploymentState::RolledBack);
    let why = "web: no host can take it: h1 has no block of addresses left for the network default in 10.208.0.0/20, \
               which overlaps with 10.192.0.0/10 of the engine's network corp; h2 is offline";
    assert_eq!(sim.reason(), why);
}

#[test]
fn an_engine_that_refuses_every_block_is_not_asked_for_ever() {
    let mut sim = Sim::new();
    sim.refuses_all_networks();
    sim.deploy(&[("web", spec("web:1"))]);
    sim.end();
    assert_eq!(sim.state(), DeploymentState::RolledBack);
    assert!(sim.reason().starts_with("web: the network default on h1: 10.208."), "{}", sim.reason());
    assert!(sim.reason().contains("Pool overlaps"), "{}", sim.reason());
    assert!(sim.refusals() < 100, "{}", sim.refusals());
}
