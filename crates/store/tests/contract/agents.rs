//! Writing agents behind their sessions: what changes, what stays, what is not written at all.

use model::{ConnectionState, RemoteConfigState, RemoteConfigStatus, Transport, UnixMillis};
use opamp_proto::wire::{self, Message as _};
use opamp_proto::{AgentCapabilities, Part};
use store::{AgentCounts, AgentWrite, Forgotten, Mark, WriteReport};

use super::world::{NOW, World, entry, health, open, uid, with_part};

async fn apply(world: &World, write: AgentWrite) -> WriteReport {
    world.store.write_agents(vec![write]).await.unwrap()
}

const WRITTEN: WriteReport =
    WriteReport { written: 1, unchanged: 0, stale: 0, unknown: Vec::new(), replaced: Vec::new() };
const UNCHANGED: WriteReport =
    WriteReport { written: 0, unchanged: 1, stale: 0, unknown: Vec::new(), replaced: Vec::new() };
const STALE: WriteReport =
    WriteReport { written: 0, unchanged: 0, stale: 1, unknown: Vec::new(), replaced: Vec::new() };

#[tokio::test]
async fn s2_parts_that_a_write_does_not_name_stay_as_they_are() {
    let world = open().await;
    world.enrol(1, &[("service.name", "otelcol"), ("host.name", "h1")]).await;
    let mut all = world.write(1);
    for (number, part) in (1u8..).zip(Part::ALL).skip(1) {
        all.parts.set(part, Some(vec![0x7a, 1, number].into()));
    }
    assert_eq!(apply(&world, all.clone()).await, WRITTEN);
    let before = world.store.get_agent(uid(1)).await.unwrap().unwrap();
    assert_eq!(before.parts.iter().count(), 8);
    assert_eq!(apply(&world, with_part(world.write(1), Part::Health, &health(true, "up"))).await, WRITTEN);
    let after = world.store.get_agent(uid(1)).await.unwrap().unwrap();
    let mut expected = before.clone();
    expected.parts.set(Part::Health, Some(health(true, "up").into()));
    expected.summary.healthy = Some(true);
    expected.summary.health_status = "up".into();
    assert_eq!(after, expected);
}

#[tokio::test]
async fn a_heartbeat_writes_nothing() {
    let world = open().await;
    world.enrol(1, &[]).await;
    let heartbeat = AgentWrite { sequence_num: 7, last_seen: UnixMillis(NOW.0 + 30_000), ..world.write(1) };
    assert!(heartbeat.is_empty());
    let before = world.store.get_agent(uid(1)).await.unwrap();
    assert_eq!(apply(&world, heartbeat).await, UNCHANGED);
    assert_eq!(world.store.get_agent(uid(1)).await.unwrap(), before);
}

#[tokio::test]
async fn comp_3_a_report_of_what_is_known_writes_only_its_session() {
    let world = open().await;
    world.enrol(1, &[("service.name", "otelcol")]).await;
    let full = |write: AgentWrite| {
        let write = with_part(write, Part::Health, &health(true, "up"));
        with_part(write, Part::EffectiveConfig, b"\x0a\x00")
    };
    assert_eq!(apply(&world, full(world.write(1))).await, WRITTEN);
    assert_eq!(apply(&world, full(world.write(1))).await, UNCHANGED);
    let later = UnixMillis(NOW.0 + 5);
    assert_eq!(apply(&world, full(world.session(1, 2, later))).await, WRITTEN);
    let agent = world.store.get_agent(uid(1)).await.unwrap().unwrap();
    assert_eq!(agent.summary.connected_since, Some(later));
    assert_eq!(agent.parts.get(Part::EffectiveConfig).unwrap(), &b"\x0a\x00"[..]);
}

#[tokio::test]
async fn a_write_of_an_older_session_does_not_overwrite_a_newer_one() {
    let world = open().await;
    world.enrol(1, &[]).await;
    assert_eq!(apply(&world, world.session(1, 5, UnixMillis(NOW.0 + 1))).await, WRITTEN);
    let late = AgentWrite { mark: Some(Mark::Disconnected(NOW)), ..world.session(1, 4, NOW) };
    assert_eq!(apply(&world, late).await, STALE);
    let world = world.restart(UnixMillis(NOW.0 + 10));
    assert_eq!(apply(&world, world.session(1, 1, UnixMillis(NOW.0 + 11))).await, WRITTEN);
    let mut ghost = with_part(world.write(1), Part::Health, &health(false, "ghost"));
    ghost.epoch.server.0 -= 1;
    ghost.epoch.session = 99;
    assert_eq!(apply(&world, ghost).await, STALE);
    let agent = world.store.get_agent(uid(1)).await.unwrap().unwrap();
    assert_eq!((agent.summary.state, agent.summary.healthy), (ConnectionState::Connected, None));
}

#[tokio::test]
async fn the_marks_of_a_session_are_read_as_its_state_and_end_with_it() {
    let world = open().await;
    world.enrol(1, &[]).await;
    let state = async |world: &World| world.store.get_agent(uid(1)).await.unwrap().unwrap().summary;
    let mark = |mark| AgentWrite { mark: Some(mark), ..world.write(1) };
    assert_eq!(state(&world).await.state, ConnectionState::Connected);
    apply(&world, mark(Mark::Silent(UnixMillis(5)))).await;
    assert_eq!(state(&world).await.state, ConnectionState::Silent);
    apply(&world, mark(Mark::Heard)).await;
    assert_eq!(state(&world).await.state, ConnectionState::Connected);
    apply(&world, mark(Mark::Disconnected(UnixMillis(NOW.0 + 9)))).await;
    let gone = state(&world).await;
    assert_eq!((gone.state, gone.connected_since), (ConnectionState::Disconnected, None));
    assert_eq!(gone.disconnected_at, Some(UnixMillis(NOW.0 + 9)));
    apply(&world, world.session(1, 2, UnixMillis(NOW.0 + 20))).await;
    assert_eq!(state(&world).await.state, ConnectionState::Connected);
}

#[tokio::test]
async fn after_a_crash_agents_read_as_disconnected_since_the_server_was_last_alive() {
    let world = open().await;
    world.enrol(1, &[]).await;
    world.store.mark_alive(UnixMillis(NOW.0 + 60_000)).await.unwrap();
    let world = world.restart(UnixMillis(NOW.0 + 500_000));
    let agent = world.store.get_agent(uid(1)).await.unwrap().unwrap().summary;
    assert_eq!(agent.state, ConnectionState::Disconnected);
    assert_eq!(agent.disconnected_at, Some(UnixMillis(NOW.0 + 60_000)));
    let counts = world.store.agent_counts().await.unwrap();
    assert_eq!(counts, AgentCounts { disconnected: 1, total: 1, ..AgentCounts::default() });
}

#[tokio::test]
async fn writes_of_one_batch_apply_in_their_order_and_unknown_agents_are_named() {
    let world = open().await;
    world.enrol(1, &[]).await;
    let batch = vec![
        with_part(world.write(1), Part::Health, &health(true, "one")),
        with_part(world.write(9), Part::Health, &health(true, "lost")),
        with_part(world.write(1), Part::Health, &health(false, "two")),
    ];
    let report = world.store.write_agents(batch).await.unwrap();
    assert_eq!(report, WriteReport { written: 2, unknown: vec![uid(9)], ..WriteReport::default() });
    let agent = world.store.get_agent(uid(1)).await.unwrap().unwrap();
    assert_eq!((agent.summary.healthy, agent.summary.health_status.as_str()), (Some(false), "two"));
}

#[tokio::test]
async fn the_summary_has_transport_capabilities_and_remote_config() {
    let world = open().await;
    world.enrol(1, &[("service.name", "otelcol"), ("service.version", "1.2"), ("os.type", "linux")]).await;
    let status = wire::RemoteConfigStatus {
        last_remote_config_hash: vec![1, 2].into(),
        status: wire::RemoteConfigStatuses::Failed.into(),
        error_message: "bad port".into(),
    };
    let mut write = with_part(world.session(1, 2, NOW), Part::RemoteConfigStatus, &status.encode_to_vec());
    write.session.as_mut().unwrap().transport = Transport::Http;
    // The highest bit shows that unknown bits survive a column that has a sign.
    write.capabilities = Some(AgentCapabilities::from_bits(1 << 63 | 3));
    apply(&world, write).await;
    let summary = world.store.get_agent(uid(1)).await.unwrap().unwrap().summary;
    assert_eq!(summary.transport, Transport::Http);
    assert_eq!(summary.capabilities.bits(), 1 << 63 | 3);
    assert_eq!(summary.peer_address, "10.0.0.1:99");
    let facts = (summary.facts.name.as_str(), summary.facts.version.as_str(), summary.facts.os.as_str());
    assert_eq!(facts, ("otelcol", "1.2", "linux"));
    let expected =
        RemoteConfigState { status: RemoteConfigStatus::Failed, hash: vec![1, 2], error: "bad port".into() };
    assert_eq!(summary.remote_config, Some(expected));
}

fn status(hash: u8, error: &str) -> Vec<u8> {
    let status = if error.is_empty() {
        wire::RemoteConfigStatuses::Applied
    } else {
        wire::RemoteConfigStatuses::Failed
    };
    let status = wire::RemoteConfigStatus {
        last_remote_config_hash: vec![hash].into(),
        status: status.into(),
        error_message: error.into(),
    };
    status.encode_to_vec()
}

/// What most answers to another revision are has a way of its own, and means what it means on any other.
#[tokio::test]
async fn s2_a_status_that_comes_alone_is_written_once_by_its_own_session_and_in_place_of_a_longer_one() {
    let world = open().await;
    world.enrol(1, &[]).await;
    let alone = |n: u8, hash: u8, error: &str| {
        with_part(world.write(n), Part::RemoteConfigStatus, &status(hash, error))
    };
    let kept = async || {
        let agent = world.store.get_agent(uid(1)).await.unwrap().unwrap();
        (agent.summary.last_seen, agent.parts.get(Part::RemoteConfigStatus).map(|bytes| bytes.to_vec()))
    };
    let later = AgentWrite { last_seen: UnixMillis(NOW.0 + 5), sequence_num: 7, ..alone(1, 1, "") };
    let written = WriteReport { written: 1, ..WriteReport::default() };
    assert_eq!(world.store.write_agents(vec![later.clone()]).await.unwrap(), written);
    assert_eq!(kept().await, (UnixMillis(NOW.0 + 5), Some(status(1, ""))));

    // The same again, of an agent that nobody knows, and of a session that is over.
    apply(&world, world.session(1, 2, UnixMillis(NOW.0 + 6))).await;
    let current = AgentWrite { epoch: world.epoch(2), ..alone(1, 1, "") };
    let batch = vec![current.clone(), alone(9, 1, ""), alone(1, 2, "late")];
    let report = world.store.write_agents(batch).await.unwrap();
    assert_eq!(
        report,
        WriteReport { unchanged: 1, stale: 1, unknown: vec![uid(9)], ..WriteReport::default() }
    );
    assert_eq!(kept().await.1, Some(status(1, "")));

    // A text that the row does not hold is kept whole, until the agent says something shorter.
    let long = "x".repeat(5_000);
    for error in [long.as_str(), "", long.as_str(), "short"] {
        let write = AgentWrite { epoch: world.epoch(2), ..alone(1, 3, error) };
        assert_eq!(world.store.write_agents(vec![write]).await.unwrap(), written, "{} bytes", error.len());
        assert_eq!(kept().await.1, Some(status(3, error)));
    }
}

#[tokio::test]
async fn only_a_disconnected_agent_is_forgotten() {
    let world = open().await;
    world.enrol(1, &[("service.name", "a")]).await;
    assert_eq!(world.store.forget_agent(uid(1), entry()).await.unwrap(), Forgotten::Connected);
    apply(&world, AgentWrite { mark: Some(Mark::Disconnected(NOW)), ..world.write(1) }).await;
    assert_eq!(world.store.forget_agent(uid(1), entry()).await.unwrap(), Forgotten::Done);
    assert_eq!(world.store.forget_agent(uid(1), entry()).await.unwrap(), Forgotten::Unknown);
    assert_eq!(world.store.get_agent(uid(1)).await.unwrap(), None);
    world.enrol(1, &[("service.name", "b")]).await;
}

#[tokio::test]
async fn agents_expire_when_they_are_gone_for_long_the_longest_gone_first() {
    let world = open().await;
    for (n, gone) in [(1, Some(30)), (2, Some(10)), (3, Some(20)), (4, None)] {
        world.enrol(n, &[]).await;
        if let Some(gone) = gone {
            apply(&world, AgentWrite { mark: Some(Mark::Disconnected(UnixMillis(gone))), ..world.write(n) })
                .await;
        }
    }
    assert_eq!(world.store.expire_agents(UnixMillis(30), 1).await.unwrap(), [uid(2)]);
    assert_eq!(world.store.expire_agents(UnixMillis(30), 10).await.unwrap(), [uid(3)]);
    assert_eq!(world.store.expire_agents(UnixMillis(30), 10).await.unwrap(), []);
    let world = world.restart(UnixMillis(NOW.0 + 1));
    assert_eq!(world.store.expire_agents(UnixMillis(NOW.0 + 1), 10).await.unwrap(), [uid(1), uid(4)]);
}

#[tokio::test]
async fn bulky_texts_are_swept_when_the_last_agent_lets_go_of_them() {
    let world = open().await;
    for n in 1..=3 {
        world.enrol(n, &[]).await;
        let shared = if n < 3 { b"shared" } else { b"my own" };
        apply(&world, with_part(world.write(n), Part::EffectiveConfig, shared)).await;
    }
    assert_eq!(world.store.sweep_blobs(100).await.unwrap(), 0);
    apply(&world, with_part(world.write(1), Part::EffectiveConfig, b"other")).await;
    assert_eq!(world.store.sweep_blobs(100).await.unwrap(), 0, "agent 2 has it still");
    apply(&world, with_part(world.write(2), Part::EffectiveConfig, b"other")).await;
    assert_eq!(world.store.sweep_blobs(100).await.unwrap(), 1);
    apply(&world, with_part(world.write(1), Part::EffectiveConfig, b"shared")).await;
    for (n, content) in [(1, &b"shared"[..]), (2, b"other"), (3, b"my own")] {
        let agent = world.store.get_agent(uid(n)).await.unwrap().unwrap();
        assert_eq!(agent.parts.get(Part::EffectiveConfig).unwrap(), content);
    }
}

#[tokio::test]
async fn long_texts_are_cut_in_the_row_and_whole_in_the_report() {
    let world = open().await;
    let long = "é".repeat(5000);
    world.enrol(1, &[("service.name", &long)]).await;
    apply(&world, with_part(world.write(1), Part::Health, &health(true, &long))).await;
    let agent = world.store.get_agent(uid(1)).await.unwrap().unwrap();
    assert_eq!(agent.summary.facts.name.len(), 256);
    assert_eq!(agent.summary.health_status.len(), 256);
    assert_eq!(agent.parts.get(Part::Health).unwrap(), &health(true, &long)[..]);
}
