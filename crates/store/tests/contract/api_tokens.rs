//! API tokens: what they may do, and when they stop.

use model::{ApiToken, Role, TokenHash, UnixMillis};
use store::{Expected, NewApiToken, Store, StoreError, UserChange};

use super::accounts::user;
use super::world::{NOW, entry, entry_at, open};

fn new(label: &str, role: Role, owner: &str) -> NewApiToken {
    let hash = TokenHash::of(label);
    NewApiToken { label: label.into(), role, owner: owner.into(), hash, created_at: NOW, expires_at: None }
}

async fn made(store: &Store, label: &str, role: Role, owner: &str) -> ApiToken {
    store.create_api_token(new(label, role, owner), entry()).await.unwrap()
}

async fn may(store: &Store, label: &str) -> Option<Role> {
    store.api_access(TokenHash::of(label), NOW).await.unwrap().map(|access| access.role)
}

#[tokio::test]
async fn a_token_may_do_what_it_was_made_for_and_never_more_than_its_owner() {
    let world = open().await;
    let store = &world.store;
    user(store, "admin", Role::Admin).await;
    user(store, "bob", Role::Operator).await;
    made(store, "look", Role::Viewer, "bob").await;
    made(store, "work", Role::Operator, "bob").await;
    assert_eq!(
        (may(store, "look").await, may(store, "work").await),
        (Some(Role::Viewer), Some(Role::Operator))
    );
    let demote = UserChange { role: Some(Role::Viewer), ..UserChange::default() };
    store.change_user("bob", demote, Expected::Any, entry()).await.unwrap();
    assert_eq!(may(store, "work").await, Some(Role::Viewer));
    assert_eq!(may(store, "unknown").await, None);
    let nobody = store.create_api_token(new("x", Role::Viewer, "nobody"), entry()).await;
    assert!(matches!(nobody, Err(StoreError::Missing(_))));
}

#[tokio::test]
async fn a_token_stops_when_it_is_revoked_expires_or_its_owner_is_disabled_or_goes() {
    let world = open().await;
    let store = &world.store;
    user(store, "admin", Role::Admin).await;
    user(store, "bob", Role::Operator).await;
    let short = NewApiToken { expires_at: Some(UnixMillis(NOW.0 + 1)), ..new("short", Role::Viewer, "bob") };
    store.create_api_token(short, entry()).await.unwrap();
    assert_eq!(may(store, "short").await, Some(Role::Viewer));
    let later = store.api_access(TokenHash::of("short"), UnixMillis(NOW.0 + 1)).await.unwrap();
    assert_eq!(later, None);

    let token = made(store, "a", Role::Viewer, "bob").await;
    let revoked = store.revoke_api_token(token.id, entry_at(7)).await.unwrap().unwrap();
    assert_eq!(revoked.revoked_at, Some(UnixMillis(7)));
    let again = store.revoke_api_token(token.id, entry_at(8)).await.unwrap().unwrap();
    assert_eq!(again.revoked_at, Some(UnixMillis(7)));
    assert_eq!(may(store, "a").await, None);

    made(store, "b", Role::Viewer, "bob").await;
    let disable = |disabled| UserChange { disabled: Some(disabled), ..UserChange::default() };
    store.change_user("bob", disable(true), Expected::Any, entry()).await.unwrap();
    assert_eq!(may(store, "b").await, None);
    store.change_user("bob", disable(false), Expected::Any, entry()).await.unwrap();
    assert_eq!(may(store, "b").await, Some(Role::Viewer));
    store.delete_user("bob", Expected::Any, entry()).await.unwrap();
    // A user who gets the name later does not inherit the tokens.
    user(store, "bob", Role::Admin).await;
    assert_eq!(may(store, "b").await, None);
    let listed: Vec<_> = store.api_tokens(Some("bob".into())).await.unwrap();
    assert_eq!(listed.iter().map(|token| token.label.as_str()).collect::<Vec<_>>(), ["b", "a", "short"]);
    assert!(store.api_tokens(Some("admin".into())).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_use_is_noted_once_a_minute() {
    let world = open().await;
    let store = &world.store;
    user(store, "admin", Role::Admin).await;
    let id = made(store, "a", Role::Viewer, "admin").await.id;
    for (at, noted) in [(1_000_000, 1_000_000), (1_059_999, 1_000_000), (1_060_000, 1_060_000)] {
        store.touch_api_token(id, UnixMillis(at)).await.unwrap();
        let token = store.api_token(id).await.unwrap().unwrap();
        assert_eq!(token.last_used_at, Some(UnixMillis(noted)));
    }
}
