//! Replicas that are to be spread go where the plan says, with its reason.

use api::services::Plan;
use reqwest::StatusCode;
use serde_json::json;

use crate::hosts::Api;
use crate::world::World;

const WEB: &str =
    "services: {web: {image: 'web:1', deploy: {replicas: 3}, x-muster: {placement: {spread: zone}}}}\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_are_spread_over_the_values_of_a_label_as_the_plan_says() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let mut hosts = Vec::new();
    for (name, zone) in [("h1", "a"), ("h2", "b"), ("h3", "b")] {
        hosts.push(api.live_host(name).await);
        let labels = json!({ "labels": { "zone": zone } });
        let (status, body) = api.call("PATCH", &format!("/hosts/{name}"), Some(labels)).await;
        assert_eq!(status, StatusCode::OK, "{body}");
    }
    let on = |compose: &str| json!({ "files": [{ "name": "compose.yaml", "text": compose }] });
    let planned = async |compose: &str| {
        let (_, plan) = api.call("POST", "/projects/shop/plan", Some(on(compose))).await;
        serde_json::from_value::<Plan>(plan).unwrap()
    };
    let ran = || -> Vec<usize> {
        let running =
            |(_, _, host): &(_, _, crate::hosts::Living)| host.seen.lock().unwrap().last().replicas.len();
        hosts.iter().map(running).collect()
    };
    let deployed = async |compose: &str| {
        let (_, body) = api.deploy(compose).await;
        let done = api.outcome(&body["id"]).await;
        assert_eq!(done.state, "done", "{done:?}");
    };

    let plan = planned(WEB).await;
    assert_eq!(plan.services[0].hosts, ["h1", "h2"]);
    assert!(plan.text.contains(&"    spread over zone: 2 in a, 1 in b".to_owned()), "{:?}", plan.text);
    deployed(WEB).await;
    assert_eq!(ran(), [2, 1, 0]);

    let more = WEB.replace("replicas: 3", "replicas: 4");
    let plan = planned(&more).await;
    assert_eq!(plan.services[0].changes, ["replicas 3 → 4", "spread over zone: 2 in a, 2 in b"]);
    deployed(&more).await;
    assert_eq!(ran(), [2, 2, 0]);

    let fewer = planned(&WEB.replace("replicas: 3", "replicas: 2")).await;
    assert_eq!(fewer.services[0].changes, ["replicas 4 → 2", "spread over zone: 1 in a, 1 in b"]);
    world.stop().await;
}
