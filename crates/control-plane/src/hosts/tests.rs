//! What is kept of what hosts say, in memory.

use std::collections::BTreeMap;

use host_proto::report::{HealthState, ReplicaState};

use super::*;

fn report(last: &str) -> ReplicaReport {
    ReplicaReport {
        replica_id: format!("rep_{last}").parse().unwrap(),
        service_id: "svc_1".parse().unwrap(),
        release_id: "rel_1".parse().unwrap(),
        spec_hash: "h".to_owned(),
        container_id: None,
        state: ReplicaState::Running,
        health: HealthState::None,
        started_at: None,
        exit_code: None,
        oom_killed: false,
        restarts: 0,
        ip: None,
        image_digest: None,
        last_error: None,
        last_log_lines: Vec::new(),
        held_reason: None,
    }
}

#[test]
fn reports_are_kept_of_a_hosts_own_replicas_and_only_while_they_are() {
    let (live, id) = (LiveHosts::default(), "hst_1".parse().unwrap());
    let mine = |names: &[&str]| -> BTreeMap<ReplicaId, Phase> {
        names.iter().map(|it| (report(it).replica_id, Phase::Serving)).collect()
    };
    let kept = || live.with(&id, |entry| entry.known.reports.keys().cloned().collect::<Vec<_>>());
    let reports = ["a", "b", "foreign"].map(report);
    live.keep_reports(&id, &mine(&["a", "b"]), &reports);
    assert_eq!(kept(), ["a", "b"].map(|it| report(it).replica_id));
    assert_eq!(live.news(&id, &reports), [&reports[2]]);
    live.keep_reports(&id, &mine(&["b"]), &[]);
    assert_eq!(kept(), [report("b").replica_id]);
}

#[test]
fn a_host_connects_so_often_at_once_and_no_more() {
    let (live, id, other) = (LiveHosts::default(), "hst_1".parse().unwrap(), "hst_2".parse().unwrap());
    let taken = (0..500).filter(|_| live.may_connect(&id)).count();
    assert!((60..100).contains(&taken), "{taken}");
    assert!(live.may_connect(&other));
}
