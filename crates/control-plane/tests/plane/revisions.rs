//! Writing configurations through the API: what two people do at once, what is refused, and what an agent already runs.

use serde_json::{Value, json};

use testkit::obedient::uid;

use crate::configs::{GOOD, config, file, fleet, path_of};
use crate::fleet::first;
use crate::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_two_write_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let operator = first(&world).await;
    config(&operator, GOOD).await;
    let revision = |body: &str, based_on: u32| json!({ "files": file(body), "based_on": based_on });
    let path = "/configs/web/revisions";
    assert_eq!(operator.call("POST", path, revision("a: 1\n", 1)).await.0, 201);
    let (status, problem) = operator.call("POST", path, revision("b: 1\n", 1)).await;
    assert_eq!((status, &problem["type"]), (409, &json!("urn:muster:problem:changed-meanwhile")));
    assert_eq!(operator.call("POST", path, revision("a: 1\n", 1)).await.0, 200, "the same once more");
    let (_, tag, _) = operator.tagged("GET", "/configs/web", None, Value::Null).await;
    let describe = |text: &str| json!({ "description": text });
    let (status, ..) = operator.tagged("PATCH", "/configs/web", Some(&tag), describe("mine")).await;
    assert_eq!(status, 200);
    let (status, ..) = operator.tagged("PATCH", "/configs/web", Some(&tag), describe("yours")).await;
    assert_eq!(status, 412);
    let diff = operator.done("GET", "/configs/web/diff?from=1&to=2", Value::Null).await;
    assert_eq!(diff["files"][0]["change"], "changed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_files_are_refused_with_their_place() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let operator = first(&world).await;
    let bomb = (0..30).fold("a0: &a0 [x, x]\n".to_owned(), |text, n| {
        text + &format!("a{0}: &a{0} [*a{n}, *a{n}]\n", n + 1)
    });
    let deep = "[".repeat(100_000);
    let large = "a: ".to_owned() + &"x".repeat(1 << 20);
    let cases = [
        (json!([{ "name": "../../etc/passwd", "body": "a: 1" }]), "name"),
        (json!([{ "name": "/etc/passwd", "body": "a: 1" }]), "name"),
        (json!([{ "name": "a\u{0}b", "body": "a: 1" }]), "name"),
        (json!([{ "name": "a", "body": "" }, { "name": "a", "body": "" }]), "two files"),
        (json!([]), "at least one file"),
        (file("a: [1"), "collector.yaml"),
        (file(&bomb), "collector.yaml"),
        (file(&deep), "collector.yaml"),
        (file(&large), "bytes"),
    ];
    for (files, word) in cases {
        let (status, problem) =
            operator.call("POST", "/configs", json!({ "name": "web", "files": files })).await;
        let detail = problem["detail"].as_str().unwrap();
        assert_eq!(status, 422, "{detail}");
        assert!(detail.contains(word), "{detail}");
        assert!(!problem["problems"].as_array().unwrap().is_empty());
    }
    for name in ["", "UPPER", "a/b", "..", "-a", "ü", &"a".repeat(64)] {
        let (status, problem) =
            operator.call("POST", "/configs", json!({ "name": name, "files": file("a: 1") })).await;
        assert_eq!((status, &problem["field"]), (422, &json!("name")), "{name}");
    }
    assert_eq!(operator.done("GET", "/configs", Value::Null).await["total"], 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_configuration_is_made_of_what_an_agent_runs() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let operator = first(&world).await;
    let _agents = fleet(&world, &operator, &world.token(), 1).await;
    operator.when("the agent", &path_of(1), |seen| seen["effective_config"].is_object()).await;
    let body = json!({ "agent": uid(1).to_string(), "name": "taken" });
    let made = operator.done("POST", "/configs/import", body).await;
    assert_eq!(made["files"][0]["body"], "receivers: {}\n");
    assert_eq!(made["revision"], 1);
}
