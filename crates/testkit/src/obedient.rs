//! An agent that does what it is offered: it applies every configuration, fails at those that hold the word `broken`,
//! and falls ill of those that hold `poison`. It comes back when its connection ends, with what it has.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use opamp_proto::InstanceUid;
use opamp_proto::wire::{
    AgentCapabilities as Bit, AgentConfigFile, AgentConfigMap, AgentDescription, AgentToServer, AnyValue,
    ComponentHealth, EffectiveConfig, KeyValue, RemoteConfigStatus, RemoteConfigStatuses, ServerToAgent,
    any_value::Value,
};
use tokio::task::JoinHandle;

use crate::raw::Connection;

/// How long it waits before it tries to connect again.
const PAUSE: Duration = Duration::from_millis(50);

/// The text that [`RemoteConfigStatus::error_message`] has after a failure.
pub const FAILURE: &str = "no exporter \"broken\"";

/// A running agent. It ends when this is dropped.
#[derive(Debug)]
pub struct Obedient {
    seen: Arc<Mutex<Seen>>,
    task: JoinHandle<()>,
}

/// What an agent went through.
#[derive(Debug, Default)]
struct Seen {
    /// The body of the first file of each offer, "" for the empty configuration.
    offers: Vec<String>,
    /// What it has.
    held: Option<RemoteConfigStatus>,
    /// What it runs.
    runs: String,
    ill: bool,
}

impl Drop for Obedient {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Obedient {
    /// Starts agent `number`, which shows this enrolment token. `held`: hash and body of a configuration that it has.
    pub fn start(server: SocketAddr, token: &str, number: u32, held: Option<(&[u8], &str)>) -> Self {
        let runs = held.map_or("receivers: {}\n", |(_, body)| body).to_owned();
        let held = held.map(|(hash, _)| status(hash.to_vec().into(), false));
        let seen = Arc::new(Mutex::new(Seen { held, runs, ..Seen::default() }));
        let task = tokio::spawn(live(server, format!("Bearer {token}"), number, seen.clone()));
        Self { seen, task }
    }

    /// What it was offered, in order: the body of the first file, or "" for the empty configuration.
    pub fn offers(&self) -> Vec<String> {
        self.seen.lock().unwrap().offers.clone()
    }
}

/// The instance_uid of an agent.
pub fn uid(number: u32) -> InstanceUid {
    let mut bytes = [0x5a; 16];
    bytes[..4].copy_from_slice(&(number + 1).to_be_bytes());
    bytes[12..].copy_from_slice(&(number + 1).to_be_bytes());
    InstanceUid::try_from_slice(&bytes).unwrap()
}

async fn live(server: SocketAddr, authorization: String, number: u32, seen: Arc<Mutex<Seen>>) {
    loop {
        if let Ok(stream) = tokio::net::TcpStream::connect(server).await {
            let mut socket = Connection::over(stream);
            let headers = [("authorization", authorization.as_str())];
            if socket.try_upgrade("/v1/opamp", &headers).await {
                session(&mut socket, number, &seen).await;
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn session(socket: &mut Connection, number: u32, seen: &Mutex<Seen>) {
    let mut sequence_num = 0;
    let mut next = Some(full(number, &seen.lock().unwrap()));
    loop {
        if let Some(report) = next.take() {
            let report = AgentToServer { sequence_num, ..report };
            sequence_num += 1;
            if !socket.try_send(2, &opamp_proto::frame::encode(&report)).await {
                return;
            }
        }
        match socket.wait().await {
            Some(frame) if frame.opcode == 2 => next = obey(number, frame.message(), seen),
            Some(frame) if frame.opcode == 9 => {
                if !socket.try_send(10, &frame.payload).await {
                    return;
                }
            }
            Some(frame) if frame.opcode == 8 => return,
            Some(_) => {}
            None => return,
        }
    }
}

fn full(number: u32, seen: &Seen) -> AgentToServer {
    AgentToServer {
        agent_description: Some(AgentDescription {
            identifying_attributes: vec![
                attribute("service.name", format!("agent-{number}")),
                attribute("service.instance.id", format!("instance-{number}")),
            ],
            non_identifying_attributes: vec![attribute("host.name", format!("host-{number}"))],
        }),
        ..report(number, seen)
    }
}

fn attribute(key: &str, value: String) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(Value::StringValue(value)) }) }
}

/// What it says of itself whenever something changed.
fn report(number: u32, seen: &Seen) -> AgentToServer {
    let bits = [
        Bit::ReportsStatus,
        Bit::ReportsHealth,
        Bit::ReportsEffectiveConfig,
        Bit::AcceptsRemoteConfig,
        Bit::ReportsRemoteConfig,
    ];
    let file = AgentConfigFile { body: seen.runs.clone().into(), ..AgentConfigFile::default() };
    let files = AgentConfigMap { config_map: [(String::new(), file)].into() };
    AgentToServer {
        instance_uid: uid(number).to_bytes(),
        capabilities: bits.iter().fold(0, |bits, bit| bits | *bit as u64),
        health: Some(ComponentHealth { healthy: !seen.ill, ..ComponentHealth::default() }),
        remote_config_status: seen.held.clone(),
        effective_config: Some(EffectiveConfig { config_map: Some(files) }),
        ..AgentToServer::default()
    }
}

fn status(hash: Bytes, failed: bool) -> RemoteConfigStatus {
    RemoteConfigStatus {
        last_remote_config_hash: hash,
        status: if failed { RemoteConfigStatuses::Failed } else { RemoteConfigStatuses::Applied }.into(),
        error_message: if failed { FAILURE.to_owned() } else { String::new() },
    }
}

fn obey(number: u32, message: ServerToAgent, seen: &Mutex<Seen>) -> Option<AgentToServer> {
    let mut seen = seen.lock().unwrap();
    let Some(offer) = message.remote_config else {
        return (message.flags & 1 != 0).then(|| full(number, &seen));
    };
    let files = offer.config.unwrap_or_default().config_map;
    let body = files.into_values().next().map(|file| String::from_utf8(file.body.to_vec()).unwrap());
    let body = body.unwrap_or_default();
    seen.held = Some(status(offer.config_hash, body.contains("broken")));
    seen.ill = body.contains("poison");
    if !body.contains("broken") {
        seen.runs.clone_from(&body);
    }
    seen.offers.push(body);
    Some(if message.flags & 1 != 0 { full(number, &seen) } else { report(number, &seen) })
}
