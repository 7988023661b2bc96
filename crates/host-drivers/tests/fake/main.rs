//! The engine's driver against an engine that misbehaves: another API, conflicts, faults, dropped connections, silence. No
//! real one can be asked to do that.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stderr, reason = "prints what a pass costs")]

mod engine;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::{Answer, Fake};
use host_drivers::docker::{Engine, EngineOptions, FilePlaces, Look, Observer, events};
use host_proto::DesiredState;
use host_proto::report::HealthState;
use reconcile::{Action, Actual, Allowed, ContainerState, Memory, Seen, Trouble, TroubleKind, plan};
use serde_json::{Value, json};

async fn connect(fake: &Fake) -> Result<Arc<Engine>, Trouble> {
    let files = FilePlaces { files: "/nowhere/files".into(), secrets: "/nowhere/secrets".into() };
    let host = "hst_1".parse().unwrap();
    let options = EngineOptions { socket: fake.socket(), host, files, allow_host_paths: Vec::new() };
    Engine::connect(options).await.map(Arc::new)
}

fn version(oldest: &str, newest: &str) -> Answer {
    Answer::json(200, &json!({"ApiVersion": newest, "MinAPIVersion": oldest, "Version": "x"}))
}

/// A container of ours as a list shows it.
fn summary(number: u32, state: &str, status: &str) -> Value {
    json!({
        "Id": format!("c{number:04}"), "Names": [format!("/shop-web-{number}")], "Image": "nginx:1",
        "ImageID": "sha256:1", "Created": 1, "State": state, "Status": status,
        "Labels": {
            "muster.host": "hst_1", "muster.kind": "replica", "muster.replica": format!("rep_{number}"),
            "muster.service": "svc_web", "muster.release": "rel_1", "muster.project": "shop",
            "muster.service_name": "web", "muster.number": format!("{number}"), "muster.spec_hash": "h1",
            "muster.name": format!("shop-web-{number}"),
        },
        "NetworkSettings": {"Networks": {"muster-shop-1": {"IPAddress": format!("10.208.4.{}", number % 250 + 2)}}},
        "Mounts": [{"Type": "volume", "Name": "muster-data-1", "Source": "/x", "Destination": "/data", "RW": true}],
        "HostConfig": {"NetworkMode": "muster-shop-1"}, "Ports": [], "Command": "/bin/sh",
    })
}

fn state(replicas: u32) -> DesiredState {
    let replicas: Vec<Value> = (1..=replicas)
        .map(|number| {
            json!({
                "replica_id": format!("rep_{number}"), "service_id": "svc_web", "release_id": "rel_1",
                "project": "shop", "service": "web", "number": number, "name": format!("shop-web-{number}"),
                "spec_hash": "h1", "image": {"ref": "nginx:1"},
                "networks": [{"network_id": "net_1", "ip": format!("10.208.4.{}", number % 250 + 2)}],
            })
        })
        .collect();
    serde_json::from_value(json!({
        "epoch": "e", "generation": 1, "replicas": replicas,
        "networks": [{"id": "net_1", "name": "muster-shop-1", "bridge": "mst1", "project_id": "prj_1",
                      "project": "shop", "subnet": "10.208.4.0/24", "gateway": "10.208.4.1"}],
    }))
    .unwrap()
}

/// An engine that holds these containers, and everything else that the state wants.
fn healthy(containers: Vec<Value>) -> Fake {
    let networks = json!([
        {"Name": "bridge", "Labels": {}},
        {"Name": "muster-shop-1", "Labels": {"muster.host": "hst_1", "muster.network": "net_1"}},
    ]);
    let details = json!({"Id": "c", "RestartCount": 0, "State": {"Status": "running", "Running": true, "Pid": 7,
                         "ExitCode": 0, "StartedAt": "2024-01-01T00:00:00Z"}});
    let fake = Fake::start();
    fake.on("GET /version", version("1.24", "1.41"));
    fake.on("GET /v1.41/containers/json", Answer::json(200, &Value::Array(containers)));
    fake.on("GET /v1.41/networks", Answer::json(200, &networks));
    fake.on("GET /v1.41/volumes", Answer::json(200, &json!({"Volumes": [], "Warnings": []})));
    fake.on("GET /v1.41/containers/*/json", Answer::json(200, &details));
    fake
}

#[tokio::test(flavor = "multi_thread")]
async fn r36_the_version_that_both_know_stands_in_every_path() {
    let fake = Fake::start();
    fake.on("GET /version", version("1.44", "1.48"));
    fake.on("GET /v1.48/containers/json", Answer::json(200, &json!([])));
    fake.on("GET /v1.48/networks", Answer::json(200, &json!([])));
    fake.on("GET /v1.48/volumes", Answer::json(200, &json!({"Volumes": []})));
    let engine = connect(&fake).await.unwrap();
    assert_eq!(engine.api().to_string(), "1.48");
    let seen = Observer::new(engine).observe(None, &Look::default()).await;
    assert_eq!(seen.containers, Seen::Known(Vec::new()));
    let listed = fake.asked().into_iter().find(|line| line.contains("containers/json")).unwrap();
    assert!(
        listed.starts_with("GET /v1.48/containers/json?") && listed.contains("muster.host%3Dhst_1"),
        "{listed}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn r36_an_engine_that_is_too_old_or_too_new_is_refused_with_both_versions() {
    for (oldest, newest, word) in [("1.12", "1.40", "1.41"), ("1.99", "1.99", "1.99")] {
        let fake = Fake::start();
        fake.on("GET /version", version(oldest, newest));
        let trouble = connect(&fake).await.unwrap_err();
        assert_eq!(trouble.kind, TroubleKind::Refused);
        assert!(trouble.text.contains(word), "{trouble}");
    }
}

/// An engine that cannot write, as with a full disk, starts a container and goes on listing it as it was.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_started_runs_although_the_list_does_not_know_it_yet() {
    let fake = healthy(vec![summary(1, "created", "Created")]);
    fake.on("POST /v1.41/containers/*/start", Answer::json(204, &json!(null)));
    let engine = connect(&fake).await.unwrap();
    let mut observer = Observer::new(engine.clone());
    let desired = state(1);
    let look = Look::default();
    let states = |seen: &Actual| {
        let containers = seen.containers.known().unwrap();
        containers.iter().map(|it| (it.state, it.health)).collect::<Vec<_>>()
    };
    let seen = observer.observe(Some(&desired), &look).await;
    assert_eq!(states(&seen), [(ContainerState::Created, HealthState::None)]);
    engine.apply(&Action::Start { container: "c0001".to_owned() }, &desired).await.unwrap();
    let runs = |health: &str| {
        let state = json!({"Status": "running", "Running": true, "Pid": 7, "ExitCode": 0,
                           "StartedAt": "2024-01-01T00:00:00Z", "Health": {"Status": health}});
        Answer::json(200, &json!({"Id": "c0001", "RestartCount": 0, "State": state}))
    };
    for (said, health) in [("starting", HealthState::Starting), ("healthy", HealthState::Healthy)] {
        fake.on("GET /v1.41/containers/*/json", runs(said));
        let seen = observer.observe(Some(&desired), &look).await;
        assert_eq!(states(&seen), [(ContainerState::Running, health)]);
    }
    // One that ends before a list has shown it is not asked about for ever.
    let ended = json!({"Status": "exited", "Running": false, "Pid": 0, "ExitCode": 1});
    let ended = Answer::json(200, &json!({"Id": "c0001", "RestartCount": 0, "State": ended}));
    fake.on("GET /v1.41/containers/*/json", ended);
    observer.observe(Some(&desired), &look).await;
    fake.forget();
    let seen = observer.observe(Some(&desired), &look).await;
    assert_eq!(states(&seen), [(ContainerState::Created, HealthState::None)]);
    assert_eq!(fake.asked().len(), 1, "{:?}", fake.asked());
    // Once the list has shown it, the list is right.
    engine.apply(&Action::Start { container: "c0001".to_owned() }, &desired).await.unwrap();
    fake.on("GET /v1.41/containers/json", Answer::json(200, &json!([summary(1, "running", "Up 1 second")])));
    observer.observe(Some(&desired), &look).await;
    fake.on(
        "GET /v1.41/containers/json",
        Answer::json(200, &json!([summary(1, "exited", "Exited (1) now")])),
    );
    let seen = observer.observe(Some(&desired), &look).await;
    assert_eq!(states(&seen), [(ContainerState::Exited, HealthState::None)]);
}

/// `docker commit` takes the labels of a container along, and whoever runs that image has them too.
#[tokio::test(flavor = "multi_thread")]
async fn state_8_a_container_with_our_labels_and_another_name_is_somebody_elses() {
    let mut copy = summary(1, "running", "Up 1 minute");
    (copy["Id"], copy["Names"]) = (json!("c0000"), json!(["/debug"]));
    let linked = {
        let mut linked = summary(2, "running", "Up 1 minute");
        linked["Names"] = json!(["/debug/web", "/shop-web-2"]);
        linked
    };
    let fake = healthy(vec![copy, summary(1, "running", "Up 1 minute"), linked]);
    let engine = connect(&fake).await.unwrap();
    let seen = Observer::new(engine).observe(Some(&state(2)), &Look::default()).await;
    let names: Vec<&str> = seen.containers.known().unwrap().iter().map(|it| &*it.name).collect();
    assert_eq!(names, ["shop-web-1", "shop-web-2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn r29_an_engine_that_does_not_answer_makes_things_unknown_and_not_gone() {
    for answer in
        [Answer::json(500, &json!({"message": "broken"})), Answer::Drop, Answer::Text(200, "no json".into())]
    {
        let fake = healthy(vec![summary(1, "running", "Up 1 minute")]);
        let engine = connect(&fake).await.unwrap();
        let mut observer = Observer::new(engine);
        let desired = state(1);
        fake.on("GET /v1.41/containers/json", answer);
        let seen = observer.observe(Some(&desired), &Look::default()).await;
        assert!(seen.containers.known().is_none() && seen.networks.known().is_none());
        let allowed = Allowed::of(&desired, true);
        assert!(plan(&desired, &seen, &allowed, &Memory::new(1), host_proto::Moment(0)).is_idle());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn state_11_a_pass_over_what_is_as_it_should_be_asks_for_one_list_and_nothing_else() {
    let fake = healthy((1..=3).map(|number| summary(number, "running", "Up 1 minute")).collect());
    let mut observer = Observer::new(connect(&fake).await.unwrap());
    let desired = state(3);
    let look = Look { lists: true, ..Look::default() };
    observer.observe(Some(&desired), &look).await;
    fake.forget();
    let seen = observer.observe(Some(&desired), &Look::default()).await;
    assert_eq!(fake.asked().len(), 1, "{:?}", fake.asked());
    assert!(seen.containers.known().unwrap().iter().all(|one| one.details.is_some()));
    let plan = plan(&desired, &seen, &Allowed::of(&desired, true), &Memory::new(1), host_proto::Moment(0));
    assert!(plan.is_satisfied(), "{plan}");
}

/// An engine and an observer that have seen one replica, and a state with a second one, of another image.
async fn one_more() -> (Fake, Arc<Engine>, Observer, DesiredState) {
    let fake = healthy(vec![summary(1, "running", "Up 1 minute")]);
    fake.on("GET /v1.41/images/*/json", Answer::json(200, &json!({"Id": "sha256:2"})));
    fake.on("POST /v1.41/containers/create", Answer::json(201, &json!({"Id": "c2", "Warnings": []})));
    let engine = connect(&fake).await.unwrap();
    let mut observer = Observer::new(Arc::clone(&engine));
    observer.observe(Some(&state(1)), &Look { lists: true, ..Look::default() }).await;
    fake.forget();
    let mut desired = state(2);
    desired.replicas[1].image.reference = "nginx:2".to_owned();
    (fake, engine, observer, desired)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_replica_costs_one_list_and_one_look_at_its_image() {
    let (fake, engine, mut observer, desired) = one_more().await;
    let seen = observer.observe(Some(&desired), &Look::default()).await;
    assert_eq!(seen.images, BTreeSet::from(["nginx:2".to_owned()]));
    let create = Action::CreateContainer {
        replica: desired.replicas[1].replica_id.clone(),
        name: desired.replicas[1].name.clone(),
    };
    engine.apply(&create, &desired).await.unwrap();
    let asked: Vec<String> =
        fake.asked().iter().filter_map(|line| line.split('?').next().map(str::to_owned)).collect();
    let (mut looks, last) = (asked[..2].to_vec(), &asked[2..]);
    looks.sort_unstable();
    assert_eq!(looks, ["GET /v1.41/containers/json", "GET /v1.41/images/nginx:2/json"]);
    assert_eq!(last, ["POST /v1.41/containers/create"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_seen_last_will_do_for_a_new_state_unless_something_happened() {
    let (fake, _, mut observer, desired) = one_more().await;
    let recent = Look { recent: true, ..Look::default() };
    let seen = observer.observe(Some(&desired), &recent).await;
    assert_eq!(seen.containers.known().unwrap().len(), 1);
    assert_eq!(seen.images, BTreeSet::from(["nginx:2".to_owned()]));
    let asked = fake.asked();
    assert!(asked.len() == 1 && asked[0].contains("/images/nginx:2/json"), "{asked:?}");
    let happened = BTreeSet::from(["c0001".to_owned()]);
    for look in
        [Look { suspects: happened, ..recent.clone() }, Look { lists: true, ..recent }, Look::default()]
    {
        fake.forget();
        observer.observe(Some(&desired), &look).await;
        assert!(fake.asked().iter().any(|line| line.contains("/containers/json?")), "{look:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_went_after_the_look_is_an_error_that_is_tried_again_and_looked_for() {
    let (fake, engine, mut observer, desired) = one_more().await;
    observer.observe(Some(&desired), &Look::default()).await;
    let gone = Answer::json(404, &json!({"message": "No such image: nginx:2"}));
    fake.on("POST /v1.41/containers/create", gone.clone());
    fake.on("GET /v1.41/images/*/json", gone);
    let create = Action::CreateContainer {
        replica: desired.replicas[1].replica_id.clone(),
        name: desired.replicas[1].name.clone(),
    };
    let trouble = engine.apply(&create, &desired).await.unwrap_err();
    assert_eq!(trouble.kind, TroubleKind::Retry, "{trouble}");
    let seen = observer.observe(Some(&desired), &Look::default()).await;
    assert!(seen.images.is_empty());
    let plan = plan(&desired, &seen, &Allowed::of(&desired, true), &Memory::new(1), host_proto::Moment(0));
    assert!(plan.to_string().contains("image nginx:2: pull"), "{plan}");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_a_look_asks_is_asked_at_once() {
    let (fake, _, mut observer, desired) = one_more().await;
    fake.together(4);
    let look = Look { lists: true, ..Look::default() };
    let seen = tokio::time::timeout(Duration::from_secs(10), observer.observe(Some(&desired), &look));
    let seen = seen.await.expect("one question waits for the answer to another");
    assert!(seen.networks.known().is_some() && seen.images.contains("nginx:2"));
    assert_eq!(fake.asked().len(), 4, "{:?}", fake.asked());
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_an_engine_are_sorted_by_what_helps() {
    let fake = healthy(Vec::new());
    let engine = connect(&fake).await.unwrap();
    let desired = state(1);
    let start = Action::Start { container: "c1".to_owned() };
    let stop = Action::Stop { container: "c1".to_owned(), grace_ms: Some(0) };
    let kill = Action::Kill { container: "c1".to_owned() };
    let remove = Action::RemoveContainer { container: "c1".to_owned(), force: false };
    let said = |status, message: &str| Answer::json(status, &json!({"message": message}));
    let (start_at, stop_at) = ("POST /v1.41/containers/*/start", "POST /v1.41/containers/*/stop");
    let (kill_at, remove_at) = ("POST /v1.41/containers/*/kill", "DELETE /v1.41/containers/*");
    let cases = [
        (&start, start_at, said(500, "driver failed"), Some(TroubleKind::Retry)),
        (&start, start_at, Answer::Drop, Some(TroubleKind::Unavailable)),
        (&start, start_at, Answer::Text(304, String::new()), None),
        (&stop, stop_at, said(404, "no such container"), None),
        (&stop, stop_at, said(500, "cannot stop"), Some(TroubleKind::Retry)),
        (&kill, kill_at, said(409, "is not running"), None),
        (&remove, remove_at, said(409, "removal of container c1 is already in progress"), None),
        (&remove, remove_at, said(409, "cannot remove a running container"), Some(TroubleKind::Retry)),
    ];
    for (action, path, answer, expected) in cases {
        let shown = format!("{action:?} {answer:?}");
        fake.on(path, answer);
        let outcome = engine.apply(action, &desired).await;
        assert_eq!(outcome.err().map(|trouble| trouble.kind), expected, "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r37_a_stream_of_events_that_ends_is_opened_again_and_everything_is_listed() {
    let fake = healthy(Vec::new());
    fake.on("GET /v1.41/events", Answer::Drop);
    let engine = connect(&fake).await.unwrap();
    let (hints, mut heard) = tokio::sync::mpsc::channel(8);
    let watch = tokio::spawn(events::watch(engine, hints, events::SILENCE));
    for _ in 0..3 {
        let hint =
            tokio::time::timeout(Duration::from_secs(10), heard.recv()).await.expect("a hint").unwrap();
        assert!(hint.reopened && hint.lists);
    }
    fake.on("GET /v1.41/events", Answer::Silence);
    let silent = loop {
        let hint =
            tokio::time::timeout(Duration::from_secs(10), heard.recv()).await.expect("a hint").unwrap();
        if fake.silent() > 0 {
            break hint;
        }
    };
    assert!(silent.reopened, "a stream that says nothing is no reason to wait with the first list");
    drop(heard);
    tokio::time::timeout(Duration::from_secs(10), watch).await.expect("an end").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn state_11_a_stream_of_events_that_is_silent_is_opened_again_and_nothing_is_asked_for() {
    let fake = healthy(Vec::new());
    fake.on("GET /v1.41/events", Answer::Silence);
    let engine = connect(&fake).await.unwrap();
    let (hints, mut hinted) = tokio::sync::mpsc::channel(8);
    tokio::spawn(events::watch(engine, hints, Duration::from_millis(200)));
    let first = hinted.recv().await.unwrap();
    assert!(first.reopened && first.lists);
    fake.forget();
    testkit::until("a third stream", || fake.asked().len() >= 2).await;
    assert!(hinted.try_recv().is_err(), "that was a reason to look");
    let asked = fake.asked();
    assert!(asked.iter().all(|it| it.contains("/events?") && it.contains("since=")), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn r44_an_image_is_pulled_by_digest_with_the_credential_of_its_registry_alone() {
    let fake = healthy(Vec::new());
    let lines = r#"{"status":"Pulling from app","id":"latest"}
{"status":"Downloading","progressDetail":{"current":1,"total":9},"id":"ab"}
{"status":"Digest: sha256:cd"}
"#;
    fake.on("POST /v1.41/images/create", Answer::Text(200, lines.to_owned()));
    let engine = connect(&fake).await.unwrap();
    let auth =
        |registry: &str| json!({"registry": registry, "username": "u", "password": format!("of {registry}")});
    let registry = json!({"auth": [auth("other.example"), auth("r.example:5000")]});
    let registry = serde_json::from_value(registry).unwrap();
    let mut said = Vec::new();
    engine.pull("r.example:5000/app@sha256:cd", &registry, |line| said.push(line.to_owned())).await.unwrap();
    assert_eq!(said, ["latest: Pulling from app", "Digest: sha256:cd"]);
    engine.pull("elsewhere.example/app:2", &registry, |_| {}).await.unwrap();
    let asked: Vec<String> = fake.asked().into_iter().filter(|line| line.contains("images/create")).collect();
    assert!(
        asked[0].contains("fromImage=r.example%3A5000%2Fapp&") && asked[0].contains("tag=sha256%3Acd"),
        "{asked:?}"
    );
    assert!(asked[0].contains(" auth=") && !asked[1].contains(" auth="), "{asked:?}");
    let sent = asked[0].split(" auth=").nth(1).unwrap();
    let sent: Value = serde_json::from_slice(&STANDARD.decode(sent).unwrap()).unwrap();
    assert_eq!((&sent["username"], &sent["password"]), (&json!("u"), &json!("of r.example:5000")));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_in_the_middle_of_a_pull_is_an_error_in_the_registrys_words() {
    let fake = healthy(Vec::new());
    let error = r#"{"status":"Pulling from app","id":"latest"}
{"errorDetail":{"message":"toomanyrequests: slow down"},"error":"toomanyrequests: slow down"}
"#;
    let refused = json!({"message": "pull access denied for app"});
    let cases = [
        (Answer::Text(200, error.to_owned()), "pull: toomanyrequests: slow down"),
        (Answer::json(404, &refused), "pull: pull access denied for app"),
    ];
    for (answer, expected) in cases {
        fake.on("POST /v1.41/images/create", answer);
        let engine = connect(&fake).await.unwrap();
        let trouble = engine.pull("app:1", &Default::default(), |_| {}).await.unwrap_err();
        assert_eq!((trouble.text.as_str(), trouble.kind), (expected, TroubleKind::Retry));
    }
}

/// Not a benchmark: it prints what a pass costs, and fails only when that is far off.
#[tokio::test(flavor = "multi_thread")]
async fn a_pass_over_200_replicas_is_cheap() {
    let fake = healthy((1..=200).map(|number| summary(number, "running", "Up 1 minute (healthy)")).collect());
    let mut observer = Observer::new(connect(&fake).await.unwrap());
    let desired = state(200);
    for _ in 0..14 {
        observer.observe(Some(&desired), &Look::default()).await;
    }
    let (mut looks, mut plans) = (Vec::new(), Vec::new());
    for _ in 0..10 {
        let began = Instant::now();
        let seen = observer.observe(Some(&desired), &Look::default()).await;
        looks.push(began.elapsed());
        let began = Instant::now();
        let plan =
            plan(&desired, &seen, &Allowed::of(&desired, true), &Memory::new(1), host_proto::Moment(0));
        plans.push(began.elapsed());
        assert!(plan.is_satisfied(), "{plan}");
    }
    looks.sort_unstable();
    plans.sort_unstable();
    eprintln!("observe {:?}, plan {:?}", looks[5], plans[5]);
    assert!(looks[5] < Duration::from_secs(2) && plans[5] < Duration::from_secs(1));
}
