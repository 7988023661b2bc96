//! What follows from what hosts say.

use host_proto::message::SectionResult;
use host_proto::report::RefusedReason;

use super::*;

pub(crate) fn report(last: &str) -> ReplicaReport {
    let ids = (format!("rep_{last}").parse().unwrap(), "svc_1".parse().unwrap(), "rel_1".parse().unwrap());
    ReplicaReport::of(ids, "h", ReplicaState::Running)
}

const NOW: UnixMillis = UnixMillis(5_000);

fn id(last: &str) -> ReplicaId {
    report(last).replica_id
}

fn made(last: &str) -> ReplicaReport {
    ReplicaReport { container_id: Some(format!("container {last}")), ..report(last) }
}

/// A host that was told a state, the third of its history, with these on their way out.
fn told(leaves: &[&str], drains: &[&str]) -> Known {
    let mut known = Known::default();
    known.asks(Asked::of(&DesiredState::empty("e", 3), ways(leaves, drains)));
    known
}

fn ways(leaves: &[&str], drains: &[&str]) -> Ways {
    Ways {
        leaves: leaves.iter().copied().map(id).collect(),
        drains: drains.iter().copied().map(id).collect(),
    }
}

fn section(error: Option<&str>) -> SectionResult {
    SectionResult { ok: error.is_none(), hash: String::new(), error: error.map(str::to_owned) }
}

/// The answer of one that did all that it was told.
fn applied() -> StateApplied {
    StateApplied {
        epoch: "e".to_owned(),
        generation: 3,
        result: Outcome::Applied,
        refused_reason: None,
        sections: Section::ALL.into_iter().map(|it| (it, section(None))).collect(),
        items: Vec::new(),
        replicas: Vec::new(),
        removed: Vec::new(),
        net_selftest: None,
        blocks: None,
        left_volumes: None,
        duration_ms: 1,
    }
}

fn failing(at: Section) -> StateApplied {
    let mut all = applied();
    all.result = Outcome::Partial;
    all.sections.insert(at, section(Some("nft: no such file")));
    all
}

fn item(section: Section, id: &str) -> ItemResult {
    ItemResult {
        section,
        id: id.to_owned(),
        name: "shop/web-1".to_owned(),
        state: ItemState::Failed,
        error: None,
        attempts: 1,
        retry_in_ms: None,
    }
}

/// Answers that say nothing, or not enough, about the state that was sent last.
fn others() -> Vec<StateApplied> {
    vec![
        StateApplied { generation: 2, ..applied() },
        StateApplied { epoch: "f".to_owned(), ..applied() },
        StateApplied { sections: BTreeMap::new(), ..applied() },
    ]
}

#[test]
fn a_replica_is_lost_when_a_state_without_it_is_applied_and_nothing_is_known_of_a_container() {
    let lost = |reports: &[ReplicaReport], applied: &StateApplied| {
        let mut known = told(&["a"], &[]);
        known.reports = reports.iter().map(|it| (it.replica_id.clone(), it.clone())).collect();
        known.answers(applied, NOW);
        known.lost()
    };
    assert_eq!(lost(&[], &applied()), [id("a")]);
    assert_eq!(lost(&[report("a")], &applied()), [id("a")]);
    assert_eq!(lost(&[made("a")], &applied()), []);
    let held = [
        StateApplied { result: Outcome::Failed, ..applied() },
        StateApplied { refused_reason: Some(RefusedReason::RefusedRemovals), ..applied() },
        StateApplied { items: vec![item(Section::Replicas, id("a").as_str())], ..applied() },
        failing(Section::Replicas),
    ];
    for other in others().into_iter().chain(held) {
        assert_eq!(lost(&[], &other), [], "{other:?}");
    }
    assert_eq!(lost(&[], &failing(Section::Dns)), [id("a")]);
}

#[test]
fn a_replica_that_goes_without_a_state_of_its_own_is_lost_when_the_one_before_was_applied() {
    let mut known = told(&[], &[]);
    known.asks_the_same(ways(&["a"], &[]), NOW);
    assert_eq!(known.lost(), []);
    known.answers(&applied(), NOW);
    assert_eq!(known.lost(), [id("a")]);
    known.asks_the_same(ways(&["b"], &[]), NOW);
    assert_eq!(known.lost(), [id("b")]);
    known.asks(Asked::of(&DesiredState::empty("e", 4), ways(&["c"], &[])));
    assert_eq!(known.lost(), [], "the new state was not answered");
}

#[test]
fn a_replica_is_drained_since_its_host_said_that_nothing_leads_to_it() {
    let drained = |applied: &StateApplied| {
        let mut known = told(&[], &["a"]);
        known.answers(applied, NOW);
        known.drained
    };
    assert_eq!(drained(&applied()), Drained::from([(id("a"), NOW)]));
    for other in others().into_iter().chain([failing(Section::Routes), failing(Section::Dns)]) {
        assert_eq!(drained(&other), Drained::new(), "{other:?}");
    }
    let mut known = told(&[], &["a"]);
    assert!(known.answers(&applied(), NOW) && !known.answers(&applied(), UnixMillis(6_000)));
    assert!(known.asks_the_same(ways(&[], &["a", "b"]), UnixMillis(7_000)));
    assert_eq!(known.drained, Drained::from([(id("a"), NOW), (id("b"), UnixMillis(7_000))]));
    known.asks(Asked::of(&DesiredState::empty("e", 4), ways(&["a"], &["b"])));
    known.answers(&StateApplied { generation: 4, ..applied() }, UnixMillis(8_000));
    assert_eq!(known.drained, Drained::from([(id("b"), UnixMillis(7_000))]));
}

#[test]
fn ports_lead_where_a_state_says_when_names_and_ports_of_it_are_served() {
    let mut state = DesiredState::empty("e", 3);
    state.routes = vec![host_proto::desired::Route {
        id: "rte_1".parse().unwrap(),
        kind: host_proto::desired::RouteKind::Tcp,
        listen_ip: None,
        listen_port: Some(80),
        hosts: Vec::new(),
        upstreams: Vec::new(),
    }];
    let routes = |applied: &StateApplied| {
        let mut known = Known::default();
        known.asks(Asked::of(&state, Ways::default()));
        known.answers(applied, NOW);
        known.routes.len()
    };
    assert_eq!(routes(&applied()), 1);
    assert_eq!(routes(&failing(Section::Replicas)), 1);
    for other in others().into_iter().chain([failing(Section::Routes), failing(Section::Dns)]) {
        assert_eq!(routes(&other), 0, "{other:?}");
    }
}

#[test]
fn containers_of_replicas_that_are_none_of_its_own_are_counted_whenever_a_host_tells_of_them() {
    let own = Own::from([(id("a"), Phase::Serving)]);
    let mut known = Known::default();
    let mut hears = |report: ReplicaReport| {
        let changed = known.strangers([report].iter(), &own);
        (changed, known.unknown.len())
    };
    assert_eq!(hears(made("a")), (false, 0));
    assert_eq!(hears(report("b")), (false, 0), "nothing was made");
    assert_eq!(hears(made("b")), (true, 1));
    assert_eq!(hears(made("b")), (false, 1));
    assert_eq!(hears(made("c")), (true, 2));
    assert_eq!(hears(ReplicaReport { state: ReplicaState::Removed, ..report("b") }), (true, 1));
    known.answers(&StateApplied { removed: vec![id("c")], ..applied() }, NOW);
    assert!(known.unknown.is_empty());
}

#[test]
fn a_host_is_in_sync_when_it_has_answered_the_state_that_was_sent_last() {
    let mut known = told(&[], &[]);
    assert!(!known.is_in_sync());
    known.answers(&StateApplied { generation: 500, ..applied() }, NOW);
    assert!(!known.is_in_sync());
    known.answers(&applied(), NOW);
    assert!(known.is_in_sync());
    assert_eq!(known.generation(), 3);
    known.asks(Asked::of(&DesiredState::empty("f", 1), Ways::default()));
    assert!(!known.is_in_sync(), "a history that begins anew begins with small numbers");
    assert_eq!(known.generation(), 0);
}

#[test]
fn volumes_are_deleted_when_a_host_has_done_what_it_was_told_and_says_nothing_of_them() {
    let mut state = DesiredState::empty("e", 3);
    let volume = |name: &str| Volume {
        id: format!("vol_{name}").parse().unwrap(),
        name: name.to_owned(),
        driver: "local".to_owned(),
        options: BTreeMap::new(),
        state: VolumeState::Delete,
        delete_confirmation: None,
        owner_service_id: None,
    };
    state.volumes = vec![volume("a"), Volume { state: VolumeState::Present, ..volume("b") }];
    let deleted = |applied: &StateApplied| {
        let mut known = Known::default();
        known.asks(Asked::of(&state, Ways::default()));
        known.answers(applied, NOW);
        known.deleted(applied).len()
    };
    assert_eq!(deleted(&applied()), 1);
    let still = StateApplied { items: vec![item(Section::Volumes, "vol_a")], ..applied() };
    for other in others().into_iter().chain([failing(Section::Volumes), still]) {
        assert_eq!(deleted(&other), 0, "{other:?}");
    }
}
