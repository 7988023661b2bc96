//! The crate as a library: mounted in a foreign router, over any byte stream, behind TLS.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use opamp_proto::wire::{AgentToServer, Message, ServerErrorResponseType, ServerToAgent};
use opamp_server::{Agent, Direction, Peer, Server, Settings};
use testkit::raw::Connection;
use testkit::soon;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::runtime::{Handle, Id};
use tokio::sync::oneshot;

use crate::application::{Noting, World, bare, full, uid};

#[tokio::test]
async fn s32_the_service_is_mounted_in_a_router_of_another_application() {
    let server = Server::new(Noting(Arc::default()), Settings::default());
    let router = axum::Router::new()
        .route("/other", axum::routing::get(|| async { "hello" }))
        .route_service("/agents/here", server.service());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let mut connection = Connection::to(address).await;
    let body = full(1, 0).encode_to_vec();
    let headers = [("content-type", "application/x-protobuf")];
    let response = connection.request("POST /agents/here", &headers, &body).await;
    assert_eq!((response.status, response.message().error_response), (200, None), "model_8");
    let mut connection = Connection::to(address).await;
    assert_eq!(connection.upgrade("/agents/here", &[]).await.status, 101);
    assert_eq!(connection.ask(&full(2, 0)).await.error_response, None);
    assert_eq!(server.agents().len(), 2);
}

#[tokio::test]
async fn any_byte_stream_carries_a_connection() {
    let world = World::new().await;
    let (ours, theirs) = tokio::io::duplex(4096);
    let server = world.server.clone();
    tokio::spawn(async move { server.serve_stream(theirs, Peer::default()).await });
    let mut connection = Connection::over(ours);
    assert_eq!(connection.upgrade("/v1/opamp", &[]).await.status, 101);
    assert_eq!(connection.ask(&full(1, 0)).await.error_response, None);
}

#[tokio::test]
async fn an_application_can_look_on_at_every_message_of_an_agent() {
    let world = World::new().await;
    let mut websocket = Connection::websocket(world.address, &[]).await;
    let mut plain = Connection::to(world.address).await;
    let answered = [websocket.ask(&full(1, 0)).await, websocket.ask(&bare(1, 1)).await];
    let polled = plain.exchange(&[], &full(2, 0)).await.message();
    let passed = world.application.passed.lock().unwrap().clone();
    let sent = |message: AgentToServer| (Direction::FromAgent, message.encode_to_vec());
    let got = |message: &ServerToAgent| (Direction::ToAgent, message.encode_to_vec());
    let of = |number: u8| {
        let mine = passed.iter().filter(|(agent, ..)| *agent == uid(number));
        mine.map(|(_, direction, bytes)| (*direction, bytes.clone())).collect::<Vec<_>>()
    };
    assert_eq!(of(1), [sent(full(1, 0)), got(&answered[0]), sent(bare(1, 1)), got(&answered[1])]);
    assert_eq!(of(2), [sent(full(2, 0)), got(&polled)]);
}

#[tokio::test]
async fn an_application_sees_also_what_was_refused() {
    let world = World::new().await;
    let mut websocket = Connection::websocket(world.address, &[]).await;
    websocket.ask(&full(1, 0)).await;
    let mut broken = bare(1, 1).encode_to_vec();
    // Field 5, health, of two bytes that are no message.
    broken.extend([0x2a, 2, 0xff, 0xff]);
    websocket.send(2, &[&[0], &broken[..]].concat()).await;
    let answer = websocket.next().await.unwrap().message();
    let error = answer.error_response.clone().unwrap();
    assert_eq!(error.r#type, ServerErrorResponseType::BadRequest as i32);
    let passed = world.application.passed.lock().unwrap().clone();
    let expected =
        [(uid(1), Direction::FromAgent, broken), (uid(1), Direction::ToAgent, answer.encode_to_vec())];
    assert_eq!(passed[2..], expected);
}

/// Serves on a thread of its own until the sender is dropped; where, and on which runtime.
fn on_a_thread(server: Server<Noting>) -> (SocketAddr, Id, oneshot::Sender<()>) {
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    let address = socket.local_addr().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let id = runtime.handle().id();
    let (stop, stopped) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        runtime.block_on(async {
            let listener = TcpListener::from_std(socket).unwrap();
            server.serve(listener, None, async { drop(stopped.await) }).await
        })
    });
    (address, id, stop)
}

#[tokio::test]
async fn agents_are_visited_where_they_are_served_and_pollers_by_the_caller() {
    let world = World::new().await;
    let (there, id, _stop) = on_a_thread(world.server.clone());
    let mut here = Connection::websocket(world.address, &[]).await;
    here.ask(&full(1, 0)).await;
    let mut elsewhere = Connection::websocket(there, &[]).await;
    elsewhere.ask(&full(2, 0)).await;
    Connection::to(there).await.exchange(&[], &full(3, 0)).await;
    let mut agents = Vec::new();
    world.server.agents().for_each(|agent| agents.push(agent.clone()));
    let visited = Arc::new(Mutex::new(BTreeMap::new()));
    let noting = visited.clone();
    let note = move |agent: &Arc<Agent<Noting>>| {
        noting.lock().unwrap().insert(agent.instance_uid(), Handle::current().id().to_string());
    };
    world.server.visit(agents, note).await;
    let (own, other) = (Handle::current().id().to_string(), id.to_string());
    let expected = [(uid(1), own.clone()), (uid(2), other), (uid(3), own)];
    assert_eq!(*visited.lock().unwrap(), BTreeMap::from(expected));
}

/// A server with TLS, and what its clients need.
async fn with_tls(settings: Settings) -> (SocketAddr, Arc<rustls::ClientConfig>) {
    let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let chain = vec![key.cert.der().clone()];
    let private = rustls::pki_types::PrivateKeyDer::try_from(key.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let ours = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.clone(), private)
        .unwrap();
    let ours = Arc::new(ours);
    let server = Server::new(Noting(Arc::default()), settings);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        server.serve(listener, Some(Arc::new(move || ours.clone())), std::future::pending()).await
    });

    let mut roots = rustls::RootCertStore::empty();
    roots.add(chain[0].clone()).unwrap();
    let theirs = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    (address, Arc::new(theirs))
}

#[tokio::test]
async fn estab_1_tls_carries_both_transports() {
    let (address, theirs) = with_tls(Settings::default()).await;
    let connector = tokio_rustls::TlsConnector::from(theirs);
    let connect = async || {
        let tcp = tokio::net::TcpStream::connect(address).await.unwrap();
        Connection::over(connector.connect("localhost".try_into().unwrap(), tcp).await.unwrap())
    };
    assert_eq!(connect().await.exchange(&[], &full(1, 0)).await.status, 200);
    let mut connection = connect().await;
    assert_eq!(connection.upgrade("/v1/opamp", &[]).await.status, 101, "estab_2");
    assert_eq!(connection.ask(&full(2, 0)).await.error_response, None);
}

#[tokio::test]
async fn peers_that_fall_silent_in_the_tls_handshake_keep_nobody_out() {
    let (address, theirs) = with_tls(Settings { max_handshakes: 1, ..Settings::default() }).await;
    let mut client = rustls::ClientConnection::new(theirs.clone(), "localhost".try_into().unwrap()).unwrap();
    let mut hello = Vec::new();
    client.write_tls(&mut hello).unwrap();
    let mut silent = Vec::new();
    for sent in [&hello[..0], &hello[..40], &hello] {
        let mut tcp = tokio::net::TcpStream::connect(address).await.unwrap();
        tcp.write_all(sent).await.unwrap();
        silent.push(tcp);
    }
    let mut answer = [0];
    soon("the server's hello", silent[2].read_exact(&mut answer)).await.unwrap();
    let tcp = tokio::net::TcpStream::connect(address).await.unwrap();
    let connector = tokio_rustls::TlsConnector::from(theirs);
    let tls = soon("a handshake", connector.connect("localhost".try_into().unwrap(), tcp)).await.unwrap();
    assert_eq!(Connection::over(tls).exchange(&[], &full(1, 0)).await.status, 200);
}
