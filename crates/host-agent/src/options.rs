//! Where an agent keeps its things. Everything can be set, so that two agents on one machine do not meet.

use std::path::{Path, PathBuf};

/// The folders and sockets of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The identity: `/etc/5050/agent.json` (JOIN-5).
    pub identity: PathBuf,
    /// What survives a reboot: `/var/lib/5050`.
    pub data_dir: PathBuf,
    /// What does not: `/run/5050`, in memory.
    pub run_dir: PathBuf,
    /// The container engine's socket: `/var/run/docker.sock`.
    pub docker: PathBuf,
    /// What tells this machine from others: `/etc/machine-id`.
    pub machine_id: PathBuf,
    /// What the addresses of all networks of all hosts come from, as `10.208.0.0/12`.
    pub network_range: String,
    /// Folders of this machine that services may mount, with all below them.
    pub allow_host_paths: Vec<PathBuf>,
    /// The program that writes the firewall, with what goes before it: `nft`.
    pub nft: Vec<String>,
    /// How netd is started when nobody listens on its socket; `None`: it is somebody else's affair, as systemd's.
    pub netd_command: Option<Vec<String>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            identity: "/etc/5050/agent.json".into(),
            data_dir: "/var/lib/5050".into(),
            run_dir: "/run/5050".into(),
            docker: "/var/run/docker.sock".into(),
            machine_id: "/etc/machine-id".into(),
            network_range: "10.208.0.0/12".to_owned(),
            allow_host_paths: Vec::new(),
            nft: vec!["nft".to_owned()],
            netd_command: None,
        }
    }
}

/// One thing that can be set, as the commands of `muster agent` read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// `--data-dir`.
    pub flag: &'static str,
    /// `MUSTER_AGENT_DATA_DIR`.
    pub variable: &'static str,
    /// Several are joined by commas; empty when there are none.
    pub value: String,
    /// It is what it would be if nobody said anything.
    pub is_usual: bool,
}

impl Options {
    /// What the flags of `muster agent` set: with these another of its commands is about the same agent.
    pub fn settings(&self) -> Vec<Setting> {
        let usual = Self::default();
        let path = |path: &Path| path.display().to_string();
        let paths = |all: &[PathBuf]| all.iter().map(|one| path(one)).collect::<Vec<_>>().join(",");
        let all = [
            ("--identity", "MUSTER_AGENT_IDENTITY", path(&self.identity), path(&usual.identity)),
            ("--data-dir", "MUSTER_AGENT_DATA_DIR", path(&self.data_dir), path(&usual.data_dir)),
            ("--run-dir", "MUSTER_AGENT_RUN_DIR", path(&self.run_dir), path(&usual.run_dir)),
            ("--docker", "MUSTER_AGENT_DOCKER", path(&self.docker), path(&usual.docker)),
            (
                "--network-range",
                "MUSTER_AGENT_NETWORK_RANGE",
                self.network_range.clone(),
                usual.network_range.clone(),
            ),
            (
                "--allow-host-path",
                "MUSTER_AGENT_ALLOW_HOST_PATHS",
                paths(&self.allow_host_paths),
                paths(&usual.allow_host_paths),
            ),
        ];
        let setting = |(flag, variable, value, usual)| {
            let is_usual = value == usual;
            Setting { flag, variable, value, is_usual }
        };
        all.map(setting).into()
    }

    /// The encrypted copy of the last desired state (STATE-3).
    pub fn cache(&self) -> PathBuf {
        self.data_dir.join("state.cache")
    }

    /// Which images were pulled for what (R43).
    pub fn images(&self) -> PathBuf {
        self.data_dir.join("images.json")
    }

    /// Files that containers see.
    pub fn files(&self) -> PathBuf {
        self.data_dir.join("files")
    }

    /// Secrets that containers see; never on a disk.
    pub fn secrets(&self) -> PathBuf {
        self.run_dir.join("secrets")
    }

    /// Where netd is asked.
    pub fn netd_socket(&self) -> PathBuf {
        self.run_dir.join("netd.sock")
    }

    /// What the running agent says of itself.
    pub fn status(&self) -> PathBuf {
        self.run_dir.join("agent.status")
    }

    /// What tells this machine from others, without the line's end.
    ///
    /// # Errors
    /// When it cannot be read, or is empty.
    pub fn read_machine_id(&self) -> std::io::Result<String> {
        let text = std::fs::read_to_string(&self.machine_id)?;
        let text = text.trim();
        if text.is_empty() {
            return Err(std::io::Error::other(
                "it is empty: systemd-machine-id-setup or dbus-uuidgen makes one",
            ));
        }
        Ok(text.to_owned())
    }
}

/// Makes a folder that only its owner can look into.
pub(crate) fn private_folder(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}
