//! An agent that comes back with another instance_uid is shown as a replacement, not as a ghost beside it.

use model::UnixMillis;
use opamp_proto::{InstanceUid, Part};
use store::{AgentCounts, AgentQuery, AgentWrite, EnrolOutcome, Mark, Replaced};

use super::world::{NOW, World, description, entry, open, text, uid, with_part};

const AT_HOME: &[(&str, &str)] = &[("service.name", "otelcol"), ("host.name", "h1")];

async fn disconnect(world: &World, n: u8) -> Vec<Replaced> {
    let write = AgentWrite { mark: Some(Mark::Disconnected(NOW)), ..world.write(n) };
    world.store.write_agents(vec![write]).await.unwrap().replaced
}

/// What agent `n` is replaced by and what it replaces.
async fn links(world: &World, n: u8) -> (Option<InstanceUid>, Option<InstanceUid>) {
    let summary = world.store.get_agent(uid(n)).await.unwrap().unwrap().summary;
    (summary.replaced_by, summary.replaces)
}

async fn listed(world: &World, include_replaced: bool) -> usize {
    world
        .store
        .list_agents(AgentQuery { include_replaced, ..AgentQuery::default() })
        .await
        .unwrap()
        .items
        .len()
}

#[tokio::test]
async fn the_same_service_on_the_same_host_replaces_a_disconnected_agent() {
    let world = open().await;
    world.enrol(1, AT_HOME).await;
    disconnect(&world, 1).await;
    world.enrol(2, AT_HOME).await;
    assert_eq!(links(&world, 1).await, (Some(uid(2)), None));
    assert_eq!(links(&world, 2).await, (None, Some(uid(1))));
    assert_eq!((listed(&world, false).await, listed(&world, true).await), (1, 2));
    let counts = world.store.agent_counts().await.unwrap();
    assert_eq!(counts, AgentCounts { connected: 1, total: 1, replaced: 1, ..AgentCounts::default() });
}

#[tokio::test]
async fn a_connected_agent_is_never_replaced() {
    let world = open().await;
    world.enrol(1, AT_HOME).await;
    world.enrol(2, AT_HOME).await;
    assert_eq!(links(&world, 1).await, (None, None));
}

#[tokio::test]
async fn the_old_connection_may_end_after_the_new_agent_came() {
    let world = open().await;
    world.enrol(1, &[("service.instance.id", "i"), ("host.name", "a")]).await;
    world.enrol(2, &[("service.instance.id", "i"), ("host.name", "b")]).await;
    assert_eq!(disconnect(&world, 1).await, [Replaced { old: uid(1), new: uid(2) }]);
    assert_eq!(links(&world, 1).await, (Some(uid(2)), None));
}

#[tokio::test]
async fn an_agent_that_was_heard_beside_the_other_is_no_ghost_when_it_goes() {
    let world = open().await;
    world.enrol(1, AT_HOME).await;
    world.enrol(2, AT_HOME).await;
    let mut write = AgentWrite { mark: Some(Mark::Disconnected(NOW)), ..world.write(1) };
    write.last_seen = UnixMillis(NOW.0 + 1);
    assert_eq!(world.store.write_agents(vec![write]).await.unwrap().replaced, []);
}

#[tokio::test]
async fn agents_of_a_server_that_crashed_can_be_replaced() {
    let world = open().await;
    world.enrol(1, AT_HOME).await;
    let world = world.restart(UnixMillis(NOW.0 + 5));
    world.enrol(2, AT_HOME).await;
    assert_eq!(links(&world, 2).await, (None, Some(uid(1))));
}

#[tokio::test]
async fn each_start_replaces_the_one_before_it() {
    let world = open().await;
    for n in 1..=3 {
        world.enrol(n, AT_HOME).await;
        disconnect(&world, n).await;
    }
    assert_eq!(links(&world, 1).await, (Some(uid(2)), None));
    assert_eq!(links(&world, 2).await, (Some(uid(3)), Some(uid(1))));
    assert_eq!(links(&world, 3).await, (None, Some(uid(2))));
}

#[tokio::test]
async fn the_description_may_come_after_the_first_message() {
    let world = open().await;
    world.enrol(1, AT_HOME).await;
    disconnect(&world, 1).await;
    assert_eq!(world.enrol_write(NOW, world.session(2, 1, NOW)).await, EnrolOutcome::Enrolled);
    let attributes = AT_HOME.iter().map(|(key, value)| model::Attribute::new(*key, text(value))).collect();
    let write = with_part(world.write(2), Part::Description, &description(attributes));
    let report = world.store.write_agents(vec![write]).await.unwrap();
    assert_eq!(report.replaced, [Replaced { old: uid(1), new: uid(2) }]);
}

#[tokio::test]
async fn an_agent_that_returns_was_not_replaced_and_a_forgotten_one_leaves_no_link() {
    let world = open().await;
    world.enrol(1, AT_HOME).await;
    disconnect(&world, 1).await;
    world.enrol(2, AT_HOME).await;
    world.store.write_agents(vec![world.session(1, 2, UnixMillis(NOW.0 + 1))]).await.unwrap();
    assert_eq!(links(&world, 1).await, (None, None));
    assert_eq!(links(&world, 2).await, (None, None));
    disconnect(&world, 2).await;
    world.enrol(3, AT_HOME).await;
    assert_eq!(links(&world, 3).await, (None, Some(uid(2))));
    world.store.forget_agent(uid(2), entry()).await.unwrap();
    assert_eq!(links(&world, 3).await, (None, None));
}

#[tokio::test]
async fn another_host_or_service_replaces_nobody() {
    let world = open().await;
    world.enrol(1, AT_HOME).await;
    disconnect(&world, 1).await;
    world.enrol(2, &[("service.name", "otelcol"), ("host.name", "h2")]).await;
    world.enrol(3, &[("service.name", "other"), ("host.name", "h1")]).await;
    world.enrol(4, &[("host.name", "h1")]).await;
    assert_eq!(links(&world, 1).await, (None, None));
}
