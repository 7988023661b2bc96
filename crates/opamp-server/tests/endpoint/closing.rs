//! How connections end, from either side.

use std::sync::Arc;
use std::time::Duration;

use opamp_proto::server::{ConfigOffer, OfferState};
use opamp_proto::wire::{AgentConfigFile, AgentConfigMap};
use opamp_server::{CloseReason, Disconnect, Server, Settings};
use testkit::raw::Connection;
use testkit::until;
use tokio::net::TcpListener;

use crate::application::{Heard, Noting, World, bare, full, uid};

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

#[tokio::test]
async fn the_application_ends_one_agents_session_and_leaves_its_connection_alone() {
    let world = World::new().await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    for number in [1, 2, 3] {
        connection.ask(&full(number, 0)).await;
    }
    for number in [1, 3] {
        let agent = world.server.agents().get(uid(number)).expect("live");
        world.server.end(&agent, CloseReason::Policy);
        world.server.end(&agent, CloseReason::Policy);
        let ended = Heard::Disconnected(uid(number), Disconnect::Server(CloseReason::Policy));
        assert_eq!(world.heard().iter().filter(|heard| **heard == ended).count(), 1, "once");
        // Nothing is sent to it any more.
        agent.offer_config(Some(offer()));
    }
    assert_eq!(connection.ask(&bare(2, 1)).await.remote_config, None);
    assert_eq!(world.server.agents().len(), 1);
    let back = connection.ask(&bare(1, 1)).await;
    assert_eq!(
        (back.instance_uid, back.flags),
        (uid(1).to_bytes(), 1),
        "admitted anew, and asked for everything"
    );
    assert_eq!(world.heard().iter().filter(|heard| **heard == Heard::Admitted(uid(1))).count(), 2);
    assert_eq!(world.server.agents().len(), 2);
}

#[tokio::test]
async fn the_application_ends_the_session_of_a_poller() {
    let world = World::new().await;
    let mut connection = Connection::to(world.address).await;
    connection.exchange(&[], &full(1, 0)).await;
    let agent = world.server.agents().get(uid(1)).expect("live");
    world.server.end(&agent, CloseReason::Policy);
    world.until_heard(Heard::Disconnected(uid(1), Disconnect::Server(CloseReason::Policy))).await;
    assert!(world.server.agents().is_empty());
    connection.exchange(&[], &full(1, 1)).await;
    assert!(world.server.agents().get(uid(1)).is_some(), "it is let in anew");
}

fn offer() -> Arc<ConfigOffer> {
    let file = AgentConfigFile { body: "a: 1".into(), ..Default::default() };
    ConfigOffer::new(AgentConfigMap { config_map: [(String::new(), file)].into() })
}

#[tokio::test]
async fn how_often_an_offer_was_made_is_known_when_the_agent_comes_back() {
    let world = World::new().await;
    for times in 1..=3 {
        let mut connection = Connection::websocket(world.address, &[]).await;
        connection.ask(&full(1, 0)).await;
        let agent = world.server.agents().get(uid(1)).expect("live");
        agent.offer_config(Some(offer()));
        assert!(connection.next().await.expect("an offer").message().remote_config.is_some());
        let state = agent.read(|session| session.offered().expect("an offer").1);
        assert!(matches!(state, OfferState::Sent { times: sent, .. } if sent == times), "{times}: {state:?}");
        drop(connection);
        until("the session to end", || world.server.agents().is_empty()).await;
    }
}
