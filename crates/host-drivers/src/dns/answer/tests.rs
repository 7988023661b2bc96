//! What containers are told: R57 to R60, asked as they ask, in bytes.

use std::net::Ipv4Addr;

use host_proto::desired::{DnsRecord, DnsValue, RecordType as Kind};
use proptest::prelude::*;

use super::*;
use crate::netd::{Config, Network};

/// Two projects. In `shop` the network 1 has web (two replicas), network 2 has db; 10.208.1.9 stands in both.
fn config() -> Config {
    let mut config = Config::empty("10.208.0.0/12".parse().unwrap());
    for (n, project) in [(1, "shop"), (2, "shop"), (3, "blog")] {
        config.networks.push(Network {
            id: format!("net_{n}").parse().unwrap(),
            project_id: format!("prj_{project}").parse().unwrap(),
            project: project.to_owned(),
            subnet: format!("10.208.{n}.0/24").parse().unwrap(),
            gateway: Ipv4Addr::new(10, 208, n, 1),
            names: true,
        });
    }
    let both = vec!["net_1".parse().unwrap(), "net_2".parse().unwrap()];
    config.members.insert(Ipv4Addr::new(10, 208, 1, 9), both);
    config.dns.records = vec![
        record("shop", "Web", &["10.208.1.2", "10.208.1.3"]),
        record("shop", "web-1", &["10.208.1.2"]),
        record("shop", "web-2", &["10.208.1.3"]),
        record("shop", "db", &["10.208.2.2"]),
        record("shop", "idle", &[]),
        record("shop", "a.b", &["10.208.1.4"]),
        record("blog", "web", &["10.208.3.2"]),
    ];
    config
}

fn record(project: &str, name: &str, ips: &[&str]) -> DnsRecord {
    let value = |text: &&str| {
        let ip: Ipv4Addr = text.parse().unwrap();
        let network_id = format!("net_{}", ip.octets()[2]).parse().unwrap();
        DnsValue { ip: ip.into(), network_id, host_id: None }
    };
    DnsRecord {
        project_id: format!("prj_{project}").parse().unwrap(),
        name: name.to_owned(),
        kind: Kind::A,
        values: ips.iter().map(value).collect(),
        policy: Default::default(),
    }
}

fn question(name: &str, kind: RecordType) -> Message {
    let mut message = Message::query();
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(Name::from_ascii(name).unwrap(), kind));
    message
}

fn send(asker: &str, message: &Message, transport: Transport) -> Option<Message> {
    let zone = Zone::new(&config());
    match answer(&zone, asker.parse().unwrap(), &message.to_vec().unwrap(), transport) {
        Reply::Answer(bytes, _) => Some(Message::from_vec(&bytes).unwrap()),
        Reply::Ask | Reply::Ignore => None,
    }
}

/// An answer in one line: code, then data in order, then `SOA` for an empty one. `ask`: others are asked.
fn check(asker: &str, name: &str, kind: RecordType) -> String {
    let Some(answer) = send(asker, &question(name, kind), Transport::Udp) else { return "ask".to_owned() };
    assert!(answer.answers.iter().chain(&answer.authorities).all(|record| record.ttl == 2));
    assert_eq!(answer.metadata.authoritative, answer.metadata.response_code != ResponseCode::Refused);
    assert!(answer.metadata.recursion_available && answer.metadata.recursion_desired);
    let mut data: Vec<_> = answer.answers.iter().map(|record| record.data.to_string()).collect();
    data.sort();
    data.extend(answer.authorities.iter().map(|record| record.record_type().to_string()));
    format!("{} {}", u16::from(answer.metadata.response_code), data.join(" ")).trim().to_owned()
}

const MEMBER: &str = "10.208.1.7";

#[test]
fn a_service_is_found_by_its_short_and_its_full_name() {
    for name in ["web", "web.", "WEB", "web.shop.internal.", "Web.Shop.INTERNAL"] {
        assert_eq!(check(MEMBER, name, RecordType::A), "0 10.208.1.2 10.208.1.3", "{name}");
    }
    assert_eq!(check(MEMBER, "web-2.shop.internal", RecordType::A), "0 10.208.1.3");
    assert_eq!(check(MEMBER, "a.b", RecordType::A), "0 10.208.1.4");
}

#[test]
fn the_project_is_told_by_the_asking_address() {
    assert_eq!(check("10.208.3.7", "web", RecordType::A), "0 10.208.3.2");
    assert_eq!(check("10.208.3.7", "web.shop.internal", RecordType::A), "3 SOA");
    assert_eq!(check(MEMBER, "web.blog.internal", RecordType::A), "3 SOA");
    for stranger in ["10.208.9.7", "192.168.1.1", "::1"] {
        assert_eq!(check(stranger, "web", RecordType::A), "5", "{stranger}");
    }
}

#[test]
fn addresses_are_those_of_the_networks_that_the_asker_stands_in() {
    assert_eq!(check(MEMBER, "db", RecordType::A), "3 SOA");
    assert_eq!(check("10.208.2.7", "db", RecordType::A), "0 10.208.2.2");
    assert_eq!(check("10.208.1.9", "db", RecordType::A), "0 10.208.2.2", "it stands in both");
    assert_eq!(check("10.208.1.9", "web", RecordType::A), "0 10.208.1.2 10.208.1.3");
}

#[test]
fn an_existing_name_without_the_kind_is_an_empty_answer() {
    for kind in [RecordType::AAAA, RecordType::TXT, RecordType::MX, RecordType::SRV, RecordType::CNAME] {
        assert_eq!(check(MEMBER, "web", kind), "0 SOA", "{kind}");
        assert_eq!(check(MEMBER, "web.shop.internal", kind), "0 SOA", "{kind}");
    }
    for name in ["idle", "shop.internal", "internal", "b.shop.internal"] {
        assert_eq!(check(MEMBER, name, RecordType::A), "0 SOA", "{name}");
    }
    assert_eq!(check(MEMBER, "web", RecordType::ANY), "0 10.208.1.2 10.208.1.3");
}

#[test]
fn an_unknown_name_of_ours_is_no_name_and_is_never_asked_elsewhere() {
    for name in [
        "nope",
        "nope.shop.internal",
        "example.com.shop.internal",
        "x.internal",
        "web.shop.internal.shop.internal",
    ] {
        for kind in [RecordType::A, RecordType::AAAA] {
            assert_eq!(check(MEMBER, name, kind), "3 SOA", "{name}");
        }
    }
}

#[test]
fn names_of_the_world_are_asked_elsewhere() {
    for name in ["example.com", "web.shop", "internal.example.com", "notinternal.net", "."] {
        assert_eq!(check(MEMBER, name, RecordType::A), "ask", "{name}");
    }
    assert_eq!(check(MEMBER, "com", RecordType::DS), "ask");
}

#[test]
fn addresses_of_ours_have_names_and_unknown_ones_are_not_asked_elsewhere() {
    assert_eq!(check(MEMBER, "2.1.208.10.in-addr.arpa", RecordType::PTR), "0 web-1.shop.internal.");
    assert_eq!(check(MEMBER, "77.1.208.10.in-addr.arpa", RecordType::PTR), "3 SOA");
    assert_eq!(check(MEMBER, "2.2.208.10.in-addr.arpa", RecordType::PTR), "3 SOA", "not its network");
    assert_eq!(check(MEMBER, "2.3.208.10.in-addr.arpa", RecordType::PTR), "3 SOA", "not its project");
    assert_eq!(check(MEMBER, "1.1.1.1.in-addr.arpa", RecordType::PTR), "ask");
    let v6 = format!("{}ip6.arpa", "0.".repeat(32));
    assert_eq!(check(MEMBER, &v6, RecordType::PTR), "ask");
}

#[test]
fn the_order_of_addresses_changes() {
    let mut firsts = std::collections::HashSet::new();
    for _ in 0..64 {
        let answer = send(MEMBER, &question("web", RecordType::A), Transport::Udp).unwrap();
        firsts.insert(answer.answers[0].data.to_string());
    }
    assert_eq!(firsts.len(), 2);
}

#[test]
fn a_long_answer_is_cut_over_udp_and_whole_over_tcp() {
    let ips: Vec<_> = (2..102).map(|last| format!("10.208.1.{last}")).collect();
    let ips: Vec<_> = ips.iter().map(String::as_str).collect();
    let mut config = config();
    config.dns.records = vec![record("shop", "many", &ips)];
    let zone = Zone::new(&config);
    let ask = |message: &Message, transport| {
        let bytes = message.to_vec().unwrap();
        let Reply::Answer(bytes, _) = answer(&zone, MEMBER.parse().unwrap(), &bytes, transport) else {
            panic!()
        };
        (bytes.len(), Message::from_vec(&bytes).unwrap())
    };
    let plain = question("many", RecordType::A);
    let (length, cut) = ask(&plain, Transport::Udp);
    assert!(length <= 512 && cut.metadata.truncation);
    assert!(cut.answers.len() > 20, "what fits is there: {}", cut.answers.len());
    let (_, whole) = ask(&plain, Transport::Tcp);
    assert!(!whole.metadata.truncation && whole.answers.len() == 100);
    let mut wide = plain;
    let mut edns = Edns::new();
    edns.set_max_payload(4096);
    wide.set_edns(edns);
    let (length, cut) = ask(&wide, Transport::Udp);
    assert!((1000..=1232).contains(&length) && cut.metadata.truncation && cut.edns.is_some(), "{length}");
}

#[test]
fn what_is_wrong_is_said_and_what_is_no_question_is_not_answered() {
    let code = |change: &dyn Fn(&mut Message)| {
        let mut message = question("web", RecordType::A);
        change(&mut message);
        send(MEMBER, &message, Transport::Udp).map(|answer| answer.metadata.response_code)
    };
    assert_eq!(code(&|message| message.metadata.op_code = OpCode::Update), Some(ResponseCode::NotImp));
    assert_eq!(code(&|message| message.queries.clear()), Some(ResponseCode::FormErr));
    assert_eq!(
        code(&|message| message.queries.push(message.queries[0].clone())),
        Some(ResponseCode::FormErr)
    );
    assert_eq!(code(&|message| message.metadata.message_type = MessageType::Response), None);
    let chaos = |message: &mut Message| {
        message.queries[0].set_query_class(DNSClass::CH);
    };
    assert_eq!(code(&chaos), Some(ResponseCode::Refused));
    let transfer = |message: &mut Message| {
        message.queries[0].set_query_type(RecordType::AXFR);
    };
    assert_eq!(code(&transfer), Some(ResponseCode::Refused));

    let zone = Zone::new(&config());
    let of = |bytes: &[u8]| answer(&zone, MEMBER.parse().unwrap(), bytes, Transport::Udp);
    assert_eq!(of(b"short"), Reply::Ignore);
    let mut broken = question("web", RecordType::A).to_vec().unwrap();
    broken.truncate(14);
    let Reply::Answer(bytes, Verdict::Refused) = of(&broken) else { panic!("no answer") };
    assert_eq!(bytes[..2], broken[..2]);
    assert_eq!(bytes[3] & 0x0F, 1, "FORMERR");
}

proptest! {
    #[test]
    fn no_packet_breaks_it(packet in proptest::collection::vec(any::<u8>(), 0..600), tcp in any::<bool>()) {
        let zone = Zone::new(&config());
        let transport = if tcp { Transport::Tcp } else { Transport::Udp };
        if let Reply::Answer(bytes, _) = answer(&zone, MEMBER.parse().unwrap(), &packet, transport) {
            prop_assert!(bytes.len() <= 1232 || tcp);
            prop_assert_eq!(&bytes[..2], &packet[..2]);
        }
        let _ = failure(&packet);
    }

    #[test]
    fn no_question_breaks_it(flips in proptest::collection::vec((0_usize..40, any::<u8>()), 0..6)) {
        let zone = Zone::new(&config());
        let mut packet = question("web.shop.internal", RecordType::A).to_vec().unwrap();
        for (at, byte) in flips {
            if let Some(place) = packet.get_mut(at) {
                *place = byte;
            }
        }
        let _ = answer(&zone, MEMBER.parse().unwrap(), &packet, Transport::Udp);
    }
}
