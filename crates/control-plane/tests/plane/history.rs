//! What happened to an agent, and what it says right now, through the API.

use opamp_proto::wire::EffectiveConfig;
use serde_json::{Value, json};
use testkit::Operator;

use crate::fleet::{agent, first};
use crate::world::{World, agent_when, config, full, heartbeat, uid};

const FILES: &str = "receivers: {otlp: {}}\n";

fn actions(timeline: &Value) -> Vec<&str> {
    timeline["items"].as_array().unwrap().iter().map(|item| item["action"].as_str().unwrap()).collect()
}

async fn assigned(operator: &Operator) -> String {
    let files = json!([{ "name": "a.yaml", "body": FILES }]);
    operator.done("POST", "/configs", json!({ "name": "web", "files": files })).await;
    let body = json!({ "config": "web", "selector": "", "batch_percent": 100 });
    operator.done("POST", "/assignments", body).await["id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_timeline_of_an_agent_names_who_caused_what() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let operator = first(&world).await;
    let _agent = agent(&world, &world.token(), 1);
    let one = testkit::obedient::uid(1).to_string();
    let path = format!("/agents/{one}");
    operator.when("the agent", &path, |seen| seen["state"] == "connected").await;
    let id = assigned(&operator).await;
    operator.when("in sync", &path, |seen| seen["config"]["state"] == "in sync").await;
    let label = json!({ "agents": [one], "set": { "ring": "0" } });
    operator.done("POST", "/labels", label).await;
    operator.done("PUT", &format!("{path}/labels"), json!({ "labels": { "ring": "1" } })).await;
    let other = json!({ "agents": [uid(200).to_string()], "set": { "ring": "9" } });
    operator.done("POST", "/labels", other).await;

    let timeline = operator.when("a timeline", &format!("{path}/timeline"), |_| true).await;
    let found = actions(&timeline);
    assert_eq!(found.iter().filter(|action| **action == "label.change").count(), 2, "{timeline:#}");
    for action in ["agent.first-seen", "agent.enrolled", "agent.connected", "assignment.create"] {
        assert!(found.contains(&action), "{action} in {timeline:#}");
    }
    let items = timeline["items"].as_array().unwrap();
    let create = items.iter().find(|item| item["action"] == "assignment.create").unwrap();
    assert_eq!(create["object"], format!("assignment/{id}"));
    assert_eq!(create["actor"], json!({ "kind": "user", "name": "admin" }));
    let times: Vec<_> = items.iter().map(|item| item["at"].as_str().unwrap()).collect();
    assert!(times.is_sorted_by(|one, other| one >= other), "the newest first: {times:?}");
    world.stop().await;
}

/// A heartbeat with another configuration.
fn changed(number: u8, sequence_num: u64, config: EffectiveConfig) -> opamp_proto::wire::AgentToServer {
    opamp_proto::wire::AgentToServer { effective_config: Some(config), ..heartbeat(number, sequence_num) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_are_kept_while_somebody_looks_and_secrets_in_them_are_masked() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let mut websocket = world.websocket().await;
    websocket.ask(&full(1)).await;
    agent_when(&admin, 1, "the agent", |_| true).await;
    let one = uid(1).to_string();
    assert_eq!(admin.messages(&one).await.unwrap().items, vec![], "nobody looked before");

    let secret = config("", "exporters:\n  a:\n    password: open-sesame\n");
    websocket.ask(&changed(1, 1, secret)).await;
    let seen = admin.messages(&one).await.unwrap().items;
    let told: Vec<_> = seen.iter().map(|message| message.direction.as_str()).collect();
    assert_eq!(told, ["to agent", "from agent"], "the newest first");
    let said = seen[1].body.clone().unwrap();
    assert_eq!((&said["instance_uid"], &said["sequence_num"]), (&json!(one), &json!("1")));
    let file = said["effective_config"][""].as_str().unwrap();
    assert!(file.contains("password") && !file.contains("open-sesame"), "{file}");
    assert_eq!(seen[0].body.as_ref().unwrap()["instance_uid"], json!(one));
    world.stop().await;
}
