//! A rollout on a virtual clock.

use proptest::prelude::*;

use super::super::RevisionId;
use super::*;

fn uid(number: u64) -> InstanceUid {
    let mut bytes = [1; 16];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    InstanceUid::try_from_slice(&bytes).unwrap()
}

fn grant(at: i64) -> Grant {
    Grant { revision: RevisionId(2), batch: 1, was_healthy: true, forgiven: false, at: UnixMillis(at) }
}

fn released(count: u64, size: u64) -> Rollout {
    let mut rollout = Rollout::new(size, Some(ANSWER_WITHIN));
    (0..count).for_each(|number| rollout.release(uid(number), &grant(0)));
    rollout
}

fn pause(step: Step) -> Fault {
    match step {
        Step::Pause(fault) => fault,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_batch_is_a_share_of_the_agents_and_at_least_one() {
    assert_eq!(batch_size(1000, 10), 100);
    assert_eq!(batch_size(5, 10), 1);
    assert_eq!(batch_size(11, 10), 2);
    assert_eq!(batch_size(0, 10), 1);
    assert_eq!(batch_size(7, 100), 7);
}

#[test]
fn the_next_batch_goes_when_the_last_is_through() {
    let mut rollout = released(2, 2);
    assert_eq!(rollout.step(UnixMillis(5), 8), Step::Wait(Some(UnixMillis(300_000))));
    rollout.hear(uid(0), Standing::Applied, Some(true));
    rollout.hear(uid(1), Standing::Applying, Some(true));
    assert!(matches!(rollout.step(UnixMillis(5), 8), Step::Wait(_)));
    rollout.hear(uid(1), Standing::Applied, None);
    assert_eq!(rollout.step(UnixMillis(5), 8), Step::Release(2));
    assert_eq!(rollout.step(UnixMillis(5), 1), Step::Release(1));
    assert_eq!(rollout.step(UnixMillis(5), 0), Step::Finish);
}

#[test]
fn the_first_failure_stops_it() {
    let mut rollout = released(3, 3);
    rollout.hear(uid(0), Standing::Applied, Some(true));
    rollout.hear(uid(1), Standing::Failed, Some(true));
    let fault = pause(rollout.step(UnixMillis(5), 8));
    assert_eq!((fault.kind, fault.agent), (FaultKind::Failed, Some(uid(1))));
}

#[test]
fn health_that_is_lost_stops_it_and_health_that_was_bad_before_does_not() {
    let mut rollout = released(1, 1);
    rollout.hear(uid(0), Standing::Applying, Some(false));
    assert!(matches!(rollout.step(UnixMillis(5), 8), Step::Wait(_)), "it restarts while it applies");
    rollout.hear(uid(0), Standing::Applied, Some(false));
    assert_eq!(pause(rollout.step(UnixMillis(5), 8)).kind, FaultKind::HealthLost);
    let mut ill = Rollout::new(1, Some(ANSWER_WITHIN));
    ill.release(uid(0), &Grant { was_healthy: false, ..grant(0) });
    ill.hear(uid(0), Standing::Applied, Some(false));
    assert_eq!(ill.step(UnixMillis(5), 8), Step::Release(1));
}

#[test]
fn health_that_is_lost_later_stops_it_too() {
    let mut rollout = released(1, 1);
    rollout.hear(uid(0), Standing::Applied, Some(true));
    rollout.release(uid(1), &grant(1000));
    rollout.hear(uid(0), Standing::Applied, Some(false));
    let fault = pause(rollout.step(UnixMillis(2000), 8));
    assert_eq!((fault.kind, fault.agent), (FaultKind::HealthLost, Some(uid(0))));
}

#[test]
fn silence_of_an_agent_that_is_there_stops_it_after_five_minutes() {
    let rollout = released(1, 1);
    assert!(matches!(rollout.step(UnixMillis(299_999), 8), Step::Wait(_)));
    assert_eq!(pause(rollout.step(UnixMillis(300_000), 8)).kind, FaultKind::NoAnswer);
    let mut unanswered = released(1, 1);
    unanswered.hear(uid(0), Standing::Unanswered, None);
    assert_eq!(pause(unanswered.step(UnixMillis(5), 8)).kind, FaultKind::NoAnswer);
}

const MINUTE: i64 = 60_000;

#[test]
fn an_agent_that_polls_seldom_has_three_of_its_gaps() {
    let mut rollout = released(2, 2);
    rollout.look(uid(0), true, Some(Duration::from_secs(600)), UnixMillis(0));
    rollout.look(uid(1), true, Some(Duration::from_secs(30)), UnixMillis(0));
    rollout.hear(uid(1), Standing::Applied, None);
    assert_eq!(rollout.step(UnixMillis(6 * MINUTE), 8), Step::Wait(Some(UnixMillis(30 * MINUTE))));
    assert_eq!(pause(rollout.step(UnixMillis(30 * MINUTE), 8)).agent, Some(uid(0)));
    assert_eq!(rollout.patience(uid(0)), Duration::from_secs(1800));
    assert_eq!(rollout.patience(uid(1)), ANSWER_WITHIN);
}

#[test]
fn who_left_before_it_answered_is_no_fault_and_has_its_time_again_when_it_is_back() {
    let mut rollout = released(2, 2);
    rollout.hear(uid(1), Standing::Applied, None);
    rollout.look(uid(0), false, None, UnixMillis(MINUTE));
    rollout.hear(uid(0), Standing::Unanswered, None);
    assert_eq!(rollout.step(UnixMillis(5 * MINUTE), 8), Step::Wait(Some(UnixMillis(6 * MINUTE))));
    assert_eq!(rollout.step(UnixMillis(6 * MINUTE), 8), Step::Release(2), "it holds up nobody");
    rollout.look(uid(0), true, None, UnixMillis(7 * MINUTE));
    rollout.hear(uid(0), Standing::Waiting, None);
    assert_eq!(rollout.step(UnixMillis(8 * MINUTE), 8), Step::Wait(Some(UnixMillis(12 * MINUTE))));
    assert_eq!(pause(rollout.step(UnixMillis(12 * MINUTE), 8)).kind, FaultKind::NoAnswer);
}

#[test]
fn a_batch_that_left_as_a_whole_is_not_followed_by_another() {
    let mut rollout = released(2, 2);
    (0..2).for_each(|number| rollout.look(uid(number), false, None, UnixMillis(MINUTE)));
    for candidates in [8, 0] {
        let fault = pause(rollout.step(UnixMillis(100 * MINUTE), candidates));
        assert_eq!((fault.kind, fault.agent), (FaultKind::Left, Some(uid(0))), "nor is it settled for all");
    }
    assert_eq!(rollout.left(UnixMillis(100 * MINUTE)), [uid(0), uid(1)]);
    rollout.look(uid(1), true, None, UnixMillis(100 * MINUTE));
    rollout.hear(uid(1), Standing::Applied, None);
    assert_eq!(rollout.step(UnixMillis(101 * MINUTE), 8), Step::Release(2));
    // What an earlier batch did says nothing about the last one.
    rollout.release(uid(2), &Grant { batch: 2, ..grant(101 * MINUTE) });
    rollout.look(uid(2), false, None, UnixMillis(102 * MINUTE));
    assert_eq!(pause(rollout.step(UnixMillis(200 * MINUTE), 8)).kind, FaultKind::Left);
    assert!(rollout.forgive(UnixMillis(200 * MINUTE)).is_empty());
    rollout.pardon(uid(2));
    assert_eq!(rollout.step(UnixMillis(200 * MINUTE), 8), Step::Release(2));
}

#[test]
fn who_left_is_waited_for_as_long_as_is_set() {
    for (absence, minutes) in [(Some(Duration::from_secs(60)), 2), (Some(Duration::from_secs(3600)), 61)] {
        let mut rollout = Rollout::new(1, absence);
        rollout.release(uid(0), &grant(0));
        rollout.look(uid(0), false, None, UnixMillis(MINUTE));
        assert_eq!(
            rollout.step(UnixMillis(minutes * MINUTE - 1), 8),
            Step::Wait(Some(UnixMillis(minutes * MINUTE)))
        );
        assert_eq!(pause(rollout.step(UnixMillis(minutes * MINUTE), 8)).kind, FaultKind::Left);
    }
    let mut rollout = Rollout::new(1, None);
    rollout.release(uid(0), &grant(0));
    rollout.look(uid(0), false, None, UnixMillis(MINUTE));
    assert_eq!(rollout.step(UnixMillis(1000 * MINUTE), 8), Step::Wait(None), "without end");
}

#[test]
fn an_operator_goes_on_in_spite_of_what_was_seen_and_a_new_fault_stops_it_again() {
    let mut rollout = released(2, 2);
    rollout.hear(uid(0), Standing::Failed, None);
    rollout.hear(uid(1), Standing::Applied, None);
    assert_eq!(rollout.forgive(UnixMillis(5)), [uid(0)]);
    assert_eq!(rollout.step(UnixMillis(5), 8), Step::Release(2));
    rollout.hear(uid(1), Standing::Failed, None);
    assert_eq!(pause(rollout.step(UnixMillis(5), 8)).agent, Some(uid(1)));
}

#[derive(Debug, Clone)]
enum Happening {
    Turn,
    Hear(u64, Standing, Option<bool>),
    Resume,
    Seconds(u16),
    Look(u64, bool),
}

fn happening() -> impl Strategy<Value = Happening> {
    let standing = prop_oneof![
        6 => Just(Standing::Applied),
        1 => Just(Standing::Applying),
        1 => Just(Standing::Failed),
    ];
    prop_oneof![
        4 => Just(Happening::Turn),
        8 => (0..20u64, standing, any::<Option<bool>>()).prop_map(|(n, s, h)| Happening::Hear(n, s, h)),
        1 => Just(Happening::Resume),
        1 => (0..200u16).prop_map(Happening::Seconds),
        2 => (0..20u64, any::<bool>()).prop_map(|(n, there)| Happening::Look(n, there)),
    ]
}

proptest! {
    /// Never more than one batch is under way, and nobody is released while a fault is unforgiven.
    #[test]
    fn at_most_one_batch_is_unsettled(size in 1..7u64, happenings in prop::collection::vec(happening(), 0..120)) {
        let (mut rollout, mut next, mut now) = (Rollout::new(size, Some(ANSWER_WITHIN)), 0u64, UnixMillis(0));
        for happening in happenings {
            match happening {
                Happening::Hear(number, standing, healthy) => rollout.hear(uid(number), standing, healthy),
                Happening::Resume => drop(rollout.forgive(now)),
                Happening::Look(number, there) => rollout.look(uid(number), there, None, now),
                Happening::Seconds(seconds) => now = UnixMillis(now.0 + i64::from(seconds) * 1000),
                Happening::Turn => {
                    let before = rollout.clone();
                    match rollout.step(now, 20 - next) {
                        Step::Release(count) => {
                            prop_assert!(count <= size && count > 0);
                            let is_over = |one: &Released| one.is_settled() || one.gone.is_some_and(|_| now >= one.due());
                            prop_assert!(before.released.values().all(is_over));
                            prop_assert!(before.released.values().all(|one| one.fault(now).is_none()));
                            for number in next..next + count {
                                rollout.release(uid(number), &Grant { at: now, ..grant(0) });
                            }
                            next += count;
                        }
                        Step::Finish => prop_assert_eq!(next, 20),
                        Step::Pause(fault) => prop_assert!(fault.agent.is_some_and(|uid| before.has(uid))),
                        Step::Wait(Some(due)) => prop_assert!(due > now),
                        Step::Wait(None) => prop_assert!(before.released.values().any(|one| one.gone.is_some())),
                    }
                }
            }
        }
    }
}
