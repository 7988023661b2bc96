//! Bounds: how many agents may be known, how long a message may be.

use opamp_proto::wire::Message;
use testkit::raw::Connection;

use crate::world::{World, full, heartbeat, settings};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s37_beyond_the_cap_new_agents_are_unavailable_and_known_ones_are_served() {
    let dir = tempfile::tempdir().unwrap();
    let raw = control_plane::RawConfig { max_agents: 3, ..settings(dir.path()) };
    let world = World::with(raw).await;
    let mut sockets = Vec::new();
    for number in 1..=3 {
        let mut socket = world.websocket().await;
        assert!(socket.ask(&full(number)).await.error_response.is_none());
        sockets.push(socket);
    }
    let mut fourth = world.websocket().await;
    let error = fourth.ask(&full(4)).await.error_response.expect("an error");
    assert_eq!(error.r#type, 2, "{error:?}");
    assert!(error.details.is_some(), "retry_info is missing");
    // Known agents go on, and may come back.
    assert!(sockets[0].ask(&heartbeat(1, 1)).await.error_response.is_none());
    drop(sockets);
    let mut back = world.websocket().await;
    assert!(back.ask(&full(2)).await.error_response.is_none());
    assert_eq!(world.admin().await.agents(&Default::default()).await.unwrap().total, 3);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s34_a_message_over_max_message_is_refused_with_413() {
    let dir = tempfile::tempdir().unwrap();
    let raw = control_plane::RawConfig { max_message: "2KiB".to_owned(), ..settings(dir.path()) };
    let world = World::with(raw).await;
    let mut message = full(1);
    message.health.as_mut().unwrap().status = "x".repeat(4096);
    let mut http = Connection::to(world.opamp).await;
    let answer = http.post(&[("authorization", &world.bearer())], &message.encode_to_vec()).await;
    assert_eq!(answer.status, 413);
    world.stop().await;
}
