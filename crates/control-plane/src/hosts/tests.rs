//! What is kept of what hosts say, in memory.

use std::collections::BTreeMap;

use host_proto::message::SectionResult;
use host_proto::report::{HealthState, ItemState, RefusedReason, ReplicaState};

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

#[test]
fn a_replica_is_lost_when_a_state_without_it_is_applied_and_nothing_is_known_of_a_container() {
    let id = report("a").replica_id;
    let item = ItemResult {
        section: Section::Replicas,
        id: id.to_string(),
        name: "shop/web-1".to_owned(),
        state: ItemState::Failed,
        error: None,
        attempts: 1,
        retry_in_ms: None,
    };
    let known = Known {
        asked: Asked { epoch: "e".to_owned(), generation: 3, leaves: vec![id.clone()], ..Asked::default() },
        ..Known::default()
    };
    let section = |error: Option<&str>| {
        let result = SectionResult { ok: true, hash: String::new(), error: error.map(str::to_owned) };
        BTreeMap::from([(Section::Replicas, result)])
    };
    let applied = StateApplied {
        epoch: "e".to_owned(),
        generation: 3,
        result: Outcome::Partial,
        refused_reason: None,
        sections: section(None),
        items: Vec::new(),
        replicas: Vec::new(),
        removed: Vec::new(),
        net_selftest: None,
        blocks: None,
        duration_ms: 1,
    };
    assert_eq!(known.lost(&applied), std::slice::from_ref(&id));
    let unmade = Known { reports: BTreeMap::from([(id.clone(), report("a"))]), ..known.clone() };
    assert_eq!(unmade.lost(&applied), std::slice::from_ref(&id));
    let made = ReplicaReport { container_id: Some("c".to_owned()), ..report("a") };
    assert_eq!(Known { reports: BTreeMap::from([(id, made)]), ..known.clone() }.lost(&applied), []);
    for other in [
        StateApplied { generation: 2, ..applied.clone() },
        StateApplied { epoch: "f".to_owned(), ..applied.clone() },
        StateApplied { result: Outcome::Failed, ..applied.clone() },
        StateApplied { refused_reason: Some(RefusedReason::RefusedRemovals), ..applied.clone() },
        StateApplied { sections: section(Some("nft: no such file")), ..applied.clone() },
        StateApplied { sections: BTreeMap::new(), ..applied.clone() },
        StateApplied { items: vec![item], ..applied },
    ] {
        assert_eq!(known.lost(&other), [], "{other:?}");
    }
}
