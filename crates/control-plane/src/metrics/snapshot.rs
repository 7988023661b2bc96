//! What the page says, gathered when it is asked for: a query of the store, a walk over the live agents, a few loads.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use model::ConfigState;
use opamp_server::{Server, Transport};
use store::{AgentCounts, Store, StoreError};

use super::Counters;
use super::hosting::Hosting;
use super::process::Process;
use crate::clock;
use crate::opamp::Endpoint;
use crate::services::Services;

/// What is gathered.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(super) version: String,
    pub(super) agents: AgentCounts,
    pub(super) configs: HashMap<ConfigState, u64>,
    pub(super) hosting: Hosting,
    /// Live sessions over WebSocket and over HTTP.
    pub(super) sessions: [u64; 2],
    pub(super) server: Server<Endpoint>,
    pub(super) waiting_bytes: u64,
    pub(super) waiting_for: Duration,
    pub(super) is_failing: bool,
    pub(super) counters: Arc<Counters>,
    pub(super) database_bytes: u64,
    pub(super) log_bytes: u64,
    pub(super) free_bytes: u64,
    pub(super) event_streams: u64,
    pub(super) certificate_ends: Option<i64>,
    pub(super) started: SystemTime,
    pub(super) process: Process,
}

/// What it is gathered from, beside the store and the server.
#[derive(Debug, Clone)]
pub(crate) struct Sources {
    pub(crate) version: String,
    pub(crate) event_streams: u64,
    pub(crate) certificate_ends: Option<i64>,
    pub(crate) uptime: Duration,
}

impl Snapshot {
    /// Looks at everything.
    pub(crate) async fn take(
        store: &Store,
        server: &Server<Endpoint>,
        services: &Services,
        sources: Sources,
    ) -> Result<Self, StoreError> {
        let Sources { version, event_streams, certificate_ends, uptime } = sources;
        let endpoint = server.handler();
        let size = |suffix: &str| {
            let mut name = store.path().as_os_str().to_owned();
            name.push(suffix);
            std::fs::metadata(name).map_or(0, |file| file.len())
        };
        Ok(Self {
            version,
            agents: store.agent_counts().await?,
            configs: store.config_counts().await?,
            hosting: Hosting::look(services).await?,
            sessions: sessions(server),
            server: server.clone(),
            waiting_bytes: endpoint.outgoing.waiting_bytes() as u64,
            waiting_for: endpoint.outgoing.waiting_for(clock::now()),
            is_failing: endpoint.outgoing.is_failing(),
            counters: endpoint.counters.clone(),
            database_bytes: size(""),
            log_bytes: size("-wal"),
            free_bytes: store.free_space().await?,
            event_streams,
            certificate_ends,
            started: SystemTime::now().checked_sub(uptime).unwrap_or(SystemTime::UNIX_EPOCH),
            process: Process::look(),
        })
    }
}

fn sessions(server: &Server<Endpoint>) -> [u64; 2] {
    let mut sessions = [0; 2];
    server.agents().for_each(|agent| sessions[usize::from(agent.transport() == Transport::Http)] += 1);
    sessions
}
