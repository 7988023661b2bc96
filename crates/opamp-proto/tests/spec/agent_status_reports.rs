//! The first report, what later ones leave out, and the numbers they carry.

use opamp_proto::agent::{Event, Input, Output, Settings, Status, Transport};
use opamp_proto::wire::{self, AgentCapabilities as Bit, AgentToServer, ServerCapabilities as ServerBit};

use crate::agent_driver::*;

fn first_report(transport: Transport) -> (Agent, AgentToServer) {
    let mut agent = Agent::new(settings(transport));
    let started = agent.input(Input::Start);
    let outputs = match transport {
        Transport::WebSocket => agent.input(Input::Connected),
        Transport::Http => started,
    };
    let report = report(&outputs);
    (agent, report)
}

#[test]
fn stat_2_stat_4_estab_3_the_first_message_is_a_full_status_report() {
    for transport in [Transport::WebSocket, Transport::Http] {
        let (agent, report) = first_report(transport);
        let components = agent.session.part(opamp_proto::Part::AvailableComponents).unwrap();
        let expected = with(0, |message| {
            message.agent_description = Some(description("one"));
            message.health = Some(health(true));
            message.effective_config =
                Some(wire::EffectiveConfig { config_map: Some(config("running: true")) });
            message.package_statuses = Some(wire::PackageStatuses::default());
            message.custom_capabilities =
                Some(wire::CustomCapabilities { capabilities: vec!["com.example.custom/1".to_owned()] });
            message.available_components = Some(wire::Message::decode(components.as_ref()).unwrap());
            message.connection_settings_status = Some(wire::ConnectionSettingsStatus::default());
        });
        assert_eq!(report, expected);
    }
}

#[test]
fn estab_4_nothing_else_is_sent_before_the_first_answer() {
    let (mut agent, _) = first_report(Transport::WebSocket);
    let mut outputs = agent.set(Status::Health(health(false)));
    outputs.extend(agent.advance(secs(29)));
    assert_eq!(reports(&outputs), []);
    let outputs = agent.receive(&answer());
    assert_eq!(report(&outputs), with(1, |message| message.health = Some(health(false))));
}

#[test]
fn estab_4_without_a_first_answer_the_agent_leaves_and_tries_again() {
    let (mut agent, _) = first_report(Transport::WebSocket);
    let outputs = agent.advance(secs(30));
    assert_eq!(
        report(&outputs),
        with(1, |message| message.agent_disconnect = Some(wire::AgentDisconnect {}))
    );
    assert_eq!(outputs.last(), Some(&Output::Close));
    let outputs = agent.fail(broken());
    assert_eq!(connects(&outputs), 0, "a server that does not answer is given a pause");
    assert_eq!(connects(&agent.advance(secs(1))), 1);
}

#[test]
fn stat_3_comp_2_comp_4_a_change_is_sent_at_once_whole_and_alone() {
    for mut agent in [Agent::ws_online(), Agent::http_online()] {
        let outputs = agent.set(Status::Description(description("two")));
        let expected = with(1, |message| message.agent_description = Some(description("two")));
        assert_eq!(report(&outputs), expected);
    }
}

#[test]
fn comp_3_each_of_the_eight_parts_is_left_out_until_it_changes() {
    let changes = [
        Status::Description(description("two")),
        Status::Health(health(false)),
        Status::EffectiveConfig(config("running: false")),
        Status::PackageStatuses(wire::PackageStatuses {
            error_message: "x".to_owned(),
            ..Default::default()
        }),
        Status::CustomCapabilities(vec![]),
        Status::AvailableComponents(Default::default()),
        Status::ConnectionSettingsStatus(wire::ConnectionSettingsStatus { status: 1, ..Default::default() }),
    ];
    for change in changes {
        let mut agent = Agent::ws_online();
        let outputs = agent.set(change.clone());
        let sent = report(&outputs);
        let parts = [
            sent.agent_description.is_some(),
            sent.health.is_some(),
            sent.effective_config.is_some(),
            sent.remote_config_status.is_some(),
            sent.package_statuses.is_some(),
            sent.custom_capabilities.is_some(),
            sent.available_components.is_some(),
            sent.connection_settings_status.is_some(),
        ];
        assert_eq!(parts.iter().filter(|is_sent| **is_sent).count(), 1, "{change:?}");
        // The remote configuration's status is the eighth; it changes by an offer (agent_remote_config).
        assert_eq!(report(&agent.advance(secs(30))), bare(2));
    }
}

#[test]
fn a2s_2_health_2_eff_3_cfg_9_c23_a_status_that_did_not_change_sends_nothing() {
    for transport in [Transport::WebSocket, Transport::Http] {
        let mut agent = Agent::online(settings(transport));
        for status in full_status() {
            assert_eq!(agent.set(status), []);
        }
    }
}

#[test]
fn stat_12_a_change_and_its_undoing_while_offline_send_nothing_of_it() {
    let mut agent = Agent::http_online();
    agent.advance(secs(30));
    agent.set(Status::Health(health(false)));
    agent.set(Status::Health(health(true)));
    assert_eq!(reports(&agent.receive(&answer())), []);
}

#[test]
fn stat_1_stat_12_stat_13_an_answer_without_news_is_not_answered() {
    for transport in [Transport::WebSocket, Transport::Http] {
        let mut agent = Agent::online(settings(transport));
        for _ in 0..10 {
            assert_eq!(agent.receive(&answer()), []);
        }
    }
}

#[test]
fn seq_1_numbers_start_at_0_and_grow_by_1_over_requests_and_connections() {
    let mut agent = Agent::ws_online();
    let mut numbers = vec![];
    for round in 0..6 {
        let outputs = agent.set(Status::Health(health(round % 2 == 1)));
        numbers.extend(reports(&outputs).iter().map(|report| report.sequence_num));
        agent.advance(secs(20));
        assert_eq!(connects(&agent.fail(broken())), 1);
        let outputs = agent.input(Input::Connected);
        numbers.extend(reports(&outputs).iter().map(|report| report.sequence_num));
        agent.receive(&answer());
    }
    assert_eq!(numbers, (1..=12).collect::<Vec<u64>>());
}

#[test]
fn stat_5_c2_a_reconnect_repeats_only_what_the_server_may_not_have() {
    let mut agent = Agent::ws_online();
    agent.set(Status::Health(health(false)));
    agent.fail(broken());
    let outputs = agent.input(Input::Connected);
    // The broken connection may have lost the health, and the gap in numbers would show only to a good server.
    assert_eq!(report(&outputs), with(2, |message| message.health = Some(health(false))));
    agent.receive(&answer());
    agent.advance(secs(20));
    agent.fail(broken());
    let outputs = agent.input(Input::Connected);
    assert_eq!(report(&outputs), bare(3), "nothing is in doubt here");
}

#[test]
fn flag_2_c2_report_full_state_is_answered_with_everything_at_once() {
    for transport in [Transport::WebSocket, Transport::Http] {
        let (mut agent, mut first) = first_report(transport);
        agent.receive(&answer());
        if transport == Transport::WebSocket {
            agent.fail(broken());
            agent.input(Input::Connected);
        } else {
            agent.advance(secs(30));
        }
        let outputs = agent.receive(&report_full_state());
        first.sequence_num = 2;
        assert_eq!(report(&outputs), first);
        assert!(events(&outputs).contains(&Event::FullStateRequested));
        assert_eq!(reports(&agent.receive(&answer())), [], "once is enough");
    }
}

#[test]
fn components_2_components_7_components_travel_by_hash_until_the_server_asks() {
    let (mut agent, first) = first_report(Transport::WebSocket);
    let first = first.available_components.unwrap();
    assert!(first.components.is_empty());
    assert_eq!(first.hash.len(), 32);
    let flags = wire::ServerToAgentFlags::ReportAvailableComponents as u64;
    let outputs = agent.receive(&wire::ServerToAgent { flags, ..answer() });
    let components = [("receiver".to_owned(), wire::ComponentDetails::default())].into();
    let full = wire::AvailableComponents { components, hash: first.hash };
    assert_eq!(report(&outputs), with(1, |message| message.available_components = Some(full)));
    assert_eq!(report(&agent.advance(secs(30))), bare(2));
}

#[test]
fn components_6_c24_the_hash_of_components_does_not_depend_on_the_order_of_metadata() {
    let pair = |key: &str| wire::KeyValue { key: key.to_owned(), value: None };
    let details = |keys: [&str; 2]| wire::ComponentDetails {
        metadata: keys.map(pair).to_vec(),
        sub_component_map: [("sub".to_owned(), wire::ComponentDetails::default())].into(),
    };
    let hash = |keys| opamp_proto::agent::components_hash(&[("receiver".to_owned(), details(keys))].into());
    assert_eq!(hash(["a", "b"]), hash(["b", "a"]));
    assert_ne!(hash(["a", "b"]), hash(["a", "c"]));
}

#[test]
fn cap_3_cap_7_cap_1_capabilities_are_in_every_message_with_reports_status_and_no_unknown_bit() {
    let mut agent = Agent::online(Settings {
        capabilities: opamp_proto::AgentCapabilities::from_bits(1 << 40),
        ..settings(Transport::Http)
    });
    for _ in 0..3 {
        let outputs = agent.advance(secs(30));
        assert_eq!(report(&outputs).capabilities, 1);
        agent.receive(&answer());
    }
}

#[test]
fn cap_4_changed_capabilities_are_sent_at_once_and_open_their_parts() {
    let mut agent = Agent::online(Settings { capabilities: only(&[]), ..settings(Transport::WebSocket) });
    let outputs = agent.input(Input::SetCapabilities(only(&[Bit::ReportsHealth])));
    let expected = with(1, |message| {
        message.capabilities = Bit::ReportsHealth as u64 | 1;
        message.health = Some(health(true));
    });
    assert_eq!(report(&outputs), expected);
    assert_eq!(agent.input(Input::SetCapabilities(only(&[Bit::ReportsHealth]))), []);
}

#[test]
fn c14_components_1_a_part_without_its_capability_is_never_sent() {
    type Sent = fn(&AgentToServer) -> bool;
    let gates: [(Bit, Sent); 5] = [
        (Bit::ReportsHealth, |message| message.health.is_some()),
        (Bit::ReportsEffectiveConfig, |message| message.effective_config.is_some()),
        (Bit::ReportsPackageStatuses, |message| message.package_statuses.is_some()),
        (Bit::ReportsAvailableComponents, |message| message.available_components.is_some()),
        (Bit::ReportsConnectionSettingsStatus, |message| message.connection_settings_status.is_some()),
    ];
    for (bit, is_set) in gates {
        let lacking = all_capabilities().without(bit);
        let mut agent = Agent::new(Settings { capabilities: lacking, ..settings(Transport::Http) });
        let mut sent = reports(&agent.input(Input::Start));
        sent.extend(reports(&agent.receive(&report_full_state())));
        assert_eq!(sent.len(), 2);
        assert!(!sent.iter().any(is_set), "{bit:?}");
    }
}

#[test]
fn interop_3_a_part_that_the_server_cannot_use_is_no_longer_sent() {
    let mut agent = Agent::ws_online();
    let capabilities = ServerBit::AcceptsStatus as u64;
    agent.receive(&wire::ServerToAgent { capabilities, ..answer() });
    assert_eq!(agent.set(Status::EffectiveConfig(config("new"))), []);
    let packages = wire::PackageStatuses { error_message: "x".to_owned(), ..Default::default() };
    assert_eq!(agent.set(Status::PackageStatuses(packages)), []);
    // It is sent as soon as a server can use it.
    let capabilities = (ServerBit::AcceptsStatus as u64) | ServerBit::AcceptsEffectiveConfig as u64;
    let outputs = agent.receive(&wire::ServerToAgent { capabilities, ..answer() });
    let effective = wire::EffectiveConfig { config_map: Some(config("new")) };
    assert_eq!(report(&outputs), with(1, |message| message.effective_config = Some(effective)));
}

#[test]
fn scap_4_a_later_answer_without_capabilities_changes_nothing() {
    let mut agent = Agent::ws_online();
    agent.receive(&wire::ServerToAgent { capabilities: 1, ..answer() });
    agent.receive(&wire::ServerToAgent { capabilities: 0, ..answer() });
    assert_eq!(agent.session.server_capabilities().bits(), 1);
}

#[test]
fn retx_6_retx_7_while_a_message_is_stuck_only_the_latest_state_is_kept() {
    let mut agent = Agent::ws_online();
    agent.flushes = false;
    agent.set(Status::Health(health(false)));
    for name in ["two", "three", "four"] {
        assert_eq!(agent.set(Status::Description(description(name))), []);
        agent.set(Status::Health(health(name == "four")));
    }
    assert_eq!(agent.advance(secs(300)), [], "no heartbeats are piled up either");
    let outputs = agent.input(Input::Sent);
    let expected = with(2, |message| {
        message.agent_description = Some(description("four"));
        message.health = Some(health(true));
    });
    assert_eq!(report(&outputs), expected);
}
