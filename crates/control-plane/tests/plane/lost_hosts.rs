//! Hosts that lose what they ran, or are lost themselves: what is left of it in the server goes, and what has no place gets
//! one as soon as there is one.

use host_proto::id::{HostId, VolumeId};
use host_proto::message::{LeftVolume, ReplicaStatus};
use host_proto::report::{ReplicaReport, ReplicaState};
use host_proto::{ToAgent, ToServer};
use reqwest::StatusCode;
use serde_json::json;

use testkit::{Machine, Opening, SimHost};

use crate::hosts::{Api, Living, deployed, files, opened};
use crate::world::World;

fn web(version: u32, replicas: u32) -> String {
    format!("services: {{web: {{image: 'web:{version}', deploy: {{replicas: {replicas}}}}}}}\n")
}

/// A host that lost a container cannot say that it removed it. It is gone all the same when the host has applied a state
/// without it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_its_host_does_not_have_is_gone_when_it_has_applied_a_state_without_it() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let (machine, answer, host) = api.live_host("h1").await;
    deployed(&api, &web(1, 2)).await;
    let last = host.seen.lock().unwrap().last().clone();
    api.gone("h1", host).await;
    // Nobody there can say that the second one was removed; it is not there when the host is back.
    let (_, begun) = api.deploy(&web(1, 1)).await;
    let is_removing = async || api.service("web").await.replicas.iter().any(|it| it.phase == "removing");
    testkit::until_async("the second one to go", is_removing).await;
    let applied = Some((last.epoch, last.generation));
    let _host =
        opened(&world, &answer, &machine, Opening { applied, blind: true, ..Opening::default() }).await;
    assert_eq!(api.outcome(&begun["id"]).await.state, "done");
    testkit::until_async("one replica", async || api.service("web").await.replicas.len() == 1).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_joined_a_moment_ago_is_joining_and_nothing_is_wrong_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let machine = Machine::named("h1");
    let answer = api.join(&machine).await;
    let joined = api.host("h1").await;
    assert_eq!((&*joined.state, joined.problems, joined.since), ("joining", Vec::new(), None));
    let host = opened(&world, &answer, &machine, Opening::default()).await;
    assert_eq!(api.host("h1").await.state, "online");
    api.gone("h1", host).await;
    // It has been there: it is not joining any more.
    assert_ne!(api.host("h1").await.state, "joining");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r26_a_host_of_a_history_that_the_database_does_not_know_adopts_until_an_operator_decides() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let (machine, answer, host) = api.live_host("h1").await;
    assert!(!api.host("h1").await.adopting);
    api.gone("h1", host).await;
    let applied = Some(("another".to_owned(), 3));
    let host = opened(&world, &answer, &machine, Opening { applied, ..Opening::default() }).await;
    deployed(&api, &web(1, 1)).await;
    assert!(api.host("h1").await.adopting);
    assert!(host.seen.lock().unwrap().states.iter().all(|state| state.adopt && state.epoch != "another"));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_lost_its_host_gets_another_when_there_is_one_and_says_so_until_then() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let (_, _, _host) = api.live_host("h1").await;
    deployed(&api, &web(1, 2)).await;
    let (status, body) = api.call("DELETE", "/hosts/h1?force=true", None).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "{body}");
    testkit::until_async("its reason", async || {
        let service = api.service("web").await;
        service.ready == 0 && service.waits_for.is_some_and(|it| it.contains("there is no host yet"))
    })
    .await;
    // Neither the same files nor the same number is nothing to do now.
    let scale = json!({ "replicas": 2 });
    for (status, refused) in
        [api.deploy(&web(1, 2)).await, api.call("POST", "/services/shop/web/scale", Some(scale)).await]
    {
        assert_eq!(status, StatusCode::CONFLICT, "{refused}");
        assert!(refused["detail"].as_str().unwrap().contains("there is no host yet"), "{refused}");
    }

    let (_, _, _host) = api.live_host("h2").await;
    testkit::until_async("its replicas", async || api.service("web").await.ready == 2).await;
    assert_eq!(api.service("web").await.waits_for, None);

    // The next one is closed when the host is lost, and opened afterwards.
    let (_, _, _host) = api.live_host("h3").await;
    api.call("PATCH", "/hosts/h3", Some(json!({ "mode": "cordoned" }))).await;
    let (status, body) = api.call("DELETE", "/hosts/h2?force=true", None).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "{body}");
    testkit::until_async("its reason", async || {
        let waits = api.service("web").await.waits_for;
        waits.is_some_and(|it| it.contains("h3 is cordoned"))
    })
    .await;
    api.call("PATCH", "/hosts/h3", Some(json!({ "mode": "normal" }))).await;
    testkit::until_async("its replicas", async || api.service("web").await.ready == 2).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_without_replicas_is_none_to_go_back_to_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let (_, _, _host) = api.live_host("h1").await;
    deployed(&api, &web(1, 1)).await;
    deployed(&api, &web(1, 0)).await;
    deployed(&api, &web(2, 1)).await;
    let (_, releases) = api.call("GET", "/services/shop/web/releases", None).await;
    let served: Vec<_> =
        releases["items"].as_array().unwrap().iter().map(|it| it["served"].clone()).collect();
    assert_eq!(served, [true, false, true], "{releases}");
    let (status, body) = api.call("POST", "/services/shop/web/rollback", Some(json!({}))).await;
    assert_eq!(status, StatusCode::CREATED, "{body}");
    assert_eq!(api.outcome(&body["id"]).await.state, "done");
    let service = api.service("web").await;
    assert_eq!((service.image.as_str(), service.wanted, service.ready), ("web:1", 1, 1));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_is_not_connected_says_so_at_once_and_when_it_was_also_after_a_restart_of_the_server() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let password = world.first.admin_password.clone();
    let api = Api::of(&world).await;
    let (_, _, gone) = api.live_host("h1").await;
    let (_, _, _host) = api.live_host("h2").await;
    deployed(&api, &web(1, 2)).await;
    api.gone("h1", gone).await;
    let host = api.host("h1").await;
    assert_eq!(host.state, "online", "it may be back in a moment");
    assert!(
        host.problems.iter().any(|it| it.contains("its connection ended less than a minute ago")),
        "{:?}",
        host.problems
    );
    let before = (host.last_seen, api.host("h2").await.last_seen);
    drop(api);
    world.stop().await;
    let mut world = World::start(dir.path()).await;
    world.first.admin_password = password;
    let api = Api::of(&world).await;
    let after = (api.host("h1").await.last_seen, api.host("h2").await.last_seen);
    assert!(after.0 == before.0 && after.1 >= before.1, "{after:?}, before {before:?}");
    world.stop().await;
}

/// What was made when nobody wanted it any more is known to its host alone: it goes all the same, and the budget of
/// removals does not hold up what goes with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r33_a_container_of_a_replica_that_nobody_knows_may_go_as_soon_as_its_host_tells_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let mut host = api.sim_host("h1").await;
    let mut tells = async |state: Option<ReplicaState>| {
        if let Some(state) = state {
            let replicas = vec![ReplicaReport { state, ..stranger() }];
            host.say(ToServer::ReplicaStatus(ReplicaStatus { replicas })).await;
        }
        loop {
            let frame = testkit::soon("a state", host.next()).await.unwrap();
            if let ToAgent::DesiredState(state) = &frame.body {
                let removals = state.removals.replicas;
                host.obey(frame).await;
                return removals;
            }
            host.obey(frame).await;
        }
    };
    // The first only adopts, and is followed by one that does not.
    assert_eq!((tells(None).await, tells(None).await), (0, 0));
    assert_eq!(tells(Some(ReplicaState::Running)).await, 1);
    assert_eq!(tells(Some(ReplicaState::Removed)).await, 0);
    world.stop().await;
}

fn stranger() -> ReplicaReport {
    let ids = ("rep_1".parse().unwrap(), "svc_1".parse().unwrap(), "rel_1".parse().unwrap());
    let report = ReplicaReport::of(ids, "h", ReplicaState::Running);
    ReplicaReport { container_id: Some("c".to_owned()), ..report }
}

fn left(seed: u8) -> LeftVolume {
    let volume_id = VolumeId::generate(1, [seed; 10]);
    let text = volume_id.as_str().to_ascii_lowercase();
    let name = format!("muster-shop-data-{}", &text[text.len() - 6..]);
    LeftVolume { volume_id, name, host_id: None }
}

/// A host that comes back with a history that the server does not know, a volume, and what uses it.
async fn forgotten(world: &World, api: &Api<'_>, name: &str, volumes: Vec<LeftVolume>) -> Living {
    let machine = Machine::named(name);
    let answer = api.join(&machine).await;
    let ids = ("rep_1".parse().unwrap(), "svc_1".parse().unwrap(), "rel_1".parse().unwrap());
    let report = ReplicaReport {
        container_id: Some("c0ffee".to_owned()),
        ..ReplicaReport::of(ids, "h", ReplicaState::Running)
    };
    let opening = Opening {
        applied: Some(("another".to_owned(), 3)),
        replicas: vec![report.clone()],
        ..Opening::default()
    };
    let host = SimHost::connect(world.console, answer.host_token.expose(), &machine, opening).await;
    let seen = host.seen.clone();
    {
        let mut seen = seen.lock().unwrap();
        seen.left_volumes = volumes;
        seen.replicas.insert(report.replica_id.to_string(), report);
    }
    let host = Living { seen, task: tokio::spawn(host.live()) };
    testkit::until("a state", || !host.seen.lock().unwrap().states.is_empty()).await;
    host
}

const KEPT: &str = "services: {web: {image: 'web:1', volumes: ['data:/data']}}\nvolumes: {data: {}}\n";

/// What was deployed after the back-up is deployed again: not beside its data, and not before its old containers are gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r26_a_volume_that_a_restored_server_does_not_know_is_taken_over_where_it_lies() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let (_, _, first) = api.live_host("h1").await;
    let volume = left(7);
    let host = forgotten(&world, &api, "h2", vec![volume.clone()]).await;
    testkit::until_async("its volume to be told", async || {
        let (_, host) = api.call("GET", "/hosts/h2", None).await;
        host["problems"].to_string().contains(&volume.name)
    })
    .await;
    let (status, refused) = api.deploy(KEPT).await;
    assert_eq!(status, StatusCode::CONFLICT, "{refused}");
    let why = refused["detail"].as_str().unwrap();
    assert!(why.contains(&volume.name) && why.contains("muster hosts set h2 --adopting=false"), "{why}");

    let (status, patched) = api.call("PATCH", "/hosts/h2", Some(json!({ "adopting": false }))).await;
    assert_eq!(status, StatusCode::OK, "{patched}");
    testkit::until_async("its containers to go", async || {
        let (_, plan) = api.call("POST", "/projects/shop/plan", Some(files(KEPT))).await;
        plan["warnings"].to_string().contains("it is taken over with what is in it")
    })
    .await;
    deployed(&api, KEPT).await;
    assert_eq!(api.service("web").await.replicas[0].host, "h2");
    let state = host.seen.lock().unwrap().last().clone();
    let told: Vec<_> = state.volumes.iter().map(|it| (&it.id, &it.name)).collect();
    assert_eq!(told, [(&volume.volume_id, &volume.name)]);
    assert!(first.seen.lock().unwrap().states.iter().all(|it| it.volumes.is_empty()));
    testkit::until_async("nothing to be unknown", async || {
        !api.host("h2").await.problems.iter().any(|it| it.contains("does not know"))
    })
    .await;
    world.stop().await;
}

/// A host is not believed that it has what belongs to a project already.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_cannot_say_that_it_has_the_volume_of_a_project() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let (_, _, first) = api.live_host("h1").await;
    deployed(&api, KEPT).await;
    let known = first.seen.lock().unwrap().last().volumes[0].clone();
    let said = LeftVolume { volume_id: known.id, name: "muster-other-data-1".to_owned(), host_id: None };
    let mine = left(7);
    let host = forgotten(&world, &api, "h2", vec![said, mine.clone()]).await;
    testkit::until_async("what it says to be told", async || {
        let problems = api.host("h2").await.problems.join("; ");
        problems.contains(&format!("it has the volume {}, which", mine.name))
    })
    .await;
    // And it gets nothing of a project by having one of its names.
    deployed(&api, &KEPT.replace("web:1", "web:2")).await;
    assert_eq!(api.service("web").await.replicas[0].host, "h1");
    drop(host);
    world.stop().await;
}

/// A machine that left and joined again as another host is one that lost its data, and says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_volume_that_was_made_for_another_host_stays_and_the_new_one_is_not_told_as_it() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let other = LeftVolume { host_id: Some(HostId::generate(1, [9; 10])), ..left(7) };
    let (_, _, host) = api.live_host("h1").await;
    host.seen.lock().unwrap().left_volumes = vec![other.clone()];
    deployed(&api, "services: {front: {image: 'front:1'}}\n").await;
    let both = KEPT.replace("services: {", "services: {front: {image: 'front:1'}, ");
    let mut plan = serde_json::Value::Null;
    testkit::until_async("a warning", async || {
        plan = api.call("POST", "/projects/shop/plan", Some(files(&both))).await.1;
        plan["warnings"].to_string().contains(&format!("h1 has {} as well", other.name))
    })
    .await;
    assert_eq!(plan["refusals"], json!([]));
    deployed(&api, &both).await;
    testkit::until_async("a problem", async || {
        api.host("h1")
            .await
            .problems
            .iter()
            .any(|it| it.contains(&format!("began empty beside {}", other.name)))
    })
    .await;
    world.stop().await;
}
