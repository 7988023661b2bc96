//! A back-up beside a server with a thousand open WebSockets, all of which report: nobody is cut off or refused, and the
//! back-up is whole.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opamp_proto::wire::{AgentToServer, ComponentHealth};
use serde_json::Value;
use testkit::Operator;
use testkit::obedient::uid;
use testkit::raw::Connection;

use crate::process::{Place, text};

const AGENTS: u32 = 1000;
const TASKS: u32 = 4;

/// An agent that says each time something else about its health.
struct Agent {
    connection: Connection,
    number: u32,
    said: u64,
}

impl Agent {
    async fn connect(server: SocketAddr, token: &str, number: u32) -> Self {
        let authorization = format!("Bearer {token}");
        let connection = Connection::websocket(server, &[("authorization", &authorization)]).await;
        Self { connection, number, said: 0 }
    }

    async fn report(&mut self) {
        let report = AgentToServer {
            instance_uid: uid(self.number).to_bytes(),
            sequence_num: self.said,
            agent_description: (self.said == 0).then(Default::default),
            // ReportsStatus and ReportsHealth.
            capabilities: 0x801,
            health: Some(ComponentHealth {
                healthy: true,
                status: format!("round {}", self.said),
                ..ComponentHealth::default()
            }),
            ..AgentToServer::default()
        };
        self.said += 1;
        let answer = self.connection.ask(&report).await;
        assert_eq!(answer.error_response, None, "agent {} in round {}", self.number, self.said);
    }
}

/// Agents `from..to`, each of which reports in turn until `done`; how often each did.
async fn reporting(
    server: SocketAddr,
    token: String,
    numbers: std::ops::Range<u32>,
    (ready, done): (Arc<tokio::sync::Barrier>, Arc<AtomicBool>),
) -> u64 {
    let mut agents = Vec::new();
    for number in numbers {
        let mut agent = Agent::connect(server, &token, number).await;
        agent.report().await;
        agents.push(agent);
    }
    ready.wait().await;
    let mut rounds = 0;
    while !done.load(Ordering::Relaxed) || rounds < 2 {
        for agent in &mut agents {
            agent.report().await;
        }
        rounds += 1;
    }
    rounds
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_back_up_is_whole_and_cuts_nobody_off_while_a_thousand_connections_report() {
    let place = Place::new();
    let server = place.quiet_server(&["127.0.0.1:0", "127.0.0.1:0"]);
    let token = server.ready.enrolment_token.clone().unwrap();
    let password = server.ready.admin_password.clone().unwrap();
    let operator = Operator::log_in(server.console(), "admin", &password).await;
    let (ready, done) =
        (Arc::new(tokio::sync::Barrier::new(TASKS as usize + 1)), Arc::new(AtomicBool::new(false)));
    let share = AGENTS / TASKS;
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let numbers = task * share..(task + 1) * share;
            tokio::spawn(reporting(server.opamp(), token.clone(), numbers, (ready.clone(), done.clone())))
        })
        .collect();
    ready.wait().await;
    operator.when("every agent", "/overview", |seen| seen["agents"]["connected"] == AGENTS).await;
    let (place, made) = tokio::task::spawn_blocking(move || {
        let made = place.run(&["backup", "--data-dir", "data", "--to", "b.tar.gz"]);
        (place, made)
    })
    .await
    .unwrap();
    assert!(made.status.success(), "{}", text(&made.stderr));
    assert!(text(&made.stdout).contains("1000 agents"), "{}", text(&made.stdout));
    done.store(true, Ordering::Relaxed);
    for task in tasks {
        assert!(task.await.unwrap() >= 2);
    }
    let seen = operator.done("GET", "/overview", Value::Null).await;
    assert_eq!(seen["agents"]["total"], AGENTS);
    server.stop();
    let restored = place.run(&["restore", "b.tar.gz", "--data-dir", "new", "--key-file", "data/master.key"]);
    assert!(restored.status.success(), "{}", text(&restored.stderr));
    assert!(text(&restored.stdout).contains("1000 agents"), "{}", text(&restored.stdout));
}
