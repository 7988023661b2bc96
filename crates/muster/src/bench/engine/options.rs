//! What a container was made with, as flags of `docker run`, so that the yardstick is given the same work.

use anyhow::Context;
use serde_json::Value;

/// The flags that make containers like another one, each at an address of its own.
#[derive(Debug, Default)]
pub(super) struct Copy {
    flags: Vec<String>,
    /// The first three numbers of the network's addresses.
    block: String,
}

impl Copy {
    /// Of a container as `docker inspect` shows it.
    pub(super) fn of(container: &Value) -> anyhow::Result<Self> {
        let networks = container["NetworkSettings"]["Networks"].as_object();
        let end =
            networks.and_then(|networks| networks.values().next()).context("a container on no network")?;
        let (block, _) =
            end["IPAddress"].as_str().and_then(|ip| ip.rsplit_once('.')).context("no address")?;
        Ok(Self { flags: of_container(container), block: block.to_owned() })
    }

    /// For the container of this turn. Its address comes from the end of the block, where no replica is yet: the engine
    /// would give it one that Muster gives to the next replica.
    pub(super) fn flags(&self, turn: u32) -> Vec<String> {
        let mut flags = self.flags.clone();
        flags.push(format!("--ip={}.{}", self.block, 254_u32.saturating_sub(turn)));
        flags
    }
}

fn of_container(container: &Value) -> Vec<String> {
    let (host, config) = (&container["HostConfig"], &container["Config"]);
    let mut flags = Vec::new();
    let mut flag = |name: &str, value: &str| flags.push(format!("--{name}={value}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    flag("network", &text(&host["NetworkMode"]));
    flag("restart", &text(&host["RestartPolicy"]["Name"]));
    flag("log-driver", &text(&host["LogConfig"]["Type"]));
    pairs(&host["LogConfig"]["Config"]).iter().for_each(|pair| flag("log-opt", pair));
    pairs(&config["Labels"]).iter().for_each(|pair| flag("label", &format!("copy.{pair}")));
    for (name, values) in [
        ("dns", &host["Dns"]),
        ("dns-search", &host["DnsSearch"]),
        ("cap-add", &host["CapAdd"]),
        ("cap-drop", &host["CapDrop"]),
        ("security-opt", &host["SecurityOpt"]),
        ("env", &config["Env"]),
    ] {
        values.as_array().into_iter().flatten().for_each(|value| flag(name, &text(value)));
    }
    if host["Init"] == true {
        flag("init", "true");
    }
    flags
}

fn pairs(object: &Value) -> Vec<String> {
    let pairs = object.as_object().into_iter().flatten();
    pairs.map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_becomes_flags() {
        let container = serde_json::json!({
            "HostConfig": {
                "NetworkMode": "n", "RestartPolicy": { "Name": "unless-stopped" }, "Init": true, "Dns": ["10.0.0.1"],
                "LogConfig": { "Type": "local", "Config": { "max-size": "1m" } }, "CapDrop": null
            },
            "NetworkSettings": { "Networks": { "n": { "IPAddress": "10.208.7.2" } } },
            "Config": { "Labels": { "muster.kind": "replica" }, "Env": ["A=b"] }
        });
        let expected = "--network=n --restart=unless-stopped --log-driver=local --log-opt=max-size=1m \
            --label=copy.muster.kind=replica --dns=10.0.0.1 --env=A=b --init=true --ip=10.208.7.251";
        assert_eq!(Copy::of(&container).unwrap().flags(3).join(" "), expected);
    }
}
