//! Remote configuration: what is applied, what is reported, and what is not done twice.

use std::time::Duration;

use bytes::Bytes;
use opamp_proto::agent::{ConfigOutcome, Event, Input, Output, Saved, SavedConfig, Settings, Transport};
use opamp_proto::wire::{
    self, AgentCapabilities as Bit, RemoteConfigStatus, RemoteConfigStatuses, ServerToAgent,
};

use crate::agent_driver::*;

fn status_of(hash: &'static [u8], status: RemoteConfigStatuses, error: &str) -> RemoteConfigStatus {
    RemoteConfigStatus {
        last_remote_config_hash: Bytes::from_static(hash),
        status: status.into(),
        error_message: error.to_owned(),
    }
}

fn apply(hash: &'static [u8], body: &str) -> Output {
    Output::ApplyConfig { hash: Bytes::from_static(hash), config: config(body) }
}

fn kept(hash: &'static [u8], status: RemoteConfigStatuses, error: &str, interruptions: u32) -> Saved {
    let config =
        SavedConfig { hash: Bytes::from_static(hash), status, error: error.to_owned(), interruptions };
    Saved { instance_uid: uid(), remote_config: Some(config) }
}

#[test]
fn rcfg_4_rcfg_6_an_offer_is_stored_then_applied_and_reported_as_applying() {
    let mut agent = Agent::ws_online();
    let outputs = agent.receive(&offer(b"h1", "a"));
    let status = status_of(b"h1", RemoteConfigStatuses::Applying, "");
    let persisted = Output::Persist(kept(b"h1", RemoteConfigStatuses::Applying, "", 0));
    assert_eq!(outputs[..2], [persisted, apply(b"h1", "a")]);
    assert_eq!(report(&outputs), with(1, |message| message.remote_config_status = Some(status)));
}

#[test]
fn rcfg_3_cfg_8_success_is_reported_as_applied_with_the_new_effective_config() {
    let mut agent = Agent::http_online();
    agent.receive(&offer(b"h1", "a"));
    agent.set(opamp_proto::agent::Status::EffectiveConfig(config("a")));
    agent.applied(b"h1", ConfigOutcome::Applied);
    let outputs = agent.receive(&answer());
    let expected = with(2, |message| {
        message.effective_config = Some(wire::EffectiveConfig { config_map: Some(config("a")) });
        message.remote_config_status = Some(status_of(b"h1", RemoteConfigStatuses::Applied, ""));
    });
    assert_eq!(report(&outputs), expected);
}

#[test]
fn rcfg_5_rcfg_9_c18_a_failure_has_a_text_and_a_later_success_has_none() {
    let mut agent = Agent::ws_online();
    agent.receive(&offer(b"h1", "a"));
    let outputs = agent.applied(b"h1", ConfigOutcome::Failed("no such pipeline".to_owned()));
    let failed = status_of(b"h1", RemoteConfigStatuses::Failed, "no such pipeline");
    assert_eq!(report(&outputs).remote_config_status, Some(failed));
    let outputs = agent.receive(&offer(b"h2", "b"));
    let applying = status_of(b"h2", RemoteConfigStatuses::Applying, "");
    assert_eq!(report(&outputs).remote_config_status, Some(applying));
    let outputs = agent.applied(b"h2", ConfigOutcome::Applied);
    let applied = status_of(b"h2", RemoteConfigStatuses::Applied, "");
    assert_eq!(report(&outputs).remote_config_status, Some(applied));
}

#[test]
fn stat_12_the_same_offer_again_is_neither_applied_nor_reported_whatever_became_of_it() {
    for outcome in [None, Some(ConfigOutcome::Applied), Some(ConfigOutcome::Failed("x".to_owned()))] {
        let mut agent = Agent::ws_online();
        agent.receive(&offer(b"h1", "a"));
        if let Some(outcome) = outcome {
            agent.applied(b"h1", outcome);
        }
        for _ in 0..5 {
            assert_eq!(agent.receive(&offer(b"h1", "a")), []);
        }
    }
}

#[test]
fn a_server_that_offers_what_the_agent_has_is_told_so_with_the_next_heartbeat() {
    let mut agent = Agent::ws_online();
    agent.receive(&offer(b"h1", "a"));
    agent.applied(b"h1", ConfigOutcome::Applied);
    agent.receive(&answer());
    agent.receive(&offer(b"h1", "a"));
    let applied = status_of(b"h1", RemoteConfigStatuses::Applied, "");
    let reminder = report(&agent.advance(Duration::from_secs(30)));
    assert_eq!(reminder.remote_config_status, Some(applied));
    agent.receive(&answer());
    assert_eq!(
        report(&agent.advance(Duration::from_secs(30))).remote_config_status,
        None,
        "once for each such offer"
    );
}

#[test]
fn the_same_outcome_twice_is_reported_once() {
    let mut agent = Agent::ws_online();
    agent.receive(&offer(b"h1", "a"));
    agent.applied(b"h1", ConfigOutcome::Applied);
    assert_eq!(agent.applied(b"h1", ConfigOutcome::Applied), []);
}

#[test]
fn the_outcome_of_a_superseded_offer_is_not_reported() {
    let mut agent = Agent::ws_online();
    agent.receive(&offer(b"h1", "a"));
    agent.receive(&offer(b"h2", "b"));
    assert_eq!(agent.applied(b"h1", ConfigOutcome::Applied), []);
}

#[test]
fn cfg_2_cap_6_an_offer_to_an_agent_that_does_not_accept_it_is_left_out() {
    let capabilities = all_capabilities().without(Bit::AcceptsRemoteConfig);
    let mut agent = Agent::online(Settings { capabilities, ..settings(Transport::WebSocket) });
    let outputs = agent.receive(&offer(b"h1", "a"));
    assert!(matches!(outputs[..], [Output::Event(Event::Ignored { .. })]), "{outputs:?}");
}

#[test]
fn cap_18_without_reports_remote_config_an_offer_is_applied_and_not_reported() {
    let capabilities = all_capabilities().without(Bit::ReportsRemoteConfig);
    let mut agent = Agent::online(Settings { capabilities, ..settings(Transport::WebSocket) });
    let outputs = agent.receive(&offer(b"h1", "a"));
    assert!(outputs.contains(&apply(b"h1", "a")));
    assert_eq!(reports(&outputs), []);
}

#[test]
fn c29_an_offer_without_a_config_or_with_files_without_a_body_does_no_harm() {
    let mut agent = Agent::ws_online();
    let nothing = wire::AgentRemoteConfig { config: None, config_hash: Bytes::from_static(b"h1") };
    let outputs = agent.receive(&ServerToAgent { remote_config: Some(nothing), ..answer() });
    let status = report(&outputs).remote_config_status.unwrap();
    assert_eq!((status.status, status.last_remote_config_hash), (3, Bytes::from_static(b"h1")));
    assert!(!status.error_message.is_empty());

    let empty = wire::AgentRemoteConfig::default();
    agent.receive(&ServerToAgent { remote_config: Some(empty), ..answer() });

    let files = [("a".to_owned(), wire::AgentConfigFile::default())].into();
    let config = wire::AgentConfigMap { config_map: files };
    let bodiless =
        wire::AgentRemoteConfig { config: Some(config.clone()), config_hash: Bytes::from_static(b"h2") };
    let outputs = agent.receive(&ServerToAgent { remote_config: Some(bodiless), ..answer() });
    assert!(outputs.contains(&Output::ApplyConfig { hash: Bytes::from_static(b"h2"), config }));
}

#[test]
fn offers_without_a_hash_are_told_apart_by_their_content() {
    let mut agent = Agent::ws_online();
    assert!(agent.receive(&offer(b"", "a")).contains(&apply(b"", "a")));
    assert_eq!(agent.receive(&offer(b"", "a")), []);
    assert!(agent.receive(&offer(b"", "b")).contains(&apply(b"", "b")));
}

#[test]
fn v10_a_restarted_agent_reports_what_became_of_its_last_configuration() {
    for (status, error) in [(RemoteConfigStatuses::Applied, ""), (RemoteConfigStatuses::Failed, "no")] {
        let saved = Some(kept(b"h1", status, error, 0));
        let mut agent = Agent::new(Settings { saved, ..settings(Transport::Http) });
        let outputs = agent.input(Input::Start);
        assert_eq!(report(&outputs).remote_config_status, Some(status_of(b"h1", status, error)));
        assert_eq!(agent.receive(&offer(b"h1", "a")).len(), 1, "only the event that it is connected");
    }
}

#[test]
fn an_agent_that_died_while_applying_asks_once_more_and_then_reports_failed() {
    let first = kept(b"h1", RemoteConfigStatuses::Applying, "", 0);
    let mut agent = Agent::new(Settings { saved: Some(first), ..settings(Transport::Http) });
    let outputs = agent.input(Input::Start);
    assert_eq!(report(&outputs).remote_config_status, Some(RemoteConfigStatus::default()));
    let outputs = agent.receive(&offer(b"h1", "a"));
    assert!(outputs.contains(&apply(b"h1", "a")));
    let second = saved(&outputs).remove(0);
    assert_eq!(second, kept(b"h1", RemoteConfigStatuses::Applying, "", 1));

    let mut agent = Agent::new(Settings { saved: Some(second), ..settings(Transport::Http) });
    let outputs = agent.input(Input::Start);
    let status = report(&outputs).remote_config_status.unwrap();
    assert_eq!(status.status, RemoteConfigStatuses::Failed as i32);
    assert!(status.error_message.contains("ended 2 times"), "{}", status.error_message);
}

#[test]
fn a_text_that_is_too_long_for_an_operator_is_cut_between_characters() {
    let mut agent = Agent::ws_online();
    agent.receive(&offer(b"h1", "a"));
    let outputs = agent.applied(b"h1", ConfigOutcome::Failed("ä".repeat(10_000)));
    let text = report(&outputs).remote_config_status.unwrap().error_message;
    assert_eq!(text, "ä".repeat(2048));
}
