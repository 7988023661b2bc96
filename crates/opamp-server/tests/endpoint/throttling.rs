//! Authentication and throttling: what a peer is told before and after the upgrade.

use std::time::Duration;

use opamp_proto::wire::{ServerErrorResponseType as Kind, server_error_response::Details};
use opamp_server::{Overload, Refusal, Rejection};
use testkit::raw::Connection;

use crate::application::{World, bare, full, uid};

#[tokio::test]
async fn auth_2_and_auth_3_a_bad_credential_is_401_before_the_upgrade() {
    let world = World::new().await;
    world.wish(|wishes| wishes.refusal = Some(Refusal::Unauthorized("no such token".into())));
    let mut connection = Connection::to(world.address).await;
    let response = connection.upgrade("/v1/opamp", &[("authorization", "Bearer bad")]).await;
    assert_eq!((response.status, response.header("www-authenticate")), (401, "Bearer realm=\"OpAMP\""));
    assert_eq!(response.text(), "no such token\n");
    let response = connection.exchange(&[("authorization", "Bearer bad")], &full(1, 0)).await;
    assert_eq!(response.status, 401);
    assert_eq!(world.heard(), []);
}

#[tokio::test]
async fn auth_3_a_bad_credential_is_refused_before_the_body_is_read() {
    let world = World::new().await;
    world.wish(|wishes| wishes.refusal = Some(Refusal::Unauthorized("no".into())));
    let mut connection = Connection::to(world.address).await;
    let head = "POST /v1/opamp HTTP/1.1\r\nhost: t\r\ncontent-type: application/x-protobuf\r\n\
                content-length: 1000000\r\n\r\n";
    connection.write(head.as_bytes()).await;
    assert_eq!(connection.response().await.status, 401);
}

#[tokio::test]
async fn throttle_5_and_throttle_6_a_busy_server_says_when_to_come_back() {
    let world = World::new().await;
    let mut connection = Connection::to(world.address).await;
    world.wish(|wishes| wishes.refusal = Some(Refusal::Unavailable(Duration::from_millis(1500))));
    let response = connection.upgrade("/v1/opamp", &[]).await;
    assert_eq!((response.status, response.header("retry-after")), (503, "2"), "s21: rounded up");
    world.wish(|wishes| wishes.refusal = Some(Refusal::TooMany(Duration::ZERO)));
    let response = connection.exchange(&[], &full(1, 0)).await;
    assert_eq!((response.status, response.header("retry-after")), (429, "1"));
    world.wish(|wishes| {
        wishes.refusal = None;
        wishes.overload = Some(Overload { retry_after: Some(Duration::from_secs(7)) });
    });
    let response = connection.exchange(&[], &full(1, 0)).await;
    assert_eq!((response.status, response.header("retry-after")), (503, "7"));
}

#[tokio::test]
async fn throttle_1_and_throttle_3_over_a_websocket_it_is_unavailable_with_retry_info() {
    let world = World::new().await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    connection.ask(&full(1, 0)).await;
    world.wish(|wishes| wishes.overload = Some(Overload { retry_after: Some(Duration::from_secs(7)) }));
    let answer = connection.ask(&bare(1, 1)).await;
    assert_eq!(answer.instance_uid, full(1, 0).instance_uid);
    let error = answer.error_response.expect("an error");
    assert_eq!(error.r#type(), Kind::Unavailable);
    let Some(Details::RetryInfo(info)) = error.details else { panic!("err_5: no retry_info") };
    assert_eq!(info.retry_after_nanoseconds, 7_000_000_000);
    world.wish(|wishes| wishes.overload = Some(Overload { retry_after: None }));
    assert_eq!(connection.ask(&bare(1, 1)).await.error_response.expect("an error").details, None);
    world.wish(|wishes| wishes.overload = None);
    let answer = connection.ask(&bare(1, 1)).await;
    assert_eq!((answer.error_response, answer.flags), (None, 0), "what was turned away did not count");
}

#[tokio::test]
async fn s7_and_s37_an_agent_that_cannot_be_let_in_is_told_why() {
    let world = World::new().await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    world.wish(|wishes| wishes.rejection = Some(Rejection::Unavailable(Overload { retry_after: None })));
    assert_eq!(connection.ask(&full(1, 0)).await.error_response.expect("type 2").r#type(), Kind::Unavailable);
    world.wish(|wishes| wishes.rejection = Some(Rejection::BadRequest("a name is needed".into())));
    let error = connection.ask(&full(1, 0)).await.error_response.expect("type 1");
    assert_eq!((error.r#type(), &*error.error_message), (Kind::BadRequest, "a name is needed"));
    assert_eq!(world.heard(), []);
    world.wish(|wishes| wishes.rejection = None);
    assert_eq!(connection.ask(&full(1, 0)).await.error_response, None);
    world.wish(|wishes| wishes.rejection = Some(Rejection::Unauthorized("not yours".into())));
    let mut stranger = Connection::websocket(world.address, &[]).await;
    stranger.send_message(&full(2, 0)).await;
    let frame = stranger.next().await.expect("a close frame");
    assert_eq!(frame.close_code(), Some(1008));
}

#[tokio::test]
async fn an_agent_that_is_not_let_in_takes_nobody_with_it() {
    let world = World::new().await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    for number in [1, 2] {
        assert_eq!(connection.ask(&full(number, 0)).await.error_response, None);
    }
    world.wish(|wishes| wishes.rejection = Some(Rejection::Unauthorized("not yours".into())));
    let refused = connection.ask(&full(3, 0)).await;
    let error = refused.error_response.expect("type 1");
    assert_eq!((error.r#type(), &*error.error_message), (Kind::BadRequest, "not yours"));
    assert_eq!(refused.instance_uid, uid(3).to_bytes());
    for number in [1, 2] {
        assert_eq!(connection.ask(&bare(number, 1)).await.error_response, None);
    }
    assert_eq!(world.server.agents().len(), 2);
}
