//! Keys of repeated requests: one works, the others wait or get its answer.

use model::{Role, UnixMillis};
use store::answers::actor_of;
use store::{Claim, Expected, KeyedRequest};

use super::accounts::user;
use super::world::{NOW, World, entry, open};

fn request(actor: &str, key: &str, hash: u8) -> KeyedRequest {
    KeyedRequest { actor: actor.into(), key: key.into(), hash: [hash; 32] }
}

/// At a moment after the start; work is stale after 100, a key forgotten after 1000.
async fn claim(world: &World, request: KeyedRequest, at: i64) -> Claim {
    let moment = |at: i64| UnixMillis(NOW.0 + at);
    world.store.claim_answer(request, moment(at), moment(at - 1000), moment(at - 100)).await.unwrap()
}

fn done() -> Claim {
    Claim::Done { status: 201, answer: b"made".to_vec() }
}

#[tokio::test]
async fn one_request_works_its_twins_wait_and_later_ones_get_its_answer() {
    let world = open().await;
    let ours = || request("user/1/admin", "k", 7);
    assert_eq!(claim(&world, ours(), 0).await, Claim::Yours);
    assert_eq!(claim(&world, ours(), 50).await, Claim::Working);
    assert_eq!(claim(&world, request("user/1/admin", "k", 8), 50).await, Claim::OtherRequest);
    assert_eq!(claim(&world, request("user/2/admin", "k", 8), 50).await, Claim::Yours);
    world.store.keep_answer(ours(), 201, b"made".to_vec()).await.unwrap();
    assert_eq!(claim(&world, ours(), 60).await, done());
    assert_eq!(claim(&world, request("user/1/admin", "k", 8), 60).await, Claim::OtherRequest);
    assert_eq!(claim(&world, ours(), 999).await, done());
    assert_eq!(claim(&world, request("user/1/admin", "k", 8), 1000).await, Claim::Yours);
}

#[tokio::test]
async fn work_that_failed_took_too_long_or_died_with_the_server_may_be_done_again() {
    let mut world = open().await;
    let ours = || request("user/1/admin", "k", 7);
    assert_eq!(claim(&world, ours(), 0).await, Claim::Yours);
    world.store.release_answer(ours()).await.unwrap();
    assert_eq!(claim(&world, ours(), 10).await, Claim::Yours);
    assert_eq!(claim(&world, ours(), 109).await, Claim::Working);
    assert_eq!(claim(&world, ours(), 110).await, Claim::Yours);
    world = world.restart(NOW);
    assert_eq!(claim(&world, ours(), 111).await, Claim::Yours);
    world.store.keep_answer(ours(), 201, b"made".to_vec()).await.unwrap();
    world = world.restart(NOW);
    assert_eq!(claim(&world, ours(), 112).await, done());
}

#[tokio::test]
async fn keys_are_bounded_swept_and_go_with_their_user() {
    let world = open().await;
    for number in 0..1001 {
        let request = request("user/1/admin", &format!("k{number}"), 7);
        assert_eq!(claim(&world, request.clone(), number).await, Claim::Yours);
        world.store.keep_answer(request, 201, b"made".to_vec()).await.unwrap();
    }
    assert_eq!(claim(&world, request("user/1/admin", "k1000", 7), 1000).await, done());
    assert_eq!(world.store.sweep_answers(UnixMillis(NOW.0 + 499)).await.unwrap(), 499);
    user(&world.store, "admin", Role::Admin).await;
    let bob = user(&world.store, "bob", Role::Viewer).await;
    let theirs = || request(&actor_of(bob.id, None, Role::Viewer), "k", 7);
    assert_eq!(claim(&world, theirs(), 0).await, Claim::Yours);
    world.store.delete_user("bob", Expected::Any, entry()).await.unwrap();
    assert_eq!(claim(&world, theirs(), 1).await, Claim::Yours);
}
