//! How quickly the API answers with a hundred thousand agents in the store: each question that the console asks, a
//! hundred times. The agents came, reported in full and left; nothing else goes on meanwhile.

use std::{sync::Arc, time::Instant};

use anyhow::Context;
use serde_json::{Value, json};

use super::{
    api::{Answers, Api, Connection, Latency},
    load::{self, Counts},
    target::Target,
};

/// How often each question is asked.
const TIMES: usize = 100;

/// A question, by its name in the table.
struct Question {
    name: &'static str,
    method: &'static str,
    path: &'static str,
    body: Value,
}

fn questions() -> Vec<Question> {
    let get = |name, path| Question { name, method: "GET", path, body: Value::Null };
    let preview = |name, selector: &str| Question {
        name,
        method: "POST",
        path: "/api/v1/assignments/preview",
        body: json!({ "config": "bench", "selector": selector }),
    };
    vec![
        get("agents, first page", "/api/v1/agents?limit=100"),
        get("agents, by last seen", "/api/v1/agents?limit=100&sort=-last_seen"),
        get("agents, by health", "/api/v1/agents?limit=100&sort=health"),
        get("agents, disconnected", "/api/v1/agents?limit=100&state=disconnected"),
        get("agents, unmanaged", "/api/v1/agents?limit=100&config_state=unmanaged"),
        get("agents, selector of all", "/api/v1/agents?limit=100&selector=os.type%3Dlinux"),
        get("agents, selector of none", "/api/v1/agents?limit=100&selector=os.type%3Dplan9"),
        get("agents, not in a list", "/api/v1/agents?limit=100&selector=team%20notin%20(a,b)"),
        get("agents, text in their names", "/api/v1/agents?limit=100&q=host-0a"),
        get("agents, text that nobody has", "/api/v1/agents?limit=100&q=nobody"),
        get("keys of attributes", "/api/v1/agents/attribute-keys?prefix=s"),
        preview("preview over all", ""),
        preview("preview over a selector", "team=platform"),
        get("overview", "/api/v1/overview"),
        get("assignments", "/api/v1/assignments"),
        get("configurations", "/api/v1/configs"),
    ]
}

/// Fills the store with agents and asks.
pub(super) async fn run(
    target: &Target,
    api: Api,
    agents: usize,
    counts: &Arc<Counts>,
) -> anyhow::Result<Answers> {
    load::come_and_go(target, agents, counts).await?;
    let mut connection = Connection::open(api.target().clone()).await?;
    let config = json!({ "name": "bench", "files": [{ "name": "a.yaml", "body": "a: 1\n" }] });
    connection.request("POST", "/api/v1/configs", &config.to_string()).await?;
    let assignment = json!({ "config": "bench", "selector": "os.type=plan9" });
    connection.request("POST", "/api/v1/assignments", &assignment.to_string()).await?;
    let mut answers = Vec::new();
    for question in questions() {
        let body = if question.body.is_null() { String::new() } else { question.body.to_string() };
        let mut times = Vec::with_capacity(TIMES);
        for _ in 0..TIMES {
            let start = Instant::now();
            connection.request(question.method, question.path, &body).await?;
            times.push(start.elapsed());
        }
        let latency = Latency::of(times).context("a question was never asked")?;
        answers.push((question.name.to_owned(), latency));
    }
    Ok(answers)
}
