//! Asks Muster's API for a page of agents again and again while it is under load, and says how long the answers took.
//! Runs on a thread of its own: on the load generator's thread it would measure the load generator.

use std::{
    thread::JoinHandle,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    stream::{Inbox, Stream},
    target::Target,
};

/// A page of the list of agents, as the console asks for it.
const PAGE: &str = "/api/v1/agents?limit=100";
const PAUSE: Duration = Duration::from_millis(15);
/// How often a deployment is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// An API to which somebody is logged in.
#[derive(Debug, Clone)]
pub(super) struct Api {
    target: Target,
}

/// Milliseconds until the whole answer was there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Latency {
    pub(super) requests: usize,
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) worst: f64,
}

/// Requests on their way.
pub(super) struct Asking(JoinHandle<anyhow::Result<Latency>>);

impl Asking {
    /// Waits for the last answer.
    pub(super) fn join(self) -> anyhow::Result<Latency> {
        self.0.join().unwrap_or_else(|_| Err(anyhow::anyhow!("the thread that asks the API has panicked")))
    }
}

impl Api {
    /// Logs in at `console` (a URL without a path).
    pub(super) async fn log_in(
        console: &str,
        password: &str,
        ca: Option<&std::path::Path>,
    ) -> anyhow::Result<Self> {
        #[derive(Deserialize)]
        struct Session {
            token: String,
        }
        let mut connection = Connection::open(Target::new(console, None, ca, false)?).await?;
        let body =
            serde_json::json!({ "username": "admin", "password": password, "want_token": true }).to_string();
        let answer =
            connection.request("POST", "/api/v1/session", &body).await.context("cannot log in to the API")?;
        let session: Session = serde_json::from_slice(&answer)?;
        Ok(Self { target: Target::new(console, Some(&session.token), ca, false)? })
    }

    /// Where it is, with the login.
    pub(super) const fn target(&self) -> &Target {
        &self.target
    }

    /// Starts to ask, for `duration`.
    pub(super) fn ask(self, duration: Duration) -> Asking {
        Asking(std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(self.sample(duration))
        }))
    }

    async fn sample(self, duration: Duration) -> anyhow::Result<Latency> {
        let mut connection = Connection::open(self.target).await?;
        let end = Instant::now() + duration;
        let mut times = Vec::new();
        while Instant::now() < end {
            let start = Instant::now();
            connection.request("GET", PAGE, "").await?;
            times.push(start.elapsed());
            tokio::time::sleep(PAUSE).await;
        }
        Latency::of(times).context("the API was never asked")
    }
}

/// How long each kind of question took, by its name.
pub(super) type Answers = Vec<(String, Latency)>;

impl Latency {
    pub(super) fn of(mut times: Vec<Duration>) -> Option<Self> {
        times.sort_unstable();
        let last = times.len().checked_sub(1)?;
        let at = |share: f64| times[(last as f64 * share).round() as usize].as_secs_f64() * 1e3;
        Some(Self { requests: times.len(), p50: at(0.5), p99: at(0.99), worst: at(1.0) })
    }
}

/// A connection on which requests are made one after the other.
pub(super) struct Connection {
    target: Target,
    stream: Stream,
    inbox: Inbox,
}

impl Connection {
    pub(super) async fn open(target: Target) -> anyhow::Result<Self> {
        Ok(Self { stream: target.connect().await?, target, inbox: Inbox::default() })
    }

    /// A request with a body in JSON (`null`: none), and the answer, which may be empty.
    pub(super) async fn call(&mut self, method: &str, path: &str, body: Value) -> anyhow::Result<Value> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.request(method, path, &body).await?;
        if answer.is_empty() { Ok(Value::Null) } else { Ok(serde_json::from_slice(&answer)?) }
    }

    /// Deploys a Compose file; the number of the deployment.
    pub(super) async fn deploy(&mut self, project: &str, compose: &str) -> anyhow::Result<String> {
        let body = json!({ "files": [{ "name": "compose.yaml", "text": compose }] });
        let made = self.call("POST", &format!("/api/v1/projects/{project}/deployments"), body).await?;
        made["id"].as_str().map(str::to_owned).context("a deployment without an id")
    }

    /// Waits until a deployment is over, and well.
    pub(super) async fn until_done(&mut self, id: &str, within: Duration) -> anyhow::Result<()> {
        let end = Instant::now() + within;
        loop {
            let state = self.call("GET", &format!("/api/v1/deployments/{id}"), Value::Null).await?;
            match state["state"].as_str() {
                Some("done") => return Ok(()),
                Some("running") if Instant::now() < end => tokio::time::sleep(LOOK).await,
                _ => bail!("the deployment did not succeed: {state}"),
            }
        }
    }

    /// The body of the answer; anything but 200 or 201 is an error.
    pub(super) async fn request(&mut self, method: &str, path: &str, body: &str) -> anyhow::Result<Vec<u8>> {
        let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{}{kind}Content-Length: {}\r\n\r\n{body}",
            self.target.headers,
            body.len()
        );
        self.stream.send(request.as_bytes()).await?;
        let end = loop {
            if let Some(end) = self.inbox.unread().windows(4).position(|window| window == b"\r\n\r\n") {
                break end;
            }
            self.inbox.fill(&mut self.stream).await?;
        };
        let header = String::from_utf8_lossy(&self.inbox.unread()[..end]).to_ascii_lowercase();
        self.inbox.consume(end + 4);
        let length = header
            .lines()
            .find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
        let nothing = header.get(9..12) == Some("204");
        let length = length.or(nothing.then_some(0));
        let length = length.with_context(|| format!("{path} is answered without a Content-Length"))?;
        while self.inbox.unread().len() < length {
            self.inbox.fill(&mut self.stream).await?;
        }
        let answer = self.inbox.unread()[..length].to_vec();
        self.inbox.consume(length);
        let status = header.get(9..12).unwrap_or("???");
        ensure!(
            status.starts_with("20"),
            "{path} is answered with {status}: {}",
            String::from_utf8_lossy(&answer)
        );
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_taken_from_the_sorted_times() {
        let latency = Latency::of((1..=100).rev().map(Duration::from_millis).collect());
        assert_eq!(latency, Some(Latency { requests: 100, p50: 51.0, p99: 99.0, worst: 100.0 }));
        assert_eq!(Latency::of(Vec::new()), None);
    }
}
