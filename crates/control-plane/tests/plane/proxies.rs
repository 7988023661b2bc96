//! Behind a reverse proxy, and in front of someone who pretends to be one.

use control_plane::RawConfig;
use reqwest::StatusCode;
use serde_json::json;
use testkit::raw::Connection;

use crate::world::{World, agent_when, full, settings};

const FORWARDED: [(&str, &str); 2] = [("x-forwarded-for", "203.0.113.9"), ("x-forwarded-proto", "https")];

async fn address_of_agent(world: &World) -> String {
    let authorization = world.bearer();
    let headers = [&[("authorization", authorization.as_str())], &FORWARDED[..]].concat();
    let mut http = Connection::to(world.opamp).await;
    http.exchange(&headers, &full(1)).await;
    let admin = world.admin().await;
    agent_when(&admin, 1, "the agent", |_| true).await.summary.peer_address.unwrap()
}

async fn cookie(world: &World) -> String {
    let body = json!({ "username": "admin", "password": world.first.admin_password });
    let mut request = reqwest::Client::new().post(world.url() + "/api/v1/session").json(&body);
    for (name, value) in FORWARDED {
        request = request.header(name, value);
    }
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    answer.headers()["set-cookie"].to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forwarded_headers_of_a_stranger_are_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    assert!(address_of_agent(&world).await.starts_with("127.0.0.1:"));
    assert!(!cookie(&world).await.contains("Secure"));
    // Nor can a stranger have a budget of attempts for each address that it invents.
    let mut last = StatusCode::OK;
    for number in 0..12 {
        let body = json!({ "username": "admin", "password": "wrong" });
        let request = reqwest::Client::new().post(world.url() + "/api/v1/session").json(&body);
        last =
            request.header("x-forwarded-for", format!("203.0.113.{number}")).send().await.unwrap().status();
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forwarded_headers_of_a_trusted_proxy_are_believed() {
    let dir = tempfile::tempdir().unwrap();
    let raw = RawConfig { trusted_proxies: vec!["127.0.0.0/8".to_owned()], ..settings(dir.path()) };
    let world = World::with(raw).await;
    assert_eq!(address_of_agent(&world).await, "203.0.113.9:0");
    assert!(cookie(&world).await.contains("; Secure"));
    world.stop().await;
}
