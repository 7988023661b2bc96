//! The audit trail: every write leaves an entry, none holds a secret, and it can be taken away as a file.

use api::Client;
use api::audit::{AuditFilter, AuditItem};
use api::users::{AccountChange, NewPassword};

use crate::world::{World, agent_when, full, uid};

async fn trail(admin: &Client, filter: &AuditFilter) -> Vec<AuditItem> {
    admin.audit(filter, 100, None).await.unwrap().items
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_write_leaves_an_entry_and_no_entry_holds_a_secret() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let new = api::tokens::NewToken { label: "rack 7".into(), ..Default::default() };
    let enrolment = admin.create_token(&new).await.unwrap();
    admin.revoke_token(&enrolment.item.id).await.unwrap();
    let new = api::api_tokens::NewApiToken { label: "ci".into(), role: "operator".into(), expires_in: None };
    let token = admin.create_api_token(&new).await.unwrap();
    let program = world.stranger().with_token(Some(token.token.clone()));
    let ann = world.user(&admin, "ann", "viewer").await;
    world.stranger().with_token(Some(ann.clone())).logout().await.unwrap();
    let change = AccountChange { password: Some(NewPassword::Make(true)), ..AccountChange::default() };
    let password = admin.change_user("ann", &change).await.unwrap().password.unwrap();
    let mut agent = world.websocket().await;
    agent.ask(&full(1)).await;
    agent_when(&admin, 1, "the agent", |_| true).await;
    drop(agent);
    agent_when(&admin, 1, "its end", |agent| agent.summary.state == "disconnected").await;
    program.forget_agent(&uid(1).to_string()).await.unwrap();
    admin.revoke_api_token(&token.item.id).await.unwrap();
    admin.delete_user("ann").await.unwrap();

    let all = trail(&admin, &AuditFilter::default()).await;
    let told: Vec<_> =
        all.iter().rev().map(|item| (item.actor.name.as_str(), item.action.as_str())).collect();
    let by = format!("ci#{}", token.item.id);
    assert_eq!(
        told,
        [
            ("muster", "user.create"),
            ("muster", "token.create"),
            ("admin", "session.begin"),
            ("admin", "token.create"),
            ("admin", "token.revoke"),
            ("admin", "api-token.create"),
            ("admin", "user.create"),
            ("ann", "session.begin"),
            ("ann", "session.end"),
            ("admin", "user.change"),
            (by.as_str(), "agent.forget"),
            ("admin", "api-token.revoke"),
            ("admin", "user.delete"),
        ]
    );
    assert!(all.iter().all(|item| item.actor.kind == "system" || item.address == "127.0.0.1"), "{all:?}");
    let text = format!("{all:?}");
    for secret in [&enrolment.token, &token.token, &ann, &password, &world.token()] {
        assert!(!text.contains(secret.as_str()));
    }
    let filter =
        AuditFilter { object: Some("user".into()), actor: Some("ann".into()), ..AuditFilter::default() };
    assert_eq!(trail(&admin, &filter).await.len(), 2);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_trail_comes_in_pages_and_as_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let label = "=cmd|' /C calc'!A0, \"x\"";
    let new = api::api_tokens::NewApiToken { label: label.into(), role: "operator".into(), expires_in: None };
    let program = world.stranger().with_token(Some(admin.create_api_token(&new).await.unwrap().token));
    for number in 0..4 {
        let new = api::tokens::NewToken { label: format!("t{number}"), ..Default::default() };
        program.create_token(&new).await.unwrap();
    }
    let filter = AuditFilter { action: Some("token".into()), ..AuditFilter::default() };
    let first = admin.audit(&filter, 3, None).await.unwrap();
    let second = admin.audit(&filter, 3, first.next_cursor.as_deref()).await.unwrap();
    assert_eq!((first.items.len(), first.total, second.items.len()), (3, 5, 2));
    assert_eq!(second.next_cursor, None);

    let export = async |format: &str| {
        let mut text = Vec::new();
        let write = |piece: &[u8]| -> Result<(), api::ClientError> {
            text.extend_from_slice(piece);
            Ok(())
        };
        admin.export_audit(&filter, format, write).await.unwrap();
        String::from_utf8(text).unwrap()
    };
    let lines: Vec<AuditItem> =
        export("ndjson").await.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let newest_first: Vec<_> = first.items.into_iter().chain(second.items).collect();
    assert_eq!(lines.iter().rev().cloned().collect::<Vec<_>>(), newest_first);
    let csv = export("csv").await;
    assert!(csv.starts_with("id,at,actor_kind,actor,address,action,object,before,after\r\n"));
    assert_eq!(csv.lines().count(), 6);
    // No spreadsheet takes a name for a formula.
    assert!(csv.contains("\"'=cmd|' /C calc'!A0, \"\"x\"\"#"), "{csv}");
    world.stop().await;
}
