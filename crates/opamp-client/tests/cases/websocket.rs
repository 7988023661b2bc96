//! The WebSocket transport on the wire.

use std::time::Duration;

use opamp_client::Timing;
use opamp_client::proto::limits::MessageLimit;
use testkit::{FakeServer, opcode};

use crate::support::*;

#[tokio::test]
async fn ws_1_ws_8_the_handshake_and_the_frames_are_those_of_an_opamp_client() {
    let server = FakeServer::plain().await;
    let (_client, _events) = builder(server.url("ws")).bearer_token("t1").start().await.unwrap();
    let mut peer = server.accept().await;
    let handshake = peer.upgrade().await;
    assert_eq!(handshake.line, "GET /v1/opamp HTTP/1.1");
    assert_eq!(handshake.header("authorization"), Some("Bearer t1"));
    assert_eq!(handshake.header("host"), Some(server.address().to_string().as_str()));
    assert_eq!(handshake.header("sec-websocket-extensions"), None, "no compression is offered");
    assert_eq!(handshake.header("content-type"), None, "HTTP-16");
    let frame = peer.frame().await;
    assert_eq!((frame.opcode, frame.last, frame.masked, frame.payload[0]), (opcode::BINARY, true, true, 0));
}

#[tokio::test]
async fn c2_after_a_reconnect_the_full_state_follows_when_the_server_asks() {
    let server = FakeServer::plain().await;
    let (_client, mut events) = builder(server.url("ws")).start().await.unwrap();
    let mut peer = server.accept().await;
    peer.upgrade().await;
    assert!(is_full(&acknowledge(&mut peer).await));
    connected(&mut events).await;
    drop(peer);

    let mut peer = server.accept().await;
    peer.upgrade().await;
    let first = peer.message().await;
    assert!(!is_full(&first));
    peer.push(&full_state_for(&first)).await;
    let second = peer.message().await;
    assert!(is_full(&second));
    assert_eq!((first.sequence_num, second.sequence_num), (1, 2));
}

#[tokio::test]
async fn c13_a_text_frame_is_answered_with_close_1003_and_a_new_connection_follows() {
    let server = FakeServer::plain().await;
    let (_client, mut events) = builder(server.url("ws")).start().await.unwrap();
    let mut peer = server.accept().await;
    peer.upgrade().await;
    let message = acknowledge(&mut peer).await;
    connected(&mut events).await;
    peer.send_frame(opcode::TEXT, &encoded(&answer_to(&message))).await;
    let close = peer.frame().await;
    assert_eq!((close.opcode, close.close_code()), (opcode::CLOSE, Some(1003)));
    peer.send_close(1003, "").await;
    let (reason, _) = disconnected(&mut events).await;
    assert!(reason.contains("text message"), "{reason}");
    server.accept().await.upgrade().await;
}

#[tokio::test]
async fn c22_a_peer_that_falls_silent_without_a_word_is_noticed() {
    let server = FakeServer::plain().await;
    let quick_pings = builder(server.url("ws")).keep_alive(Duration::from_millis(50));
    let (_client, mut events) = quick_pings.start().await.unwrap();
    let mut silent = server.accept().await;
    silent.upgrade().await;
    acknowledge(&mut silent).await;
    connected(&mut events).await;
    let (reason, _) = disconnected(&mut events).await;
    assert!(reason.contains("silent"), "{reason}");
    // The old connection is still open on our side, and the client has a new one.
    server.accept().await.upgrade().await;
    assert_eq!(silent.frame().await.opcode, opcode::PING);
}

#[tokio::test]
async fn c22_a_peer_that_answers_pings_stays_connected() {
    let server = FakeServer::plain().await;
    let quick_pings = builder(server.url("ws")).keep_alive(Duration::from_millis(200));
    let (_client, _events) = quick_pings.start().await.unwrap();
    let mut peer = server.accept().await;
    peer.upgrade().await;
    acknowledge(&mut peer).await;
    for _ in 0..4 {
        let ping = peer.frame().await;
        assert_eq!(ping.opcode, opcode::PING);
        peer.send_frame(opcode::PONG, &ping.payload).await;
    }
    assert!(!server.has_waiting().await);
}

#[tokio::test]
async fn the_servers_ping_is_answered_while_it_waits_for_the_first_answer() {
    let server = FakeServer::plain().await;
    let (_client, _events) = builder(server.url("ws")).start().await.unwrap();
    let mut peer = server.accept().await;
    peer.upgrade().await;
    peer.message().await;
    peer.send_frame(opcode::PING, b"are you there").await;
    let pong = peer.frame().await;
    assert_eq!((pong.opcode, pong.payload), (opcode::PONG, b"are you there".to_vec()));
}

#[tokio::test]
async fn c26_c27_a_message_over_the_limit_is_refused_with_close_1009() {
    let server = FakeServer::plain().await;
    let limited = builder(server.url("ws")).max_message(MessageLimit::try_new(1000).unwrap());
    let (_client, mut events) = limited.start().await.unwrap();
    let mut peer = server.accept().await;
    peer.upgrade().await;
    acknowledge(&mut peer).await;
    connected(&mut events).await;
    peer.send_frame(opcode::BINARY, &[0; 1000]).await;
    peer.send_frame(opcode::BINARY, &[0; 1001]).await;
    let close = peer.frame().await;
    assert_eq!((close.opcode, close.close_code()), (opcode::CLOSE, Some(1009)));
    let (reason, _) = disconnected(&mut events).await;
    assert!(reason.contains("more than 1000 bytes"), "{reason}");
}

#[tokio::test]
async fn c30_an_oversized_push_while_messages_go_out_leaves_every_frame_whole() {
    let server = FakeServer::plain().await;
    let limited = builder(server.url("ws")).max_message(MessageLimit::try_new(1000).unwrap());
    let (client, _events) = limited.start().await.unwrap();
    let mut peer = server.accept().await;
    peer.upgrade().await;
    acknowledge(&mut peer).await;
    let flood = tokio::spawn(async move {
        for round in 0..200 {
            client.set_health(health(&format!("round {round} {}", "x".repeat(3000))));
            tokio::task::yield_now().await;
        }
        client
    });
    assert_eq!(peer.message().await.sequence_num, 1);
    peer.send_frame(opcode::BINARY, &[0; 5000]).await;
    let last = loop {
        let frame = peer.frame().await;
        if frame.opcode != opcode::BINARY {
            break frame;
        }
        assert_eq!(frame.payload[0], 0);
    };
    assert_eq!((last.opcode, last.close_code()), (opcode::CLOSE, Some(1009)));
    drop(flood.await.unwrap());
}

#[tokio::test]
async fn c21_a_handshake_without_an_answer_ends_and_is_tried_again() {
    let server = FakeServer::plain().await;
    let timing = Timing { connect: Duration::from_millis(100), ..quick() };
    let (_client, mut events) = builder(server.url("ws")).timing(timing).start().await.unwrap();
    let mut hung = server.accept().await;
    hung.request().await;
    let (reason, _) = disconnected(&mut events).await;
    assert!(reason.contains("no connection came about"), "{reason}");
    assert!(hung.ends().await);
    server.accept().await.request().await;
}

#[tokio::test]
async fn a_handshake_with_a_wrong_answer_is_no_connection() {
    let server = FakeServer::plain().await;
    let (_client, mut events) = builder(server.url("ws")).start().await.unwrap();
    let mut peer = server.accept().await;
    peer.request().await;
    let wrong = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: AAAA\r\n\r\n";
    peer.write(wrong.as_bytes()).await;
    let (reason, _) = disconnected(&mut events).await;
    assert!(reason.contains("does not complete the WebSocket handshake"), "{reason}");
}

#[tokio::test]
async fn dup_1_throttle_2_unavailable_ends_with_goodbye_close_and_only_then_a_new_connection() {
    let server = FakeServer::plain().await;
    let (_client, mut events) = builder(server.url("ws")).start().await.unwrap();
    let mut peer = server.accept().await;
    peer.upgrade().await;
    let first = acknowledge(&mut peer).await;
    connected(&mut events).await;
    let uid = first.instance_uid.clone();
    peer.push(&opamp_client::proto::wire::ServerToAgent::unavailable(uid, "busy", 1)).await;
    assert!(peer.message().await.agent_disconnect.is_some());
    let close = peer.frame().await;
    assert_eq!((close.opcode, close.close_code()), (opcode::CLOSE, Some(1000)));
    assert!(!server.has_waiting().await);
    peer.send_close(1000, "").await;
    assert!(peer.ends().await);
    server.accept().await.upgrade().await;
}

#[tokio::test]
async fn the_servers_close_is_answered_and_its_reason_is_told() {
    let server = FakeServer::plain().await;
    let (_client, mut events) = builder(server.url("ws")).start().await.unwrap();
    let mut peer = server.accept().await;
    peer.upgrade().await;
    acknowledge(&mut peer).await;
    connected(&mut events).await;
    peer.send_close(1001, "restarting").await;
    assert_eq!(peer.frame().await.opcode, opcode::CLOSE);
    assert!(peer.ends().await);
    let (reason, _) = disconnected(&mut events).await;
    assert_eq!(reason, "the server closed the connection with code 1001: restarting");
}
