//! Logging in: cookies and tokens, the CSRF header, the budgets, what each route says to strangers.

use api::problem::Problem;
use reqwest::{Method, Response, StatusCode};
use serde_json::json;

use crate::world::World;

async fn log_in(world: &World, username: &str, password: &str, want_token: bool) -> Response {
    let body = json!({ "username": username, "password": password, "want_token": want_token });
    reqwest::Client::new().post(world.url() + "/api/v1/session").json(&body).send().await.unwrap()
}

fn password(world: &World) -> String {
    world.first.admin_password.clone().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_is_closed_to_whoever_is_not_logged_in() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let routes = [
        ("GET", "/session"),
        ("DELETE", "/session"),
        ("GET", "/overview"),
        ("GET", "/agents"),
        ("GET", "/agents?limit=oops"),
        ("GET", "/agents/01010101-0101-0101-0101-010101010101"),
        ("DELETE", "/agents/01010101-0101-0101-0101-010101010101"),
        ("GET", "/agents/junk"),
        ("GET", "/tokens"),
        ("POST", "/tokens"),
        ("DELETE", "/tokens/1"),
        ("GET", "/events"),
    ];
    let client = reqwest::Client::new();
    for (method, path) in routes {
        for credential in [None, Some(world.bearer()), Some("Bearer mss_junk".to_owned())] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let mut request = client.request(method, format!("{}/api/v1{path}", world.url()));
            if let Some(credential) = &credential {
                // An agent's token opens nothing here.
                request = request.header("authorization", credential).header("cookie", "muster_session=x");
            }
            let answer = request.send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{path}");
            assert_eq!(answer.headers()["content-type"], "application/problem+json", "{path}");
            let problem: Problem = answer.json().await.unwrap();
            assert_eq!(
                (problem.status, problem.kind.as_str()),
                (401, "urn:muster:problem:not-logged-in"),
                "{path}"
            );
        }
    }
    for path in ["/healthz", "/readyz", "/api/v1/openapi.json"] {
        assert_eq!(client.get(world.url() + path).send().await.unwrap().status(), StatusCode::OK);
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cookie_reads_and_with_its_csrf_token_writes() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let answer = log_in(&world, "admin", &password(&world), false).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let set_cookie = answer.headers()["set-cookie"].to_str().unwrap().to_owned();
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(set_cookie.contains(attribute), "{set_cookie}");
    }
    let cookie = set_cookie.split(';').next().unwrap().to_owned();
    let session: api::session::Session = answer.json().await.unwrap();
    assert_eq!((session.user.name.as_str(), session.user.role.as_str()), ("admin", "admin"));
    assert_eq!(session.token, None);

    let client = reqwest::Client::new();
    let tokens = world.url() + "/api/v1/tokens";
    let read = client.get(&tokens).header("cookie", &cookie).send().await.unwrap();
    assert_eq!(read.status(), StatusCode::OK);
    assert_eq!(read.headers()["cache-control"], "no-store");
    let write = |csrf: Option<&str>| {
        let request = client.post(&tokens).header("cookie", &cookie).json(&json!({ "label": "a" }));
        csrf.map_or(request.try_clone().unwrap(), |csrf| request.header("x-csrf-token", csrf)).send()
    };
    assert_eq!(write(None).await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(write(Some("junk")).await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(write(Some(&session.csrf)).await.unwrap().status(), StatusCode::CREATED);

    let again = client.get(world.url() + "/api/v1/session").header("cookie", &cookie).send().await.unwrap();
    assert_eq!(again.json::<api::session::Session>().await.unwrap(), session);
    let session_url = world.url() + "/api/v1/session";
    let leave = client.delete(session_url).header("cookie", &cookie).header("x-csrf-token", &session.csrf);
    assert_eq!(leave.send().await.unwrap().status(), StatusCode::NO_CONTENT);
    let after = client.get(&tokens).header("cookie", &cookie).send().await.unwrap();
    assert_eq!(after.status(), StatusCode::UNAUTHORIZED);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password_and_a_wrong_user_are_told_alike_and_guessing_is_slowed_down() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let mut told = Vec::new();
    for user in ["admin", "nobody"] {
        let answer = log_in(&world, user, "wrong", false).await;
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
        told.push(answer.json::<Problem>().await.unwrap());
    }
    assert_eq!(told[0], told[1]);
    let mut statuses = Vec::new();
    for _ in 0..10 {
        statuses.push(log_in(&world, "admin", "wrong", false).await);
    }
    let refused = statuses.pop().unwrap();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=6).contains(&wait), "{wait}");
    // The right password is not looked at either, or guessing would go on by watching for it.
    let right = log_in(&world, "admin", &password(&world), false).await;
    assert_eq!(right.status(), StatusCode::TOO_MANY_REQUESTS);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_login_that_makes_no_sense_names_the_field() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    for (body, field) in [
        (json!({ "username": "admin" }), "password"),
        (json!({ "username": "admin", "password": "x", "remember": true }), "remember"),
        (json!({ "username": "", "password": "x" }), "username"),
        (json!({ "username": "admin", "password": "x".repeat(1025) }), "password"),
    ] {
        let url = world.url() + "/api/v1/session";
        let answer = reqwest::Client::new().post(url).json(&body).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::UNPROCESSABLE_ENTITY, "{body}");
        assert_eq!(answer.json::<Problem>().await.unwrap().field.as_deref(), Some(field), "{body}");
    }
    world.stop().await;
}
