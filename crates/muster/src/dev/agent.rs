//! The demo agent: a small but honest OpAMP agent on `opamp-client`. It reports where it runs, the health of its
//! parts and its configuration; it takes a remote configuration into memory and says so, or says why not.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use model::config::yaml::Budget;
use model::config::{Format, document};
use opamp_client::{Client, Event, FileStorage, RemoteConfig, Storage};
use opamp_proto::agent::Saved;
use opamp_proto::wire::{AgentConfigFile, AgentConfigMap};

use super::breath;

/// How often its parts are looked at.
const LOOK: Duration = Duration::from_secs(10);

const CONFIG: &str = "\
# The demo agent's own configuration. Give it another one and it will run on that.
receivers:
  hostmetrics:
    collection_interval: 10s
processors:
  batch: {}
exporters:
  otlphttp:
    endpoint: https://telemetry.invalid:4318
    headers:
      Authorization: Bearer not-a-real-token
service:
  pipelines:
    metrics:
      receivers: [hostmetrics]
      processors: [batch]
      exporters: [otlphttp]
";

/// The components that it claims to have, by the key that they stand under. Like a Collector it refuses others.
const COMPONENTS: [(&str, &[&str]); 5] = [
    ("receivers", &["filelog", "hostmetrics", "nop", "otlp", "prometheus"]),
    ("processors", &["attributes", "batch", "filter", "memory_limiter", "resource", "transform"]),
    ("exporters", &["debug", "file", "nop", "otlp", "otlphttp"]),
    ("connectors", &["forward", "spanmetrics"]),
    ("extensions", &["health_check", "zpages"]),
];

/// Keeps who the agent is and not what became of the configuration that it was given: that is in memory only, so after a
/// restart the agent says that it has none, and is given it again.
struct WhoItIs(FileStorage);

impl Storage for WhoItIs {
    fn load(&mut self) -> io::Result<Option<Saved>> {
        Ok(self.0.load()?.map(|saved| Saved { remote_config: None, ..saved }))
    }

    fn save(&mut self, saved: &Saved) -> io::Result<()> {
        self.0.save(saved)
    }
}

/// Runs the agent until its task is ended.
pub(super) async fn run(url: &str, token: &str, state: &Path) {
    // A WebSocket, so that what the console does is seen at once.
    let url = url.replacen("http", "ws", 1);
    let started = now_nanos();
    let builder = Client::builder(url)
        .service("demo-agent", env!("CARGO_PKG_VERSION"))
        .attribute("os.type", std::env::consts::OS)
        .attribute("host.arch", std::env::consts::ARCH)
        .attribute("host.name", hostname())
        .attribute("process.runtime.name", "muster dev")
        .bearer_token(token)
        .health(breath::health(started))
        .effective_config(config(CONFIG))
        .accept_remote_config()
        .storage(WhoItIs(FileStorage::new(state)));
    let (client, mut events) = match builder.start().await {
        Ok(started) => started,
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "the demo agent cannot start");
            return;
        }
    };
    let mut clock = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            _ = clock.tick() => client.set_health(breath::health(started)),
            event = events.next() => match event {
                Some(event) => take(&client, event),
                None => return,
            },
        }
    }
}

fn take(client: &Client, event: Event) {
    match event {
        Event::RemoteConfig(RemoteConfig { hash, config }) => apply(client, hash, config),
        Event::Disconnected { reason, .. } => tracing::debug!("the demo agent is not connected: {reason}"),
        other => tracing::debug!(event = ?other, "the demo agent heard something"),
    }
}

/// Runs on a configuration that it understands, else keeps the one that it has. The empty one sends it back to its own.
fn apply(client: &Client, hash: Bytes, offered: AgentConfigMap) {
    let problem = offered.config_map.iter().find_map(|(name, file)| {
        let text = std::str::from_utf8(&file.body).map_err(|_| "it is no UTF-8 text".to_owned());
        text.and_then(|text| check(Format::of(name, &file.content_type), text)).err().map(|why| {
            match &name[..] {
                "" => why,
                name => format!("{name}: {why}"),
            }
        })
    });
    match problem {
        Some(why) => client.config_failed(hash, why),
        None => {
            let is_empty = offered.config_map.is_empty();
            client.set_effective_config(if is_empty { config(CONFIG) } else { offered });
            client.config_applied(hash);
        }
    }
}

/// What a Collector with these components would refuse.
fn check(format: Format, text: &str) -> Result<(), String> {
    if format == Format::Other {
        return Ok(());
    }
    let document =
        document::read(format, text, 0, &mut Budget::default()).map_err(|error| error.to_string())?;
    let Some(root) = document.root else { return Ok(()) };
    for (area, known) in COMPONENTS {
        for entry in root.get(area).map(|node| node.entries()).unwrap_or_default() {
            let id = entry.key.as_str();
            let kind = id.split('/').next().unwrap_or_default();
            if !known.contains(&kind) {
                let known = known.join(", ");
                return Err(format!("{area}: there is no type {kind:?} for {id:?}, this agent has {known}"));
            }
        }
    }
    Ok(())
}

fn config(text: &str) -> AgentConfigMap {
    let body = Bytes::copy_from_slice(text.as_bytes());
    let file = AgentConfigFile { body, content_type: "text/yaml".to_owned(), ..Default::default() };
    AgentConfigMap { config_map: [("agent.yaml".to_owned(), file)].into_iter().collect() }
}

fn hostname() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

/// Nanoseconds since 1970, as OpAMP counts.
pub(super) fn now_nanos() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_agent_takes_its_own_configuration_and_says_what_is_wrong_with_another() {
        let yaml = |text: &str| check(Format::Yaml, text);
        assert_eq!(yaml(CONFIG), Ok(()));
        assert_eq!(yaml(""), Ok(()));
        assert!(yaml("a: [1").is_err());
        let unknown = yaml("exporters:\n  kafka/a: {}\n").unwrap_err();
        assert!(unknown.starts_with("exporters: there is no type \"kafka\" for \"kafka/a\""), "{unknown}");
    }
}
