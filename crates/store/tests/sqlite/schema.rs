//! Opening: a new file, an older schema, a newer one, another program's file, a second server.

use std::path::Path;

use model::{Selector, ServerEpoch, UnixMillis};
use rusqlite::Connection;
use store::{AgentQuery, OpenOptions, Store, StoreError};

use super::world::{NOW, credential, enrolment, open, options, uid};

/// Every schema that was ever released, as a dump that later builds must open. Made by `sqlite3 muster.db .dump`.
const RELEASED: &[(u32, &str)] = &[
    (1, include_str!("../fixtures/schema-1.sql")),
    (2, include_str!("../fixtures/schema-2.sql")),
    (3, include_str!("../fixtures/schema-3.sql")),
    (4, include_str!("../fixtures/schema-4.sql")),
    (5, include_str!("../fixtures/schema-5.sql")),
    (6, include_str!("../fixtures/schema-6.sql")),
];

fn raw(directory: &Path) -> Connection {
    Connection::open(directory.join("muster.db")).unwrap()
}

#[tokio::test]
async fn every_released_schema_opens_with_its_rows() {
    for (version, dump) in RELEASED {
        let directory = tempfile::tempdir().unwrap();
        raw(directory.path()).execute_batch(dump).unwrap();
        let store = open(directory.path());
        let agent = store.get_agent(uid(1)).await.unwrap().unwrap();
        assert_eq!(agent.credential.label, "fixture", "schema {version}");
        assert_eq!(agent.summary.health_status, "new");
        assert_eq!(store.server_epoch(), ServerEpoch(2));
        let selector = Selector::parse("service.name=otelcol,host.name in (h1)").unwrap();
        let query = AgentQuery { selector, ..AgentQuery::default() };
        assert_eq!(store.list_agents(query).await.unwrap().total, 1);
        assert_eq!(store.setting("url").await.unwrap().as_deref(), Some("https://muster.example"));
    }
}

/// Before schema 6 the revision alone said which configuration an agent runs.
#[tokio::test]
async fn agents_are_found_by_the_configuration_that_they_were_given_before_an_upgrade() {
    let directory = tempfile::tempdir().unwrap();
    let conn = raw(directory.path());
    conn.execute_batch(RELEASED[4].1).unwrap();
    conn.execute_batch("INSERT INTO agent_config VALUES (1, 1, 1, 1, '')").unwrap();
    drop(conn);
    let store = open(directory.path());
    let page = store.configs(None, None, 10).await.unwrap();
    let name = page.items[0].name.clone();
    assert_eq!(page.items[0].agents, 1);
    let query = AgentQuery { config: Some(name), ..AgentQuery::default() };
    assert_eq!(store.list_agents(query).await.unwrap().total, 1);
}

/// The schema of this build is the newest fixture's: a change to a released migration would be lost on old files.
#[test]
fn a_new_file_has_the_schema_of_the_newest_fixture() {
    let schema = |conn: &Connection| -> Vec<String> {
        let mut statement =
            conn.prepare("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name").unwrap();
        let rows = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        rows.map(|sql| sql.unwrap().split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    let (fresh, fixture) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    open(fresh.path()).close();
    raw(fixture.path()).execute_batch(RELEASED.last().unwrap().1).unwrap();
    assert_eq!(schema(&raw(fresh.path())), schema(&raw(fixture.path())));
}

#[test]
fn a_newer_schema_is_refused_and_the_error_says_what_to_run_and_where_the_copy_is() {
    let directory = tempfile::tempdir().unwrap();
    open(directory.path()).close();
    raw(directory.path())
        .execute(
            "INSERT INTO migration (version, build, applied_at, backup) VALUES (99, '7.1.0', 0, '/b/old.db')",
            [],
        )
        .unwrap();
    let before = std::fs::read(directory.path().join("muster.db")).unwrap();
    let error = Store::open(options(directory.path()), NOW).unwrap_err();
    let path = directory.path().join("muster.db");
    assert_eq!(
        error.to_string(),
        format!(
            "the database {} has schema 99, this build knows schemas up to 6: run muster 7.1.0 or newer, or go back \
             to the copy made before the upgrade: /b/old.db",
            path.display()
        )
    );
    assert!(!error.is_retryable());
    assert_eq!(std::fs::read(path).unwrap(), before, "the file is not touched");
}

#[test]
fn a_file_that_is_not_ours_is_refused_and_left_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("muster.db");
    std::fs::write(&path, "not a database, but long enough to be read as one. ".repeat(40)).unwrap();
    let refused = || Store::open(options(directory.path()), NOW).unwrap_err();
    assert!(matches!(refused(), StoreError::NotOurs { .. }), "{:?}", refused());
    std::fs::remove_file(&path).unwrap();
    raw(directory.path()).execute_batch("CREATE TABLE cats (name TEXT)").unwrap();
    let error = refused();
    assert!(error.to_string().contains("it belongs to another program"), "{error}");
}

#[test]
fn a_missing_directory_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let error = Store::open(options(&directory.path().join("nowhere")), NOW).unwrap_err();
    assert!(
        matches!(&error, StoreError::File { path, .. } if path.ends_with("nowhere/muster.db.lock")),
        "{error}"
    );
}

#[tokio::test]
async fn one_server_at_a_time_and_an_administrator_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    assert_eq!(store.server_epoch(), ServerEpoch(1));
    let second = Store::open(options(directory.path()), NOW).unwrap_err();
    assert!(matches!(second, StoreError::InUse { .. }) && second.is_retryable());
    let administer = OpenOptions::administer(directory.path().join("muster.db"), "9.9.9");
    let beside = Store::open(administer, NOW).unwrap();
    assert_eq!(beside.server_epoch(), ServerEpoch(1));
    let credential = credential(&beside, "fixture").await;
    store.enrol(vec![enrolment(&store, credential, 1)]).await.unwrap();
    assert_eq!(beside.agent_counts().await.unwrap().connected, 1);
    store.close();
    assert!(matches!(store.agent_counts().await, Err(StoreError::Closed)));
    assert!(matches!(store.mark_alive(UnixMillis(1)).await, Err(StoreError::Closed)));
    // Closed is enough: a task that has not ended yet may keep its handle.
    let next = open(directory.path());
    assert_eq!(next.server_epoch(), ServerEpoch(2));
    drop(store);
    let third = Store::open(options(directory.path()), NOW).unwrap_err();
    assert!(matches!(third, StoreError::InUse { .. }), "the lock is the next one's: {third}");
    drop(beside);
}
