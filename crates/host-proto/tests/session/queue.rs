//! What goes out first, what may be dropped, and what is too long (R24, REQ-11).

use std::time::Duration;

use host_proto::agent::{Input, Output};
use host_proto::frame::Frame;
use host_proto::limits::MAX_MESSAGE;
use host_proto::message::{CloseCode, LogLine, LogLines, LogStream, LogsQuery, Metrics, Ping, ToServer};
use host_proto::server;
use host_proto::{DesiredState, Moment, ToAgent};

use crate::world::World;

const SECOND: Duration = Duration::from_secs(1);

fn batch(seq: u64, lines: usize) -> Input {
    let line = LogLine {
        ts_us: seq,
        replica_id: "rep_1".parse().unwrap(),
        stream: LogStream::Out,
        text: Some("x".to_owned()),
        b64: None,
        partial: false,
    };
    let subscription_id = "sub_1".parse().unwrap();
    let batch = LogLines { subscription_id, seq, lines: vec![line; lines], dropped: 0 };
    Input::Send(Box::new(Frame::plain(ToServer::LogLines(batch))))
}

fn metrics(seq: u64) -> Input {
    let metrics = Metrics { seq, ..Metrics::default() };
    Input::Send(Box::new(Frame::plain(ToServer::Metrics(Box::new(metrics)))))
}

/// The next text that goes out, once the one before is out.
fn next(world: &mut World) -> Option<ToServer> {
    let now = world.now;
    let session = &mut world.hosts[0].session;
    session.handle(now, Input::Sent);
    let mut sent = None;
    while let Some(output) = session.poll_output() {
        if let Output::Send(text) = output {
            sent = Some(Frame::<ToServer>::decode(&text).unwrap().body);
        }
    }
    sent
}

#[test]
fn what_is_urgent_overtakes_lines_and_metrics_and_what_is_dropped_is_counted() {
    let mut world = World::connected();
    world.run_for(SECOND);
    let now = world.now;
    let session = &mut world.hosts[0].session;
    // The socket takes the first one and then nothing for a while.
    session.handle(now, batch(1, 1));
    assert!(matches!(session.poll_output(), Some(Output::Send(_))));
    for seq in 2..=200 {
        session.handle(now, batch(seq, 3));
    }
    for seq in 1..=5 {
        session.handle(now, metrics(seq));
    }
    session.handle(now, Input::Send(Box::new(Frame::plain(ToServer::Ping(Ping::default())))));
    assert_eq!(session.poll_output(), None);
    assert!(matches!(next(&mut world), Some(ToServer::Ping(_))));
    let (mut lines, mut dropped) = (0, 0);
    let last = loop {
        match next(&mut world) {
            Some(ToServer::LogLines(batch)) => {
                lines += batch.lines.len() as u64;
                dropped += batch.dropped;
            }
            other => break other,
        }
    };
    assert_eq!((lines, dropped), (128 * 3, 71 * 3), "every line is there or counted");
    let Some(ToServer::Metrics(metrics)) = last else { panic!("{last:?}") };
    assert_eq!((metrics.seq, metrics.dropped_before), (5, 4));
}

#[test]
fn the_newest_state_takes_the_place_of_one_that_still_waits() {
    let start = Moment(0);
    let mut session = server::Session::new(start, server::Settings::default());
    let hello = World::new().hosts[0].greeting();
    session.handle(start, server::Input::Text(hello));
    let mut texts = Vec::new();
    let mut drain = |session: &mut server::Session, now: Moment| {
        let mut plans = Vec::new();
        while let Some(output) = session.poll_output() {
            match output {
                server::Output::Hello(_) => {
                    session.handle(now, server::Input::Admit(crate::control::welcome()))
                }
                server::Output::Plan(plan) => plans.push(plan),
                server::Output::Send(text) => texts.push(text),
                _ => {}
            }
        }
        plans
    };
    // hello_ack is on its way and stays there.
    let mut plans = drain(&mut session, start);
    for turn in 1..=3u64 {
        let now = start + SECOND * u32::try_from(turn).unwrap();
        let above = plans.pop().unwrap().above;
        let mut state = DesiredState::empty("epoch-1", above + 1);
        state.gc.keep_releases = 10 + u32::try_from(turn).unwrap();
        session.handle(now, server::Input::Desired(Box::new(state)));
        session.handle(now, server::Input::Changed);
        plans = drain(&mut session, now);
    }
    session.handle(start + SECOND * 4, server::Input::Sent);
    drain(&mut session, start + SECOND * 4);
    assert_eq!(texts.len(), 2);
    let Frame { body: ToAgent::DesiredState(state), .. } = Frame::decode(&texts[1]).unwrap() else {
        panic!()
    };
    assert_eq!((state.generation, state.gc.keep_releases), (3, 13));
}

#[test]
fn req_11_a_longer_message_closes_the_connection_with_1009_on_both_sides() {
    let long = format!("{{\"type\":\"ping\",\"data\":\"{}\"}}", "x".repeat(MAX_MESSAGE));
    for to_server in [true, false] {
        let mut world = World::connected();
        world.inject(0, to_server, &long);
        world.run_for(SECOND / 10);
        let closed = |output: &server::Output| {
            matches!(output, server::Output::Close { code: CloseCode::TooLarge, .. })
        };
        assert_eq!(world.control.outputs.iter().any(closed), to_server);
        assert!(!world.hosts[0].session.is_online());
        world.settle();
    }
}

#[test]
fn req_11_a_state_that_no_message_can_hold_is_not_sent() {
    let mut world = World::connected();
    let now = world.now;
    world.run_for(SECOND);
    world.control.with_current(now, server::Input::Changed);
    let mut state = DesiredState::empty("epoch-1", 90);
    state.dns.domain = "x".repeat(MAX_MESSAGE);
    world.control.expects_refusal = true;
    world.control.with_current(now, server::Input::Desired(Box::new(state)));
    world.run_for(SECOND);
    let refused = |output: &server::Output| matches!(output, server::Output::NotSent { .. });
    assert!(world.control.outputs.iter().any(refused));
    assert!(world.hosts[0].session.is_online());
}

#[test]
fn a_host_that_does_not_read_is_let_go() {
    let mut world = World::connected();
    world.run_for(SECOND);
    let query = LogsQuery {
        query_id: "qry_1".parse().unwrap(),
        replica_ids: Vec::new(),
        since_us: None,
        until_us: None,
        direction: Default::default(),
        limit: 1,
        contains: None,
        streams: Vec::new(),
    };
    let frame = Frame::plain(ToAgent::LogsQuery(query));
    world.control.holds_writes = true;
    for _ in 0..2 {
        let now = world.now;
        world.control.with_current(now, server::Input::Send(Box::new(frame.clone())));
        world.run_for(SECOND);
    }
    world.control.holds_writes = false;
    world.run_for(SECOND * 200);
    let slow = |output: &server::Output| {
        matches!(output, server::Output::Close { code: CloseCode::SlowConsumer, .. })
    };
    assert!(world.control.outputs.iter().any(slow));
    world.settle();
}
