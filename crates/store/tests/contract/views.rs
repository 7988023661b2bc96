//! Saved views: names are unique, and what was saved comes back as it was.

use store::{AuditOrder, AuditQuery, NewView, ViewAdded};

use super::world::{NOW, entry, open};

fn view(name: &str) -> NewView {
    NewView { name: name.into(), query: "{}".into(), created_by: "ada".into(), created_at: NOW }
}

#[tokio::test]
async fn a_view_is_saved_listed_by_name_and_removed() {
    let world = open().await;
    let ViewAdded::View(zebra) = world.store.create_view(view("zebra"), entry()).await.unwrap() else {
        panic!("not saved")
    };
    let ViewAdded::View(ant) = world.store.create_view(view("ant"), entry()).await.unwrap() else {
        panic!("not saved")
    };
    assert_eq!(world.store.create_view(view("ant"), entry()).await.unwrap(), ViewAdded::NameTaken);
    let world = world.restart(NOW);
    assert_eq!(world.store.views().await.unwrap(), [ant.clone(), zebra.clone()]);
    assert_eq!(world.store.delete_view(ant.id, entry()).await.unwrap(), Some(ant.clone()));
    assert_eq!(world.store.delete_view(ant.id, entry()).await.unwrap(), None);
    assert_eq!(world.store.views().await.unwrap(), [zebra]);
    let trail = world.store.audit(AuditQuery::default(), AuditOrder::OldestAfter(0), 10).await.unwrap();
    let told = trail.into_iter().filter(|record| record.object.starts_with("view/"));
    let told: Vec<_> = told.map(|record| (record.object, record.before, record.after)).collect();
    let query = || Some(serde_json::json!({}));
    assert_eq!(
        told,
        [
            ("view/zebra".to_owned(), None, query()),
            ("view/ant".to_owned(), None, query()),
            ("view/ant".to_owned(), query(), None),
        ]
    );
}
