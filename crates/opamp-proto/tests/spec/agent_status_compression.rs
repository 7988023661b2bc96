//! The chapter on status compression, seen from the server: what is kept, what is missing, when it is asked for.

use opamp_proto::server::{Received, ServerSession, SessionSettings, Transport};
use opamp_proto::wire::{self, AgentCapabilities as Bit, Message};
use opamp_proto::{AgentCapabilities, InstanceUid, Moment, Part, PartSet, RawAgentToServer};

use crate::reports::{Report, uid};

struct Server {
    session: ServerSession,
    settings: SessionSettings,
}

impl Server {
    fn over(transport: Transport) -> Self {
        Self { session: ServerSession::new(uid(1), transport), settings: SessionSettings::default() }
    }

    fn receive(&mut self, report: &Report) -> Received {
        let bytes = report.encode();
        let raw = RawAgentToServer::decode(&bytes).expect("a report of ours");
        self.session.receive(&raw).expect("a well-formed report")
    }

    /// Receives and answers; whether the answer asks for the full state.
    fn asks(&mut self, at_seconds: u64, report: &Report) -> bool {
        self.receive(report);
        let now = Moment(at_seconds * 1000);
        self.session.poll_answer(now, &self.settings).expect("every message is answered").full_state
    }
}

#[test]
fn comp_1_an_omitted_part_keeps_its_last_value() {
    let mut server = Server::over(Transport::WebSocket);
    let full = Report::full(0);
    let first = server.receive(&full);
    assert_eq!(
        first.changed,
        [Part::Description, Part::Health, Part::EffectiveConfig].into_iter().collect::<PartSet>()
    );
    let heartbeat = server.receive(&Report::bare(1));
    assert_eq!(heartbeat, Received::default());
    assert_eq!(
        server.session.part(Part::Health).and_then(|kept| kept.whole()),
        Some(&full.health_bytes()[..])
    );
    assert_eq!(
        server.session.part(Part::Description).and_then(|kept| kept.whole()),
        Some(&full.description_bytes()[..])
    );
}

#[test]
fn s22_absence_is_no_change_whatever_the_capabilities_say() {
    let mut server = Server::over(Transport::WebSocket);
    server.receive(&Report::full(0));
    let without_health = AgentCapabilities::default().with(Bit::ReportsStatus);
    server.receive(&Report::bare(1).capabilities(without_health));
    assert!(server.session.part(Part::Health).is_some(), "health was not withdrawn");
    server.receive(&Report::bare(2).capabilities(without_health.with(Bit::ReportsHealth)));
    assert!(server.session.part(Part::Health).is_some());
}

#[test]
fn s4_full_state_is_asked_for_on_a_gap_and_only_once() {
    let mut server = Server::over(Transport::Http);
    assert!(!server.asks(0, &Report::full(0)));
    assert!(!server.asks(1, &Report::bare(1)));
    assert!(!server.asks(2, &Report::bare(2)));
    assert!(server.asks(3, &Report::bare(4)), "seq_2 seq_3 seq_4: 3 is missing");
    assert!(!server.asks(4, &Report::full(5)), "the full report came");
    assert!(!server.asks(5, &Report::bare(6)));
}

#[test]
fn seq_4_a_websocket_agent_that_does_not_answer_is_asked_again_after_a_pause() {
    let mut server = Server::over(Transport::WebSocket);
    assert!(server.asks(0, &Report::bare(2)), "an unknown agent without a description");
    assert!(!server.asks(10, &Report::bare(3)), "the full report may be on its way");
    assert!(server.asks(30, &Report::bare(4)));
    assert!(!server.asks(31, &Report::full(5)));
    assert!(!server.asks(90, &Report::bare(6)));
}

#[test]
fn a_poller_that_needs_a_moment_is_not_asked_at_each_poll() {
    let mut server = Server::over(Transport::Http);
    assert!(server.asks(0, &Report::bare(2)));
    for second in 1..5 {
        assert!(!server.asks(second, &Report::bare(2 + second)), "after {second} s");
    }
    assert!(server.asks(5, &Report::bare(7)));
}

#[test]
fn seq_2_a_restarted_agent_that_reports_everything_is_not_asked() {
    let mut server = Server::over(Transport::WebSocket);
    server.asks(0, &Report::full(0));
    server.asks(1, &Report::bare(1));
    assert!(!server.asks(2, &Report::full(0)), "it started anew and left nothing out");
}

#[test]
fn seq_3_an_unknown_agent_that_promises_health_and_sends_none_is_asked() {
    let mut server = Server::over(Transport::WebSocket);
    assert!(server.asks(0, &Report::full(0).without_health()));
    let mut honest = Server::over(Transport::WebSocket);
    let modest = AgentCapabilities::default().with(Bit::ReportsStatus);
    let report = Report::full(0).without_health().without_effective_config().capabilities(modest);
    assert!(!honest.asks(0, &report), "what is not promised is not missed");
}

#[test]
fn retx_5_a_repeated_message_is_answered_and_processed_once() {
    let mut server = Server::over(Transport::WebSocket);
    server.receive(&Report::full(7));
    assert!(server.session.poll_answer(Moment(0), &server.settings).is_some());
    let again = server.receive(&Report::full(7));
    assert!(again.repeated);
    assert!(!again.is_news());
    let answer = server.session.poll_answer(Moment(1), &server.settings).expect("each copy is answered");
    assert!(!answer.full_state);
}

#[test]
fn seq_2_the_same_number_with_other_content_is_a_gap() {
    let mut server = Server::over(Transport::WebSocket);
    server.asks(0, &Report::full(3));
    let received = server.receive(&Report::full(3).unhealthy("disk full").without_description());
    assert!(!received.repeated);
    let answer = server.session.poll_answer(Moment(1), &server.settings).expect("an answer");
    assert!(answer.full_state);
}

#[test]
fn http_6_a_message_with_only_instance_uid_leaves_number_and_capabilities_alone() {
    let mut server = Server::over(Transport::Http);
    server.asks(0, &Report::full(41));
    let only_uid = Report::bare(0).capabilities(AgentCapabilities::default());
    assert!(!server.asks(30, &only_uid));
    assert_eq!(server.session.sequence_num(), Some(41));
    assert!(server.session.capabilities().has(Bit::ReportsHealth));
    assert!(!server.asks(60, &Report::bare(42)), "the count goes on where it was");
}

#[test]
fn cap_5_changed_capabilities_are_obeyed_and_reported() {
    let mut server = Server::over(Transport::WebSocket);
    server.receive(&Report::full(0));
    let more = AgentCapabilities::from_bits(0xffff | 1 << 40);
    assert!(server.receive(&Report::bare(1).capabilities(more)).capabilities_changed);
    assert_eq!(server.session.capabilities(), more, "s19: unknown bits are kept");
    assert!(!server.receive(&Report::bare(2).capabilities(more)).capabilities_changed);
}

#[test]
fn cap_2_an_agent_that_says_nothing_is_taken_to_report_status_only() {
    let mut server = Server::over(Transport::WebSocket);
    server.receive(&Report::full(0).capabilities(AgentCapabilities::default()));
    assert_eq!(server.session.capabilities(), AgentCapabilities::default().with(Bit::ReportsStatus));
}

#[test]
fn s7_a_malformed_part_changes_nothing() {
    let mut server = Server::over(Transport::WebSocket);
    server.asks(0, &Report::full(0));
    let mut bytes = Report::bare(1).encode();
    bytes.extend([0x2a, 2, 0x0a, 0x7f]); // health whose first field is longer than the message
    let raw = RawAgentToServer::decode(&bytes).expect("the outer message is well formed");
    let refused = server.session.receive(&raw).expect_err("health is malformed");
    assert!(refused.to_string().starts_with("health is malformed"), "{refused}");
    assert_eq!(server.session.sequence_num(), Some(0));
    assert!(!server.asks(1, &Report::bare(1)), "the number of the refused message was not taken");
}

#[test]
fn scap_3_capabilities_come_first_on_each_connection_and_with_every_http_answer() {
    let mut server = Server::over(Transport::WebSocket);
    let capabilities = |server: &mut Server, number| {
        server.receive(&Report::bare(number));
        server.session.poll_answer(Moment(0), &server.settings).expect("an answer").capabilities.bits()
    };
    assert_eq!(capabilities(&mut server, 0), 7, "s15 s31 scap_5 scap_6 scap_7 scap_8");
    assert_eq!(capabilities(&mut server, 1), 0, "scap_4");
    server.session.attach(Moment(0), Transport::WebSocket);
    assert_eq!(capabilities(&mut server, 2), 7, "s15: also after a reconnect");
    server.session.attach(Moment(0), Transport::Http);
    assert_eq!(capabilities(&mut server, 3), 7);
    assert_eq!(capabilities(&mut server, 4), 7);
}

#[test]
fn scap_1_undefined_bits_are_never_announced() {
    let capabilities = opamp_proto::ServerCapabilities::from_bits(1 << 50 | 2);
    let settings = SessionSettings { capabilities, ..SessionSettings::default() };
    let mut session = ServerSession::new(uid(1), Transport::WebSocket);
    let bytes = Report::full(0).encode();
    session.receive(&RawAgentToServer::decode(&bytes).expect("a report")).expect("well formed");
    assert_eq!(session.poll_answer(Moment(0), &settings).expect("an answer").capabilities.bits(), 3);
}

#[test]
fn s12_nothing_is_sent_without_a_reason() {
    let mut server = Server::over(Transport::WebSocket);
    server.asks(0, &Report::full(0));
    for second in 1..600 {
        assert_eq!(server.session.poll_answer(Moment(second * 1000), &server.settings), None);
    }
    assert_eq!(server.session.poll_timeout(), None);
}

#[test]
fn s2a_2_and_stat_9_the_answer_to_a_heartbeat_holds_instance_uid_alone() {
    let mut server = Server::over(Transport::WebSocket);
    server.asks(0, &Report::full(0));
    server.receive(&Report::bare(1));
    let answer = server.session.poll_answer(Moment(1), &server.settings).expect("an answer");
    let decoded = wire::ServerToAgent::decode(answer.encode(false)).expect("a ServerToAgent");
    assert_eq!(decoded, wire::ServerToAgent::acknowledge(uid(1)), "uid_3 uid_12");
}

#[test]
fn uid_11_the_new_instance_uid_is_repeated_until_it_is_used() {
    let mut server = Server::over(Transport::WebSocket);
    assert!(server.receive(&Report::full(0).wants_uid()).wants_uid);
    server.session.rename(uid(2));
    for number in 1..3 {
        let answer = server.session.poll_answer(Moment(0), &server.settings).expect("an answer");
        assert_eq!((answer.uid, answer.renamed_to), (uid(1), Some(uid(2))), "uid_12 and the new value");
        let decoded = wire::ServerToAgent::decode(answer.encode(false)).expect("a ServerToAgent");
        let new = decoded.agent_identification.expect("agent_identification").new_instance_uid;
        assert_eq!(InstanceUid::try_from_slice(&new), Ok(uid(2)), "uid_16");
        server.receive(&Report::bare(number).wants_uid());
    }
}

#[test]
fn dup_4_two_counters_side_by_side_are_two_agents() {
    let mut server = Server::over(Transport::Http);
    for number in [100, 7, 101, 8, 102] {
        assert!(!server.receive(&Report::bare(number)).interleaved, "at {number}");
    }
    assert!(server.receive(&Report::bare(9)).interleaved);
    server.session.settle();
    assert!(!server.receive(&Report::bare(103)).interleaved);
}

#[test]
fn dup_4_a_restart_and_a_lost_message_are_one_agent() {
    let mut server = Server::over(Transport::Http);
    for number in [0, 1, 2, 4, 5, 6, 0, 1, 2, 3, 0, 1, 9, 10] {
        assert!(!server.receive(&Report::bare(number)).interleaved, "at {number}");
    }
}

#[test]
fn close_1_a_leaving_agent_is_answered_and_asked_for_nothing() {
    let mut server = Server::over(Transport::WebSocket);
    server.asks(0, &Report::full(0));
    let received = server.receive(&Report::bare(9).leaving());
    assert!(received.disconnected);
    let answer = server.session.poll_answer(Moment(1), &server.settings).expect("an answer");
    assert!(!answer.full_state, "there is nobody to ask any more");
}

#[test]
fn kept_parts_that_are_bulky_take_no_room() {
    let mut server = Server::over(Transport::WebSocket);
    let mut report = Report::full(0);
    report.set_effective_config("x".repeat(100_000));
    server.receive(&report);
    assert_eq!(server.session.part(Part::EffectiveConfig).and_then(|kept| kept.whole()), None);
    assert_eq!(server.receive(&report.numbered(1)).changed, PartSet::EMPTY, "and it is still recognised");
    report.set_effective_config("y".repeat(100_000));
    assert!(server.receive(&report.numbered(2)).changed.contains(Part::EffectiveConfig));
    assert!(size_of::<ServerSession>() <= 400, "{} bytes", size_of::<ServerSession>());
}
