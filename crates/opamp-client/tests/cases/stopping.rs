//! Stopping: in good order where the server goes along, bounded where it does not.

use std::time::{Duration, Instant};

use opamp_client::{Event, Timing};
use testkit::{FakeServer, opcode, soon};

use crate::support::*;

#[tokio::test]
async fn close_1_close_2_close_3_the_last_message_is_agent_disconnect_and_the_close_frame_follows() {
    let server = FakeServer::plain().await;
    let (client, mut events) = builder(server.url("ws")).start().await.unwrap();
    let mut peer = server.accept().await;
    peer.upgrade().await;
    acknowledge(&mut peer).await;
    connected(&mut events).await;
    let stopped = tokio::spawn(async move { client.stop().await });
    assert!(peer.message().await.agent_disconnect.is_some());
    let close = peer.frame().await;
    assert_eq!((close.opcode, close.close_code()), (opcode::CLOSE, Some(1000)));
    peer.send_close(1000, "").await;
    soon("the stop", stopped).await.unwrap();
    assert!(matches!(events.next().await, Some(Event::Disconnected { retry_in: None, .. })));
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn c4_a_stop_ends_although_the_server_never_answers_the_close() {
    let server = FakeServer::plain().await;
    let timing = Timing { close: Duration::from_millis(50), ..quick() };
    let (client, mut events) = builder(server.url("ws")).timing(timing).start().await.unwrap();
    let mut peer = server.accept().await;
    peer.upgrade().await;
    acknowledge(&mut peer).await;
    connected(&mut events).await;
    let begun = Instant::now();
    soon("the stop", client.stop()).await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    // Nothing of the client is left: its side of the connection is closed after what it had to say.
    assert!(peer.message().await.agent_disconnect.is_some());
    assert_eq!(peer.frame().await.opcode, opcode::CLOSE);
    assert!(peer.ends().await);
}

#[tokio::test]
async fn c4_a_stop_can_be_called_while_an_event_is_handled_and_more_than_once() {
    let server = FakeServer::plain().await;
    let timing = Timing { close: Duration::from_millis(50), ..quick() };
    let (client, mut events) = builder(server.url("ws")).timing(timing).start().await.unwrap();
    let mut peer = server.accept().await;
    peer.upgrade().await;
    acknowledge(&mut peer).await;
    let handled = soon("the end of the events", async {
        let mut count = 0;
        while let Some(event) = events.next().await {
            if matches!(event, Event::Connected { .. }) {
                client.stop().await;
                client.stop().await;
            }
            count += 1;
        }
        count
    });
    assert_eq!(handled.await, 2);
}

#[tokio::test]
async fn c4_a_stop_does_not_wait_for_a_server_that_is_not_there() {
    for scheme in ["ws", "http"] {
        let server = FakeServer::plain().await;
        let url = server.url(scheme);
        drop(server);
        let timing = Timing {
            backoff_first: Duration::from_secs(60),
            backoff_max: Duration::from_secs(60),
            ..quick()
        };
        let (client, mut events) = builder(url).timing(timing).start().await.unwrap();
        disconnected(&mut events).await;
        soon("the stop", client.stop()).await;
    }
}

#[tokio::test]
async fn close_6_over_http_the_last_request_is_agent_disconnect() {
    let server = FakeServer::plain().await;
    let (client, mut events) = builder(server.url("http")).start().await.unwrap();
    let mut peer = server.accept().await;
    acknowledge_request(&mut peer).await;
    connected(&mut events).await;
    let stopped = tokio::spawn(async move { client.stop().await });
    assert!(acknowledge_request(&mut peer).await.message().agent_disconnect.is_some());
    soon("the stop", stopped).await.unwrap();
}

#[tokio::test]
async fn a_client_whose_handle_is_dropped_says_goodbye_too() {
    let server = FakeServer::plain().await;
    let (client, _events) = builder(server.url("ws")).start().await.unwrap();
    let mut peer = server.accept().await;
    peer.upgrade().await;
    acknowledge(&mut peer).await;
    drop(client);
    assert!(peer.message().await.agent_disconnect.is_some());
}

#[tokio::test]
async fn a_client_whose_events_are_not_wanted_goes_on() {
    let server = FakeServer::plain().await;
    let (client, events) = builder(server.url("ws")).start().await.unwrap();
    drop(events);
    let mut peer = server.accept().await;
    peer.upgrade().await;
    acknowledge(&mut peer).await;
    client.set_health(health("fine"));
    assert_eq!(peer.message().await.health.unwrap().status, "fine");
}
