//! Configurations from the operator's hand to the agents, through the API and over the wire.

use opamp_proto::wire::{AgentCapabilities as Bit, AgentToServer, RemoteConfigStatus, RemoteConfigStatuses};
use serde_json::{Value, json};

use testkit::obedient::{FAILURE, uid};
use testkit::{Obedient, Operator};

use crate::fleet::{agent, first, operator as log_in};
use crate::world::{World, full};

pub(crate) const GOOD: &str = "receivers: {otlp: {}}\n";

pub(crate) fn file(body: &str) -> Value {
    json!([{ "name": "collector.yaml", "body": body }])
}

pub(crate) async fn config(operator: &Operator, body: &str) {
    operator.done("POST", "/configs", json!({ "name": "web", "files": file(body) })).await;
}

pub(crate) async fn revise(operator: &Operator, body: &str) {
    operator.done("POST", "/configs/web/revisions", json!({ "files": file(body), "message": "more" })).await;
}

/// Assigns the last revision to everybody at once.
async fn assign(operator: &Operator, more: Value) -> String {
    let mut body = json!({ "config": "web", "selector": "", "batch_percent": 100 });
    for (key, value) in more.as_object().unwrap() {
        body[key] = value.clone();
    }
    operator.done("POST", "/assignments", body).await["id"].as_str().unwrap().to_owned()
}

/// Agents that are connected.
pub(crate) async fn fleet(world: &World, operator: &Operator, token: &str, count: u32) -> Vec<Obedient> {
    let agents = (1..=count).map(|number| agent(world, token, number)).collect();
    operator.when("the agents", "/overview", |seen| seen["agents"]["connected"] == count).await;
    agents
}

pub(crate) fn path_of(number: u32) -> String {
    format!("/agents/{}", uid(number))
}

async fn state(operator: &Operator, number: u32, state: &str) -> Value {
    operator.when(state, &path_of(number), |agent| agent["config"]["state"] == state).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s3_an_assigned_configuration_reaches_a_connected_agent_at_once_and_its_word_is_shown() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let operator = first(&world).await;
    let [one] = &fleet(&world, &operator, &world.token(), 1).await[..] else { panic!("one agent") };
    config(&operator, GOOD).await;
    let id = assign(&operator, json!({})).await;
    let seen = state(&operator, 1, "in sync").await;
    assert_eq!(seen["config"]["config"], "web");
    assert_eq!((&seen["config"]["revision"], &seen["config"]["assignment"]), (&json!(1), &json!(id)));
    assert_eq!(seen["offered"]["files"][0]["body"], GOOD);
    assert_eq!(one.offers(), [GOOD]);
    let done = operator.when("the end", &format!("/assignments/{id}"), |one| one["state"] == "done").await;
    let trail = operator.done("GET", "/audit?object=assignment", Value::Null).await;
    let actions: Vec<_> = trail["items"].as_array().unwrap().iter().map(|one| &one["action"]).collect();
    assert_eq!(actions, ["assignment.done", "assignment.create"]);
    assert_eq!((&done["settled_revision"], &done["progress"]["applied"]), (&json!(1), &json!(1)));
    let overview = operator.done("GET", "/overview", Value::Null).await;
    assert_eq!(overview["config"]["in_sync"], 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s9_what_is_assigned_survives_a_restart_and_is_not_offered_again() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let (token, password) = (world.token(), world.first.admin_password.clone().unwrap());
    let operator = first(&world).await;
    let before = fleet(&world, &operator, &token, 1).await;
    config(&operator, GOOD).await;
    assign(&operator, json!({})).await;
    let seen = state(&operator, 1, "in sync").await;
    let hash = hex::decode(seen["offered"]["hash"].as_str().unwrap()).unwrap();
    drop(before);
    world.stop().await;
    let world = World::start(dir.path()).await;
    let operator = log_in(&world, &password).await;
    let holds = Obedient::start(world.opamp, &token, 1, Some((&hash, GOOD)));
    let fresh = agent(&world, &token, 2);
    state(&operator, 2, "in sync").await;
    state(&operator, 1, "in sync").await;
    assert_eq!((holds.offers(), fresh.offers()), (vec![], vec![GOOD.to_owned()]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_revision_touches_only_the_first_batch_and_an_older_one_repairs_it() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let operator = first(&world).await;
    let agents = fleet(&world, &operator, &world.token(), 10).await;
    config(&operator, GOOD).await;
    let id = assign(&operator, json!({})).await;
    let path = format!("/assignments/{id}");
    operator.when("the good one", &path, |one| one["state"] == "done").await;
    revise(&operator, "broken: {}\n").await;
    let (status, _) = operator
        .call("POST", &format!("{path}/revision"), json!({ "revision": 2, "batch_percent": 20 }))
        .await;
    assert_eq!(status, 200);
    let paused = operator.when("the pause", &path, |one| one["state"] == "paused").await;
    assert_eq!(paused["pause"]["kind"], "failed");
    assert_eq!(paused["pause"]["text"], FAILURE);
    let uid = paused["pause"]["agent"].as_str().unwrap();
    let agent = operator.done("GET", &format!("/agents/{uid}"), Value::Null).await;
    assert_eq!((&paused["pause"]["agent_name"], &paused["pause"]["host"]), (&agent["name"], &agent["host"]));
    assert!(agent["name"].is_string() && agent["host"].is_string(), "{agent}");
    let paused = operator.when("figures", &path, |one| one["progress"]["failed"] == 2).await;
    assert_eq!((&paused["progress"]["released"], &paused["progress"]["waiting"]), (&json!(2), &json!(8)));
    let touched = |agents: &[Obedient]| agents.iter().filter(|agent| agent.offers().len() == 2).count();
    assert_eq!(touched(&agents), 2);
    // What was given to an agent is not what it runs: the preview says how it stands with that.
    let asked = json!({ "config": "web", "selector": "", "revision": 1 });
    let preview = operator.done("POST", "/assignments/preview", asked).await;
    let failed = preview["agents"].as_array().unwrap().iter().filter(|one| one["state"] == "failed");
    assert_eq!(failed.count(), 2, "{preview}");

    // Resumed, it goes one batch further and stops again.
    operator.done("POST", &format!("{path}/resume"), json!(null)).await;
    operator.when("the next pause", &path, |one| one["state"] == "paused").await;
    assert_eq!(touched(&agents), 4);
    let failures = operator.done("GET", &format!("{path}/agents?state=failed"), Value::Null).await;
    assert_eq!(failures["total"], 4);
    assert_eq!(failures["items"][0]["error"], FAILURE);

    // Rolled back, those that have it get the old one, and only they.
    operator.done("POST", &format!("{path}/revision"), json!({ "revision": 1, "batch_percent": 100 })).await;
    let done = operator.when("the repair", &path, |one| one["state"] == "done").await;
    assert_eq!(done["settled_revision"], 1);
    let repaired = agents.iter().filter(|agent| agent.offers().len() == 3).count();
    assert_eq!((touched(&agents), repaired), (0, 4));
    operator.when("all in sync", "/overview", |seen| seen["config"]["in_sync"] == 10).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollout_that_makes_agents_ill_stops_and_one_that_is_aborted_stays_where_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let (token, password) = (world.token(), world.first.admin_password.clone().unwrap());
    let operator = first(&world).await;
    let mut agents = fleet(&world, &operator, &token, 5).await;
    config(&operator, "poison: {}\n").await;
    let id = assign(&operator, json!({ "batch_percent": 20 })).await;
    let path = format!("/assignments/{id}");
    let paused = operator.when("the pause", &path, |one| one["state"] == "paused").await;
    assert_eq!(paused["pause"]["kind"], "health lost");
    operator.done("POST", &format!("{path}/abort"), json!({ "reason": "it makes them ill" })).await;
    let (status, problem) = operator.call("POST", &format!("{path}/resume"), Value::Null).await;
    assert_eq!((status, &problem["detail"]), (409, &json!("only a rollout that is paused can be resumed")));
    // Nobody else gets it, over a restart too.
    agents.clear();
    world.stop().await;
    let world = World::start(dir.path()).await;
    let operator = log_in(&world, &password).await;
    for number in 1..=6 {
        agents.push(agent(&world, &token, number));
    }
    operator
        .when("all of them", "/overview", |seen| {
            seen["config"]["in_sync"] == 1 && seen["agents"]["connected"] == 6
        })
        .await;
    let offered: usize = agents.iter().map(|agent| agent.offers().len()).sum();
    assert_eq!(offered, 1, "the one that had it and came back without it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_agent_gets_follows_the_selector_and_ends_with_the_assignment() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let operator = first(&world).await;
    let [one] = &fleet(&world, &operator, &world.token(), 1).await[..] else { panic!("one agent") };
    config(&operator, GOOD).await;
    let id = assign(&operator, json!({ "selector": "host.name=host-1" })).await;
    state(&operator, 1, "in sync").await;
    let elsewhere = assign(&operator, json!({ "selector": "host.name=elsewhere", "priority": 9 })).await;
    state(&operator, 1, "in sync").await;
    operator.done("DELETE", &format!("/assignments/{id}"), Value::Null).await;
    state(&operator, 1, "unmanaged").await;
    assert_eq!(one.offers(), [GOOD], "it runs on with what it has");
    operator
        .done("PATCH", &format!("/assignments/{elsewhere}"), json!({ "selector": "host.name=host-1" }))
        .await;
    state(&operator, 1, "in sync").await;
    assert_eq!(one.offers().len(), 1, "it has that one already");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_assignment_that_is_cleared_takes_its_configuration_back_and_goes() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let operator = first(&world).await;
    let [one] = &fleet(&world, &operator, &world.token(), 1).await[..] else { panic!("one agent") };
    config(&operator, GOOD).await;
    let id = assign(&operator, json!({})).await;
    operator.when("the rollout", &format!("/assignments/{id}"), |one| one["state"] == "done").await;
    let (status, _) = operator.call("DELETE", &format!("/assignments/{id}?clear=true"), Value::Null).await;
    assert_eq!(status, 202);
    operator.when("its end", "/assignments", |all| all["total"] == 0).await;
    assert_eq!(one.offers(), [GOOD, ""]);
    state(&operator, 1, "unmanaged").await;
    assert_eq!(operator.call("DELETE", "/configs/web", Value::Null).await.0, 204);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s30_an_agent_that_takes_no_configuration_is_offered_none_and_the_preview_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let operator = first(&world).await;
    let mut socket = world.websocket().await;
    socket.ask(&full(1)).await;
    config(&operator, GOOD).await;
    let asked = json!({ "config": "web", "selector": "" });
    let preview = operator.done("POST", "/assignments/preview", asked).await;
    assert_eq!(
        (&preview["matched"], &preview["incapable"], &preview["gets"]),
        (&json!(1), &json!(1), &json!(0))
    );
    assert_eq!(preview["agents"][0]["reason"], "the agent does not accept remote configuration");
    assign(&operator, json!({})).await;
    let seen = {
        let path = format!("/agents/{}", crate::world::uid(1));
        operator.when("its state", &path, |agent| agent["config"]["state"] == "not configurable").await
    };
    assert_eq!(seen["config"]["reason"], "the agent does not accept remote configuration");
    assert!(socket.is_quiet_for(std::time::Duration::from_millis(300)).await);
    let listed = operator.done("GET", "/agents?config_state=not%20configurable", Value::Null).await;
    assert_eq!(listed["total"], 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pinned_agent_gets_its_revision_until_it_is_let_go() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let operator = first(&world).await;
    let [one] = &fleet(&world, &operator, &world.token(), 1).await[..] else { panic!("one agent") };
    config(&operator, GOOD).await;
    revise(&operator, "receivers: {}\n").await;
    assign(&operator, json!({})).await;
    state(&operator, 1, "in sync").await;
    let path = format!("{}/config", path_of(1));
    operator.done("PUT", &path, json!({ "config": "web", "revision": 1 })).await;
    let pinned = operator.when("the pin", &path_of(1), |seen| seen["config"]["revision"] == 1).await;
    assert_eq!(pinned["config"]["override"], true);
    operator.when("its word", &path_of(1), |seen| seen["config"]["state"] == "in sync").await;
    assert_eq!(operator.call("DELETE", "/configs/web", Value::Null).await.0, 409);
    operator.done("DELETE", &path, Value::Null).await;
    operator
        .when("the assignment", &path_of(1), |seen| {
            seen["config"]["revision"] == 2 && seen["config"]["state"] == "in sync"
        })
        .await;
    assert_eq!(one.offers(), ["receivers: {}\n", GOOD, "receivers: {}\n"]);
    assert_eq!(operator.call("DELETE", &path, Value::Null).await.0, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_runs_something_else_than_it_says_has_drifted() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let operator = first(&world).await;
    config(&operator, "exporters: {otlp: {endpoint: \"a:1\"}}\n").await;
    let id = assign(&operator, json!({})).await;
    operator.when("nobody to wait for", &format!("/assignments/{id}"), |one| one["state"] == "done").await;
    let mut socket = world.websocket().await;
    let bits = Bit::AcceptsRemoteConfig as u64 | Bit::ReportsRemoteConfig as u64;
    let report = AgentToServer { capabilities: full(1).capabilities | bits, ..full(1) };
    let hash = socket.ask(&report).await.remote_config.unwrap().config_hash;
    let says = |sequence_num, runs: &str| AgentToServer {
        instance_uid: report.instance_uid.clone(),
        capabilities: report.capabilities,
        sequence_num,
        effective_config: Some(crate::world::config("", runs)),
        remote_config_status: Some(RemoteConfigStatus {
            last_remote_config_hash: hash.clone(),
            status: RemoteConfigStatuses::Applied.into(),
            ..RemoteConfigStatus::default()
        }),
        ..AgentToServer::default()
    };
    let path = format!("/agents/{}", crate::world::uid(1));
    socket.ask(&says(1, "exporters: {otlp: {endpoint: \"a:1\"}}\nextensions: {}\n")).await;
    // What the agent adds is no drift.
    let runs_it = |agent: &Value| agent["config"]["state"] == "in sync" && agent["drift"] == json!([]);
    operator.when("its word", &path, runs_it).await;
    socket.ask(&says(2, "exporters: {otlp: {endpoint: \"b:2\"}}\n")).await;
    let drifted = |agent: &Value| agent["config"]["state"] == "drifted";
    let seen = operator.when("the drift", &path, drifted).await;
    let expected = json!([{ "path": "exporters.otlp.endpoint", "offered": "a:1", "effective": "b:2" }]);
    assert_eq!(seen["drift"], expected);
    operator.when("its figure", "/overview", |seen| seen["config"]["drifted"] == 1).await;
    socket.ask(&says(3, "exporters: {otlp: {endpoint: \"a:1\"}}\n")).await;
    operator.when("the repair", &path, |agent| agent["config"]["state"] == "in sync").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s10_a_configuration_that_fails_does_not_stop_another_and_one_that_is_deleted_is_withdrawn() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let operator = first(&world).await;
    let agents = fleet(&world, &operator, &world.token(), 2).await;
    operator.done("POST", "/configs", json!({ "name": "bad", "files": file("broken: 1\n") })).await;
    config(&operator, GOOD).await;
    let bad = json!({ "config": "bad", "selector": "host.name=host-1" });
    operator.done("POST", "/assignments", bad).await;
    state(&operator, 1, "failed").await;
    let id = assign(&operator, json!({ "selector": "host.name=host-2" })).await;
    state(&operator, 2, "in sync").await;
    operator.done("DELETE", &format!("/assignments/{id}"), Value::Null).await;
    state(&operator, 2, "unmanaged").await;
    assert_eq!(agents[1].offers(), [GOOD]);
    // Who comes later is offered nothing of it.
    drop(agents);
    operator.when("its end", &path_of(2), |agent| agent["state"] == "disconnected").await;
    let later = agent(&world, &world.token(), 2);
    operator.when("its return", &path_of(2), |agent| agent["state"] == "connected").await;
    state(&operator, 2, "unmanaged").await;
    assert_eq!(later.offers(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s11_an_agent_that_comes_back_with_other_attributes_is_offered_what_they_ask_for() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let operator = first(&world).await;
    for name in ["prod", "dev"] {
        let files = file(&format!("{name}: 1\n"));
        operator.done("POST", "/configs", json!({ "name": name, "files": files })).await;
        let new = json!({ "config": name, "selector": format!("env={name}"), "batch_percent": 100 });
        let made = operator.done("POST", "/assignments", new).await;
        let path = format!("/assignments/{}", made["id"].as_str().unwrap());
        operator.when("nobody to wait for", &path, |one| one["state"] == "done").await;
    }
    let bits = Bit::AcceptsRemoteConfig as u64 | Bit::ReportsRemoteConfig as u64;
    let in_env = |sequence_num, env: &str| {
        let mut report = AgentToServer { sequence_num, ..full(1) };
        report.capabilities |= bits;
        let description = report.agent_description.as_mut().unwrap();
        description.non_identifying_attributes.push(crate::world::attribute("env", env));
        report
    };
    let body = |answer: opamp_proto::wire::ServerToAgent| {
        let files = answer.remote_config.unwrap().config.unwrap().config_map;
        String::from_utf8(files["collector.yaml"].body.to_vec()).unwrap()
    };
    let mut socket = world.websocket().await;
    assert_eq!(body(socket.ask(&in_env(0, "prod")).await), "prod: 1\n");
    drop(socket);
    let mut socket = world.websocket().await;
    assert_eq!(body(socket.ask(&in_env(0, "dev")).await), "dev: 1\n");
    // And while it is connected.
    assert_eq!(body(socket.ask(&in_env(1, "prod")).await), "prod: 1\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_stops_a_rollout_although_the_agent_is_gone_at_once_and_its_text_is_fit_for_people() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let operator = first(&world).await;
    let bits = Bit::AcceptsRemoteConfig as u64 | Bit::ReportsRemoteConfig as u64;
    let report = AgentToServer { capabilities: full(1).capabilities | bits, ..full(1) };
    let mut socket = world.websocket().await;
    socket.ask(&report).await;
    operator.when("the agent", "/overview", |seen| seen["agents"]["connected"] == 1).await;
    config(&operator, GOOD).await;
    let made = operator.done("POST", "/assignments", json!({ "config": "web", "selector": "" })).await;
    let hash = socket.next().await.unwrap().message().remote_config.unwrap().config_hash;
    let failed = RemoteConfigStatus {
        last_remote_config_hash: hash,
        status: RemoteConfigStatuses::Failed.into(),
        error_message: "no\nsuch\u{202e} thing\npassword: hunter2\n".to_owned(),
    };
    let last = AgentToServer {
        instance_uid: report.instance_uid.clone(),
        capabilities: report.capabilities,
        sequence_num: 1,
        remote_config_status: Some(failed),
        ..AgentToServer::default()
    };
    socket.ask(&last).await;
    drop(socket);
    let path = format!("/assignments/{}", made["id"].as_str().unwrap());
    let paused = operator.when("the pause", &path, |one| one["state"] == "paused").await;
    assert_eq!(paused["pause"]["kind"], "failed");
    let text = paused["pause"]["text"].as_str().unwrap();
    assert!(text.starts_with("no such  thing password:") && !text.contains("hunter2"), "{text}");
    let path = format!("/agents/{}", crate::world::uid(1));
    operator.when("its state", &path, |agent| agent["config"]["state"] == "failed").await;
}
