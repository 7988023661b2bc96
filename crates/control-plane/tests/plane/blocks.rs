//! Networks of projects keep off the blocks of addresses that a host uses otherwise, and leave one that is not to be had.

use host_proto::message::{TakenBlock, Taker};
use testkit::{Machine, Opening, SimHost, until};

use crate::hosts::Api;
use crate::world::World;

const WEB: &str = "services: {web: {image: 'web:1', deploy: {replicas: 2}}}\n";

fn corp() -> TakenBlock {
    TakenBlock { by: Taker::Network, block: "10.208.0.0/24".to_owned(), name: "corp".to_owned() }
}

/// Deploys on a host whose engine has a network of somebody else where the first of ours would be, and which says so in its
/// hello, with its answer to the state that does not work, or not at all: the blocks that were asked for, one after another.
async fn asked_for(in_hello: bool, in_answers: bool) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let api = Api::of(&world).await;
    let machine = Machine::named("h1");
    let answer = api.join(&machine).await;
    let opening = Opening { blocks: if in_hello { vec![corp()] } else { Vec::new() }, ..Opening::default() };
    let host = SimHost::connect(world.console, answer.host_token.expose(), &machine, opening).await;
    let seen = host.seen.clone();
    let living = tokio::spawn(host.live());
    until("a state", || !seen.lock().unwrap().states.is_empty()).await;
    {
        let mut seen = seen.lock().unwrap();
        (seen.taken, seen.tells_taken) = (vec![corp()], in_answers);
    }

    let (_, body) = api.deploy(WEB).await;
    let done = api.outcome(&body["id"]).await;
    assert_eq!(done.state, "done", "{done:?}");
    // Another deployment of the project finds a network that works.
    let (_, body) = api.deploy(&WEB.replace("web:1", "web:2")).await;
    let done = api.outcome(&body["id"]).await;
    assert_eq!(done.state, "done", "{done:?}");

    let mut asked: Vec<String> = Vec::new();
    for network in seen.lock().unwrap().states.iter().flat_map(|state| &state.networks) {
        if asked.last() != Some(&network.subnet) {
            asked.push(network.subnet.clone());
        }
    }
    world.stop().await;
    living.abort();
    asked
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_that_a_host_says_is_taken_is_never_asked_for() {
    assert_eq!(asked_for(true, true).await, ["10.208.1.0/24"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_block_that_turns_out_to_be_taken_is_left_for_another_in_the_same_deployment() {
    let (told, untold) = tokio::join!(asked_for(false, true), asked_for(false, false));
    for asked in [told, untold] {
        assert_eq!(asked, ["10.208.0.0/24", "10.208.1.0/24"]);
    }
}
