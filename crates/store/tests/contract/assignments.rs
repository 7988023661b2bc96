//! Assignments, grants and overrides, what was decided about agents, and previews.

use model::assignment::{Fault, FaultKind};
use model::{
    Assignment, AssignmentId, AssignmentState, ConfigState, Grant, Place, RevisionId, Selector, UnixMillis,
};
use opamp_proto::AgentCapabilities;
use opamp_proto::wire::AgentCapabilities as Bit;
use store::{
    AgentQuery, AssignmentChange, Changed, ConfigRow, Expected, Mark, Override, PreviewOutcome, PreviewQuery,
    Seen, StoreError,
};

use super::configs::revision;
use super::world::{NOW, World, entry, open, uid};

async fn config(world: &World) -> ConfigRow {
    world.store.create_config("web", "", revision(b"h1", "a: 1"), entry()).await.unwrap()
}

fn new(config: &ConfigRow) -> Assignment {
    Assignment {
        id: AssignmentId(0),
        config: config.id,
        selector: Selector::parse("env=prod").unwrap(),
        priority: 7,
        state: AssignmentState::Rolling,
        settled: None,
        target: Some(config.latest.id),
        batch_percent: 10,
        batch_size: 3,
        batches: 0,
        pause: None,
        created_by: "ada".into(),
        created_at: NOW,
        updated_at: NOW,
        version: 0,
    }
}

fn grant(revision: RevisionId) -> Grant {
    Grant { revision, batch: 1, was_healthy: true, forgiven: false, at: NOW }
}

#[tokio::test]
async fn an_assignment_with_its_grants_survives_a_restart() {
    let world = open().await;
    let config = config(&world).await;
    let made = world.store.create_assignment(new(&config), entry()).await.unwrap();
    assert_eq!((made.id, made.version), (AssignmentId(1), 1));
    let mut to = made.clone();
    to.batches = 1;
    to.state = AssignmentState::Paused;
    to.pause = Some(Fault { kind: FaultKind::Failed, agent: Some(uid(1)), text: "no such exporter".into() });
    let change = AssignmentChange {
        grant: vec![(uid(1), grant(config.latest.id)), (uid(2), grant(config.latest.id))],
        ..AssignmentChange::of(to.clone())
    };
    let changed = world.store.change_assignment(change, entry()).await.unwrap().unwrap();
    let world = world.restart(NOW);
    assert_eq!(world.store.assignments().await.unwrap(), [Assignment { version: 2, ..to }]);
    let mut grants = world.store.grants().await.unwrap();
    grants.sort_by_key(|(_, uid, _)| *uid);
    let expected = [1, 2].map(|n| (made.id, uid(n), grant(config.latest.id)));
    assert_eq!(grants, expected);

    let forgive = AssignmentChange { forgive: vec![uid(1)], ..AssignmentChange::of(changed) };
    let changed = world.store.change_assignment(forgive, entry()).await.unwrap().unwrap();
    assert_eq!(world.store.grants().await.unwrap().iter().filter(|(.., grant)| grant.forgiven).count(), 1);
    let settle = AssignmentChange { settle: true, ..AssignmentChange::of(changed) };
    world.store.change_assignment(settle, entry()).await.unwrap().unwrap();
    assert_eq!(world.store.grants().await.unwrap(), []);
}

#[tokio::test]
async fn of_two_changes_of_one_version_the_second_is_not_written() {
    let world = open().await;
    let config = config(&world).await;
    let made = world.store.create_assignment(new(&config), entry()).await.unwrap();
    let first = Assignment { priority: 1, ..made.clone() };
    assert!(world.store.change_assignment(AssignmentChange::of(first), entry()).await.unwrap().is_some());
    let second = AssignmentChange {
        grant: vec![(uid(1), grant(config.latest.id))],
        ..AssignmentChange::of(Assignment { priority: 2, ..made })
    };
    assert_eq!(world.store.change_assignment(second, entry()).await.unwrap(), None);
    assert_eq!(world.store.grants().await.unwrap(), []);
    assert_eq!(world.store.assignments().await.unwrap()[0].priority, 1);
}

#[tokio::test]
async fn what_is_assigned_or_pinned_cannot_be_removed() {
    let world = open().await;
    let config = config(&world).await;
    let made = world.store.create_assignment(new(&config), entry()).await.unwrap();
    let pin = Override { uid: uid(1), revision: config.latest.id, created_by: "ada".into(), created_at: NOW };
    world.store.set_override(pin.clone(), entry()).await.unwrap();
    assert_eq!(world.store.delete_config("web", Expected::Any, entry()).await.unwrap(), Changed::InUse(2));
    assert!(world.store.delete_assignment(made.id, entry()).await.unwrap());
    assert!(!world.store.delete_assignment(made.id, entry()).await.unwrap());
    assert_eq!(world.store.overrides().await.unwrap(), std::slice::from_ref(&pin));
    assert_eq!(world.store.delete_config("web", Expected::Any, entry()).await.unwrap(), Changed::InUse(1));
    assert!(world.store.remove_override(uid(1), entry()).await.unwrap());
    assert!(matches!(
        world.store.delete_config("web", Expected::Any, entry()).await.unwrap(),
        Changed::Done(_)
    ));
    let late = world.store.set_override(pin, entry()).await;
    assert!(matches!(late, Err(StoreError::Missing(_))), "{late:?}");
    assert!(matches!(
        world.store.create_assignment(new(&config), entry()).await,
        Err(StoreError::Missing(_))
    ));
}

/// Six agents: 1 and 2 in prod, 3 in prod and not configurable, 4 in prod and gone, 5 in prod and pinned, 6 in dev.
async fn fleet() -> World {
    let world = open().await;
    let able: AgentCapabilities = [Bit::ReportsStatus, Bit::AcceptsRemoteConfig].into_iter().collect();
    for n in 1..=6 {
        let env = if n == 6 { "dev" } else { "prod" };
        world.enrol(n, &[("env", env), ("service.name", "x")]).await;
        let mut write = world.write(n);
        write.capabilities = (n != 3).then_some(able);
        write.mark = (n == 4).then_some(Mark::Disconnected(NOW));
        write.last_seen = UnixMillis(NOW.0 + 1);
        world.store.write_agents(vec![write]).await.unwrap();
    }
    world
}

fn place(state: ConfigState, revision: Option<RevisionId>) -> Place {
    Place { state, assignment: Some(AssignmentId(9)), revision, reason: "because".into() }
}

#[tokio::test]
async fn lists_filter_by_what_was_decided() {
    let world = fleet().await;
    let config = config(&world).await;
    let places = vec![
        (uid(1), place(ConfigState::Failed, Some(config.latest.id))),
        (uid(2), place(ConfigState::InSync, Some(config.latest.id))),
        (uid(3), place(ConfigState::NotConfigurable, None)),
        (uid(99), place(ConfigState::InSync, None)),
    ];
    world.store.place_agents(places.clone()).await.unwrap();
    let found = async |query: AgentQuery| {
        let page = world.store.list_agents(query).await.unwrap();
        page.items.iter().map(|agent| agent.uid.as_bytes()[15]).collect::<Vec<_>>()
    };
    let state = |state| AgentQuery { config_state: Some(state), ..AgentQuery::default() };
    assert_eq!(found(state(ConfigState::Failed)).await, [1]);
    assert_eq!(found(state(ConfigState::Unmanaged)).await, [4, 5, 6]);
    assert_eq!(found(AgentQuery { config: Some("web".into()), ..AgentQuery::default() }).await, [1, 2]);
    let assigned = AgentQuery { assignment: Some(AssignmentId(9)), ..AgentQuery::default() };
    assert_eq!(found(assigned).await, [1, 2, 3]);
    assert_eq!(world.store.agent_place(uid(1)).await.unwrap().as_ref(), Some(&places[0].1));
    assert_eq!(world.store.agent_places(vec![uid(2), uid(5)]).await.unwrap().len(), 1);
    let counts = world.store.config_counts().await.unwrap();
    assert_eq!((counts[&ConfigState::Unmanaged], counts[&ConfigState::InSync]), (3, 1));
    let row = world.store.config("web").await.unwrap().unwrap();
    assert_eq!((row.agents, row.assignments), (2, 0));
}

/// Another revision of the same configuration is written in a way of its own, and counts as what it is.
#[tokio::test]
async fn agents_count_for_the_configuration_whose_revision_they_were_given_last() {
    let world = fleet().await;
    let first = config(&world).await;
    let other = world.store.create_config("other", "", revision(b"h3", "b: 1"), entry()).await.unwrap();
    let added = world
        .store
        .add_revision(
            "web",
            Seen { revision: None, versions: Expected::Any },
            revision(b"h2", "a: 2"),
            entry(),
        )
        .await
        .unwrap();
    let second = world.store.revision(first.id, 2).await.unwrap().unwrap().0.id;
    assert!(added.is_some());
    let counts = async || {
        let page = world.store.configs(None, None, 10).await.unwrap();
        page.items.iter().map(|row| (row.name.clone(), row.agents)).collect::<Vec<_>>()
    };
    let (web, none) = (first.latest.id, ConfigState::NotConfigurable);
    let steps = [
        (place(ConfigState::InSync, Some(web)), [0, 1]),
        (place(ConfigState::InSync, Some(second)), [0, 1]),
        (Place { reason: "otherwise".into(), ..place(ConfigState::InSync, Some(second)) }, [0, 1]),
        (place(ConfigState::Offered, Some(web)), [0, 1]),
        (place(ConfigState::Offered, Some(other.latest.id)), [1, 0]),
        (place(ConfigState::InSync, Some(web)), [0, 1]),
        (place(none, None), [0, 0]),
        (place(none, Some(web)), [0, 1]),
    ];
    for (place, agents) in steps {
        world.store.place_agents(vec![(uid(1), place.clone()), (uid(99), place.clone())]).await.unwrap();
        assert_eq!(world.store.agent_place(uid(1)).await.unwrap().as_ref(), Some(&place));
        assert_eq!(
            counts().await,
            [("other".to_owned(), agents[0]), ("web".to_owned(), agents[1])],
            "{place:?}"
        );
    }
}

#[tokio::test]
async fn a_preview_says_who_gets_it_and_who_does_not_and_why() {
    let world = fleet().await;
    let config = config(&world).await;
    let revision = config.latest.id;
    world.store.place_agents(vec![(uid(2), place(ConfigState::InSync, Some(revision)))]).await.unwrap();
    let pin = Override { uid: uid(5), revision, created_by: "ada".into(), created_at: NOW };
    world.store.set_override(pin, entry()).await.unwrap();
    let query = PreviewQuery {
        selector: Selector::parse("env=prod").unwrap(),
        stronger: Vec::new(),
        revision: Some(revision),
        limit: 100,
    };
    let preview = world.store.preview(query.clone()).await.unwrap();
    let counts = [preview.matched, preview.gets, preview.has, preview.offline, preview.not_configurable];
    assert_eq!(counts, [5, 1, 1, 1, 1]);
    assert_eq!((preview.overridden, preview.outranked), (1, 0));
    let named: Vec<_> = preview.agents.iter().map(|one| (one.uid.as_bytes()[15], one.outcome)).collect();
    use PreviewOutcome as O;
    assert_eq!(
        named,
        [(1, O::Gets), (4, O::Offline), (2, O::Has), (3, O::NotConfigurable), (5, O::Overridden)]
    );
    assert_eq!(preview.agents[2].now.as_ref().and_then(|place| place.revision), Some(revision));
    let few = world.store.preview(PreviewQuery { limit: 1, ..query.clone() }).await.unwrap();
    assert_eq!((few.matched, few.agents.len(), few.agents[0].outcome), (5, 1, O::Gets));

    let stronger = vec![(AssignmentId(3), Selector::parse("service.name=x").unwrap())];
    let outranked = world.store.preview(PreviewQuery { stronger, ..query }).await.unwrap();
    assert_eq!((outranked.outranked, outranked.gets), (4, 0));
    assert!(outranked.agents.iter().any(|one| one.outcome == O::Outranked(AssignmentId(3))));
}
