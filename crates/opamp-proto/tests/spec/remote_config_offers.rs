//! Offers of remote configuration: to whom, when, and how often at most.

use std::sync::Arc;

use opamp_proto::server::offer::REPETITIONS;
use opamp_proto::server::{ConfigOffer, OfferState, ServerSession, SessionSettings, Transport};
use opamp_proto::wire::{self, AgentCapabilities as Bit, Message, RemoteConfigStatuses as Status};
use opamp_proto::{AgentCapabilities, Moment, RawAgentToServer};

use crate::reports::{Report, uid};

fn offer(body: &'static str) -> Arc<ConfigOffer> {
    let file = wire::AgentConfigFile { body: body.into(), ..Default::default() };
    ConfigOffer::new(wire::AgentConfigMap { config_map: [(String::new(), file)].into() })
}

struct Server {
    session: ServerSession,
    settings: SessionSettings,
    number: u64,
}

impl Server {
    fn over(transport: Transport) -> Self {
        let session = ServerSession::new(uid(1), transport);
        let mut server = Self { session, settings: SessionSettings::default(), number: 0 };
        server.receive(&Report::full(0));
        server.send(0);
        server
    }

    fn receive(&mut self, report: &Report) {
        let bytes = report.numbered(self.number).encode();
        self.number += 1;
        let raw = RawAgentToServer::decode(&bytes).expect("a report of ours");
        self.session.receive(&raw).expect("a well-formed report");
    }

    /// What is sent at this second: whether there is a message, and whether it offers a configuration.
    fn send(&mut self, second: u64) -> Option<bool> {
        let answer = self.session.poll_answer(Moment(second * 1000), &self.settings)?;
        let message = wire::ServerToAgent::decode(answer.encode(false)).expect("a ServerToAgent");
        Some(message.remote_config.is_some())
    }
}

#[test]
fn cfg_10_an_offer_is_pushed_at_once_and_whole() {
    let mut server = Server::over(Transport::WebSocket);
    let offer = offer("a: 1");
    server.session.offer_config(Some(offer.clone()));
    let answer = server.session.poll_answer(Moment(1000), &server.settings).expect("a push");
    let message = wire::ServerToAgent::decode(answer.encode(false)).expect("a ServerToAgent");
    let config = message.remote_config.expect("s3: with its content");
    assert_eq!(&config.config_hash, offer.hash());
    assert_eq!(config.config.expect("files").config_map[""].body, "a: 1");
    assert_eq!(server.send(2), None, "and only once");
}

#[test]
fn http_11_over_http_an_offer_waits_for_the_next_request() {
    let mut server = Server::over(Transport::Http);
    server.session.offer_config(Some(offer("a: 1")));
    assert_eq!(server.send(1), None);
    assert_eq!(server.session.poll_timeout(), None);
    server.receive(&Report::bare(0));
    assert_eq!(server.send(2), Some(true));
}

#[test]
fn cfg_3_and_s30_an_agent_without_the_capability_is_offered_nothing() {
    let mut server = Server::over(Transport::WebSocket);
    server.session.offer_config(Some(offer("a: 1")));
    let modest = AgentCapabilities::default().with(Bit::ReportsStatus);
    server.receive(&Report::bare(0).capabilities(modest));
    assert_eq!(server.send(1), Some(false), "cap_5 and interop_2: from the message on that says so");
    let able = modest.with(Bit::AcceptsRemoteConfig);
    server.receive(&Report::bare(0).capabilities(able));
    assert_eq!(server.send(2), Some(true), "and is offered it when it can");
}

#[test]
fn rcfg_8_another_hash_is_answered_with_the_offer() {
    let mut server = Server::over(Transport::WebSocket);
    server.receive(&Report::bare(0).config_status(b"old", Status::Applied));
    server.send(1);
    server.session.offer_config(Some(offer("a: 1")));
    assert_eq!(server.send(2), Some(true));
}

#[test]
fn rcfg_7_a_hash_that_the_agent_holds_is_not_offered() {
    let offer = offer("a: 1");
    for status in [Status::Applied, Status::Applying, Status::Failed] {
        let mut server = Server::over(Transport::WebSocket);
        server.receive(&Report::bare(0).config_status(offer.hash(), status));
        server.send(1);
        server.session.offer_config(Some(offer.clone()));
        assert_eq!(server.send(2), None, "{status:?}");
        server.receive(&Report::bare(0));
        assert_eq!(server.send(3), Some(false), "{status:?}");
    }
}

#[test]
fn s40_a_failed_hash_is_not_offered_again_while_it_is_reported() {
    let mut server = Server::over(Transport::WebSocket);
    let offer = offer("a: 1");
    server.session.offer_config(Some(offer.clone()));
    assert_eq!(server.send(1), Some(true));
    for second in 2..4000 {
        server.receive(&Report::bare(0).config_status(offer.hash(), Status::Failed));
        assert_eq!(server.send(second), Some(false));
    }
    assert!(server.session.config_failed());
}

/// The seconds at which an offer leaves within a day, asked each second.
fn offered_at(server: &mut Server, mut each_second: impl FnMut(&mut Server)) -> Vec<u64> {
    (1..86_400)
        .filter(|second| {
            each_second(server);
            server.send(*second) == Some(true)
        })
        .collect()
}

#[test]
fn s40_an_unanswered_offer_is_repeated_five_times_with_growing_pauses() {
    let mut server = Server::over(Transport::WebSocket);
    server.session.offer_config(Some(offer("a: 1")));
    let at = offered_at(&mut server, |_| {});
    assert_eq!(at, [1, 61, 181, 421, 901, 1861]);
    assert_eq!(at.len(), usize::from(REPETITIONS) + 1);
    assert_eq!(server.session.offered().map(|(_, state)| state), Some(OfferState::GivenUp));
    assert_eq!(server.session.poll_timeout(), None, "nobody is woken for nothing");
    server.session.offer_config(Some(offer("a: 2")));
    assert_eq!(server.send(90_000), Some(true), "a new offer starts anew");
}

#[test]
fn rcfg_8_an_agent_that_falls_back_to_another_hash_is_offered_with_the_same_bound() {
    let mut server = Server::over(Transport::WebSocket);
    let offer = offer("a: 1");
    server.session.offer_config(Some(offer.clone()));
    // Each second the agent first says that it applies the offer, then that it runs the old one.
    let at = offered_at(&mut server, |server| {
        server.receive(&Report::bare(0).config_status(offer.hash(), Status::Applying));
        server.receive(&Report::bare(0).config_status(b"old", Status::Applied));
    });
    assert_eq!(at.len(), usize::from(REPETITIONS) + 1, "{at:?}");
    assert!(at.windows(2).all(|pair| pair[1] - pair[0] >= 60), "a status may be on its way: {at:?}");
}

#[test]
fn a_reconnect_repeats_an_unanswered_offer_at_once_and_counts_it() {
    let mut server = Server::over(Transport::WebSocket);
    server.session.offer_config(Some(offer("a: 1")));
    assert_eq!(server.send(1), Some(true));
    for second in 2..20 {
        server.session.attach(Moment(second * 1000), Transport::WebSocket);
        server.receive(&Report::full(0));
        let offered = server.send(second);
        assert_eq!(offered, Some(second <= 6), "at {second}");
    }
}

impl Server {
    /// The agent's next session, which has received nothing yet.
    fn next_session(&self, second: u64) -> Self {
        let mut session = ServerSession::new(uid(1), Transport::WebSocket);
        if let Some(carried) = self.session.carry_out() {
            session.carry_in(Moment(second * 1000), carried);
        }
        Self { session, settings: SessionSettings::default(), number: 0 }
    }

    fn come_back(&self, second: u64, report: &Report, offered: Arc<ConfigOffer>) -> Self {
        let mut server = self.next_session(second);
        server.receive(report);
        assert_eq!(server.session.offered(), None, "what was carried over rests until it is wanted");
        server.session.offer_config(Some(offered));
        server
    }
}

#[test]
fn an_agent_that_falls_over_at_each_offer_is_offered_it_six_times_an_hour() {
    let mut server = Server::over(Transport::WebSocket);
    server.session.offer_config(Some(offer("a: 1")));
    assert_eq!(server.send(1), Some(true));
    for second in 2..20 {
        server = server.come_back(second, &Report::full(0), offer("a: 1"));
        assert_eq!(server.send(second), Some(second <= 6), "at {second}");
    }
    assert_eq!(server.session.offered().map(|(_, state)| state), Some(OfferState::GivenUp));
    assert_eq!(server.session.poll_timeout(), None);
    server = server.come_back(3607, &Report::full(0), offer("a: 1"));
    assert_eq!(server.send(3607), Some(true), "an hour later it counts anew");
}

#[test]
fn what_an_agent_holds_is_not_offered_when_it_comes_back_and_what_it_lost_is() {
    let mut server = Server::over(Transport::WebSocket);
    let held = offer("a: 1");
    server.session.offer_config(Some(held.clone()));
    assert_eq!(server.send(1), Some(true));
    server.receive(&Report::bare(0).config_status(held.hash(), Status::Applied));
    server.send(2);
    let with_it = Report::full(0).config_status(held.hash(), Status::Applied);
    let mut settled = server.come_back(3, &with_it, held.clone());
    assert_eq!(settled.send(3), Some(false));
    assert_eq!(settled.session.offered().map(|(_, state)| state), Some(OfferState::Settled { times: 1 }));
    let mut lost = server.come_back(3, &Report::full(0), held);
    assert_eq!(lost.send(3), Some(true));
}

#[test]
fn another_offer_begins_its_own_count_when_the_agent_comes_back() {
    let mut server = Server::over(Transport::WebSocket);
    assert_eq!(server.session.carry_out(), None);
    server.session.offer_config(Some(offer("a: 1")));
    assert_eq!(server.session.carry_out(), None, "it was never sent");
    assert_eq!(server.send(1), Some(true));
    let mut server = server.come_back(2, &Report::full(0), offer("a: 2"));
    assert_eq!(server.send(2), Some(true));
    let state = server.session.offered().map(|(_, state)| state);
    assert_eq!(state, Some(OfferState::Sent { times: 1, next: Moment(62_000) }));
}

#[test]
fn retx_9_only_the_latest_offer_is_sent() {
    let mut server = Server::over(Transport::Http);
    server.session.offer_config(Some(offer("a: 1")));
    let last = offer("a: 2");
    server.session.offer_config(Some(last.clone()));
    server.receive(&Report::bare(0));
    let answer = server.session.poll_answer(Moment(1), &server.settings).expect("an answer");
    assert_eq!(answer.config.expect("an offer").hash(), last.hash());
}

#[test]
fn nothing_is_offered_any_more_when_the_offer_is_withdrawn() {
    let mut server = Server::over(Transport::WebSocket);
    server.session.offer_config(Some(offer("a: 1")));
    server.session.offer_config(None);
    server.receive(&Report::bare(0));
    assert_eq!(server.send(1), Some(false));
    assert_eq!(server.session.poll_timeout(), None);
}

#[test]
fn the_same_offer_again_changes_nothing() {
    let mut server = Server::over(Transport::WebSocket);
    server.session.offer_config(Some(offer("a: 1")));
    assert_eq!(server.send(1), Some(true));
    server.session.offer_config(Some(offer("a: 1")));
    assert_eq!(server.send(2), None);
}

#[test]
fn cap_5_an_agent_that_takes_no_offers_any_more_wakes_nobody() {
    let modest = AgentCapabilities::default().with(Bit::ReportsStatus);
    let turns: [fn(&mut Server, AgentCapabilities); 3] = [
        |server, modest| server.receive(&Report::bare(0).capabilities(modest)),
        |server, _| server.receive(&Report::bare(0).leaving()),
        |server, _| server.session.attach(Moment(100_000), Transport::WebSocket),
    ];
    for (index, turn) in turns.into_iter().enumerate() {
        let mut server = Server::over(Transport::WebSocket);
        server.session.offer_config(Some(offer("a: 1")));
        assert_eq!(server.send(1), Some(true));
        assert_eq!(server.session.poll_timeout(), Some(Moment(61_000)), "an unanswered offer is repeated");
        turn(&mut server, modest);
        server.send(100);
        assert_eq!(server.session.poll_timeout(), None, "turn {index}: it would be woken again and again");
    }
}

#[test]
fn s40_nothing_is_offered_while_an_agent_that_was_running_may_be_about_to_say_that_it_has_it() {
    let offer = offer("a: 1");
    let unknown = || {
        let session = ServerSession::new(uid(1), Transport::WebSocket);
        let mut server = Server { session, settings: SessionSettings::default(), number: 17 };
        server.session.offer_config(Some(offer.clone()));
        server.receive(&Report::bare(0));
        assert_eq!(server.send(0), Some(false), "it is asked for its full state first");
        assert_eq!(server.send(1), None);
        server
    };
    let mut applied = unknown();
    applied.receive(&Report::full(0).config_status(offer.hash(), Status::Applied));
    assert_eq!(applied.send(2), Some(false), "it has it");
    let mut silent = unknown();
    silent.receive(&Report::bare(0));
    assert_eq!(silent.send(30), Some(true), "who never answers is offered it all the same");
}
