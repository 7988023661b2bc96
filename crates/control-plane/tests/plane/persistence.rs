//! What survives a restart: everything.

use testkit::raw::Connection;

use crate::world::{World, agent_when, full, heartbeat};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s9_agents_tokens_and_logins_survive_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let (password, token) = (world.first.admin_password.clone().unwrap(), world.token());
    let mut socket = world.websocket().await;
    socket.ask(&full(1)).await;
    let before = agent_when(&admin, 1, "the agent", |agent| agent.effective_config.is_some()).await;
    world.stop().await;

    let world = World::start(dir.path()).await;
    assert!(world.first.admin_password.is_none() && world.first.enrolment_token.is_none());
    let admin = world.log_in(&password).await;
    let after = admin.agent(&before.summary.instance_uid).await.unwrap();
    assert_eq!(after.summary.state, "disconnected");
    assert_eq!(after.effective_config, before.effective_config);
    assert_eq!(after.description, before.description);
    assert_eq!(after.health, before.health);
    assert_eq!(after.first_seen, before.first_seen);
    let authorization = format!("Bearer {token}");
    let mut socket = Connection::websocket(world.opamp, &[("authorization", &authorization)]).await;
    // The new server knows the row but not the session: it asks for the full state once.
    let answer = socket.ask(&heartbeat(1, 5)).await;
    assert_eq!(answer.flags & 1, 1);
    let full_again = opamp_proto::wire::AgentToServer { sequence_num: 6, ..full(1) };
    assert_eq!(socket.ask(&full_again).await.flags & 1, 0);
    agent_when(&admin, 1, "the agent again", |agent| agent.summary.state == "connected").await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s33_a_server_that_stops_closes_every_websocket_with_1001() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let (mut first, mut second) = (world.websocket().await, world.websocket().await);
    first.ask(&full(1)).await;
    second.ask(&full(2)).await;
    let frames = async {
        let frame = first.next().await.unwrap();
        first.send(8, &1001_u16.to_be_bytes()).await;
        let other = second.next().await.unwrap();
        second.send(8, &1001_u16.to_be_bytes()).await;
        (frame.close_code(), other.close_code())
    };
    let ((), codes) = tokio::join!(world.stop(), frames);
    assert_eq!(codes, (Some(1001), Some(1001)));
}
