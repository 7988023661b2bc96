//! What a network says of the world outside becomes another where it is: everybody who stands in it stays together, and it is
//! open for nobody longer than his release says so.

use host_proto::desired::{Egress, MountSource};
use model::hosting::{DeploymentState, Phase};
use model::service::Order;

use crate::world::{Fate, Sim, spec};

/// The egress of the only network that the host is told of.
fn egress(sim: &Sim) -> Egress {
    let networks = sim.desired().networks;
    assert_eq!(networks.len(), 1, "{networks:?}");
    networks[0].egress
}

#[test]
fn a_network_becomes_internal_and_open_again_where_it_is_and_no_replica_is_made_anew() {
    let mut sim = Sim::new();
    sim.deploy(&[("web", spec("web:1").times(2)), ("db", spec("db:1"))]);
    sim.finish();
    let before = (sim.ids("web"), sim.ids("db"), sim.desired().networks[0].id.clone());
    assert_eq!(egress(&sim), Egress::Allow);
    for (internal, expected) in [(true, Egress::Deny), (false, Egress::Allow)] {
        let wish = |image| if internal { spec(image).internal() } else { spec(image) };
        sim.deploy(&[("web", wish("web:1").times(2)), ("db", wish("db:1"))]);
        sim.finish();
        assert_eq!(sim.state(), DeploymentState::Done);
        assert_eq!(egress(&sim), expected);
        assert_eq!((sim.ids("web"), sim.ids("db"), sim.desired().networks[0].id.clone()), before);
    }
}

#[test]
fn what_is_done_is_closed_and_a_silent_host_is_not_waited_for_without_end() {
    let mut sim = Sim::new();
    sim.deploy(&[("web", spec("web:1"))]);
    sim.finish();
    sim.answers(false);
    sim.deploy(&[("web", spec("web:1").internal())]);
    let began = sim.now();
    sim.steps(8);
    assert_eq!(egress(&sim), Egress::Deny);
    assert!(sim.is_deploying(), "nobody has said that the network is closed");
    sim.end();
    assert!((10_000..11_000).contains(&(sim.now() - began)), "{}", sim.now() - began);
    sim.deploy(&[("web", spec("web:1"))]);
    sim.finish();
    sim.answers(true);
    sim.deploy(&[("web", spec("web:1").internal())]);
    let began = sim.now();
    sim.end();
    assert!(sim.now() - began < 2_000);
}

#[test]
fn a_network_that_becomes_internal_is_open_until_the_last_who_needs_it_open_is_gone_and_no_longer() {
    let mut sim = Sim::new();
    sim.deploy(&[("web", spec("web:1").times(2).checked())]);
    sim.finish();
    sim.deploy(&[("web", spec("web:2").times(2).checked().internal())]);
    sim.watch(|sim| {
        let runs = |phase| sim.images_in("web", phase).contains(&"web:1".to_owned());
        let needs = [Phase::Serving, Phase::Draining].into_iter().any(runs);
        assert_eq!(egress(sim), if needs { Egress::Allow } else { Egress::Deny });
    });
    sim.finish();
    assert_eq!((sim.state(), egress(&sim)), (DeploymentState::Done, Egress::Deny));
}

#[test]
fn what_goes_back_stands_in_the_network_of_the_others_and_that_is_closed_as_before() {
    for (fate, order) in
        [(Fate::Exits, Order::StopFirst), (Fate::NoImage, Order::StopFirst), (Fate::Exits, Order::StartFirst)]
    {
        let mut sim = Sim::new();
        let db = |image| spec(image).order(order);
        sim.deploy(&[("web", spec("web:1").internal()), ("db", db("db:1").internal())]);
        sim.finish();
        let (web, network) = (sim.ids("web"), sim.desired().networks[0].id.clone());
        sim.fate("db:2", fate);
        sim.deploy(&[("web", spec("web:1")), ("db", db("db:2"))]);
        sim.finish();
        assert_eq!((sim.state(), sim.ids("web")), (DeploymentState::RolledBack, web));
        assert_eq!((egress(&sim), sim.desired().networks[0].id.clone()), (Egress::Deny, network));
        let stands = sim.desired().replicas.into_iter().flat_map(|it| it.networks).map(|it| it.network_id);
        assert!(stands.into_iter().all(|it| it == sim.desired().networks[0].id));
        // And what comes later.
        sim.deploy(&[("web", spec("web:1").internal().times(2)), ("db", db("db:1").internal())]);
        sim.finish();
        assert_eq!((sim.state(), egress(&sim)), (DeploymentState::Done, Egress::Deny));
    }
}

#[test]
fn a_release_that_does_not_say_what_its_volume_is_gets_no_replica_and_says_why() {
    let mut sim = Sim::new();
    sim.deploy(&[("db", spec("db:1").unknown_volume("data"))]);
    sim.finish();
    assert_eq!((sim.state(), sim.count("db")), (DeploymentState::RolledBack, 0));
    let why = "db: it names the volume data and does not say what that is: deploy files that do";
    assert_eq!(sim.reason(), why);
}

#[test]
fn a_mount_whose_source_is_nowhere_is_told_and_never_left_out() {
    let mut sim = Sim::new();
    sim.deploy(&[("db", spec("db:1"))]);
    sim.finish();
    // Nothing leads here any more; a host that is told so all the same refuses to make the replica.
    sim.wants_volume("db", "data");
    let state = sim.desired();
    let MountSource::Volume { volume_id } = &state.replicas[0].mounts[0].source else {
        panic!("{:?}", state.replicas[0].mounts)
    };
    assert!(state.volumes.iter().all(|it| it.id != *volume_id));
}
