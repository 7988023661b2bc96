//! A thousand agents and a server that is killed in the middle of its rollouts: nothing is lost, nothing is done twice,
//! and a bad revision reaches one batch.

use std::net::SocketAddr;

use serde_json::{Value, json};
use testkit::obedient::FAILURE;
use testkit::{Obedient, Operator};

use crate::process::{Place, Server};

const AGENTS: u32 = 1000;

/// The server, its place, and the login of its first start.
struct World {
    place: Place,
    server: Option<Server>,
    password: String,
    addresses: [SocketAddr; 2],
}

impl World {
    fn start() -> Self {
        let place = Place::new();
        let server = place.quiet_server(&["127.0.0.1:0", "127.0.0.1:0"]);
        let addresses = [server.opamp(), server.console()];
        let password = server.ready.admin_password.clone().unwrap();
        Self { place, server: Some(server), password, addresses }
    }

    async fn operator(&self) -> Operator {
        Operator::log_in(self.addresses[1], "admin", &self.password).await
    }

    /// kill -9, and another start at the same addresses. The sessions of people survive it.
    fn kill(&mut self) {
        self.server.take().unwrap().kill();
        let addresses = self.addresses.map(|address| address.to_string());
        self.server = Some(self.place.quiet_server(&[&addresses[0], &addresses[1]]));
    }
}

fn files(body: &str) -> Value {
    json!([{ "name": "collector.yaml", "body": body }])
}

/// How often each agent was offered a body: the greatest number, and the sum.
fn offered(agents: &[Obedient], body: &str) -> (usize, usize) {
    let counts: Vec<_> =
        agents.iter().map(|agent| agent.offers().iter().filter(|offer| *offer == body).count()).collect();
    (counts.iter().copied().max().unwrap_or(0), counts.iter().sum())
}

async fn everybody(operator: &Operator) {
    operator.when("every agent", "/overview", |seen| seen["agents"]["connected"] == AGENTS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rollout_over_a_thousand_agents_survives_kill_9_and_a_bad_one_stops_at_its_first_batch() {
    let mut world = World::start();
    let operator = world.operator().await;
    let token = world.server.as_ref().unwrap().ready.enrolment_token.clone().unwrap();
    let agents: Vec<_> =
        (0..AGENTS).map(|number| Obedient::start(world.addresses[0], &token, number, None)).collect();
    everybody(&operator).await;

    // Good, in batches of a hundred, with the server killed under way.
    operator.done("POST", "/configs", json!({ "name": "web", "files": files("good: 1\n") })).await;
    let made = operator.done("POST", "/assignments", json!({ "config": "web", "selector": "" })).await;
    let path = format!("/assignments/{}", made["id"].as_str().unwrap());
    operator.when("some batches", &path, |seen| seen["progress"]["released"].as_u64() >= Some(200)).await;
    world.kill();
    operator.when("the end", &path, |seen| seen["state"] == "done").await;
    everybody(&operator).await;
    operator.when("all in sync", "/overview", |seen| seen["config"]["in_sync"] == AGENTS).await;
    assert_eq!(offered(&agents, "good: 1\n"), (1, 1000), "each agent was offered it once");

    // Bad: one batch, whatever happens to the server.
    operator.done("POST", "/configs/web/revisions", json!({ "files": files("broken: 2\n") })).await;
    operator.done("POST", &format!("{path}/revision"), json!({ "revision": 2 })).await;
    let paused = operator.when("the pause", &path, |seen| seen["state"] == "paused").await;
    assert_eq!((&paused["pause"]["kind"], &paused["pause"]["text"]), (&json!("failed"), &json!(FAILURE)));
    operator.when("its figures", &path, |seen| seen["progress"]["failed"] == 100).await;
    world.kill();
    everybody(&operator).await;
    let still = operator.when("its state", &path, |seen| seen["state"] == "paused").await;
    assert_eq!(still["progress"]["released"], 100);
    assert_eq!(offered(&agents, "broken: 2\n"), (1, 100));

    // Resumed it takes one batch more and stops again, also when the server dies at that moment.
    operator.done("POST", &format!("{path}/resume"), Value::Null).await;
    world.kill();
    let next = |seen: &Value| seen["state"] == "paused" && seen["progress"]["failed"] == 200;
    operator.when("the next pause", &path, next).await;
    assert_eq!(offered(&agents, "broken: 2\n"), (1, 200));

    // Aborted it stays where it is; rolled back only those go back who had it.
    operator.done("POST", &format!("{path}/abort"), json!({ "reason": "enough" })).await;
    world.kill();
    everybody(&operator).await;
    let aborted = operator.done("GET", &path, Value::Null).await;
    assert_eq!((&aborted["state"], &aborted["progress"]["released"]), (&json!("aborted"), &json!(200)));
    operator.done("POST", &format!("{path}/revision"), json!({ "revision": 1, "batch_percent": 100 })).await;
    operator.when("the repair", &path, |seen| seen["state"] == "done").await;
    operator.when("all in sync", "/overview", |seen| seen["config"]["in_sync"] == AGENTS).await;
    assert_eq!(offered(&agents, "broken: 2\n"), (1, 200));
    assert_eq!(offered(&agents, "good: 1\n"), (2, 1200), "those that had the bad one, once more");
}
