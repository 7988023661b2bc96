//! Describes a client before it starts. Values given here are in the first report, and giving one sets the
//! capability that goes with it; what lets the server change the agent has to be asked for (SEC-16).

use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use opamp_proto::agent::{AgentSession, InvalidSettings, Settings, Status, Timing};
use opamp_proto::limits::MessageLimit;
use opamp_proto::wire::{self, AgentCapabilities as Bit, any_value::Value};
use opamp_proto::{AgentCapabilities, InstanceUid};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::dial::Way;
use crate::events::{Events, Queue};
use crate::headers::{FixedHeaders, HeadersProvider};
use crate::runner::Runner;
use crate::storage::{MemoryStorage, Storage};
use crate::tls::{InvalidTls, Tls};
use crate::{Client, Endpoint, InvalidEndpoint};

/// A client that has not started.
pub struct Builder {
    url: String,
    description: wire::AgentDescription,
    capabilities: AgentCapabilities,
    status: Vec<Status>,
    fixed: Result<HeaderMap, BuildError>,
    provider: Option<Arc<dyn HeadersProvider>>,
    tls: Tls,
    storage: Box<dyn FnOnce() -> Arc<Mutex<dyn Storage>> + Send>,
    instance_uid: Option<InstanceUid>,
    request_instance_uid: bool,
    timing: Timing,
    keep_alive: Duration,
    max_message: MessageLimit,
    max_redirects: u32,
    gzip_requests: bool,
}

/// Why a client cannot start.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The URL.
    #[error(transparent)]
    Endpoint(#[from] InvalidEndpoint),
    /// The times.
    #[error(transparent)]
    Settings(#[from] InvalidSettings),
    /// Certificates and keys.
    #[error(transparent)]
    Tls(#[from] InvalidTls),
    /// A header that HTTP does not allow. Its value is not shown.
    #[error("the header {0:?} has a name or a value that HTTP does not allow")]
    Header(String),
    /// Stored state that cannot be read. Going on would give the agent a new identity.
    #[error("the agent's stored state cannot be read")]
    Storage(#[source] io::Error),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(String),
}

/// Time between pings on a quiet WebSocket.
const KEEP_ALIVE: Duration = Duration::from_secs(45);

impl Builder {
    pub(crate) fn new(url: String) -> Self {
        Self {
            url,
            description: wire::AgentDescription::default(),
            capabilities: [Bit::ReportsStatus, Bit::ReportsHeartbeat].into_iter().collect(),
            status: Vec::new(),
            fixed: Ok(HeaderMap::new()),
            provider: None,
            tls: Tls::new(),
            storage: Box::new(|| Arc::new(Mutex::new(MemoryStorage::default()))),
            instance_uid: None,
            request_instance_uid: false,
            timing: Timing::default(),
            keep_alive: KEEP_ALIVE,
            max_message: MessageLimit::default(),
            max_redirects: 5,
            gzip_requests: false,
        }
    }

    /// The agent's type and version: the identifying attributes service.name and service.version.
    #[must_use]
    pub fn service(self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.identifying("service.name", name).identifying("service.version", version)
    }

    /// One more identifying attribute (DESC-1).
    #[must_use]
    pub fn identifying(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.description.identifying_attributes.push(attribute(key, value));
        self
    }

    /// One more attribute that says where the agent runs (DESC-4).
    #[must_use]
    pub fn attribute(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.description.non_identifying_attributes.push(attribute(key, value));
        self
    }

    /// The whole description, in place of what was said before.
    #[must_use]
    pub fn description(mut self, description: wire::AgentDescription) -> Self {
        self.description = description;
        self
    }

    /// The agent's health at the start; the agent reports health.
    #[must_use]
    pub fn health(self, health: wire::ComponentHealth) -> Self {
        self.with(Bit::ReportsHealth).status(Status::Health(health))
    }

    /// What the agent runs on at the start; the agent reports its effective configuration.
    #[must_use]
    pub fn effective_config(self, config: wire::AgentConfigMap) -> Self {
        self.with(Bit::ReportsEffectiveConfig).status(Status::EffectiveConfig(config))
    }

    /// The server may change the agent's configuration, and hears what became of it.
    #[must_use]
    pub fn accept_remote_config(self) -> Self {
        self.with(Bit::AcceptsRemoteConfig).with(Bit::ReportsRemoteConfig)
    }

    /// The server may ask the agent to restart.
    #[must_use]
    pub fn accept_restart(self) -> Self {
        self.with(Bit::AcceptsRestartCommand)
    }

    /// Any part of the status at the start. The capability that it needs has to be set beside it.
    #[must_use]
    pub fn status(mut self, status: Status) -> Self {
        self.status.push(status);
        self
    }

    /// One more capability.
    #[must_use]
    pub fn with(mut self, capability: Bit) -> Self {
        self.capabilities = self.capabilities.with(capability);
        self
    }

    /// Exactly these capabilities. ReportsStatus is added (CAP-7).
    #[must_use]
    pub fn capabilities(mut self, capabilities: AgentCapabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Sends `Authorization: Bearer …`.
    #[must_use]
    pub fn bearer_token(self, token: &str) -> Self {
        self.header(AUTHORIZATION.as_str(), &format!("Bearer {token}"))
    }

    /// Sends one more header with every attempt.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if let Ok(headers) = &mut self.fixed {
            match (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
                (Ok(name), Ok(mut value)) => {
                    value.set_sensitive(true);
                    headers.append(name, value);
                }
                _ => self.fixed = Err(BuildError::Header(name.chars().take(64).collect())),
            }
        }
        self
    }

    /// Asks for the headers at every attempt, in place of [`Self::header`] and [`Self::bearer_token`].
    #[must_use]
    pub fn headers(mut self, provider: impl HeadersProvider) -> Self {
        self.provider = Some(Arc::new(provider));
        self
    }

    /// Whom to trust and how to be known, for `wss` and `https`.
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = tls;
        self
    }

    /// Where the agent's identity and its last remote configuration's status are kept; in memory by default.
    #[must_use]
    pub fn storage(mut self, storage: impl Storage) -> Self {
        self.storage = Box::new(|| Arc::new(Mutex::new(storage)));
        self
    }

    /// The identity of an agent that has none in storage, in place of a new random one.
    #[must_use]
    pub fn instance_uid(mut self, instance_uid: InstanceUid) -> Self {
        self.instance_uid = Some(instance_uid);
        self
    }

    /// Asks the server for an identity, unless there is one in storage (UID-9, UID-10).
    #[must_use]
    pub fn request_instance_uid(mut self) -> Self {
        self.request_instance_uid = true;
        self
    }

    /// Heartbeat and polling interval until the server offers another: 30 s by default.
    #[must_use]
    pub fn interval(mut self, interval: Duration) -> Self {
        self.timing.heartbeat = interval;
        self.timing.poll = interval;
        self
    }

    /// All times of the session.
    #[must_use]
    pub fn timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// Silence on a WebSocket after which it is pinged; after as much again it is given up. 45 s by default.
    #[must_use]
    pub fn keep_alive(mut self, keep_alive: Duration) -> Self {
        self.keep_alive = keep_alive;
        self
    }

    /// Largest message that is read, after decompression: 16 MiB by default.
    #[must_use]
    pub fn max_message(mut self, limit: MessageLimit) -> Self {
        self.max_message = limit;
        self
    }

    /// How many redirects in a row are followed: 5 by default, 0 for none.
    #[must_use]
    pub fn max_redirects(mut self, count: u32) -> Self {
        self.max_redirects = count;
        self
    }

    /// Compresses larger requests on plain HTTP (HTTP-17).
    #[must_use]
    pub fn gzip_requests(mut self) -> Self {
        self.gzip_requests = true;
        self
    }

    /// Reads the stored state, starts the client's task on the present tokio runtime and returns at once: that
    /// the server is reached is an event.
    pub async fn start(self) -> Result<(Client, Events), BuildError> {
        let endpoint = Endpoint::parse(&self.url)?;
        let tls = if endpoint.is_tls() || self.max_redirects > 0 { Some(self.tls.build()) } else { None };
        // A redirect may lead to TLS; a machine without authorities only matters once it does.
        let tls = match tls {
            Some(Err(_)) if !endpoint.is_tls() => None,
            other => other.transpose()?,
        };
        let headers = match self.provider {
            Some(provider) => provider,
            None => Arc::new(FixedHeaders(self.fixed?)),
        };
        let storage = (self.storage)();
        let saved = load(storage.clone()).await.map_err(BuildError::Storage)?;
        let instance_uid = match self.instance_uid {
            Some(uid) => uid,
            None => new_uid()?,
        };
        let mut status = self.status;
        status.insert(0, Status::Description(self.description));
        let settings = Settings {
            transport: endpoint.transport(),
            timing: self.timing,
            instance_uid,
            request_instance_uid: self.request_instance_uid,
            capabilities: self.capabilities,
            status,
            saved,
        };
        let session = AgentSession::new(settings, u64::from_le_bytes(random()?))?;
        let way = Way {
            endpoint,
            tls,
            headers,
            user_agent: concat!("opamp-client/", env!("CARGO_PKG_VERSION")).to_owned(),
            max_message: self.max_message.bytes(),
            max_redirects: self.max_redirects,
            gzip_requests: self.gzip_requests,
            keep_alive: self.keep_alive,
        };
        Ok(spawn(session, way, storage))
    }
}

fn spawn(session: AgentSession, way: Way, storage: Arc<Mutex<dyn Storage>>) -> (Client, Events) {
    let (commands, received) = mpsc::unbounded_channel();
    let (uid, uid_seen) = watch::channel(session.instance_uid());
    let (running, running_seen) = watch::channel(());
    let events = Arc::new(Queue::default());
    let runner = Runner {
        session,
        way: Arc::new(way),
        storage,
        commands: received,
        events: events.clone(),
        uid,
        running,
        clock: Instant::now(),
        carrier: None,
        generation: 0,
        inputs: mpsc::channel(16),
    };
    tokio::spawn(runner.run());
    (Client { commands, uid: uid_seen, running: running_seen }, Events::new(events))
}

fn load(storage: Arc<Mutex<dyn Storage>>) -> impl Future<Output = io::Result<Option<crate::Saved>>> {
    let load =
        tokio::task::spawn_blocking(move || storage.lock().unwrap_or_else(PoisonError::into_inner).load());
    async { load.await.map_err(io::Error::other)? }
}

fn attribute(key: impl Into<String>, value: impl Into<String>) -> wire::KeyValue {
    let value = wire::AnyValue { value: Some(Value::StringValue(value.into())) };
    wire::KeyValue { key: key.into(), value: Some(value) }
}

fn new_uid() -> Result<InstanceUid, BuildError> {
    let millis = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis());
    Ok(InstanceUid::generate(u64::try_from(millis).unwrap_or_default(), random()?))
}

fn random<const N: usize>() -> Result<[u8; N], BuildError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| BuildError::Random(error.to_string()))?;
    Ok(bytes)
}
