//! A server of the test's own, a login for it, and agents as messages.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use api::agents::AgentDetail;
use api::session::Login;
use api::users::NewAccount;
use api::{Client, Trust};
use control_plane::{App, Config, FirstStart, Listeners, RawConfig};
use opamp_proto::InstanceUid;
use opamp_proto::wire::{
    AgentCapabilities as Bit, AgentConfigFile, AgentConfigMap, AgentDescription, AgentToServer, AnyValue,
    ComponentHealth, EffectiveConfig, KeyValue, any_value::Value,
};
use testkit::raw::Connection;
use testkit::{found, soon};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// The password of users that a test makes.
pub(crate) const PASSWORD: &str = "correct horse";

/// A running server.
pub(crate) struct World {
    pub(crate) opamp: SocketAddr,
    pub(crate) console: SocketAddr,
    pub(crate) first: FirstStart,
    pub(crate) ca_fingerprint: Option<String>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

/// Settings for a server in a directory: no TLS, every change written soon.
pub(crate) fn settings(dir: &Path) -> RawConfig {
    RawConfig { insecure_http: true, ..RawConfig::new(dir, "127.0.0.1:0", "127.0.0.1:0", "0.0.0-test") }
}

/// Checks settings and makes writes come soon.
pub(crate) fn checked(raw: RawConfig) -> Config {
    raw.check().unwrap().with_write_behind(Duration::from_millis(20))
}

impl World {
    /// Starts a server in a directory.
    pub(crate) async fn start(dir: &Path) -> Self {
        Self::with(settings(dir)).await
    }

    /// Starts a server with these settings.
    pub(crate) async fn with(raw: RawConfig) -> Self {
        // What reqwest asks for.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let config = checked(raw);
        let listeners = Listeners::open(&config, 2).unwrap();
        let app = App::build(config).await.unwrap();
        let (opamp, console) = (listeners.opamp_address().unwrap(), listeners.console.local_addr().unwrap());
        let (first, ca_fingerprint) = (app.first_start().clone(), app.ca_fingerprint());
        let (stop, stopped) = oneshot::channel();
        let (ready, is_ready) = oneshot::channel();
        let task = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            app.serve(listeners, || assert_eq!(ready.send(()), Ok(())), stopped).await.unwrap();
        });
        soon("the server", is_ready).await.unwrap();
        Self { opamp, console, first, ca_fingerprint, stop: Some(stop), task }
    }

    /// Stops the server in good order.
    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        soon("the end of the server", &mut self.task).await.unwrap();
    }

    /// The URL of console and API.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.console)
    }

    /// The enrolment token of the first start.
    pub(crate) fn token(&self) -> String {
        self.first.enrolment_token.clone().unwrap()
    }

    /// The Authorization header's value for the token of the first start.
    pub(crate) fn bearer(&self) -> String {
        bearer(&self.token())
    }

    /// A client that is not logged in.
    pub(crate) fn stranger(&self) -> Client {
        Client::new(&self.url(), &Trust::System, None).unwrap()
    }

    /// A client that is logged in as the administrator of the first start.
    pub(crate) async fn admin(&self) -> Client {
        self.log_in(&self.first.admin_password.clone().unwrap()).await
    }

    /// A client that is logged in as admin with a password.
    pub(crate) async fn log_in(&self, password: &str) -> Client {
        self.stranger().with_token(Some(self.session("admin", password).await))
    }

    /// The bearer token of a new session.
    pub(crate) async fn session(&self, username: &str, password: &str) -> String {
        let login = Login { username: username.to_owned(), password: password.to_owned(), want_token: true };
        self.stranger().login(&login).await.unwrap().token.unwrap()
    }

    /// Makes a user with the password [`PASSWORD`]; the bearer token of a session.
    pub(crate) async fn user(&self, admin: &Client, name: &str, role: &str) -> String {
        let (name, role) = (name.to_owned(), role.to_owned());
        let password = Some(PASSWORD.to_owned());
        admin.create_user(&NewAccount { name: name.clone(), role, password }).await.unwrap();
        self.session(&name, PASSWORD).await
    }

    /// A WebSocket with the token of the first start.
    pub(crate) async fn websocket(&self) -> Connection {
        Connection::websocket(self.opamp, &[("authorization", &self.bearer())]).await
    }
}

/// The Authorization header's value for a token.
pub(crate) fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

/// The instance_uid of a number.
pub(crate) fn uid(number: u8) -> InstanceUid {
    InstanceUid::try_from_slice(&[number; 16]).unwrap()
}

/// A string attribute.
pub(crate) fn attribute(key: &str, value: &str) -> KeyValue {
    typed(key, Value::StringValue(value.to_owned()))
}

/// An attribute of any type.
pub(crate) fn typed(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }) }
}

/// A first report with everything that a small agent has.
pub(crate) fn full(number: u8) -> AgentToServer {
    let bits = [Bit::ReportsStatus, Bit::ReportsHealth, Bit::ReportsEffectiveConfig];
    AgentToServer {
        instance_uid: uid(number).to_bytes(),
        capabilities: bits.iter().fold(0, |bits, bit| bits | *bit as u64),
        agent_description: Some(AgentDescription {
            identifying_attributes: vec![
                attribute("service.name", &format!("agent-{number}")),
                attribute("service.instance.id", &format!("instance-{number}")),
            ],
            non_identifying_attributes: vec![attribute("host.name", &format!("host-{number}"))],
        }),
        health: Some(ComponentHealth { healthy: true, status: "fine".to_owned(), ..Default::default() }),
        effective_config: Some(config("", "receivers:\n  otlp: {}\n")),
        ..Default::default()
    }
}

/// A message that says nothing new.
pub(crate) fn heartbeat(number: u8, sequence_num: u64) -> AgentToServer {
    AgentToServer {
        sequence_num,
        ..AgentToServer { capabilities: full(number).capabilities, ..bare(number) }
    }
}

/// A message in which only instance_uid is set.
pub(crate) fn bare(number: u8) -> AgentToServer {
    AgentToServer { instance_uid: uid(number).to_bytes(), ..Default::default() }
}

/// An effective configuration of one file.
pub(crate) fn config(name: &str, body: &str) -> EffectiveConfig {
    let file = AgentConfigFile {
        body: body.to_owned().into(),
        content_type: "text/yaml".to_owned(),
        ..Default::default()
    };
    EffectiveConfig { config_map: Some(AgentConfigMap { config_map: [(name.to_owned(), file)].into() }) }
}

/// Reads an agent until it is as it must be: what agents report is written a moment later.
pub(crate) async fn agent_when(
    client: &Client,
    number: u8,
    what: &str,
    holds: impl Fn(&AgentDetail) -> bool,
) -> AgentDetail {
    found(what, async || client.agent(&uid(number).to_string()).await.ok().filter(&holds)).await
}
