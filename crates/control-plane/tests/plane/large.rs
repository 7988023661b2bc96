//! What a host is told goes into one message: a deployment that would lead to more than that is refused when it is planned, so
//! that nobody else's waits for it.

use reqwest::StatusCode;
use serde_json::json;

use crate::hosts::{Api, deployed};
use crate::world::World;

/// So many replicas with so many variables of 15 kB each.
fn heavy(replicas: u32, variables: usize) -> String {
    let value = "x".repeat(15_000);
    let env: Vec<String> = (0..variables).map(|n| format!("      V{n}: {value}\n")).collect();
    format!(
        "services:\n  web:\n    image: web:1\n    deploy: {{replicas: {replicas}}}\n    environment:\n{}",
        env.concat()
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deployment_whose_host_would_be_told_more_than_fits_is_refused_with_its_size() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let (_, _, host) = api.live_host("h1").await;
    let (status, body) = api.deploy(&heavy(20, 60)).await;
    assert_eq!(status, StatusCode::CONFLICT, "{body}");
    let why = "web: h1 would have to be told 17.2 MiB in one message, 17.2 MiB of them for 20 replicas of this service, and \
               14.0 MiB is the most: fewer replicas, or less in their variables, labels and files";
    assert_eq!(body["detail"], why, "{body}");
    assert!(host.seen.lock().unwrap().last().replicas.is_empty());

    // What is there counts, whoever asks for more.
    deployed(&api, &heavy(2, 60)).await;
    let scale = json!({ "replicas": 20 });
    let (status, body) = api.call("POST", "/services/shop/web/scale", Some(scale)).await;
    assert_eq!(status, StatusCode::CONFLICT, "{body}");
    assert!(body["detail"].as_str().unwrap().contains("would have to be told"), "{body}");
    world.stop().await;
}
