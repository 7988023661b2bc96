//! Users, their sessions, sealed secrets and settings.

use model::{Role, TokenHash, UnixMillis, User, UserId};
use store::{Expected, NewSession, NewUser, SealedSecret, Store, StoreError, UserChange};

use super::world::{NOW, entry, open};

pub(crate) async fn user(store: &Store, name: &str, role: Role) -> User {
    let new = NewUser { name: name.into(), role, password_hash: "$argon2id$x".into(), created_at: NOW };
    store.create_user(new, entry()).await.unwrap()
}

fn session(user: UserId, text: &str, expires_at: i64) -> NewSession {
    NewSession {
        hash: TokenHash::of(text),
        user,
        csrf_hash: TokenHash::of("csrf"),
        created_at: NOW,
        expires_at: UnixMillis(expires_at),
    }
}

async fn log_in(store: &Store, user: UserId, texts: &[&str]) {
    for text in texts {
        store.create_session(session(user, text, 100), entry()).await.unwrap();
    }
}

async fn alive(store: &Store, text: &str) -> bool {
    store.session(TokenHash::of(text), UnixMillis(1)).await.unwrap().is_some()
}

fn password(hash: &str) -> UserChange {
    UserChange { password_hash: Some(hash.into()), ..UserChange::default() }
}

#[tokio::test]
async fn a_user_has_one_name() {
    let world = open().await;
    let admin = user(&world.store, "admin", Role::Admin).await;
    assert_eq!(world.store.user_by_name("admin").await.unwrap(), Some(admin.clone()));
    assert_eq!(world.store.user_by_name("Admin").await.unwrap(), None);
    let again =
        NewUser { name: "admin".into(), role: Role::Viewer, password_hash: String::new(), created_at: NOW };
    assert!(matches!(world.store.create_user(again, entry()).await, Err(StoreError::Exists(_))));
    assert_eq!(world.store.users().await.unwrap(), [admin]);
}

#[tokio::test]
async fn a_session_lasts_until_it_expires_is_ended_or_the_password_changes() {
    let world = open().await;
    let store = &world.store;
    let admin = user(store, "admin", Role::Admin).await;
    log_in(store, admin.id, &["a", "b", "c"]).await;
    let one = store.session(TokenHash::of("a"), UnixMillis(99)).await.unwrap().unwrap();
    assert_eq!((one.user, one.user_name.as_str(), one.role), (admin.id, "admin", Role::Admin));
    assert_eq!(one.csrf_hash, TokenHash::of("csrf"));
    assert_eq!(store.session(TokenHash::of("a"), UnixMillis(100)).await.unwrap(), None);
    assert!(!alive(store, "x").await);
    assert!(store.delete_session(TokenHash::of("a"), entry()).await.unwrap());
    assert!(!store.delete_session(TokenHash::of("a"), entry()).await.unwrap());
    assert!(!alive(store, "a").await);
    let change = UserChange { keep_session: Some(TokenHash::of("c")), ..password("$argon2id$y") };
    let changed = store.change_user("admin", change, Expected::Any, entry()).await.unwrap();
    assert!(!alive(store, "b").await && alive(store, "c").await);
    assert_eq!((changed.password_hash.as_str(), changed.version), ("$argon2id$y", 2));
    let nobody = store.create_session(session(UserId(99), "d", 100), entry()).await;
    assert!(matches!(nobody, Err(StoreError::Missing(_))));
    let nobody = store.change_user("nobody", password("x"), Expected::Any, entry()).await;
    assert!(matches!(nobody, Err(StoreError::Missing(_))));
}

#[tokio::test]
async fn a_disabled_user_has_no_session_and_gets_none() {
    let world = open().await;
    let store = &world.store;
    user(store, "admin", Role::Admin).await;
    let bob = user(store, "bob", Role::Operator).await;
    log_in(store, bob.id, &["a"]).await;
    let disable = |disabled| UserChange { disabled: Some(disabled), ..UserChange::default() };
    let off = store.change_user("bob", disable(true), Expected::OneOf(vec![1]), entry()).await.unwrap();
    assert_eq!((off.disabled_at, off.version), (Some(NOW), 2));
    assert!(!alive(store, "a").await);
    let refused = store.create_session(session(bob.id, "b", 100), entry()).await;
    assert!(matches!(refused, Err(StoreError::Missing(_))));
    let stale = store.change_user("bob", disable(false), Expected::OneOf(vec![1]), entry()).await;
    assert!(matches!(stale, Err(StoreError::Changed(_))));
    let on = store.change_user("bob", disable(false), Expected::Any, entry()).await.unwrap();
    assert_eq!((on.disabled_at, on.version), (None, 3));
    log_in(store, bob.id, &["c"]).await;
    assert!(!alive(store, "a").await && alive(store, "c").await);
}

#[tokio::test]
async fn the_last_administrator_who_can_sign_in_stays() {
    let world = open().await;
    let store = &world.store;
    user(store, "admin", Role::Admin).await;
    user(store, "second", Role::Admin).await;
    user(store, "bob", Role::Viewer).await;
    let demote = || UserChange { role: Some(Role::Operator), ..UserChange::default() };
    let disable = || UserChange { disabled: Some(true), ..UserChange::default() };
    store.change_user("second", disable(), Expected::Any, entry()).await.unwrap();
    for change in [demote(), disable()] {
        let refused = store.change_user("admin", change, Expected::Any, entry()).await;
        assert!(matches!(refused, Err(StoreError::LastAdmin)));
    }
    let refused = store.delete_user("admin", Expected::Any, entry()).await;
    assert!(matches!(refused, Err(StoreError::LastAdmin)));
    assert_eq!(store.user_by_name("admin").await.unwrap().unwrap().version, 1);
    let enable = UserChange { disabled: Some(false), ..UserChange::default() };
    store.change_user("second", enable, Expected::Any, entry()).await.unwrap();
    store.delete_user("admin", Expected::Any, entry()).await.unwrap();
    assert_eq!(store.users().await.unwrap().len(), 2);
}

#[tokio::test]
async fn ended_sessions_are_swept() {
    let world = open().await;
    let admin = user(&world.store, "admin", Role::Admin).await;
    for (text, end) in [("a", 10), ("b", 20), ("c", 30)] {
        world.store.create_session(session(admin.id, text, end), entry()).await.unwrap();
    }
    assert_eq!(world.store.sweep_sessions(UnixMillis(20)).await.unwrap(), 2);
    assert_eq!(world.store.sweep_sessions(UnixMillis(20)).await.unwrap(), 0);
}

#[tokio::test]
async fn secrets_and_settings_are_replaced_by_name() {
    let world = open().await;
    let store = &world.store;
    let sealed = |text: &str| SealedSecret { key_id: "k1".into(), ciphertext: text.into() };
    assert_eq!(store.secret("ca").await.unwrap(), None);
    store.put_secret("ca", sealed("one"), NOW).await.unwrap();
    store.put_secret("ca", sealed("two"), NOW).await.unwrap();
    assert_eq!(store.secret("ca").await.unwrap(), Some(sealed("two")));
    assert_eq!(store.secret_names().await.unwrap(), [("ca".to_owned(), "k1".to_owned())]);
    assert!(store.delete_secret("ca").await.unwrap());
    assert!(!store.delete_secret("ca").await.unwrap());
    assert_eq!(store.setting("url").await.unwrap(), None);
    store.put_setting("url", "a").await.unwrap();
    store.put_setting("url", "b").await.unwrap();
    assert_eq!(store.setting("url").await.unwrap().as_deref(), Some("b"));
}
