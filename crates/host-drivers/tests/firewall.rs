//! The table in a kernel, with packets: hosts and containers are network namespaces. It needs root, as CI is; for another
//! user there is nothing to prove.
//!
//! The world of these tests: a host with the networks 1 (egress allowed), 2 (denied) and 9 (which the table does not
//! know), two containers on the first and one on each other, and a neighbour beyond the host's uplink.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stderr, reason = "says why there is nothing to see")]

#[path = "firewall/netns.rs"]
mod netns;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use host_drivers::nft::{Backend, DockerFirewall, Drift, Ensured, Nft, Program};
use host_proto::desired::{
    Action, Chain, DesiredState, Egress, FirewallRule, Network, PortRange, Protocol, Where,
};
use netns::{Outcome, Segment, World};
use reconcile::firewall::{Ruleset, Subnet, closed, compile};

fn range() -> Subnet {
    "10.208.0.0/12".parse().unwrap()
}

fn network(n: u8, egress: Egress) -> Network {
    Network {
        id: format!("net_{n}").parse().unwrap(),
        name: format!("muster-shop-{n}"),
        bridge: format!("mst000000000{n}"),
        project_id: "prj_1".parse().unwrap(),
        project: "shop".to_owned(),
        subnet: format!("10.208.{n}.0/24"),
        gateway: [10, 208, n, 1].into(),
        mtu: None,
        egress,
        trusted_interface: None,
        internal_dns: true,
    }
}

fn state() -> DesiredState {
    let networks = vec![network(1, Egress::Allow), network(2, Egress::Deny)];
    DesiredState { networks, ..DesiredState::empty("e", 1) }
}

fn rule(chain: Chain, src: Where, dst: Where, port: u16) -> FirewallRule {
    FirewallRule {
        id: "fwr_1".parse().unwrap(),
        chain,
        action: Action::Accept,
        proto: Some(Protocol::Tcp),
        src,
        dst,
        ports: vec![PortRange { first: port, last: port }],
        comment: "a \"quoted\" reason".to_owned(),
    }
}

/// Runs the driver on a host: in its network namespace, so that netlink and nft speak to its kernel.
fn on_host<T: Send + 'static>(world: &World, work: impl AsyncFnOnce(Nft) -> T + Send + 'static) -> T {
    world.within("host", move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(work(Nft::new(Program::default())))
    })
}

fn apply(world: &World, ruleset: &Ruleset) {
    let ruleset = ruleset.clone();
    let ensured = on_host(world, async move |mut nft| nft.ensure(&ruleset).await.unwrap());
    assert_eq!(ensured, Ensured::Applied);
}

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// Each way as `from to outcome`, all at once so that a failure shows the whole picture.
fn picture(world: &World, ways: &[(&str, &str)]) -> Vec<String> {
    ways.iter().map(|(from, to)| format!("{from} {to} {:?}", world.connect(from, at(to)))).collect()
}

const WAYS: [(&str, &str); 15] = [
    ("c1", "10.208.1.3:80"),
    ("c1", "10.208.2.2:80"),
    ("c1", "10.208.9.2:80"),
    ("c1", "192.0.2.2:80"),
    ("c1", "10.223.0.1:80"),
    ("c1", "10.208.1.1:53"),
    ("c1", "10.208.1.1:22"),
    ("c1", "10.208.2.1:53"),
    ("c1", "192.0.2.1:53"),
    ("d1", "10.208.1.2:80"),
    ("d1", "192.0.2.2:80"),
    ("d1", "10.208.2.1:53"),
    ("x1", "192.0.2.2:80"),
    ("x1", "10.208.9.1:53"),
    ("host", "10.208.1.2:80"),
];

#[test]
fn packets_go_where_the_state_says_and_nowhere_else() {
    let Some(world) = World::new() else { return };
    assert_eq!(world.connect("c1", at("10.208.2.2:80")), Outcome::Open, "without the table all is open");
    apply(&world, &compile(&state(), range()).ruleset);
    let expected = [
        "c1 10.208.1.3:80 Open",
        "c1 10.208.2.2:80 Refused",
        "c1 10.208.9.2:80 Refused",
        "c1 192.0.2.2:80 Open",
        "c1 10.223.0.1:80 Refused",
        "c1 10.208.1.1:53 Open",
        "c1 10.208.1.1:22 Refused",
        "c1 10.208.2.1:53 Refused",
        "c1 192.0.2.1:53 Refused",
        "d1 10.208.1.2:80 Refused",
        "d1 192.0.2.2:80 Refused",
        "d1 10.208.2.1:53 Open",
        "x1 192.0.2.2:80 Refused",
        "x1 10.208.9.1:53 Refused",
        "host 10.208.1.2:80 Open",
    ];
    assert_eq!(picture(&world, &WAYS), expected);
    assert_eq!(world.connect("world", at("10.208.1.2:80")), Outcome::Silence);
    assert!(world.pings("c1", [10, 208, 1, 1]));
}

#[test]
fn a_network_that_the_table_does_not_know_is_closed_before_anything_stands_in_it() {
    let Some(world) = World::new() else { return };
    apply(&world, &closed(range()));
    let between: Vec<_> = WAYS[1..14].to_vec();
    let open: Vec<_> =
        picture(&world, &between).into_iter().filter(|way| !way.ends_with("Refused")).collect();
    assert_eq!(open, [""; 0]);
    assert_eq!(world.connect("host", at("10.208.1.2:80")), Outcome::Open);
}

#[test]
fn rules_of_the_state_open_what_they_name() {
    let Some(world) = World::new() else { return };
    let mut state = state();
    let net = |n: u8| Where::Network(format!("net_{n}").parse().unwrap());
    state.firewall = vec![
        rule(Chain::HostIn, net(1), Where::Any, 22),
        rule(Chain::NetOut, net(2), Where::Cidr("192.0.2.0/24".to_owned()), 80),
        rule(Chain::NetIn, Where::Cidr("192.0.2.2".to_owned()), net(1), 80),
    ];
    let compiled = compile(&state, range());
    assert_eq!(compiled.refused, []);
    apply(&world, &compiled.ruleset);
    for (from, to) in [("c1", "10.208.1.1:22"), ("d1", "192.0.2.2:80"), ("world", "10.208.1.2:80")] {
        assert_eq!(world.connect(from, at(to)), Outcome::Open, "{from} {to}");
    }
    for (from, to) in [("d1", "10.208.2.1:22"), ("d1", "192.0.2.2:81")] {
        assert_eq!(world.connect(from, at(to)), Outcome::Refused, "{from} {to}");
    }
    assert_eq!(world.connect("world", at("10.208.2.2:80")), Outcome::Silence);
}

#[test]
fn a_table_that_others_change_is_noticed_and_put_back_and_theirs_is_left_alone() {
    let Some(world) = World::new() else { return };
    let ruleset = compile(&state(), range()).ruleset;
    let outcomes = world.within("host", move || {
        let nft = |words: &str| {
            let done = std::process::Command::new("nft").args(words.split(' ')).status().unwrap();
            assert!(done.success(), "{words}");
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let mut driver = Nft::new(Program::default());
            let mut outcomes = Vec::new();
            for change in [
                "list tables",
                "list tables",
                "add table ip theirs",
                "flush ruleset",
                "add table ip theirs",
                "insert rule inet muster forward accept",
                "delete table inet muster",
            ] {
                nft(change);
                outcomes.push(driver.ensure(&ruleset).await.unwrap());
            }
            nft("list table ip theirs");
            outcomes
        })
    });
    use Ensured::{Applied, InPlace, Restored};
    let (missing, altered) = (Restored(Drift::Missing), Restored(Drift::Altered));
    assert_eq!(outcomes, [Applied, InPlace, InPlace, missing, InPlace, altered, missing]);
    assert_eq!(world.connect("c1", at("10.208.2.2:80")), Outcome::Refused);
}

/// r48: the page of a container that the host had asked for in that moment was waited for in vain.
#[test]
fn r48_a_connection_of_the_hosts_that_began_without_the_table_goes_on_under_it() {
    let Some(world) = World::new() else { return };
    let listener = world.within("c1", || TcpListener::bind("0.0.0.0:81").unwrap());
    let mut asking = world.within("host", || TcpStream::connect("10.208.1.2:81").unwrap());
    let (mut answering, _) = listener.accept().unwrap();
    apply(&world, &compile(&state(), range()).ruleset);
    answering.write_all(b"page").unwrap();
    asking.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut heard = [0; 4];
    asking.read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"page");
}

#[test]
fn a_stray_segment_is_no_way_into_the_host() {
    let Some(world) = World::new() else { return };
    apply(&world, &compile(&state(), range()).ruleset);
    for flags in
        [Segment::ACK, Segment::ACK | Segment::PUSH, Segment::ACK | Segment::FIN, Segment::SYN | Segment::ACK]
    {
        let port = 40_000 + u16::from(flags);
        world
            .send("c1", &Segment { from: at(&format!("10.208.1.2:{port}")), to: at("10.208.1.1:22"), flags });
        assert_eq!(world.connect_by("c1", port, at("10.208.1.1:22")), Outcome::Refused, "after {flags:#04x}");
    }
}

#[test]
fn a_refused_batch_says_why_and_changes_nothing() {
    let Some(world) = World::new() else { return };
    let (error, ensured) = on_host(&world, async |mut nft| {
        nft.ensure(&closed(range())).await.unwrap();
        // A program that is no nft stands for one that refuses.
        let mut other = Nft::new(Program::new(["sh", "-c", "echo 'line 1: syntax error' >&2; exit 1"]));
        let error = other.ensure(&compile(&state(), range()).ruleset).await.unwrap_err();
        (error.to_string(), nft.ensure(&closed(range())).await.unwrap())
    });
    assert_eq!(error, "nft refused: line 1: syntax error");
    assert_eq!(ensured, Ensured::InPlace);
    let missing = on_host(&world, async |_| {
        let mut none = Nft::new(Program::new(["/nonexistent/nft"]));
        none.ensure(&closed(range())).await.unwrap_err().to_string()
    });
    assert_eq!(missing, "cannot run /nonexistent/nft (is the package nftables installed?)");
}

#[test]
fn beside_the_engines_rules_both_have_to_agree_and_their_loss_is_told() {
    let Some(world) = World::new() else { return };
    // What an engine of 20.10 writes for one bridge, as nft prints it.
    let engine = "table ip filter { chain DOCKER-USER { return; }; chain FORWARD {
        type filter hook forward priority 0; policy drop;
        jump DOCKER-USER
        oifname \"mst0000000001\" ct state established,related accept
        iifname \"mst0000000001\" accept
        iifname \"mst0000000002\" accept
        }; }";
    let ruleset = compile(&state(), range()).ruleset;
    let seen = on_host(&world, async move |mut nft| {
        let run = |words: &[&str]| std::process::Command::new("nft").args(words).status().unwrap().success();
        nft.ensure(&ruleset).await.unwrap();
        let mut seen = vec![nft.docker_firewall().await.unwrap()];
        assert!(run(&[engine]));
        seen.push(nft.docker_firewall().await.unwrap());
        seen.push(nft.docker_firewall().await.unwrap());
        assert!(run(&["flush", "ruleset"]));
        seen.push(nft.docker_firewall().await.unwrap());
        assert!(run(&[engine]));
        nft.ensure(&ruleset).await.unwrap();
        seen
    });
    let present = DockerFirewall::Present(Backend::IptablesNft);
    assert_eq!(seen, [DockerFirewall::NotSeen, present, present, DockerFirewall::Missing]);
    for (from, to, outcome) in [
        ("c1", "192.0.2.2:80", Outcome::Open),
        ("c1", "10.208.1.3:80", Outcome::Open),
        ("d1", "192.0.2.2:80", Outcome::Refused),
        ("c1", "10.208.2.2:80", Outcome::Refused),
    ] {
        assert_eq!(world.connect(from, at(to)), outcome, "{from} {to}");
    }
}
