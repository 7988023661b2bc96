//! Hosts: joins happen once, tokens overlap as they should, generations only rise.

use host_proto::id::HostId;
use host_proto::message::Facts;
use host_proto::server::Ratchet;
use model::hosting::JoinTokenState;
use model::{TokenHash, UnixMillis};
use store::audit::AuditEntry;
use store::{HostSession, JoinAttempt, Joined, NewJoinToken, Store, Unless};

use super::world::open;

fn entry() -> AuditEntry {
    AuditEntry::of_system(UnixMillis(1), "host.test", "host/x")
}

fn id(number: u8) -> HostId {
    HostId::generate(1, [number; 10])
}

async fn token(store: &Store, text: &str) {
    let new = NewJoinToken {
        sha256: TokenHash::of(text),
        host_name: String::new(),
        for_host: None,
        created_by: "admin".to_owned(),
        created_at: UnixMillis(0),
        expires_at: UnixMillis(1000),
    };
    store.create_join_token(new, entry()).await.unwrap();
}

fn attempt(token: &str, machine: &str, number: u8) -> JoinAttempt {
    JoinAttempt {
        token: TokenHash::of(token),
        machine_id: machine.to_owned(),
        instance_id: format!("i-{machine}"),
        wg_public_key: format!("k-{machine}"),
        facts: Facts::default(),
        agent_version: "0.1.0".to_owned(),
        wished_name: "web".to_owned(),
        new_id: id(number),
        host_token: TokenHash::of(&format!("host-{number}")),
        mesh: "10.98.0.0/29".parse().unwrap(),
        now: UnixMillis(10),
    }
}

#[tokio::test]
async fn join_3_a_token_makes_one_host_and_join_7_another_machine_is_a_duplicate() {
    let world = open().await;
    token(&world.store, "t").await;
    let Joined::Host { host, again: false } = world.store.join(attempt("t", "m1", 1), entry()).await.unwrap()
    else {
        panic!("did not join")
    };
    assert_eq!((host.id.clone(), host.name.as_str()), (id(1), "web"));
    let second = world.store.join(attempt("t", "m2", 2), entry()).await.unwrap();
    assert_eq!(second, Joined::Duplicate(id(1)));
    // Nor does another agent on the same machine, and the token of the first one works on.
    let mut other = attempt("t", "m1", 2);
    other.instance_id = "another".to_owned();
    assert_eq!(world.store.join(other, entry()).await.unwrap(), Joined::Duplicate(id(1)));
    let good = world.store.host_of_token(TokenHash::of("host-1"), UnixMillis(11)).await.unwrap();
    assert!(good.is_some_and(|link| link.host.instance_id == "i-m1"));
    assert_eq!(world.store.hosts().await.unwrap().len(), 1);
    let tokens = world.store.join_tokens(10).await.unwrap();
    assert_eq!(tokens[0].state(UnixMillis(11)), JoinTokenState::Used);
}

#[tokio::test]
async fn join_8_the_same_machine_that_asks_again_gets_another_token_and_the_first_one_ends() {
    let world = open().await;
    token(&world.store, "t").await;
    world.store.join(attempt("t", "m1", 1), entry()).await.unwrap();
    let mut again = attempt("t", "m1", 2);
    again.now = UnixMillis(20);
    let Joined::Host { host, again: true } = world.store.join(again.clone(), entry()).await.unwrap() else {
        panic!("did not join again")
    };
    assert_eq!(host.id, id(1));
    let now = UnixMillis(21);
    assert!(world.store.host_of_token(TokenHash::of("host-1"), now).await.unwrap().is_none());
    assert!(world.store.host_of_token(TokenHash::of("host-2"), now).await.unwrap().is_some());
    again.now = UnixMillis(1000);
    assert_eq!(world.store.join(again, entry()).await.unwrap(), Joined::Expired);
}

#[tokio::test]
async fn join_9_revoked_and_late_tokens_and_machines_that_are_hosts_already_do_not_join() {
    let world = open().await;
    for text in ["a", "b", "c"] {
        token(&world.store, text).await;
    }
    world.store.join(attempt("a", "m1", 1), entry()).await.unwrap();
    assert_eq!(world.store.join(attempt("b", "m1", 2), entry()).await.unwrap(), Joined::Duplicate(id(1)));
    let newest = world.store.join_tokens(1).await.unwrap().remove(0);
    world.store.revoke_join_token(newest.id, UnixMillis(5), entry()).await.unwrap();
    assert_eq!(world.store.join(attempt("c", "m2", 3), entry()).await.unwrap(), Joined::Invalid);
    let mut late = attempt("b", "m2", 3);
    late.now = UnixMillis(1000);
    assert_eq!(world.store.join(late, entry()).await.unwrap(), Joined::Expired);
    assert_eq!(world.store.join(attempt("no", "m2", 3), entry()).await.unwrap(), Joined::Invalid);
}

#[tokio::test]
async fn join_9_a_used_token_of_a_removed_host_joins_nobody() {
    let world = open().await;
    token(&world.store, "t").await;
    world.store.join(attempt("t", "m1", 1), entry()).await.unwrap();
    world.store.remove_host(id(1), Unless::Used, entry()).await.unwrap();
    for machine in ["m1", "m2"] {
        assert_eq!(world.store.join(attempt("t", machine, 2), entry()).await.unwrap(), Joined::Invalid);
    }
    assert!(world.store.hosts().await.unwrap().is_empty());
}

#[tokio::test]
async fn token_2_the_old_token_works_until_its_grace_is_over() {
    let world = open().await;
    token(&world.store, "t").await;
    world.store.join(attempt("t", "m1", 1), entry()).await.unwrap();
    let (old, new) = (TokenHash::of("host-1"), TokenHash::of("new"));
    world.store.offer_host_token(id(1), new, UnixMillis(50)).await.unwrap();
    let good = |token, now| world.store.host_of_token(token, UnixMillis(now));
    assert!(good(old, 1_000_000).await.unwrap().is_some(), "not confirmed: the old one stays");
    assert!(
        good(new, 60).await.unwrap().is_some(),
        "a crash before the confirmation leaves a token that works"
    );
    assert!(world.store.confirm_host_token(id(1), new, UnixMillis(60), UnixMillis(600_060)).await.unwrap());
    assert!(good(old, 600_059).await.unwrap().is_some());
    assert!(good(old, 600_060).await.unwrap().is_none());
    assert!(good(new, 600_060).await.unwrap().is_some());
    assert!(!world.store.confirm_host_token(id(1), new, UnixMillis(61), UnixMillis(61)).await.unwrap());
    assert!(good(old, 62).await.unwrap().is_some(), "a second confirmation shortens nothing");
}

#[tokio::test]
async fn state_13_a_generation_is_higher_than_all_before_and_than_what_the_host_has() {
    let world = open().await;
    token(&world.store, "t").await;
    world.store.join(attempt("t", "m1", 1), entry()).await.unwrap();
    assert_eq!(world.store.raise_generation(id(1), 0).await.unwrap(), 1);
    assert_eq!(world.store.raise_generation(id(1), 41).await.unwrap(), 42);
    assert_eq!(world.store.raise_generation(id(1), 3).await.unwrap(), 43);
}

#[tokio::test]
async fn a_session_leaves_its_secret_and_what_the_host_said() {
    let world = open().await;
    token(&world.store, "t").await;
    world.store.join(attempt("t", "m1", 1), entry()).await.unwrap();
    let session = HostSession {
        host_id: id(1),
        boot_id: "b1".to_owned(),
        ratchet: Ratchet { newest: Some("s2".to_owned()), before: Some("s1".to_owned()) },
        facts: Facts { hostname: "h".to_owned(), ..Facts::default() },
        agent_version: "0.2.0".to_owned(),
        at: UnixMillis(77),
    };
    world.store.host_connected(session).await.unwrap();
    let link = world.store.host_of_token(TokenHash::of("host-1"), UnixMillis(78)).await.unwrap().unwrap();
    assert_eq!((link.boot_id.as_str(), link.ratchet.newest.as_deref()), ("b1", Some("s2")));
    assert_eq!((link.host.facts.hostname.as_str(), link.host.last_seen), ("h", Some(UnixMillis(77))));
}

#[tokio::test]
async fn a_decision_reads_the_hosts_that_it_names_and_no_other() {
    let world = open().await;
    for (text, number) in [("one", 1), ("two", 2)] {
        token(&world.store, text).await;
        let joined = world.store.join(attempt(text, text, number), entry()).await.unwrap();
        assert!(matches!(joined, Joined::Host { again: false, .. }), "{joined:?}");
    }
    let cases = [
        (None, vec![id(1), id(2)]),
        (Some(vec![id(2)]), vec![id(2)]),
        (Some(vec![id(2), id(3)]), vec![id(2)]),
        (Some(Vec::new()), Vec::new()),
    ];
    for (among, expected) in cases {
        for ports in [false, true] {
            let loads = world.store.host_loads(among.clone(), ports).await.unwrap();
            let mut found: Vec<HostId> = loads.iter().map(|load| load.host.id.clone()).collect();
            found.sort();
            assert_eq!(found, expected, "{among:?}");
            assert!(loads.iter().all(|load| load.replicas == 0 && load.ports.is_empty()));
            assert!(loads.iter().all(|load| load.subnets.is_empty()));
        }
    }
}
