//! Lists: filters, orders, pages and counts.

use model::{ConnectionState, Selector, UnixMillis};
use opamp_proto::{InstanceUid, Part};
use store::{AgentCounts, AgentQuery, AgentSort, Cursor, HealthFilter, Mark, SortKey, StoreError};

use super::world::{NOW, World, entry, health, open, uid, with_part};

/// Six agents: 1 and 2 healthy, 3 not, 4 silent, 5 disconnected, 6 disconnected and without a name.
async fn fleet() -> World {
    let world = open().await;
    for (n, name, host) in
        [(1, "edge", "h-1"), (2, "edge", "h-2"), (3, "core", "h_3"), (4, "core", "H-4"), (5, "app", "h%5")]
    {
        let version = format!("1.{n}");
        world.enrol(n, &[("service.name", name), ("host.name", host), ("service.version", &version)]).await;
    }
    world.enrol(6, &[]).await;
    let mut batch = vec![
        with_part(world.write(1), Part::Health, &health(true, "up")),
        with_part(world.write(2), Part::Health, &health(true, "up")),
        with_part(world.write(3), Part::Health, &health(false, "down")),
        world.write(4),
        world.write(5),
        world.write(6),
    ];
    batch[3].mark = Some(Mark::Silent(NOW));
    batch[4].mark = Some(Mark::Disconnected(NOW));
    batch[5].mark = Some(Mark::Disconnected(UnixMillis(NOW.0 + 1)));
    for (write, after) in batch.iter_mut().zip([50, 10, 30, 20, 40, 60]) {
        write.last_seen = UnixMillis(NOW.0 + after);
    }
    assert_eq!(world.store.write_agents(batch).await.unwrap().written, 6);
    world
}

fn numbers(uids: impl IntoIterator<Item = InstanceUid>) -> Vec<u8> {
    uids.into_iter().map(|uid| uid.as_bytes()[15]).collect()
}

#[track_caller]
fn sort(text: &str) -> AgentSort {
    AgentSort::parse(text).unwrap()
}

async fn found(world: &World, query: AgentQuery) -> Vec<u8> {
    let page = world.store.list_agents(query).await.unwrap();
    assert_eq!(page.total, page.items.len() as u64);
    assert_eq!(page.next, None);
    numbers(page.items.into_iter().map(|agent| agent.uid))
}

#[tokio::test]
async fn agents_are_found_by_text_in_any_of_their_names() {
    let world = fleet().await;
    let text = async |text: &str| {
        let mut found = found(&world, AgentQuery { text: Some(text.into()), ..AgentQuery::default() }).await;
        found.sort_unstable();
        found
    };
    assert_eq!(text("EDGE").await, [1, 2]);
    assert_eq!(text(" h-").await, [1, 2, 4]);
    assert_eq!(text("h_").await, [3]);
    assert_eq!(text("%").await, [5]);
    assert_eq!(text("1.4").await, [4]);
    assert_eq!(text(&uid(2).to_string()).await, [2]);
    assert_eq!(text("a0a0-a0a0").await, [1, 2, 3, 4, 5, 6]);
    assert!(text("nowhere").await.is_empty());
    assert_eq!(text("").await, [1, 2, 3, 4, 5, 6]);
}

#[tokio::test]
async fn agents_are_found_by_state_health_and_selector_together() {
    let world = fleet().await;
    let all = AgentQuery::default;
    let state = |state| AgentQuery { state: Some(state), ..all() };
    assert_eq!(found(&world, state(ConnectionState::Connected)).await, [3, 1, 2]);
    assert_eq!(found(&world, state(ConnectionState::Silent)).await, [4]);
    assert_eq!(found(&world, state(ConnectionState::Disconnected)).await, [6, 5]);
    let health = |health| AgentQuery { health: Some(health), ..all() };
    assert_eq!(found(&world, health(HealthFilter::Healthy)).await, [1, 2]);
    assert_eq!(found(&world, health(HealthFilter::Unhealthy)).await, [3]);
    assert_eq!(found(&world, health(HealthFilter::Unknown)).await, [6, 5, 4]);
    let selector = Selector::parse("service.name in (core,edge),host.name!=h-1").unwrap();
    let query = AgentQuery { selector, state: Some(ConnectionState::Connected), ..all() };
    assert_eq!(found(&world, query).await, [3, 2]);
}

#[tokio::test]
async fn every_order_goes_both_ways() {
    let world = fleet().await;
    for (text, expected) in [
        ("name", [6, 5, 3, 4, 1, 2]),
        ("last_seen", [2, 4, 3, 5, 1, 6]),
        ("state", [1, 2, 3, 4, 5, 6]),
        ("health", [3, 4, 5, 6, 1, 2]),
        ("connected_since", [1, 2, 3, 4, 5, 6]),
    ] {
        assert_eq!(
            found(&world, AgentQuery { sort: sort(text), ..AgentQuery::default() }).await,
            expected,
            "{text}"
        );
        let mut reverse = expected;
        reverse.reverse();
        let query = AgentQuery { sort: sort(&format!("-{text}")), ..AgentQuery::default() };
        assert_eq!(found(&world, query).await, reverse, "-{text}");
    }
    assert_eq!(AgentSort::parse("age"), None);
}

#[tokio::test]
async fn pages_in_every_order_show_each_agent_once() {
    let world = fleet().await;
    for key in SortKey::ALL {
        for (descending, limit) in [(false, 1), (true, 2), (false, 4)] {
            let sort = AgentSort { key, descending };
            let whole = found(&world, AgentQuery { sort, ..AgentQuery::default() }).await;
            let (mut seen, mut cursor) = (Vec::new(), None);
            loop {
                let query = AgentQuery { sort, limit, cursor, ..AgentQuery::default() };
                let page = world.store.list_agents(query).await.unwrap();
                assert_eq!(page.total, 6);
                seen.extend(numbers(page.items.into_iter().map(|agent| agent.uid)));
                let Some(next) = page.next else { break };
                // As it travels.
                cursor = Some(next.to_string().parse::<Cursor>().unwrap());
            }
            assert_eq!(seen, whole, "{sort:?} by {limit}");
        }
    }
}

#[tokio::test]
async fn a_cursor_of_another_order_is_refused_and_an_agent_that_goes_hides_no_other() {
    let world = fleet().await;
    let query = AgentQuery { limit: 2, ..AgentQuery::default() };
    let page = world.store.list_agents(query.clone()).await.unwrap();
    assert_eq!(numbers(page.items.iter().map(|agent| agent.uid)), [6, 5]);
    let wrong = AgentQuery { cursor: page.next.clone(), sort: sort("-name"), ..query.clone() };
    assert!(matches!(world.store.list_agents(wrong).await, Err(StoreError::Cursor)));
    world.store.forget_agent(uid(5), entry()).await.unwrap();
    let page = world.store.list_agents(AgentQuery { cursor: page.next, ..query }).await.unwrap();
    assert_eq!(numbers(page.items.iter().map(|agent| agent.uid)), [3, 4]);
}

#[tokio::test]
async fn limits_out_of_range_are_moved_into_it() {
    let world = fleet().await;
    let page = world.store.list_agents(AgentQuery { limit: 0, ..AgentQuery::default() }).await.unwrap();
    assert_eq!(page.items.len(), 1);
    let page =
        world.store.list_agents(AgentQuery { limit: u32::MAX, ..AgentQuery::default() }).await.unwrap();
    assert_eq!(page.items.len(), 6);
}

#[tokio::test]
async fn agents_are_counted_by_state_and_health() {
    let world = fleet().await;
    let counts = world.store.agent_counts().await.unwrap();
    let expected = AgentCounts {
        connected: 3,
        silent: 1,
        disconnected: 2,
        unhealthy: 1,
        healthy: 2,
        total: 6,
        replaced: 0,
    };
    assert_eq!(counts, expected);
    let empty = open().await;
    assert_eq!(empty.store.agent_counts().await.unwrap(), AgentCounts::default());
}
