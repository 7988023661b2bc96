//! Conversations of version 1.0, as they were: every later version must read them without losing a field, and hold its end
//! of them without an error. The files are never changed; a version that says more gets files of its own.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::disallowed_methods, reason = "the transcripts are files")]

use std::collections::BTreeSet;
use std::time::Duration;

use host_proto::agent::{self, Event};
use host_proto::frame::Body;
use host_proto::message::{Hello, Pong};
use host_proto::server::{self, Welcome};
use host_proto::{DesiredState, Frame, Mark, Moment, Secret, ToAgent, ToServer};
use serde_json::Value;

struct Line {
    from_agent: bool,
    message: Value,
}

fn transcripts() -> Vec<(String, Vec<Line>)> {
    let files = [
        ("first-connection", include_str!("../transcripts/v1.0/first-connection.jsonl")),
        ("logs-and-metrics", include_str!("../transcripts/v1.0/logs-and-metrics.jsonl")),
        ("refused", include_str!("../transcripts/v1.0/refused.jsonl")),
        ("removed", include_str!("../transcripts/v1.0/removed.jsonl")),
        ("left-volumes", include_str!("../transcripts/v1.0/left-volumes.jsonl")),
        ("taken-blocks", include_str!("../transcripts/v1.0/taken-blocks.jsonl")),
        ("rotation", include_str!("../transcripts/v1.0/rotation.jsonl")),
    ];
    let read = |(name, text): (&str, &str)| {
        let lines = text.lines().map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            Line { from_agent: line["from"] == "agent", message: line["message"].take() }
        });
        (name.to_owned(), lines.collect())
    };
    files.into_iter().map(read).collect()
}

/// Whether everything of `old` stands in `new` as it was.
fn keeps(old: &Value, new: &Value, path: &str) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                let path = format!("{path}.{key}");
                keeps(value, new.get(key).unwrap_or_else(|| panic!("{path} is lost")), &path);
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            assert_eq!(old.len(), new.len(), "{path}");
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                keeps(old, new, &format!("{path}[{index}]"));
            }
        }
        _ => assert_eq!(old, new, "{path}"),
    }
}

fn reread<M: Body>(message: &Value) -> Value {
    let frame = Frame::<M>::decode(&message.to_string()).unwrap_or_else(|error| panic!("{message}: {error}"));
    serde_json::from_str(&frame.encode().unwrap()).unwrap()
}

#[test]
fn every_field_of_version_1_0_is_read_and_written_as_it_was() {
    let mut kinds = BTreeSet::new();
    for (name, lines) in transcripts() {
        for line in lines {
            let message = &line.message;
            let again =
                if line.from_agent { reread::<ToServer>(message) } else { reread::<ToAgent>(message) };
            keeps(message, &again, &name);
            kinds.insert((line.from_agent, message["type"].as_str().unwrap().to_owned()));
        }
    }
    assert_eq!(kinds.len(), 13 + 13, "every message of version 1.0 stands in a transcript: {kinds:#?}");
}

fn welcome() -> Welcome {
    Welcome {
        session_id: "ses_1".parse().unwrap(),
        session_secret: Secret::new("secret-2"),
        time_at: String::new(),
        notice: None,
        reconnect_spread: Duration::ZERO,
        stored: Mark::new("epoch-1", 2),
        token_age: Duration::from_secs(40 * 24 * 60 * 60),
    }
}

/// A server of today hears what an agent of 1.0 says.
#[test]
fn a_server_of_today_holds_its_end_of_every_conversation_of_version_1_0() {
    for (name, lines) in transcripts() {
        let now = Moment(1_000);
        let mut session = server::Session::new(now, server::Settings::default());
        let (mut heard, mut ended) = (0, false);
        let said: Vec<&Line> = lines.iter().filter(|line| line.from_agent).collect();
        for line in &said {
            session.handle(now, server::Input::Text(line.message.to_string()));
            while let Some(output) = session.poll_output() {
                match output {
                    server::Output::Hello(_) => session.handle(now, server::Input::Admit(welcome())),
                    server::Output::Plan(plan) => {
                        let state = DesiredState::empty("epoch-1", plan.above + 1);
                        session.handle(now, server::Input::Desired(Box::new(state)));
                    }
                    server::Output::RotateToken => {
                        session.handle(now, server::Input::Rotate(Secret::new("new")));
                    }
                    server::Output::Send(text) => {
                        assert!(!text.contains("\"type\":\"error\""), "{name}: {text}");
                        session.handle(now, server::Input::Sent);
                    }
                    server::Output::Message(_) => heard += 1,
                    server::Output::Left { .. } => ended = true,
                    server::Output::Close { .. } => assert!(ended, "{name}: {output:?}"),
                    server::Output::StoreIsBehind { .. } | server::Output::NotSent { .. } => {
                        panic!("{output:?}")
                    }
                    _ => {}
                }
            }
        }
        let own = ["hello", "ping", "pong", "goodbye", "token_rotated"];
        let to_hear = said.iter().filter(|line| !own.contains(&line.message["type"].as_str().unwrap()));
        assert_eq!(heard, to_hear.count(), "{name}");
    }
}

/// An agent of today hears what a server of 1.0 says.
#[test]
fn an_agent_of_today_holds_its_end_of_every_conversation_of_version_1_0() {
    for (name, lines) in transcripts() {
        let now = Moment(1_000);
        let hello: Frame<ToServer> = Frame::decode(&lines[0].message.to_string()).unwrap();
        let ToServer::Hello(hello) = hello.body else { panic!("{name} begins with another message") };
        let mut agent = Agent::new(*hello);
        agent.input(now, agent::Input::Start);
        agent.input(now, agent::Input::Connected);
        for line in lines.iter().filter(|line| !line.from_agent) {
            agent.input(now, agent::Input::Text(line.message.to_string()));
        }
        assert!(
            agent.said.iter().all(|text| !text.contains("\"type\":\"error\"")),
            "{name}: {:?}",
            agent.said
        );
        let count =
            |kind: &str| lines.iter().filter(|line| !line.from_agent && line.message["type"] == kind).count();
        assert_eq!(agent.applied, count("desired_state"), "{name}");
        assert_eq!(agent.rotated, count("token_rotate"), "{name}");
        assert_eq!(agent.online, count("hello_ack"), "{name}");
        let requests = ["logs_query", "logs_subscribe", "logs_ack", "logs_unsubscribe", "logs_cancel"];
        assert_eq!(agent.requests, requests.map(count).iter().sum::<usize>(), "{name}");
    }
}

struct Agent {
    session: agent::Session,
    hello: Hello,
    said: Vec<String>,
    applied: usize,
    rotated: usize,
    online: usize,
    requests: usize,
}

impl Agent {
    fn new(hello: Hello) -> Self {
        let session = agent::Session::new(agent::Settings::default(), 7);
        Self { session, hello, said: Vec::new(), applied: 0, rotated: 0, online: 0, requests: 0 }
    }

    fn input(&mut self, now: Moment, input: agent::Input) {
        use agent::Output;
        self.session.handle(now, input);
        while let Some(output) = self.session.poll_output() {
            match output {
                Output::Hello => {
                    let hello = Box::new(self.hello.clone());
                    self.session.handle(now, agent::Input::Hello(hello));
                }
                Output::Send(text) => {
                    self.said.push(text);
                    self.session.handle(now, agent::Input::Sent);
                }
                Output::PersistToken(_) => {
                    self.rotated += 1;
                    self.session.handle(now, agent::Input::TokenPersisted(Ok(())));
                }
                Output::Probe(ping) => {
                    let pong = Pong { seq: ping.seq, t_us: ping.t_us, reconcile_lag_ms: None };
                    self.session.handle(now, agent::Input::Alive(pong));
                }
                Output::Apply { .. } => self.applied += 1,
                Output::Request(_) => self.requests += 1,
                Output::Event(Event::Online(_)) => self.online += 1,
                _ => {}
            }
        }
    }
}
