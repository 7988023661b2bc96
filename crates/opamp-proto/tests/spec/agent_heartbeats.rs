//! Heartbeats on a WebSocket and polls over plain HTTP.

use opamp_proto::agent::{Input, Settings, Status, Timing, Transport};
use opamp_proto::wire::{self, AgentCapabilities as Bit, ServerToAgent};

use crate::agent_driver::*;

fn heartbeat_offer(seconds: u64) -> ServerToAgent {
    let opamp = wire::OpAmpConnectionSettings { heartbeat_interval_seconds: seconds, ..Default::default() };
    let connection_settings = wire::ConnectionSettingsOffers { opamp: Some(opamp), ..Default::default() };
    ServerToAgent { connection_settings: Some(connection_settings), ..answer() }
}

#[test]
fn hb_2_hb_3_hb_8_hb_16_a_heartbeat_goes_out_every_30_seconds() {
    let mut agent = Agent::ws_online();
    let outputs = agent.advance(secs(95));
    assert_eq!(reports(&outputs), [bare(1), bare(2), bare(3)]);
}

#[test]
fn hb_4_the_agents_own_interval_counts_without_an_offer() {
    let timing = Timing { heartbeat: secs(7), ..Timing::default() };
    let mut agent = Agent::online(Settings { timing, ..settings(Transport::WebSocket) });
    assert_eq!(reports(&agent.advance(secs(15))), [bare(1), bare(2)]);
}

#[test]
fn hb_6_an_offered_interval_counts_at_once() {
    let mut agent = Agent::ws_online();
    agent.receive(&heartbeat_offer(5));
    assert_eq!(reports(&agent.advance(secs(16))).len(), 3);
}

#[test]
fn hb_7_an_offered_0_switches_heartbeats_off_and_another_offer_on_again() {
    let mut agent = Agent::ws_online();
    agent.receive(&heartbeat_offer(0));
    assert_eq!(agent.advance(secs(10_000)), []);
    agent.receive(&heartbeat_offer(30));
    assert_eq!(report(&agent.advance(secs(0))), bare(1));
}

#[test]
fn hb_11_hb_12_the_interval_counts_from_the_last_message_of_any_kind() {
    let mut agent = Agent::ws_online();
    agent.advance(secs(20));
    agent.set(Status::Health(health(false)));
    assert_eq!(agent.advance(secs(29)), []);
    assert_eq!(reports(&agent.advance(secs(1))), [bare(2)]);
}

#[test]
fn hb_1_without_reports_heartbeat_no_heartbeat_is_sent_and_no_offer_starts_one() {
    let capabilities = all_capabilities().without(Bit::ReportsHeartbeat);
    let mut agent = Agent::online(Settings { capabilities, ..settings(Transport::WebSocket) });
    agent.receive(&heartbeat_offer(5));
    assert_eq!(agent.advance(secs(10_000)), []);
}

#[test]
fn http_6_http_7_an_agent_with_nothing_to_say_polls_every_30_seconds() {
    let mut agent = Agent::http_online();
    assert_eq!(agent.advance(secs(29)), []);
    assert_eq!(reports(&agent.advance(secs(1))), [bare(1)]);
}

#[test]
fn http_8_the_polling_interval_can_be_set() {
    let timing = Timing { poll: secs(3), ..Timing::default() };
    let mut agent = Agent::online(Settings { timing, ..settings(Transport::Http) });
    assert_eq!(reports(&agent.advance(secs(3))), [bare(1)]);
}

#[test]
fn http_9_hb_9_the_offered_heartbeat_is_the_polling_interval() {
    let mut agent = Agent::http_online();
    agent.receive(&heartbeat_offer(300));
    agent.advance(secs(30));
    let mut agent = Agent::online(settings(Transport::Http));
    agent.advance(secs(30));
    agent.receive(&heartbeat_offer(300));
    assert_eq!(agent.advance(secs(299)), []);
    assert_eq!(reports(&agent.advance(secs(1))), [bare(2)]);
}

#[test]
fn http_6_an_offered_0_does_not_stop_polling() {
    let mut agent = Agent::new(settings(Transport::Http));
    agent.input(Input::Start);
    agent.receive(&heartbeat_offer(0));
    assert_eq!(reports(&agent.advance(secs(30))), [bare(1)]);
}

#[test]
fn http_12_while_a_request_is_unanswered_no_other_is_sent() {
    let mut agent = Agent::http_online();
    agent.advance(secs(30));
    let mut outputs = agent.set(Status::Health(health(false)));
    outputs.extend(agent.advance(secs(29)));
    assert_eq!(reports(&outputs), []);
    // HTTP-13: but right after the answer.
    let outputs = agent.receive(&answer());
    assert_eq!(report(&outputs), with(2, |message| message.health = Some(health(false))));
}

#[test]
fn http_13_a_request_follows_an_answer_at_once_when_there_is_something_to_say() {
    let mut agent = Agent::new(settings(Transport::Http));
    agent.input(Input::Start);
    agent.set(Status::Health(health(false)));
    let outputs = agent.receive(&answer());
    assert_eq!(report(&outputs), with(1, |message| message.health = Some(health(false))));
}

#[test]
fn throttle_9_no_heartbeat_is_sent_without_a_connection() {
    let mut agent = Agent::ws_online();
    agent.receive(&unavailable(secs(3600)));
    agent.fail(broken());
    assert_eq!(reports(&agent.advance(secs(3500))), []);
}
