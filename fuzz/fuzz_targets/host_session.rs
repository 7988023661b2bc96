//! Both ends of the host agent protocol, each hearing anything at any time while connections break: neither panics or
//! spins, whatever is sent can be read by the other side, and no state is applied twice or backwards.
#![no_main]

use std::time::Duration;

use host_proto::agent::{self, Failure};
use host_proto::message::{AgentBuild, Facts, Foreign, Hello, Identity, Pong, ProtocolVersion};
use host_proto::server::{self, Welcome};
use host_proto::{DesiredState, Frame, Mark, Moment, Secret, ToAgent, ToServer};
use libfuzzer_sys::fuzz_target;

fn hello() -> Hello {
    Hello {
        protocol: ProtocolVersion::CURRENT,
        features: Vec::new(),
        agent: AgentBuild::default(),
        identity: Identity {
            machine_id: "m".to_owned(),
            instance_id: "i".to_owned(),
            boot_id: "b".to_owned(),
            wg_public_key: "k".to_owned(),
            session_secret_prev: None,
        },
        time_at: String::new(),
        facts: Facts::default(),
        epoch: None,
        generation: 0,
        section_hashes: Default::default(),
        from_cache: false,
        cache_age_ms: None,
        replicas: Vec::new(),
        replicas_known: true,
        foreign: Foreign::default(),
    }
}

/// Cuts the next event out of the input: what kind, and its bytes.
fn next<'a>(input: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let [kind, length, rest @ ..] = *input else { return None };
    let (event, rest) = rest.split_at(usize::from(*length).min(rest.len()));
    *input = rest;
    Some((*kind, event))
}

struct Host {
    session: agent::Session,
    applied: Option<Mark>,
}

impl Host {
    fn handle(&mut self, now: Moment, input: agent::Input) {
        self.session.handle(now, input);
        let mut outputs = 0;
        while let Some(output) = self.session.poll_output() {
            outputs += 1;
            assert!(outputs < 64, "outputs without end: {output:?}");
            match output {
                agent::Output::Send(text) => {
                    Frame::<ToServer>::decode(&text).expect("we write messages");
                    self.session.handle(now, agent::Input::Sent);
                }
                agent::Output::Hello => self.session.handle(now, agent::Input::Hello(Box::new(hello()))),
                agent::Output::Probe(ping) => {
                    let pong = Pong { seq: ping.seq, t_us: ping.t_us, reconcile_lag_ms: None };
                    self.session.handle(now, agent::Input::Alive(pong));
                }
                agent::Output::PersistToken(_) => {
                    self.session.handle(now, agent::Input::TokenPersisted(Ok(())))
                }
                agent::Output::Apply { state, adopt } => {
                    let same = self.applied.as_ref().filter(|applied| applied.epoch == state.epoch);
                    assert!(same.is_none_or(|applied| applied.generation < state.generation));
                    assert!(same.is_some() || adopt, "a new epoch is adopted");
                    self.applied = Some(Mark::new(state.epoch, state.generation));
                }
                _ => {}
            }
        }
    }
}

fn drive_server(session: &mut server::Session, now: Moment, input: server::Input) {
    session.handle(now, input);
    let mut outputs = 0;
    while let Some(output) = session.poll_output() {
        outputs += 1;
        assert!(outputs < 64, "outputs without end: {output:?}");
        match output {
            server::Output::Send(text) => {
                Frame::<ToAgent>::decode(&text).expect("we write messages");
                session.handle(now, server::Input::Sent);
            }
            server::Output::Hello(_) => {
                let welcome = Welcome {
                    session_id: "ses_1".parse().expect("an id"),
                    session_secret: Secret::new("s"),
                    time_at: String::new(),
                    notice: None,
                    reconnect_spread: Duration::ZERO,
                    stored: Mark::new("e", 3),
                    token_age: Duration::from_secs(29 * 24 * 60 * 60),
                };
                session.handle(now, server::Input::Admit(welcome));
            }
            server::Output::Plan(plan) if plan.above < 1 << 52 => {
                let epoch = if plan.above == 0 { "new" } else { "e" };
                let state = DesiredState::empty(epoch, plan.above + 1);
                session.handle(now, server::Input::Desired(Box::new(state)));
            }
            server::Output::Plan(_) => session.handle(now, server::Input::NoState),
            server::Output::RotateToken => session.handle(now, server::Input::Rotate(Secret::new("t"))),
            _ => {}
        }
    }
}

fuzz_target!(|input: &[u8]| {
    let mut now = Moment(0);
    let mut host = Host { session: agent::Session::new(agent::Settings::default(), 1), applied: None };
    let mut server = server::Session::new(now, server::Settings::default());
    let mut input = input;
    while let Some((kind, bytes)) = next(&mut input) {
        let text = || String::from_utf8_lossy(bytes).into_owned();
        match kind % 10 {
            0 => host.handle(now, agent::Input::Start),
            1 => host.handle(now, agent::Input::Connected),
            2 => host.handle(now, agent::Input::Failed(Failure::Broken(text()))),
            3 => {
                let code = 4000 + u16::from(kind);
                host.handle(now, agent::Input::Failed(Failure::Closed { code: Some(code), reason: text() }));
            }
            4 => {
                if let Some(deadline) = host.session.poll_timeout() {
                    now = now.max(deadline);
                    host.handle(now, agent::Input::Timer);
                    assert!(host.session.poll_timeout().is_none_or(|next| next > now), "it spins");
                }
            }
            5 => {
                if let Some(deadline) = server.poll_timeout() {
                    now = now.max(deadline);
                    drive_server(&mut server, now, server::Input::Timer);
                    assert!(server.poll_timeout().is_none_or(|next| next > now), "it spins");
                }
            }
            6 => drive_server(&mut server, now, server::Input::Changed),
            7 => drive_server(&mut server, now, server::Input::Text(text())),
            8 if kind > 200 => server = server::Session::new(now, server::Settings::default()),
            8 => drive_server(&mut server, now, server::Input::Probe),
            _ => host.handle(now, agent::Input::Text(text())),
        }
    }
});
