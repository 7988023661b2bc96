//! Who is let in when more than one says to be the host (CONNECT-7, R11 to R14).

use std::time::Duration;

use host_proto::agent::{Away, Event};
use host_proto::message::CloseCode;
use host_proto::server::{Alert, Output};

use crate::host::Host;
use crate::world::World;

const MINUTE: Duration = Duration::from_secs(60);

fn is_duplicate(world: &World, agent: usize) -> bool {
    let duplicate = |event: &Event| matches!(event, Event::Offline { away: Away::Duplicate, retry_in, .. } if *retry_in >= Some(5 * MINUTE));
    world.hosts[agent].events.iter().any(duplicate)
}

fn close_codes(world: &World) -> Vec<CloseCode> {
    let code = |output: &Output| match output {
        Output::Close { code, .. } => Some(*code),
        _ => None,
    };
    world.control.outputs.iter().filter_map(code).collect()
}

/// A second machine with the first one's disk.
fn clone(world: &mut World, boot_id: &str, machine_id: &str) {
    let mut copy = Host::from_disk(world.hosts[0].disk.clone(), boot_id, 99);
    copy.machine_id = machine_id.to_owned();
    world.hosts.push(copy);
    world.start(1);
}

#[test]
fn connect_7_another_machine_with_the_same_token_is_refused_and_the_first_stays() {
    let mut world = World::connected();
    clone(&mut world, "boot-2", "machine-2");
    world.run_for(MINUTE);
    assert!(is_duplicate(&world, 1));
    assert!(world.hosts[0].session.is_online() && world.control.is_online());
    assert_eq!(close_codes(&world), [CloseCode::DuplicateHost]);
    assert!(matches!(world.control.alerts[..], [Alert::OtherMachine { .. }]));
    assert_eq!(world.hosts[0].events.len(), 1, "the first notices nothing");
}

#[test]
fn connect_7_another_machine_is_refused_also_while_the_first_is_away() {
    let mut world = World::connected();
    world.unreachable = true;
    world.break_off(0);
    world.unreachable = false;
    clone(&mut world, "boot-2", "machine-2");
    world.run_for(Duration::from_millis(500));
    assert!(is_duplicate(&world, 1));
}

#[test]
fn connect_7_a_full_copy_is_refused_while_the_first_answers() {
    let mut world = World::connected();
    clone(&mut world, "boot-2", "machine-1");
    world.run_for(MINUTE);
    assert!(is_duplicate(&world, 1));
    assert!(world.hosts[0].session.is_online());
    assert!(matches!(world.control.alerts[..], [Alert::Copy { .. }]), "{:?}", world.control.alerts);
}

#[test]
fn connect_7_the_same_machine_replaces_its_own_half_open_connection_at_once() {
    let mut world = World::connected();
    world.fall_silent(0);
    world.restart_host(0, true);
    assert!(world.run_until(Duration::from_secs(1), |world| world.hosts[0].session.is_fresh()));
    assert_eq!(close_codes(&world), [CloseCode::Replaced]);
    assert_eq!(world.control.alerts, []);
}

#[test]
fn a_rebooted_machine_is_let_in_once_its_old_connection_is_found_dead() {
    let mut world = World::connected();
    world.fall_silent(0);
    world.host().boot_id = "boot-2".to_owned();
    world.restart_host(0, true);
    assert!(!world.run_until(Duration::from_millis(4_900), |world| world.hosts[0].session.is_online()));
    assert!(world.run_until(Duration::from_millis(300), |world| world.hosts[0].session.is_online()));
    world.settle();
    assert_eq!(world.control.alerts, []);
}

#[test]
fn a_machine_whose_disk_is_an_older_one_is_let_in_and_reported() {
    let mut world = World::connected();
    let snapshot = world.hosts[0].disk.clone();
    for _ in 0..3 {
        world.break_off(0);
        world.settle();
    }
    world.hosts[0].disk.secret = snapshot.secret;
    world.restart_host(0, false);
    world.settle();
    assert_eq!(world.control.alerts, [Alert::RolledBack]);
}

#[test]
fn a_full_disk_does_not_lock_a_host_out() {
    let mut world = World::connected();
    world.host().disk.full = true;
    for _ in 0..5 {
        world.restart_host(0, false);
        world.settle();
        world.run_for(2 * MINUTE);
    }
    assert_eq!(world.control.alerts, []);
}

#[test]
fn two_copies_that_take_turns_are_frozen_out() {
    let mut world = World::connected();
    clone(&mut world, "boot-2", "machine-1");
    world.run_for(Duration::from_secs(1));
    for turn in 0..6 {
        // The one that is connected goes away for a moment, and the other one comes.
        let (gone, other) = if turn % 2 == 0 { (0, 1) } else { (1, 0) };
        world.break_off(gone);
        world.restart_host(other, false);
        world.run_for(Duration::from_secs(20));
    }
    assert!(world.control.alerts.iter().any(|alert| matches!(alert, Alert::Flapping { .. })));
    let frozen = |event: &Event| matches!(event, Event::Offline { away: Away::Duplicate, retry_in, .. } if *retry_in >= Some(14 * MINUTE));
    assert!(world.hosts.iter().any(|host| host.events.iter().any(frozen)));
}
