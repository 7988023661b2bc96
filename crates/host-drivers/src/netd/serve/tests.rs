//! netd as the agent sees it: over its socket.

use std::net::{IpAddr, SocketAddr};

use host_proto::desired::{Route, RouteKind, Upstream};
use tempfile::TempDir;
use testkit::until_async;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::*;
use crate::netd::Client;

const SOON: Duration = Duration::from_secs(10);

struct Running {
    folder: TempDir,
    client: Client,
    end: oneshot::Sender<()>,
    task: JoinHandle<Result<(), NetdError>>,
}

fn config(routes: Vec<Route>) -> Config {
    Config { routes, ..Config::empty("10.208.0.0/12".parse().unwrap()) }
}

fn route(listen: SocketAddr, upstream: SocketAddr) -> Route {
    let ip: IpAddr = upstream.ip();
    Route {
        id: "rte_1".parse().unwrap(),
        kind: RouteKind::Tcp,
        listen_ip: Some(listen.ip()),
        listen_port: Some(listen.port()),
        hosts: Vec::new(),
        upstreams: vec![Upstream { replica_id: "rep_1".parse().unwrap(), ip, port: upstream.port() }],
    }
}

async fn start(config: Config) -> Running {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("netd.sock");
    // A file that an earlier one left behind is no hindrance.
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    let (end, ended) = oneshot::channel::<()>();
    let options = Options { dns_port: 0, drain: Duration::from_secs(20), ..Options::new(&socket, config) };
    let task = tokio::spawn(serve(options, async {
        let _ = ended.await;
    }));
    let client = Client::new(&socket);
    until_async("it is up", async || client.status().await.is_ok()).await;
    Running { folder, client, end, task }
}

#[tokio::test]
async fn it_serves_what_it_was_started_with_and_then_what_it_is_told() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = upstream.local_addr().unwrap();
    let running = start(config(vec![route("127.0.0.31:0".parse().unwrap(), at)])).await;
    let status = running.client.status().await.unwrap();
    assert_eq!(status.pid, process::id());
    let first = status.items[0].address.unwrap();
    assert!(TcpStream::connect(first).await.is_ok());

    let items = running.client.set(&config(vec![route("127.0.0.32:0".parse().unwrap(), at)])).await.unwrap();
    assert_eq!((items[0].section, items[0].id.as_str(), &items[0].error), (Section::Routes, "rte_1", &None));
    assert!(TcpStream::connect(items[0].address.unwrap()).await.is_ok());
    assert!(TcpStream::connect(first).await.is_err());
}

#[tokio::test]
async fn a_taken_port_is_told_and_tried_again_without_being_asked() {
    let foreign = TcpListener::bind("127.0.0.33:0").await.unwrap();
    let taken = foreign.local_addr().unwrap();
    let running = start(config(vec![route(taken, taken)])).await;
    let status = running.client.status().await.unwrap();
    assert_eq!(status.items[0].error.as_deref(), Some("address already in use"));
    drop(foreign);
    let free = async || running.client.status().await.unwrap().items[0].error.is_none();
    until_async("the port is opened", free).await;
}

#[tokio::test]
async fn there_is_one_netd_and_its_socket_is_for_its_user_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let running = start(config(vec![])).await;
    let socket = running.folder.path().join("netd.sock");
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let second = serve(Options::new(&socket, config(vec![])), std::future::pending()).await;
    assert!(matches!(second, Err(NetdError::Socket { .. })));
    assert!(running.client.status().await.is_ok(), "the first goes on");
}

#[tokio::test]
async fn what_is_no_request_is_answered_with_an_error() {
    let running = start(config(vec![])).await;
    let mut stream = UnixStream::connect(running.folder.path().join("netd.sock")).await.unwrap();
    stream.write_all(b"{\"format\": \"disk\"}\n").await.unwrap();
    let mut answer = String::new();
    timeout(SOON, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.starts_with("{\"error\":"), "{answer}");
}

#[tokio::test]
async fn told_to_end_it_closes_its_ports_and_lets_connections_end() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = upstream.local_addr().unwrap();
    let running = start(config(vec![route("127.0.0.34:0".parse().unwrap(), at)])).await;
    let address = running.client.status().await.unwrap().items[0].address.unwrap();
    let mut client = TcpStream::connect(address).await.unwrap();
    let (mut replica, _) = upstream.accept().await.unwrap();
    running.end.send(()).unwrap();
    until_async("the port is closed", async || TcpStream::connect(address).await.is_err()).await;
    assert!(!running.task.is_finished(), "it waits for what goes on");
    replica.write_all(b"x").await.unwrap();
    assert_eq!(client.read_u8().await.unwrap(), b'x');
    drop((client, replica));
    timeout(SOON, running.task).await.unwrap().unwrap().unwrap();
    assert!(running.client.status().await.is_err());
}
