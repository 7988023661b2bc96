//! Desired states: numbers, epochs, pace (STATE, R26, R31, R32).

use std::time::Duration;

use host_proto::Mark;
use host_proto::agent::Event;
use host_proto::desired::DesiredState;
use host_proto::frame::Frame;
use host_proto::message::ToAgent;
use host_proto::server::Output;

use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);

fn offer(world: &mut World, epoch: &str, generation: u64) {
    let state = Box::new(DesiredState::empty(epoch, generation));
    let text = Frame::plain(ToAgent::DesiredState(state)).encode().unwrap();
    world.inject(0, false, &text);
    world.run_for(Duration::from_millis(50));
}

#[test]
fn state_5_a_state_is_fresh_only_until_the_connection_ends() {
    let mut world = World::connected();
    assert!(world.hosts[0].session.is_fresh());
    world.unreachable = true;
    world.break_off(0);
    assert!(!world.hosts[0].session.is_fresh());
    world.unreachable = false;
    assert!(world.run_until(60 * SECOND, |world| world.hosts[0].session.is_online()));
    assert!(!world.hosts[0].session.is_fresh(), "it is online, and no state came yet");
    world.run_for(SECOND);
    assert!(world.hosts[0].session.is_fresh());
}

#[test]
fn state_5_a_restarted_agent_may_stop_nothing_before_it_hears_from_the_server() {
    let mut world = World::connected();
    world.unreachable = true;
    world.restart_host(0, true);
    world.run_for(60 * SECOND);
    assert!(!world.hosts[0].session.is_fresh());
    assert_eq!(world.hosts[0].session.position().unwrap().mark, Mark::new("epoch-1", 2));
}

#[test]
fn state_6_a_lower_or_equal_generation_is_refused_unless_the_epoch_is_another_one() {
    let mut world = World::connected();
    let applied = world.hosts[0].applied.clone();
    offer(&mut world, "epoch-1", 2);
    offer(&mut world, "epoch-1", 1);
    assert_eq!(world.hosts[0].applied, applied);
    let stale = |event: &&Event| matches!(event, Event::StaleState { applied: 2, .. });
    assert_eq!(world.hosts[0].events.iter().filter(stale).count(), 2);
    offer(&mut world, "epoch-9", 1);
    let (epoch, generation, _, adopt) = world.hosts[0].applied.last().cloned().unwrap();
    assert_eq!((epoch.as_str(), generation, adopt), ("epoch-9", 1, true));
}

#[test]
fn state_7_the_first_state_of_an_epoch_is_adopted_whatever_it_says_until_the_next() {
    let mut world = World::connected();
    offer(&mut world, "epoch-9", 5);
    offer(&mut world, "epoch-9", 6);
    let adopt: Vec<bool> = world.hosts[0].applied.iter().skip(2).map(|(.., adopt)| *adopt).collect();
    assert_eq!(adopt, [true, false]);
}

#[test]
fn state_13_numbers_go_on_after_a_restart_of_the_server() {
    let mut world = World::connected();
    world.restart_server();
    let now = world.now;
    world.control.change(now);
    world.settle();
    world.restart_server();
    world.settle();
    world.run_for(60 * SECOND);
    let generations = world.hosts[0].generations();
    assert!(generations.windows(2).all(|pair| pair[0] < pair[1]), "{generations:?}");
    assert!(world.hosts[0].applied.iter().all(|(epoch, ..)| epoch == "epoch-1"));
}

#[test]
fn state_13_a_store_that_was_rolled_back_begins_a_new_epoch_and_adopts() {
    let mut world = World::connected();
    let backup = world.control.store.clone();
    for _ in 0..5 {
        let now = world.now;
        world.control.change(now);
        world.settle();
    }
    let ratchet = world.control.store.ratchet.clone();
    world.control.store = backup;
    world.control.store.ratchet = ratchet;
    world.control.wanted = 1;
    world.restart_server();
    world.settle();
    assert!(world.control.outputs.contains(&Output::StoreIsBehind { applied: 7 }));
    let new: Vec<(u64, bool)> = world.hosts[0]
        .applied
        .iter()
        .filter(|(epoch, ..)| epoch != "epoch-1")
        .map(|(_, generation, _, adopt)| (*generation, *adopt))
        .collect();
    assert_eq!(new, [(1, true), (2, false)]);
}

#[test]
fn changes_are_sent_at_once_and_then_at_most_every_200_milliseconds() {
    let mut world = World::connected();
    world.run_for(SECOND);
    let before = world.hosts[0].applied.len();
    let start = world.now;
    world.control.change(start);
    world.run_for(Duration::from_millis(15));
    assert_eq!(world.hosts[0].applied.len(), before + 1, "the first goes out at once");
    for _ in 0..100 {
        let now = world.now;
        world.control.change(now);
        world.run_for(Duration::from_millis(10));
    }
    world.settle();
    let sent = world.hosts[0].applied.len() - before;
    assert!((5..=7).contains(&sent), "{sent} states in {:?}", world.now.since(start));
}

#[test]
fn what_came_to_nothing_holds_the_next_change_up_for_a_moment_only() {
    let mut world = World::connected();
    world.run_for(SECOND);
    let before = world.hosts[0].applied.len();
    let now = world.now;
    world.control.tell(now);
    world.run_for(Duration::from_millis(5));
    let now = world.now;
    world.control.change(now);
    world.run_for(Duration::from_millis(40));
    assert_eq!(world.hosts[0].applied.len(), before + 1, "it waits as after one that was sent");
}

#[test]
fn a_state_that_says_nothing_new_is_not_sent_and_not_numbered() {
    let mut world = World::connected();
    let (sent, mark) = (world.hosts[0].applied.len(), world.control.store.mark.clone());
    for _ in 0..10 {
        let now = world.now;
        world.control.tell(now);
        world.run_for(SECOND);
    }
    assert_eq!((world.hosts[0].applied.len(), world.control.store.mark.clone()), (sent, mark));
}
