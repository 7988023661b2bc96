//! Makes a server push a configuration to all of its agents: Muster through its API, as an operator would; the yardstick
//! by a request to its control port, upon which it loops over its connections.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{
    api::{Api, Connection},
    load::Counts,
    target::Target,
};

/// The body of a configuration is about so long, as that of a small Collector.
const BODY: usize = 2_000;
const LIMIT: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);
/// The server is not to be measured answering this question.
const LOOK_STORED: Duration = Duration::from_millis(400);

/// Whoever pushes.
pub(super) enum Pusher {
    /// By revisions of one configuration that everybody is assigned.
    Muster(Box<Operator>),
    /// By `POST /push`.
    Yardstick { control: Target },
}

/// An operator with one configuration for everybody.
pub(super) struct Operator {
    connection: Option<Connection>,
    api: Api,
    assignment: Option<String>,
    revision: u32,
}

impl Pusher {
    pub(super) fn new(api: Option<Api>, control: Option<Target>) -> anyhow::Result<Self> {
        match (api, control) {
            (_, Some(control)) => Ok(Self::Yardstick { control }),
            (Some(api), None) => {
                let operator = Operator { connection: None, api, assignment: None, revision: 0 };
                Ok(Self::Muster(Box::new(operator)))
            }
            (None, None) => {
                anyhow::bail!("to push, the server's API must be known (--api-url), or --push-url")
            }
        }
    }

    /// Pushes something new to all, and waits until every agent has answered and the server has stored it.
    pub(super) async fn push(&mut self, agents: usize, counts: &Arc<Counts>) -> anyhow::Result<()> {
        let goal = counts.done() + agents as u64;
        match self {
            Self::Yardstick { control } => {
                let mut connection = Connection::open(control.clone()).await?;
                connection.request("POST", "/push", &body(goal)).await?;
            }
            Self::Muster(operator) => operator.push(body(goal)).await?,
        }
        let end = Instant::now() + LIMIT;
        while counts.done() < goal {
            let (errors, first) = counts.errors();
            ensure!(errors == 0, "an agent failed: {}", first.unwrap_or_default());
            ensure!(
                Instant::now() < end,
                "{} of {agents} agents answered in time",
                counts.done() + agents as u64 - goal
            );
            sleep(LOOK).await;
        }
        let Self::Muster(operator) = self else { return Ok(()) };
        let Some(connection) = &mut operator.connection else { return Ok(()) };
        sleep(LOOK_STORED).await;
        loop {
            let seen = connection.call("GET", "/api/v1/overview", Value::Null).await?;
            if seen["config"]["in_sync"] == agents && seen["rollouts"].as_array().is_some_and(Vec::is_empty) {
                return Ok(());
            }
            ensure!(Instant::now() < end, "not all is stored: {}", seen["config"]);
            sleep(LOOK_STORED).await;
        }
    }
}

impl Operator {
    async fn push(&mut self, body: String) -> anyhow::Result<()> {
        self.revision += 1;
        if self.connection.is_none() {
            self.connection = Some(Connection::open(self.api.target().clone()).await?);
        }
        let connection = self.connection.as_mut().context("no connection")?;
        let files = json!([{ "name": "collector.yaml", "body": body }]);
        match &self.assignment {
            None => self.assignment = Some(first(connection, files).await?),
            Some(id) => next(connection, id, files, self.revision).await?,
        }
        Ok(())
    }
}

async fn first(connection: &mut Connection, files: Value) -> anyhow::Result<String> {
    connection.call("POST", "/api/v1/configs", json!({ "name": "bench", "files": files })).await?;
    let new = json!({ "config": "bench", "selector": "", "batch_percent": 100 });
    let made = connection.call("POST", "/api/v1/assignments", new).await?;
    made["id"].as_str().map(str::to_owned).context("an assignment without an id")
}

async fn next(connection: &mut Connection, id: &str, files: Value, revision: u32) -> anyhow::Result<()> {
    connection.call("POST", "/api/v1/configs/bench/revisions", json!({ "files": files })).await?;
    let to = json!({ "revision": revision, "batch_percent": 100 });
    connection.call("POST", &format!("/api/v1/assignments/{id}/revision"), to).await?;
    Ok(())
}

/// A configuration that no push before had.
fn body(number: u64) -> String {
    const LINE: &str = "  otlp/backend:\n    endpoint: ingest.internal:4317\n    compression: gzip\n";
    let mut body = format!("# push {number}\nexporters:\n");
    let mut index = 0;
    while body.len() < BODY {
        body.push_str(&LINE.replace("backend", &format!("backend{index}")));
        index += 1;
    }
    body
}
