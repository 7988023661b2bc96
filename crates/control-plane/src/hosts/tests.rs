//! What is kept of what hosts say, in memory.

use model::hosting::Phase;

use super::known::tests::report;
use super::*;

#[test]
fn reports_are_kept_of_a_hosts_own_replicas_and_only_while_they_are() {
    let (live, id) = (LiveHosts::default(), "hst_1".parse().unwrap());
    let mine =
        |names: &[&str]| -> Own { names.iter().map(|it| (report(it).replica_id, Phase::Serving)).collect() };
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

#[tokio::test]
async fn that_a_state_may_be_another_is_heard_however_much_else_a_connection_is_asked() {
    let (live, id) = (LiveHosts::default(), "hst_1".parse().unwrap());
    let tasks = live.begin(&id, start(1));
    while live.errand(&id, Errand::Replaced) {}
    live.state_changed(&id);
    tasks.changed.notified().await;
}

#[test]
fn a_connection_whose_place_another_took_changes_nothing_that_is_known() {
    let (live, id) = (LiveHosts::default(), "hst_1".parse().unwrap());
    let (state, ways) = (DesiredState::empty("e", 1), Ways::default());
    assert!(!live.sends(&id, 1, &state, ways.clone()), "nobody is connected");
    let _old = live.begin(&id, start(1));
    assert!(live.sends(&id, 1, &state, ways.clone()));
    let _new = live.begin(&id, start(2));
    assert!(!live.sends(&id, 1, &state, ways.clone()) && live.sends(&id, 2, &state, ways));
}

fn start(number: u64) -> LinkStart {
    let at = UnixMillis(0);
    LinkStart {
        number,
        connected_at: at,
        heard: Heard::new(at),
        address: [127, 0, 0, 1].into(),
        engine: None,
    }
}
