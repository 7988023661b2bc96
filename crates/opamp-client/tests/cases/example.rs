//! The example of the crate's documentation, as it stands there, against a server.

use opamp_client::proto::wire::{CommandType, ServerToAgent, ServerToAgentCommand};
use testkit::{FakeServer, soon};

use crate::support::*;

#[path = "../../examples/minimal.rs"]
#[allow(dead_code, reason = "its main is not called here")]
mod minimal;

#[tokio::test]
async fn the_documented_example_connects_keeps_its_identity_and_ends_when_asked() {
    let state = tempfile::tempdir().unwrap();
    let state = state.path().to_str().unwrap();
    let server = FakeServer::plain().await;
    let url = server.url("ws");
    let script = async {
        let mut peer = server.accept().await;
        peer.upgrade().await;
        let first = acknowledge(&mut peer).await;
        let command = Some(ServerToAgentCommand { r#type: CommandType::Restart.into() });
        peer.push(&ServerToAgent { command, ..answer_to(&first) }).await;
        assert!(peer.message().await.agent_disconnect.is_some());
        peer.frame().await;
        peer.send_close(1000, "").await;
        first
    };
    let (ended, first) = tokio::join!(soon("the example's end", minimal::run(&url, state)), script);
    ended.unwrap();
    let name = &first.agent_description.unwrap().identifying_attributes[0];
    assert_eq!(name.key, "service.name");

    let script = async {
        let mut peer = server.accept().await;
        peer.upgrade().await;
        acknowledge(&mut peer).await
    };
    let again = tokio::select! {
        _ = minimal::run(&url, state) => panic!("the example ended"),
        message = script => message,
    };
    assert_eq!(again.instance_uid, first.instance_uid);
}
