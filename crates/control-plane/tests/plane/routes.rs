//! Who may call which route. The table below names every operation of the API; one that the document has and the table
//! has not fails the test.

use std::collections::BTreeSet;

use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use crate::world::{PASSWORD, World};

const UID: &str = "01010101-0101-0101-0101-010101010101";

/// Who may call an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Needs {
    Nothing,
    /// Any role, but a session and no API token.
    Session,
    Viewer,
    Operator,
    Admin,
    /// An administrator's session and no API token.
    AdminSession,
}

use Needs::{Admin, AdminSession, Nothing, Operator, Session, Viewer};

/// Method, path as the document has it, who may call it, a body.
fn table() -> Vec<(&'static str, &'static str, Needs, Value)> {
    let none = Value::Null;
    let files = json!([{ "name": "a.txt", "body": "a" }]);
    vec![
        ("GET", "/openapi.json", Nothing, none.clone()),
        ("POST", "/session", Nothing, json!({ "username": "nobody", "password": "wrong" })),
        ("GET", "/session", Viewer, none.clone()),
        ("POST", "/session/password", Session, json!({ "current": "wrong", "new": "long enough, this one" })),
        ("GET", "/overview", Viewer, none.clone()),
        ("GET", "/events", Viewer, none.clone()),
        ("GET", "/agents", Viewer, none.clone()),
        ("GET", "/agents/attribute-keys", Viewer, none.clone()),
        ("GET", "/agents/{uid}", Viewer, none.clone()),
        ("GET", "/agents/{uid}/timeline", Viewer, none.clone()),
        ("GET", "/agents/{uid}/messages", Operator, none.clone()),
        ("DELETE", "/agents/{uid}", Operator, none.clone()),
        ("GET", "/tokens", Viewer, none.clone()),
        ("POST", "/tokens", Operator, json!({ "label": "a" })),
        ("DELETE", "/tokens/{id}", Operator, none.clone()),
        ("GET", "/configs", Viewer, none.clone()),
        ("POST", "/configs", Operator, json!({ "name": "made", "files": files })),
        ("POST", "/configs/import", Operator, json!({ "agent": UID, "name": "other" })),
        ("POST", "/configs/check", Viewer, json!({ "files": files })),
        ("POST", "/configs/diff", Viewer, json!({ "from": { "files": files }, "to": { "files": files } })),
        ("GET", "/configs/{name}", Viewer, none.clone()),
        ("PATCH", "/configs/{name}", Operator, json!({ "description": "a" })),
        ("DELETE", "/configs/{name}", Operator, none.clone()),
        ("GET", "/configs/{name}/revisions", Viewer, none.clone()),
        ("POST", "/configs/{name}/revisions", Operator, json!({ "files": files })),
        ("GET", "/configs/{name}/revisions/{number}", Viewer, none.clone()),
        ("GET", "/configs/{name}/diff", Viewer, none.clone()),
        ("GET", "/assignments", Viewer, none.clone()),
        ("POST", "/assignments", Operator, json!({ "config": "not-there", "selector": "a=b" })),
        ("POST", "/assignments/preview", Viewer, json!({ "config": "not-there", "selector": "a=b" })),
        ("GET", "/assignments/{id}", Viewer, none.clone()),
        ("PATCH", "/assignments/{id}", Operator, json!({ "priority": 1 })),
        ("DELETE", "/assignments/{id}", Operator, none.clone()),
        ("POST", "/assignments/{id}/revision", Operator, json!({ "revision": 1 })),
        ("POST", "/assignments/{id}/pause", Operator, json!({})),
        ("POST", "/assignments/{id}/resume", Operator, json!({})),
        ("POST", "/assignments/{id}/abort", Operator, json!({})),
        ("GET", "/assignments/{id}/agents", Viewer, none.clone()),
        ("PUT", "/agents/{uid}/config", Operator, json!({ "config": "not-there" })),
        ("DELETE", "/agents/{uid}/config", Operator, none.clone()),
        ("GET", "/agents/{uid}/labels", Viewer, none.clone()),
        ("PUT", "/agents/{uid}/labels", Operator, json!({ "labels": {} })),
        ("POST", "/labels", Operator, json!({ "selector": "a=b", "set": { "a": "b" } })),
        ("GET", "/views", Viewer, none.clone()),
        ("POST", "/views", Operator, json!({ "name": "a", "query": {} })),
        ("DELETE", "/views/{id}", Operator, none.clone()),
        ("GET", "/users", Admin, none.clone()),
        ("POST", "/users", AdminSession, json!({ "name": "made", "role": "viewer", "password": PASSWORD })),
        ("GET", "/users/{name}", Admin, none.clone()),
        ("PATCH", "/users/{name}", AdminSession, json!({ "role": "viewer" })),
        ("DELETE", "/users/{name}", Admin, none.clone()),
        ("GET", "/api-tokens", Viewer, none.clone()),
        ("POST", "/api-tokens", Session, json!({ "label": "a", "role": "viewer" })),
        ("DELETE", "/api-tokens/{id}", Viewer, none.clone()),
        ("GET", "/audit", Viewer, none.clone()),
        ("GET", "/audit/export", Admin, none.clone()),
        // Last, since the session is over then.
        ("DELETE", "/session", Session, none),
    ]
}

/// The same for hosts and what runs on them.
fn hosting() -> Vec<(&'static str, &'static str, Needs, Value)> {
    let none = Value::Null;
    let compose = json!({ "files": [{ "name": "c.yaml", "text": "services: {web: {image: nginx}}" }] });
    vec![
        ("GET", "/hosts", Viewer, none.clone()),
        ("GET", "/hosts/{host}", Viewer, none.clone()),
        ("PATCH", "/hosts/{host}", Operator, json!({ "mode": "cordoned" })),
        ("DELETE", "/hosts/{host}", Operator, none.clone()),
        ("GET", "/hosts/{host}/log", Viewer, none.clone()),
        ("GET", "/join-tokens", Viewer, none.clone()),
        ("POST", "/join-tokens", Operator, json!({})),
        ("DELETE", "/join-tokens/{id}", Operator, none.clone()),
        ("GET", "/projects", Viewer, none.clone()),
        ("GET", "/projects/{project}", Viewer, none.clone()),
        ("POST", "/projects/{project}/plan", Viewer, compose.clone()),
        ("POST", "/projects/{project}/deployments", Operator, compose),
        ("DELETE", "/projects/{project}", Operator, none.clone()),
        ("GET", "/deployments", Viewer, none.clone()),
        ("GET", "/deployments/{id}", Viewer, none.clone()),
        ("POST", "/deployments/{id}/abort", Operator, json!({})),
        ("GET", "/services", Viewer, none.clone()),
        ("GET", "/services/{project}/{service}", Viewer, none.clone()),
        ("DELETE", "/services/{project}/{service}", Operator, none.clone()),
        ("GET", "/services/{project}/{service}/releases", Viewer, none.clone()),
        ("POST", "/services/{project}/{service}/rollback", Operator, json!({})),
        ("POST", "/services/{project}/{service}/scale", Operator, json!({ "replicas": 2 })),
        ("GET", "/services/{project}/{service}/logs", Viewer, none.clone()),
        ("GET", "/projects/{project}/secrets", Viewer, none.clone()),
        ("PUT", "/projects/{project}/secrets/{name}", Operator, json!({ "content": "YQ==" })),
        ("DELETE", "/projects/{project}/secrets/{name}", Operator, none.clone()),
        ("GET", "/registries", Viewer, none.clone()),
        ("PUT", "/registries", Admin, json!({ "registry": "r.example", "username": "a", "password": "b" })),
        ("DELETE", "/registries/{registry}", Admin, none.clone()),
    ]
}

/// Every operation; the one that ends the session comes last.
fn operations() -> Vec<(&'static str, &'static str, Needs, Value)> {
    hosting().into_iter().chain(table()).collect()
}

/// A credential: whose role, whether it is an API token, its text.
struct Credential {
    role: Needs,
    is_program: bool,
    token: String,
}

async fn credentials(world: &World) -> Vec<Credential> {
    let admin = world.admin().await;
    let mut all = Vec::new();
    for (role, needs) in [("viewer", Viewer), ("operator", Operator), ("admin", Admin)] {
        let token = world.user(&admin, &format!("a-{role}"), role).await;
        all.push(Credential { role: needs, is_program: false, token });
        let new = api::api_tokens::NewApiToken { label: role.into(), role: role.into(), expires_in: None };
        let token = admin.create_api_token(&new).await.unwrap().token;
        all.push(Credential { role: needs, is_program: true, token });
    }
    all
}

fn may(needs: Needs, credential: &Credential) -> bool {
    let rank = |needs| match needs {
        Nothing | Session | Viewer => 1,
        Operator => 2,
        Admin | AdminSession => 3,
    };
    let is_personal = matches!(needs, Session | AdminSession);
    rank(credential.role) >= rank(needs) && !(is_personal && credential.is_program)
}

/// One client for a test: making one reads the system's certificates, which takes its time.
struct Server {
    world: World,
    client: Client,
}

impl Server {
    async fn start(dir: &std::path::Path) -> Self {
        Self { world: World::start(dir).await, client: Client::new() }
    }
}

fn request(server: &Server, method: &str, path: &str, body: &Value) -> RequestBuilder {
    let path = path.replace("{uid}", UID).replace("{id}", "999").replace("{name}", "not-there");
    let path =
        path.replace("{number}", "1").replace("{host}", "not-there").replace("{registry}", "r.example");
    let path = path.replace("{project}", "not-there").replace("{service}", "not-there");
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let request = server.client.request(method, format!("{}/api/v1{path}", server.world.url()));
    // Believed from nobody, as no proxy is trusted.
    let request = request.header("x-forwarded-for", "198.51.100.1").header("x-forwarded-proto", "https");
    if body.is_null() { request } else { request.json(body) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_table_names_every_operation_of_the_document() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path()).await;
    let document: Value =
        request(&server, "GET", "/openapi.json", &Value::Null).send().await.unwrap().json().await.unwrap();
    let mut served = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let path = path.strip_prefix("/api/v1").unwrap();
        let methods = item.as_object().unwrap().keys().filter(|key| *key != "parameters");
        served.extend(methods.map(|method| (method.to_uppercase(), path.to_owned())));
    }
    let named: BTreeSet<_> =
        operations().into_iter().map(|(method, path, ..)| (method.to_owned(), path.to_owned())).collect();
    assert_eq!(served, named, "every operation needs a row in this table that says who may call it");
    server.world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_is_open_to_whom_the_table_says_and_to_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path()).await;
    let credentials = credentials(&server.world).await;
    for (method, path, needs, body) in operations() {
        let answer = request(&server, method, path, &body).send().await.unwrap();
        if needs != Nothing {
            assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{method} {path} without a credential");
        }
        for credential in &credentials {
            let answer =
                request(&server, method, path, &body).bearer_auth(&credential.token).send().await.unwrap();
            let (status, program) = (answer.status().as_u16(), credential.is_program);
            let what = format!("{method} {path} as {:?}, program: {program}: {status}", credential.role);
            if needs == Nothing {
                assert_ne!(status, 403, "{what}");
            } else if may(needs, credential) {
                assert!(!matches!(status, 401 | 403 | 405 | 415 | 500..), "{what}");
            } else {
                assert_eq!(status, 403, "{what}");
            }
        }
    }
    server.world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_write_with_a_cookie_needs_the_csrf_token() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path()).await;
    let login = json!({ "username": "admin", "password": server.world.first.admin_password });
    let answer = request(&server, "POST", "/session", &login).send().await.unwrap();
    let cookie = answer.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let csrf = answer.json::<api::session::Session>().await.unwrap().csrf;
    for (method, path, needs, body) in operations() {
        if needs == Nothing {
            continue;
        }
        let answer = request(&server, method, path, &body).header("cookie", &cookie).send().await.unwrap();
        if method != "GET" {
            // Neither does the token help a page of another site.
            for (header, value) in [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")] {
                let request = request(&server, method, path, &body).header("cookie", &cookie);
                let request = request.header("x-csrf-token", &csrf).header(header, value);
                let answer = request.send().await.unwrap();
                assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{method} {path} with {header}");
                assert_eq!(answer.json::<api::Problem>().await.unwrap().kind, "urn:muster:problem:csrf");
            }
        }
        if method == "GET" {
            assert_ne!(answer.status(), StatusCode::FORBIDDEN, "{method} {path}");
        } else {
            assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{method} {path}");
            let problem: api::Problem = answer.json().await.unwrap();
            assert_eq!(problem.kind, "urn:muster:problem:csrf", "{method} {path}");
        }
    }
    let login = request(&server, "POST", "/session", &login).header("origin", "https://evil.example");
    assert_eq!(login.send().await.unwrap().status(), StatusCode::FORBIDDEN, "nor does it log anybody in");
    let logout = request(&server, "DELETE", "/session", &Value::Null).header("cookie", &cookie);
    let logout = logout.header("x-csrf-token", &csrf).header("origin", server.world.url());
    assert_eq!(logout.send().await.unwrap().status(), StatusCode::NO_CONTENT, "the console's own pages may");
    server.world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_begins_like_the_api_and_is_not_there_is_a_problem_and_no_page() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path()).await;
    for path in [
        "/api",
        "/api/",
        "/API",
        "/API/v1/agents",
        "/Api/v2",
        "/api/v1",
        "/api/v1/nothing",
        "//api/v1/agents",
    ] {
        let answer = server.client.get(server.world.url() + path).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
        assert_eq!(answer.headers()["content-type"], "application/problem+json", "{path}");
        assert_eq!(answer.headers()["cache-control"], "no-store", "{path}");
    }
    server.world.stop().await;
}
