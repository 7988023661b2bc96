//! The audit trail: an entry for each change, none for what did not happen.

use model::{Role, TokenHash};
use serde_json::json;
use store::{Actor, ActorKind, AuditEntry, AuditOrder, AuditQuery, AuditRecord, Expected, Store, UserChange};

use super::accounts::user;
use super::world::{NOW, entry_at, open};

fn entry(at: i64, name: &str, action: &'static str, object: &str) -> AuditEntry {
    let actor = Actor { kind: ActorKind::User, name: name.into() };
    AuditEntry { actor, address: "192.0.2.1".into(), action, object: object.into(), ..entry_at(at) }
}

async fn newest(store: &Store, query: AuditQuery) -> Vec<AuditRecord> {
    store.audit(query, AuditOrder::NewestBefore(i64::MAX), 100).await.unwrap()
}

#[tokio::test]
async fn a_change_and_its_entry_are_written_together_or_not_at_all() {
    let world = open().await;
    let store = &world.store;
    user(store, "admin", Role::Admin).await;
    let before = newest(store, AuditQuery::default()).await.len();
    let change = UserChange { password_hash: Some("$secret".into()), ..UserChange::default() };
    let told = entry(5, "eve", "user.change", "user/admin");
    store.change_user("admin", change, Expected::Any, told.clone()).await.unwrap();
    let disable = UserChange { disabled: Some(true), ..UserChange::default() };
    store.change_user("admin", disable, Expected::Any, told.clone()).await.unwrap_err();
    store.delete_session(TokenHash::of("no such session"), told).await.unwrap();
    let trail = newest(store, AuditQuery::default()).await;
    assert_eq!(trail.len(), before + 1);
    let AuditRecord { id: _, at, actor_kind, actor, address, action, object, before, after } =
        trail[0].clone();
    assert_eq!(
        (at.0, actor_kind.as_str(), actor.as_str(), address.as_str()),
        (5, "user", "eve", "192.0.2.1")
    );
    assert_eq!((action.as_str(), object.as_str()), ("user.change", "user/admin"));
    assert_eq!(before, Some(json!({ "role": "admin", "disabled": false })));
    assert_eq!(after, Some(json!({ "role": "admin", "disabled": false, "password": "changed" })));
    assert!(!format!("{trail:?}").contains("$secret"));
}

#[tokio::test]
async fn the_trail_is_filtered_by_actor_action_object_and_time_and_read_from_both_ends() {
    let world = open().await;
    let store = &world.store;
    let start = newest(store, AuditQuery::default()).await[0].id;
    for (at, actor, action, object) in [
        (1, "ann", "user.create", "user/u1"),
        (2, "bob", "user.create", "user/u2"),
        (3, "ann", "userland.create", "userland"),
        (4, "ann", "user", "user"),
    ] {
        let new = store::NewUser {
            name: format!("u{at}"),
            role: Role::Admin,
            password_hash: String::new(),
            created_at: NOW,
        };
        store.create_user(new, entry(at, actor, action, object)).await.unwrap();
    }
    let some = |text: &str| Some(text.to_owned());
    let all = AuditQuery::default;
    for (query, wanted) in [
        (AuditQuery { actor: some("ann"), ..all() }, vec![4, 3, 1]),
        (AuditQuery { action: some("user"), ..all() }, vec![4, 2, 1]),
        (AuditQuery { action: some("user.create"), ..all() }, vec![2, 1]),
        (AuditQuery { object: some("user"), ..all() }, vec![4, 2, 1]),
        (AuditQuery { object: some("user/u2"), ..all() }, vec![2]),
        (AuditQuery { until: Some(model::UnixMillis(4)), ..all() }, vec![3, 2, 1]),
        (AuditQuery { since: Some(model::UnixMillis(3)), actor: some("ann"), ..all() }, vec![4, 3]),
    ] {
        let found = newest(store, query.clone()).await;
        let found: Vec<_> = found.iter().map(|record| record.at.0).filter(|at| *at < 9).collect();
        assert_eq!(found, wanted, "{query:?}");
        let counted = store.audit_count(query.clone()).await.unwrap();
        assert!(counted >= wanted.len() as u64, "{query:?}");
    }
    let forward = store.audit(all(), AuditOrder::OldestAfter(start), 2).await.unwrap();
    assert_eq!(forward.iter().map(|record| record.at.0).collect::<Vec<_>>(), [1, 2]);
    let page = store.audit(all(), AuditOrder::NewestBefore(forward[1].id), 1).await.unwrap();
    assert_eq!(page[0].id, forward[0].id);
}
