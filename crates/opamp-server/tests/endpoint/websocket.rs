//! Messages over a WebSocket: framing, order, pushes, several agents on one connection.

use std::time::Duration;

use opamp_proto::server::ConfigOffer;
use opamp_proto::wire::{self, AgentToServer, ServerErrorResponseType as Kind, ServerToAgent};
use opamp_server::Disconnect;
use testkit::raw::{Connection, frame};
use testkit::soon;

use crate::application::{Heard, World, bare, full, impatient, uid};

fn offer(body: String) -> std::sync::Arc<ConfigOffer> {
    let file = wire::AgentConfigFile { body: body.into(), ..Default::default() };
    ConfigOffer::new(wire::AgentConfigMap { config_map: [(String::new(), file)].into() })
}

#[tokio::test]
async fn ws_3_and_ws_5_a_report_is_answered_behind_a_header_of_zero() {
    let world = World::new().await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    connection.send_message(&full(1, 0)).await;
    let frame = connection.next().await.expect("an answer");
    assert_eq!((frame.opcode, frame.payload[0]), (2, 0), "ws_2 ws_8");
    assert_eq!(frame.message(), ServerToAgent { capabilities: 7, ..ServerToAgent::acknowledge(uid(1)) });
    assert_eq!(connection.ask(&bare(1, 1)).await, ServerToAgent::acknowledge(uid(1)), "s2a_2 scap_4");
}

#[tokio::test]
async fn s12_an_idle_agent_is_sent_nothing() {
    let world = World::new().await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    connection.ask(&full(1, 0)).await;
    assert!(connection.is_quiet_for(Duration::from_secs(1)).await, "s25");
}

#[tokio::test]
async fn ws_10_a_malformed_header_is_answered_and_the_connection_goes_on() {
    let world = World::new().await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    connection.ask(&full(1, 0)).await;
    for payload in [&[][..], &[1], &[0x80], &[0x80; 11], &[0x0a, 0x10], &[0, 0xff]] {
        connection.send(2, payload).await;
        let answer = connection.next().await.expect("an answer").message();
        assert_eq!(answer.instance_uid, uid(1).to_bytes(), "the only agent on the connection");
        assert_eq!(answer.error_response.expect("bad_1").r#type(), Kind::BadRequest, "{payload:?}");
    }
    let long = [&[0x80, 0x80, 0][..], &opamp_proto::frame::encode(&bare(1, 1))[1..]].concat();
    connection.send(2, &long).await;
    assert_eq!(connection.next().await.expect("ws_7").message(), ServerToAgent::acknowledge(uid(1)));
    connection.send(2, &[0]).await;
    let answer = connection.next().await.expect("ws_12: valid, but it names no agent").message();
    assert!(answer.error_response.is_some());
}

#[tokio::test]
async fn ws_2_a_text_frame_closes_with_1003() {
    let world = World::new().await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    connection.send(1, b"hello").await;
    assert_eq!(connection.next().await.and_then(|frame| frame.close_code()), Some(1003));
}

#[tokio::test]
async fn ws_1_fragments_and_pings_between_them_are_one_message() {
    let world = World::new().await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    let payload = opamp_proto::frame::encode(&full(1, 0));
    let (first, second) = payload.split_at(payload.len() / 2);
    connection.write(&frame(2, first)).await;
    connection.send(9, b"are you there").await;
    let pong = connection.next().await.expect("a pong");
    assert_eq!((pong.opcode, &pong.payload[..]), (10, &b"are you there"[..]));
    connection.write(&frame(0x80, second)).await;
    assert_eq!(connection.next().await.expect("an answer").message().error_response, None);
}

#[tokio::test]
async fn ws_14_and_s3_an_offer_is_pushed_at_once_with_its_content() {
    let world = World::new().await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    connection.ask(&full(1, 0)).await;
    let offer = offer("a: 1".into());
    world.server.agents().get(uid(1)).expect("a live agent").offer_config(Some(offer.clone()));
    let pushed = connection.next().await.expect("a push").message();
    let config = pushed.remote_config.expect("s2a_1: an offer");
    assert_eq!((&config.config_hash, config.config.is_some()), (offer.hash(), true));
}

#[tokio::test]
async fn s30_an_agent_without_capabilities_is_offered_nothing() {
    let world = World::new().await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    connection.ask(&AgentToServer { capabilities: 1, ..full(1, 0) }).await;
    world.server.agents().get(uid(1)).expect("a live agent").offer_config(Some(offer("a: 1".into())));
    assert!(connection.is_quiet_for(Duration::from_millis(300)).await);
    let answer = connection.ask(&AgentToServer { capabilities: 1, ..bare(1, 1) }).await;
    assert_eq!(answer, ServerToAgent::acknowledge(uid(1)));
}

#[tokio::test]
async fn s23_pushes_and_answers_do_not_corrupt_each_other() {
    let world = World::new().await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    connection.ask(&full(1, 0)).await;
    let agent = world.server.agents().get(uid(1)).expect("a live agent");
    let last = offer("last".into());
    let final_hash = last.hash().clone();
    let pushing = tokio::spawn(async move {
        for number in 0..200 {
            agent.offer_config(Some(offer(format!("{number}").repeat(500))));
            tokio::task::yield_now().await;
        }
        agent.offer_config(Some(last));
    });
    for number in 1..=200 {
        connection.send_message(&bare(1, number)).await;
    }
    // Each heartbeat is answered by a frame of its own; an offer comes with an answer or in a frame of its own.
    let (mut frames, mut latest) = (0, bytes::Bytes::new());
    while frames < 200 || latest != final_hash {
        let message = connection.next().await.expect("a frame").message();
        assert_eq!((message.flags, message.error_response), (0, None));
        frames += 1;
        latest = message.remote_config.map_or(latest, hash_of_whole);
    }
    pushing.await.expect("the pushes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s23_pushes_of_many_threads_and_answers_at_the_same_time_leave_every_frame_whole() {
    let world = World::new().await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    connection.ask(&full(1, 0)).await;
    let agent = world.server.agents().get(uid(1)).expect("a live agent");
    // Everybody begins at once, and none waits for another.
    let begin = std::sync::Arc::new(tokio::sync::Barrier::new(9));
    let pushing: Vec<_> = (0..8)
        .map(|thread| {
            let (agent, begin) = (agent.clone(), begin.clone());
            tokio::spawn(async move {
                begin.wait().await;
                for number in 0..25 {
                    agent.offer_config(Some(offer(format!("{thread}-{number} ").repeat(500))));
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    begin.wait().await;
    for number in 1..=200 {
        connection.send_message(&bare(1, number)).await;
    }
    for pushes in pushing {
        pushes.await.expect("the pushes");
    }
    let last = offer("last".into());
    agent.offer_config(Some(last.clone()));
    let (mut frames, mut latest) = (0, bytes::Bytes::new());
    while frames < 200 || latest != last.hash() {
        let message = connection.next().await.expect("a frame").message();
        assert_eq!((message.flags, message.error_response), (0, None));
        frames += 1;
        latest = message.remote_config.map_or(latest, hash_of_whole);
    }
}

/// The hash of an offer. A frame that was mixed with another would hold another text than its hash says.
fn hash_of_whole(config: wire::AgentRemoteConfig) -> bytes::Bytes {
    let files = config.config.expect("s2a_1: an offer");
    assert_eq!(opamp_proto::hash::config_hash(&files), config.config_hash);
    config.config_hash
}

#[tokio::test]
async fn s6_a_request_for_a_certificate_is_answered_without_an_offer_and_the_report_around_it_counts() {
    let world = World::new().await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    let request = wire::ConnectionSettingsRequest {
        opamp: Some(wire::OpAmpConnectionSettingsRequest {
            certificate_request: Some(wire::CertificateRequest { csr: b"no request at all".to_vec().into() }),
        }),
    };
    let report = AgentToServer { connection_settings_request: Some(request), ..full(1, 0) };
    let answer = connection.ask(&report).await;
    let bit = wire::ServerCapabilities::AcceptsConnectionSettingsRequest as u64;
    assert_eq!(answer.capabilities & bit, 0, "scap_12: it is not announced");
    assert_eq!((&answer.connection_settings, &answer.error_response), (&None, &None));
    let agent = world.server.agents().get(uid(1)).expect("a live agent");
    assert!(agent.read(|session| session.is_complete()), "what else it said is kept");
    assert_eq!(connection.ask(&bare(1, 1)).await, ServerToAgent::acknowledge(uid(1)), "it goes on");
}

#[tokio::test]
async fn uid_13_several_agents_share_a_connection() {
    let world = World::new().await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    for number in 1..=3 {
        let answer = connection.ask(&full(number, 0)).await;
        assert_eq!(
            (answer.instance_uid, answer.capabilities),
            (uid(number).to_bytes(), 7),
            "scap_3: each its first"
        );
    }
    assert_eq!(connection.ask(&bare(2, 1)).await, ServerToAgent::acknowledge(uid(2)));
    assert_eq!(connection.ask(&bare(3, 4)).await.flags, 1, "only agent 3 has a gap");
    assert_eq!(connection.ask(&bare(1, 1)).await.flags, 0);
    world.server.agents().get(uid(2)).expect("live").offer_config(Some(offer("two".into())));
    let pushed = connection.next().await.expect("a push").message();
    assert_eq!(pushed.instance_uid, uid(2).to_bytes());
    let goodbye = AgentToServer { agent_disconnect: Some(wire::AgentDisconnect {}), ..bare(2, 2) };
    connection.ask(&goodbye).await;
    assert_eq!(connection.ask(&bare(1, 2)).await, ServerToAgent::acknowledge(uid(1)), "the others stay");
    world.until_heard(Heard::Disconnected(uid(2), Disconnect::Goodbye)).await;
    assert_eq!(world.server.agents().len(), 2);
    drop(connection);
    for number in [1, 3] {
        soon("both to be gone", async {
            while world.server.agents().get(uid(number)).is_some() {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

#[tokio::test]
async fn hb_13_a_silent_peer_is_pinged_and_then_dropped() {
    let world = World::with(impatient()).await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    connection.ask(&full(1, 0)).await;
    assert_eq!(connection.next().await.expect("a ping").opcode, 9);
    assert_eq!(connection.next().await.expect("a second ping").opcode, 9);
    world.until_heard(Heard::Disconnected(uid(1), Disconnect::Silent)).await;
}

#[tokio::test]
async fn hb_14_a_peer_that_answers_pings_needs_no_heartbeats() {
    let world = World::with(impatient()).await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    connection.ask(&full(1, 0)).await;
    for _ in 0..6 {
        let ping = connection.next().await.expect("a ping");
        assert_eq!(ping.opcode, 9);
        connection.send(10, &ping.payload).await;
    }
    assert!(world.server.agents().get(uid(1)).is_some());
}
