//! Copies of a database in use.

use store::StoreError;

use super::world::{credential, enrolment, open, status, uid};

#[tokio::test]
async fn a_copy_made_under_load_is_whole_and_of_one_moment() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let credential = credential(&store, "fixture").await;
    let agents = 400;
    store.enrol((0..agents).map(|n| enrolment(&store, credential, n)).collect()).await.unwrap();
    let writer = store.clone();
    let load = tokio::spawn(async move {
        for round in 0.. {
            let text = format!("round {round}");
            let batch = (0..agents).map(|n| status(&writer, n, &text)).collect();
            if writer.write_agents(batch).await.is_err() {
                return round;
            }
        }
        0
    });
    let copies = tempfile::tempdir().unwrap();
    let path = copies.path().join("muster.db");
    store.backup(&path).await.unwrap();
    assert!(matches!(store.backup(&path).await, Err(StoreError::Exists(_))));
    store.close();
    assert!(load.await.unwrap() > 0);
    let copy = open(copies.path());
    let first = copy.get_agent(uid(0)).await.unwrap().unwrap().summary.health_status;
    for n in 1..agents {
        let agent = copy.get_agent(uid(n)).await.unwrap().unwrap();
        assert_eq!(agent.summary.health_status, first, "agent {n}");
    }
}

#[tokio::test]
async fn a_copy_that_cannot_be_written_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let target = directory.path().join("nowhere").join("copy.db");
    assert!(matches!(store.backup(&target).await, Err(StoreError::File { .. })));
    assert!(!target.exists());
}

#[cfg(unix)]
#[tokio::test]
async fn only_its_owner_may_read_a_copy() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("copy.db");
    open(directory.path()).backup(&path).await.unwrap();
    assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
}
