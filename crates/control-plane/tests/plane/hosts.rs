//! Hosts at the server's door: joins, connections, states, deployments from the API to the host and back.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::hosts::{CreatedJoinToken, Host, HostList};
use api::services::{Deployment, Plan, Service};
use host_proto::ToAgent;
use host_proto::join::JoinAnswer;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use testkit::sim_host::Seen;
use testkit::{Fate, Machine, Opening, SimHost, look_for, soon, within};
use tokio::task::JoinHandle;

use crate::world::World;

/// The API, as an administrator calls it.
pub(crate) struct Api<'a> {
    world: &'a World,
    client: Client,
    token: String,
}

impl<'a> Api<'a> {
    pub(crate) async fn of(world: &'a World) -> Self {
        let token = world.session("admin", world.first.admin_password.as_ref().unwrap()).await;
        Self { world, client: Client::new(), token }
    }

    pub(crate) async fn call(&self, method: &str, path: &str, body: Option<Value>) -> (StatusCode, Value) {
        let url = format!("{}/api/v1{path}", self.world.url());
        let request = self.client.request(method.parse().unwrap(), url).bearer_auth(&self.token);
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        let answer = request.send().await.unwrap();
        let status = answer.status();
        (status, answer.json().await.unwrap_or(Value::Null))
    }

    pub(crate) async fn join_token(&self) -> CreatedJoinToken {
        let (status, body) = self.call("POST", "/join-tokens", Some(json!({}))).await;
        assert_eq!(status, StatusCode::CREATED, "{body}");
        serde_json::from_value(body).unwrap()
    }

    pub(crate) async fn join(&self, machine: &Machine) -> JoinAnswer {
        let token = self.join_token().await.token;
        machine.join(self.world.console, &token).await.unwrap_or_else(|answer| panic!("{}", answer.text()))
    }

    /// A machine that has joined and said hello; what it does then is the test's.
    pub(crate) async fn sim_host(&self, name: &str) -> SimHost {
        let machine = Machine::named(name);
        let answer = self.join(&machine).await;
        let token = answer.host_token.expose();
        SimHost::connect(self.world.console, token, &machine, Opening::default()).await
    }

    /// A machine that has joined, and lives as the host of that name.
    pub(crate) async fn live_host(&self, name: &str) -> (Machine, JoinAnswer, Living) {
        let machine = Machine::named(name);
        let answer = self.join(&machine).await;
        let host = living(self.world, &answer, &machine).await;
        (machine, answer, host)
    }

    /// Ends a host's connection, until the server has noticed.
    pub(crate) async fn gone(&self, name: &str, host: Living) {
        host.task.abort();
        testkit::until_async("the end", async || self.host(name).await.address.is_none()).await;
    }

    pub(crate) async fn host(&self, name: &str) -> Host {
        let (status, body) = self.call("GET", &format!("/hosts/{name}"), None).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        serde_json::from_value(body).unwrap()
    }

    pub(crate) async fn deploy(&self, compose: &str) -> (StatusCode, Value) {
        let body = json!({ "files": [{ "name": "compose.yaml", "text": compose }] });
        self.call("POST", "/projects/shop/deployments", Some(body)).await
    }

    pub(crate) async fn service(&self, name: &str) -> Service {
        let (status, body) = self.call("GET", &format!("/services/shop/{name}"), None).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        serde_json::from_value(body).unwrap()
    }

    /// Waits until a deployment is over.
    pub(crate) async fn outcome(&self, id: &Value) -> Deployment {
        let path = format!("/deployments/{}", id.as_str().unwrap());
        let over = look_for(async || {
            let (_, body) = self.call("GET", &path, None).await;
            let deployment: Deployment = serde_json::from_value(body).unwrap();
            Some(deployment).filter(|it| !matches!(it.state.as_str(), "running" | "rolling back"))
        });
        within(Duration::from_secs(90), "the end of the deployment", over).await
    }
}

/// Deploys what works.
pub(crate) async fn deployed(api: &Api<'_>, compose: &str) {
    let (status, body) = api.deploy(compose).await;
    assert_eq!(status, StatusCode::CREATED, "{body}");
    let done = api.outcome(&body["id"]).await;
    assert_eq!(done.state, "done", "{done:?}");
}

/// A host that does as it is told, in the background.
pub(crate) struct Living {
    pub(crate) seen: Arc<Mutex<Seen>>,
    pub(crate) task: JoinHandle<u16>,
}

/// Connects, and waits for the first state.
pub(crate) async fn living(world: &World, answer: &JoinAnswer, machine: &Machine) -> Living {
    opened(world, answer, machine, Opening::default()).await
}

/// The same, with a connection that begins like this.
pub(crate) async fn opened(
    world: &World,
    answer: &JoinAnswer,
    machine: &Machine,
    opening: Opening,
) -> Living {
    let host = SimHost::connect(world.console, answer.host_token.expose(), machine, opening).await;
    let seen = host.seen.clone();
    let host = Living { seen, task: tokio::spawn(host.live()) };
    testkit::until("a state", || !host.seen.lock().unwrap().states.is_empty()).await;
    host
}

const WEB: &str = "services:\n  web:\n    image: web:1\n    ports: ['8080:80']\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn join_3_connect_4_a_machine_joins_once_says_hello_and_is_told_what_to_run() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let made = api.join_token().await;
    assert!(made.command.contains("/api/agent/v1/install.sh") && made.command.contains(&made.token));
    let machine = Machine::named("h1");
    let answer =
        machine.join(world.console, &made.token).await.unwrap_or_else(|answer| panic!("{}", answer.text()));
    let second = Machine::named("h2").join(world.console, &made.token).await.unwrap_err();
    assert_eq!(second.status, 409, "{}", second.text());
    assert!(second.text().contains("duplicate_host"));
    let mut host =
        SimHost::connect(world.console, answer.host_token.expose(), &machine, Opening::default()).await;
    let ack = soon("hello_ack", host.next()).await.unwrap();
    assert!(matches!(ack.body, ToAgent::HelloAck(_)), "{ack:?}");
    let state = soon("desired_state", host.next()).await.unwrap();
    let ToAgent::DesiredState(state) = state.body else { panic!("{state:?}") };
    assert!(state.generation >= 1 && state.replicas.is_empty());
    assert_eq!(api.host("h1").await.state, "online");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connect_8_a_token_that_is_unknown_or_of_a_removed_host_opens_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let refused = SimHost::dial(world.console, "mst_host_nonsense").await.err().unwrap();
    assert_eq!(refused.status, 401);
    let (_, answer, host) = api.live_host("h1").await;
    let (status, body) = api.call("DELETE", "/hosts/h1", None).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "{body}");
    assert_eq!(soon("the end of the connection", host.task).await.unwrap(), 4003);
    let refused = SimHost::dial(world.console, answer.host_token.expose()).await.err().unwrap();
    assert_eq!(refused.status, 401);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connect_7_another_machine_with_the_token_is_refused_and_the_first_stays() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let (machine, answer, first) = api.live_host("h1").await;
    for thief in [
        Machine { machine_id: "another-machine".to_owned(), ..machine.clone() },
        Machine { key: "another-key".to_owned(), ..machine.clone() },
    ] {
        let mut other =
            SimHost::connect(world.console, answer.host_token.expose(), &thief, Opening::default()).await;
        let code = loop {
            match soon("the refusal", other.next()).await {
                Ok(frame) => assert!(matches!(frame.body, ToAgent::Error(_)), "{frame:?}"),
                Err(code) => break code,
            }
        };
        assert_eq!(code, 4001);
    }
    assert!(!first.task.is_finished());
    let host = api.host("h1").await;
    assert_eq!(host.state, "online");
    assert!(host.problems.iter().any(|it| it.contains("another machine")), "{:?}", host.problems);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_that_joins_in_the_place_of_a_connected_one_takes_it_and_the_other_hears_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let (old, answer, before) = api.live_host("h1").await;
    let (status, token) = api.call("POST", "/join-tokens", Some(json!({"for_host": "h1"}))).await;
    assert_eq!(status, StatusCode::CREATED, "{token}");
    let new = Machine { machine_id: "made-anew".to_owned(), key: "made-anew".to_owned(), ..old.clone() };
    let joined = new.join(world.console, token["token"].as_str().unwrap()).await;
    let joined = joined.unwrap_or_else(|answer| panic!("{}", answer.text()));
    assert_eq!(joined.host_id, answer.host_id);
    assert_eq!(soon("the end of the old connection", before.task).await.unwrap(), 4003);
    let _after = living(&world, &joined, &new).await;
    assert_eq!(api.host("h1").await.state, "online");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_replicas_that_are_added_at_once_have_an_address_each() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let (_, _, host) = api.live_host("h1").await;
    let compose = "name: shop\nservices:\n  web:\n    image: nginx\n    deploy: {replicas: 230}\n";
    let (status, body) = api.deploy(compose).await;
    assert_eq!(status, StatusCode::CREATED, "{body}");
    let addresses = || -> Vec<std::net::Ipv4Addr> {
        let seen = host.seen.lock().unwrap();
        let Some(state) = seen.states.last() else { return Vec::new() };
        state.replicas.iter().flat_map(|spec| spec.networks.iter().map(|it| it.ip)).collect()
    };
    testkit::until("all of them", || addresses().len() == 230).await;
    let distinct: std::collections::BTreeSet<_> = addresses().into_iter().collect();
    assert_eq!(distinct.len(), 230);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_is_told_the_credentials_of_its_own_images_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let (_, _, host) = api.live_host("h1").await;
    for registry in ["r.example:5000", "other.example", "index.docker.io"] {
        let body = json!({"registry": registry, "username": "robot", "password": format!("of {registry}")});
        let (status, body) = api.call("PUT", "/registries", Some(body)).await;
        assert!(status.is_success(), "{body}");
    }
    let told = || -> Vec<String> {
        let seen = host.seen.lock().unwrap();
        let auth = seen.states.last().map(|state| state.registry.auth.clone()).unwrap_or_default();
        auth.into_iter().map(|auth| auth.registry).collect()
    };
    for (image, registry) in [("r.example:5000/team/app:1", "r.example:5000"), ("nginx", "index.docker.io")] {
        let (status, body) =
            api.deploy(&format!("name: shop\nservices: {{web: {{image: '{image}'}}}}\n")).await;
        assert_eq!(status, StatusCode::CREATED, "{body}");
        assert_eq!(api.outcome(&body["id"]).await.state, "done");
        testkit::until("its credential", || told() == [registry]).await;
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn state_13_generations_and_epoch_survive_a_restart_of_the_server() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let machine = Machine::named("h1");
    let answer = Api::of(&world).await.join(&machine).await;
    let host = living(&world, &answer, &machine).await;
    let before = host.seen.lock().unwrap().last().clone();
    let password = world.first.admin_password.clone();
    world.stop().await;
    assert_eq!(soon("the end", host.task).await.unwrap(), 1012, "come back later");
    let mut world = World::start(dir.path()).await;
    world.first.admin_password = password;
    let opening = Opening { applied: Some((before.epoch.clone(), before.generation)), ..Opening::default() };
    let again = opened(&world, &answer, &machine, opening).await;
    let after = again.seen.lock().unwrap().last().clone();
    assert_eq!(after.epoch, before.epoch);
    assert!(after.generation > before.generation);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r26_a_host_that_has_applied_more_than_was_ever_numbered_adopts_and_no_other_does() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let (_, _, other) = api.live_host("h2").await;
    let machine = Machine::named("h1");
    let answer = api.join(&machine).await;
    let host = living(&world, &answer, &machine).await;
    let before = host.seen.lock().unwrap().last().clone();
    api.gone("h1", host).await;
    let applied = Some((before.epoch.clone(), before.generation + 40));
    let again = opened(&world, &answer, &machine, Opening { applied, ..Opening::default() }).await;
    let after = again.seen.lock().unwrap().last().clone();
    assert!(after.adopt && after.epoch != before.epoch && after.generation == 1, "{after:?}");
    // It is so also after the next connection, until an operator decides.
    let applied = Some((after.epoch.clone(), after.generation));
    api.gone("h1", again).await;
    let again = opened(&world, &answer, &machine, Opening { applied, ..Opening::default() }).await;
    let later = again.seen.lock().unwrap().last().clone();
    assert!(later.adopt && later.epoch == after.epoch && later.generation == 2, "{later:?}");
    assert_eq!((api.host("h1").await.adopting, api.host("h2").await.adopting), (true, false));
    let states = other.seen.lock().unwrap().states.clone();
    assert!(states.iter().all(|state| state.epoch == before.epoch && !(state.adopt && state.generation > 1)));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deployment_reaches_the_host_is_done_when_it_runs_and_a_bad_one_goes_back() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let (status, plan) = api.call("POST", "/projects/shop/plan", Some(files(WEB))).await;
    assert_eq!(status, StatusCode::OK, "{plan}");
    let plan: Plan = serde_json::from_value(plan).unwrap();
    assert!(plan.refusals[0].contains("there is no host yet"), "{:?}", plan.refusals);
    let (_, _, host) = api.live_host("h1").await;

    let (status, body) = api.deploy(WEB).await;
    assert_eq!(status, StatusCode::CREATED, "{body}");
    let done = api.outcome(&body["id"]).await;
    assert_eq!(done.state, "done", "{done:?}");
    let service = api.service("web").await;
    assert_eq!((service.state.as_str(), service.ready, service.release), ("running", 1, Some(1)));
    let state = host.seen.lock().unwrap().last().clone();
    assert_eq!(state.routes[0].upstreams.len(), 1);
    let (status, _) = api.deploy(WEB).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "the same again is nothing to do");

    host.seen.lock().unwrap().fates.insert("docker.io/library/web:2".to_owned(), Fate::Unhealthy);
    let (_, body) = api.deploy(&WEB.replace("web:1", "web:2")).await;
    let back = api.outcome(&body["id"]).await;
    assert_eq!(back.state, "rolled back");
    let reason = back.reason.unwrap();
    assert!(reason.starts_with("web: it is unhealthy: health check: nobody answers"), "{reason}");
    assert_eq!(api.service("web").await.release, Some(1));

    let (_, body) = api.deploy(&WEB.replace("web:1", "web:3")).await;
    let done = api.outcome(&body["id"]).await;
    assert_eq!(done.state, "done", "{done:?}");
    let (status, body) = api.call("POST", "/services/shop/web/rollback", Some(json!({}))).await;
    assert_eq!(status, StatusCode::CREATED, "{body}");
    let done = api.outcome(&body["id"]).await;
    assert_eq!(done.state, "done", "{done:?}");
    assert_eq!(api.service("web").await.image, "web:1");
    let (_, logs) = api.call("GET", "/services/shop/web/logs", None).await;
    assert_eq!(logs["items"][0]["text"], "a line", "{logs}");
    // What became of each stands in the audit trail.
    let (_, trail) = api.call("GET", "/audit?action=deployment", None).await;
    let entries = trail["items"].as_array().unwrap().iter().rev();
    let entries: Vec<_> =
        entries.map(|it| format!("{} {}", it["object"], it["action"]).replace('"', "")).collect();
    assert_eq!(
        entries,
        [
            "deployment/1 deployment.done",
            "deployment/2 deployment.fail",
            "deployment/2 deployment.rolled-back",
            "deployment/3 deployment.done",
            "deployment/4 deployment.done"
        ]
    );
    let failed = trail["items"].as_array().unwrap().iter().find(|it| it["action"] == "deployment.fail");
    assert_eq!(failed.unwrap()["after"]["reason"], reason.as_str());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_is_sealed_reaches_the_host_as_a_file_and_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let (_, _, host) = api.live_host("h1").await;
    let compose = "services: {db: {image: 'db:1', secrets: [pw]}}\nsecrets: {pw: {external: true}}\n";
    let (status, body) = api.deploy(compose).await;
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(body["detail"].as_str().unwrap().contains("muster secrets set shop/pw"), "{body}");
    // "correct horse battery"
    let content = json!({ "content": "Y29ycmVjdCBob3JzZSBiYXR0ZXJ5" });
    let (status, _) = api.call("PUT", "/projects/shop/secrets/pw", Some(content)).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    let (_, body) = api.deploy(compose).await;
    let done = api.outcome(&body["id"]).await;
    assert_eq!(done.state, "done", "{done:?}");
    let state = host.seen.lock().unwrap().last().clone();
    assert_eq!(state.files[0].inline_b64.as_ref().unwrap().expose(), "Y29ycmVjdCBob3JzZSBiYXR0ZXJ5");
    assert!(state.files[0].secret);
    let (_, list) = api.call("GET", "/projects/shop/secrets", None).await;
    assert_eq!(list["items"][0]["used_by"], json!(["db"]), "{list}");
    let (_, audit) = api.call("GET", "/audit", None).await;
    assert!(!audit.to_string().contains("Y29ycm"));
    world.stop().await;
    let database = std::fs::read(dir.path().join("muster.db")).unwrap();
    let contains = |needle: &[u8]| database.windows(needle.len()).any(|window| window == needle);
    assert!(!contains(b"correct horse battery") && !contains(b"Y29ycmVjdCBob3Jz"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn join_9_tokens_are_listed_and_revocable_and_guessing_is_limited() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let made = api.join_token().await;
    let (status, _) = api.call("DELETE", &format!("/join-tokens/{}", made.item.id), None).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    let refused = Machine::named("h1").join(world.console, &made.token).await.unwrap_err();
    assert_eq!(refused.status, 401, "{}", refused.text());
    let (_, list) = api.call("GET", "/join-tokens", None).await;
    assert_eq!(list["items"][0]["state"], "revoked", "{list}");
    assert!(!list.to_string().contains(&made.token));
    let mut limited = false;
    for guess in 0..50 {
        let answer =
            Machine::named("h1").join(world.console, &format!("mst_join_{guess}")).await.unwrap_err();
        limited |= answer.status == 429;
    }
    assert!(limited, "fifty guesses and nobody minds");
    let (_, hosts) = api.call("GET", "/hosts", None).await;
    assert_eq!(serde_json::from_value::<HostList>(hosts).unwrap().items, []);
    world.stop().await;
}

pub(crate) fn files(compose: &str) -> Value {
    json!({ "files": [{ "name": "compose.yaml", "text": compose }] })
}
