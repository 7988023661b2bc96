//! What an agent does with a message from the server beside offers: identity, commands, junk.

use opamp_proto::agent::{Event, Failure, Input, Output, Saved, Settings, Transport};
use opamp_proto::wire::{self, AgentCapabilities as Bit, AgentToServerFlags, ServerToAgent};
use opamp_proto::{InstanceUid, frame};

use crate::agent_driver::*;

fn other_uid() -> InstanceUid {
    InstanceUid::try_from_slice(&[9; 16]).unwrap()
}

fn identification(bytes: &[u8]) -> ServerToAgent {
    let new_instance_uid = bytes::Bytes::copy_from_slice(bytes);
    ServerToAgent { agent_identification: Some(wire::AgentIdentification { new_instance_uid }), ..answer() }
}

fn restart(kind: i32) -> ServerToAgent {
    ServerToAgent { command: Some(wire::ServerToAgentCommand { r#type: kind }), ..offer(b"h1", "a") }
}

#[test]
fn uid_14_uid_15_a_new_instance_uid_is_stored_first_and_used_from_then_on() {
    let mut agent = Agent::ws_online();
    let outputs = agent.receive(&identification(&[9; 16]));
    let stored = Output::Persist(Saved { instance_uid: other_uid(), remote_config: None });
    let told = Output::Event(Event::InstanceUidChanged { old: uid(), new: other_uid() });
    assert_eq!(outputs, [stored, told]);
    let outputs = agent.advance(secs(30));
    assert_eq!(report(&outputs), with(1, |message| message.instance_uid = other_uid().to_bytes()));
    let Some(Output::Send { instance_uid, .. }) = outputs.last() else { panic!("{outputs:?}") };
    assert_eq!(*instance_uid, other_uid(), "HTTP-22: what a header says is what the body says");
}

#[test]
fn uid_12_answers_to_the_old_instance_uid_are_still_heard() {
    let mut agent = Agent::ws_online();
    agent.receive(&identification(&[9; 16]));
    assert_eq!(reports(&agent.receive(&report_full_state())).len(), 1);
}

#[test]
fn uid_16_a_new_instance_uid_of_another_length_is_left_out() {
    for bytes in [vec![9; 15], vec![9; 17], vec![0; 16]] {
        let mut agent = Agent::ws_online();
        let outputs = agent.receive(&identification(&bytes));
        assert!(matches!(outputs[..], [Output::Event(Event::Ignored { .. })]), "{outputs:?}");
        assert_eq!(agent.session.instance_uid(), uid());
    }
}

#[test]
fn uid_9_uid_10_an_agent_that_wants_an_identity_says_so_until_it_has_one_and_stores_only_that() {
    let mut agent = Agent::new(Settings { request_instance_uid: true, ..settings(Transport::Http) });
    let outputs = agent.input(Input::Start);
    let flag = AgentToServerFlags::RequestInstanceUid as u64;
    assert_eq!(report(&outputs).flags, flag);
    assert_eq!(saved(&outputs), []);
    agent.receive(&answer());
    assert_eq!(report(&agent.advance(secs(30))).flags, flag);
    let outputs = agent.receive(&identification(&[9; 16]));
    assert_eq!(saved(&outputs).len(), 1);
    assert_eq!(report(&agent.advance(secs(30))).flags, 0);
}

#[test]
fn uid_6_the_first_process_stores_its_identity_and_the_next_one_keeps_it() {
    let mut agent = Agent::new(settings(Transport::WebSocket));
    let outputs = agent.input(Input::Start);
    let stored = Saved { instance_uid: uid(), remote_config: None };
    assert_eq!(outputs, [Output::Persist(stored), Output::Connect]);

    let saved = Some(Saved { instance_uid: other_uid(), remote_config: None });
    let mut agent =
        Agent::new(Settings { saved, request_instance_uid: true, ..settings(Transport::WebSocket) });
    assert_eq!(agent.input(Input::Start), [Output::Connect]);
    let first = report(&agent.input(Input::Connected));
    assert_eq!((first.instance_uid, first.flags), (other_uid().to_bytes(), 0));
}

#[test]
fn uid_13_a_message_for_another_agent_is_left_out() {
    let mut agent = Agent::ws_online();
    let message = ServerToAgent { instance_uid: other_uid().to_bytes(), ..restart(0) };
    let outputs = agent.receive(&message);
    assert!(matches!(outputs[..], [Output::Event(Event::Ignored { .. })]), "{outputs:?}");
}

#[test]
fn ws_12_a_message_without_any_field_is_an_acknowledgement() {
    let mut agent = Agent::new(settings(Transport::WebSocket));
    agent.input(Input::Start);
    agent.input(Input::Connected);
    let outputs = agent.input(Input::Received(bytes::Bytes::from_static(&[0])));
    assert!(matches!(events(&outputs)[..], [Event::Connected { .. }]));
}

#[test]
fn cmd_2_cmd_3_a_restart_is_carried_out_and_everything_beside_it_is_left_out() {
    let mut agent = Agent::ws_online();
    assert_eq!(agent.receive(&restart(0)), [Output::Event(Event::RestartRequested)]);
}

#[test]
fn cmd_4_a_restart_that_is_not_supported_is_left_out_and_the_rest_is_done() {
    let capabilities = all_capabilities().without(Bit::AcceptsRestartCommand);
    let lacking = Agent::online(Settings { capabilities, ..settings(Transport::WebSocket) });
    for (mut agent, kind) in [(lacking, 0), (Agent::ws_online(), 77)] {
        let outputs = agent.receive(&restart(kind));
        assert!(matches!(events(&outputs)[..], [Event::Ignored { .. }]), "{outputs:?}");
        assert!(outputs.iter().any(|output| matches!(output, Output::ApplyConfig { .. })));
    }
}

#[test]
fn err_1_whatever_stands_beside_an_error_is_left_out() {
    let mut agent = Agent::ws_online();
    let refusal = ServerToAgent::refuse(uid().to_bytes(), wire::ServerErrorResponseType::Unknown, "x");
    let outputs =
        agent.receive(&ServerToAgent { error_response: refusal.error_response, ..offer(b"h1", "a") });
    assert!(matches!(outputs[..], [Output::Event(Event::MessageRefused { .. })]), "{outputs:?}");
}

#[test]
fn ws_10_a_malformed_frame_is_left_out_and_the_connection_stays() {
    let mut agent = Agent::ws_online();
    for junk in [&b""[..], b"\x01", b"\x80", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x00\x0a\xff"]
    {
        let outputs = agent.input(Input::Received(bytes::Bytes::copy_from_slice(junk)));
        assert!(matches!(outputs[..], [Output::Event(Event::Ignored { .. })]), "{junk:?}: {outputs:?}");
    }
    assert_eq!(report(&agent.advance(secs(30))), bare(1));
}

#[test]
fn a_malformed_answer_over_http_counts_as_none() {
    let mut agent = Agent::http_online();
    let sent = payloads(&agent.advance(secs(30)));
    agent.input(Input::Received(bytes::Bytes::from_static(b"<html>")));
    assert_eq!(payloads(&agent.advance(secs(1))), sent);
}

#[test]
fn interop_4_fields_of_later_versions_are_ignored() {
    let mut agent = Agent::ws_online();
    let mut payload = frame::encode(&offer(b"h1", "a")).to_vec();
    payload.extend([0xfa, 0x07, 0x01, 0x00]);
    let outputs = agent.input(Input::Received(payload.into()));
    assert!(outputs.iter().any(|output| matches!(output, Output::ApplyConfig { .. })));
}

#[test]
fn inputs_out_of_turn_do_no_harm() {
    let inputs = [
        Input::Start,
        Input::Connected,
        Input::Sent,
        Input::Received(frame::encode(&answer())),
        Input::Failed(Failure::Broken(String::new())),
        Input::Timer,
        Input::Reconnect,
        Input::Stop,
    ];
    for first in &inputs {
        for second in &inputs {
            for third in &inputs {
                let mut agent = Agent::new(settings(Transport::WebSocket));
                let outputs: Vec<_> =
                    [first, second, third].into_iter().flat_map(|input| agent.input(input.clone())).collect();
                let abandoned = outputs.iter().filter(|o| matches!(o, Output::Abort | Output::Close)).count();
                let failed = [second, third].iter().filter(|i| matches!(i, Input::Failed(_))).count();
                assert!(connects(&outputs) <= 1 + abandoned + failed, "{first:?} {second:?} {third:?}");
            }
        }
    }
}
