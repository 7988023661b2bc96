//! Connecting, staying connected, and coming back (CONNECT, R14 to R18).

use std::time::Duration;

use host_proto::agent::{Away, Event};
use host_proto::message::CloseCode;
use host_proto::server::{Input, Output};

use crate::world::World;

const MINUTE: Duration = Duration::from_secs(60);

fn offline(world: &World) -> Vec<(Away, Option<Duration>)> {
    let mut found = Vec::new();
    for event in &world.hosts[0].events {
        if let Event::Offline { away, retry_in, .. } = event {
            found.push((*away, *retry_in));
        }
    }
    found
}

fn closes(world: &World) -> Vec<CloseCode> {
    let code = |output: &Output| match output {
        Output::Close { code, .. } => Some(*code),
        _ => None,
    };
    world.control.outputs.iter().filter_map(code).collect()
}

#[test]
fn connect_3_and_connect_4_hello_is_answered_and_a_state_above_all_that_was_applied_follows() {
    let mut world = World::connected();
    assert!(matches!(world.control.outputs[0], Output::Hello(_)));
    assert!(matches!(world.hosts[0].events[0], Event::Online(_)));
    assert_eq!(world.hosts[0].generations(), [1, 2], "the first is one to adopt, the second is not");
    world.break_off(0);
    world.settle();
    world.run_for(MINUTE);
    assert_eq!(world.hosts[0].generations(), [1, 2, 3], "one more, though nothing changed");
}

#[test]
fn a_socket_without_a_hello_is_closed_after_five_seconds() {
    use host_proto::server::{Session, Settings};
    let start = host_proto::Moment(0);
    let mut session = Session::new(start, Settings::default());
    assert_eq!(session.poll_timeout(), Some(start + Duration::from_secs(5)));
    session.handle(start + Duration::from_secs(5), Input::Timer);
    assert!(matches!(session.poll_output(), Some(Output::Send(text)) if text.contains("bad_message")));
    let reason = CloseCode::BadMessage.reason().to_owned();
    assert_eq!(session.poll_output(), Some(Output::Close { code: CloseCode::BadMessage, reason }));
    assert_eq!(session.poll_timeout(), None);
}

#[test]
fn connect_5_pings_keep_a_quiet_connection_for_an_hour() {
    let mut world = World::connected();
    world.run_for(60 * MINUTE);
    assert_eq!((offline(&world), closes(&world)), (vec![], vec![]));
    assert_eq!(world.attempts, 1);
}

#[test]
fn connect_5_sixty_seconds_of_silence_close_the_socket_on_both_sides() {
    let mut world = World::connected();
    world.fall_silent(0);
    world.unreachable = true;
    assert!(!world.run_until(Duration::from_millis(59_500), |world| {
        !world.hosts[0].session.is_online() || !world.control.is_online()
    }));
    let both = |world: &World| !world.hosts[0].session.is_online() && !world.control.is_online();
    assert!(world.run_until(Duration::from_secs(2), both));
    assert_eq!(closes(&world), [CloseCode::IdleTimeout]);
}

#[test]
fn connect_6_attempts_are_spaced_by_pauses_with_jitter_from_one_to_thirty_seconds() {
    let mut world = World::connected();
    world.unreachable = true;
    world.break_off(0);
    world.run_for(20 * MINUTE);
    let pauses: Vec<Duration> = offline(&world).into_iter().filter_map(|(_, pause)| pause).collect();
    assert!(pauses.len() > 40);
    assert!(pauses[0] <= Duration::from_secs(2) && pauses[1] <= Duration::from_secs(4), "{pauses:?}");
    let bounds = Duration::from_secs(1)..=Duration::from_secs(30);
    assert!(pauses.iter().all(|pause| bounds.contains(pause)), "{pauses:?}");
    let late = &pauses[6..];
    assert!(late.iter().any(|pause| *pause < Duration::from_secs(10)), "no jitter: {late:?}");
    assert!(late.iter().any(|pause| *pause > Duration::from_secs(20)), "never long: {late:?}");
}

#[test]
fn connect_6_a_server_that_refuses_for_ten_minutes_is_asked_at_most_forty_times() {
    for seed in 0..50 {
        let mut world = World::new();
        world.hosts[0] = crate::host::Host::new("boot-1", seed);
        (world.refuse, world.attempts) = (Some((503, None)), 0);
        world.start(0);
        world.run_for(10 * MINUTE);
        assert!(world.attempts <= 40, "{} attempts with seed {seed}", world.attempts);
    }
}

#[test]
fn connect_6_the_pause_starts_small_only_after_a_connection_that_lasted() {
    let mut world = World::connected();
    for _ in 0..8 {
        world.break_off(0);
        assert!(world.run_until(MINUTE, |world| world.hosts[0].session.is_online()));
    }
    let flapping: Duration = offline(&world).iter().filter_map(|(_, pause)| *pause).skip(4).sum();
    assert!(flapping > Duration::from_secs(20), "{:?}", offline(&world));
    world.run_for(2 * MINUTE);
    world.break_off(0);
    let (_, pause) = offline(&world).pop().unwrap();
    assert!(pause.unwrap() <= Duration::from_secs(2), "{pause:?}");
}

#[test]
fn connect_6_a_stated_pause_is_obeyed() {
    let mut world = World::new();
    world.refuse = Some((503, Some(Duration::from_secs(90))));
    world.break_off(0);
    world.run_for(MINUTE);
    let (_, pause) = offline(&world).pop().unwrap();
    assert!(pause.unwrap() >= Duration::from_secs(90), "{pause:?}");
}

#[test]
fn a_goodbye_says_when_to_come_back() {
    let mut world = World::connected();
    let reconnect_after = Duration::from_millis(17_300);
    let goodbye = Input::Goodbye { reason: "restart".to_owned(), reconnect_after };
    world.control.with_current(world.now, goodbye);
    world.run_for(Duration::from_secs(1));
    assert_eq!(closes(&world), [CloseCode::Restart]);
    assert_eq!(offline(&world), [(Away::Unreachable, Some(reconnect_after))]);
    world.run_for(Duration::from_secs(20));
    assert!(world.hosts[0].session.is_online());
}

#[test]
fn connect_8_an_unknown_token_is_tried_again_after_five_minutes_and_nothing_is_forgotten() {
    let mut world = World::connected();
    world.control.store.tokens.clear();
    world.break_off(0);
    world.run_for(MINUTE);
    let (away, pause) = offline(&world).pop().unwrap();
    assert_eq!(away, Away::Unauthorized);
    assert!((5 * MINUTE..=6 * MINUTE).contains(&pause.unwrap()), "{pause:?}");
    assert_eq!(world.hosts[0].disk.token, "token-1");
    world.control.store.tokens.insert("token-1".to_owned(), None);
    world.run_for(7 * MINUTE);
    assert!(world.hosts[0].session.is_online());
}

#[test]
fn a_removed_host_comes_never_again_and_keeps_what_it_has() {
    let mut world = World::connected();
    let removed = Input::Removed { reason: "sold".to_owned() };
    world.control.with_current(world.now, removed);
    world.run_for(60 * MINUTE);
    assert_eq!(world.attempts, 1);
    assert_eq!(closes(&world), [CloseCode::HostRemoved]);
    assert_eq!(world.hosts[0].events.last(), Some(&Event::Removed { reason: "sold".to_owned() }));
    assert_eq!(world.hosts[0].disk.token, "token-1");
}

#[test]
fn a_stopped_agent_says_goodbye() {
    let mut world = World::connected();
    let now = world.now;
    let stop = host_proto::agent::Input::Stop { reason: "upgrade".to_owned() };
    world.host().session.handle(now, stop);
    world.run_for(MINUTE);
    assert!(world.control.outputs.contains(&Output::Left { reason: "upgrade".to_owned() }));
    assert_eq!(offline(&world), [(Away::Stopped, None)]);
    assert_eq!(world.attempts, 1);
}

#[test]
fn three_bad_messages_in_a_row_end_the_connection_and_two_do_not() {
    let mut world = World::connected();
    for _ in 0..2 {
        world.inject(0, true, "{}");
    }
    world.inject(0, true, r#"{"type":"pong","data":{"seq":1,"t_us":1}}"#);
    for _ in 0..2 {
        world.inject(0, true, r#"{"type":"pong","data":7}"#);
    }
    world.run_for(Duration::from_secs(1));
    assert_eq!(closes(&world), []);
    world.inject(0, true, "nonsense");
    world.run_for(Duration::from_secs(1));
    assert_eq!(closes(&world), [CloseCode::BadMessage]);
    world.settle();
}

#[test]
fn a_message_of_a_later_version_does_no_harm() {
    let mut world = World::connected();
    for to_server in [true, false] {
        for _ in 0..5 {
            world.inject(0, to_server, r#"{"type":"teleport","id":"msg_9","data":{"to":"mars"}}"#);
            world.inject(0, to_server, r#"{"type":"teleport","data":{"to":"mars"}}"#);
        }
    }
    world.run_for(MINUTE);
    assert_eq!((closes(&world), world.attempts), (vec![], 1));
    // Each side answers those with an id; the agent's application hears of the five answers.
    let answered = |event: &&Event| matches!(event, Event::Error(error) if error.message.contains("type"));
    assert_eq!(world.hosts[0].events.iter().filter(answered).count(), 5);
}

#[test]
fn an_agent_whose_work_stands_still_is_seen_although_its_socket_answers() {
    let mut world = World::connected();
    world.host().works = false;
    world.run_for(3 * MINUTE);
    assert!(world.control.outputs.contains(&Output::Degraded(true)));
    assert!(world.control.is_online());
    world.host().works = true;
    world.run_for(MINUTE);
    assert_eq!(world.control.outputs.last(), Some(&Output::Degraded(false)));
}

#[test]
fn an_agent_of_another_major_version_is_told_what_to_do() {
    let mut world = World::new();
    world.control.settings.protocol.major = 2;
    world.break_off(0);
    world.run_for(MINUTE);
    let (away, pause) = offline(&world).pop().unwrap();
    assert_eq!(away, Away::Unsupported);
    assert!(pause.unwrap() >= 30 * MINUTE);
    assert_eq!(closes(&world), [CloseCode::UnsupportedProtocol]);
}
