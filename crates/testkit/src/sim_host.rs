//! A host without an engine: it joins, connects and says that its containers are what it was told to run, or what a test
//! wants them to become. It keeps the rules of the protocol and nothing on disk.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use host_proto::desired::{DesiredState, HealthCheck, Network, ReplicaSpec, Section};
use host_proto::id::{NetworkId, ReplicaId};
use host_proto::join::{CONNECT_PATH, JOIN_PATH, JoinAnswer, JoinRequest};
use host_proto::message::{
    AgentBuild, DockerFacts, Facts, Foreign, Hello, Identity, LeftVolume, LogLine, LogLines, LogStream,
    LogsResult, Pong, ProtocolVersion, SectionResult, StateApplied, TakenBlock, TokenRotated,
};
use host_proto::report::{HealthState, ItemResult, ItemState, Outcome, ReplicaReport, ReplicaState};
use host_proto::{Frame, Secret, ToAgent, ToServer};

use crate::raw::{Connection, Response};

/// Who a machine is.
#[derive(Debug, Clone)]
pub struct Machine {
    /// `/etc/machine-id`.
    pub machine_id: String,
    /// Made by the agent.
    pub instance_id: String,
    /// Made by the kernel.
    pub boot_id: String,
    /// WireGuard key.
    pub key: String,
    /// Its name.
    pub hostname: String,
}

impl Machine {
    /// A machine of this name; another name is another machine.
    pub fn named(name: &str) -> Self {
        Self {
            machine_id: format!("machine-of-{name}"),
            instance_id: format!("instance-of-{name}"),
            boot_id: format!("first-boot-of-{name}"),
            key: format!("key-of-{name}"),
            hostname: name.to_owned(),
        }
    }

    /// What it says about itself.
    pub fn facts(&self) -> Facts {
        Facts {
            hostname: self.hostname.clone(),
            arch: "x86_64".to_owned(),
            cpu_count: 2,
            memory_bytes: 8 << 30,
            docker: Some(DockerFacts { version: "28.5.2".to_owned(), ..DockerFacts::default() }),
            ..Facts::default()
        }
    }

    /// Asks to be a host.
    ///
    /// # Errors
    /// The answer, when it is no.
    pub async fn join(&self, server: SocketAddr, token: &str) -> Result<JoinAnswer, Response> {
        let request = JoinRequest {
            join_token: Secret::new(token),
            machine_id: self.machine_id.clone(),
            instance_id: self.instance_id.clone(),
            wg_public_key: self.key.clone(),
            wg_endpoints: Vec::new(),
            facts: self.facts(),
            requested_name: None,
        };
        let body = serde_json::to_vec(&request).expect("JSON");
        let line = format!("POST {JOIN_PATH}");
        let headers = [("content-type", "application/json")];
        let answer = Connection::to(server).await.request(&line, &headers, &body).await;
        match answer.status {
            201 => Ok(serde_json::from_slice(&answer.body).expect("an answer to a join")),
            _ => Err(answer),
        }
    }
}

/// What becomes of containers of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// There is no such image.
    NoImage,
    /// Its check fails.
    Unhealthy,
    /// It starts, and goes on starting.
    Slow,
    /// Its image is asked for, and the registry does not answer.
    NoRegistry,
}

/// What a host was told and what it has.
#[derive(Debug, Default)]
pub struct Seen {
    /// The states that came, oldest first.
    pub states: Vec<DesiredState>,
    /// Its containers.
    pub replicas: BTreeMap<String, ReplicaReport>,
    /// Images that do not work.
    pub fates: BTreeMap<String, Fate>,
    /// Items that cannot be applied.
    pub items: Vec<ItemResult>,
    /// Blocks that networks of others have: it makes no network with one of them.
    pub taken: Vec<TakenBlock>,
    /// Whether it says which those are.
    pub tells_taken: bool,
    /// Volumes that it has and that no state of now lists.
    pub left_volumes: Vec<LeftVolume>,
}

impl Seen {
    /// The networks of a state that it cannot make.
    fn refused(&self, state: &DesiredState) -> Vec<ItemResult> {
        let taken = |it: &&Network| self.taken.iter().any(|taken| taken.block == it.subnet);
        let refused = |it: &Network| ItemResult {
            section: Section::Networks,
            id: it.id.to_string(),
            name: format!("network {}", it.name),
            state: ItemState::Failed,
            error: Some("create: Pool overlaps with other one on this address space".to_owned()),
            attempts: 1,
            retry_in_ms: None,
        };
        state.networks.iter().filter(taken).map(refused).collect()
    }

    /// The volumes that it has and that a state does not list.
    fn left(&self, state: &DesiredState) -> Vec<LeftVolume> {
        let unlisted = |it: &&LeftVolume| state.volumes.iter().all(|volume| volume.id != it.volume_id);
        self.left_volumes.iter().filter(unlisted).cloned().collect()
    }
}

impl Seen {
    /// The state that came last.
    ///
    /// # Panics
    /// When none did.
    pub fn last(&self) -> &DesiredState {
        self.states.last().expect("a desired state")
    }
}

/// A connected host.
pub struct SimHost {
    connection: Connection,
    /// What it knows; a test looks at it while the host lives.
    pub seen: Arc<Mutex<Seen>>,
    /// What the next hello has to show.
    pub session_secret: Option<Secret>,
}

/// How a connection begins.
#[derive(Debug, Clone, Default)]
pub struct Opening {
    /// What the last `hello_ack` gave.
    pub session_secret: Option<Secret>,
    /// What was applied last.
    pub applied: Option<(String, u64)>,
    /// What it has.
    pub replicas: Vec<ReplicaReport>,
    /// Blocks of addresses that it says are taken.
    pub blocks: Vec<TakenBlock>,
    /// What it is; what [`Machine::facts`] says when absent.
    pub facts: Option<Facts>,
    /// Its engine does not answer yet: it does not know what it has.
    pub blind: bool,
}

impl SimHost {
    /// Connects with a token; the answer when the server does not upgrade.
    ///
    /// # Errors
    /// What the server answers instead.
    pub async fn dial(server: SocketAddr, token: &str) -> Result<Connection, Response> {
        let mut connection = Connection::to(server).await;
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str()), ("sec-websocket-protocol", "hostagent.v1")];
        let answer = connection.upgrade(CONNECT_PATH, &headers).await;
        if answer.status == 101 { Ok(connection) } else { Err(answer) }
    }

    /// Connects and says hello; the first answer comes from [`Self::next`].
    ///
    /// # Panics
    /// When the server does not upgrade.
    pub async fn connect(server: SocketAddr, token: &str, machine: &Machine, opening: Opening) -> Self {
        let connection = Self::dial(server, token).await.unwrap_or_else(|answer| panic!("{}", answer.text()));
        Self::greet(connection, machine, opening).await
    }

    /// Says hello on a connection that stands.
    ///
    /// # Panics
    /// When the server is gone.
    pub async fn greet(connection: Connection, machine: &Machine, opening: Opening) -> Self {
        let mut host =
            Self { connection, seen: Arc::default(), session_secret: opening.session_secret.clone() };
        host.say(ToServer::Hello(Box::new(hello(machine, opening)))).await;
        host
    }

    /// Says something.
    ///
    /// # Panics
    /// When the server is gone.
    pub async fn say(&mut self, message: ToServer) {
        let text = Frame::plain(message).encode().expect("JSON");
        self.connection.send(1, text.as_bytes()).await;
    }

    /// Sends a text as it is.
    ///
    /// # Panics
    /// When the server is gone.
    pub async fn say_text(&mut self, text: &str) {
        self.connection.send(1, text.as_bytes()).await;
    }

    /// The next message; its close code when the server closes.
    ///
    /// # Errors
    /// The close code; 1006 when there is none.
    pub async fn next(&mut self) -> Result<Frame<ToAgent>, u16> {
        loop {
            let Some(frame) = self.connection.wait().await else { return Err(1006) };
            match frame.opcode {
                1 => {
                    let text = std::str::from_utf8(&frame.payload).expect("UTF-8");
                    return Ok(Frame::decode(text).expect("a message"));
                }
                8 => return Err(frame.close_code().unwrap_or(1005)),
                9 => drop(self.connection.try_send(10, &frame.payload).await),
                _ => {}
            }
        }
    }

    /// Does as it is told until the server closes; the close code.
    pub async fn live(mut self) -> u16 {
        loop {
            match self.next().await {
                Ok(frame) => self.obey(frame).await,
                Err(code) => return code,
            }
        }
    }

    /// Does what one message asks for.
    pub async fn obey(&mut self, frame: Frame<ToAgent>) {
        match frame.body {
            ToAgent::HelloAck(ack) => self.session_secret = Some(ack.session_secret),
            ToAgent::DesiredState(state) => {
                let applied = self.apply(*state);
                self.say(ToServer::StateApplied(Box::new(applied))).await;
            }
            ToAgent::Ping(ping) => {
                let pong = Pong { seq: ping.seq, t_us: ping.t_us, reconcile_lag_ms: None };
                self.say(ToServer::Pong(pong)).await;
            }
            ToAgent::TokenRotate(_) => {
                let rotated = ToServer::TokenRotated(TokenRotated { ok: true, error: None });
                let text = Frame::answering(frame.id, rotated).encode().expect("JSON");
                self.connection.send(1, text.as_bytes()).await;
            }
            ToAgent::LogsQuery(query) => {
                let lines = query.replica_ids.iter().map(a_line).collect();
                let result =
                    LogsResult { query_id: query.query_id, seq: 0, lines, eof: true, truncated_reason: None };
                self.say(ToServer::LogsResult(result)).await;
            }
            ToAgent::LogsSubscribe(ask) => {
                let lines = ask.replica_ids.iter().map(a_line).collect();
                let batch = LogLines { subscription_id: ask.subscription_id, seq: 1, lines, dropped: 0 };
                self.say(ToServer::LogLines(batch)).await;
            }
            _ => {}
        }
    }

    fn apply(&self, state: DesiredState) -> StateApplied {
        let mut seen = self.seen.lock().expect("no panic elsewhere");
        let mut replicas = BTreeMap::new();
        let refused = seen.refused(&state);
        for spec in &state.replicas {
            let fate = seen.fates.get(&spec.image.reference).copied();
            let lacks = |network: &NetworkId| refused.iter().any(|it| it.id == network.as_str());
            let mut report = report(spec, fate);
            if spec.networks.iter().any(|it| lacks(&it.network_id)) {
                (report.state, report.container_id) = (ReplicaState::Failed, None);
            }
            replicas.insert(spec.replica_id.to_string(), report);
        }
        let replicas_said: Vec<_> = replicas.values().cloned().collect();
        let mut removed = Vec::new();
        for (id, there) in &seen.replicas {
            match replicas.contains_key(id) {
                true => {}
                // A state that adopts takes nothing away.
                false if state.adopt => drop(replicas.insert(id.clone(), there.clone())),
                false => removed.push(there.replica_id.clone()),
            }
        }
        let items: Vec<ItemResult> = seen.items.iter().cloned().chain(refused).collect();
        let applied = StateApplied {
            epoch: state.epoch.clone(),
            generation: state.generation,
            result: if items.is_empty() { Outcome::Applied } else { Outcome::Partial },
            refused_reason: None,
            sections: sections(&state, &items),
            items,
            replicas: replicas_said,
            removed,
            net_selftest: None,
            blocks: seen.tells_taken.then(|| seen.taken.clone()),
            left_volumes: Some(seen.left(&state)),
            duration_ms: 1,
        };
        seen.replicas = replicas;
        seen.states.push(state);
        applied
    }
}

/// How each section went: well, but for what items say.
fn sections(state: &DesiredState, items: &[ItemResult]) -> BTreeMap<Section, SectionResult> {
    let result = |section: &Section| SectionResult {
        ok: !items.iter().any(|item| item.section == *section),
        hash: state.section_hashes.get(section).cloned().unwrap_or_default(),
        error: None,
    };
    Section::ALL.iter().map(|section| (*section, result(section))).collect()
}

/// What every replica has printed, whenever it is asked.
fn a_line(replica_id: &ReplicaId) -> LogLine {
    LogLine {
        ts_us: 1_700_000_000_000_000,
        replica_id: replica_id.clone(),
        stream: LogStream::Out,
        text: Some("a line".to_owned()),
        b64: None,
        partial: false,
    }
}

fn hello(machine: &Machine, opening: Opening) -> Hello {
    let Opening { session_secret, applied, replicas, blocks, facts, blind } = opening;
    let (epoch, generation) = applied.map_or((None, 0), |(epoch, generation)| (Some(epoch), generation));
    Hello {
        protocol: ProtocolVersion::CURRENT,
        features: Vec::new(),
        agent: AgentBuild { version: "0.0.0-sim".to_owned(), ..AgentBuild::default() },
        identity: Identity {
            machine_id: machine.machine_id.clone(),
            instance_id: machine.instance_id.clone(),
            boot_id: machine.boot_id.clone(),
            wg_public_key: machine.key.clone(),
            session_secret_prev: session_secret,
        },
        time_at: "2026-01-01T00:00:00Z".to_owned(),
        facts: facts.unwrap_or_else(|| machine.facts()),
        epoch,
        generation,
        section_hashes: BTreeMap::new(),
        from_cache: false,
        cache_age_ms: None,
        replicas,
        replicas_known: !blind,
        foreign: Foreign { blocks, ..Foreign::default() },
    }
}

fn report(spec: &ReplicaSpec, fate: Option<Fate>) -> ReplicaReport {
    let checked = !matches!(spec.health.check, HealthCheck::None | HealthCheck::Disabled);
    let (state, health, error) = match fate {
        Some(Fate::NoImage) => (ReplicaState::Failed, HealthState::None, Some("no such image".to_owned())),
        Some(Fate::Unhealthy) => {
            let error = Some("health check: nobody answers".to_owned());
            (ReplicaState::Unhealthy, HealthState::Unhealthy, error)
        }
        Some(Fate::NoRegistry) => {
            let error = Some("the registry does not answer".to_owned());
            (ReplicaState::Creating, HealthState::None, error)
        }
        Some(Fate::Slow) => (ReplicaState::Starting, HealthState::None, None),
        None if checked => (ReplicaState::Running, HealthState::Healthy, None),
        None => (ReplicaState::Running, HealthState::None, None),
    };
    let ids = (spec.replica_id.clone(), spec.service_id.clone(), spec.release_id.clone());
    ReplicaReport {
        container_id: Some("c0ffee".to_owned()),
        health,
        last_error: error,
        ..ReplicaReport::of(ids, &spec.spec_hash, state)
    }
}
