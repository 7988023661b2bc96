//! What a host says decides what the server keeps: volumes until they are gone, the host's own lines also when it is offline.

use host_proto::ToServer;
use host_proto::desired::{Section, VolumeState};
use host_proto::message::{
    DockerFacts, EngineMetrics, HostLogLevel, HostLogLine, HostLogSource, HostLogsTail, Metrics,
};
use host_proto::report::{ItemResult, ItemState};
use reqwest::StatusCode;
use serde_json::Value;
use testkit::{Fate, Machine, Opening, SimHost, found, until};

use crate::hosts::{Api, Living, living};
use crate::world::World;

const STORE: &str = "services: {db: {image: 'db:1', volumes: ['data:/data']}}\nvolumes: {data: {}}\n";

/// Asks for the project with all that is in it to be removed, until nothing of it runs any more.
async fn remove(api: &Api<'_>) -> StatusCode {
    loop {
        let (status, body) = api.call("DELETE", "/projects/shop?volumes=true", None).await;
        match status {
            StatusCode::CREATED => {
                let done = api.outcome(&body["id"]).await;
                assert_eq!(done.state, "done", "{done:?}");
            }
            other => return other,
        }
    }
}

/// The volume that the host was told to delete.
async fn doomed(host: &Living) -> String {
    found("a state that deletes the volume", async || {
        let seen = host.seen.lock().unwrap();
        let last = seen.states.last()?;
        let volume = last.volumes.iter().find(|it| it.state == VolumeState::Delete)?;
        last.replicas.is_empty().then(|| volume.id.to_string())
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_volume_that_is_to_go_is_known_until_its_host_says_that_it_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let (machine, answer, host) = api.live_host("h1").await;
    let (_, body) = api.deploy(STORE).await;
    let done = api.outcome(&body["id"]).await;
    assert_eq!(done.state, "done", "{done:?}");
    let id = host.seen.lock().unwrap().last().volumes[0].id.to_string();
    host.seen.lock().unwrap().items.push(ItemResult {
        section: Section::Volumes,
        id: id.clone(),
        name: "volume muster-shop-data".to_owned(),
        state: ItemState::Held,
        error: Some("waits for somebody else's container to be gone".to_owned()),
        attempts: 0,
        retry_in_ms: None,
    });

    assert_eq!(remove(&api).await, StatusCode::NO_CONTENT);
    assert_eq!(doomed(&host).await, id);
    until_said(&api, "waits for somebody else's container to be gone").await;
    let (_, left) = api.call("GET", "/projects/shop", None).await;
    assert_eq!(left["volumes"][0]["name"], "data", "{left}");

    // When it comes back nothing stands in the way any more.
    host.task.abort();
    let host = living(&world, &answer, &machine).await;
    assert_eq!(doomed(&host).await, id);
    let gone = async || {
        remove(&api).await;
        let (status, _) = api.call("GET", "/projects/shop", None).await;
        (status == StatusCode::NOT_FOUND).then_some(())
    };
    found("the end of the project", gone).await;
    let (status, body) = api.call("DELETE", "/hosts/h1", None).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "nothing is meant to be there: {body}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_leaves_during_a_deployment_and_its_project_can_be_removed() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let (_, _, host) = api.live_host("h1").await;
    host.seen.lock().unwrap().fates.insert("docker.io/library/db:1".to_owned(), Fate::Slow);
    let (_, begun) = api.deploy(STORE).await;
    until("a replica", || !host.seen.lock().unwrap().replicas.is_empty()).await;
    host.task.abort();
    let abort = format!("/deployments/{}/abort", begun["id"].as_str().unwrap());
    let (_, aborted) = api.call("POST", &abort, None).await;
    assert_eq!(aborted["state"], "rolling back", "{aborted}");

    let (status, going) = api.call("DELETE", "/projects/shop", None).await;
    assert_eq!(status, StatusCode::CREATED, "another deployment gives way: {going}");
    let (status, again) = api.call("DELETE", "/projects/shop", None).await;
    assert_eq!(
        (status, &again["id"]),
        (StatusCode::CREATED, &going["id"]),
        "it is under way already: {again}"
    );
    let (status, refused) = api.call("DELETE", "/hosts/h1", None).await;
    assert_eq!(status, StatusCode::CONFLICT, "{refused}");
    assert!(refused["detail"].as_str().unwrap().contains("muster hosts rm h1 --force"), "{refused}");
    let (status, body) = api.call("DELETE", "/hosts/h1?force=true", None).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "{body}");
    let done = api.outcome(&going["id"]).await;
    assert_eq!(done.state, "done", "{done:?}");
    let (status, body) = api.call("DELETE", "/projects/shop", None).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "{body}");
    let (status, _) = api.call("GET", "/projects/shop", None).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    world.stop().await;
}

/// Waits until the page of the host says so.
async fn until_said(api: &Api<'_>, text: &str) {
    found(text, async || {
        let (_, host) = api.call("GET", "/hosts/h1", None).await;
        host.to_string().contains(text).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn req_9_lines_of_a_host_are_there_when_it_is_offline_and_told_twice_they_are_there_once() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let machine = Machine::named("h1");
    let answer = api.join(&machine).await;
    let line = |number: u64| HostLogLine {
        ts_us: 1_700_000_000_000_000 + number,
        level: HostLogLevel::Error,
        source: HostLogSource::Agent,
        replica_id: None,
        release_id: None,
        text: "the disk is full".to_owned(),
    };
    // A new connection tells all that the host still has, from the first line on.
    for lines in [vec![line(1), line(2)], vec![line(1), line(2), line(3)]] {
        let mut host =
            SimHost::connect(world.console, answer.host_token.expose(), &machine, Opening::default()).await;
        let count = lines.len();
        host.say(ToServer::HostLogsTail(HostLogsTail { seq: 1, lines })).await;
        let task = tokio::spawn(host.live());
        found("the lines", async || (shown(&api).await.len() == count).then_some(())).await;
        task.abort();
    }
    found("a host that is offline", async || {
        let (_, host) = api.call("GET", "/hosts/h1", None).await;
        host["address"].is_null().then_some(())
    })
    .await;
    let lines = shown(&api).await;
    assert_eq!((lines.len(), &lines[2]["text"]), (3, &"the disk is full".into()), "{lines:?}");
    world.stop().await;
}

async fn shown(api: &Api<'_>) -> Vec<Value> {
    let (status, body) = api.call("GET", "/hosts/h1/log", None).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    body["items"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn join_6_the_data_directory_holds_no_token_of_a_host() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let machine = Machine::named("h1");
    let join_token = api.join_token().await.token;
    let answer = machine.join(world.console, &join_token).await.unwrap_or_else(|it| panic!("{}", it.text()));
    let _host = living(&world, &answer, &machine).await;
    world.stop().await;
    let files: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.iter().any(|file| file.ends_with("muster.db")), "{files:?}");
    for file in files.iter().filter(|file| file.is_file()) {
        let bytes = std::fs::read(file).unwrap();
        for token in [join_token.as_str(), answer.host_token.expose()] {
            // Neither whole nor without the word that says what it is.
            let random = token.rsplit('_').next().unwrap().as_bytes();
            assert!(!bytes.windows(random.len()).any(|part| part == random), "{}", file.display());
        }
    }
}

/// What a host measures, as far as its engine is concerned: this version, or none that answers.
fn measured(version: Option<&str>) -> ToServer {
    let facts = version.map(|it| DockerFacts { version: it.to_owned(), ..DockerFacts::default() });
    let engine = EngineMetrics { containers: 0, up: facts.is_some(), facts };
    ToServer::Metrics(Box::new(Metrics { engine, ..Metrics::default() }))
}

/// The host, once its engine is this version, or none that answers.
async fn with_engine(api: &Api<'_>, version: Option<&str>) -> Value {
    found("the engine", async || {
        let (_, host) = api.call("GET", "/hosts/h1", None).await;
        (host["engine"].as_str() == version).then_some(host)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_connected_host_says_is_heard_now_also_that_its_engine_goes_and_comes_back_as_another() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let mut host = api.sim_host("h1").await;
    let first = found("a host that is connected", async || {
        let (_, host) = api.call("GET", "/hosts/h1", None).await;
        (!host["address"].is_null()).then_some(host)
    })
    .await;
    assert_eq!(first["engine"], "28.5.2", "{first}");

    host.say(measured(None)).await;
    let without = with_engine(&api, None).await;
    let none = "no container engine answers there: start it, or install Docker";
    assert!(without["problems"].as_array().unwrap().contains(&none.into()), "{without}");
    let heard = |host: &Value| host["last_seen"].as_str().unwrap().to_owned();
    assert!(heard(&without) > heard(&first), "{without} {first}");

    host.say(measured(Some("29.1.0"))).await;
    let again = with_engine(&api, Some("29.1.0")).await;
    assert!(!again["problems"].to_string().contains(none), "{again}");

    drop(host);
    found("a host that is away", async || {
        let (_, host) = api.call("GET", "/hosts/h1", None).await;
        host["address"].is_null().then_some(())
    })
    .await;
    with_engine(&api, Some("29.1.0")).await;
    world.stop().await;
}
