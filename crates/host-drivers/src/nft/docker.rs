//! Whether the engine's own chains are there. They vanish when somebody flushes or reloads all rules (docker/for-linux
//! #1472), and the engine does not notice.

use std::path::Path;

use serde::Deserialize;
use tokio::process::Command;

use super::generation;
use super::program::{NftError, Program};

/// Names of tables that exist when rules of the old kind are in use, one a line.
const OLD_TABLES: &str = "/proc/net/ip_tables_names";

/// How the engine's rules stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DockerFirewall {
    /// Its chains are there.
    Present(Backend),
    /// They were there and are gone: to be reported as `docker_firewall_missing`. A restart of the engine brings them
    /// back.
    Missing,
    /// They have not been seen: the engine does not run, does not write rules (`--iptables=false`), or lost them
    /// before this process began.
    NotSeen,
}

/// How the engine writes its rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// By iptables over nftables.
    IptablesNft,
    /// By the iptables of old kernels.
    IptablesLegacy,
    /// By nftables directly (engines from 29 on can).
    Nftables,
}

/// What was seen last, and at which number of the kernel's.
#[derive(Debug, Default)]
pub(super) struct Cache {
    seen: bool,
    last: Option<(u32, DockerFirewall)>,
}

#[derive(Deserialize)]
struct Listing {
    nftables: Vec<Object>,
}

#[derive(Deserialize)]
struct Object {
    chain: Option<Chain>,
}

#[derive(Deserialize)]
struct Chain {
    table: String,
    name: String,
}

impl Cache {
    pub(super) async fn look(&mut self, program: &Program) -> Result<DockerFirewall, NftError> {
        let generation = generation::now().ok();
        if let (Some(now), Some((then, state))) = (generation, self.last)
            && now == then
        {
            return Ok(state);
        }
        let state = match find(program).await? {
            Some(backend) => DockerFirewall::Present(backend),
            None if self.seen => DockerFirewall::Missing,
            None => DockerFirewall::NotSeen,
        };
        self.seen |= matches!(state, DockerFirewall::Present(_));
        // Rules of the old kind do not raise the kernel's number: only what does not depend on them is kept.
        let kept = matches!(state, DockerFirewall::Present(Backend::IptablesNft | Backend::Nftables));
        self.last = generation.filter(|_| kept).map(|generation| (generation, state));
        Ok(state)
    }
}

async fn find(program: &Program) -> Result<Option<Backend>, NftError> {
    let listing = program.list_json(&["chains", "ip"]).await?;
    if let Some(backend) = backend_in(&listing) {
        return Ok(Some(backend));
    }
    if !Path::new(OLD_TABLES).exists() {
        return Ok(None);
    }
    let listed = Command::new("iptables-legacy").args(["-w", "2", "-n", "-L", "DOCKER"]).output().await;
    let there = listed.is_ok_and(|output| output.status.success());
    Ok(there.then_some(Backend::IptablesLegacy))
}

fn backend_in(listing: &[u8]) -> Option<Backend> {
    let listing: Listing = serde_json::from_slice(listing).ok()?;
    listing.nftables.into_iter().filter_map(|object| object.chain).find_map(|chain| {
        match (chain.table.as_str(), chain.name.as_str()) {
            ("filter", "DOCKER" | "DOCKER-USER" | "DOCKER-FORWARD") => Some(Backend::IptablesNft),
            ("docker-bridges", _) => Some(Backend::Nftables),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engines_chains_are_known_by_name() {
        let of = |table: &str, name: &str| {
            let chain = serde_json::json!({"family": "ip", "table": table, "name": name, "handle": 1});
            let listing = serde_json::json!({"nftables": [{"metainfo": {"version": "1"}}, {"chain": chain}]});
            backend_in(listing.to_string().as_bytes())
        };
        assert_eq!(of("filter", "DOCKER-USER"), Some(Backend::IptablesNft));
        assert_eq!(of("docker-bridges", "filter-forward"), Some(Backend::Nftables));
        assert_eq!(of("filter", "FORWARD"), None);
        assert_eq!(of("nat", "DOCKER"), None);
        assert_eq!(backend_in(b"{"), None);
    }
}
