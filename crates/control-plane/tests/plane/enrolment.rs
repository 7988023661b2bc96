//! Enrolment tokens: who may come in, who may stay, what revocation does.

use std::time::Duration;

use api::tokens::NewToken;
use opamp_proto::wire::{AgentToServer, Message};
use testkit::raw::Connection;
use testkit::soon;

use crate::world::{World, agent_when, bearer, full, heartbeat};

/// One POST of a message with a token; its status.
async fn post(world: &World, token: &str, message: &AgentToServer) -> u16 {
    let mut connection = Connection::to(world.opamp).await;
    connection.post(&[("authorization", &bearer(token))], &message.encode_to_vec()).await.status
}

fn label(label: &str) -> NewToken {
    NewToken { label: label.to_owned(), expires_in_seconds: None }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn auth_3_without_a_good_token_neither_transport_lets_anyone_in() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let basic = "Basic YWdlbnQ6d3Jvbmc=".to_owned();
    for value in [None, Some(bearer("mst_wrong")), Some(basic), Some("Bearer".to_owned())] {
        let headers: Vec<(&str, &str)> =
            value.iter().map(|value| ("authorization", value.as_str())).collect();
        let mut connection = Connection::to(world.opamp).await;
        let answer = connection.upgrade("/v1/opamp", &headers).await;
        assert_eq!((answer.status, answer.header("www-authenticate").is_empty()), (401, false), "{value:?}");
        let mut connection = Connection::to(world.opamp).await;
        assert_eq!(connection.post(&headers, &full(1).encode_to_vec()).await.status, 401, "{value:?}");
    }
    assert_eq!(world.admin().await.agents(&Default::default()).await.unwrap().total, 0);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_was_made_enrols_and_counts_its_agents() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let made = admin.create_token(&label("edge")).await.unwrap();
    assert!(made.token.starts_with("mst_") && made.item.label == "edge");
    assert_eq!(post(&world, &made.token, &full(1)).await, 200);
    let agent = agent_when(&admin, 1, "the agent", |_| true).await;
    let credential = agent.credential.unwrap();
    assert_eq!((credential.id.as_str(), credential.label.as_str()), (made.item.id.as_str(), "edge"));
    let listed = admin.tokens().await.unwrap().items;
    let listed = listed.iter().find(|token| token.id == made.item.id).unwrap();
    assert_eq!(listed.agents, 1);
    assert!(listed.last_used_at.is_some());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_token_closes_for_new_agents_only() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let new = NewToken { label: "short".to_owned(), expires_in_seconds: Some(5) };
    let made = admin.create_token(&new).await.unwrap();
    assert_eq!(post(&world, &made.token, &full(1)).await, 200);
    // The five seconds pass on the server's clock; agents that are new are tried until it has.
    let mut number = 10;
    soon("the expiry", async {
        while post(&world, &made.token, &full(number)).await == 200 {
            number += 1;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
    assert_eq!(post(&world, &made.token, &full(number)).await, 401);
    // The agent that it enrolled stays, also on a new connection and over the other transport.
    assert_eq!(post(&world, &made.token, &heartbeat(1, 1)).await, 200);
    let headers = [("authorization", bearer(&made.token))];
    let mut socket = Connection::websocket(world.opamp, &[(headers[0].0, &headers[0].1)]).await;
    assert!(socket.ask(&full(1)).await.error_response.is_none());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_uid_is_bound_to_the_token_that_enrolled_it() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let (first, second) =
        (admin.create_token(&label("a")).await.unwrap(), admin.create_token(&label("b")).await.unwrap());
    assert_eq!(post(&world, &first.token, &full(1)).await, 200);
    assert_eq!(post(&world, &second.token, &full(1)).await, 401);
    let mut socket = Connection::websocket(world.opamp, &[("authorization", &bearer(&second.token))]).await;
    socket.send_message(&full(1)).await;
    assert_eq!(socket.next().await.unwrap().close_code(), Some(1008));
    let agent = agent_when(&admin, 1, "the agent", |_| true).await;
    assert_eq!(agent.credential.unwrap().label, "a");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn revoke_2_revoke_3_revocation_ends_live_sessions_with_1008_and_later_ones_with_401() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let made = admin.create_token(&label("edge")).await.unwrap();
    let authorization = bearer(&made.token);
    let mut socket = Connection::websocket(world.opamp, &[("authorization", &authorization)]).await;
    socket.ask(&full(1)).await;
    assert_eq!(post(&world, &made.token, &full(2)).await, 200);
    // Connected, but not heard yet.
    let mut idle = Connection::websocket(world.opamp, &[("authorization", &authorization)]).await;
    let mut bystander = world.websocket().await;
    bystander.ask(&full(3)).await;
    for number in [1, 2, 3] {
        agent_when(&admin, number, "three agents", |agent| agent.summary.state == "connected").await;
    }

    admin.revoke_token(&made.item.id).await.unwrap();

    let close = soon("the close frame", socket.next()).await.unwrap();
    assert_eq!(close.close_code(), Some(1008));
    idle.send_message(&full(4)).await;
    assert_eq!(idle.next().await.unwrap().close_code(), Some(1008));
    for number in [1, 2] {
        agent_when(&admin, number, "the end of its session", |agent| agent.summary.state == "disconnected")
            .await;
        assert_eq!(post(&world, &made.token, &heartbeat(number, 1)).await, 401);
    }
    let mut again = Connection::to(world.opamp).await;
    assert_eq!(again.upgrade("/v1/opamp", &[("authorization", &authorization)]).await.status, 401);
    // Nobody else was disturbed.
    assert!(bystander.ask(&heartbeat(3, 1)).await.error_response.is_none());
    let listed = admin.tokens().await.unwrap().items;
    assert!(listed.iter().any(|token| token.id == made.item.id && token.revoked_at.is_some()));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_whose_token_was_revoked_comes_back_with_another() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let first = admin.create_token(&label("a")).await.unwrap();
    assert_eq!(post(&world, &first.token, &full(1)).await, 200);
    admin.revoke_token(&first.item.id).await.unwrap();
    let second = admin.create_token(&label("b")).await.unwrap();
    assert_eq!(post(&world, &second.token, &full(1)).await, 200);
    agent_when(&admin, 1, "the new binding", |agent| {
        agent.credential.as_ref().is_some_and(|credential| credential.label == "b")
            && agent.summary.state == "connected"
    })
    .await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn auth_1_the_token_is_also_taken_as_the_password_of_basic_authentication() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let url = format!("http://{}/v1/opamp", world.opamp);
    let request = reqwest::Client::new().post(url).basic_auth("anyone", Some(world.token()));
    let request = request.header("content-type", "application/x-protobuf").body(full(1).encode_to_vec());
    assert_eq!(request.send().await.unwrap().status(), 200);
    world.stop().await;
}
