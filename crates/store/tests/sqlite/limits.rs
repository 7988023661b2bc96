//! A database that has no room, and writes that do not happen.

use model::CredentialId;
use opamp_proto::Part;
use store::{AgentWrite, EnrolOutcome, OpenOptions, Store, StoreError};

use super::world::{NOW, credential, enrolment, open, options, status, uid};

#[tokio::test]
async fn a_full_database_says_so_keeps_what_it_has_and_works_again_with_room() {
    let directory = tempfile::tempdir().unwrap();
    let small = OpenOptions { max_size: Some(512 << 10), ..options(directory.path()) };
    let store = Store::open(small, NOW).unwrap();
    let credential = credential(&store, "fixture").await;
    store.enrol(vec![enrolment(&store, credential, 0)]).await.unwrap();
    let big = |n: u32, size: usize| {
        let mut write = status(&store, n, "big");
        write.parts.set(Part::EffectiveConfig, Some(vec![n as u8; size].into()));
        write
    };
    let error = store.write_agents(vec![big(0, 1 << 20)]).await.unwrap_err();
    assert!(matches!(error, StoreError::Full(_)) && error.is_retryable());
    assert_eq!(error.to_string(), "the disk that holds the database is full");
    assert_eq!(store.get_agent(uid(0)).await.unwrap().unwrap().summary.health_status, "new");
    store.write_agents(vec![big(0, 1000)]).await.unwrap();
    assert_eq!(store.get_agent(uid(0)).await.unwrap().unwrap().summary.health_status, "big");
}

#[tokio::test]
async fn a_call_that_fails_does_not_take_others_of_its_group_along() {
    let directory = tempfile::tempdir().unwrap();
    let small = OpenOptions { max_size: Some(512 << 10), ..options(directory.path()) };
    let store = Store::open(small, NOW).unwrap();
    let credential = credential(&store, "fixture").await;
    let calls: Vec<_> = (0..30u32)
        .map(|n| {
            let mut enrolment = enrolment(&store, credential, n);
            if n % 10 == 5 {
                enrolment.first.parts.set(Part::EffectiveConfig, Some(vec![0; 1 << 20].into()));
            }
            let store = store.clone();
            tokio::spawn(async move { store.enrol(vec![enrolment]).await })
        })
        .collect();
    for (n, call) in calls.into_iter().enumerate() {
        match call.await.unwrap() {
            Ok(outcome) => assert_eq!((n % 10 == 5, outcome), (false, vec![EnrolOutcome::Enrolled])),
            Err(error) => assert!(n % 10 == 5 && matches!(error, StoreError::Full(_)), "{n}: {error:?}"),
        }
    }
    assert_eq!(store.agent_counts().await.unwrap().total, 27);
}

#[tokio::test]
async fn heartbeats_and_known_reports_leave_the_files_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let credential = credential(&store, "fixture").await;
    store.enrol(vec![enrolment(&store, credential, 1)]).await.unwrap();
    // A read brings the index up to date.
    store.agent_counts().await.unwrap();
    let sizes = || {
        ["muster.db", "muster.db-wal"]
            .map(|name| std::fs::metadata(directory.path().join(name)).unwrap().len())
    };
    let before = sizes();
    let heartbeat = AgentWrite::new(uid(1), status(&store, 1, "").epoch, NOW);
    for _ in 0..10 {
        store.write_agents(vec![heartbeat.clone(), status(&store, 1, "new")]).await.unwrap();
        // Known agents come with their credential each time.
        let known = store.enrol(vec![enrolment(&store, credential, 1)]).await.unwrap();
        assert_eq!(known, [EnrolOutcome::Known]);
    }
    assert_eq!(sizes(), before);
    store.write_agents(vec![status(&store, 1, "other")]).await.unwrap();
    assert_ne!(sizes(), before);
}

#[tokio::test]
async fn an_agent_of_no_credential_is_not_made() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let outcome = store.enrol(vec![enrolment(&store, CredentialId(5), 1)]).await.unwrap();
    assert_eq!(outcome, [EnrolOutcome::NoCredential]);
}
