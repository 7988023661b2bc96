//! Connecting, losing the connection, being throttled or refused, and coming back.

use std::time::Duration;

use opamp_proto::agent::{Event, Failure, Input, Output, Restarting, Status, Transport};
use opamp_proto::wire::{self, ServerErrorResponseType, ServerToAgent};

use crate::agent_driver::*;

/// The pauses before each of the next attempts, when every attempt fails with `failure`.
fn pauses(seed: u64, count: usize, failure: &Failure) -> Vec<Duration> {
    let mut agent = Agent::seeded(settings(Transport::WebSocket), seed);
    agent.input(Input::Start);
    let attempt = |_| {
        if connects(&agent.fail(failure.clone())) == 1 {
            return Duration::ZERO;
        }
        let pause = agent.pause();
        assert_eq!(connects(&agent.advance(pause)), 1);
        pause
    };
    (0..count).map(attempt).collect()
}

#[test]
fn estab_5_c31_c33_failed_attempts_are_spaced_by_doubling_pauses_with_full_jitter() {
    let mut longest = [Duration::ZERO; 9];
    let mut shortest = [Duration::MAX; 9];
    for seed in 0..200 {
        for (index, pause) in pauses(seed, 9, &broken()).into_iter().enumerate() {
            longest[index] = longest[index].max(pause);
            shortest[index] = shortest[index].min(pause);
        }
    }
    for (index, ceiling) in [1, 2, 4, 8, 16, 32, 60, 60, 60].into_iter().enumerate() {
        assert!(longest[index] <= secs(ceiling), "attempt {index}");
        assert!(longest[index] >= secs(ceiling) * 9 / 10, "attempt {index} uses its whole range");
        assert!(shortest[index] <= secs(ceiling) / 10, "attempt {index} uses its whole range");
    }
}

#[test]
fn c31_an_unreachable_server_over_http_is_tried_with_growing_pauses_and_the_same_bytes() {
    let mut agent = Agent::new(settings(Transport::Http));
    let first = payloads(&agent.input(Input::Start));
    let mut attempts = 0;
    let end = agent.now + secs(600);
    while agent.now < end {
        agent.fail(broken());
        let pause = agent.pause();
        assert_eq!(payloads(&agent.advance(pause)), first);
        attempts += 1;
    }
    assert!((10..60).contains(&attempts), "{attempts} attempts in ten minutes");
}

#[test]
fn estab_7_an_established_websocket_that_breaks_is_reconnected_at_once() {
    let mut agent = Agent::ws_online();
    for _ in 0..5 {
        agent.advance(secs(20));
        let outputs = agent.fail(broken());
        assert_eq!(outputs.last(), Some(&Output::Connect));
        agent.input(Input::Connected);
        agent.receive(&answer());
    }
}

#[test]
fn estab_8_when_that_attempt_fails_backoff_follows() {
    let mut agent = Agent::ws_online();
    agent.advance(secs(20));
    agent.fail(broken());
    assert_eq!(connects(&agent.fail(broken())), 0);
    assert!(agent.pause() <= secs(1));
}

#[test]
fn a_connection_that_keeps_breaking_at_once_is_not_tried_in_a_loop() {
    let mut agent = Agent::ws_online();
    let start = agent.now;
    let mut connected = 0;
    while agent.now.since(start) < secs(120) {
        let mut outputs = agent.fail(broken());
        if connects(&outputs) == 0 {
            let pause = agent.pause();
            outputs = agent.advance(pause);
        }
        assert_eq!(connects(&outputs), 1);
        agent.input(Input::Connected);
        agent.receive(&answer());
        connected += 1;
    }
    assert!(connected < 40, "{connected} connections in two minutes");
}

#[test]
fn throttle_2_unavailable_on_a_websocket_is_left_in_good_order_and_returned_to_after_the_stated_time() {
    let mut agent = Agent::ws_online();
    let outputs = agent.receive(&unavailable(secs(100)));
    assert_eq!(
        report(&outputs),
        with(1, |message| message.agent_disconnect = Some(wire::AgentDisconnect {}))
    );
    assert_eq!(outputs.last(), Some(&Output::Close));
    let reason = "the server is unavailable: busy".to_owned();
    assert_eq!(events(&outputs), [Event::Disconnected { reason, next: Restarting::In(secs(100)) }]);
    assert_eq!(agent.fail(Failure::Closed { code: Some(1000), reason: String::new() }), []);
    assert_eq!(agent.pause(), secs(100));
    assert_eq!(connects(&agent.advance(secs(100))), 1);
}

#[test]
fn retx_4_unavailable_over_http_is_followed_by_the_same_bytes_after_the_stated_time() {
    let mut agent = Agent::http_online();
    let sent = payloads(&agent.set(Status::Health(health(false))));
    agent.receive(&unavailable(secs(100)));
    agent.set(Status::Description(description("two")));
    assert_eq!(agent.pause(), secs(100));
    assert_eq!(payloads(&agent.advance(secs(100))), sent);
    // What changed meanwhile follows it.
    let outputs = agent.receive(&answer());
    let expected = with(2, |message| message.agent_description = Some(description("two")));
    assert_eq!(report(&outputs), expected);
}

#[test]
fn throttle_4_throttle_10_without_a_stated_time_the_pause_is_at_least_30_seconds_and_grows() {
    let unnamed = [unavailable(Duration::ZERO), ServerToAgent::unavailable(uid().to_bytes(), "busy", 0)];
    for message in unnamed {
        let mut agent = Agent::http_online();
        agent.advance(secs(30));
        agent.receive(&message);
        assert!(agent.pause() >= secs(30), "{:?}", agent.pause());
    }
    let long: Vec<Duration> = (0..50).map(|seed| pauses(seed, 7, &status(503, None))[6]).collect();
    assert!(long.iter().all(|pause| (secs(30)..=secs(90)).contains(pause)));
    assert!(long.iter().any(|pause| *pause > secs(60)));
}

#[test]
fn throttle_7_c5_503_and_429_are_obeyed_with_and_without_retry_after() {
    for transport in [Transport::WebSocket, Transport::Http] {
        for code in [503, 429] {
            for (retry_after, least, most) in
                [(Some(secs(77)), 77, 77), (Some(Duration::ZERO), 0, 1), (None, 30, 31)]
            {
                let mut agent = Agent::new(settings(transport));
                agent.input(Input::Start);
                agent.fail(status(code, retry_after));
                assert!((secs(least)..=secs(most)).contains(&agent.pause()), "{code} {retry_after:?}");
            }
        }
    }
}

#[test]
fn throttle_8_retry_after_counts_for_one_attempt_only() {
    let mut agent = Agent::new(settings(Transport::WebSocket));
    agent.input(Input::Start);
    agent.fail(status(503, Some(secs(500))));
    agent.advance(secs(500));
    agent.fail(broken());
    assert!(agent.pause() <= secs(2));
}

#[test]
fn a_stated_pause_of_years_is_cut_to_a_day() {
    let mut agent = Agent::new(settings(Transport::Http));
    agent.input(Input::Start);
    agent.fail(status(503, Some(Duration::MAX)));
    assert_eq!(agent.pause(), secs(86_400));
}

#[test]
fn c20_401_keeps_the_state_and_is_tried_again_after_at_least_30_seconds() {
    for code in [401, 403, 404] {
        let mut agent = Agent::new(settings(Transport::Http));
        let first = payloads(&agent.input(Input::Start));
        let outputs = agent.fail(status(code, None));
        assert!(matches!(events(&outputs)[..], [Event::Disconnected { .. }]));
        let pause = agent.pause();
        assert!(pause >= secs(30), "{code}");
        assert_eq!(payloads(&agent.advance(pause)), first);
    }
}

#[test]
fn a_revoked_agent_that_was_closed_with_1008_does_not_hammer() {
    let mut agent = Agent::ws_online();
    agent.advance(secs(60));
    agent.fail(Failure::Closed { code: Some(1008), reason: "revoked".to_owned() });
    assert!(agent.pause() >= secs(30));
}

#[test]
fn c13_a_protocol_violation_is_followed_by_backoff_and_not_by_an_instant_return() {
    let mut agent = Agent::ws_online();
    agent.advance(secs(60));
    let outputs = agent.fail(Failure::Protocol("a text message".to_owned()));
    assert_eq!(connects(&outputs), 0);
}

#[test]
fn bad_4_err_3_a_refused_message_is_not_sent_again_and_the_connection_stays() {
    for kind in [ServerErrorResponseType::BadRequest, ServerErrorResponseType::Unknown] {
        for mut agent in [Agent::ws_online(), Agent::http_online()] {
            agent.set(Status::Health(health(false)));
            let outputs = agent.receive(&ServerToAgent::refuse(uid().to_bytes(), kind, "no\nsuch thing"));
            let [Event::MessageRefused { reason }] = &events(&outputs)[..] else { panic!("{outputs:?}") };
            assert!(reason.ends_with("no such thing"), "{reason}");
            assert_eq!(reports(&outputs), []);
            assert_eq!(report(&agent.advance(secs(30))), bare(2));
        }
    }
}

#[test]
fn c33_413_and_400_are_not_sent_again() {
    for code in [400, 413, 415] {
        let mut agent = Agent::http_online();
        agent.set(Status::Health(health(false)));
        let outputs = agent.fail(status(code, None));
        assert!(matches!(events(&outputs)[..], [Event::MessageRefused { .. }]), "{outputs:?}");
        assert_eq!(report(&agent.advance(secs(30))), bare(2));
    }
}

#[test]
fn retx_1_retx_2_c1_c21_a_request_without_an_answer_is_dropped_and_sent_again_byte_for_byte() {
    let mut agent = Agent::http_online();
    let sent = payloads(&agent.set(Status::Health(health(false))));
    let outputs = agent.advance(secs(30));
    assert_eq!(outputs[0], Output::Abort);
    assert_eq!(payloads(&outputs), Vec::<bytes::Bytes>::new());
    assert!(agent.pause() <= secs(1));
    assert_eq!(payloads(&agent.advance(secs(1))), sent);
}

#[test]
fn retx_3_a_request_whose_connection_broke_is_sent_again_byte_for_byte() {
    let mut agent = Agent::http_online();
    let sent = payloads(&agent.set(Status::Health(health(false))));
    agent.fail(broken());
    assert_eq!(payloads(&agent.advance(secs(1))), sent);
}

#[test]
fn a_handshake_that_never_ends_is_dropped_and_tried_again() {
    let mut agent = Agent::new(settings(Transport::WebSocket));
    agent.input(Input::Start);
    let outputs = agent.advance(secs(30));
    assert_eq!(outputs[0], Output::Abort);
    let pause = agent.pause();
    assert_eq!(connects(&agent.advance(pause)), 1);
}

#[test]
fn dup_1_dup_2_a_reconnect_leaves_closes_and_only_then_connects() {
    let mut agent = Agent::ws_online();
    let outputs = agent.input(Input::Reconnect);
    assert!(report(&outputs).agent_disconnect.is_some());
    assert_eq!(outputs.last(), Some(&Output::Close));
    assert_eq!(connects(&outputs), 0);
    assert_eq!(agent.set(Status::Health(health(false))), []);
    let outputs = agent.fail(Failure::Closed { code: Some(1000), reason: String::new() });
    assert_eq!(outputs, [Output::Connect]);
}

#[test]
fn dup_1_a_peer_that_does_not_close_is_dropped_before_the_next_connection() {
    let mut agent = Agent::ws_online();
    agent.input(Input::Reconnect);
    assert_eq!(agent.advance(secs(5)), [Output::Abort, Output::Connect]);
}

#[test]
fn close_1_close_2_close_3_a_stop_sends_agent_disconnect_last_with_what_is_new_then_closes() {
    let mut agent = Agent::ws_online();
    agent.flushes = false;
    agent.set(Status::Health(health(false)));
    agent.set(Status::Description(description("two")));
    let outputs = agent.input(Input::Stop);
    let expected = with(2, |message| {
        message.agent_description = Some(description("two"));
        message.agent_disconnect = Some(wire::AgentDisconnect {});
    });
    assert_eq!(report(&outputs), expected);
    assert_eq!(outputs.last(), Some(&Output::Close));
    let outputs = agent.fail(Failure::Closed { code: Some(1000), reason: String::new() });
    assert_eq!(outputs.last(), Some(&Output::Stopped));
    assert_eq!(agent.session.poll_timeout(), None);
    assert_eq!(agent.set(Status::Health(health(true))), []);
}

#[test]
fn c4_a_stop_is_bounded_in_every_state() {
    let states: [fn() -> Agent; 6] = [
        || Agent::new(settings(Transport::WebSocket)),
        || {
            let mut agent = Agent::new(settings(Transport::WebSocket));
            agent.input(Input::Start);
            agent
        },
        || {
            let mut agent = Agent::new(settings(Transport::WebSocket));
            agent.input(Input::Start);
            agent.fail(broken());
            agent
        },
        Agent::ws_online,
        Agent::http_online,
        || {
            let mut agent = Agent::http_online();
            agent.advance(secs(30));
            agent
        },
    ];
    for (index, state) in states.iter().enumerate() {
        let mut agent = state();
        let mut outputs = agent.input(Input::Stop);
        outputs.extend(agent.advance(secs(10)));
        assert_eq!(outputs.iter().filter(|output| **output == Output::Stopped).count(), 1, "state {index}");
        assert_eq!(agent.input(Input::Stop), []);
    }
}

#[test]
fn close_6_over_http_a_stop_waits_for_the_request_in_flight_and_says_goodbye_with_one_more() {
    let mut agent = Agent::http_online();
    agent.advance(secs(30));
    assert_eq!(agent.input(Input::Stop), []);
    let outputs = agent.receive(&answer());
    assert_eq!(
        report(&outputs),
        with(2, |message| message.agent_disconnect = Some(wire::AgentDisconnect {}))
    );
    let outputs = agent.receive(&answer());
    assert_eq!(outputs.last(), Some(&Output::Stopped));
}
