//! kill -9 under load: no operator write is lost, no agent needs anything, and each sends at most one full report.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use api::session::Login;
use api::tokens::NewToken;
use api::{Client, Trust};
use opamp_proto::wire::{AgentToServer, ComponentHealth};
use testkit::raw::Connection;
use testkit::{until, until_async};

use crate::process::{Place, Server};

const AGENTS: u8 = 40;

async fn log_in(server: &Server, password: &str) -> Client {
    let client = Client::new(&server.ready.console, &Trust::System, None).unwrap();
    let login = Login { username: "admin".to_owned(), password: password.to_owned(), want_token: true };
    let session = client.login(&login).await.unwrap();
    client.with_token(session.token)
}

fn report(number: u8, sequence_num: u64, full: bool) -> AgentToServer {
    let name = opamp_proto::wire::KeyValue {
        key: "service.name".to_owned(),
        value: Some(opamp_proto::wire::AnyValue {
            value: Some(opamp_proto::wire::any_value::Value::StringValue(format!("agent-{number}"))),
        }),
    };
    AgentToServer {
        instance_uid: vec![number; 16].into(),
        sequence_num,
        capabilities: 1 | 0x800,
        agent_description: full.then(|| opamp_proto::wire::AgentDescription {
            identifying_attributes: vec![name],
            ..Default::default()
        }),
        health: Some(ComponentHealth {
            healthy: true,
            status: sequence_num.to_string(),
            ..Default::default()
        }),
        ..Default::default()
    }
}

/// An agent that reports without pause until its server is gone. The number of its next message.
async fn busy_agent(server: std::net::SocketAddr, bearer: String, number: u8) -> u64 {
    let mut socket = Connection::websocket(server, &[("authorization", &bearer)]).await;
    let mut next = 0;
    loop {
        let message = opamp_proto::frame::encode(&report(number, next, next == 0));
        let frame = testkit::raw::frame(0x82, &message);
        if tokio::io::AsyncWriteExt::write_all(&mut socket.stream, &frame).await.is_err() {
            return next;
        }
        next += 1;
        let mut answer = [0; 512];
        match tokio::io::AsyncReadExt::read(&mut socket.stream, &mut answer).await {
            Ok(0) | Err(_) => return next,
            Ok(_) => {}
        }
    }
}

#[test]
fn a_killed_server_loses_no_operator_write_and_asks_each_agent_for_at_most_one_full_report() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let place = Place::new();
    let server = place.server(&["--insecure-http"]);
    let password = server.ready.admin_password.clone().unwrap();
    let bearer = format!("Bearer {}", server.ready.enrolment_token.clone().unwrap());
    let opamp = server.opamp();
    let agents: Vec<_> =
        (1..=AGENTS).map(|number| runtime.spawn(busy_agent(opamp, bearer.clone(), number))).collect();

    let written = runtime.block_on(async {
        let client = log_in(&server, &password).await;
        until_async("all agents", async || {
            client.agents(&Default::default()).await.unwrap().total >= u64::from(AGENTS)
        })
        .await;
        write_until_killed(client, server).await
    });
    assert!(written.len() >= 10, "{written:?}");
    let next: Vec<u64> = agents.into_iter().map(|agent| runtime.block_on(agent).unwrap()).collect();

    let server = place.server(&["--insecure-http"]);
    runtime.block_on(async {
        let client = log_in(&server, &password).await;
        let tokens = client.tokens().await.unwrap().items;
        let found: BTreeSet<_> = tokens.iter().map(|token| token.label.clone()).collect();
        assert_eq!(
            written.difference(&found).collect::<Vec<_>>(),
            Vec::<&String>::new(),
            "lost operator writes"
        );
        for (number, next) in (1..=AGENTS).zip(next) {
            comes_back(&server, &bearer, number, next).await;
        }
        let page = client.agents(&Default::default()).await.unwrap();
        assert_eq!(page.total, u64::from(AGENTS));
        assert!(page.items.iter().all(|agent| agent.name.is_some()));
    });
    server.stop();
}

/// Makes tokens until the server is killed in the middle of it; the labels of those that were answered.
async fn write_until_killed(client: Client, server: Server) -> BTreeSet<String> {
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let stop = stop.clone();
        tokio::spawn(async move {
            let mut written = BTreeSet::new();
            for number in 0.. {
                let label = format!("token-{number}");
                let new = NewToken { label: label.clone(), expires_in_seconds: None };
                match client.create_token(&new).await {
                    Ok(_) => drop(written.insert(label)),
                    Err(_) if stop.load(Ordering::SeqCst) => break,
                    Err(error) => panic!("{error}"),
                }
                if number == 20 {
                    stop.store(true, Ordering::SeqCst);
                }
            }
            written
        })
    };
    until("twenty tokens", || stop.load(Ordering::SeqCst)).await;
    tokio::task::spawn_blocking(move || server.kill()).await.unwrap();
    writer.await.unwrap()
}

/// The agent goes on with a compressed report, as it would after any lost connection; it is asked for its full state
/// at most once, and not again after it gave it.
async fn comes_back(server: &Server, bearer: &str, number: u8, next: u64) {
    let mut socket = Connection::websocket(server.opamp(), &[("authorization", bearer)]).await;
    let answer = socket.ask(&report(number, next, false)).await;
    assert!(answer.error_response.is_none(), "{answer:?}");
    assert_eq!(answer.flags & 1, 1, "a new server does not know the description");
    let answer = socket.ask(&report(number, next + 1, true)).await;
    assert_eq!(answer.flags & 1, 0);
    let answer = socket.ask(&report(number, next + 2, false)).await;
    assert_eq!(answer.flags & 1, 0);
}
