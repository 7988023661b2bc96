//! Asks replicas themselves whether they work, where a state says `http` or `tcp`: by a connection from the host to the
//! container's address. When to ask and what the answers mean stands in `reconcile::probe`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use host_proto::desired::{Health, HealthCheck};
use host_proto::id::ReplicaId;
use host_proto::report::HealthState;
use host_proto::{DesiredState, Moment};
use reconcile::probe::Probe;
use reconcile::{Actual, ContainerState};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

/// The status line of an answer is read up to here.
const STATUS_LINE: usize = 1024;

/// What is known of the replicas that the host asks itself.
pub type States = BTreeMap<ReplicaId, HealthState>;

/// A replica to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Which run of which container: another run is asked anew.
    pub run: (String, Option<String>),
    /// Its address.
    pub ip: Ipv4Addr,
    /// What is asked, and how.
    pub health: Health,
}

/// Which replicas are to be asked: those that run and whose check is the host's.
pub fn targets(desired: &DesiredState, actual: &Actual) -> BTreeMap<ReplicaId, Target> {
    let mut targets = BTreeMap::new();
    for container in actual.containers.known().into_iter().flatten() {
        let spec = desired.replicas.iter().find(|spec| spec.replica_id == container.replica_id);
        let Some(spec) = spec.filter(|spec| spec.spec_hash == container.spec_hash) else { continue };
        let ours = matches!(spec.health.check, HealthCheck::Http { .. } | HealthCheck::Tcp { .. });
        let address = spec.networks.first().map(|at| at.ip);
        if let Some(ip) = address.filter(|_| ours && container.state == ContainerState::Running) {
            let started = container.details.as_ref().and_then(|details| details.started_at.clone());
            let run = (container.id.clone(), started);
            targets.insert(spec.replica_id.clone(), Target { run, ip, health: spec.health.clone() });
        }
    }
    targets
}

/// The task that asks. It ends when this is dropped.
#[derive(Debug)]
pub struct Prober {
    targets: mpsc::Sender<BTreeMap<ReplicaId, Target>>,
    states: watch::Receiver<States>,
}

impl Prober {
    /// Starts the task.
    pub fn spawn() -> Self {
        let (targets, commands) = mpsc::channel(4);
        let (publish, states) = watch::channel(States::new());
        let task = Task { probes: BTreeMap::new(), asked: JoinSet::new(), began: Instant::now(), publish };
        tokio::spawn(task.run(commands));
        Self { targets, states }
    }

    /// Says whom to ask from now on.
    pub async fn ask(&self, targets: BTreeMap<ReplicaId, Target>) {
        // The task lives as long as this does.
        let _ = self.targets.send(targets).await;
    }

    /// What is known. Changes wake whoever waits for them.
    pub fn states(&self) -> watch::Receiver<States> {
        self.states.clone()
    }
}

struct Task {
    probes: BTreeMap<ReplicaId, (Target, Probe)>,
    asked: JoinSet<(ReplicaId, Target, bool)>,
    began: Instant,
    publish: watch::Sender<States>,
}

impl Task {
    async fn run(mut self, mut commands: mpsc::Receiver<BTreeMap<ReplicaId, Target>>) {
        loop {
            self.ask_due();
            let next = self.probes.values().filter_map(|(_, probe)| probe.due_at()).min();
            let wake = next.map(|at| self.began + Duration::from_millis(at.0));
            tokio::select! {
                command = commands.recv() => match command {
                    Some(targets) => self.take(targets),
                    None => return,
                },
                Some(Ok((id, target, works))) = self.asked.join_next() => self.answered(&id, &target, works),
                () = sleep_until(wake.unwrap_or(self.began)), if wake.is_some() => {}
            }
        }
    }

    fn now(&self) -> Moment {
        Moment(u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    fn take(&mut self, targets: BTreeMap<ReplicaId, Target>) {
        let now = self.now();
        let wanted: BTreeSet<&ReplicaId> = targets.keys().collect();
        self.probes.retain(|id, _| wanted.contains(id));
        for (id, target) in targets {
            let same = self.probes.get(&id).is_some_and(|(known, _)| *known == target);
            if !same {
                let probe = Probe::new(target.health.clone(), now);
                self.probes.insert(id, (target, probe));
            }
        }
        self.tell();
    }

    fn ask_due(&mut self) {
        let now = self.now();
        for (id, (target, probe)) in &mut self.probes {
            if probe.due_at().is_some_and(|at| at <= now) {
                probe.ask();
                let (id, target, limit) = (id.clone(), target.clone(), probe.timeout());
                self.asked.spawn(async move {
                    let works = timeout(limit, ask(&target)).await.unwrap_or_default();
                    (id, target, works)
                });
            }
        }
    }

    /// An answer about a run that is over says nothing about the one that came after it.
    fn answered(&mut self, id: &ReplicaId, target: &Target, works: bool) {
        let now = self.now();
        let known = self.probes.get_mut(id).filter(|(known, _)| known == target);
        if known.is_some_and(|(_, probe)| probe.answer(now, works).is_some()) {
            self.tell();
        }
    }

    fn tell(&self) {
        let states: States = self.probes.iter().map(|(id, (_, probe))| (id.clone(), probe.state())).collect();
        self.publish.send_if_modified(|known| {
            let changed = *known != states;
            *known = states;
            changed
        });
    }
}

async fn ask(target: &Target) -> bool {
    match &target.health.check {
        HealthCheck::Tcp { port } => TcpStream::connect((target.ip, *port)).await.is_ok(),
        HealthCheck::Http { path, port, expect } => {
            let at = SocketAddr::from((target.ip, *port));
            status(at, path).await.is_some_and(|status| is_expected(status, expect))
        }
        HealthCheck::None | HealthCheck::Disabled | HealthCheck::Exec { .. } | HealthCheck::Unknown => false,
    }
}

fn is_expected(status: u16, expect: &[u16]) -> bool {
    if expect.is_empty() { (200..400).contains(&status) } else { expect.contains(&status) }
}

/// The status that a server answers a plain request with. Only the first line is read: a page may be long.
async fn status(at: SocketAddr, path: &str) -> Option<u16> {
    let clean = path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic());
    if !clean {
        return None;
    }
    let mut stream = TcpStream::connect(at).await.ok()?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {at}\r\nUser-Agent: muster\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut head = Vec::new();
    let mut limited = stream.take(STATUS_LINE as u64);
    while !head.contains(&b'\n') && limited.read_buf(&mut head).await.ok()? > 0 {}
    let line = std::str::from_utf8(head.split(|byte| *byte == b'\r').next()?).ok()?;
    let rest = line.strip_prefix("HTTP/1.1 ").or_else(|| line.strip_prefix("HTTP/1.0 "))?;
    rest.get(..3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    fn target(port: u16, run: &str, check: &str) -> Target {
        let health = format!(
            r#"{{"check": "{check}", "port": {port}, "path": "/health", "interval_ms": 100, "timeout_ms": 1000,
                 "retries": 1, "success_threshold": 2}}"#
        );
        Target {
            run: (run.to_owned(), None),
            ip: Ipv4Addr::LOCALHOST,
            health: serde_json::from_str(&health).unwrap(),
        }
    }

    async fn wait(prober: &Prober, wanted: HealthState) {
        let mut states = prober.states();
        let reached = states.wait_for(|states| states.values().any(|state| *state == wanted));
        timeout(Duration::from_secs(10), reached).await.expect("the state").unwrap();
    }

    /// Answers every connection with this; as often as asked.
    async fn server(listener: TcpListener, answer: &'static str) {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 1000];
            let read = stream.read(&mut request).await.unwrap_or_default();
            assert!(read == 0 || request.starts_with(b"GET /health HTTP/1.1\r\n"));
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    }

    #[tokio::test]
    async fn r68_a_replica_is_healthy_by_its_answers_and_unhealthy_without() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let serving = tokio::spawn(server(listener, "HTTP/1.1 204 No Content\r\n\r\n"));
        let prober = Prober::spawn();
        let id: ReplicaId = "rep_1".parse().unwrap();
        prober.ask([(id.clone(), target(port, "one", "http"))].into()).await;
        wait(&prober, HealthState::Healthy).await;
        serving.abort();
        wait(&prober, HealthState::Unhealthy).await;
        prober.ask([(id.clone(), target(port, "two", "tcp"))].into()).await;
        let mut states = prober.states();
        states.wait_for(|states| states[&id] != HealthState::Healthy).await.unwrap();
        prober.ask(BTreeMap::new()).await;
        timeout(Duration::from_secs(10), states.wait_for(BTreeMap::is_empty)).await.expect("nobody").unwrap();
    }

    #[tokio::test]
    async fn a_wrong_status_or_no_http_at_all_is_no_health() {
        for (answer, expected) in [
            ("HTTP/1.1 503 Busy\r\n\r\n", Some(503)),
            ("HTTP/1.0 200 OK\r\n\r\n", Some(200)),
            ("SSH-2.0-x\r\n", None),
            ("", None),
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let at = listener.local_addr().unwrap();
            tokio::spawn(server(listener, answer));
            assert_eq!(status(at, "/health").await, expected, "{answer}");
            assert_eq!(status(at, "/a b\r\nX: y").await, None);
        }
        assert!(is_expected(302, &[]) && !is_expected(500, &[]) && is_expected(500, &[500]));
    }
}
