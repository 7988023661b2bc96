//! Labels and saved views through the API.

use std::collections::BTreeMap;

use api::agents::AgentQuery;
use api::labels::{LabelChange, LabelOutcome, Labels};
use api::views::{NewView, ViewQuery};
use testkit::raw::Connection;

use crate::world::{World, agent_when, full, uid};

fn labels(list: &[(&str, &str)]) -> BTreeMap<String, String> {
    list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

async fn with_agents(world: &World, count: u8) -> api::Client {
    let admin = world.admin().await;
    let authorization = world.bearer();
    let mut http = Connection::to(world.opamp).await;
    for number in 1..=count {
        let headers = [("authorization", authorization.as_str())];
        assert_eq!(http.exchange(&headers, &full(number)).await.status, 200);
        agent_when(&admin, number, "the agent", |_| true).await;
    }
    admin
}

async fn selected(client: &api::Client, selector: &str) -> Vec<String> {
    let query = AgentQuery { selector: Some(selector.to_owned()), ..Default::default() };
    client.agents(&query).await.unwrap().items.into_iter().map(|agent| agent.instance_uid).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn labels_are_shown_and_selected_by_and_go_when_they_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = with_agents(&world, 2).await;
    let (one, two) = (uid(1).to_string(), uid(2).to_string());
    let set = Labels { labels: labels(&[("team", "a"), ("ring", "0")]) };
    assert_eq!(admin.set_labels(&one, &set).await.unwrap(), set);
    assert_eq!(admin.agent(&one).await.unwrap().summary.labels, set.labels);
    assert_eq!(selected(&admin, "team=a,ring").await, std::slice::from_ref(&one));
    let change = LabelChange {
        selector: Some(String::new()),
        set: labels(&[("team", "b")]),
        remove: vec!["ring".to_owned()],
        ..Default::default()
    };
    let outcome = admin.change_labels(&change).await.unwrap();
    assert_eq!(outcome, LabelOutcome { matched: 2, changed: 2, full: 0 });
    assert_eq!(selected(&admin, "team=b").await.len(), 2);
    assert!(selected(&admin, "ring").await.is_empty());
    let change = LabelChange {
        agents: Some(vec![two.clone()]),
        remove: vec!["team".to_owned()],
        ..Default::default()
    };
    admin.change_labels(&change).await.unwrap();
    assert_eq!(selected(&admin, "!team").await, [two]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_change_of_labels_is_refused_with_the_field() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let refused = async |change: LabelChange, status: u16, field: &str| {
        let api::ClientError::Problem(problem) = admin.change_labels(&change).await.unwrap_err() else {
            panic!("no problem document");
        };
        assert_eq!((problem.status, problem.field.as_deref()), (status, Some(field)), "{}", problem.detail);
    };
    let good =
        || LabelChange { selector: Some(String::new()), set: labels(&[("a", "1")]), ..Default::default() };
    refused(LabelChange { set: labels(&[("-", "1")]), ..good() }, 422, "set").await;
    refused(LabelChange { set: BTreeMap::new(), ..good() }, 422, "set").await;
    refused(LabelChange { selector: None, ..good() }, 422, "selector").await;
    refused(LabelChange { agents: Some(Vec::new()), ..good() }, 422, "selector").await;
    refused(LabelChange { selector: Some("a=(".to_owned()), ..good() }, 422, "selector").await;
    refused(LabelChange { selector: None, agents: Some(vec!["x".to_owned()]), ..good() }, 422, "agents")
        .await;
    let unknown = admin.set_labels(&uid(9).to_string(), &Labels::default()).await.unwrap_err();
    assert_eq!(unknown.status(), Some(404));
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_view_is_saved_for_everybody_until_it_is_removed() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let query = ViewQuery {
        selector: Some("env=prod".to_owned()),
        sort: Some("-last_seen".to_owned()),
        columns: vec!["name".to_owned(), "labels".to_owned()],
        ..Default::default()
    };
    let new = NewView { name: "  Production ".to_owned(), query: query.clone() };
    let made = admin.create_view(&new).await.unwrap();
    assert_eq!((made.name.as_str(), made.created_by.as_str(), &made.query), ("Production", "admin", &query));
    assert_eq!(admin.views().await.unwrap().items, std::slice::from_ref(&made));
    assert_eq!(admin.create_view(&new).await.unwrap_err().status(), Some(409));
    let wrong = NewView { query: ViewQuery { selector: Some("(".to_owned()), ..query }, ..new };
    assert_eq!(admin.create_view(&wrong).await.unwrap_err().status(), Some(422));
    admin.delete_view(&made.id).await.unwrap();
    assert_eq!(admin.delete_view(&made.id).await.unwrap_err().status(), Some(404));
    assert!(admin.views().await.unwrap().items.is_empty());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_view_holds_nothing_unseen_and_nothing_that_the_list_would_refuse() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let admin = world.admin().await;
    let refused = async |name: &str, query: ViewQuery, field: &str| {
        let new = NewView { name: name.to_owned(), query };
        let api::ClientError::Problem(problem) = admin.create_view(&new).await.unwrap_err() else {
            panic!("no problem document");
        };
        assert_eq!((problem.status, problem.field.as_deref()), (422, Some(field)), "{new:?}");
    };
    let text = |text: &str| Some(text.to_owned());
    for unseen in ["a\u{202e}b", "a\u{200b}b", "a\nb", "\u{feff}", "a\u{2066}"] {
        let none = ViewQuery::default;
        refused(unseen, none(), "name").await;
        refused("v", ViewQuery { q: text(unseen), ..none() }, "query.q").await;
        refused("v", ViewQuery { selector: text(&format!("a=\"{unseen}\"")), ..none() }, "query.selector")
            .await;
        refused("v", ViewQuery { config: text(unseen), ..none() }, "query.config").await;
        refused("v", ViewQuery { columns: vec![unseen.to_owned()], ..none() }, "query.columns").await;
        let set = Labels { labels: labels(&[("a", unseen)]) };
        assert_eq!(admin.set_labels(&uid(1).to_string(), &set).await.unwrap_err().status(), Some(422));
    }
    for (field, query) in [
        ("query.state", ViewQuery { state: text("well"), ..Default::default() }),
        ("query.health", ViewQuery { health: text("connected"), ..Default::default() }),
        ("query.config_state", ViewQuery { config_state: text("well"), ..Default::default() }),
        ("query.sort", ViewQuery { sort: text("colour"), ..Default::default() }),
        ("query.columns", ViewQuery { columns: vec!["a".to_owned(); 33], ..Default::default() }),
    ] {
        refused("v", query, field).await;
    }
    world.stop().await;
}
