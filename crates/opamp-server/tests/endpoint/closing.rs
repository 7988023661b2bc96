//! How connections end, from either side.

use std::time::Duration;

use opamp_server::{CloseReason, Disconnect, Server, Settings};
use testkit::raw::{Connection, until};
use tokio::net::TcpListener;

use crate::application::{Heard, Noting, World, full, uid};

#[tokio::test]
async fn s33_and_close_4_shutdown_closes_each_websocket_with_1001() {
    let world = World::new().await;
    let mut first = Connection::websocket(world.address, &[]).await;
    let mut second = Connection::websocket(world.address, &[]).await;
    first.ask(&full(1, 0)).await;
    let server = world.server.clone();
    let closing = tokio::spawn(async move { server.close(Duration::from_secs(10)).await });
    for connection in [&mut first, &mut second] {
        let frame = connection.next().await.expect("a close frame");
        assert_eq!(frame.close_code(), Some(1001));
        connection.send(8, &frame.payload).await;
        assert_eq!(connection.next().await, None, "and then the end of the stream");
    }
    closing.await.expect("the server closed");
    assert_eq!(
        world.heard().last(),
        Some(&Heard::Disconnected(uid(1), Disconnect::Server(CloseReason::GoingAway)))
    );
}

#[tokio::test]
async fn s28_a_normal_close_is_answered_and_is_no_fault() {
    let world = World::new().await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    connection.ask(&full(1, 0)).await;
    connection.send(8, &1000u16.to_be_bytes()).await;
    assert_eq!(connection.next().await.and_then(|frame| frame.close_code()), Some(1000));
    world.until_heard(Heard::Disconnected(uid(1), Disconnect::Closed)).await;
}

#[tokio::test]
async fn a_connection_that_is_reset_ends_the_session_at_once() {
    let world = World::new().await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    connection.ask(&full(1, 0)).await;
    // A reset and not an orderly end: unread bytes and no lingering.
    connection.stream.set_zero_linger().expect("linger");
    drop(connection);
    world.until_heard(Heard::Disconnected(uid(1), Disconnect::Broken)).await;
    assert!(world.server.agents().is_empty());
}

#[tokio::test]
async fn s27_a_write_that_the_peer_does_not_take_ends_the_connection() {
    let settings = Settings { write_timeout: Duration::from_millis(300), ..Settings::default() };
    let world = World::with(settings).await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    connection.ask(&full(1, 0)).await;
    let agent = world.server.agents().get(uid(1)).expect("a live agent");
    let body = "x".repeat(15 << 20);
    let file = opamp_proto::wire::AgentConfigFile { body: body.into(), ..Default::default() };
    let map = opamp_proto::wire::AgentConfigMap { config_map: [(String::new(), file)].into() };
    agent.offer_config(Some(opamp_proto::server::ConfigOffer::new(map)));
    world.until_heard(Heard::Disconnected(uid(1), Disconnect::Broken)).await;
    drop(connection);
}

#[tokio::test]
async fn s26_a_port_can_be_used_again_at_once() {
    let mut address = "127.0.0.1:0".parse::<std::net::SocketAddr>().unwrap();
    for round in 0..50 {
        let listener = TcpListener::bind(address).await.unwrap_or_else(|e| panic!("round {round}: {e}"));
        address = listener.local_addr().unwrap();
        let server = Server::new(Noting(Default::default()), Settings::default());
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let serving = server.clone();
        let task =
            tokio::spawn(async move { serving.serve(listener, None, async { drop(stopped.await) }).await });
        let mut connection = Connection::websocket(address, &[]).await;
        connection.ask(&full(1, 0)).await;
        stop.send(()).unwrap();
        task.await.unwrap().unwrap();
        let closing = tokio::spawn(async move { server.close(Duration::from_secs(10)).await });
        let frame = connection.next().await.expect("a close frame");
        connection.send(8, &frame.payload).await;
        closing.await.unwrap();
    }
}

#[tokio::test]
async fn revoke_2_the_application_can_close_an_agents_connection() {
    let world = World::new().await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    connection.ask(&full(1, 0)).await;
    world.server.agents().get(uid(1)).expect("live").close(CloseReason::Policy);
    assert_eq!(connection.next().await.and_then(|frame| frame.close_code()), Some(1008));
    until("the session to end", || world.server.agents().is_empty()).await;
}
