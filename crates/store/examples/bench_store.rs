//! What the store costs: CPU per new agent, per changed health and per reconnect, latency of lists, size of the
//! file. Reads CPU time from the system, since wall times on a shared machine say little. By hand:
//! `cargo run --release -p store --example bench_store [AGENTS] [DIRECTORY]`
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::path::Path;
use std::time::{Duration, Instant};

use model::{Attribute, CredentialId, Selector, SessionEpoch, TokenHash, Transport, UnixMillis};
use opamp_proto::wire::{
    AgentConfigFile, AgentConfigMap, AgentDescription, ComponentHealth, EffectiveConfig, KeyValue,
    Message as _,
};
use opamp_proto::{AgentCapabilities, InstanceUid, Part};
use store::{
    AgentQuery, AgentSort, AgentWrite, AuditEntry, Enrolment, Mark, NewCredential, OpenOptions, SessionStart,
    Store,
};

const NOW: UnixMillis = UnixMillis(1_700_000_000_000);
const BATCH: usize = 500;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let agents: u32 = arguments.next().map_or(100_000, |text| text.parse().unwrap());
    let temporary = tempfile::tempdir().unwrap();
    let directory = arguments.next().map_or(temporary.path().to_owned(), Into::into);
    let path = directory.join("muster.db");
    let store = Store::open(OpenOptions::serve(&path, "bench"), NOW).unwrap();
    let credential = credential(&store).await;
    let epoch = |session| SessionEpoch { server: store.server_epoch(), session };
    let mut order: Vec<u32> = (0..agents).collect();

    println!("{agents} agents, batches of {BATCH}; µs of CPU per agent, wall in brackets");
    let mut clock = Clock::start();
    for batch in order.chunks(BATCH) {
        let batch: Vec<_> = batch
            .iter()
            .map(|n| Enrolment { credential, now: NOW, first: full_report(*n, epoch(1)) })
            .collect();
        clock.measure(store.enrol(batch)).await.unwrap();
    }
    clock.print("new agent (enrol, durable)", agents);

    shuffle(&mut order);
    let health = |n: u32, round: u32| {
        let mut write = AgentWrite::new(uid(n), epoch(1), NOW);
        write.parts.set(Part::Health, Some(health(round, round.is_multiple_of(2)).into()));
        write
    };
    for (name, round) in [("changed health, also healthy and status", 1), ("changed health, details only", 3)]
    {
        clock = Clock::start();
        for batch in order.chunks(BATCH) {
            let batch = batch.iter().map(|n| health(*n, round)).collect();
            clock.measure(store.write_agents(batch)).await.unwrap();
        }
        clock.print(name, agents);
    }

    for (name, session) in
        [("reconnect, same content (new session)", 2), ("same report again, same session", 2)]
    {
        clock = Clock::start();
        for batch in order.chunks(BATCH) {
            let again = |n: &u32| {
                let mut write = full_report(*n, epoch(session));
                write.parts.set(Part::Health, Some(self::health(3, false).into()));
                write
            };
            let batch = batch.iter().map(again).collect();
            clock.measure(store.write_agents(batch)).await.unwrap();
        }
        clock.print(name, agents);
    }

    joins(&store, credential, agents).await;
    lists(&store).await;
    let uids: Vec<_> = order.iter().take(5000).map(|n| uid(*n)).collect();
    clock = Clock::start();
    for uid in &uids {
        clock.measure(store.get_agent(*uid)).await.unwrap().unwrap();
    }
    clock.print("get_agent with all parts", 5000);
    store.close();
    for suffix in ["", "-wal"] {
        let file = path.with_file_name(format!("muster.db{suffix}"));
        let size = std::fs::metadata(&file).map_or(0, |data| data.len());
        println!(
            "{:<44} {:>8.1} MB, {} B per agent",
            file.display(),
            size as f64 / 1e6,
            size / u64::from(agents)
        );
    }
    println!("resident {} kB", resident_kb());
}

/// Agents that come as they do: few share a commit, and each goes again. Measured as a whole, with what the store puts
/// off.
async fn joins(store: &Store, credential: model::CredentialId, agents: u32) {
    const SHARE: usize = 24;
    let epoch = SessionEpoch { server: store.server_epoch(), session: 1 };
    let come: Vec<u32> = (agents..agents + agents / 4).collect();
    let batches: Vec<Vec<Enrolment>> = come
        .chunks(SHARE)
        .map(|batch| {
            let batch = batch.iter();
            batch.map(|n| Enrolment { credential, now: NOW, first: full_report(*n, epoch) }).collect()
        })
        .collect();
    let mut clock = Clock::start();
    clock
        .measure(async {
            for batch in batches {
                store.enrol(batch).await.unwrap();
            }
            store.agent_counts().await.unwrap();
        })
        .await;
    clock.print(&format!("new agent, {SHARE} to a commit"), agents / 4);
    let gone = |n: &u32| {
        let mut write = AgentWrite::new(uid(*n), epoch, NOW);
        write.mark = Some(Mark::Disconnected(NOW));
        write
    };
    clock = Clock::start();
    for batch in come.chunks(BATCH) {
        let batch = batch.iter().map(gone).collect();
        clock.measure(store.write_agents(batch)).await.unwrap();
    }
    clock.print("disconnected", agents / 4);
}

/// What the agents enrol with.
async fn credential(store: &Store) -> CredentialId {
    let new = NewCredential {
        label: "bench".into(),
        hash: TokenHash::of("bench"),
        created_at: NOW,
        expires_at: None,
    };
    store.create_credential(new, AuditEntry::of_system(NOW, "token.create", "token")).await.unwrap().id
}

async fn lists(store: &Store) {
    let all = AgentQuery::default;
    let selector = |text: &str| AgentQuery { selector: Selector::parse(text).unwrap(), ..all() };
    let sort = |text: &str| AgentQuery { sort: AgentSort::parse(text).unwrap(), ..all() };
    let text = |text: &str| AgentQuery { text: Some(text.into()), ..all() };
    let last = store.list_agents(AgentQuery { limit: 500, ..sort("-last_seen") }).await.unwrap();
    for (name, query) in [
        ("first page by name", all()),
        ("by -last_seen", sort("-last_seen")),
        ("by -last_seen, second page", AgentQuery { cursor: last.next, ..sort("-last_seen") }),
        ("by health", sort("health")),
        ("by state", sort("-state")),
        ("selector: one agent", selector("host.name=host-000777")),
        ("selector: all agents", selector("os.type=linux")),
        ("selector: 1 of 100", selector("deployment.environment=env-7")),
        (
            "selector: three requirements",
            selector("os.type=linux,deployment.environment!=env-7,host.arch in (amd64,arm64)"),
        ),
        ("selector: key exists", selector("service.namespace")),
        ("text: one agent", text("host-000777")),
        ("text: all agents", text("otelcol")),
        ("text: none", text("nowhere")),
        (
            "selector, text and sort",
            AgentQuery {
                text: Some("host-0007".into()),
                ..AgentQuery { sort: AgentSort::parse("-last_seen").unwrap(), ..selector("os.type=linux") }
            },
        ),
    ] {
        let mut times = Vec::new();
        let mut total = 0;
        for _ in 0..40 {
            let start = Instant::now();
            total = store.list_agents(query.clone()).await.unwrap().total;
            times.push(start.elapsed());
        }
        print_times(&format!("list, {name} ({total})"), times);
    }
    let mut times = Vec::new();
    for _ in 0..40 {
        let start = Instant::now();
        store.agent_counts().await.unwrap();
        times.push(start.elapsed());
    }
    print_times("counts", times);
}

fn print_times(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!("{name:<52} p50 {:>7.2} ms, p99 {:>7.2} ms", at(0.5), at(0.99));
}

/// CPU and wall time of the measured calls alone, without the making of their arguments.
struct Clock {
    cpu: Duration,
    wall: Duration,
    written: u64,
}

impl Clock {
    fn start() -> Self {
        Self { cpu: Duration::ZERO, wall: Duration::ZERO, written: 0 }
    }

    async fn measure<T>(&mut self, call: impl Future<Output = T>) -> T {
        let (cpu, wall, written) = (cpu_time(), Instant::now(), bytes_written());
        let value = call.await;
        self.wall += wall.elapsed();
        self.cpu += cpu_time().saturating_sub(cpu);
        self.written += bytes_written() - written;
        value
    }

    fn print(&self, name: &str, count: u32) {
        let per = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(count);
        let written = self.written / u64::from(count);
        println!("{name:<52} {:>7.2} µs ({:.2}), {written} B written", per(self.cpu), per(self.wall));
    }
}

/// CPU time of all threads that live, in nanoseconds as the scheduler counts.
fn cpu_time() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let nanos = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}

/// Bytes that went to the files, log and checkpoints together.
fn bytes_written() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("wchar: "));
    line.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn resident_kb() -> String {
    let status = std::fs::read_to_string(Path::new("/proc/self/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
    line.split_whitespace().nth(1).unwrap_or_default().to_owned()
}

/// Multiplicative hashing: reproducible and as good as random for the indexes.
fn mix(n: u32) -> u64 {
    (u64::from(n) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn shuffle(order: &mut [u32]) {
    order.sort_by_key(|n| mix(*n).rotate_left(20));
}

fn uid(n: u32) -> InstanceUid {
    let mut bytes = [0x5a; 16];
    bytes[..8].copy_from_slice(&mix(n).to_be_bytes());
    InstanceUid::try_from_slice(&bytes).unwrap()
}

/// 12 attributes, about 700 B.
fn description(n: u32) -> Vec<u8> {
    let pair = |(key, value): (&str, String)| KeyValue::from(Attribute::new(key, value.as_str().into()));
    let random = mix(n);
    AgentDescription {
        identifying_attributes: [
            ("service.name", "otelcol-contrib".to_owned()),
            ("service.namespace", "telemetry".to_owned()),
            ("service.version", format!("0.{}.0", 130 + n % 5)),
            ("service.instance.id", uid(n).to_string()),
        ]
        .map(pair)
        .into(),
        non_identifying_attributes: [
            ("os.type", "linux".to_owned()),
            ("os.description", "Debian GNU/Linux 12 (bookworm), kernel 6.1.0-28-cloud-amd64".to_owned()),
            ("host.arch", ["amd64", "arm64"][(n % 2) as usize].to_owned()),
            ("host.name", format!("host-{n:06}")),
            ("host.id", format!("{random:016x}{:016x}", random.rotate_left(17))),
            ("process.pid", format!("{}", random % 32_768)),
            ("deployment.environment", format!("env-{}", random % 100)),
            (
                "process.command_line",
                format!(
                    "/usr/bin/otelcol-contrib --config=/etc/otelcol/config.yaml {}",
                    "--feature-gates=x ".repeat(8)
                ),
            ),
        ]
        .map(pair)
        .into(),
    }
    .encode_to_vec()
}

/// Six components, about 500 B.
fn health(round: u32, healthy: bool) -> Vec<u8> {
    let part = |name: &str| {
        let status = "StatusOK".to_owned();
        let health = ComponentHealth {
            healthy: true,
            status,
            status_time_unix_nano: u64::from(round) + 7,
            start_time_unix_nano: 1_700_000_000_000_000_000,
            ..Default::default()
        };
        (format!("pipeline:{name}/the-usual-suspects"), health)
    };
    ComponentHealth {
        healthy,
        status: if healthy { "StatusOK" } else { "StatusRecoverableError" }.into(),
        start_time_unix_nano: 1_700_000_000_000_000_000,
        status_time_unix_nano: 1_700_000_000_000_000_000 + u64::from(round),
        component_health_map: ["traces", "metrics", "logs", "extensions", "profiles", "other"]
            .map(part)
            .into(),
        ..Default::default()
    }
    .encode_to_vec()
}

/// 2 kB that no other agent has.
fn effective_config(n: u32) -> Vec<u8> {
    let body = format!("# agent {n}\n{}", "receivers:\n  otlp:\n    protocols:\n".repeat(60));
    let file = AgentConfigFile { body: body.into(), content_type: "text/yaml".into(), ..Default::default() };
    let config_map = Some(AgentConfigMap { config_map: [(String::new(), file)].into() });
    EffectiveConfig { config_map }.encode_to_vec()
}

fn full_report(n: u32, epoch: SessionEpoch) -> AgentWrite {
    let start = SessionStart {
        transport: Transport::WebSocket,
        peer_address: format!("10.0.{}.1:4000", n % 256),
        since: NOW,
    };
    let mut write = AgentWrite::new(uid(n), epoch, UnixMillis(NOW.0 + i64::from(n)));
    write.session = Some(start);
    write.capabilities = Some(AgentCapabilities::from_bits(0x3807));
    write.parts.set(Part::Description, Some(description(n).into()));
    write.parts.set(Part::Health, Some(health(0, true).into()));
    write.parts.set(Part::EffectiveConfig, Some(effective_config(n).into()));
    write
}
