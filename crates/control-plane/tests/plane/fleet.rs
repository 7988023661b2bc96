//! Agents that do what they are offered, and an operator who speaks JSON.

use std::sync::{Arc, Mutex};

use api::session::Login;
use opamp_proto::wire::{
    AgentCapabilities as Bit, AgentToServer, ComponentHealth, RemoteConfigStatus, RemoteConfigStatuses,
    ServerToAgent,
};
use serde_json::Value;
use testkit::raw::{Connection, soon};
use tokio::task::JoinHandle;

use crate::world::{World, bearer, full};

/// An operator's session.
pub(crate) struct Operator {
    console: std::net::SocketAddr,
    authorization: String,
}

impl Operator {
    /// The administrator.
    pub(crate) async fn of(world: &World, password: &str) -> Self {
        let login = Login { username: "admin".into(), password: password.into(), want_token: true };
        let session = world.stranger().login(&login).await.unwrap();
        Self { console: world.console, authorization: bearer(&session.token.unwrap()) }
    }

    /// The administrator of a first start.
    pub(crate) async fn first(world: &World) -> Self {
        Self::of(world, &world.first.admin_password.clone().unwrap()).await
    }

    /// A call of the API: the status and the JSON of the answer.
    pub(crate) async fn call(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let (status, _, json) = self.tagged(method, path, None, body).await;
        (status, json)
    }

    /// The same for one version; the answer's version with it.
    pub(crate) async fn tagged(
        &self,
        method: &str,
        path: &str,
        version: Option<&str>,
        body: Value,
    ) -> (u16, String, Value) {
        let mut headers = vec![("authorization", self.authorization.as_str())];
        if let Some(version) = version {
            headers.push(("if-match", version));
        }
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        if !body.is_empty() {
            headers.push(("content-type", "application/json"));
        }
        let mut connection = Connection::to(self.console).await;
        let answer = connection.request(&format!("{method} /api/v1{path}"), &headers, &body).await;
        let json = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
        (answer.status, answer.header("etag").to_owned(), json)
    }

    /// A call that must succeed.
    pub(crate) async fn done(&self, method: &str, path: &str, body: Value) -> Value {
        let (status, json) = self.call(method, path, body).await;
        assert!((200..300).contains(&status), "{method} {path}: {status} {json}");
        json
    }

    /// Reads until it is as it must be.
    pub(crate) async fn when(&self, what: &str, path: &str, holds: impl Fn(&Value) -> bool) -> Value {
        soon(what, async {
            loop {
                let (status, json) = self.call("GET", path, Value::Null).await;
                if status == 200 && holds(&json) {
                    return json;
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        })
        .await
    }
}

/// What an agent was offered, in order: the body of the first file, or "" for the empty configuration.
pub(crate) type Offers = Arc<Mutex<Vec<String>>>;

/// An agent that applies what it is offered, fails at whatever holds the word `broken`, and falls ill of `poison`.
pub(crate) struct Obedient {
    pub(crate) offers: Offers,
    task: JoinHandle<()>,
}

impl Drop for Obedient {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A first report of an agent that can be configured. It holds `hash` already.
pub(crate) fn configurable(number: u8, hash: &[u8]) -> AgentToServer {
    let bits = Bit::AcceptsRemoteConfig as u64 | Bit::ReportsRemoteConfig as u64;
    let status = (!hash.is_empty()).then(|| RemoteConfigStatus {
        last_remote_config_hash: hash.to_vec().into(),
        status: RemoteConfigStatuses::Applied.into(),
        ..RemoteConfigStatus::default()
    });
    let report = full(number);
    AgentToServer { capabilities: report.capabilities | bits, remote_config_status: status, ..report }
}

impl Obedient {
    /// Connects and lives on a WebSocket until it is dropped or the server goes.
    pub(crate) async fn start(world: &World, token: &str, number: u8) -> Self {
        Self::holding(world, token, number, &[]).await
    }

    /// The same for an agent that holds a configuration.
    pub(crate) async fn holding(world: &World, token: &str, number: u8, hash: &[u8]) -> Self {
        let mut socket = Connection::websocket(world.opamp, &[("authorization", &bearer(token))]).await;
        let offers = Offers::default();
        let first = socket.ask(&configurable(number, hash)).await;
        let told = offers.clone();
        let task = tokio::spawn(async move {
            let mut sequence = 0;
            let mut message = Some(first);
            loop {
                if let Some(report) = message.and_then(|message| obey(number, message, &told)) {
                    sequence += 1;
                    socket.send_message(&AgentToServer { sequence_num: sequence, ..report }).await;
                }
                match socket.next().await {
                    Some(frame) if frame.opcode == 2 => message = Some(frame.message()),
                    Some(_) => message = None,
                    None => return,
                }
            }
        });
        Self { offers, task }
    }

    /// What it was offered.
    pub(crate) fn offers(&self) -> Vec<String> {
        self.offers.lock().unwrap().clone()
    }
}

/// What an agent answers to a message that offers something.
fn obey(number: u8, message: ServerToAgent, offers: &Offers) -> Option<AgentToServer> {
    let asked = message.flags & 1 != 0;
    let Some(offer) = message.remote_config else {
        return asked.then(|| configurable(number, &[]));
    };
    let files = offer.config.unwrap_or_default().config_map;
    let body = files.into_values().next().map(|file| String::from_utf8(file.body.to_vec()).unwrap());
    let body = body.unwrap_or_default();
    offers.lock().unwrap().push(body.clone());
    let broken = body.contains("broken");
    let status = RemoteConfigStatus {
        last_remote_config_hash: offer.config_hash,
        status: if broken { RemoteConfigStatuses::Failed } else { RemoteConfigStatuses::Applied }.into(),
        error_message: if broken { "no exporter \"broken\"".to_owned() } else { String::new() },
    };
    let healthy = !body.contains("poison");
    let report = full(number);
    Some(AgentToServer {
        instance_uid: report.instance_uid,
        capabilities: configurable(number, &[]).capabilities,
        remote_config_status: Some(status),
        health: Some(ComponentHealth { healthy, ..ComponentHealth::default() }),
        ..AgentToServer::default()
    })
}
