//! The plain HTTP transport on the wire: requests, answers, the connection between them.

use std::io::Write;
use std::time::Duration;

use opamp_client::Timing;
use opamp_client::proto::limits::MessageLimit;
use testkit::{FakeServer, Peer};

use crate::support::*;

#[tokio::test]
async fn http_1_http_2_http_14_http_21_http_22_a_request_is_a_post_of_one_bare_message() {
    let server = FakeServer::plain().await;
    let (client, _events) = builder(server.url("http")).bearer_token("t1").start().await.unwrap();
    let mut peer = server.accept().await;
    let request = peer.request().await;
    assert_eq!(request.line, "POST /v1/opamp HTTP/1.1");
    assert_eq!(request.header("content-type"), Some("application/x-protobuf"));
    assert_eq!(request.header("accept-encoding"), Some("gzip"));
    assert_eq!(request.header("content-encoding"), None);
    assert_eq!(request.header("authorization"), Some("Bearer t1"));
    assert_eq!(request.header("opamp-instance-uid"), Some(client.instance_uid().to_string().as_str()));
    let message = request.message();
    assert_eq!(message.instance_uid, client.instance_uid().to_bytes());
    assert!(is_full(&message));
}

#[tokio::test]
async fn close_7_http_13_requests_follow_each_other_on_one_connection() {
    let server = FakeServer::plain().await;
    let (client, _events) = builder(server.url("http")).start().await.unwrap();
    let mut peer = server.accept().await;
    acknowledge_request(&mut peer).await;
    for round in 0..5 {
        client.set_health(health(&format!("round {round}")));
        let message = acknowledge_request(&mut peer).await.message();
        assert_eq!(
            (message.sequence_num, message.health.unwrap().status),
            (round + 1, format!("round {round}"))
        );
    }
}

#[tokio::test]
async fn http_7_without_news_the_agent_polls_at_its_interval() {
    let server = FakeServer::plain().await;
    let polling = builder(server.url("http")).timing(Timing { poll: Duration::from_millis(20), ..quick() });
    let (_client, _events) = polling.start().await.unwrap();
    let mut peer = server.accept().await;
    assert!(is_full(&acknowledge_request(&mut peer).await.message()));
    for number in 1..4 {
        let poll = acknowledge_request(&mut peer).await.message();
        assert_eq!(poll.sequence_num, number);
        assert!(poll.agent_description.is_none() && poll.health.is_none() && poll.capabilities != 0);
    }
}

#[tokio::test]
async fn s1_a_connection_that_the_server_closed_while_it_was_idle_costs_nothing() {
    let server = FakeServer::plain().await;
    let (client, mut events) = builder(server.url("http")).start().await.unwrap();
    let mut peer = server.accept().await;
    acknowledge_request(&mut peer).await;
    connected(&mut events).await;
    drop(peer);
    client.set_health(health("later"));
    let mut peer = server.accept().await;
    assert_eq!(acknowledge_request(&mut peer).await.message().health.unwrap().status, "later");
    tokio::join!(client.stop(), acknowledge_request(&mut peer));
    let heard: Vec<_> = std::iter::from_fn(|| events_now(&mut events)).collect();
    assert!(heard.iter().all(|event| !event.contains("retry_in: Some")), "{heard:?}");
}

/// The next event that is there already.
fn events_now(events: &mut opamp_client::Events) -> Option<String> {
    let mut next = Box::pin(events.next());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match next.as_mut().poll(&mut context) {
        std::task::Poll::Ready(event) => event.map(|event| format!("{event:?}")),
        std::task::Poll::Pending => None,
    }
}

#[tokio::test]
async fn c1_c12_after_a_broken_connection_the_same_bytes_come_again() {
    let server = FakeServer::plain().await;
    let (_client, _events) = builder(server.url("http")).start().await.unwrap();
    let mut peer = server.accept().await;
    let first = peer.request().await;
    drop(peer);
    let mut peer = server.accept().await;
    let second = peer.request().await;
    assert_eq!(second.body, first.body);
    assert!(!second.body.is_empty());
}

#[tokio::test]
async fn http_17_http_18_a_large_request_can_be_compressed() {
    let server = FakeServer::plain().await;
    let (client, _events) = builder(server.url("http")).gzip_requests().start().await.unwrap();
    let mut peer = server.accept().await;
    acknowledge_request(&mut peer).await;
    client.set_health(health(&"x".repeat(5000)));
    let request = acknowledge_request(&mut peer).await;
    assert_eq!(request.header("content-encoding"), Some("gzip"));
    assert!(request.body.len() < 500);
    assert_eq!(request.message().health.unwrap().status.len(), 5000);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const PROTOBUF: (&str, &str) = ("content-type", "application/x-protobuf");

#[tokio::test]
async fn a_compressed_answer_is_read() {
    let server = FakeServer::plain().await;
    let (_client, mut events) = builder(server.url("http")).start().await.unwrap();
    let mut peer = server.accept().await;
    let message = peer.request().await.message();
    let body = gzip(&encoded(&answer_to(&message)));
    peer.respond(200, &[PROTOBUF, ("content-encoding", "gzip")], &body).await;
    connected(&mut events).await;
}

/// What the client says about an answer; `respond` sends it.
async fn refusal(respond: impl AsyncFn(&mut Peer)) -> String {
    let server = FakeServer::plain().await;
    let limited = builder(server.url("http")).max_message(MessageLimit::try_new(10_000).unwrap());
    let (_client, mut events) = limited.start().await.unwrap();
    let mut peer = server.accept().await;
    peer.request().await;
    respond(&mut peer).await;
    disconnected(&mut events).await.0
}

#[tokio::test]
async fn c26_an_answer_over_the_limit_is_not_read_to_its_end() {
    let announced = refusal(async |peer| {
        peer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 100000000\r\n\r\n",
        )
        .await;
        while peer.try_write(&[0; 65536]).await {}
    });
    let endless = refusal(async |peer| {
        peer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ntransfer-encoding: chunked\r\n\r\n",
        )
        .await;
        while peer.try_write(format!("1000\r\n{}\r\n", "x".repeat(0x1000)).as_bytes()).await {}
    });
    let bomb = refusal(async |peer| {
        peer.respond(200, &[PROTOBUF, ("content-encoding", "gzip")], &gzip(&vec![0; 5_000_000])).await;
    });
    for reason in [announced.await, endless.await, bomb.await] {
        assert_eq!(reason, "the server's answer is larger than 10000 bytes");
    }
}

#[tokio::test]
async fn an_endless_error_page_is_not_read_to_its_end() {
    let reason = refusal(async |peer| {
        peer.write(b"HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n").await;
        while peer.try_write(format!("1000\r\n{}\r\n", "x".repeat(0x1000)).as_bytes()).await {}
    });
    assert!(reason.await.ends_with("answers with status 500"));
}

#[tokio::test]
async fn a_web_page_in_place_of_an_answer_is_called_that() {
    let reason = refusal(async |peer| {
        peer.respond(200, &[("content-type", "text/html")], b"<html>login</html>").await
    });
    assert!(reason.await.ends_with("answers with \"text/html\", so it is no OpAMP server"));
}

#[tokio::test]
async fn damaged_gzip_and_unknown_codings_are_told() {
    let damaged =
        refusal(async |peer| peer.respond(200, &[PROTOBUF, ("content-encoding", "gzip")], b"no gzip").await);
    assert!(damaged.await.contains("gzip is damaged"));
    let unknown =
        refusal(async |peer| peer.respond(200, &[PROTOBUF, ("content-encoding", "br")], b"x").await);
    assert!(unknown.await.contains("Content-Encoding other than gzip"));
}
