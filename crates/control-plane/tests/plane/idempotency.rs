//! A request that is sent again with its key does its work once.

use reqwest::{Response, StatusCode};
use serde_json::{Value, json};

use crate::world::World;

struct Caller {
    url: String,
    token: String,
}

impl Caller {
    async fn admin(world: &World) -> Self {
        let token = world.session("admin", &world.first.admin_password.clone().unwrap()).await;
        Self { url: world.url() + "/api/v1", token }
    }

    async fn post(&self, path: &str, key: &str, body: &Value) -> Response {
        let request = reqwest::Client::new().post(format!("{}{path}", self.url)).bearer_auth(&self.token);
        request.header("idempotency-key", key).json(body).send().await.unwrap()
    }

    async fn tokens(&self) -> usize {
        let request = reqwest::Client::new().get(format!("{}/tokens", self.url)).bearer_auth(&self.token);
        request.send().await.unwrap().json::<api::tokens::TokenList>().await.unwrap().items.len()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repetition_gets_the_first_answer_also_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let mut caller = Caller::admin(&world).await;
    let body = json!({ "label": "a" });
    let first = caller.post("/tokens", "k1", &body).await;
    assert_eq!(first.status(), StatusCode::CREATED);
    assert!(first.headers().get("idempotent-replayed").is_none());
    let first = first.text().await.unwrap();
    world.stop().await;

    let text = serde_json::from_str::<Value>(&first).unwrap()["token"].as_str().unwrap().to_owned();
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        let holds =
            std::fs::read(&path).unwrap_or_default().windows(text.len()).any(|part| part == text.as_bytes());
        assert!(!holds, "{} holds the token's text", path.display());
    }
    let world = World::start(dir.path()).await;
    caller.url = world.url() + "/api/v1";
    let again = caller.post("/tokens", "k1", &body).await;
    assert_eq!(again.status(), StatusCode::CREATED);
    assert_eq!(again.headers()["idempotent-replayed"], "true");
    assert_eq!(again.headers()["content-type"], "application/json");
    assert_eq!(again.text().await.unwrap(), first);
    assert_eq!(caller.tokens().await, 2);

    let other = caller.post("/tokens", "k1", &json!({ "label": "b" })).await;
    assert_eq!(other.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let problem: api::Problem = other.json().await.unwrap();
    assert_eq!(problem.kind, "urn:muster:problem:idempotency-key-reused");
    assert_eq!(caller.post("/api-tokens", "k1", &body).await.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(caller.tokens().await, 2);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twins_at_once_make_one_thing() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let caller = Caller::admin(&world).await;
    let body = json!({ "label": "a" });
    let twins = (0..8).map(|_| caller.post("/tokens", "k1", &body));
    let mut made = std::collections::BTreeSet::new();
    for answer in futures_util::future::join_all(twins).await {
        match answer.status() {
            StatusCode::CREATED => drop(made.insert(answer.text().await.unwrap())),
            StatusCode::CONFLICT => {
                assert_eq!(answer.headers()["retry-after"], "1");
                let problem: api::Problem = answer.json().await.unwrap();
                assert_eq!(problem.kind, "urn:muster:problem:in-progress");
            }
            other => panic!("{other}"),
        }
    }
    assert_eq!((made.len(), caller.tokens().await), (1, 2));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_belong_to_their_caller_and_what_changed_nothing_is_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let caller = Caller::admin(&world).await;
    let ann = world.user(&world.admin().await, "ann", "operator").await;
    let ann = Caller { url: caller.url.clone(), token: ann };
    let good = json!({ "label": "a" });
    let refused = caller.post("/tokens", "k1", &json!({ "label": "" })).await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(caller.post("/tokens", "k1", &good).await.status(), StatusCode::CREATED);
    assert_eq!(ann.post("/tokens", "k1", &json!({ "label": "b" })).await.status(), StatusCode::CREATED);
    assert_eq!(caller.tokens().await, 3);
    for key in ["a b".to_owned(), "x".repeat(129)] {
        let answer = caller.post("/tokens", &key, &good).await;
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
        assert_eq!(answer.json::<api::Problem>().await.unwrap().field.as_deref(), Some("idempotency-key"));
    }
    let stranger = Caller { url: caller.url.clone(), token: "mss_junk".to_owned() };
    assert_eq!(stranger.post("/tokens", "k1", &good).await.status(), StatusCode::UNAUTHORIZED);
    world.stop().await;
}
