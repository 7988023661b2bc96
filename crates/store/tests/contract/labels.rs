//! Labels: set and removed for one agent and for many, found by selectors, gone with the agent.

use model::label::MAX_LABELS;
use model::{LabelChange, Labels, Selector};
use serde_json::json;
use store::{AgentQuery, AuditOrder, AuditQuery, Forgotten, LabelReport, LabelTarget, Mark};

use super::world::{NOW, World, entry, open, uid};

fn labels(list: &[(&str, &str)]) -> Labels {
    list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn change(set: &[(&str, &str)], remove: &[&str]) -> LabelChange {
    LabelChange::try_new(labels(set), remove.iter().map(|key| (*key).to_owned())).unwrap()
}

fn everyone() -> LabelTarget {
    LabelTarget::Selector(Selector::everything())
}

async fn found(world: &World, selector: &str) -> Vec<u8> {
    let selector = Selector::parse(selector).unwrap();
    let page = world.store.list_agents(AgentQuery { selector, ..AgentQuery::default() }).await.unwrap();
    page.items.iter().map(|agent| agent.uid.as_bytes()[15]).collect()
}

#[tokio::test]
async fn labels_of_selected_agents_are_changed_and_the_changed_ones_are_told() {
    let world = open().await;
    world.enrol(1, &[("env", "prod")]).await;
    world.enrol(2, &[("env", "test")]).await;
    let target = || LabelTarget::Selector(Selector::parse("env=prod").unwrap());
    let report = world
        .store
        .label_agents(target(), change(&[("team", "a"), ("tier", "1")], &[]), entry())
        .await
        .unwrap();
    let all = labels(&[("team", "a"), ("tier", "1")]);
    assert_eq!(report, LabelReport { matched: 1, changed: vec![(uid(1), all.clone())], full: Vec::new() });
    let again = world.store.label_agents(target(), change(&[("team", "a")], &["x"]), entry()).await.unwrap();
    assert_eq!(again, LabelReport { matched: 1, ..LabelReport::default() });
    assert_eq!(found(&world, "team=a,env=prod").await, [1]);
    assert_eq!(found(&world, "!team").await, [2]);
    let listed = world.store.get_agent(uid(1)).await.unwrap().unwrap().summary.labels;
    assert_eq!((listed, world.store.labels(uid(1)).await.unwrap()), (all.clone(), all.clone()));
    assert_eq!(world.store.labels_all().await.unwrap(), [(uid(1), all)].into());
}

#[tokio::test]
async fn a_label_like_an_attribute_leaves_the_attribute_when_it_goes() {
    let world = open().await;
    world.enrol(1, &[("env", "prod")]).await;
    world.store.label_agents(everyone(), change(&[("env", "prod")], &[]), entry()).await.unwrap();
    world.store.label_agents(everyone(), change(&[], &["env"]), entry()).await.unwrap();
    assert_eq!(found(&world, "env=prod").await, [1]);
}

#[tokio::test]
async fn an_agent_that_is_not_known_is_not_labelled() {
    let world = open().await;
    let target = LabelTarget::Agents(vec![uid(1)]);
    let report = world.store.label_agents(target, change(&[("a", "1")], &[]), entry()).await.unwrap();
    assert_eq!(report, LabelReport::default());
    assert!(world.store.labels_all().await.unwrap().is_empty());
}

#[tokio::test]
async fn who_would_have_too_many_labels_keeps_what_it_has() {
    let world = open().await;
    world.enrol(1, &[]).await;
    world.enrol(2, &[]).await;
    let many: Labels = (0..MAX_LABELS).map(|n| (format!("k{n}"), String::new())).collect();
    let target = LabelTarget::Agents(vec![uid(1)]);
    world.store.label_agents(target, LabelChange::replacing(many.clone()).unwrap(), entry()).await.unwrap();
    let report = world.store.label_agents(everyone(), change(&[("x", "1")], &[]), entry()).await.unwrap();
    assert_eq!((report.matched, report.changed.len(), report.full), (2, 1, vec![uid(1)]));
    assert_eq!(world.store.labels(uid(1)).await.unwrap(), many);
}

#[tokio::test]
async fn a_forgotten_agent_leaves_no_label_behind() {
    let world = open().await;
    world.enrol(1, &[("env", "prod")]).await;
    world.store.label_agents(everyone(), change(&[("env", "x"), ("team", "a")], &[]), entry()).await.unwrap();
    let mut gone = world.write(1);
    gone.mark = Some(Mark::Disconnected(NOW));
    world.store.write_agents(vec![gone]).await.unwrap();
    assert_eq!(world.store.forget_agent(uid(1), entry()).await.unwrap(), Forgotten::Done);
    assert!(world.store.labels_all().await.unwrap().is_empty());
    // The next agent can get the same row number.
    world.enrol(2, &[]).await;
    assert_eq!(found(&world, "team").await, [0u8; 0]);
    assert_eq!(found(&world, "env").await, [0u8; 0]);
}

#[tokio::test]
async fn labels_outlive_a_restart_and_many_agents_are_labelled_in_pieces() {
    let world = open().await;
    for n in 1..=3 {
        world.enrol(n, &[]).await;
    }
    let uids = (0..2500).map(|n| uid(1 + (n % 3) as u8)).collect();
    let report = world
        .store
        .label_agents(LabelTarget::Agents(uids), change(&[("a", "1")], &[]), entry())
        .await
        .unwrap();
    assert_eq!((report.matched, report.changed.len()), (2500, 3));
    let world = world.restart(NOW);
    assert_eq!(world.store.labels_all().await.unwrap().len(), 3);
    assert_eq!(found(&world, "a=1").await.len(), 3);
}

#[tokio::test]
async fn a_change_of_labels_is_in_the_trail_once_and_one_that_changes_nothing_is_not() {
    let world = open().await;
    world.enrol(1, &[]).await;
    world.enrol(2, &[]).await;
    let trail = async || {
        let query = AuditQuery { action: Some("label.change".into()), ..AuditQuery::default() };
        let records = world.store.audit(query, AuditOrder::OldestAfter(0), 10).await.unwrap();
        records.into_iter().map(|record| (record.before, record.after)).collect::<Vec<_>>()
    };
    let told = || store::AuditEntry { action: "label.change", ..entry() };
    let bulk = told().with(None, Some(json!({ "set": { "a": "1" } })));
    world.store.label_agents(everyone(), change(&[("a", "1")], &[]), bulk.clone()).await.unwrap();
    world.store.label_agents(everyone(), change(&[("a", "1")], &[]), bulk).await.unwrap();
    let one = LabelTarget::Agents(vec![uid(1)]);
    world.store.label_agents(one, change(&[("a", "2")], &[]), told()).await.unwrap();
    assert_eq!(
        trail().await,
        [
            (None, Some(json!({ "set": { "a": "1" } }))),
            (Some(json!({ "a": "1" })), Some(json!({ "a": "2" }))),
        ]
    );
}
