//! Nothing from the network is without a limit, and each limit ends in a clear error.

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use opamp_proto::limits::MessageLimit;
use opamp_proto::wire::{AgentToServer, Message};
use opamp_server::{Disconnect, Settings};
use testkit::raw::{Connection, frame};
use testkit::until;
use tokio::io::AsyncWriteExt;

use crate::application::{Heard, World, bare, full, uid};

const LIMIT: usize = 100_000;

fn small() -> Settings {
    Settings { max_message: MessageLimit::try_new(LIMIT).unwrap(), ..Settings::default() }
}

/// A report of exactly this many bytes.
fn padded(bytes: usize, sequence_num: u64) -> AgentToServer {
    let mut report = full(1, sequence_num);
    let health = report.health.get_or_insert_default();
    health.status = "s".repeat(bytes - 200);
    while report.encoded_len() < bytes {
        report.health.get_or_insert_default().status.push('s');
    }
    assert_eq!(report.encoded_len(), bytes);
    report
}

fn zeros(bytes: usize) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Compression::best());
    let chunk = vec![0; 1 << 20];
    for _ in 0..bytes >> 20 {
        encoder.write_all(&chunk).unwrap();
    }
    encoder.finish().unwrap()
}

#[tokio::test]
async fn s34_a_body_over_the_limit_is_413_and_one_at_the_limit_is_not() {
    let world = World::with(small()).await;
    let mut connection = Connection::to(world.address).await;
    assert_eq!(connection.exchange(&[], &padded(LIMIT, 0)).await.status, 200);
    assert_eq!(Connection::to(world.address).await.exchange(&[], &padded(LIMIT + 1, 1)).await.status, 413);
    let chunked = b"POST /v1/opamp HTTP/1.1\r\nhost: t\r\ncontent-type: application/x-protobuf\r\n\
                    transfer-encoding: chunked\r\n\r\n";
    let mut connection = Connection::to(world.address).await;
    connection.write(chunked).await;
    let chunk = [b"4000\r\n".to_vec(), vec![0; 0x4000], b"\r\n".to_vec()].concat();
    for _ in 0..8 {
        connection.write(&chunk).await;
    }
    assert_eq!(connection.response().await.status, 413, "without a Content-Length too");
}

#[tokio::test]
async fn s34_a_gzip_bomb_is_413_measured_after_inflation() {
    let world = World::new().await;
    let bomb = zeros(100 << 20);
    assert!(bomb.len() < 200_000);
    let mut connection = Connection::to(world.address).await;
    let response = connection.post(&[("content-encoding", "gzip")], &bomb).await;
    assert_eq!(response.status, 413);
    assert!(response.text().contains("16777216 bytes"), "{}", response.text());
    assert_eq!(connection.exchange(&[], &full(1, 0)).await.status, 200, "the connection goes on");
}

#[tokio::test]
async fn s34_a_websocket_message_over_the_limit_closes_with_1009() {
    let world = World::with(small()).await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    // The limit counts the whole payload; its header is one byte of it.
    assert_eq!(connection.ask(&padded(LIMIT - 1, 0)).await.error_response, None);
    let big = opamp_proto::frame::encode(&padded(LIMIT, 1));
    let _ = connection.stream.write_all(&frame(0x82, &big)).await;
    assert_eq!(connection.next().await.and_then(|frame| frame.close_code()), Some(1009));
    world
        .until_heard(Heard::Disconnected(uid(1), Disconnect::Server(opamp_server::CloseReason::TooBig)))
        .await;
}

#[tokio::test]
async fn s34_a_message_of_many_fragments_has_the_same_limit() {
    let world = World::with(small()).await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    let _ = connection.stream.write_all(&frame(2, &vec![0; 60_000])).await;
    let _ = connection.stream.write_all(&frame(0, &vec![0; 60_000])).await;
    assert_eq!(connection.next().await.and_then(|frame| frame.close_code()), Some(1009));
}

#[tokio::test]
async fn half_sent_messages_share_one_budget_of_memory() {
    let settings = Settings { max_in_flight: 1 << 20, ..Settings::default() };
    let world = World::with(settings).await;
    let mut steady = Connection::websocket(world.address, &[]).await;
    steady.ask(&full(1, 0)).await;
    // Each sends 400 kB of a message of 1 MB and waits: the third does not fit.
    let part = &frame(0x82, &vec![0; 1_000_000])[..400_000];
    let mut open = Vec::new();
    for _ in 0..6 {
        let mut connection = Connection::websocket(world.address, &[]).await;
        let _ = connection.stream.write_all(part).await;
        open.push(connection);
    }
    let mut dropped = 0;
    for connection in &mut open {
        let quiet = connection.is_quiet_for(Duration::from_millis(300)).await;
        dropped += usize::from(!quiet);
    }
    assert!((3..6).contains(&dropped), "{dropped} of 6 were dropped");
    assert_eq!(steady.ask(&bare(1, 1)).await.error_response, None, "nobody else is disturbed");
    drop(open);
    until("the budget to be free again", || world.server.agents().len() == 1).await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    assert_eq!(connection.ask(&padded_for(2, 500_000)).await.error_response, None);
}

#[tokio::test]
async fn pings_between_fragments_do_not_hide_a_half_sent_message_from_the_budget() {
    let world = World::with(Settings { max_in_flight: 1 << 20, ..Settings::default() }).await;
    let mut open = Vec::new();
    for _ in 0..6 {
        let mut connection = Connection::websocket(world.address, &[]).await;
        let _ = connection.stream.write_all(&frame(2, &vec![0; 50_000])).await;
        for _ in 0..7 {
            let _ = connection.stream.write_all(&frame(0x89, b"p")).await;
            let _ = connection.stream.write_all(&frame(0, &vec![0; 50_000])).await;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        open.push(connection);
    }
    let mut dropped = 0;
    for connection in &mut open {
        // What is not dropped has pongs and nothing else to say.
        let ended = async { while connection.next().await.is_some() {} };
        dropped += usize::from(tokio::time::timeout(Duration::from_millis(300), ended).await.is_ok());
    }
    assert!((3..6).contains(&dropped), "{dropped} of 6 were dropped");
}

fn padded_for(number: u8, bytes: usize) -> AgentToServer {
    AgentToServer { instance_uid: uid(number).to_bytes(), ..padded(bytes, 0) }
}

#[tokio::test]
async fn a_connection_carries_only_so_many_agents() {
    let world = World::with(Settings { max_agents_per_connection: 2, ..Settings::default() }).await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    assert_eq!(connection.ask(&full(1, 0)).await.error_response, None);
    assert_eq!(connection.ask(&full(2, 0)).await.error_response, None);
    let error = connection.ask(&full(3, 0)).await.error_response.expect("a limit");
    assert!(error.error_message.contains("at most 2 agents"), "{}", error.error_message);
    assert_eq!(connection.ask(&bare(1, 1)).await.error_response, None);
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed() {
    let settings = Settings { first_request: Duration::from_millis(100), ..Settings::default() };
    let world = World::with(settings).await;
    let mut connection = Connection::to(world.address).await;
    assert_eq!(connection.next().await, None);
    let mut slow = Connection::to(world.address).await;
    slow.write(b"POST /v1/opamp HTTP/1.1\r\n").await;
    assert_eq!(slow.next().await, None);
}

#[tokio::test]
async fn s1_an_unused_connection_outlives_the_polling_interval_and_then_ends() {
    assert!(Settings::default().keep_alive >= Duration::from_secs(3 * 30 + 30));
    let settings = Settings {
        first_request: Duration::from_millis(100),
        keep_alive: Duration::from_millis(600),
        ..Settings::default()
    };
    let world = World::with(settings).await;
    let mut connection = Connection::to(world.address).await;
    connection.exchange(&[], &full(1, 0)).await;
    assert!(connection.is_quiet_for(Duration::from_millis(300)).await, "it is still open");
    assert_eq!(connection.exchange(&[], &bare(1, 1)).await.status, 200);
    assert_eq!(connection.next().await, None, "it ends after the time");
}

#[tokio::test]
async fn deflated_messages_are_taken_when_configured_and_bounded() {
    let offer = ("sec-websocket-extensions", "permessage-deflate; client_max_window_bits");
    let world = World::new().await;
    let refused = Connection::to(world.address).await.upgrade("/v1/opamp", &[offer]).await;
    assert_eq!(
        (refused.status, refused.header("sec-websocket-extensions")),
        (101, ""),
        "only when configured"
    );

    let world = World::with(Settings { deflate: true, ..small() }).await;
    let mut connection = Connection::to(world.address).await;
    let accepted = connection.upgrade("/v1/opamp", &[offer]).await;
    let agreed = accepted.header("sec-websocket-extensions");
    assert!(agreed.contains("server_no_context_takeover"), "{agreed}");
    assert!(agreed.contains("client_no_context_takeover"), "{agreed}");
    let deflate = |bytes: &[u8]| {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.flush().unwrap();
        let mut packed = encoder.get_ref().clone();
        packed.truncate(packed.len() - 4); // RFC 7692 7.2.1
        packed
    };
    let packed = deflate(&opamp_proto::frame::encode(&full(1, 0)));
    connection.write(&frame(0xc2, &packed)).await;
    assert_eq!(connection.next().await.expect("an answer").message().error_response, None);
    let bomb = deflate(&vec![0; 50 << 20]);
    assert!(bomb.len() < LIMIT);
    let _ = connection.stream.write_all(&frame(0xc2, &bomb)).await;
    assert_eq!(connection.next().await.and_then(|frame| frame.close_code()), Some(1009));
}
