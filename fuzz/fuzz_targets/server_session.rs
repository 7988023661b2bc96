//! A server session that is told anything, in any order: it never panics, never answers without end, and every answer
//! keeps the rules that hold for all answers.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use opamp_proto::raw::RawAgentToServer;
use opamp_proto::server::{ConfigOffer, ServerSession, SessionSettings, Transport};
use opamp_proto::wire::{self, Message};
use opamp_proto::{InstanceUid, Moment};

/// Cuts the next event out of the input: what kind, and its bytes.
fn next<'a>(input: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let [kind, length, rest @ ..] = *input else { return None };
    let (event, rest) = rest.split_at(usize::from(*length).min(rest.len()));
    *input = rest;
    Some((*kind, event))
}

fn offer(body: &[u8]) -> std::sync::Arc<ConfigOffer> {
    let file = wire::AgentConfigFile { body: body.to_vec().into(), ..wire::AgentConfigFile::default() };
    ConfigOffer::new(wire::AgentConfigMap { config_map: [(String::new(), file)].into() })
}

fn check_answers(session: &mut ServerSession, now: Moment, settings: &SessionSettings) {
    // One answer that is owed and one offer that is due.
    for _ in 0..2 {
        let Some(answer) = session.poll_answer(now, settings) else { return };
        let message = wire::ServerToAgent::decode(&answer.encode(false)[..]).expect("an answer is a message");
        assert_eq!(message.instance_uid[..], session.uid().as_bytes()[..]);
        assert_eq!(message.capabilities & !0x7f, 0);
        assert!(message.capabilities == 0 || message.capabilities & 1 == 1);
        let able = session.capabilities().has(wire::AgentCapabilities::AcceptsRemoteConfig);
        assert!(message.remote_config.is_none() || able);
        assert_eq!(answer.encode(true)[1..], answer.encode(false)[..]);
    }
    assert_eq!(session.poll_answer(now, settings), None, "it answers without end");
}

fuzz_target!(|input: &[u8]| {
    let mut input = input;
    let settings = SessionSettings::default();
    let uid = InstanceUid::try_from_slice(&[7; 16]).expect("16 bytes");
    let mut session = ServerSession::new(uid, Transport::WebSocket);
    let mut now = Moment(0);
    while let Some((kind, event)) = next(&mut input) {
        match kind % 8 {
            0 => now = now + Duration::from_secs(u64::from(kind) * 7),
            1 => session.attach(now, Transport::Http),
            2 => session.attach(now, Transport::WebSocket),
            3 => session.offer_config(Some(offer(event))),
            4 => session.offer_config(None),
            _ => {
                let Ok(message) = RawAgentToServer::decode(event) else { continue };
                let before = format!("{session:?}");
                if session.receive(&message).is_err() {
                    assert_eq!(format!("{session:?}"), before, "a refused message changed the session");
                }
            }
        }
        check_answers(&mut session, now, &settings);
        assert!(session.poll_timeout().is_none_or(|next| next > now), "it wants to be woken for nothing");
    }
});
