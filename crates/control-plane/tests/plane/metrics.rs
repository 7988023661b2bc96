//! `/metrics`: who may read it, what it counts, and that alerts and dashboard ask for nothing that it does not have.

use std::collections::BTreeSet;

use control_plane::RawConfig;
use opamp_proto::wire::AgentToServer;
use testkit::raw::Connection;
use testkit::{Fate, Machine, until_async};

use crate::hosts::{Api, deployed};
use crate::world::{World, agent_when, full, heartbeat, settings};

async fn page(world: &World, token: Option<&str>) -> (u16, String) {
    let request = reqwest::Client::new().get(format!("{}/metrics", world.url()));
    let request = match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// The value of a line of the page.
fn value(page: &str, series: &str) -> f64 {
    let line = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{series} is not in {page}")).parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_counts_what_happens() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::with(RawConfig { public_metrics: true, ..settings(dir.path()) }).await;
    let admin = world.admin().await;
    let mut agent = world.websocket().await;
    agent.ask(&full(1)).await;
    agent.ask(&heartbeat(1, 1)).await;
    let zeros = AgentToServer { instance_uid: vec![0; 16].into(), ..full(1) };
    assert!(agent.ask(&zeros).await.error_response.is_some());
    let stranger = [("authorization", "Bearer nobody")];
    let mut refused = Connection::to(world.opamp).await;
    assert_eq!(refused.exchange(&stranger, &full(2)).await.status, 401);
    agent_when(&admin, 1, "the agent", |agent| agent.summary.state == "connected").await;
    let login = api::session::Login { username: "admin".into(), password: "wrong".into(), want_token: true };
    assert!(world.stranger().login(&login).await.is_err());

    let (status, page) = page(&world, None).await;
    assert_eq!(status, 200, "{page}");
    assert!(page.ends_with("# EOF\n"), "{page}");
    for (series, expected) in [
        ("muster_agents{state=\"connected\"}", 1.0),
        ("muster_agents_health{health=\"healthy\"}", 1.0),
        ("muster_agents_config{state=\"unmanaged\"}", 1.0),
        ("muster_opamp_sessions{transport=\"websocket\"}", 1.0),
        ("muster_opamp_websockets", 1.0),
        ("muster_opamp_messages_received_total{transport=\"websocket\"}", 3.0),
        ("muster_opamp_messages_sent_total{transport=\"websocket\"}", 3.0),
        ("muster_opamp_reports_total{transport=\"websocket\"}", 1.0),
        ("muster_opamp_heartbeats_total{transport=\"websocket\"}", 1.0),
        ("muster_opamp_refused_total{reason=\"bad_request\"}", 1.0),
        ("muster_opamp_refused_total{reason=\"unauthorized\"}", 1.0),
        ("muster_enrolments_total{outcome=\"enrolled\"}", 1.0),
        ("muster_store_enrolment_seconds_count", 1.0),
        ("muster_write_behind_failing", 0.0),
        ("muster_logins_failed_total", 1.0),
        ("muster_build_info{version=\"0.0.0-test\"}", 1.0),
    ] {
        assert_eq!(value(&page, series), expected, "{series}: {page}");
    }
    assert!(value(&page, "muster_opamp_received_bytes_total{transport=\"websocket\"}") > 100.0);
    assert!(value(&page, "process_resident_memory_bytes") > 1e6);
    assert!(value(&page, "muster_database_bytes{file=\"log\"}") > 0.0);
    drop(agent);
    until_async("the WebSocket's end", async || {
        value(&self::page(&world, None).await.1, "muster_opamp_websockets") <= 0.0
    })
    .await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_services_and_deployments_are_counted_as_they_are_now() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::with(RawConfig { public_metrics: true, ..settings(dir.path()) }).await;
    let api = Api::of(&world).await;
    let shows = async |expected: &[(&str, f64)]| {
        let mut last = String::new();
        until_async(&format!("{expected:?}"), async || {
            last = page(&world, None).await.1;
            expected.iter().all(|(series, number)| (value(&last, series) - number).abs() < 0.1)
        })
        .await;
    };
    shows(&[("muster_hosts{state=\"online\"}", 0.0), ("muster_services{state=\"working\"}", 0.0)]).await;
    let (_, _, host) = api.live_host("h1").await;
    api.join(&Machine::named("h2")).await;
    deployed(&api, "services: {web: {image: 'web:1', deploy: {replicas: 2}}, off: {image: 'o:1', deploy: {replicas: 0}}}").await;
    shows(&[
        ("muster_hosts{state=\"online\"}", 1.0),
        ("muster_hosts{state=\"joining\"}", 1.0),
        ("muster_services{state=\"working\"}", 1.0),
        ("muster_services{state=\"stopped\"}", 1.0),
        ("muster_replicas{state=\"wanted\"}", 2.0),
        ("muster_replicas{state=\"ready\"}", 2.0),
        ("muster_deployments_total{outcome=\"done\"}", 1.0),
        ("muster_deployments_total{outcome=\"rolled_back\"}", 0.0),
        ("muster_hosts_adopting", 0.0),
    ])
    .await;
    // One that cannot work goes back, and is counted as that.
    host.seen.lock().unwrap().fates.insert("docker.io/library/bad:1".to_owned(), Fate::NoImage);
    let bad = "services: {web: {image: 'bad:1', deploy: {replicas: 2}}, off: {image: 'o:1', deploy: {replicas: 0}}}";
    let (_, body) = api.deploy(bad).await;
    assert_eq!(api.outcome(&body["id"]).await.state, "rolled back");
    shows(&[
        ("muster_deployments_total{outcome=\"done\"}", 1.0),
        ("muster_deployments_total{outcome=\"rolled_back\"}", 1.0),
        ("muster_services{state=\"working\"}", 1.0),
    ])
    .await;
    // Of a host that is not there nobody knows what runs.
    let (status, body) = api.call("PATCH", "/hosts/h1", Some(serde_json::json!({ "adopting": true }))).await;
    assert_eq!(status, 200, "{body}");
    shows(&[("muster_hosts_adopting", 1.0)]).await;
    world.stop().await;
    let world = World::with(RawConfig { public_metrics: true, ..settings(dir.path()) }).await;
    let page = page(&world, None).await.1;
    for (series, expected) in [
        ("muster_hosts{state=\"offline\"}", 1.0),
        ("muster_services{state=\"stranded\"}", 1.0),
        ("muster_replicas{state=\"wanted\"}", 2.0),
        ("muster_replicas{state=\"ready\"}", 0.0),
    ] {
        assert!((value(&page, series) - expected).abs() < 0.1, "{series}: {page}");
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_needs_a_token_of_any_role_unless_it_is_public() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let login = api::session::Login {
        username: "admin".to_owned(),
        password: world.first.admin_password.clone().unwrap(),
        want_token: true,
    };
    let token = world.stranger().login(&login).await.unwrap().token.unwrap();
    assert_eq!(page(&world, None).await.0, 401);
    assert_eq!(page(&world, Some("mss_nobody")).await.0, 401);
    assert_eq!(page(&world, Some(&token)).await.0, 200);
    world.stop().await;
}

/// Everything in a text that looks like the name of one of our figures.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let ours = words.filter(|word| word.starts_with("muster_") || word.starts_with("process_"));
    ours.map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn alerts_and_dashboard_name_only_figures_that_exist() {
    let dir = tempfile::tempdir().unwrap();
    let config = RawConfig { public_metrics: true, insecure_http: false, ..settings(dir.path()) };
    let world = World::with(config).await;
    let client = reqwest::Client::builder().tls_danger_accept_invalid_certs(true).build().unwrap();
    let response = client.get(format!("https://{}/metrics", world.console)).send().await.unwrap();
    let there = names(&response.text().await.unwrap());
    assert!(there.contains("muster_certificate_end_seconds"));
    for file in ["alerts.yaml", "dashboard.json"] {
        let path = format!("{}/../../docs/operations/{file}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let missing: Vec<_> = names(&text).difference(&there).cloned().collect();
        assert!(missing.is_empty(), "{file} names {missing:?}");
    }
    world.stop().await;
}
