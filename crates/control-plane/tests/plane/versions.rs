//! If-Match: a change that is meant for another version is refused, by every operation that compares versions and by
//! every one that has none to compare.

use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use testkit::Operator;

use crate::fleet::{agent, first};
use crate::world::World;

/// An assignment that waits for nobody, a configuration, an agent and a user. Their paths by what the document calls
/// the variable parts.
async fn things(world: &World, operator: &Operator) -> Vec<(&'static str, String)> {
    let files = json!([{ "name": "a.txt", "body": "a" }]);
    operator.done("POST", "/configs", json!({ "name": "web", "files": files })).await;
    let body = json!({ "config": "web", "selector": "a=b" });
    let assignment = operator.done("POST", "/assignments", body).await["id"].as_str().unwrap().to_owned();
    world.user(&world.admin().await, "ann", "viewer").await;
    vec![
        ("/assignments/{id}", format!("/assignments/{assignment}")),
        ("/configs/{name}", "/configs/web".to_owned()),
        ("/users/{name}", "/users/ann".to_owned()),
        ("/agents/{uid}", format!("/agents/{}", testkit::obedient::uid(1))),
        ("{id}", "1".to_owned()),
    ]
}

/// A body that the operation takes.
fn body(path: &str, method: &str) -> Value {
    match (method, path) {
        ("PATCH", "/configs/{name}") => json!({ "description": "other" }),
        ("POST", "/configs/{name}/revisions") => json!({ "files": [{ "name": "a.txt", "body": "other" }] }),
        ("PATCH", "/users/{name}") => json!({ "role": "operator" }),
        ("PATCH", "/hosts/{host}") => json!({ "mode": "cordoned" }),
        ("PATCH", "/assignments/{id}") => json!({ "priority": 7 }),
        ("POST", "/assignments/{id}/revision") => json!({ "revision": 1 }),
        ("PUT", "/agents/{uid}/labels") => json!({ "labels": { "a": "b" } }),
        _ => json!({}),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_write_ignores_if_match() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let operator = first(&world).await;
    let _agent = agent(&world, &world.token(), 1);
    operator.when("the agent", "/overview", |seen| seen["agents"]["connected"] == 1).await;
    let things = things(&world, &operator).await;
    let token = world.session("admin", &world.first.admin_password.clone().unwrap()).await;
    let client = Client::new();
    let document = operator.done("GET", "/openapi.json", Value::Null).await;
    let mut compared = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap().iter().filter(|(method, _)| *method != "get") {
            let method = method.to_uppercase();
            let path = path.strip_prefix("/api/v1").unwrap();
            let real = things.iter().fold(path.to_owned(), |path, (from, to)| path.replace(from, to));
            let url = format!("{}/api/v1{real}", world.url());
            let request = client.request(Method::try_from(method.as_str()).unwrap(), url);
            let request = request.bearer_auth(&token).header("if-match", "\"999999\"");
            let answer = request.json(&body(path, &method)).send().await.unwrap();
            // There is no host here whose version could differ.
            let is_host = (method.as_str(), path) == ("PATCH", "/hosts/{host}");
            let expected = if is_host { StatusCode::NOT_FOUND } else { StatusCode::PRECONDITION_FAILED };
            assert_eq!(answer.status(), expected, "{method} {path}");
            let parameters = operation["parameters"].as_array();
            compared +=
                usize::from(parameters.is_some_and(|all| all.iter().any(|one| one["name"] == "if-match")));
        }
    }
    assert_eq!(compared, 13, "every operation that compares versions says so in the document");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn labels_and_revisions_are_changed_for_the_version_that_was_read() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let operator = first(&world).await;
    let _agent = agent(&world, &world.token(), 1);
    operator.when("the agent", "/overview", |seen| seen["agents"]["connected"] == 1).await;
    let files = |body: &str| json!({ "name": "web", "files": [{ "name": "a.txt", "body": body }] });
    operator.done("POST", "/configs", files("1")).await;
    let token = world.session("admin", &world.first.admin_password.clone().unwrap()).await;
    let client = Client::new();
    let url = |path: &str| format!("{}/api/v1{path}", world.url());
    let tag = async |path: &str| {
        let answer = client.get(url(path)).bearer_auth(&token).send().await.unwrap();
        answer.headers()["etag"].to_str().unwrap().to_owned()
    };
    let send = async |method: Method, path: &str, tag: &str, body: Value| {
        let request = client.request(method, url(path)).bearer_auth(&token).header("if-match", tag);
        request.json(&body).send().await.unwrap()
    };
    let labels = format!("/agents/{}/labels", testkit::obedient::uid(1));
    let empty = tag(&labels).await;
    let answer = send(Method::PUT, &labels, &empty, json!({ "labels": { "a": "1" } })).await;
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(answer.headers()["etag"].to_str().unwrap(), tag(&labels).await);
    let stale = send(Method::PUT, &labels, &empty, json!({ "labels": { "a": "2" } })).await;
    assert_eq!(stale.status(), StatusCode::PRECONDITION_FAILED);
    let known = operator.done("GET", &labels, Value::Null).await;
    assert_eq!(known, json!({ "labels": { "a": "1" } }), "what was refused changed nothing");

    let read = tag("/configs/web").await;
    let revise = async |body: &str| {
        let files = json!({ "files": files(body)["files"] });
        send(Method::POST, "/configs/web/revisions", &read, files).await.status()
    };
    assert_eq!(revise("2").await, StatusCode::CREATED);
    assert_eq!(revise("3").await, StatusCode::PRECONDITION_FAILED);
    // One of several versions suffices.
    let either = format!("{read}, {}", tag("/configs/web").await);
    let description = json!({ "description": "d" });
    assert_eq!(send(Method::PATCH, "/configs/web", &either, description).await.status(), StatusCode::OK);
    world.stop().await;
}
