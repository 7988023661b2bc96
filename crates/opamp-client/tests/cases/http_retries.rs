//! Refusals over both transports: how long the client waits, and what it sends afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use http::header::{AUTHORIZATION, HeaderMap};
use opamp_client::Timing;
use testkit::FakeServer;

use crate::support::*;

/// The pause that follows a refusal with these headers, before jitter of at most 20 ms.
async fn pause_after(scheme: &str, code: u16, headers: &[(&str, &str)]) -> Duration {
    let server = FakeServer::plain().await;
    let timing = Timing { throttle_min: Duration::from_secs(1000), ..quick() };
    let (_client, mut events) = builder(server.url(scheme)).timing(timing).start().await.unwrap();
    let mut peer = server.accept().await;
    peer.request().await;
    peer.respond(code, headers, b"").await;
    disconnected(&mut events).await.1.unwrap()
}

#[tokio::test]
async fn c5_s21_throttle_7_retry_after_is_obeyed_in_both_forms_for_503_and_429_on_both_transports() {
    let date = |ahead: i64| {
        let now = SystemTime::now();
        let moment =
            if ahead < 0 { now - Duration::from_secs(3600) } else { now + Duration::from_secs(3600) };
        httpdate::fmt_http_date(moment)
    };
    let jitter = Duration::from_millis(20);
    for scheme in ["ws", "http"] {
        for code in [503, 429] {
            assert_eq!(pause_after(scheme, code, &[("retry-after", "77")]).await, Duration::from_secs(77));
            let future = pause_after(scheme, code, &[("retry-after", &date(1))]).await;
            assert!((3500..=3600).contains(&future.as_secs()), "{future:?}");
            assert!(pause_after(scheme, code, &[("retry-after", &date(-1))]).await <= jitter);
            for useless in ["soon", "-5", ""] {
                let pause = pause_after(scheme, code, &[("retry-after", useless)]).await;
                assert!(pause >= Duration::from_secs(1000) && pause <= Duration::from_secs(1000) + jitter);
            }
            assert!(pause_after(scheme, code, &[]).await >= Duration::from_secs(1000));
        }
    }
}

#[tokio::test]
async fn c12_a_hundred_refusals_use_one_connection() {
    let server = FakeServer::plain().await;
    let (_client, mut events) = builder(server.url("http")).start().await.unwrap();
    let mut peer = server.accept().await;
    for _ in 0..100 {
        peer.request().await;
        peer.respond(503, &[("retry-after", "0")], b"a body that has to be read").await;
    }
    acknowledge_request(&mut peer).await;
    connected(&mut events).await;
    assert!(!server.has_waiting().await);
}

#[tokio::test]
async fn c20_after_401_the_same_report_comes_with_fresh_headers() {
    for scheme in ["http", "ws"] {
        let server = FakeServer::plain().await;
        let asked = Arc::new(AtomicUsize::new(0));
        let provider = move || {
            let number = asked.fetch_add(1, Ordering::Relaxed);
            async move {
                let mut headers = HeaderMap::new();
                headers.insert(AUTHORIZATION, format!("Bearer token-{number}").parse().unwrap());
                Ok(headers)
            }
        };
        let (_client, mut events) = builder(server.url(scheme)).headers(provider).start().await.unwrap();
        let mut peer = server.accept().await;
        let first = peer.request().await;
        assert_eq!(first.header("authorization"), Some("Bearer token-0"));
        peer.respond(401, &[], b"").await;
        let (reason, retry_in) = disconnected(&mut events).await;
        assert!(
            reason.contains("does not accept the credentials (401)") && !reason.contains("token-"),
            "{reason}"
        );
        assert!(retry_in.is_some());
        if scheme == "http" {
            let second = acknowledge_request(&mut peer).await;
            assert_eq!(second.header("authorization"), Some("Bearer token-1"));
            assert_eq!(second.body, first.body);
        } else {
            drop(peer);
            let mut peer = server.accept().await;
            assert_eq!(peer.upgrade().await.header("authorization"), Some("Bearer token-1"));
            assert!(is_full(&acknowledge(&mut peer).await));
        }
        connected(&mut events).await;
    }
}

#[tokio::test]
async fn headers_that_cannot_be_had_are_a_failed_attempt() {
    let server = FakeServer::plain().await;
    let provider = || async { Err("the vault is sealed".to_owned()) };
    let (_client, mut events) = builder(server.url("ws")).headers(provider).start().await.unwrap();
    let (reason, _) = disconnected(&mut events).await;
    assert_eq!(reason, "the headers cannot be had: the vault is sealed");
}

#[tokio::test]
async fn c21_retx_1_a_request_without_an_answer_is_given_up_and_comes_again() {
    let server = FakeServer::plain().await;
    let timing = Timing { answer: Duration::from_millis(100), ..quick() };
    let (_client, mut events) = builder(server.url("http")).timing(timing).start().await.unwrap();
    let mut hung = server.accept().await;
    let first = hung.request().await;
    let (reason, _) = disconnected(&mut events).await;
    assert!(reason.contains("did not answer"), "{reason}");
    assert!(hung.ends().await);
    let mut peer = server.accept().await;
    assert_eq!(acknowledge_request(&mut peer).await.body, first.body);
}

#[tokio::test]
async fn c33_a_request_that_is_too_large_is_not_sent_again() {
    let server = FakeServer::plain().await;
    let (client, mut events) = builder(server.url("http")).start().await.unwrap();
    let mut peer = server.accept().await;
    acknowledge_request(&mut peer).await;
    client.set_health(health("huge"));
    peer.request().await;
    peer.respond(413, &[], b"").await;
    assert!(refused(&mut events).await.contains("too large"));
    client.set_health(health("small"));
    let next = acknowledge_request(&mut peer).await.message();
    assert_eq!((next.sequence_num, next.health.unwrap().status.as_str()), (2, "small"));
}

#[tokio::test]
async fn c31_a_port_without_a_listener_is_tried_again_and_again() {
    let server = FakeServer::plain().await;
    let address = server.address();
    drop(server);
    let (_client, mut events) = builder(format!("http://{address}/v1/opamp")).start().await.unwrap();
    for _ in 0..3 {
        let (reason, retry_in) = disconnected(&mut events).await;
        let expected = format!("nothing listens on 127.0.0.1 port {} (connection refused)", address.port());
        assert_eq!(reason, expected);
        assert!(retry_in.unwrap() <= Duration::from_millis(20));
    }
}

#[tokio::test]
async fn bad_4_a_bad_request_is_told_and_not_repeated() {
    use opamp_client::proto::wire::{ServerErrorResponseType, ServerToAgent};
    let server = FakeServer::plain().await;
    let (client, mut events) = builder(server.url("http")).start().await.unwrap();
    let mut peer = server.accept().await;
    let uid = peer.request().await.message().instance_uid;
    peer.answer(&ServerToAgent::refuse(uid, ServerErrorResponseType::BadRequest, "no name")).await;
    assert_eq!(refused(&mut events).await, "bad request: no name");
    client.set_health(health("next"));
    let next = acknowledge_request(&mut peer).await.message();
    assert!(next.agent_description.is_none() && next.sequence_num == 1);
}
