//! Ports over real sockets on loopback; the kernel chooses every port.

use host_proto::desired::{RouteKind, Upstream};
use testkit::until_async;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::time::timeout;

use super::*;

const SOON: Duration = Duration::from_secs(5);

/// A replica that says its name to who connects, then what it was sent, when all was sent.
async fn replica(name: &'static str) -> (SocketAddr, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut task = JoinSet::new();
    task.spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                stream.write_all(name.as_bytes()).await.unwrap();
                let mut all = Vec::new();
                if stream.read_to_end(&mut all).await.is_ok() {
                    let _ = stream.write_all(&all).await;
                }
            });
        }
    });
    (address, task)
}

fn route(kind: RouteKind, listen: &str, upstreams: &[SocketAddr]) -> Route {
    let listen: SocketAddr = listen.parse().unwrap();
    let upstream = |address: &SocketAddr| Upstream {
        replica_id: "rep_1".parse().unwrap(),
        ip: address.ip(),
        port: address.port(),
    };
    Route {
        id: format!("rte_{}", listen.ip().to_string().replace('.', "-")).parse().unwrap(),
        kind,
        listen_ip: Some(listen.ip()),
        listen_port: Some(listen.port()),
        hosts: Vec::new(),
        upstreams: upstreams.iter().map(upstream).collect(),
    }
}

fn config(routes: Vec<Route>) -> Config {
    Config { routes, ..Config::empty("10.208.0.0/12".parse().unwrap()) }
}

fn listening(results: Vec<PortResult>) -> SocketAddr {
    results.into_iter().next().unwrap().listening.unwrap()
}

async fn name_of(address: SocketAddr) -> io::Result<(TcpStream, String)> {
    let mut stream = TcpStream::connect(address).await?;
    let mut name = [0; 1];
    timeout(SOON, stream.read_exact(&mut name)).await??;
    Ok((stream, String::from_utf8_lossy(&name).into_owned()))
}

#[tokio::test]
async fn connections_take_turns_and_a_replica_that_is_down_costs_none() {
    let ((a, _a), (b, b_task)) = (replica("a").await, replica("b").await);
    let mut ports = Ports::new(4096);
    let address = listening(ports.set(&config(vec![route(RouteKind::Tcp, "127.0.0.1:0", &[a, b])])).await);
    let mut names = Vec::new();
    for _ in 0..4 {
        names.push(name_of(address).await.unwrap().1);
    }
    assert_eq!(names.concat(), "abab");
    drop(b_task);
    for _ in 0..6 {
        assert_eq!(name_of(address).await.unwrap().1, "a");
    }
    let counters = ports.counters();
    let carried = counters.values().next().unwrap();
    assert_eq!((carried.accepted, carried.failed, carried.bytes_out), (10, 0, 10));
}

#[tokio::test]
async fn one_side_may_say_its_last_word_and_still_hear_the_other() {
    let (a, _task) = replica("a").await;
    let mut ports = Ports::new(4096);
    let address = listening(ports.set(&config(vec![route(RouteKind::Tcp, "127.0.0.1:0", &[a])])).await);
    let (stream, _) = name_of(address).await.unwrap();
    // More than all buffers on the way hold, so that both directions have to wait for each other.
    let sent: Vec<u8> = (0..16_000_000_u32).map(|n| (n % 251) as u8).collect();
    let (mut read, mut write) = stream.into_split();
    let copy = sent.clone();
    let writer = tokio::spawn(async move {
        write.write_all(&copy).await.unwrap();
        write.shutdown().await.unwrap();
    });
    let mut got = Vec::new();
    timeout(Duration::from_secs(30), read.read_to_end(&mut got)).await.unwrap().unwrap();
    writer.await.unwrap();
    assert!(got == sent, "{} of {} bytes came back", got.len(), sent.len());
    timeout(SOON, ports.lives.none_left()).await.unwrap();
}

#[tokio::test]
async fn other_upstreams_do_not_touch_connections_that_go_on() {
    let ((a, _a), (b, _b)) = (replica("a").await, replica("b").await);
    let mut ports = Ports::new(4096);
    let address = listening(ports.set(&config(vec![route(RouteKind::Tcp, "127.0.0.1:0", &[a])])).await);
    let (mut old, name) = name_of(address).await.unwrap();
    assert_eq!(name, "a");
    assert_eq!(
        listening(ports.set(&config(vec![route(RouteKind::Tcp, "127.0.0.1:0", &[b])])).await),
        address
    );
    assert_eq!(name_of(address).await.unwrap().1, "b");
    // The route goes altogether; the address of both is that of one replica that is still known.
    let elsewhere = config(vec![route(RouteKind::Tcp, "127.0.0.3:0", &[b])]);
    ports.set(&elsewhere).await;
    assert!(TcpStream::connect(address).await.is_err(), "the port is closed");
    old.write_all(b"still here").await.unwrap();
    old.shutdown().await.unwrap();
    let mut rest = String::new();
    timeout(SOON, old.read_to_string(&mut rest)).await.unwrap().unwrap();
    assert_eq!(rest, "still here");
}

#[tokio::test]
async fn connections_to_a_replica_that_is_gone_end_after_a_while() {
    let (a, _task) = replica("a").await;
    let mut ports = Ports { lives: Lives::new(Duration::from_millis(100)), ..Ports::new(4096) };
    let address = listening(ports.set(&config(vec![route(RouteKind::Tcp, "127.0.0.1:0", &[a])])).await);
    let (mut stream, _) = name_of(address).await.unwrap();
    let begun = std::time::Instant::now();
    ports.set(&config(vec![route(RouteKind::Tcp, "127.0.0.1:0", &[])])).await;
    let ended = timeout(SOON, stream.read_u8()).await.unwrap();
    assert!(ended.is_err() && begun.elapsed() >= Duration::from_millis(100), "{ended:?}");

    // One that comes back in time goes on.
    ports.set(&config(vec![route(RouteKind::Tcp, "127.0.0.1:0", &[a])])).await;
    let (mut stream, _) = name_of(address).await.unwrap();
    ports.set(&config(vec![route(RouteKind::Tcp, "127.0.0.1:0", &[])])).await;
    ports.set(&config(vec![route(RouteKind::Tcp, "127.0.0.1:0", &[a])])).await;
    assert!(timeout(Duration::from_millis(300), stream.read_u8()).await.is_err());
}

#[tokio::test]
async fn a_port_without_replicas_is_held_and_resets() {
    let mut ports = Ports::new(4096);
    let address = listening(ports.set(&config(vec![route(RouteKind::Tcp, "127.0.0.1:0", &[])])).await);
    let error = name_of(address).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    assert!(TcpListener::bind(address).await.is_err());
}

#[tokio::test]
async fn a_taken_port_is_an_error_of_its_own_and_is_had_when_it_is_free() {
    let (a, _task) = replica("a").await;
    let foreign = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let taken = foreign.local_addr().unwrap();
    let mut ports = Ports::new(4096);
    let routes = vec![
        route(RouteKind::Tcp, &taken.to_string(), &[a]),
        route(RouteKind::Tcp, "127.0.0.2:0", &[a]),
        route(RouteKind::Tcp, "127.0.0.2:0", &[a]),
    ];
    let results = ports.set(&config(routes.clone())).await;
    assert_eq!(results[0].name, format!("port {taken}/tcp"));
    assert_eq!(results[0].listening.as_ref().unwrap_err().kind(), io::ErrorKind::AddrInUse);
    assert!(results[1].listening.is_ok());
    let error = results[2].listening.as_ref().unwrap_err();
    assert_eq!(
        (error.kind(), &*error.to_string()),
        (io::ErrorKind::AddrInUse, "another service has it on this host already")
    );
    drop(foreign);
    assert_eq!(listening(ports.set(&config(routes)).await), taken);
    assert_eq!(name_of(taken).await.unwrap().1, "a");
}

#[tokio::test]
async fn without_an_address_a_port_is_open_on_both_families() {
    let (a, _task) = replica("a").await;
    let mut ports = Ports::new(4096);
    let mut open = route(RouteKind::Tcp, "127.0.0.1:0", &[a]);
    open.listen_ip = None;
    let results = ports.set(&config(vec![open])).await;
    assert_eq!(results[0].name, "port 0/tcp");
    let port = listening(results).port();
    assert_eq!(name_of(SocketAddr::from(([127, 0, 0, 1], port))).await.unwrap().1, "a");
    if std::net::UdpSocket::bind("[::1]:0").is_ok() {
        assert_eq!(name_of(SocketAddr::from((Ipv6Addr::LOCALHOST, port))).await.unwrap().1, "a");
    }
}

/// A replica that answers packets with its name before what it got.
async fn udp_replica(name: &'static str) -> (SocketAddr, JoinSet<()>) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let mut task = JoinSet::new();
    task.spawn(async move {
        let mut buffer = [0; 2048];
        loop {
            let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
            let answer = [name.as_bytes(), &buffer[..length]].concat();
            socket.send_to(&answer, from).await.unwrap();
        }
    });
    (address, task)
}

async fn exchange(client: &UdpSocket, text: &str) -> Option<String> {
    let mut buffer = [0; 2048];
    client.send(text.as_bytes()).await.ok()?;
    let length = timeout(Duration::from_millis(500), client.recv(&mut buffer)).await.ok()?.ok()?;
    Some(String::from_utf8_lossy(&buffer[..length]).into_owned())
}

async fn client_of(address: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.connect(address).await.unwrap();
    socket
}

#[tokio::test]
async fn packets_of_a_client_go_to_one_replica_until_it_is_down() {
    let ((a, a_task), (b, _b)) = (udp_replica("a").await, udp_replica("b").await);
    let mut ports = Ports::new(4096);
    let routes = config(vec![route(RouteKind::Udp, "127.0.0.1:0", &[a, b])]);
    let address = listening(ports.set(&routes).await);
    let (one, two) = (client_of(address).await, client_of(address).await);
    for _ in 0..3 {
        assert_eq!(exchange(&one, "1").await.as_deref(), Some("a1"));
        assert_eq!(exchange(&two, "2").await.as_deref(), Some("b2"));
    }
    drop(a_task);
    // The kernel says that nobody listens only after a packet was sent: one or two are lost, as on any network.
    let mut answers = Vec::new();
    for _ in 0..5 {
        answers.extend(exchange(&one, "1").await);
    }
    assert!(answers.len() >= 3 && answers.iter().all(|answer| answer == "b1"), "{answers:?}");
}

#[tokio::test]
async fn a_replica_that_left_a_route_gets_no_more_packets_and_a_closed_port_is_free() {
    let ((a, _a), (b, _b)) = (udp_replica("a").await, udp_replica("b").await);
    let mut ports = Ports::new(4096);
    let address = listening(ports.set(&config(vec![route(RouteKind::Udp, "127.0.0.1:0", &[a])])).await);
    let client = client_of(address).await;
    assert_eq!(exchange(&client, "x").await.as_deref(), Some("ax"));
    ports.set(&config(vec![route(RouteKind::Udp, "127.0.0.1:0", &[b])])).await;
    assert_eq!(exchange(&client, "x").await.as_deref(), Some("bx"));
    ports.set(&config(vec![])).await;
    let free = async || UdpSocket::bind(address).await.is_ok();
    until_async("the port is free while the client's session goes on", free).await;
}

#[tokio::test]
async fn an_answer_comes_from_the_address_that_was_asked() {
    let (a, _task) = udp_replica("a").await;
    let mut ports = Ports::new(4096);
    let mut open = route(RouteKind::Udp, "127.0.0.1:0", &[a]);
    open.listen_ip = None;
    let port = listening(ports.set(&config(vec![open])).await).port();
    // A connected socket takes answers from the address that it asked only.
    for asked in ["127.0.0.1", "127.0.0.77", "127.9.9.9"] {
        let client = client_of(SocketAddr::new(asked.parse().unwrap(), port)).await;
        assert_eq!(exchange(&client, "x").await.as_deref(), Some("ax"), "{asked}");
    }
}

/// Two routes of one port that lead to the same, for every address and for one.
fn on_all_and_one(kind: RouteKind, port: u16, upstream: SocketAddr) -> [Route; 2] {
    let narrow = route(kind, &format!("127.0.0.1:{port}"), &[upstream]);
    [Route { id: "rte_wide".parse().unwrap(), listen_ip: None, ..narrow.clone() }, narrow]
}

/// A port that was free on all addresses a moment ago.
fn free_port() -> u16 {
    std::net::TcpListener::bind("[::]:0").unwrap().local_addr().unwrap().port()
}

async fn all_listen(ports: &mut Ports, routes: &[Route]) {
    for result in ports.set(&config(routes.to_vec())).await {
        assert!(result.listening.is_ok(), "{result:?}");
    }
}

#[tokio::test]
async fn a_port_goes_from_every_address_to_one_and_back_while_both_are_wanted_in_between() {
    let (a, _a) = replica("a").await;
    let port = free_port();
    let [wide, narrow] = on_all_and_one(RouteKind::Tcp, port, a);
    let zero = Route {
        listen_ip: Some(Ipv4Addr::UNSPECIFIED.into()),
        id: "rte_zero".parse().unwrap(),
        ..wide.clone()
    };
    let at = |last| SocketAddr::from(([127, 0, 0, last], port));
    let mut ports = Ports::new(4096);
    for (routes, open) in [
        (vec![wide.clone()], [true, true]),
        (vec![wide.clone(), narrow.clone()], [true, true]),
        (vec![narrow.clone()], [true, false]),
        (vec![narrow.clone(), wide.clone()], [true, true]),
        (vec![zero.clone(), wide.clone()], [true, true]),
        (vec![narrow.clone(), zero.clone()], [true, true]),
        (vec![narrow.clone()], [true, false]),
    ] {
        all_listen(&mut ports, &routes).await;
        let answers = [name_of(at(1)).await.is_ok(), name_of(at(2)).await.is_ok()];
        assert_eq!(answers, open, "{routes:?}");
    }
    // A connection that goes on is not touched by any of it.
    let (mut stream, _) = name_of(at(1)).await.unwrap();
    all_listen(&mut ports, &[wide.clone(), narrow.clone()]).await;
    all_listen(&mut ports, &[wide]).await;
    stream.write_all(b"x").await.unwrap();
    stream.shutdown().await.unwrap();
    let mut rest = String::new();
    timeout(SOON, stream.read_to_string(&mut rest)).await.unwrap().unwrap();
    assert_eq!(rest, "x");
}

#[tokio::test]
async fn a_port_on_an_address_that_the_host_does_not_have_is_told_while_the_wider_one_serves() {
    let (a, _a) = replica("a").await;
    let port = free_port();
    let [wide, narrow] = on_all_and_one(RouteKind::Tcp, port, a);
    let elsewhere = Route { listen_ip: Some([192, 0, 2, 77].into()), ..narrow };
    let mut ports = Ports::new(4096);
    let results = ports.set(&config(vec![wide, elsewhere])).await;
    assert!(results[0].listening.is_ok(), "{results:?}");
    let error = results[1].listening.as_ref().unwrap_err();
    assert_eq!(error.to_string(), "the host does not have this address");
    assert!(name_of(SocketAddr::from(([127, 0, 0, 1], port))).await.is_ok());
}

#[tokio::test]
async fn a_port_of_one_address_stays_open_when_another_program_keeps_it_from_becoming_wider() {
    let (a, _a) = replica("a").await;
    let foreign = TcpListener::bind("127.0.0.2:0").await.unwrap();
    let port = foreign.local_addr().unwrap().port();
    let [wide, narrow] = on_all_and_one(RouteKind::Tcp, port, a);
    let mut ports = Ports::new(4096);
    all_listen(&mut ports, std::slice::from_ref(&narrow)).await;
    for _ in 0..2 {
        let results = ports.set(&config(vec![narrow.clone(), wide.clone()])).await;
        assert!(results[0].listening.is_ok(), "{results:?}");
        assert_eq!(results[1].listening.as_ref().unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert!(name_of(SocketAddr::from(([127, 0, 0, 1], port))).await.is_ok());
    }
}

#[tokio::test]
async fn two_routes_of_one_port_that_lead_to_different_replicas_are_not_taken_for_one() {
    let ((a, _a), (b, _b)) = (replica("a").await, replica("b").await);
    let port = free_port();
    let [wide, _] = on_all_and_one(RouteKind::Tcp, port, a);
    let [_, narrow] = on_all_and_one(RouteKind::Tcp, port, b);
    let mut ports = Ports::new(4096);
    let results = ports.set(&config(vec![wide, narrow])).await;
    assert!(results[0].listening.is_ok(), "{results:?}");
    assert_eq!(results[1].listening.as_ref().unwrap_err().kind(), io::ErrorKind::AddrInUse);
}

#[tokio::test]
async fn packets_are_answered_while_a_port_goes_from_every_address_to_one() {
    let (a, _a) = udp_replica("a").await;
    let port = free_port();
    let [wide, narrow] = on_all_and_one(RouteKind::Udp, port, a);
    let mut ports = Ports::new(4096);
    for routes in
        [vec![wide.clone()], vec![wide.clone(), narrow.clone()], vec![narrow.clone()], vec![narrow, wide]]
    {
        all_listen(&mut ports, &routes).await;
        let client = client_of(SocketAddr::from(([127, 0, 0, 1], port))).await;
        assert_eq!(exchange(&client, "x").await.as_deref(), Some("ax"), "{routes:?}");
    }
}
