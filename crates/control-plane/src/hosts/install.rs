//! How a machine gets the agent: a script that contains the server's authority and the hash of the agent for each
//! processor, and the binaries themselves. The command that an operator pastes carries the hash of the script, so that
//! nobody on the way can change any of it (JOIN-10).

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use model::hosting::Subnet;
use sha2::{Digest, Sha256};

/// The script, with gaps.
const SCRIPT: &str = include_str!("install.sh");
/// Where the binaries lie in the data directory, as `muster-aarch64`.
const DIRECTORY: &str = "agents";

/// The binaries that this server gives to machines.
#[derive(Debug)]
pub(crate) struct Agents {
    directory: PathBuf,
    /// What hosts are told that the addresses of all networks come from.
    networks: Subnet,
    known: OnceLock<BTreeMap<String, AgentBinary>>,
}

/// A binary for one processor.
#[derive(Debug, Clone)]
pub(crate) struct AgentBinary {
    /// Where it lies.
    pub(crate) path: PathBuf,
    /// SHA-256 in hexadecimal.
    pub(crate) sha256: String,
    /// Length in bytes.
    pub(crate) size: u64,
}

impl Agents {
    /// Those of a data directory, and this program itself for its own processor.
    pub(crate) fn new(data_dir: &Path, networks: Subnet) -> Self {
        Self { directory: data_dir.join(DIRECTORY), networks, known: OnceLock::new() }
    }

    /// All of them, by processor. Reads and hashes them the first time: call it on a blocking thread.
    pub(crate) fn all(&self) -> &BTreeMap<String, AgentBinary> {
        self.known.get_or_init(|| {
            let mut all = BTreeMap::new();
            if let Ok(own) = std::env::current_exe().and_then(|path| read(&path)) {
                all.insert(std::env::consts::ARCH.to_owned(), own);
            }
            for entry in std::fs::read_dir(&self.directory).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let Some(arch) = name.strip_prefix("muster-") else { continue };
                if let Ok(binary) = read(&entry.path()) {
                    all.insert(arch.to_owned(), binary);
                }
            }
            all
        })
    }

    /// The script for this server.
    pub(crate) fn script(&self, url: &str, authority_pem: Option<&str>) -> String {
        let hashes: String = self
            .all()
            .iter()
            .map(|(arch, binary)| format!("    {arch}) echo {} ;;\n", binary.sha256))
            .collect();
        SCRIPT
            .replace("@URL@", url)
            .replace("@AUTHORITY@", authority_pem.unwrap_or_default().trim_end())
            .replace("@NETWORKS@", &self.networks.to_string())
            .replace("@HASHES@", hashes.trim_end())
    }

    /// What is pasted on a machine. `secure`: the script comes over TLS, whose certificate is not known there yet.
    pub(crate) fn command(&self, url: &str, authority_pem: Option<&str>, token: &str) -> String {
        let hash = hex::encode(Sha256::digest(self.script(url, authority_pem).as_bytes()));
        let insecure = if url.starts_with("https://") { "k" } else { "" };
        format!(
            "curl -fsS{insecure} {url}{INSTALL_PATH} -o muster-join.sh && \
             echo '{hash}  muster-join.sh' | sha256sum -c --quiet && sh muster-join.sh '{token}'"
        )
    }
}

/// Where the script is served.
pub(crate) const INSTALL_PATH: &str = "/api/agent/v1/install.sh";

fn read(path: &Path) -> io::Result<AgentBinary> {
    let mut file = std::fs::File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut size = 0;
    loop {
        let count = io::Read::read(&mut file, &mut buffer)?;
        if count == 0 {
            break;
        }
        size += u64::try_from(count).unwrap_or(0);
        hasher.update(&buffer[..count]);
    }
    Ok(AgentBinary { path: path.to_owned(), sha256: hex::encode(hasher.finalize()), size })
}

#[cfg(test)]
mod tests {
    use super::Agents;

    #[test]
    fn a_machine_is_told_which_addresses_the_server_makes_networks_of() {
        let folder = tempfile::tempdir().unwrap();
        let agents = Agents::new(folder.path(), "10.64.0.0/12".parse().unwrap());
        let script = agents.script("https://muster.example.org:5050", None);
        assert!(
            script.contains(
                r#"export MUSTER_AGENT_NETWORK_RANGE="${MUSTER_AGENT_NETWORK_RANGE:-10.64.0.0/12}""#
            )
        );
        let filled = script.replace(r#""$@""#, "");
        assert!(!filled.contains('@'), "a gap is left: {script}");
    }
}
