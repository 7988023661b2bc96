//! What an agent is to run, when the agent itself keeps changing the answer, and what it runs, when nobody told it.

use opamp_proto::wire::{
    AgentCapabilities as Bit, AgentToServer, RemoteConfigStatus, RemoteConfigStatuses, ServerToAgent,
};
use serde_json::{Value, json};
use testkit::Operator;

use crate::fleet::first;
use crate::world::{World, attribute, config, full, uid};

const OFFERED: &str = "exporters: {otlp: {endpoint: \"a:1\"}}\n";
const BY_HAND: &str = "exporters: {otlp: {endpoint: \"b:2\"}}\n";

/// Assigns a configuration to the agents of a selector and waits until there is nobody to wait for.
async fn assign(operator: &Operator, name: &str, selector: &str, body: &str) {
    let files = json!([{ "name": "collector.yaml", "body": body }]);
    operator.done("POST", "/configs", json!({ "name": name, "files": files })).await;
    let new = json!({ "config": name, "selector": selector, "batch_percent": 100 });
    let made = operator.done("POST", "/assignments", new).await;
    let path = format!("/assignments/{}", made["id"].as_str().unwrap());
    operator.when("nobody to wait for", &path, |one| one["state"] == "done").await;
}

fn able(sequence_num: u64) -> AgentToServer {
    let bits = Bit::AcceptsRemoteConfig as u64 | Bit::ReportsRemoteConfig as u64;
    let report = full(1);
    AgentToServer { sequence_num, capabilities: report.capabilities | bits, ..report }
}

fn applied(hash: &[u8]) -> Option<RemoteConfigStatus> {
    let (status, last_remote_config_hash) = (RemoteConfigStatuses::Applied.into(), hash.to_vec().into());
    Some(RemoteConfigStatus { last_remote_config_hash, status, ..RemoteConfigStatus::default() })
}

fn path() -> String {
    format!("/agents/{}", uid(1))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_keeps_changing_its_description_is_offered_a_few_configurations_and_then_waits() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let operator = first(&world).await;
    assign(&operator, "prod", "env=prod", "prod: 1\n").await;
    assign(&operator, "dev", "env=dev", "dev: 1\n").await;
    let in_env = |sequence_num, env: &str| {
        let mut report = able(sequence_num);
        let description = report.agent_description.as_mut().unwrap();
        description.non_identifying_attributes.push(attribute("env", env));
        report
    };
    let mut socket = world.websocket().await;
    let mut offers = 0;
    for number in 0..40 {
        let env = ["prod", "dev", "none"][number as usize % 3];
        let answer: ServerToAgent = socket.ask(&in_env(number, env)).await;
        offers += usize::from(answer.remote_config.is_some());
    }
    assert!((2..=6).contains(&offers), "{offers} offers for forty flips");
    let waits =
        |agent: &Value| agent["config"]["reason"].as_str().is_some_and(|why| why.contains("too often"));
    operator.when("the reason", &path(), waits).await;
    // An operator is not held up by that.
    let pin = json!({ "config": "dev", "revision": 1 });
    operator.done("PUT", &format!("{}/config", path()), pin).await;
    operator.when("the pin", &path(), |agent| agent["config"]["config"] == "dev").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drift_is_found_on_an_agent_that_held_the_configuration_before_it_was_told() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let operator = first(&world).await;
    assign(&operator, "web", "", OFFERED).await;
    let mut socket = world.websocket().await;
    let hash = socket.ask(&able(0)).await.remote_config.unwrap().config_hash;
    drop(socket);
    operator.when("its leave", &path(), |agent| agent["state"] == "disconnected").await;

    // Somebody changed the file by hand while it was away, and it says what it runs before it says what it holds.
    let mut socket = world.websocket().await;
    let runs = able(0);
    socket.ask(&AgentToServer { effective_config: Some(config("", BY_HAND)), ..runs.clone() }).await;
    let says = AgentToServer {
        instance_uid: runs.instance_uid.clone(),
        capabilities: runs.capabilities,
        sequence_num: 1,
        remote_config_status: applied(&hash),
        ..AgentToServer::default()
    };
    socket.ask(&says).await;
    let seen = operator.when("the drift", &path(), |agent| agent["config"]["state"] == "drifted").await;
    let expected = json!([{ "path": "exporters.otlp.endpoint", "offered": "a:1", "effective": "b:2" }]);
    assert_eq!(seen["drift"], expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drift_is_found_when_a_server_starts_and_when_what_an_agent_holds_is_assigned_later() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let (token, password) = (world.token(), world.first.admin_password.clone().unwrap());
    let operator = first(&world).await;
    let files = json!([{ "name": "collector.yaml", "body": OFFERED }]);
    let made = operator.done("POST", "/configs", json!({ "name": "web", "files": files })).await;
    let hash = hex::decode(made["hash"].as_str().unwrap()).unwrap();
    let holds = AgentToServer {
        effective_config: Some(config("", BY_HAND)),
        remote_config_status: applied(&hash),
        ..able(0)
    };
    let mut socket = world.websocket().await;
    socket.ask(&holds).await;
    operator.when("the agent", &path(), |agent| agent["state"] == "connected").await;
    let new = json!({ "config": "web", "selector": "", "batch_percent": 100 });
    operator.done("POST", "/assignments", new).await;
    operator.when("the drift", &path(), |agent| agent["config"]["state"] == "drifted").await;
    drop(socket);
    world.stop().await;

    let world = World::start(dir.path()).await;
    let operator = crate::fleet::operator(&world, &password).await;
    let bearer = crate::world::bearer(&token);
    let headers = [("authorization", bearer.as_str())];
    let mut socket = testkit::raw::Connection::websocket(world.opamp, &headers).await;
    let repaired = AgentToServer { effective_config: Some(config("", OFFERED)), ..holds.clone() };
    socket.ask(&repaired).await;
    operator.when("the repair", &path(), |agent| agent["config"]["state"] == "in sync").await;
    socket.ask(&AgentToServer { sequence_num: 1, ..holds }).await;
    operator.when("the drift", &path(), |agent| agent["config"]["state"] == "drifted").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_say_how_many_agents_a_stronger_assignment_has_and_which_failures_are_recent() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let operator = first(&world).await;
    let token = world.token();
    let agents: Vec<_> = (1..=4).map(|number| crate::fleet::agent(&world, &token, number)).collect();
    operator.when("the agents", "/overview", |seen| seen["agents"]["connected"] == 4).await;
    let files = |body: &str| json!([{ "name": "collector.yaml", "body": body }]);
    for (name, body) in [("web", OFFERED), ("bad", "broken: 1\n")] {
        operator.done("POST", "/configs", json!({ "name": name, "files": files(body) })).await;
    }
    let assign = async |config: &str, selector: &str, priority: i32| {
        let new =
            json!({ "config": config, "selector": selector, "priority": priority, "batch_percent": 100 });
        operator.done("POST", "/assignments", new).await["id"].as_str().unwrap().to_owned()
    };
    let everybody = assign("web", "", 0).await;
    let bad = assign("bad", "host.name in (host-1,host-2,host-3)", 5).await;
    let negated = assign("web", "host.name!=host-4", 1).await;
    let pin = json!({ "config": "web", "revision": 1 });
    operator.done("PUT", &format!("/agents/{}/config", testkit::obedient::uid(3)), pin).await;
    operator.when("the failures", "/overview", |seen| seen["config"]["failed"] == 2).await;

    // Agents 1 and 2 are the strongest's, 3 is pinned and counts nowhere, 4 is nobody else's.
    let listed = operator.done("GET", "/assignments", Value::Null).await;
    let outranked = |id: &str| {
        let found = listed["items"].as_array().unwrap().iter().find(|one| one["id"] == id);
        found.unwrap()["progress"]["outranked"].clone()
    };
    assert_eq!((outranked(&bad), outranked(&negated), outranked(&everybody)), (json!(0), json!(2), json!(2)));
    for id in [&bad, &negated, &everybody] {
        let one = operator.done("GET", &format!("/assignments/{id}"), Value::Null).await;
        assert_eq!(one["progress"]["outranked"], outranked(id), "the list and the assignment itself agree");
    }
    let failures = operator.when("their cause", "/overview", |seen| seen["failures"][0]["agents"] == 2).await;
    assert_eq!(failures["failures"][0]["error"], testkit::obedient::FAILURE);
    assert_eq!(failures["failures"].as_array().unwrap().len(), 1);

    // What failed before a restart is old; that it fails is shown all the same.
    let password = world.first.admin_password.clone().unwrap();
    drop(agents);
    world.stop().await;
    let world = World::start(dir.path()).await;
    let operator = crate::fleet::operator(&world, &password).await;
    let seen = operator.done("GET", "/overview", Value::Null).await;
    assert_eq!((&seen["config"]["failed"], &seen["failures"]), (&json!(2), &json!([])));

    let keys = operator.done("GET", "/agents/attribute-keys?prefix=SERVICE.", Value::Null).await;
    assert_eq!(keys["items"], json!(["service.instance.id", "service.name"]));
    let keys = operator.done("GET", "/agents/attribute-keys?limit=1", Value::Null).await;
    assert_eq!(keys["items"], json!(["host.name"]));
    assert_eq!(operator.call("GET", "/agents/attribute-keys?limit=0", Value::Null).await.0, 400);
    let none = operator.done("GET", "/agents/attribute-keys?prefix=%25", Value::Null).await;
    assert_eq!(none["items"], json!([]), "a percent sign is a percent sign");
}
