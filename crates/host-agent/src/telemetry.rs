//! What goes out without being asked for: counters every 30 seconds and when the engine has come, gone or become another
//! one (REQ-8), and the host's own last lines, at once for a step of a deployment (REQ-9). All of it can be dropped; the
//! lines are sent again on the next connection.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use host_drivers::metrics;
use host_proto::message::{AgentMetrics, DockerFacts, EngineMetrics, Intervals, Metrics, ToServer};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::clock::wall;
use crate::handles::{LinkHandle, Snapshot};
use crate::hostlog::HostLog;
use crate::options::Options;

/// Lines that come this closely go out together.
const GATHER: Duration = Duration::from_millis(250);
/// Lines that are not urgent wait so long.
const LINES_EVERY: Duration = Duration::from_secs(30);

pub(crate) struct Telemetry {
    pub(crate) options: Arc<Options>,
    pub(crate) log: HostLog,
    pub(crate) seen: watch::Receiver<Snapshot>,
    pub(crate) online: watch::Receiver<Option<Intervals>>,
    pub(crate) link: LinkHandle,
}

impl Telemetry {
    /// Runs until the link is gone.
    pub(crate) async fn run(mut self) {
        let (mut measured, mut connects) = (0, 0);
        let mut next_line = 1;
        // What was last said of the engine.
        let mut engine = None;
        let (mut measure_at, mut lines_at) = (Instant::now(), Instant::now());
        loop {
            let intervals = *self.online.borrow_and_update();
            let Some(intervals) = intervals else {
                if self.online.changed().await.is_err() {
                    return;
                }
                // A new connection hears everything that is still here: what it has of it, it knows by its numbers.
                next_line = 1;
                connects += 1;
                (measure_at, lines_at) = (Instant::now(), Instant::now());
                continue;
            };
            tokio::select! {
                changed = self.online.changed() => {
                    if changed.is_err() { return }
                }
                Ok(()) = self.seen.changed() => {
                    if self.seen.borrow_and_update().docker != engine {
                        measure_at = Instant::now();
                    }
                }
                () = self.log.urgent() => lines_at = lines_at.min(Instant::now() + GATHER),
                () = sleep_until(lines_at) => {
                    lines_at = Instant::now() + LINES_EVERY;
                    if let Some(tail) = self.log.since(next_line) {
                        next_line = tail.seq + tail.lines.len() as u64;
                        self.link.send(ToServer::HostLogsTail(tail));
                    }
                }
                () = sleep_until(measure_at) => {
                    measure_at = Instant::now() + Duration::from_millis(intervals.metrics_ms.clamp(1_000, 600_000));
                    measured += 1;
                    engine = self.measure(measured, connects).await;
                }
            }
        }
    }

    /// Says how things are; what it said of the engine.
    async fn measure(&self, measured: u64, connects: u64) -> Option<DockerFacts> {
        let (options, seen) = (self.options.clone(), self.seen.borrow().clone());
        let engine = seen.docker.clone();
        let measuring = tokio::task::spawn_blocking(move || measure(&options, &seen, measured, connects));
        if let Ok(metrics) = measuring.await {
            self.link.send(ToServer::Metrics(Box::new(metrics)));
        }
        engine
    }
}

/// Reads the counters; takes some milliseconds.
fn measure(options: &Options, seen: &Snapshot, seq: u64, connects: u64) -> Metrics {
    let mut places = vec![Path::new("/"), options.data_dir.as_path()];
    let root = seen.docker.as_ref().map(|docker| docker.root_dir.as_str()).filter(|root| !root.is_empty());
    places.extend(root.map(Path::new));
    Metrics {
        seq,
        at: wall(),
        host: metrics::host(&places),
        engine: EngineMetrics {
            containers: seen.containers,
            up: seen.docker.is_some(),
            facts: seen.docker.clone(),
        },
        agent: AgentMetrics {
            reconciles: seen.reconciles,
            reconciles_with_changes: seen.reconciles_with_changes,
            reconcile_last_us: seen.reconcile_last_us,
            connects,
            ..metrics::agent()
        },
        replicas: seen.actual.as_deref().map(metrics::replicas).unwrap_or_default(),
        dropped_before: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn req_8_counters_only_grow() {
        let options = Options::default();
        let first = measure(&options, &Snapshot::default(), 1, 1);
        let second = measure(&options, &Snapshot::default(), 2, 1);
        assert!(first.host.cpu_total_us > 0 && first.agent.rss_bytes > 0 && !first.host.disk.is_empty());
        assert!(second.host.cpu_total_us >= first.host.cpu_total_us);
        assert!(second.agent.cpu_us >= first.agent.cpu_us);
    }
}
