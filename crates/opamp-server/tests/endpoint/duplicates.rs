//! One instance_uid on two connections: a reconnect, or two agents.

use std::time::Duration;

use opamp_proto::InstanceUid;
use opamp_proto::wire::AgentToServer;
use opamp_server::{Disconnect, Settings};
use testkit::raw::Connection;
use testkit::soon;

use crate::application::{Heard, World, bare, full, uid};

#[tokio::test]
async fn dup_5_a_second_agent_with_the_same_uid_is_given_another() {
    let world = World::new().await;
    let mut first = Connection::websocket(world.address, &[]).await;
    first.ask(&full(1, 0)).await;
    let mut second = Connection::websocket(world.address, &[]).await;
    second.send_message(&full(1, 0)).await;
    let ping = first.next().await.expect("dup_4: the first is asked whether it lives");
    assert_eq!(ping.opcode, 9);
    first.send(10, &ping.payload).await;
    let answer = second.next().await.expect("an answer").message();
    assert_eq!(answer.instance_uid, uid(1).to_bytes(), "uid_12");
    let new = answer.agent_identification.expect("dup_7").new_instance_uid;
    let again =
        second.ask(&bare(1, 1)).await.agent_identification.expect("until it is used").new_instance_uid;
    assert_eq!(new, again);
    let adopted = AgentToServer { instance_uid: new.clone(), ..full(1, 2) };
    assert_eq!(second.ask(&adopted).await.agent_identification, None);
    assert_eq!(first.ask(&bare(1, 1)).await.agent_identification, None, "the first keeps its own");
    let uid = InstanceUid::try_from_slice(&new).unwrap();
    assert!(world.server.agents().get(uid).is_some());
    assert_eq!(world.server.agents().len(), 2);
}

#[tokio::test]
async fn dup_4_a_reconnect_over_a_dead_connection_keeps_its_uid() {
    let settings = Settings { probe_timeout: Duration::from_millis(300), ..Settings::default() };
    let world = World::with(settings).await;
    let mut first = Connection::websocket(world.address, &[]).await;
    first.ask(&full(1, 0)).await;
    // The first says nothing more, as behind a network that was unplugged.
    let mut second = Connection::websocket(world.address, &[]).await;
    let answer = soon("the probe to time out", second.ask(&full(1, 1))).await;
    assert_eq!((answer.agent_identification, answer.error_response), (None, None));
    assert_eq!(answer.capabilities, 7, "scap_3");
    assert_eq!(world.server.agents().len(), 1);
    drop(first);
    assert_eq!(second.ask(&bare(1, 2)).await.flags, 0);
    assert!(world.server.agents().get(uid(1)).is_some(), "the old connection's end takes nobody away");
}

#[tokio::test]
async fn a_reconnect_after_an_orderly_end_is_no_duplicate() {
    let world = World::new().await;
    for sequence in 0..3 {
        let mut connection = Connection::websocket(world.address, &[]).await;
        let answer = connection.ask(&full(1, sequence)).await;
        assert_eq!((answer.agent_identification, answer.flags), (None, 0));
        connection.stream.set_zero_linger().expect("linger");
    }
}

#[tokio::test]
async fn dup_4_two_pollers_with_one_uid_are_told_apart_by_their_counters() {
    let world = World::new().await;
    let mut connection = Connection::to(world.address).await;
    let mut renamed = 0;
    for step in 0..6 {
        for start in [10, 500] {
            let answer = connection.exchange(&[], &full(1, start + step)).await.message();
            renamed += usize::from(answer.agent_identification.is_some());
        }
    }
    assert!(renamed >= 1, "one of them was given another instance_uid");
}

#[tokio::test]
async fn an_agent_may_change_its_transport() {
    let world = World::new().await;
    let mut polling = Connection::to(world.address).await;
    polling.exchange(&[], &full(1, 0)).await;
    let mut connection = Connection::websocket(world.address, &[]).await;
    assert_eq!(connection.ask(&full(1, 1)).await.agent_identification, None);
    world.until_heard(Heard::Disconnected(uid(1), Disconnect::Moved)).await;
    assert_eq!(world.server.agents().len(), 1);
}
