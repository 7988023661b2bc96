//! An agent session whose server says anything, at any time, while connections break: it never panics or spins, and
//! every message that it sends keeps the rules that hold for all messages.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use opamp_proto::agent::{
    AgentSession, ConfigOutcome, Failure, Input, Output, Settings, Status, Timing, Transport,
};
use opamp_proto::wire::{self, Message};
use opamp_proto::{AgentCapabilities, InstanceUid, Moment, frame};

/// What a careful driver knows about the session that it drives.
struct Driver {
    session: AgentSession,
    transport: Transport,
    now: Moment,
    last: Option<(u64, Vec<u8>)>,
    applying: Option<bytes::Bytes>,
    stopped: bool,
}

fn settings(transport: Transport) -> Settings {
    Settings {
        transport,
        timing: Timing::default(),
        instance_uid: InstanceUid::try_from_slice(&[7; 16]).expect("16 bytes"),
        request_instance_uid: false,
        capabilities: AgentCapabilities::from_bits(0xffff),
        status: vec![Status::Description(wire::AgentDescription::default())],
        saved: None,
    }
}

/// Cuts the next event out of the input: what kind, and its bytes.
fn next<'a>(input: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let [kind, length, rest @ ..] = *input else { return None };
    let (event, rest) = rest.split_at(usize::from(*length).min(rest.len()));
    *input = rest;
    Some((*kind, event))
}

impl Driver {
    fn handle(&mut self, input: Input) {
        self.session.handle(self.now, input);
        let mut outputs = 0;
        while let Some(output) = self.session.poll_output() {
            assert!(!self.stopped, "{output:?} after Stopped");
            outputs += 1;
            assert!(outputs < 64, "outputs without end: {output:?}");
            match output {
                Output::Send { payload, .. } => self.check(&payload),
                Output::ApplyConfig { hash, .. } => self.applying = Some(hash),
                Output::Stopped => self.stopped = true,
                _ => {}
            }
        }
    }

    fn check(&mut self, payload: &[u8]) {
        let data = match self.transport {
            Transport::WebSocket => frame::data(payload).expect("we write a header"),
            Transport::Http => payload,
        };
        let message = wire::AgentToServer::decode(data).expect("we write messages");
        assert_eq!(message.instance_uid.len(), 16);
        assert_eq!(message.capabilities & !0xffff, 0);
        assert_eq!(message.capabilities & 1, 1);
        if let Some((number, bytes)) = &self.last {
            let again = bytes == data;
            assert!(again || message.sequence_num == number + 1, "{} follows {number}", message.sequence_num);
        }
        self.last = Some((message.sequence_num, data.to_vec()));
    }

    fn event(&mut self, kind: u8, bytes: &[u8]) {
        let payload = bytes::Bytes::copy_from_slice(bytes);
        match kind % 12 {
            0 => self.handle(Input::Start),
            1 => self.handle(Input::Connected),
            2 => self.handle(Input::Sent),
            3 => self.handle(Input::Failed(Failure::Broken("it broke".to_owned()))),
            4 => {
                let retry_after = bytes.first().map(|seconds| Duration::from_secs(u64::from(*seconds)));
                let code = if kind > 100 { 503 } else { 401 };
                self.handle(Input::Failed(Failure::Status { code, retry_after, text: String::new() }));
            }
            5 => self.tick(),
            6 => {
                let Some(hash) = self.applying.take() else { return };
                self.handle(Input::ConfigApplied { hash, outcome: ConfigOutcome::Applied });
            }
            7 => self.handle(Input::SetCapabilities(AgentCapabilities::from_bits(u64::from(kind)))),
            8 if kind > 200 => self.handle(Input::Stop),
            8 => self.handle(Input::Reconnect),
            _ => self.handle(Input::Received(payload)),
        }
    }

    /// Goes to the next deadline; it must be over then.
    fn tick(&mut self) {
        let Some(deadline) = self.session.poll_timeout() else { return };
        self.now = self.now.max(deadline);
        self.handle(Input::Timer);
        let next = self.session.poll_timeout();
        assert!(next.is_none_or(|next| next > self.now), "it wants to be woken again at once");
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((transport, mut input)) = input.split_first() else { return };
    let transport = if transport % 2 == 0 { Transport::WebSocket } else { Transport::Http };
    let session = AgentSession::new(settings(transport), 1).expect("the default settings are good");
    let now = Moment(0);
    let mut driver = Driver { session, transport, now, last: None, applying: None, stopped: false };
    while let Some((kind, event)) = next(&mut input) {
        driver.event(kind, event);
    }
});
