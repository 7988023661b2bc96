//! What a release needs of the networks and volumes of its project it keeps: what becomes another about a network is said and
//! put in place, and an older release runs as it did, whatever the files say by then.

use host_proto::desired::{DesiredState, Egress, MountSource};
use reqwest::StatusCode;
use serde_json::json;

use crate::hosts::{Api, Living, deployed};
use crate::world::World;

fn on_back(top: &str) -> String {
    format!("services: {{web: {{image: 'web:1', networks: [back]}}}}\nnetworks: {{back: {{{top}}}}}\n")
}

fn egress(state: &DesiredState) -> Vec<(String, Egress)> {
    state.networks.iter().map(|it| (it.id.to_string(), it.egress)).collect()
}

/// The state that a host was told last, once it is as it should be.
async fn told(host: &Living, is_it: impl Fn(&DesiredState) -> bool) -> DesiredState {
    testkit::until("a state", || is_it(host.seen.lock().unwrap().last())).await;
    host.seen.lock().unwrap().last().clone()
}

async fn rolled_back(api: &Api<'_>, to: u32) {
    let (status, body) = api.call("POST", "/services/shop/web/rollback", Some(json!({ "to": to }))).await;
    assert_eq!(status, StatusCode::CREATED, "{body}");
    let done = api.outcome(&body["id"]).await;
    assert_eq!(done.state, "done", "{done:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deployment_that_only_makes_a_network_internal_says_so_and_closes_it_under_what_runs() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let (_, _, host) = api.live_host("h1").await;
    deployed(&api, &on_back("")).await;
    let before = host.seen.lock().unwrap().last().clone();
    assert_eq!(egress(&before)[0].1, Egress::Allow);

    let files = |top| json!({ "files": [{ "name": "compose.yaml", "text": on_back(top) }] });
    let (status, plan) = api.call("POST", "/projects/shop/plan", Some(files("internal: true"))).await;
    assert_eq!(status, StatusCode::OK, "{plan}");
    let words = "    network back becomes internal: nothing outside is reached from it";
    assert_eq!(plan["text"][1], words, "{plan}");
    assert_eq!(plan["services"][0]["update"], "its replicas stay");
    deployed(&api, &on_back("internal: true")).await;
    let after = host.seen.lock().unwrap().last().clone();
    assert_eq!(egress(&after), [(egress(&before)[0].0.clone(), Egress::Deny)]);
    assert_eq!(after.replicas[0].replica_id, before.replicas[0].replica_id);
    assert_eq!(after.replicas[0].spec_hash, before.replicas[0].spec_hash);
    let (status, body) = api.deploy(&on_back("internal: true")).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "nothing is to be done: {body}");
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_release_has_its_network_and_volume_as_they_were_when_the_files_name_them_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let (_, _, host) = api.live_host("h1").await;
    let first = "services: {web: {image: 'web:1', networks: [back], volumes: ['d:/d']}}\n\
                 networks: {back: {internal: true}}\nvolumes: {d: {}}\n";
    deployed(&api, first).await;
    deployed(&api, "services: {web: {image: 'web:2'}}\n").await;
    rolled_back(&api, 1).await;
    let is_back = |state: &DesiredState| state.replicas.len() == 1 && state.networks.len() == 1;
    let state = told(&host, is_back).await;
    assert_eq!((egress(&state)[0].1, state.replicas[0].mounts.len()), (Egress::Deny, 1));

    // Its host is lost, and its volume with it.
    deployed(&api, "services: {web: {image: 'web:2'}}\n").await;
    let (_, _, other) = api.live_host("h2").await;
    let (status, body) = api.call("DELETE", "/hosts/h1?force=true", None).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "{body}");
    testkit::until_async("its replica", async || api.service("web").await.ready == 1).await;
    rolled_back(&api, 1).await;
    let state = told(&other, is_back).await;
    assert_eq!(egress(&state)[0].1, Egress::Deny);
    let MountSource::Volume { volume_id } = &state.replicas[0].mounts[0].source else { panic!("{state:?}") };
    assert_eq!(state.volumes.iter().map(|it| &it.id).collect::<Vec<_>>(), [volume_id]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_that_wants_a_network_closed_which_others_have_open_is_refused_and_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let (_, _, _host) = api.live_host("h1").await;
    let both = |top: &str| {
        format!(
            "services: {{web: {{image: 'web:1', networks: [back]}}, db: {{image: 'db:1', networks: [back]}}}}\n\
             networks: {{back: {{{top}}}}}\n"
        )
    };
    deployed(&api, &both("internal: true")).await;
    deployed(&api, &both("")).await;
    let (status, body) = api.call("POST", "/services/shop/web/rollback", Some(json!({ "to": 1 }))).await;
    assert_eq!(status, StatusCode::CONFLICT, "{body}");
    let why = "web: with its release 1 the network back would be internal for web and open for db: deploy files that say \
               which it is";
    assert!(body["detail"].as_str().unwrap().contains(why), "{body}");
    world.stop().await;
}

/// Volumes are not made anew: what has data keeps its options, and that is said.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_options_of_a_volume_that_is_there_are_said_and_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let (_, _, host) = api.live_host("h1").await;
    let with = |options: &str| {
        format!("services: {{web: {{image: 'web:1', volumes: ['d:/d']}}}}\nvolumes: {{d: {{{options}}}}}\n")
    };
    deployed(&api, &with("")).await;
    let tmpfs = with("driver_opts: {type: tmpfs, device: tmpfs, o: size=1m}");
    let files = json!({ "files": [{ "name": "compose.yaml", "text": tmpfs }] });
    let (_, plan) = api.call("POST", "/projects/shop/plan", Some(files)).await;
    let warning =
        "web: the volume d is there and keeps the options that it has; one of another name gets these";
    assert!(plan["warnings"].to_string().contains(warning), "{plan}");
    deployed(&api, &tmpfs).await;
    assert!(host.seen.lock().unwrap().last().volumes[0].options.is_empty());
    world.stop().await;
}
