//! Users, passwords and API tokens: what they open, and that it is over at once.

use api::api_tokens::{CreatedApiToken, NewApiToken};
use api::users::{AccountChange, NewAccount, NewPassword};
use api::{Client, ClientError};
use reqwest::StatusCode;
use serde_json::json;
use testkit::soon;

use crate::world::{PASSWORD, World, agent_when, full};

async fn made(client: &Client, label: &str, role: &str) -> CreatedApiToken {
    let new = NewApiToken { label: label.into(), role: role.into(), expires_in: Some("90d".into()) };
    client.create_api_token(&new).await.unwrap()
}

fn status<T: std::fmt::Debug>(outcome: Result<T, ClientError>) -> u16 {
    outcome.unwrap_err().status().unwrap()
}

fn disabled(disabled: bool) -> AccountChange {
    AccountChange { disabled: Some(disabled), ..AccountChange::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_is_made_changed_disabled_and_removed() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let new = NewAccount { name: "ann".into(), role: "operator".into(), password: None };
    let ann = admin.create_user(&new).await.unwrap();
    let first = ann.password.clone().unwrap();
    assert_eq!((ann.role.as_str(), ann.disabled), ("operator", false));
    assert_eq!(status(admin.create_user(&new).await), 409);
    let session = world.stranger().with_token(Some(world.session("ann", &first).await));
    assert_eq!(session.session().await.unwrap().user.role, "operator");

    let change = AccountChange { role: Some("viewer".into()), ..AccountChange::default() };
    assert_eq!(admin.change_user("ann", &change).await.unwrap().password, None);
    assert_eq!(session.session().await.unwrap().user.role, "viewer");
    let change = AccountChange { password: Some(NewPassword::Make(true)), ..AccountChange::default() };
    let second = admin.change_user("ann", &change).await.unwrap().password.unwrap();
    assert_eq!(status(session.session().await), 401);

    let session = world.stranger().with_token(Some(world.session("ann", &second).await));
    let program = world.stranger().with_token(Some(made(&session, "ci", "viewer").await.token));
    program.overview().await.unwrap();
    admin.change_user("ann", &disabled(true)).await.unwrap();
    assert_eq!((status(session.session().await), status(program.overview().await)), (401, 401));
    admin.change_user("ann", &disabled(false)).await.unwrap();
    assert_eq!(status(session.session().await), 401);
    program.overview().await.unwrap();
    admin.delete_user("ann").await.unwrap();
    assert_eq!(status(program.overview().await), 401);
    assert_eq!(status(admin.delete_user("ann").await), 404);
    let names: Vec<_> = admin.users().await.unwrap().items.into_iter().map(|user| user.name).collect();
    assert_eq!(names, ["admin"]);
    for refused in
        [admin.change_user("admin", &disabled(true)).await.map(drop), admin.delete_user("admin").await]
    {
        assert_eq!(status(refused), 409);
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_was_meant_for_another_version_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.session("admin", &world.first.admin_password.clone().unwrap()).await;
    let url = world.url() + "/api/v1/users/admin";
    let client = reqwest::Client::new();
    let tag = async || {
        let answer = client.get(&url).bearer_auth(&admin).send().await.unwrap();
        answer.headers()["etag"].to_str().unwrap().to_owned()
    };
    let change = async |tag: &str| {
        let request = client.patch(&url).bearer_auth(&admin).header("if-match", tag);
        request.json(&json!({ "role": "admin" })).send().await.unwrap()
    };
    let first = tag().await;
    assert_eq!(change(&first).await.status(), StatusCode::OK);
    let refused = change(&first).await;
    assert_eq!(refused.status(), StatusCode::PRECONDITION_FAILED);
    assert_eq!(refused.json::<api::Problem>().await.unwrap().kind, "urn:muster:problem:changed-meanwhile");
    assert_eq!(change(&tag().await).await.status(), StatusCode::OK);
    assert_eq!(change("*").await.status(), StatusCode::OK);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ones_own_password_changes_and_ends_ones_other_sessions() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let other = world.user(&admin, "ann", "viewer").await;
    let session = world.stranger().with_token(Some(world.session("ann", PASSWORD).await));
    let other = world.stranger().with_token(Some(other));
    let change =
        |current: &str, new: &str| api::session::PasswordChange { current: current.into(), new: new.into() };
    for (current, new) in
        [("wrong", "long enough, this one"), (PASSWORD, "short"), (PASSWORD, &"x".repeat(1025))]
    {
        assert_eq!(status(session.change_password(&change(current, new)).await), 422);
    }
    session.change_password(&change(PASSWORD, "long enough, this one")).await.unwrap();
    session.session().await.unwrap();
    assert_eq!(status(other.session().await), 401);
    world.session("ann", "long enough, this one").await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_api_token_never_does_more_than_its_maker_and_is_seen_by_its_owner_and_admins() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let ann = world.user(&admin, "ann", "operator").await;
    let ann = world.stranger().with_token(Some(ann));
    let token = made(&ann, "ci", "operator").await;
    assert!(token.token.starts_with("muster_api_") && token.item.created_by == "ann");
    let more = NewApiToken { label: "x".into(), role: "admin".into(), expires_in: None };
    assert_eq!(status(ann.create_api_token(&more).await), 422);
    let program = world.stranger().with_token(Some(token.token.clone()));
    program.create_token(&api::tokens::NewToken { label: "a".into(), ..Default::default() }).await.unwrap();
    assert!(ann.api_tokens().await.unwrap().items.iter().any(|item| item.last_used_at.is_some()));
    assert_eq!(admin.api_tokens().await.unwrap().items.len(), 1);

    let bob = world.user(&admin, "bob", "operator").await;
    let bob = world.stranger().with_token(Some(bob));
    assert!(bob.api_tokens().await.unwrap().items.is_empty());
    assert_eq!(status(bob.revoke_api_token(&token.item.id).await), 404);
    ann.revoke_api_token(&token.item.id).await.unwrap();
    assert_eq!(status(program.overview().await), 401);
    let cookie = format!("muster_session={}", made(&ann, "c", "viewer").await.token);
    let answer = reqwest::Client::new().get(world.url() + "/api/v1/overview").header("cookie", cookie);
    assert_eq!(answer.send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_makes_nothing_that_opens_the_api_when_it_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    world.user(&admin, "ann", "viewer").await;
    admin.change_user("ann", &disabled(true)).await.unwrap();
    let program = world.stranger().with_token(Some(made(&admin, "ci", "admin").await.token));
    let new = NewApiToken { label: "child".into(), role: "viewer".into(), expires_in: Some("1h".into()) };
    assert_eq!(status(program.create_api_token(&new).await), 403);
    let new = NewAccount { name: "eve".into(), role: "viewer".into(), password: None };
    assert_eq!(status(program.create_user(&new).await), 403);
    for change in [
        AccountChange { role: Some("admin".into()), ..AccountChange::default() },
        AccountChange { password: Some(NewPassword::Make(true)), ..AccountChange::default() },
        AccountChange { password: Some(NewPassword::Is(PASSWORD.into())), ..AccountChange::default() },
        disabled(false),
    ] {
        assert_eq!(status(program.change_user("ann", &change).await), 403, "{change:?}");
    }
    let own = api::session::PasswordChange { current: PASSWORD.into(), new: "long enough, this one".into() };
    assert_eq!(status(program.change_password(&own).await), 403);
    // What takes access away is for programs too.
    admin.change_user("ann", &disabled(false)).await.unwrap();
    assert!(program.change_user("ann", &disabled(true)).await.unwrap().disabled);
    program.delete_user("ann").await.unwrap();
    assert_eq!(admin.users().await.unwrap().items.len(), 1);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_ends_at_once_when_its_token_is_revoked_and_others_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let token = made(&admin, "watcher", "viewer").await;
    let program = world.stranger().with_token(Some(token.token.clone()));
    let (mut theirs, mut ours) = (program.events().await.unwrap(), admin.events().await.unwrap());
    admin.revoke_api_token(&token.item.id).await.unwrap();
    assert!(!soon("the end of the stream", theirs.changed()).await);
    let mut agent = world.websocket().await;
    agent.ask(&full(1)).await;
    agent_when(&admin, 1, "the agent", |_| true).await;
    assert!(soon("a hint", ours.changed()).await);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_cannot_be_seen_as_it_is_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    for label in ["a\u{202e}b", "a\u{200b}b", "a\u{feff}", "a\nb", "\u{2066}a", " "] {
        let new = NewApiToken { label: label.into(), role: "viewer".into(), expires_in: None };
        assert_eq!(status(admin.create_api_token(&new).await), 422, "{label:?}");
        let new = api::tokens::NewToken { label: label.into(), ..Default::default() };
        assert_eq!(status(admin.create_token(&new).await), 422, "{label:?}");
    }
    for name in ["Ann", "a b", "a\u{200b}b", ""] {
        let new = NewAccount { name: name.into(), role: "viewer".into(), password: None };
        assert_eq!(status(admin.create_user(&new).await), 422, "{name:?}");
    }
    world.stop().await;
}
