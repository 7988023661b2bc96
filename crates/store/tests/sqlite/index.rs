//! The index of attributes is written later than the agents: nobody who reads sees that, and a crash loses nothing.

use model::Selector;
use opamp_proto::Part;
use opamp_proto::wire::{AgentDescription, AnyValue, KeyValue, Message as _, any_value::Value};
use rusqlite::Connection;
use store::{AgentQuery, Enrolment, Store};

use super::world::{credential, enrolment, open};

fn described(store: &Store, credential: model::CredentialId, n: u32) -> Enrolment {
    let mut enrolment = enrolment(store, credential, n);
    let value = Some(AnyValue { value: Some(Value::StringValue(format!("host-{n}"))) });
    let host = KeyValue { key: "host.name".to_owned(), value };
    let description = AgentDescription { non_identifying_attributes: vec![host], ..Default::default() };
    enrolment.first.parts.set(Part::Description, Some(description.encode_to_vec().into()));
    enrolment
}

async fn matching(store: &Store, selector: &str) -> u64 {
    let query = AgentQuery { selector: Selector::parse(selector).unwrap(), ..AgentQuery::default() };
    store.list_agents(query).await.unwrap().total
}

#[tokio::test]
async fn an_agent_is_found_by_its_attributes_as_soon_as_it_is_enrolled() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let credential = credential(&store, "fixture").await;
    for n in 0..20 {
        store.enrol(vec![described(&store, credential, n)]).await.unwrap();
        assert_eq!(matching(&store, &format!("host.name=host-{n}")).await, 1);
        assert_eq!(matching(&store, "host.name").await, u64::from(n) + 1);
    }
}

#[tokio::test]
async fn what_a_crash_left_out_of_the_index_is_added_at_the_next_start() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let credential = credential(&store, "fixture").await;
    store.enrol((0..5).map(|n| described(&store, credential, n)).collect()).await.unwrap();
    assert_eq!(matching(&store, "host.name").await, 5);
    store.close();
    drop(store);
    // As if the server had been killed between the enrolment of the last three and the writing of the index.
    let conn = Connection::open(directory.path().join("muster.db")).unwrap();
    let marked = || {
        let sql = "SELECT count(*) FROM setting WHERE name = 'unindexed_from'";
        conn.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(marked(), 0, "closed in good order");
    conn.execute_batch(
        "DELETE FROM agent_attribute WHERE value IN ('host-2', 'host-3', 'host-4');
         INSERT INTO setting (name, value) VALUES ('unindexed_from', '3');",
    )
    .unwrap();
    let store = open(directory.path());
    assert_eq!(matching(&store, "host.name").await, 5);
    assert_eq!(matching(&store, "host.name=host-4").await, 1);
    assert_eq!(marked(), 0);
}

#[tokio::test]
async fn the_mark_is_in_the_database_before_an_enrolment_is_answered() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let credential = credential(&store, "fixture").await;
    let conn = Connection::open(directory.path().join("muster.db")).unwrap();
    // Either the index has the agent, or the mark says that it may not.
    for n in 0..20 {
        store.enrol(vec![described(&store, credential, n)]).await.unwrap();
        let sql = "SELECT (SELECT count(*) FROM setting WHERE name = 'unindexed_from')
                   + (SELECT count(*) FROM agent_attribute WHERE value = ?1)";
        let known = conn.query_row(sql, [format!("host-{n}")], |row| row.get::<_, i64>(0)).unwrap();
        assert!(known > 0, "agent {n}");
    }
}
