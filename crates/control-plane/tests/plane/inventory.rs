//! What agents report is what the API shows: nothing lost, nothing added, secrets masked.

use api::agents::{AgentQuery, Attribute};
use opamp_proto::wire::{
    AgentDisconnect, AgentToServer, AnyValue, ArrayValue, AvailableComponents, ComponentDetails,
    CustomCapabilities, KeyValueList, PackageDownloadDetails, PackageStatus, PackageStatusEnum,
    PackageStatuses, ServerCapabilities, any_value::Value,
};
use serde_json::json;
use testkit::raw::Connection;
use testkit::until_async;

use crate::world::{World, agent_when, attribute, bare, config, full, heartbeat, typed, uid};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s2_what_a_later_message_leaves_out_stays() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let authorization = world.bearer();
    let headers = [("authorization", authorization.as_str())];
    let mut http = Connection::to(world.opamp).await;
    let first = AgentToServer {
        package_statuses: Some(PackageStatuses {
            packages: [("p".to_owned(), PackageStatus { name: "p".to_owned(), ..Default::default() })].into(),
            ..Default::default()
        }),
        available_components: Some(AvailableComponents {
            components: [("receivers".to_owned(), ComponentDetails::default())].into(),
            hash: vec![0xab].into(),
        }),
        custom_capabilities: Some(CustomCapabilities { capabilities: vec!["io.x".to_owned()] }),
        ..full(1)
    };
    assert_eq!(http.exchange(&headers, &first).await.status, 200);
    let before = agent_when(&admin, 1, "the agent", |agent| agent.effective_config.is_some()).await;
    for message in [heartbeat(1, 1), bare(1), heartbeat(1, 2)] {
        assert_eq!(http.exchange(&headers, &message).await.status, 200);
    }
    let mut changed = heartbeat(1, 3);
    changed.health = Some(Default::default());
    http.exchange(&headers, &changed).await;
    let after = agent_when(&admin, 1, "the health", |agent| agent.summary.healthy == Some(false)).await;
    assert_eq!(after.effective_config, before.effective_config);
    assert_eq!(after.description, before.description);
    assert_eq!(after.components, before.components);
    assert_eq!(after.package_statuses, before.package_statuses);
    assert_eq!(after.custom_capabilities, ["io.x"]);
    assert_eq!(after.components.unwrap().hash, "ab");
    assert_eq!(after.sequence_num, Some(3));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scap_10_package_statuses_are_shown_as_they_were_sent_and_change_with_them() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let mut socket = world.websocket().await;
    let package = |status: PackageStatusEnum, error: &str| PackageStatus {
        name: "collector".to_owned(),
        agent_has_version: "0.1".to_owned(),
        agent_has_hash: vec![0xaa, 1].into(),
        server_offered_version: "0.2".to_owned(),
        server_offered_hash: vec![0xbb].into(),
        status: status.into(),
        error_message: error.to_owned(),
        download_details: Some(PackageDownloadDetails {
            download_percent: 12.5,
            download_bytes_per_second: 1024.0,
        }),
    };
    let statuses = |status, error: &str| PackageStatuses {
        packages: [("collector".to_owned(), package(status, error))].into(),
        server_provided_all_packages_hash: vec![0xcc].into(),
        error_message: error.to_owned(),
    };
    let shown = |word: &str, error: serde_json::Value| {
        json!({
            "packages": { "collector": {
                "name": "collector", "status": word, "agent_has_version": "0.1", "agent_has_hash": "aa01",
                "server_offered_version": "0.2", "server_offered_hash": "bb", "error": error,
                "download_percent": 12.5, "download_bytes_per_second": 1024.0,
            } },
            "all_packages_hash": "cc",
            "error": error,
        })
    };
    let first =
        AgentToServer { package_statuses: Some(statuses(PackageStatusEnum::Downloading, "")), ..full(1) };
    let answer = socket.ask(&first).await;
    assert_ne!(answer.capabilities & ServerCapabilities::AcceptsPackagesStatus as u64, 0);
    let agent = agent_when(&admin, 1, "the agent", |agent| agent.package_statuses.is_some()).await;
    assert_eq!(agent.package_statuses.unwrap(), shown("downloading", json!(null)));
    let failed = statuses(PackageStatusEnum::InstallFailed, "no space");
    let later = AgentToServer { package_statuses: Some(failed), ..heartbeat(1, 1) };
    socket.ask(&later).await;
    let expected = shown("installfailed", json!("no space"));
    agent_when(&admin, 1, "the failure", |agent| agent.package_statuses.as_ref() == Some(&expected)).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s5_attributes_keep_their_types_and_selectors_see_them() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let mut message = full(1);
    let any = |value| AnyValue { value: Some(value) };
    message.agent_description.as_mut().unwrap().non_identifying_attributes = vec![
        typed("process.pid", Value::IntValue(i64::MAX)),
        typed("ok", Value::BoolValue(true)),
        typed("ratio", Value::DoubleValue(0.5)),
        typed("raw", Value::BytesValue(vec![0, 255].into())),
        typed(
            "list",
            Value::ArrayValue(ArrayValue {
                values: vec![any(Value::IntValue(1)), any(Value::StringValue("x".into()))],
            }),
        ),
        typed("map", Value::KvlistValue(KeyValueList { values: vec![typed("k", Value::BoolValue(false))] })),
    ];
    let mut socket = world.websocket().await;
    socket.ask(&message).await;
    let agent = agent_when(&admin, 1, "the agent", |_| true).await;
    let expected = [
        ("process.pid", "int", json!("9223372036854775807")),
        ("ok", "bool", json!(true)),
        ("ratio", "double", json!(0.5)),
        ("raw", "bytes", json!("AP8=")),
        ("list", "array", json!(["1", "x"])),
        ("map", "map", json!({"k": false})),
    ];
    let expected =
        expected.map(|(key, kind, value)| Attribute { key: key.to_owned(), kind: kind.to_owned(), value });
    assert_eq!(agent.description.non_identifying, expected);
    for (selector, total) in [
        ("process.pid=9223372036854775807", 1),
        ("process.pid=1", 0),
        ("ok=true,ratio=0.5", 1),
        ("ok=false", 0),
        ("raw=\"AP8=\"", 1),
        ("service.name in (agent-1, other),!missing", 1),
        ("missing", 0),
    ] {
        let query = AgentQuery { selector: Some(selector.to_owned()), ..Default::default() };
        assert_eq!(admin.agents(&query).await.unwrap().total, total, "{selector}");
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s18_secrets_of_an_effective_configuration_never_leave_through_the_api() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let body = "exporters:\n  otlp:\n    headers:\n      - name: Authorization\n        value: Bearer hunter2\n    \
                api_key: hunter2\n    endpoint: example:4317\n";
    let mut socket = world.websocket().await;
    socket.ask(&AgentToServer { effective_config: Some(config("main.yaml", body)), ..full(1) }).await;
    let agent = agent_when(&admin, 1, "the configuration", |agent| agent.effective_config.is_some()).await;
    let text = serde_json::to_string(&agent).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
    let file = &agent.effective_config.unwrap().files[0];
    assert!(file.redacted && file.body.contains("endpoint: example:4317") && file.name == "main.yaml");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s19_all_capability_bits_are_shown_also_those_that_nobody_knows() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let mut socket = world.websocket().await;
    let answer = socket.ask(&AgentToServer { capabilities: 0xffff | 1 << 40, ..full(1) }).await;
    assert!(answer.error_response.is_none() && answer.capabilities & 1 == 1);
    let agent = agent_when(&admin, 1, "the agent", |_| true).await;
    assert_eq!(agent.summary.capabilities.len(), 16);
    assert_eq!(agent.capability_bits, (0xffff_u64 | 1 << 40).to_string());
    assert_eq!(agent.unknown_capability_bits, (1_u64 << 40).to_string());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s38_hostile_text_of_an_agent_is_text_in_json_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let name = "'><img src=x onerror=alert(1)>`${1}`\"\\\u{0}\u{202e}</script>";
    let mut message = full(1);
    message.agent_description.as_mut().unwrap().identifying_attributes =
        vec![attribute("service.name", name)];
    message.health.as_mut().unwrap().last_error = name.to_owned();
    let mut socket = world.websocket().await;
    socket.ask(&message).await;
    let agent = agent_when(&admin, 1, "the agent", |_| true).await;
    assert_eq!(agent.summary.name.as_deref(), Some(name));
    assert_eq!(agent.health.unwrap().last_error, name);
    assert_eq!(agent.description.identifying[0].value, json!(name));
    let query = AgentQuery { q: Some("onerror=alert(1)".to_owned()), ..Default::default() };
    assert_eq!(admin.agents(&query).await.unwrap().items[0].name.as_deref(), Some(name));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s35_a_wrong_instance_uid_is_refused_and_the_server_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let authorization = world.bearer();
    let headers = [("authorization", authorization.as_str())];
    for length in [0, 1, 15, 17, 26] {
        let mut http = Connection::to(world.opamp).await;
        let message = AgentToServer { instance_uid: vec![7; length].into(), ..full(1) };
        let answer = http.exchange(&headers, &message).await;
        let error = answer.message().error_response.expect("an error");
        assert_eq!(error.r#type, 1, "{length} bytes: {error:?}");
    }
    assert_eq!(admin.agents(&Default::default()).await.unwrap().total, 0);
    let mut http = Connection::to(world.opamp).await;
    assert!(http.exchange(&headers, &full(1)).await.message().error_response.is_none());
    agent_when(&admin, 1, "the good agent", |_| true).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn s14_an_agent_that_says_goodbye_or_hangs_up_is_disconnected_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let mut polite = world.websocket().await;
    polite.ask(&full(1)).await;
    let mut rude = world.websocket().await;
    rude.ask(&full(2)).await;
    let connected = |agent: &api::agents::AgentDetail| agent.summary.state == "connected";
    let agent = agent_when(&admin, 1, "the agent", connected).await;
    assert_eq!(agent.summary.transport.as_deref(), Some("websocket"));
    assert!(agent.summary.connected_since.is_some() && agent.summary.peer_address.is_some());
    let forget = admin.forget_agent(&uid(1).to_string()).await.unwrap_err();
    assert_eq!(forget.status(), Some(409));
    polite
        .send_message(&AgentToServer { agent_disconnect: Some(AgentDisconnect {}), ..heartbeat(1, 1) })
        .await;
    drop(rude);
    for number in [1, 2] {
        let gone = |agent: &api::agents::AgentDetail| agent.summary.state == "disconnected";
        let agent = agent_when(&admin, number, "the end of its session", gone).await;
        assert_eq!(agent.summary.connected_since, None);
    }
    let query = AgentQuery { state: Some("disconnected".to_owned()), ..Default::default() };
    until_async("the list", async || admin.agents(&query).await.unwrap().total == 2).await;
    admin.forget_agent(&uid(1).to_string()).await.unwrap();
    assert_eq!(admin.agent(&uid(1).to_string()).await.unwrap_err().status(), Some(404));
    world.stop().await;
}
