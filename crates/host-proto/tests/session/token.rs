//! The rotation of host tokens (TOKEN).

use std::time::Duration;

use host_proto::Moment;
use host_proto::frame::Frame;
use host_proto::message::ToAgent;
use host_proto::server::{Input, Output};

use crate::world::World;

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A host whose token is so old.
fn with_token_of_age(age: Duration) -> World {
    let mut world = World::new();
    world.control.store.token_since = Moment(world.now.0 - age.as_millis() as u64);
    world.restart_server();
    world.settle();
    world
}

fn rotations(world: &World) -> usize {
    world.control.outputs.iter().filter(|output| matches!(output, Output::TokenRotated)).count()
}

#[test]
fn token_1_a_token_is_replaced_over_the_open_socket_after_thirty_days() {
    let mut world = with_token_of_age(30 * DAY - 5 * MINUTE);
    let attempts = world.attempts;
    world.run_for(4 * MINUTE);
    assert_eq!(rotations(&world), 0);
    world.run_for(2 * MINUTE);
    assert_eq!((rotations(&world), world.attempts), (1, attempts));
    assert_ne!(world.hosts[0].disk.token, "token-1");
    world.run_for(DAY / 4);
    assert_eq!(rotations(&world), 1);
}

#[test]
fn token_1_an_overdue_token_is_replaced_when_its_host_connects() {
    let mut world = with_token_of_age(40 * DAY);
    world.run_for(MINUTE);
    assert_eq!(rotations(&world), 1);
}

#[test]
fn token_2_the_old_token_works_for_ten_minutes_after_the_confirmation() {
    let mut world = with_token_of_age(30 * DAY);
    world.run_for(MINUTE);
    assert_eq!(rotations(&world), 1);
    assert!(world.control.knows(world.now + 8 * MINUTE, "token-1"));
    assert!(!world.control.knows(world.now + 10 * MINUTE, "token-1"));
    let grace = world.control.store.tokens["token-1"].unwrap().since(world.control.store.token_since);
    assert_eq!(grace, 10 * MINUTE);
}

#[test]
fn token_3_a_token_that_is_not_on_the_disk_is_not_confirmed_and_the_old_one_works_on() {
    let mut world = with_token_of_age(30 * DAY - MINUTE);
    world.host().disk.full = true;
    world.run_for(2 * MINUTE);
    let error = "no space left on device".to_owned();
    assert!(world.control.outputs.contains(&Output::TokenNotRotated { error }));
    assert_eq!((rotations(&world), world.hosts[0].disk.token.as_str()), (0, "token-1"));
    world.host().disk.full = false;
    world.run_for(60 * MINUTE);
    assert_eq!(rotations(&world), 1, "it is tried again");
}

#[test]
fn token_3_a_crash_before_or_after_the_new_token_is_on_the_disk_leaves_one_that_works() {
    for after_persist in [false, true] {
        let mut world = World::connected();
        let now = world.now;
        world.control.store.tokens.insert("token-9".to_owned(), None);
        world.control.store.pending = Some("token-9".to_owned());
        world.control.with_current(now, Input::Rotate(host_proto::Secret::new("token-9")));
        if after_persist {
            // The text arrives, the confirmation does not.
            world.run_for(Duration::from_millis(15));
            assert_eq!(world.hosts[0].disk.token, "token-9");
        }
        world.fall_silent(0);
        world.restart_host(0, false);
        world.settle();
        let expected = if after_persist { "token-9" } else { "token-1" };
        assert_eq!(world.hosts[0].disk.token, expected);
        assert_eq!(world.control.store.token, expected, "a token that is shown is a token that is confirmed");
    }
}

#[test]
fn token_3_when_the_server_lost_the_new_token_the_previous_one_is_tried_once() {
    let mut world = with_token_of_age(30 * DAY);
    world.run_for(MINUTE);
    let lost = world.hosts[0].disk.token.clone();
    world.control.store.tokens.remove(&lost);
    world.control.store.tokens.insert("token-1".to_owned(), None);
    world.control.store.pending = None;
    let attempts = world.attempts;
    world.break_off(0);
    assert!(world.run_until(MINUTE, |world| world.hosts[0].session.is_online()));
    assert_eq!(world.attempts, attempts + 2);
}

#[test]
fn a_rotation_is_confirmed_by_its_own_answer_only() {
    let mut world = World::connected();
    world.inject(0, true, r#"{"type":"token_rotated","re":"msg_77","data":{"ok":true}}"#);
    world.inject(0, true, r#"{"type":"token_rotated","data":{"ok":true}}"#);
    world.run_for(MINUTE);
    assert_eq!(rotations(&world), 0);
    // An agent answers what it was asked, also without an id.
    let rotate = host_proto::message::TokenRotate { host_token: host_proto::Secret::new("t"), grace_ms: 1 };
    let text = Frame::plain(ToAgent::TokenRotate(rotate)).encode().unwrap();
    world.inject(0, false, &text);
    world.run_for(MINUTE);
    assert_eq!(rotations(&world), 0);
}
