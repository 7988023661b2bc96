//! Users, their sessions, sealed secrets and settings.

use model::{Role, TokenHash, UnixMillis, User, UserId};
use store::{NewSession, NewUser, SealedSecret, Store, StoreError};

use super::world::{NOW, open};

async fn user(store: &Store, name: &str) -> User {
    let new = NewUser {
        name: name.into(),
        role: Role::Admin,
        password_hash: "$argon2id$x".into(),
        created_at: NOW,
    };
    store.create_user(new).await.unwrap()
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

#[tokio::test]
async fn a_user_has_one_name() {
    let world = open().await;
    let admin = user(&world.store, "admin").await;
    assert_eq!(world.store.user_by_name("admin").await.unwrap(), Some(admin.clone()));
    assert_eq!(world.store.user_by_name("Admin").await.unwrap(), None);
    let again =
        NewUser { name: "admin".into(), role: Role::Viewer, password_hash: String::new(), created_at: NOW };
    assert!(matches!(world.store.create_user(again).await, Err(StoreError::Exists(_))));
    assert_eq!(world.store.users().await.unwrap(), [admin]);
}

#[tokio::test]
async fn a_session_lasts_until_it_expires_is_ended_or_the_password_changes() {
    let world = open().await;
    let store = &world.store;
    let admin = user(store, "admin").await;
    let alive =
        async |text: &str, now: i64| store.session(TokenHash::of(text), UnixMillis(now)).await.unwrap();
    for text in ["a", "b", "c"] {
        store.create_session(session(admin.id, text, 100)).await.unwrap();
    }
    let one = alive("a", 99).await.unwrap();
    assert_eq!((one.user, one.user_name.as_str(), one.role), (admin.id, "admin", Role::Admin));
    assert_eq!(one.csrf_hash, TokenHash::of("csrf"));
    assert_eq!(alive("a", 100).await, None);
    assert_eq!(alive("x", 1).await, None);
    assert!(store.delete_session(TokenHash::of("a")).await.unwrap());
    assert!(!store.delete_session(TokenHash::of("a")).await.unwrap());
    assert_eq!(alive("a", 1).await, None);
    store.set_password(admin.id, "$argon2id$y").await.unwrap();
    assert_eq!(alive("b", 1).await, None);
    assert_eq!(store.user_by_name("admin").await.unwrap().unwrap().password_hash, "$argon2id$y");
    let nobody = store.create_session(session(UserId(99), "d", 100)).await;
    assert!(matches!(nobody, Err(StoreError::Missing(_))));
    assert!(matches!(store.set_password(UserId(99), "x").await, Err(StoreError::Missing(_))));
}

#[tokio::test]
async fn ended_sessions_are_swept() {
    let world = open().await;
    let admin = user(&world.store, "admin").await;
    for (text, end) in [("a", 10), ("b", 20), ("c", 30)] {
        world.store.create_session(session(admin.id, text, end)).await.unwrap();
    }
    assert_eq!(world.store.sweep_sessions(UnixMillis(20)).await.unwrap(), 2);
    assert_eq!(world.store.delete_sessions_of(admin.id).await.unwrap(), 1);
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
