//! What the table says for which state, and what it leaves out.

use std::net::Ipv4Addr;

use host_proto::desired::{
    Action, Chain, DesiredState, Egress, FirewallRule, Network, PortRange, Protocol, Where,
};

use super::*;

fn network(n: u8, egress: Egress) -> Network {
    Network {
        id: format!("net_{n}").parse().unwrap(),
        name: format!("muster-shop-n{n}"),
        bridge: format!("mst000000000{n}"),
        project_id: "prj_shop".parse().unwrap(),
        project: "shop".to_owned(),
        subnet: format!("10.208.{n}.0/24"),
        gateway: Ipv4Addr::new(10, 208, n, 1),
        mtu: None,
        egress,
        trusted_interface: None,
        internal_dns: true,
    }
}

fn rule(chain: Chain, action: Action, src: Where, dst: Where, ports: &[(u16, u16)]) -> FirewallRule {
    FirewallRule {
        id: "fwr_1".parse().unwrap(),
        chain,
        action,
        proto: None,
        src,
        dst,
        ports: ports.iter().map(|&(first, last)| PortRange { first, last }).collect(),
        comment: String::new(),
    }
}

fn state(networks: Vec<Network>, firewall: Vec<FirewallRule>) -> DesiredState {
    DesiredState { networks, firewall, ..DesiredState::empty("e", 1) }
}

fn range() -> Subnet {
    "10.208.0.0/12".parse().unwrap()
}

fn lines_of(compiled: &Compiled, chain: &str) -> Vec<String> {
    let text = compiled.ruleset.text();
    let (_, rest) = text.split_once(&format!("\tchain {chain} {{\n")).expect("the chain");
    rest.split("\t}\n").next().unwrap().lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn a_host_without_networks_refuses_every_bridge_of_ours() {
    assert_eq!(
        closed(range()).to_string(),
        "table inet muster {
\tchain forward {
\t\ttype filter hook forward priority -5; policy accept;
\t\tct state established,related accept
\t\tiifname \"mst*\" jump leaving
\t\toifname \"mst*\" jump entering
\t}
\tchain input {
\t\ttype filter hook input priority -5; policy accept;
\t\tiifname != \"mst*\" accept
\t\tct state established,related accept
\t\tjump to_host
\t}
\tchain leaving {
\t\treject with icmpx type admin-prohibited
\t}
\tchain entering {
\t\tjump net_in
\t\tdrop
\t}
\tchain to_host {
\t\treject with icmpx type admin-prohibited
\t}
\tchain net_out {
\t}
\tchain net_in {
\t}
\tchain host_in {
\t}
}
"
    );
    assert_eq!(compile(&state(vec![], vec![]), range()).ruleset, closed(range()));
}

#[test]
fn a_network_reaches_itself_and_what_its_egress_says() {
    let compiled =
        compile(&state(vec![network(1, Egress::Allow), network(2, Egress::Deny)], vec![]), range());
    assert_eq!(compiled.refused, []);
    assert_eq!(
        lines_of(&compiled, "leaving"),
        [
            "iifname vmap { \"mst0000000001\" : jump from_mst0000000001, \"mst0000000002\" : jump from_mst0000000002 }",
            "reject with icmpx type admin-prohibited",
        ]
    );
    let mut closed_network = vec![
        "oifname \"mst0000000002\" accept".to_owned(),
        "ip saddr != 10.208.2.0/24 drop".to_owned(),
        "jump net_out".to_owned(),
        "oifname \"mst*\" jump net_in".to_owned(),
        "oifname \"mst*\" reject with icmpx type admin-prohibited".to_owned(),
        "ip daddr 10.208.0.0/12 reject with icmpx type admin-prohibited".to_owned(),
    ];
    assert_eq!(lines_of(&compiled, "from_mst0000000002"), closed_network);
    let open: Vec<_> = closed_network
        .drain(..)
        .map(|line| line.replace(".2.0/24", ".1.0/24").replace("0002\"", "0001\""))
        .chain(["ip saddr 10.208.1.0/24 accept".to_owned()])
        .collect();
    assert_eq!(lines_of(&compiled, "from_mst0000000001"), open);
    assert_eq!(
        lines_of(&compiled, "host_mst0000000001"),
        [
            "ip saddr != 10.208.1.0/24 drop",
            "tcp flags & ack == ack accept",
            "ip saddr 10.208.1.0/24 ip daddr 10.208.1.1 meta l4proto { tcp, udp } th dport 53 accept",
            "ip saddr 10.208.1.0/24 icmp type echo-request accept",
            "jump host_in",
        ]
    );
}

#[test]
fn what_a_network_began_while_it_was_open_ends_when_it_is_closed() {
    let networks = vec![network(1, Egress::Allow), network(2, Egress::Deny), network(3, Egress::Deny)];
    let compiled = compile(&state(networks, vec![]), range());
    assert_eq!(
        lines_of(&compiled, "forward")[1..3],
        [
            "iifname { \"mst0000000002\", \"mst0000000003\" } ct direction original jump leaving",
            "ct state established,related accept",
        ]
    );
}

#[test]
fn a_network_without_names_does_not_ask_the_host() {
    let silent = Network { internal_dns: false, ..network(1, Egress::Allow) };
    let compiled = compile(&state(vec![silent], vec![]), range());
    assert!(!compiled.ruleset.text().contains("53"));
}

#[test]
fn an_egress_that_is_not_known_is_denied() {
    let of = |egress| compile(&state(vec![network(1, egress)], vec![]), range()).ruleset;
    assert_eq!(of(Egress::Unknown), of(Egress::Deny));
    assert_ne!(of(Egress::Allow).hash(), of(Egress::Deny).hash());
}

#[test]
fn rules_of_the_state_stand_in_their_chains_in_order() {
    let net = |n: u8| Where::Network(format!("net_{n}").parse().unwrap());
    let cidr = |text: &str| Where::Cidr(text.to_owned());
    let firewall = vec![
        FirewallRule {
            proto: Some(Protocol::Tcp),
            comment: "printer \"x\"; flush ruleset\n} é".to_owned(),
            ..rule(Chain::NetOut, Action::Accept, net(1), cidr("192.168.1.9/32"), &[(9100, 9100)])
        },
        rule(Chain::NetOut, Action::Reject, Where::Any, cidr("192.168.0.0/16"), &[]),
        rule(
            Chain::NetIn,
            Action::Accept,
            cidr("fd00::/8"),
            Where::Any,
            &[(90, 95), (80, 80), (81, 92), (443, 443)],
        ),
        FirewallRule {
            proto: Some(Protocol::Udp),
            ..rule(Chain::HostIn, Action::Unknown, Where::Any, net(1), &[])
        },
    ];
    let compiled = compile(&state(vec![network(1, Egress::Allow)], firewall), range());
    assert_eq!(compiled.refused, []);
    assert_eq!(
        lines_of(&compiled, "net_out"),
        [
            "iifname \"mst0000000001\" ip saddr 10.208.1.0/24 ip daddr 192.168.1.9/32 tcp dport { 9100 } accept \
             comment \"fwr_1 printer _x_; flush ruleset__ _\"",
            "ip daddr 192.168.0.0/16 reject with icmpx type admin-prohibited comment \"fwr_1\"",
        ]
    );
    assert_eq!(
        lines_of(&compiled, "net_in"),
        ["ip6 saddr fd00::/8 meta l4proto { tcp, udp } th dport { 80-95, 443 } accept comment \"fwr_1\""]
    );
    assert_eq!(
        lines_of(&compiled, "host_in"),
        ["ip daddr 10.208.1.1 meta l4proto udp reject with icmpx type admin-prohibited comment \"fwr_1\""]
    );
}

#[test]
fn what_cannot_be_put_in_place_is_named_and_left_out() {
    let bad = [
        Network { bridge: "br-shop".to_owned(), ..network(1, Egress::Allow) },
        Network { bridge: "mst\" accept".to_owned(), ..network(2, Egress::Allow) },
        Network { subnet: "10.208.3.7/24".to_owned(), ..network(3, Egress::Allow) },
        Network { gateway: Ipv4Addr::new(10, 208, 9, 1), ..network(4, Egress::Allow) },
        network(5, Egress::Allow),
        Network { id: "net_6".parse().unwrap(), ..network(5, Egress::Allow) },
    ];
    let firewall = vec![
        rule(Chain::MeshIn, Action::Accept, Where::Any, Where::Any, &[]),
        rule(Chain::Unknown, Action::Accept, Where::Any, Where::Any, &[]),
        rule(Chain::NetIn, Action::Accept, Where::Cidr("1.2.3.4".into()), Where::Cidr("::1".into()), &[]),
        rule(Chain::NetIn, Action::Accept, Where::Cidr("all".into()), Where::Any, &[]),
        rule(Chain::NetIn, Action::Accept, Where::Network("net_1".parse().unwrap()), Where::Any, &[]),
        rule(Chain::NetIn, Action::Accept, Where::Any, Where::Any, &[(9, 8)]),
    ];
    let compiled = compile(&state(bad.to_vec(), firewall), range());
    let ids: Vec<_> = compiled.refused.iter().map(|refused| refused.id.as_str()).collect();
    assert_eq!(
        ids,
        ["net_1", "net_2", "net_3", "net_4", "net_6", "fwr_1", "fwr_1", "fwr_1", "fwr_1", "fwr_1", "fwr_1"]
    );
    let only = compile(&state(vec![network(5, Egress::Allow)], vec![]), range());
    assert_eq!(compiled.ruleset, only.ruleset);
}

#[test]
fn the_batch_replaces_the_table_whether_there_is_one_or_not() {
    let ruleset = closed(range());
    let batch = ruleset.batch();
    assert!(batch.starts_with("table inet muster\ndelete table inet muster\ntable inet muster {\n"));
    assert!(!batch.contains("flush"));
    assert_eq!(ruleset.hash().len(), 64);
}
