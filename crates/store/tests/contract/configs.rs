//! Configurations and revisions.

use store::{Added, Changed, Expected, NewRevision, Seen, StoreError, StoredFile};

use super::world::{NOW, entry, open};

fn seen(revision: Option<u32>) -> Seen {
    Seen { revision, versions: Expected::Any }
}

pub(crate) fn revision(hash: &[u8], body: &str) -> NewRevision {
    let file = StoredFile { name: "a.yaml".into(), content_type: "text/yaml".into(), body: body.into() };
    NewRevision {
        author: "ada".into(),
        message: format!("says {body}"),
        created_at: NOW,
        hash: hash.to_vec(),
        files: vec![file],
    }
}

#[tokio::test]
async fn s9_a_revision_keeps_names_types_and_content_over_a_restart() {
    let world = open().await;
    let made = world.store.create_config("web", "servers", revision(b"h1", "a: 1"), entry()).await.unwrap();
    assert_eq!((made.name.as_str(), made.latest.number, made.version), ("web", 1, 1));
    let world = world.restart(NOW);
    let (row, files) = world.store.revision(made.id, 1).await.unwrap().unwrap();
    assert_eq!((row.author.as_str(), row.message.as_str(), &row.hash[..]), ("ada", "says a: 1", &b"h1"[..]));
    assert_eq!(files, revision(b"h1", "a: 1").files);
    let (name, by_id, _) = world.store.revision_by_id(row.id).await.unwrap().unwrap();
    assert_eq!((name.as_str(), by_id), ("web", row));
}

#[tokio::test]
async fn a_name_is_taken_once() {
    let world = open().await;
    world.store.create_config("web", "", revision(b"h1", "a: 1"), entry()).await.unwrap();
    let again = world.store.create_config("web", "", revision(b"h2", "a: 2"), entry()).await;
    assert!(matches!(again, Err(StoreError::Exists(_))));
}

#[tokio::test]
async fn a_revision_based_on_an_older_one_is_not_written() {
    let world = open().await;
    world.store.create_config("web", "", revision(b"h1", "a: 1"), entry()).await.unwrap();
    let add = async |based_on, hash: &[u8]| {
        world.store.add_revision("web", seen(based_on), revision(hash, "a: 2"), entry()).await.unwrap()
    };
    assert!(matches!(add(Some(1), b"h2").await, Some(Added::Revision(row)) if row.number == 2));
    assert!(matches!(add(Some(1), b"h3").await, Some(Added::Outdated(row)) if row.number == 2));
    assert!(matches!(add(None, b"h2").await, Some(Added::Unchanged(row)) if row.number == 2));
    assert!(matches!(add(None, b"h3").await, Some(Added::Revision(row)) if row.number == 3));
    assert_eq!(
        world.store.add_revision("none", seen(None), revision(b"h", ""), entry()).await.unwrap(),
        None
    );
    let config = world.store.config("web").await.unwrap().unwrap();
    assert_eq!((config.latest.number, config.version), (3, 3));
    let history = world.store.revisions(config.id, None, 10).await.unwrap();
    let numbers: Vec<_> = history.iter().map(|row| row.revision.number).collect();
    assert_eq!(numbers, [3, 2, 1]);
    assert_eq!(history[0].files, [("a.yaml".to_owned(), "text/yaml".to_owned(), 4)]);
    assert_eq!(world.store.revisions(config.id, Some(3), 1).await.unwrap()[0].revision.number, 2);
}

#[tokio::test]
async fn configurations_are_listed_by_name_in_pages_and_found_by_text() {
    let world = open().await;
    for name in ["c", "a_b", "b", "axb"] {
        world.store.create_config(name, "of a kind", revision(b"h", ""), entry()).await.unwrap();
    }
    let page = world.store.configs(None, None, 3).await.unwrap();
    let names: Vec<_> = page.items.iter().map(|row| row.name.as_str()).collect();
    assert_eq!((names, page.total), (vec!["a_b", "axb", "b"], 4));
    let rest = world.store.configs(None, page.next, 3).await.unwrap();
    assert_eq!((rest.items[0].name.as_str(), rest.next, rest.total), ("c", None, 4));
    assert_eq!(world.store.configs(Some("A_B".into()), None, 9).await.unwrap().total, 1, "_ is a letter");
    assert_eq!(world.store.configs(Some("kind".into()), None, 9).await.unwrap().total, 4);
}

#[tokio::test]
async fn a_change_of_an_older_version_is_refused() {
    let world = open().await;
    world.store.create_config("web", "old", revision(b"h1", ""), entry()).await.unwrap();
    let one = |version| Expected::OneOf(vec![version]);
    let describe =
        async |version| world.store.describe_config("web", "new", one(version), entry()).await.unwrap();
    assert!(matches!(describe(1).await, Changed::Done(row) if row.description == "new"));
    assert_eq!(describe(1).await, Changed::Meanwhile);
    assert_eq!(world.store.delete_config("web", one(1), entry()).await.unwrap(), Changed::Meanwhile);
    assert!(matches!(world.store.delete_config("web", one(2), entry()).await.unwrap(), Changed::Done(_)));
    assert_eq!(world.store.delete_config("web", Expected::Any, entry()).await.unwrap(), Changed::Unknown);
}
