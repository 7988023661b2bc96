//! A configuration's way from the server to the application and its status' way back.

use bytes::Bytes;
use opamp_client::proto::agent::Status;
use opamp_client::proto::wire::{
    AgentConfigFile, AgentConfigMap, AgentRemoteConfig, AgentToServer, ServerToAgent,
};
use opamp_client::{Event, Events, RemoteConfig};
use testkit::{FakeServer, Peer};

use crate::support::*;

fn offer(message: &AgentToServer, hash: &'static str, body: &'static str) -> ServerToAgent {
    let file = AgentConfigFile { body: Bytes::from_static(body.as_bytes()), ..AgentConfigFile::default() };
    let config = Some(AgentConfigMap { config_map: [(String::new(), file)].into() });
    let remote_config = Some(AgentRemoteConfig { config, config_hash: Bytes::from_static(hash.as_bytes()) });
    ServerToAgent { remote_config, ..answer_to(message) }
}

async fn remote_config(events: &mut Events) -> RemoteConfig {
    let pick = |event| match event {
        Event::RemoteConfig(offer) => Some(offer),
        _ => None,
    };
    event(events, "a remote configuration", pick).await
}

async fn status(peer: &mut Peer) -> (String, i32, String) {
    let status = peer.message().await.remote_config_status.expect("a status");
    (String::from_utf8(status.last_remote_config_hash.to_vec()).unwrap(), status.status, status.error_message)
}

#[tokio::test]
async fn c18_rcfg_3_rcfg_5_the_error_of_a_failed_configuration_is_gone_after_one_that_works() {
    let server = FakeServer::plain().await;
    let (client, mut events) = builder(server.url("ws")).start().await.unwrap();
    let mut peer = server.accept().await;
    peer.upgrade().await;
    let message = peer.message().await;

    peer.push(&offer(&message, "h1", "bad")).await;
    let bad = remote_config(&mut events).await;
    assert_eq!(status(&mut peer).await, ("h1".to_owned(), 2, String::new()));
    client.config_failed(bad.hash, "bad: no such receiver");
    assert_eq!(status(&mut peer).await, ("h1".to_owned(), 3, "bad: no such receiver".to_owned()));

    peer.push(&offer(&message, "h2", "good")).await;
    let good = remote_config(&mut events).await;
    assert_eq!(good.config.config_map[""].body, "good");
    assert_eq!(status(&mut peer).await, ("h2".to_owned(), 2, String::new()));
    client.set(Status::EffectiveConfig(good.config));
    assert!(peer.message().await.effective_config.is_some());
    client.config_applied(good.hash);
    assert_eq!(status(&mut peer).await, ("h2".to_owned(), 1, String::new()));
}

#[tokio::test]
async fn c23_an_effective_configuration_that_did_not_change_is_not_sent() {
    let server = FakeServer::plain().await;
    let (client, _events) = builder(server.url("ws")).start().await.unwrap();
    let mut peer = server.accept().await;
    peer.upgrade().await;
    acknowledge(&mut peer).await;
    for _ in 0..5 {
        client.set_effective_config(AgentConfigMap::default());
    }
    client.set_health(health("after"));
    let next = peer.message().await;
    assert_eq!((next.sequence_num, next.effective_config), (1, None));
    assert_eq!(next.health.unwrap().status, "after");
}

#[tokio::test]
async fn c29_offers_without_a_config_or_without_bodies_do_not_end_the_client() {
    let server = FakeServer::plain().await;
    let (_client, mut events) = builder(server.url("ws")).start().await.unwrap();
    let mut peer = server.accept().await;
    peer.upgrade().await;
    let message = peer.message().await;
    let hash = Bytes::from_static(b"h1");
    let nothing = AgentRemoteConfig { config: None, config_hash: hash };
    peer.push(&ServerToAgent { remote_config: Some(nothing), ..answer_to(&message) }).await;
    assert_eq!(status(&mut peer).await.1, 3);
    let files = [("a".to_owned(), AgentConfigFile::default())].into();
    let config = Some(AgentConfigMap { config_map: files });
    let bodiless = AgentRemoteConfig { config, config_hash: Bytes::from_static(b"h2") };
    peer.push(&ServerToAgent { remote_config: Some(bodiless), ..answer_to(&message) }).await;
    assert!(remote_config(&mut events).await.config.config_map["a"].body.is_empty());
}

#[tokio::test]
async fn an_application_that_sleeps_gets_the_latest_configuration_only() {
    let server = FakeServer::plain().await;
    let (_client, mut events) = builder(server.url("ws")).start().await.unwrap();
    let mut peer = server.accept().await;
    peer.upgrade().await;
    let message = peer.message().await;
    for hash in ["h1", "h2", "h3"] {
        peer.push(&offer(&message, hash, "x")).await;
        assert_eq!(status(&mut peer).await.0, hash);
    }
    assert_eq!(remote_config(&mut events).await.hash, "h3");
}
