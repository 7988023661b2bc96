//! Every error of the API is problem details, whoever finds it, and names what is wrong.

use api::problem::Problem;
use reqwest::{Client, Method, RequestBuilder, StatusCode};

use crate::world::World;

struct Caller {
    client: Client,
    base: String,
    token: String,
}

impl Caller {
    async fn new(world: &World) -> Self {
        let password = world.first.admin_password.clone().unwrap();
        let login = api::session::Login { username: "admin".to_owned(), password, want_token: true };
        let token = world.stranger().login(&login).await.unwrap().token.unwrap();
        Self { client: Client::new(), base: world.url() + "/api/v1", token }
    }

    fn request(&self, method: &str, path: &str) -> RequestBuilder {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        self.client.request(method, format!("{}{path}", self.base)).bearer_auth(&self.token)
    }
}

/// Sends it and checks the whole shape.
async fn problem(request: RequestBuilder, status: u16) -> Problem {
    let answer = request.send().await.unwrap();
    let url = answer.url().clone();
    assert_eq!(answer.status().as_u16(), status, "{url}");
    assert_eq!(answer.headers()["content-type"], "application/problem+json", "{url}");
    assert_eq!(answer.headers()["cache-control"], "no-store", "{url}");
    let problem: Problem = answer.json().await.unwrap();
    let title = StatusCode::from_u16(status).unwrap().canonical_reason().unwrap();
    assert_eq!((problem.status, problem.title.as_str()), (status, title), "{url}");
    assert!(problem.kind.starts_with("urn:muster:problem:") && !problem.detail.is_empty(), "{problem:?}");
    problem
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_query_parameter_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let caller = Caller::new(&world).await;
    let long = format!("q={}", "x".repeat(5000));
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=501", "limit"),
        ("limit=ten", "limit"),
        ("limit=-1", "limit"),
        ("state=asleep", "state"),
        ("health=sick", "health"),
        ("replaced=maybe", "replaced"),
        ("sort=colour", "sort"),
        ("cursor=zz", "cursor"),
        ("selector=a%3D%3D%3Db", "selector"),
        ("selector=a+in+(", "selector"),
        ("colour=red", "colour"),
        ("state=connected&state=silent", "state"),
        (long.as_str(), "q"),
    ] {
        let problem = problem(caller.request("GET", &format!("/agents?{query}")), 400).await;
        assert_eq!(problem.field.as_deref(), Some(field), "{query}: {}", problem.detail);
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_exist_and_what_cannot_be_done_are_problems_too() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let caller = Caller::new(&world).await;
    problem(caller.request("GET", "/nothing"), 404).await;
    problem(caller.request("GET", "/agents/01010101-0101-0101-0101-010101010101"), 404).await;
    problem(caller.request("DELETE", "/agents/01010101-0101-0101-0101-010101010101"), 404).await;
    problem(caller.request("DELETE", "/tokens/999"), 404).await;
    problem(caller.request("PUT", "/agents"), 405).await;
    problem(caller.request("DELETE", "/overview"), 405).await;
    problem(caller.request("POST", "/events"), 405).await;
    let bad_uid = problem(caller.request("GET", "/agents/not-a-uid"), 400).await;
    assert_eq!(bad_uid.field.as_deref(), Some("uid"));
    let bad_id = problem(caller.request("DELETE", "/tokens/first"), 400).await;
    assert_eq!(bad_id.field.as_deref(), Some("id"));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_too_long_no_json_or_not_what_is_asked_for_is_a_problem() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let caller = Caller::new(&world).await;
    let json = |body: &str| {
        let request = caller.request("POST", "/tokens").header("content-type", "application/json");
        request.body(body.to_owned())
    };
    problem(json(&format!("{{\"label\": \"{}\"}}", "x".repeat(70_000))), 413).await;
    problem(caller.request("POST", "/tokens").body("label=a"), 415).await;
    problem(json("{\"label\": "), 400).await;
    for (body, field) in [
        ("{}", Some("label")),
        ("{\"label\": \"a\", \"colour\": 1}", Some("colour")),
        ("{\"label\": \" \"}", Some("label")),
        ("{\"label\": \"a\\u0007\"}", Some("label")),
        ("{\"label\": \"a\", \"expires_in_seconds\": 0}", Some("expires_in_seconds")),
        ("{\"label\": \"a\", \"expires_in_seconds\": 18446744073709551615}", Some("expires_in_seconds")),
        ("[]", None),
    ] {
        let problem = problem(json(body), 422).await;
        assert_eq!(problem.field.as_deref(), field, "{body}: {}", problem.detail);
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_that_is_no_utf_8_is_a_problem_too() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let caller = Caller::new(&world).await;
    for (method, path) in [("GET", "/agents/%ff"), ("DELETE", "/agents/%ff"), ("DELETE", "/tokens/%ff")] {
        assert_eq!(problem(caller.request(method, path), 400).await.field.as_deref(), Some("path"));
    }
    world.stop().await;
}
