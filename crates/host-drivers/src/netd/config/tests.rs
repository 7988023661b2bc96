//! What of a desired state reaches netd.

use host_proto::desired::{Attachment, Egress, Network as Desired};
use serde_json::json;

use super::*;

fn desired(n: u8, subnet: &str) -> Desired {
    Desired {
        id: format!("net_{n}").parse().unwrap(),
        name: format!("muster-shop-{n}"),
        bridge: format!("mst{n}"),
        project_id: "prj_1".parse().unwrap(),
        project: "shop".to_owned(),
        subnet: subnet.to_owned(),
        gateway: Ipv4Addr::new(10, 208, n, 1),
        mtu: None,
        egress: Egress::Allow,
        trusted_interface: None,
        internal_dns: n == 1,
    }
}

fn state() -> DesiredState {
    let mut state = DesiredState::empty("e", 1);
    state.networks = vec![desired(1, "10.208.1.0/24"), desired(2, "10.208.2.0/24"), desired(3, "none")];
    let replica = |id: &str, run: &str, ips: &[[u8; 4]]| {
        let networks: Vec<_> = ips
            .iter()
            .map(|ip| Attachment {
                network_id: format!("net_{}", ip[2]).parse().unwrap(),
                ip: (*ip).into(),
                aliases: Vec::new(),
            })
            .collect();
        serde_json::from_value(json!({
            "replica_id": id, "service_id": "svc_1", "release_id": "rel_1", "project": "shop", "service": "web",
            "number": 1, "name": "c", "spec_hash": "h", "desired": run, "networks": networks,
            "image": {"reference": "x", "ref": "x", "digest": "sha256:1"}, "env": {"PASSWORD": "hunter2"},
        }))
        .unwrap()
    };
    state.replicas = vec![
        replica("rep_1", "running", &[[10, 208, 1, 2], [10, 208, 2, 2]]),
        replica("rep_2", "stopped", &[[10, 208, 1, 3]]),
        replica("rep_3", "absent", &[[10, 208, 1, 4]]),
    ];
    let route = |id: &str, kind: RouteKind, port: Option<u16>| Route {
        id: id.parse().unwrap(),
        kind,
        listen_ip: None,
        listen_port: port,
        hosts: Vec::new(),
        upstreams: vec![host_proto::desired::Upstream {
            replica_id: "rep_9".parse().unwrap(),
            ip: [10, 209, 0, 9].into(),
            port: 80,
        }],
    };
    state.routes = vec![
        route("rte_1", RouteKind::Tcp, Some(80)),
        route("rte_2", RouteKind::Udp, Some(53)),
        route("rte_3", RouteKind::Http, Some(80)),
        route("rte_4", RouteKind::Tcp, None),
        route("rte_5", RouteKind::Tcp, Some(0)),
        route("rte_6", RouteKind::Unknown, Some(1)),
    ];
    state
}

#[test]
fn names_and_ports_reach_netd_and_no_secret_does() {
    let state = state();
    let config = Config::of(&state, "10.208.0.0/12".parse().unwrap());
    let networks: Vec<_> =
        config.networks.iter().map(|network| (network.id.as_str(), network.names)).collect();
    assert_eq!(networks, [("net_1", true), ("net_2", false)]);
    let both: Vec<NetworkId> = vec!["net_1".parse().unwrap(), "net_2".parse().unwrap()];
    let members =
        [([10, 208, 1, 2], both.clone()), ([10, 208, 1, 3], vec![both[0].clone()]), ([10, 208, 2, 2], both)];
    assert_eq!(config.members, members.map(|(ip, networks)| (ip.into(), networks)).into());
    let routes: Vec<_> = config.routes.iter().map(|route| route.id.as_str()).collect();
    assert_eq!(routes, ["rte_1", "rte_2"]);
    assert_eq!(config.dns, state.dns);
    let text = serde_json::to_string(&config).unwrap();
    assert!(!text.contains("hunter2"));
    assert_eq!(serde_json::from_str::<Config>(&text).unwrap(), config);
}

#[test]
fn an_address_is_known_as_long_as_something_should_have_it() {
    let config = Config::of(&state(), "10.208.0.0/12".parse().unwrap());
    let known = |ip: [u8; 4]| config.knows(ip.into());
    assert!(known([10, 208, 1, 2]) && known([10, 208, 1, 3]) && known([10, 209, 0, 9]));
    assert!(!known([10, 208, 1, 4]) && !config.knows("::1".parse().unwrap()));
}

#[test]
fn those_who_leave_keep_their_names_and_nothing_leads_to_them() {
    let range = "10.208.0.0/12".parse().unwrap();
    let before = Config::of(&state(), range);
    let mut after = DesiredState::empty("e", 2);
    after.networks = vec![desired(4, "10.208.2.0/24")];
    let moved = Config::of(&after, range);
    let leaving = moved.clone().while_leaving(&before);
    assert_eq!((&leaving.routes, &leaving.dns), (&moved.routes, &moved.dns));
    assert_eq!(leaving.members, before.members);
    let names: Vec<_> = leaving.networks.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(names, ["net_4", "net_1"], "where net_2 was is another one now");
    assert_eq!(before.clone().while_leaving(&before), before);
}
