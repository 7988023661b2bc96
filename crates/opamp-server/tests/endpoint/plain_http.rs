//! Plain HTTP: how requests are told apart, packed and answered.

use std::io::{Read, Write};

use flate2::Compression;
use opamp_proto::wire::{AgentToServer, Message, ServerErrorResponseType as Kind, ServerToAgent};
use opamp_proto::{InstanceUid, wire};
use testkit::raw::Connection;

use crate::application::{Heard, World, bare, full, uid};

const PROTOBUF: (&str, &str) = ("content-type", "application/x-protobuf");

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut out).expect("gzip");
    out
}

#[tokio::test]
async fn http_4_a_report_is_answered_with_a_message_of_the_same_uid() {
    let world = World::new().await;
    let mut connection = Connection::to(world.address).await;
    let response = connection.exchange(&[], &full(1, 0)).await;
    assert_eq!((response.status, response.header("content-type")), (200, "application/x-protobuf"));
    let expected = ServerToAgent { capabilities: 7, ..ServerToAgent::acknowledge(uid(1)) };
    assert_eq!(response.message(), expected, "http_2: bare Protobuf; stat_7 stat_9 uid_3 uid_12 scap_3");
    let again = connection.exchange(&[], &bare(1, 1)).await;
    assert_eq!(
        again.message(),
        expected,
        "close_7: the connection is kept, and capabilities are in each answer"
    );
}

#[tokio::test]
async fn http_15_and_http_16_the_content_type_tells_the_transports_apart() {
    let world = World::new().await;
    let body = full(1, 0).encode_to_vec();
    let ask = async |line: &str, headers: &[(&str, &str)]| {
        let mut connection = Connection::to(world.address).await;
        connection.request(line, headers, if line.starts_with("POST") { &body } else { b"" }).await
    };
    let upgrade = [
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "WebSocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let with_type = [&upgrade[..], &[PROTOBUF]].concat();
    assert_eq!(ask("POST /v1/opamp", &[PROTOBUF]).await.status, 200);
    assert_eq!(ask("POST /v1/opamp", &[("content-type", "Application/X-Protobuf; v=1")]).await.status, 200);
    assert_eq!(ask("POST /v1/opamp", &with_type).await.status, 200, "also when Upgrade is present");
    assert_eq!(ask("GET /v1/opamp", &upgrade).await.status, 101);
    assert_eq!(ask("GET /v1/opamp", &[PROTOBUF]).await.status, 405);
    assert_eq!(ask("POST /v1/opamp", &[("content-type", "text/plain")]).await.status, 415);
    assert_eq!(ask("POST /v1/opamp", &[]).await.status, 415);
    let get = ask("GET /v1/opamp", &[]).await;
    assert_eq!((get.status, get.header("upgrade")), (426, "websocket"));
    assert_eq!(ask("DELETE /v1/opamp", &[]).await.status, 405);
    assert_eq!(ask("POST /v1/other", &[PROTOBUF]).await.status, 404, "model_7");
    let no_key = [("connection", "Upgrade"), ("upgrade", "websocket"), ("sec-websocket-version", "13")];
    assert_eq!(ask("GET /v1/opamp", &no_key).await.status, 400);
}

#[tokio::test]
async fn http_19_and_http_20_requests_come_packed_and_plain() {
    let world = World::new().await;
    let mut connection = Connection::to(world.address).await;
    let packed = gzip(&full(1, 0).encode_to_vec());
    let response = connection.post(&[("content-encoding", "gzip")], &packed).await;
    assert_eq!((response.status, response.message().error_response), (200, None));
    let response = connection.post(&[("content-encoding", "identity")], &bare(1, 1).encode_to_vec()).await;
    assert_eq!((response.status, response.message().flags), (200, 0));
    let response = connection.post(&[("content-encoding", "br")], b"x").await;
    assert_eq!(response.status, 415);
    let response = connection.post(&[("content-encoding", "gzip")], &packed[..packed.len() - 9]).await;
    assert_eq!(response.status, 400, "damaged: {}", response.text());
    let response = connection.exchange(&[], &bare(1, 2)).await;
    assert_eq!(response.message().flags, 0, "what was refused did not count");
}

#[tokio::test]
async fn http_23_the_answer_is_packed_for_clients_that_take_it() {
    let world = World::new().await;
    let mut connection = Connection::to(world.address).await;
    let expected = ServerToAgent { capabilities: 7, ..ServerToAgent::acknowledge(uid(1)) };
    let cases = [
        ("gzip", true),
        ("deflate, gzip;q=0.5", true),
        ("GZIP", true),
        ("*", true),
        ("gzip;q=0", false),
        ("gzip;q=0.000, *", false),
        ("identity, gzip;q=0.1", false),
        ("gzip;q=nonsense", false),
        ("br", false),
        ("", false),
    ];
    for (sequence, (accept, packed)) in cases.into_iter().enumerate() {
        let report = if sequence == 0 { full(1, 0) } else { bare(1, sequence as u64) };
        let response = connection.exchange(&[("accept-encoding", accept)], &report).await;
        assert_eq!(response.header("content-encoding") == "gzip", packed, "{accept}");
        let body = if packed { gunzip(&response.body) } else { response.body };
        assert_eq!(ServerToAgent::decode(&body[..]).unwrap(), expected, "{accept}");
    }
}

#[tokio::test]
async fn http_23_a_big_answer_is_really_compressed() {
    let world = World::new().await;
    let mut connection = Connection::to(world.address).await;
    connection.exchange(&[], &full(1, 0)).await;
    let file = wire::AgentConfigFile { body: "key: value\n".repeat(2000).into(), ..Default::default() };
    let config = wire::AgentConfigMap { config_map: [(String::new(), file)].into() };
    let offer = opamp_proto::server::ConfigOffer::new(config.clone());
    world.server.agents().get(uid(1)).unwrap().offer_config(Some(offer));
    let response = connection.exchange(&[("accept-encoding", "gzip")], &bare(1, 1)).await;
    assert!(response.body.len() < 2000, "{} bytes", response.body.len());
    let message = ServerToAgent::decode(&gunzip(&response.body)[..]).unwrap();
    assert_eq!(message.remote_config.unwrap().config, Some(config), "http_11 rcfg_2 cfg_18 cfg_21");
}

#[tokio::test]
async fn bad_1_and_bad_2_junk_is_answered_with_bad_request_in_a_body() {
    let world = World::new().await;
    let mut connection = Connection::to(world.address).await;
    let header = ("opamp-instance-uid", "09090909-0909-0909-0909-090909090907");
    let response = connection.post(&[header], b"\xff\xff\xff").await;
    assert_eq!(response.status, 200);
    let message = response.message();
    let error = message.error_response.clone().expect("an error");
    assert_eq!(error.r#type(), Kind::BadRequest);
    assert!(error.error_message.starts_with("AgentToServer is malformed"), "bad_3: {}", error.error_message);
    assert_eq!(message.instance_uid, uid(7).to_bytes(), "taken from the header");
    assert_eq!(message.capabilities, 0, "err_1");
    assert_eq!(world.heard(), []);
}

#[tokio::test]
async fn s35_and_uid_7_an_instance_uid_of_another_length_is_refused_and_the_server_goes_on() {
    let world = World::new().await;
    let mut connection = Connection::to(world.address).await;
    for length in [0, 1, 15, 17, 26] {
        let uid = bytes::Bytes::from(vec![b'u'; length]);
        let response =
            connection.exchange(&[], &AgentToServer { instance_uid: uid.clone(), ..full(1, 0) }).await;
        let error = response.message().error_response.expect("s7: an error response");
        assert_eq!(error.r#type(), Kind::BadRequest);
        assert!(error.error_message.contains(&format!("{length} bytes")), "{}", error.error_message);
        assert_eq!(response.message().instance_uid, uid, "the only way to match it");
    }
    let zero = AgentToServer { instance_uid: vec![0; 16].into(), ..full(1, 0) };
    assert!(connection.exchange(&[], &zero).await.message().error_response.is_some());
    assert_eq!(world.heard(), [], "s7: no new agent");
    assert_eq!(connection.exchange(&[], &full(1, 0)).await.message().error_response, None);
}

#[tokio::test]
async fn uid_9_and_uid_11_an_agent_that_wants_an_instance_uid_gets_one_and_keeps_it() {
    let world = World::new().await;
    let mut connection = Connection::to(world.address).await;
    let wish = AgentToServer { flags: 1, ..full(1, 0) };
    let new =
        |message: ServerToAgent| message.agent_identification.expect("agent_identification").new_instance_uid;
    let first = new(connection.exchange(&[], &wish).await.message());
    let second = new(connection.exchange(&[], &wish).await.message());
    assert_eq!(first, second, "the same value while the old one still arrives");
    assert_eq!(first[6] >> 4, 7, "uid_17: version 7");
    let adopted = AgentToServer { instance_uid: first.clone(), ..full(1, 2) };
    let answer = connection.exchange(&[], &adopted).await.message();
    assert_eq!((answer.instance_uid, answer.agent_identification), (first.clone(), None));
    let uid = InstanceUid::try_from_slice(&first).unwrap();
    assert!(world.heard().contains(&Heard::Admitted(uid)));
    let zero = AgentToServer { instance_uid: vec![0; 16].into(), flags: 1, ..full(1, 0) };
    let answer = connection.exchange(&[], &zero).await.message();
    assert_eq!(new(answer).len(), 16, "uid_16");
}

#[tokio::test]
async fn scap_1_and_scap_5_a_new_instance_uid_comes_with_defined_bits_and_accepts_status() {
    let mut settings = opamp_server::Settings::default();
    settings.session.capabilities = opamp_proto::ServerCapabilities::from_bits(1 << 50 | 2);
    let world = World::with(settings).await;
    let mut connection = Connection::to(world.address).await;
    for number in [1, 0] {
        let uid = if number == 0 { vec![0; 16].into() } else { full(number, 0).instance_uid };
        let wish = AgentToServer { instance_uid: uid, flags: 1, ..full(1, 0) };
        let answer = connection.exchange(&[], &wish).await.message();
        assert!(answer.agent_identification.is_some());
        assert_eq!(answer.capabilities, 3);
    }
}

#[tokio::test]
async fn retx_5_each_copy_of_a_message_is_answered() {
    let world = World::new().await;
    let mut connection = Connection::to(world.address).await;
    for _ in 0..3 {
        let answer = connection.exchange(&[], &full(1, 5)).await.message();
        assert_eq!((answer.flags, answer.error_response), (0, None));
    }
    assert_eq!(world.heard().iter().filter(|heard| matches!(heard, Heard::Reported(..))).count(), 1);
}

#[tokio::test]
async fn s14_a_disconnect_ends_the_session_and_an_unknown_agent_cannot_disconnect() {
    let world = World::new().await;
    let mut connection = Connection::to(world.address).await;
    let goodbye = AgentToServer { agent_disconnect: Some(wire::AgentDisconnect {}), ..bare(1, 1) };
    let answer = connection.exchange(&[], &goodbye).await.message();
    assert_eq!(answer.error_response.expect("an error").r#type(), Kind::BadRequest);
    connection.exchange(&[], &full(1, 0)).await;
    assert_eq!(connection.exchange(&[], &goodbye).await.message().error_response, None);
    assert!(world.heard().contains(&Heard::Disconnected(uid(1), opamp_server::Disconnect::Goodbye)));
    assert!(world.server.agents().is_empty());
}

#[tokio::test]
async fn close_8_a_poller_that_falls_silent_is_gone_after_the_timeout() {
    let settings =
        opamp_server::Settings { poller_timeout: std::time::Duration::from_millis(50), ..Default::default() };
    let world = World::with(settings).await;
    Connection::to(world.address).await.exchange(&[], &full(1, 0)).await;
    assert_eq!(world.server.agents().len(), 1, "close_5: the end of a request ends nothing");
    testkit::until("the sweep", || {
        world.server.sweep_pollers();
        world.server.agents().is_empty()
    })
    .await;
    assert!(world.heard().contains(&Heard::Disconnected(uid(1), opamp_server::Disconnect::Silent)));
}

#[tokio::test]
async fn a_credential_of_another_kind_is_asked_for_admission_anew() {
    let world = World::new().await;
    let mut connection = Connection::to(world.address).await;
    connection.exchange(&[("authorization", "Bearer one")], &full(1, 0)).await;
    connection.exchange(&[("authorization", "Bearer one")], &bare(1, 1)).await;
    assert_eq!(world.heard().iter().filter(|heard| matches!(heard, Heard::Admitted(_))).count(), 1);
    world.wish(|wishes| wishes.rejection = Some(opamp_server::Rejection::Unauthorized("not yours".into())));
    let response = connection.exchange(&[("authorization", "Bearer two")], &bare(1, 2)).await;
    assert_eq!(response.status, 401);
    let response = connection.exchange(&[("authorization", "Bearer one")], &bare(1, 2)).await;
    assert_eq!((response.status, response.message().flags), (200, 0), "the first one is not disturbed");
}
