//! A selector finds the same agents in the database as in memory.

use model::selector::{Requirement, Test};
use model::{Attribute, AttributeValue, Attributes, LabelChange, Labels, Selector};
use opamp_proto::Part;
use proptest::prelude::*;
use store::{AgentQuery, AgentWrite, Enrolment, LabelTarget};

use super::world::{NOW, World, description_of, entry, open, uid, with_part};

const KEYS: [&str; 5] = ["service.name", "host.name", "env", "pid", "never used"];

fn value() -> impl Strategy<Value = AttributeValue> {
    prop_oneof![
        prop::sample::select(vec!["a", "b", "", "1", "true", "%", "é'\""]).prop_map(AttributeValue::from),
        (0..3i64).prop_map(AttributeValue::Int),
        any::<bool>().prop_map(AttributeValue::Bool),
        Just(AttributeValue::Double(1.0)),
        Just(AttributeValue::Empty),
        Just(AttributeValue::Array(vec!["a".into(), AttributeValue::Int(1)])),
        // Longer than the index holds: the same beginning, another end.
        prop::sample::select(vec!["x", "y"]).prop_map(|end| ("é".repeat(600) + end).as_str().into()),
    ]
}

fn attributes() -> impl Strategy<Value = Attributes> {
    let list = || {
        let attribute = (prop::sample::select(&KEYS[..4]), value());
        prop::collection::vec(attribute.prop_map(|(key, value)| Attribute::new(key, value)), 0..4)
    };
    (list(), list()).prop_map(|(identifying, non_identifying)| Attributes { identifying, non_identifying })
}

fn selector() -> impl Strategy<Value = Selector> {
    let text = || value().prop_map(|value| value.to_string());
    let test = prop_oneof![
        text().prop_map(Test::Is),
        text().prop_map(Test::IsNot),
        prop::collection::vec(text(), 1..4).prop_map(Test::In),
        prop::collection::vec(text(), 1..4).prop_map(Test::NotIn),
        Just(Test::Exists),
        Just(Test::Missing),
    ];
    let requirement = (prop::sample::select(&KEYS[..]), test)
        .prop_map(|(key, test)| Requirement::try_new(key, test).unwrap());
    prop::collection::vec(requirement, 0..4).prop_map(|all| Selector::try_new(all).unwrap())
}

async fn selected(world: &World, selector: &Selector) -> Vec<u8> {
    let query = AgentQuery { selector: selector.clone(), include_replaced: true, ..AgentQuery::default() };
    let page = world.store.list_agents(query).await.unwrap();
    assert_eq!(page.total, page.items.len() as u64);
    let mut found: Vec<_> = page.items.iter().map(|agent| agent.uid.as_bytes()[15]).collect();
    found.sort_unstable();
    found
}

async fn enrol(world: &World, agents: impl Iterator<Item = (u8, &Attributes)>) {
    let enrol = |(n, attributes): (u8, &Attributes)| Enrolment {
        credential: world.credential,
        now: NOW,
        first: described(world.session(n, 1, NOW), attributes),
    };
    world.store.enrol(agents.map(enrol).collect()).await.unwrap();
}

fn described(write: AgentWrite, attributes: &Attributes) -> AgentWrite {
    with_part(write, Part::Description, &description_of(attributes.clone()))
}

/// Labels of the keys and texts that attributes have too.
fn labels() -> impl Strategy<Value = Labels> {
    let text = prop::sample::select(vec!["a", "b", "", "1", "true", "%", "c"]).prop_map(str::to_owned);
    let key = prop::sample::select(&KEYS[..4]).prop_map(str::to_owned);
    prop::collection::btree_map(key, text, 0..3)
}

/// Enrols the agents as they were first, changes their descriptions, and asks every selector both times.
async fn compare(fleet: Vec<(Attributes, Attributes)>, selectors: Vec<Selector>) {
    let world = open().await;
    let numbered = || (1u8..).zip(&fleet);
    enrol(&world, numbered().map(|(n, (first, _))| (n, first))).await;
    for round in 0..2 {
        for selector in &selectors {
            let expected: Vec<_> = numbered()
                .filter(|(_, (first, second))| selector.matches(if round == 0 { first } else { second }))
                .map(|(n, _)| n)
                .collect();
            assert_eq!(selected(&world, selector).await, expected, "{selector} in round {round}");
        }
        let change = |(n, (_, second)): (u8, &(Attributes, Attributes))| described(world.write(n), second);
        world.store.write_agents(numbered().map(change).collect()).await.unwrap();
    }
}

/// An agent through its life: attributes and labels as they come one after the other.
type Life = ((Attributes, Labels), (Attributes, Labels));

/// Enrols and labels agents, changes both in turn, and asks every selector after each change.
async fn compare_labelled(fleet: Vec<Life>, selectors: Vec<Selector>) {
    let world = open().await;
    let numbered = || (1u8..).zip(&fleet);
    enrol(&world, numbered().map(|(n, ((first, _), _))| (n, first))).await;
    let none = Labels::new();
    for round in 0..5 {
        let now = |life: &Life| -> (Attributes, Labels) {
            let ((first, first_labels), (second, second_labels)) = life.clone();
            match round {
                0 => (first, none.clone()),
                1 => (first, first_labels),
                2 => (second, first_labels),
                3 => (second, second_labels),
                _ => (second, none.clone()),
            }
        };
        for (n, life) in numbered() {
            let (attributes, labels) = now(life);
            let change = described(world.write(n), &attributes);
            world.store.write_agents(vec![change]).await.unwrap();
            let change = LabelChange::replacing(labels).unwrap();
            world.store.label_agents(LabelTarget::Agents(vec![uid(n)]), change, entry()).await.unwrap();
        }
        for selector in &selectors {
            let meets = |life: &Life| {
                let (attributes, labels) = now(life);
                selector.matches_labelled(&attributes, &labels)
            };
            let expected: Vec<_> = numbered().filter(|(_, life)| meets(life)).map(|(n, _)| n).collect();
            assert_eq!(selected(&world, selector).await, expected, "{selector} in round {round}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_selector_over_attributes_and_labels_means_the_same_in_memory_and_in_the_database(
        fleet in prop::collection::vec(((attributes(), labels()), (attributes(), labels())), 1..6),
        selectors in prop::collection::vec(selector(), 1..12),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(compare_labelled(fleet, selectors));
    }

    #[test]
    fn s5_a_selector_means_the_same_in_memory_and_in_the_database(
        fleet in prop::collection::vec((attributes(), attributes()), 1..12),
        selectors in prop::collection::vec(selector(), 1..12),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(compare(fleet, selectors));
    }
}

#[tokio::test]
async fn s5_an_attribute_that_is_no_text_is_found_by_its_text() {
    let world = open().await;
    let attributes = Attributes {
        identifying: vec![Attribute::new("process.pid", AttributeValue::Int(42))],
        non_identifying: vec![Attribute::new("ready", AttributeValue::Bool(true))],
    };
    world.enrol_write(NOW, described(world.session(1, 1, NOW), &attributes)).await;
    world.enrol(2, &[("process.pid", "43")]).await;
    assert_eq!(selected(&world, &Selector::parse("process.pid=42,ready=true").unwrap()).await, [1]);
    assert_eq!(selected(&world, &Selector::parse("process.pid!=42").unwrap()).await, [2]);
    assert_eq!(uid(1).as_bytes()[15], 1);
}
