//! The demo agent: a small but honest OpAMP agent on `opamp-client`. It reports where it runs, the health of its
//! parts and its configuration; it takes a remote configuration into memory and says so, or says why not.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use opamp_client::{Client, Event, FileStorage, RemoteConfig};
use opamp_proto::wire::{AgentConfigFile, AgentConfigMap};

use super::breath;

/// How often its parts are looked at.
const LOOK: Duration = Duration::from_secs(10);

const CONFIG: &str = "\
# The demo agent's own configuration. Offer it another one and it will run on that.
interval: 10s
inputs:
  - load
  - memory
output:
  endpoint: https://telemetry.invalid:4318
  headers:
    - name: Authorization
      value: Bearer not-a-real-token
";

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
        .storage(FileStorage::new(state));
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

/// Runs on a configuration that it understands, else keeps the one that it has.
fn apply(client: &Client, hash: Bytes, config: AgentConfigMap) {
    let problem = config.config_map.iter().find_map(|(name, file)| {
        let text = std::str::from_utf8(&file.body).map_err(|_| "it is no UTF-8 text".to_owned());
        text.and_then(check).err().map(|why| format!("{name:?}: {why}"))
    });
    match problem {
        Some(why) => client.config_failed(hash, why),
        None => {
            client.set_effective_config(config);
            client.config_applied(hash);
        }
    }
}

/// Looks at a configuration as closely as a demo needs to: what no YAML reader would take is refused.
fn check(text: &str) -> Result<(), String> {
    for (number, line) in text.lines().enumerate() {
        let number = number + 1;
        if line.chars().take_while(|c| c.is_whitespace()).any(|c| c == '\t') {
            return Err(format!("line {number} is indented with a tab"));
        }
        let content = line.trim();
        let is_data = !content.is_empty() && !content.starts_with(['#', '-', '{', '[', ']', '}']);
        if is_data && !content.contains(':') {
            return Err(format!(
                "line {number} is neither a key with a value nor a list item: {content:.40}"
            ));
        }
        if content.matches('"').count() % 2 != 0 {
            return Err(format!("line {number} has a quote that does not end"));
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
        assert_eq!(check(CONFIG), Ok(()));
        assert_eq!(check(""), Ok(()));
        assert!(check("a:\n\tb: 1").unwrap_err().starts_with("line 2 is indented with a tab"));
        assert!(check("a: 1\nthis fails").unwrap_err().starts_with("line 2 is neither"));
        assert!(check("a: \"x").unwrap_err().starts_with("line 1 has a quote"));
    }
}
