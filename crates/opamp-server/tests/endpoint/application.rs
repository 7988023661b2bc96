//! The application behind the servers under test: it notes what it hears, and does what a test sets. Not a test.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opamp_proto::wire::{self, AgentToServer};
use opamp_proto::{InstanceUid, PartSet};
use opamp_server::{
    Agent, ConnectRequest, Direction, Disconnect, Handler, Overload, Refusal, Rejection, Server, Settings,
    StatusReport,
};
use tokio::net::TcpListener;

/// What the application heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Heard {
    Admitted(InstanceUid),
    Reported(InstanceUid, PartSet),
    Disconnected(InstanceUid, Disconnect),
}

/// What a test sets.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    pub(crate) refusal: Option<Refusal>,
    pub(crate) rejection: Option<Rejection>,
    pub(crate) overload: Option<Overload>,
}

#[derive(Debug, Default)]
pub(crate) struct Application {
    pub(crate) heard: Mutex<Vec<Heard>>,
    pub(crate) wishes: Mutex<Wishes>,
    pub(crate) passed: Mutex<Vec<(InstanceUid, Direction, Vec<u8>)>>,
}

impl Application {
    fn note(&self, heard: Heard) {
        self.heard.lock().unwrap().push(heard);
    }
}

/// The application as a handler.
#[derive(Debug, Clone)]
pub(crate) struct Noting(pub(crate) Arc<Application>);

impl std::ops::Deref for Noting {
    type Target = Application;

    fn deref(&self) -> &Application {
        &self.0
    }
}

impl Handler for Noting {
    type Principal = Option<String>;
    type Data = ();

    async fn authenticate(&self, request: &ConnectRequest<'_>) -> Result<Option<String>, Refusal> {
        match self.wishes.lock().unwrap().refusal.clone() {
            Some(refusal) => Err(refusal),
            None => Ok(request.bearer().map(str::to_owned)),
        }
    }

    async fn admit(&self, agent: &Arc<Agent<Self>>, _: &StatusReport<'_>) -> Result<(), Rejection> {
        match self.wishes.lock().unwrap().rejection.clone() {
            Some(rejection) => Err(rejection),
            None => {
                self.note(Heard::Admitted(agent.instance_uid()));
                Ok(())
            }
        }
    }

    fn reported(&self, agent: &Arc<Agent<Self>>, report: &StatusReport<'_>) {
        self.note(Heard::Reported(agent.instance_uid(), report.changed()));
    }

    fn disconnected(&self, agent: &Arc<Agent<Self>>, why: Disconnect) {
        self.note(Heard::Disconnected(agent.instance_uid(), why));
    }

    fn passed(&self, agent: &Arc<Agent<Self>>, direction: Direction, message: &[u8]) {
        self.passed.lock().unwrap().push((agent.instance_uid(), direction, message.to_vec()));
    }

    fn overload(&self) -> Option<Overload> {
        self.wishes.lock().unwrap().overload
    }
}

/// A server on a port of its own.
pub(crate) struct World {
    pub(crate) server: Server<Noting>,
    pub(crate) application: Arc<Application>,
    pub(crate) address: SocketAddr,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(Settings::default()).await
    }

    pub(crate) async fn with(settings: Settings) -> Self {
        let application = Arc::new(Application::default());
        let server = Server::new(Noting(application.clone()), settings);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = server.clone();
        tokio::spawn(async move { serving.serve(listener, None, std::future::pending()).await });
        Self { server, application, address }
    }

    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.application.heard.lock().unwrap().clone()
    }

    pub(crate) async fn until_heard(&self, expected: Heard) {
        testkit::until(&format!("{expected:?}"), || self.heard().contains(&expected)).await;
    }

    pub(crate) fn wish(&self, wish: impl FnOnce(&mut Wishes)) {
        wish(&mut self.application.wishes.lock().unwrap());
    }
}

/// Settings in which silence is noticed quickly.
pub(crate) fn impatient() -> Settings {
    Settings { ping_after: Duration::from_millis(200), ..Settings::default() }
}

pub(crate) fn uid(number: u8) -> InstanceUid {
    InstanceUid::try_from_slice(&[9; 15].into_iter().chain([number]).collect::<Vec<_>>()).unwrap()
}

fn attribute(key: &str, value: &str) -> wire::KeyValue {
    let value = wire::any_value::Value::StringValue(value.into());
    wire::KeyValue { key: key.into(), value: Some(wire::AnyValue { value: Some(value) }) }
}

/// A full report of an agent that accepts remote configuration.
pub(crate) fn full(number: u8, sequence_num: u64) -> AgentToServer {
    use wire::AgentCapabilities as Bit;
    let bits = [Bit::ReportsStatus, Bit::AcceptsRemoteConfig, Bit::ReportsRemoteConfig, Bit::ReportsHealth];
    AgentToServer {
        instance_uid: uid(number).to_bytes(),
        sequence_num,
        capabilities: bits.into_iter().map(|bit| bit as u64).sum(),
        agent_description: Some(wire::AgentDescription {
            identifying_attributes: vec![attribute("service.name", "test")],
            non_identifying_attributes: vec![],
        }),
        health: Some(wire::ComponentHealth { healthy: true, ..Default::default() }),
        ..Default::default()
    }
}

/// A heartbeat.
pub(crate) fn bare(number: u8, sequence_num: u64) -> AgentToServer {
    let capabilities = full(number, 0).capabilities;
    AgentToServer { instance_uid: uid(number).to_bytes(), sequence_num, capabilities, ..Default::default() }
}
