//! The name server over real sockets: gateways of 127/8, ports that the kernel chooses.

use std::path::Path;

use hickory_proto::op::{Message, Query, ResponseCode};
use hickory_proto::rr::{Name, RecordType};
use host_proto::desired::{DnsRecord, DnsValue, RecordType as Kind};
use tempfile::TempDir;

use super::*;
use crate::netd::Network;

const GATEWAY: Ipv4Addr = Ipv4Addr::new(127, 208, 1, 1);
const MEMBER: &str = "127.208.1.7:0";

fn config() -> Config {
    let mut config = Config::empty("127.208.0.0/16".parse().unwrap());
    config.networks.push(Network {
        id: "net_1".parse().unwrap(),
        project_id: "prj_1".parse().unwrap(),
        project: "shop".to_owned(),
        subnet: "127.208.1.0/24".parse().unwrap(),
        gateway: GATEWAY,
        names: true,
    });
    let value = DnsValue { ip: [127, 208, 1, 2].into(), network_id: "net_1".parse().unwrap(), host_id: None };
    config.dns.records.push(DnsRecord {
        project_id: "prj_1".parse().unwrap(),
        name: "web".to_owned(),
        kind: Kind::A,
        values: vec![value],
        policy: Default::default(),
    });
    config
}

struct World {
    folder: TempDir,
    server: Server,
    at: SocketAddr,
}

/// A server whose host asks these servers, all on one port.
async fn world(servers: &str, port: u16) -> World {
    let folder = tempfile::tempdir().unwrap();
    write_servers(folder.path(), servers);
    let files =
        ResolverFiles { etc: folder.path().join("resolv.conf"), resolved: folder.path().join("none"), port };
    let mut server = Server::new(&config(), 0, files);
    let at = *server.set(&config()).await[0].1.as_ref().unwrap();
    World { folder, server, at }
}

fn write_servers(folder: &Path, servers: &str) {
    let lines: String = servers.split_whitespace().map(|server| format!("nameserver {server}\n")).collect();
    std::fs::write(folder.join("resolv.conf"), lines).unwrap();
}

fn question(name: &str) -> Vec<u8> {
    let mut message = Message::query();
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(Name::from_ascii(name).unwrap(), RecordType::A));
    message.to_vec().unwrap()
}

fn summary(question: &[u8], answer: &[u8]) -> String {
    assert_eq!(question[..2], answer[..2], "the number of the question");
    let answer = Message::from_vec(answer).unwrap();
    let data: Vec<_> = answer.answers.iter().map(|record| record.data.to_string()).collect();
    format!("{} {}", u16::from(answer.metadata.response_code), data.join(" ")).trim().to_owned()
}

async fn over_udp(at: SocketAddr, name: &str) -> io::Result<String> {
    let socket = UdpSocket::bind(MEMBER).await?;
    socket.connect(at).await?;
    let question = question(name);
    socket.send(&question).await?;
    let mut buffer = [0; 4096];
    let length = timeout(Duration::from_secs(8), socket.recv(&mut buffer)).await??;
    Ok(summary(&question, &buffer[..length]))
}

async fn over_tcp(at: SocketAddr, names: &[&str]) -> Vec<String> {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(MEMBER.parse().unwrap()).unwrap();
    let mut stream = socket.connect(at).await.unwrap();
    let mut answers = Vec::new();
    for name in names {
        let question = question(name);
        stream.write_u16(question.len().try_into().unwrap()).await.unwrap();
        stream.write_all(&question).await.unwrap();
        let mut answer = vec![0; usize::from(stream.read_u16().await.unwrap())];
        stream.read_exact(&mut answer).await.unwrap();
        answers.push(summary(&question, &answer));
    }
    answers
}

/// A server of the world that knows one address for every name.
async fn elsewhere(ip: &str, port: u16, code: ResponseCode) -> u16 {
    let udp = UdpSocket::bind((ip, port)).await.unwrap();
    let port = udp.local_addr().unwrap().port();
    let tcp = TcpListener::bind((ip, port)).await.unwrap();
    let reply = move |bytes: &[u8]| {
        let mut message = Message::from_vec(bytes).unwrap().into_response();
        message.metadata.response_code = code;
        if code == ResponseCode::NoError {
            let name = message.queries[0].name().clone();
            let data = hickory_proto::rr::RData::A(hickory_proto::rr::rdata::A(Ipv4Addr::new(192, 0, 2, 9)));
            message.add_answer(hickory_proto::rr::Record::from_rdata(name, 60, data));
        }
        message.to_vec().unwrap()
    };
    tokio::spawn(async move {
        let mut buffer = [0; 4096];
        loop {
            let (length, from) = udp.recv_from(&mut buffer).await.unwrap();
            // A forger is faster, has another address to offer, and does not know the number.
            let mut forged = reply(&buffer[..length]);
            forged[0] ^= 0xFF;
            *forged.last_mut().unwrap() ^= 0xFF;
            udp.send_to(&forged, from).await.unwrap();
            udp.send_to(&reply(&buffer[..length]), from).await.unwrap();
        }
    });
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = tcp.accept().await.unwrap();
            let mut bytes = vec![0; usize::from(stream.read_u16().await.unwrap())];
            stream.read_exact(&mut bytes).await.unwrap();
            let answer = reply(&bytes);
            stream.write_u16(answer.len().try_into().unwrap()).await.unwrap();
            stream.write_all(&answer).await.unwrap();
        }
    });
    port
}

#[tokio::test]
async fn names_are_answered_over_udp_and_tcp_on_the_gateway() {
    let world = world("", 53).await;
    assert_eq!(world.at.ip(), IpAddr::from(GATEWAY));
    assert_eq!(over_udp(world.at, "web").await.unwrap(), "0 127.208.1.2");
    assert_eq!(
        over_tcp(world.at, &["web", "nope", "web.shop.internal"]).await,
        ["0 127.208.1.2", "3", "0 127.208.1.2"]
    );
    let DnsCounters { found, no_name, .. } = world.server.counters();
    assert_eq!((found, no_name), (3, 1));
}

#[tokio::test]
async fn names_of_the_world_are_asked_of_the_hosts_servers() {
    let port = elsewhere("127.0.0.21", 0, ResponseCode::NoError).await;
    elsewhere("127.0.0.22", port, ResponseCode::ServFail).await;
    // The first has its port closed, the second has trouble, the third is ourselves.
    let world = world(&format!("127.0.0.20 127.0.0.22 {GATEWAY} 127.0.0.21"), port).await;
    assert_eq!(over_udp(world.at, "example.com").await.unwrap(), "0 192.0.2.9");
    assert_eq!(over_tcp(world.at, &["example.com"]).await, ["0 192.0.2.9"]);
    assert_eq!(world.server.counters().asked, 2);
}

#[tokio::test]
async fn without_a_server_that_answers_it_is_a_failure_and_not_silence() {
    let world = world("", 53).await;
    assert_eq!(over_udp(world.at, "example.com").await.unwrap(), "2");
    assert_eq!(world.server.counters().failed, 1);
    // A server comes, and is used within a second or so.
    let port = elsewhere("127.0.0.23", 0, ResponseCode::NoError).await;
    let mut config = config();
    config.dns.upstreams = vec![SocketAddr::from(([127, 0, 0, 23], port))];
    let mut world = world;
    world.server.set(&config).await;
    assert_eq!(over_udp(world.at, "example.com").await.unwrap(), "0 192.0.2.9");
    assert!(world.folder.path().exists());
}

#[tokio::test]
async fn trouble_of_the_only_server_is_passed_on() {
    let port = elsewhere("127.0.0.24", 0, ResponseCode::Refused).await;
    let world = world("127.0.0.24", port).await;
    assert_eq!(over_udp(world.at, "example.com").await.unwrap(), "5");
}

#[tokio::test]
async fn other_names_are_served_at_once_and_a_gateway_that_is_gone_is_a_closed_port() {
    let mut world = world("", 53).await;
    let mut other = config();
    other.dns.records[0].name = "api".to_owned();
    world.server.set(&other).await;
    assert_eq!(over_udp(world.at, "web").await.unwrap(), "3");
    assert_eq!(over_udp(world.at, "api").await.unwrap(), "0 127.208.1.2");
    other.networks[0].names = false;
    assert!(world.server.set(&other).await.is_empty());
    let closed = async {
        while over_udp(world.at, "api").await.err().map(|error| error.kind())
            != Some(io::ErrorKind::ConnectionRefused)
        {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(5), closed).await.unwrap();
}

#[tokio::test]
async fn a_gateway_whose_port_is_taken_is_an_error_and_is_had_when_it_is_free() {
    let foreign = UdpSocket::bind("127.208.1.1:0").await.unwrap();
    let port = foreign.local_addr().unwrap().port();
    let mut server = Server::new(&config(), port, ResolverFiles::default());
    let results = server.set(&config()).await;
    assert_eq!(results[0].1.as_ref().unwrap_err().kind(), io::ErrorKind::AddrInUse);
    drop(foreign);
    assert!(server.set(&config()).await[0].1.is_ok());
}

#[tokio::test]
async fn rubbish_is_survived() {
    let world = world("", 53).await;
    let socket = UdpSocket::bind(MEMBER).await.unwrap();
    for length in [0, 1, 11, 12, 13, 511, 4096, 4097, 60_000] {
        socket.send_to(&vec![0; length], world.at).await.unwrap();
    }
    let mut stream = TcpStream::connect(world.at).await.unwrap();
    stream.write_all(&[0, 3, 1, 2, 3]).await.unwrap();
    assert_eq!(stream.read(&mut [0; 8]).await.unwrap(), 0, "what is no question ends the connection");
    assert_eq!(over_udp(world.at, "web").await.unwrap(), "0 127.208.1.2");
}
