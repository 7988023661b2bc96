//! Containers, networks, volumes and files from their making to their end.

use std::collections::BTreeSet;
use std::time::Duration;

use host_drivers::docker::events;
use host_proto::report::HealthState;
use reconcile::{Container, ContainerState, Item, TroubleKind};
use serde_json::json;

use crate::world::World;

fn runs(container: &Container) -> bool {
    container.state == ContainerState::Running
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_with_everything_comes_up_as_it_was_asked_for_and_goes_without_a_trace() {
    let mut world = World::new(11).await;
    world.add_network("2", 12);
    let volume = world.add_volume();
    let file = world.add_file(1, b"from a file", false);
    let secret = world.add_file(2, b"from a secret", true);
    let second = world.desired.networks[1].id.clone();
    let first = world.desired.networks[0].id.clone();
    let script = "echo $A; cat /etc/x /run/key; echo; cat /etc/resolv.conf; id -u; echo kept > /data/x; \
                  touch /root-file || echo read-only; exec sleep 1000";
    let more = json!({
        "env": {"A": "from the environment"},
        "user": "0:0",
        "mounts": [
            {"type": "volume", "volume_id": volume, "target": "/data"},
            {"type": "file", "file_id": file, "target": "/etc/x"},
            {"type": "file", "file_id": secret, "target": "/run/key"},
            {"type": "tmpfs", "size_bytes": 65536, "target": "/tmp"},
            {"type": "host_path", "path": "/usr/share", "target": "/share", "read_only": true},
        ],
        "networks": [{"network_id": first, "ip": "10.253.11.5"}, {"network_id": second, "ip": "10.253.12.5"}],
        "security": {"read_only_root": true, "cap_drop": ["NET_RAW"], "sysctls": {"net.core.somaxconn": "99"}},
        "resources": {"memory_bytes": 67108864, "cpu_millis": 500, "pids": 50,
                      "ulimits": {"nofile": {"soft": 100, "hard": 200}}},
        "health": {"check": "exec", "command": ["CMD", "/bin/true"], "interval_ms": 100, "retries": 1},
        "labels": {"muster.host": "hst_other"},
    });
    world.add_replica(1, script, more);
    world.settle().await;
    let container = world.wait_for(1, |one| runs(one) && one.health == HealthState::Healthy).await;
    let addresses: Vec<_> = container.networks.values().flatten().map(ToString::to_string).collect();
    assert_eq!(addresses, ["10.253.11.5", "10.253.12.5"]);
    assert_eq!((container.volumes.len(), container.files.len()), (1, 2));
    let details = container.details.clone().unwrap();
    assert!(details.started_at.is_some() && details.pid.is_some(), "{details:?}");
    let printed =
        world.hands.engine.read_logs(&container.replica_id, &container.id, &crate::logs::query(50)).await;
    let lines: Vec<String> = printed.unwrap().lines.into_iter().filter_map(|line| line.text).collect();
    for expected in [
        "from the environment",
        "from a filefrom a secret",
        "nameserver 127.0.0.11",
        "search shop.internal",
        "read-only",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected}: {lines:#?}");
    }
    assert!(world.plan().is_satisfied(), "{}", world.plan());
    let counted = host_drivers::metrics::replicas(&world.actual);
    let used = counted.first().expect("counters, since engine and test share their processes");
    assert_eq!((counted.len(), &used.replica_id), (1, &container.replica_id));
    assert!(used.cpu_us > 0 && used.mem_bytes > 0 && used.pids > 0, "{used:?}");
    assert_eq!(used.mem_limit_bytes, 67_108_864);
    let info = world.hands.engine.info().await.unwrap();
    assert!(
        info.containers > 0 && info.facts.root_dir.starts_with('/') && !info.facts.cgroup_version.is_empty()
    );
    world.tear_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_took_away_or_stopped_comes_back() {
    let mut world = World::new(13).await;
    world.add_replica(1, "exec sleep 1000", json!({}));
    world.settle().await;
    let before = world.wait_for(1, runs).await;
    let remove = reconcile::Action::RemoveContainer { container: before.id.clone(), force: true };
    world.hands.engine.apply(&remove, &world.desired).await.unwrap();
    world.settle().await;
    let after = world.wait_for(1, runs).await;
    assert_ne!(before.id, after.id);
    let stop = reconcile::Action::Stop { container: after.id.clone(), grace_ms: Some(0) };
    world.hands.engine.apply(&stop, &world.desired).await.unwrap();
    world.settle().await;
    assert_eq!(world.wait_for(1, runs).await.id, after.id);
    // What is gone already is no error.
    world.hands.engine.apply(&remove, &world.desired).await.unwrap();
    world.tear_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn state_8_names_that_others_hold_are_refused_and_their_objects_live_on() {
    let (mut other, mut world) = (World::new(14).await, World::new(15).await);
    other.add_replica(1, "exec sleep 1000", json!({}));
    other.add_volume();
    other.settle().await;
    let theirs = other.wait_for(1, runs).await;
    world.add_replica(1, "exec sleep 1000", json!({"name": theirs.name}));
    world.add_volume();
    let taken = other.desired.volumes[0].name.clone();
    world.desired.volumes[0].name.clone_from(&taken);
    world.pass().await;
    let refused = world.memory.attempts(&Item::Replica(world.spec(1).replica_id.clone())).unwrap().clone();
    assert!(refused.refused && refused.error.contains("already in use"), "{refused:?}");
    assert!(world.plan().to_string().contains("is taken by one that is not ours"), "{}", world.plan());
    // Also when it was not seen before the call: the engine would hand over what it has.
    let create = reconcile::Action::CreateVolume { volume: world.desired.volumes[0].id.clone(), name: taken };
    let trouble = world.hands.engine.apply(&create, &world.desired).await.unwrap_err();
    assert_eq!(trouble.kind, TroubleKind::Refused, "{trouble}");
    other.settle().await;
    assert_eq!(other.wait_for(1, runs).await.id, theirs.id);
    world.tear_down().await;
    assert_eq!(other.wait_for(1, runs).await.id, theirs.id);
    other.tear_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_fails_is_reported_with_its_code_its_restarts_and_its_last_lines() {
    let mut world = World::new(16).await;
    world.add_replica(1, "for i in $(seq 1 20); do echo line $i; done; exit 3", json!({}));
    world.settle().await;
    let failed = world
        .wait_for(1, |one| {
            let details = one.details.as_ref();
            details.is_some_and(|details| {
                // A look while it prints sees a part.
                let whole = details.last_log_lines.last().is_some_and(|line| line == "line 20");
                details.restarts >= 3 && details.exit_code == Some(3) && whole
            })
        })
        .await;
    assert_eq!(failed.details.unwrap().last_log_lines.len(), 10);
    world.tear_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_cannot_start_is_an_error_in_the_engines_words() {
    let mut world = World::new(17).await;
    world.add_replica(1, "", json!({"command": ["/no/such/program"], "init": false}));
    world.pass().await;
    let error =
        world.memory.attempts(&Item::Replica(world.spec(1).replica_id.clone())).unwrap().error.clone();
    assert!(error.starts_with("start: ") && error.contains("/no/such/program"), "{error}");
    let left = world.wait_for(1, |one| one.details.is_some()).await;
    assert!(left.details.unwrap().error.unwrap().contains("/no/such/program"));
    world.tear_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unhealthy_one_shows_what_its_check_said() {
    let mut world = World::new(18).await;
    let check = json!({"check": "exec", "command": ["CMD-SHELL", "echo not yet; exit 1"],
                       "interval_ms": 100, "timeout_ms": 2000, "retries": 1});
    world.add_replica(1, "exec sleep 1000", json!({"health": check}));
    world.settle().await;
    let found = world.wait_for(1, |one| one.health == HealthState::Unhealthy).await;
    assert_eq!(found.details.unwrap().error.as_deref(), Some("health check: not yet"));
    world.tear_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r30_one_that_ignores_the_signal_is_killed_after_its_grace() {
    let mut world = World::new(19).await;
    world.add_replica(1, "trap '' TERM; while true; do sleep 1; done", json!({"init": false}));
    world.settle().await;
    world.wait_for(1, runs).await;
    let began = std::time::Instant::now();
    world.tear_down().await;
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn r37_an_end_is_hinted_at_once() {
    let mut world = World::new(20).await;
    let (hints, mut heard) = tokio::sync::mpsc::channel(8);
    let watch = tokio::spawn(events::watch(world.hands.engine.clone(), hints, events::SILENCE));
    assert!(heard.recv().await.unwrap().reopened);
    world.add_replica(1, "exec sleep 1000", json!({}));
    world.settle().await;
    let container = world.wait_for(1, runs).await;
    let kill = reconcile::Action::Kill { container: container.id.clone() };
    world.hands.engine.apply(&kill, &world.desired).await.unwrap();
    let mut suspects = BTreeSet::new();
    while !suspects.contains(&container.id) {
        let hint =
            tokio::time::timeout(Duration::from_secs(10), heard.recv()).await.expect("a hint").unwrap();
        suspects.extend(hint.suspects);
    }
    drop(heard);
    tokio::time::timeout(Duration::from_secs(10), watch).await.expect("nobody listens, so it ends").unwrap();
    world.tear_down().await;
}
