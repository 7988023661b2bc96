//! The page in the OpenMetrics format. Every name on it is used by the alerts and the dashboard in docs/operations, or
//! could be; a test holds both together.

use std::fmt;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use model::ConfigState;
use opamp_server::Transport;
use opamp_server::traffic::{Count, Flow, Reason};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::hosting::Hosting;
use super::{OUTCOMES, Snapshot};

/// The type of the page.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const TRANSPORTS: [(&str, Transport); 2] = [("websocket", Transport::WebSocket), ("http", Transport::Http)];

/// Writes the page.
pub(crate) fn write(snapshot: Snapshot) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(snapshot));
    let mut page = String::with_capacity(16 * 1024);
    text::encode(&mut page, &registry)?;
    Ok(page)
}

impl Collector for Snapshot {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut page = Page(encoder);
        self.agents(&mut page)?;
        self.hosting(&mut page)?;
        self.messages(&mut page)?;
        self.store(&mut page)?;
        self.people(&mut page)?;
        self.process(&mut page)
    }
}

impl Snapshot {
    fn agents(&self, page: &mut Page<'_>) -> fmt::Result {
        let agents = &self.agents;
        let states = [
            ("connected", agents.connected),
            ("silent", agents.silent),
            ("disconnected", agents.disconnected),
            ("replaced", agents.replaced),
        ];
        page.gauges("muster_agents", "Agents that are known, by state", "state", states)?;
        let live = agents.connected + agents.silent;
        let healths = [
            ("healthy", agents.healthy),
            ("unhealthy", agents.unhealthy),
            ("unknown", live.saturating_sub(agents.healthy + agents.unhealthy)),
        ];
        page.gauges("muster_agents_health", "Connected and silent agents, by health", "health", healths)?;
        let configs =
            ConfigState::ALL.map(|state| (state.as_str(), self.configs.get(&state).copied().unwrap_or(0)));
        page.gauges("muster_agents_config", "Agents, by state of their configuration", "state", configs)?;
        let sessions = [("websocket", self.sessions[0]), ("http", self.sessions[1])];
        page.gauges("muster_opamp_sessions", "Live sessions of agents, by transport", "transport", sessions)?;
        let websockets = self.server.websockets() as u64;
        page.gauge("muster_opamp_websockets", "WebSockets that are open", websockets as f64)?;
        let enrolments = OUTCOMES.iter().zip(&self.counters.enrolments);
        let enrolments = enrolments.map(|(word, count)| (*word, count.load(Ordering::Relaxed)));
        page.counters(
            "muster_enrolments",
            "Agents that asked to be let in, by outcome",
            "outcome",
            enrolments,
        )
    }

    fn hosting(&self, page: &mut Page<'_>) -> fmt::Result {
        let Hosting { hosts, adopting, without_engine, services, wanted, ready, deployments } = &self.hosting;
        page.gauges("muster_hosts", "Hosts, by state", "state", hosts.iter().copied())?;
        let adopts = "Hosts that remove nothing until an operator says so";
        page.gauge("muster_hosts_adopting", adopts, *adopting as f64)?;
        let lacks = "Hosts that are connected and have no container engine that answers";
        page.gauge("muster_hosts_without_engine", lacks, *without_engine as f64)?;
        page.gauges("muster_services", "Services, by state", "state", services.iter().copied())?;
        let replicas = [("wanted", *wanted), ("ready", *ready)];
        page.gauges("muster_replicas", "Replicas that are wanted, and that work", "state", replicas)?;
        let help = "Deployments that came to an end, by outcome";
        page.counters("muster_deployments", help, "outcome", deployments.iter().copied())
    }

    fn messages(&self, page: &mut Page<'_>) -> fmt::Result {
        /// Name, help, and the count that is meant.
        type Line = (&'static str, &'static str, fn(&Flow) -> &Count);
        let flows: [Line; 6] = [
            ("muster_opamp_messages_received", "Messages from agents", |flow| &flow.messages_in),
            ("muster_opamp_received_bytes", "Bytes of messages from agents, unpacked", |flow| &flow.bytes_in),
            ("muster_opamp_messages_sent", "Messages to agents", |flow| &flow.messages_out),
            ("muster_opamp_sent_bytes", "Bytes of messages to agents, unpacked", |flow| &flow.bytes_out),
            ("muster_opamp_reports", "Messages that changed what is known of an agent", |flow| &flow.reports),
            ("muster_opamp_heartbeats", "Messages that were processed and changed nothing", |flow| {
                &flow.heartbeats
            }),
        ];
        let traffic = self.server.traffic();
        for (name, help, of) in flows {
            let values = TRANSPORTS.map(|(word, transport)| (word, of(traffic.over(transport)).get()));
            page.counters(name, help, "transport", values)?;
        }
        let refused = Reason::ALL.map(|reason| (reason.as_str(), traffic.refused(reason).get()));
        page.counters("muster_opamp_refused", "Requests and messages that were refused", "reason", refused)
    }

    fn store(&self, page: &mut Page<'_>) -> fmt::Result {
        page.gauge(
            "muster_write_behind_bytes",
            "Reported bytes that wait for the database",
            self.waiting_bytes as f64,
        )?;
        page.gauge(
            "muster_write_behind_age_seconds",
            "How long the oldest change waits for the database",
            self.waiting_for.as_secs_f64(),
        )?;
        let failing = f64::from(u8::from(self.is_failing));
        page.gauge("muster_write_behind_failing", "1 while the database takes no writes", failing)?;
        let batch = &self.counters.batch;
        page.metric("muster_store_batch_seconds", "Time to write a batch of changes", batch)?;
        let enrolment = &self.counters.enrolment;
        page.metric(
            "muster_store_enrolment_seconds",
            "Time until an agent is enrolled, on the disk",
            enrolment,
        )?;
        let files = [("database", self.database_bytes), ("log", self.log_bytes)];
        page.gauges("muster_database_bytes", "Size of the database's files", "file", files)?;
        page.gauge(
            "muster_disk_free_bytes",
            "Room on the disk that holds the database",
            self.free_bytes as f64,
        )
    }

    fn people(&self, page: &mut Page<'_>) -> fmt::Result {
        page.gauge("muster_event_streams", "Consoles that follow changes", self.event_streams as f64)?;
        let failed = self.counters.logins_failed.load(Ordering::Relaxed);
        page.metric("muster_logins_failed", "Logins that failed", &ConstCounter::new(failed))?;
        if let Some(ends) = self.certificate_ends {
            page.gauge(
                "muster_certificate_end_seconds",
                "When the server's certificate ends, since 1970",
                ends as f64,
            )?;
        }
        page.gauges(
            "muster_build_info",
            "The version, as a label of the value 1",
            "version",
            [(&*self.version, 1)],
        )
    }

    fn process(&self, page: &mut Page<'_>) -> fmt::Result {
        let process = &self.process;
        let cpu = ConstCounter::new(process.cpu.as_secs_f64());
        page.metric("process_cpu_seconds", "Time on processors, user and system", &cpu)?;
        page.gauge("process_resident_memory_bytes", "Resident memory", process.resident as f64)?;
        page.gauge("process_open_fds", "Open file descriptors", process.open_fds as f64)?;
        page.gauge("process_max_fds", "How many file descriptors may be open", process.max_fds as f64)?;
        let started = self.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        page.gauge("process_start_time_seconds", "When the server started, since 1970", started.as_secs_f64())
    }
}

/// The page that is being written.
struct Page<'a>(DescriptorEncoder<'a>);

impl Page<'_> {
    fn metric(&mut self, name: &str, help: &str, metric: &dyn EncodeMetric) -> fmt::Result {
        let encoder = self.0.encode_descriptor(name, help, None, metric.metric_type())?;
        metric.encode(encoder)
    }

    fn gauge(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        self.metric(name, help, &ConstGauge::new(value))
    }

    fn gauges<'w>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'w str, u64)>,
    ) -> fmt::Result {
        let values = values.into_iter().map(|(word, value)| (word, ConstGauge::new(value as f64)));
        self.family(name, help, label, values)
    }

    fn counters<'w>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'w str, u64)>,
    ) -> fmt::Result {
        self.family(
            name,
            help,
            label,
            values.into_iter().map(|(word, value)| (word, ConstCounter::new(value))),
        )
    }

    fn family<'w, M: EncodeMetric>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'w str, M)>,
    ) -> fmt::Result {
        let mut values = values.into_iter().peekable();
        let Some(kind) = values.peek().map(|(_, metric)| metric.metric_type()) else { return Ok(()) };
        let mut encoder = self.0.encode_descriptor(name, help, None, kind)?;
        for (word, metric) in values {
            metric.encode(encoder.encode_family(&[(label, word)])?)?;
        }
        Ok(())
    }
}
