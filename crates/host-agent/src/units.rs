//! Units of systemd: what puts the network in place before the container engine (R41), netd, and the agent. netd is a unit
//! of its own, so that neither a stop nor an update of the agent touches it, and containers belong to none of them (R39).

use std::io;
use std::path::{Path, PathBuf};

use crate::options::{Options, Setting};

/// The three units, in the order in which they start.
pub const UNITS: [&str; 3] = ["muster-boot", "muster-netd", "muster-agent"];

/// Where units lie.
const FOLDER: &str = "/etc/systemd/system";
/// Is there when systemd runs this machine.
const RUNNING: &str = "/run/systemd/system";

/// Why units are not in place.
#[derive(Debug, thiserror::Error)]
pub enum UnitError {
    /// A file cannot be written or removed.
    #[error("{}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// systemctl did not do it.
    #[error("`systemctl {what}` failed: {said}")]
    Systemctl {
        /// What was asked for.
        what: String,
        /// In its words.
        said: String,
    },
}

/// Whether systemd runs this machine.
pub fn has_systemd() -> bool {
    Path::new(RUNNING).exists()
}

/// Writes the units, enables and starts them.
///
/// # Errors
/// See [`UnitError`].
pub async fn install(program: &Path, options: &Options) -> Result<(), UnitError> {
    for name in UNITS {
        let path = path_of(name);
        std::fs::write(&path, text(name, program, options))
            .map_err(|source| UnitError::File { path, source })?;
    }
    systemctl(&["daemon-reload"]).await?;
    let [boot, netd, agent] = UNITS;
    systemctl(&["enable", "--quiet", boot, netd, agent]).await?;
    // Started anew, so that a second join with another binary takes effect.
    systemctl(&["restart", boot, netd, agent]).await
}

/// Stops, disables and removes these units; those that are not there are left out.
///
/// # Errors
/// See [`UnitError`].
pub async fn remove(units: &[&str]) -> Result<(), UnitError> {
    let there: Vec<&str> = units.iter().copied().filter(|name| path_of(name).exists()).collect();
    if there.is_empty() || !has_systemd() {
        return Ok(());
    }
    systemctl(&[["disable", "--quiet", "--now"].as_slice(), &there].concat()).await?;
    for name in there {
        let path = path_of(name);
        std::fs::remove_file(&path).map_err(|source| UnitError::File { path, source })?;
    }
    systemctl(&["daemon-reload"]).await
}

fn path_of(name: &str) -> PathBuf {
    Path::new(FOLDER).join(format!("{name}.service"))
}

async fn systemctl(arguments: &[&str]) -> Result<(), UnitError> {
    let failed = |said: String| UnitError::Systemctl { what: arguments.join(" "), said };
    let done = tokio::process::Command::new("systemctl").args(arguments).output().await;
    let done = done.map_err(|error| failed(error.to_string()))?;
    if done.status.success() {
        return Ok(());
    }
    Err(failed(String::from_utf8_lossy(&done.stderr).trim().to_owned()))
}

fn text(name: &str, program: &Path, options: &Options) -> String {
    let program = program.display();
    let environment = environment(options);
    match name {
        "muster-boot" => format!(
            "[Unit]\nDescription=Muster: the network of this host's containers, before there are any\n\
             After=local-fs.target\nBefore=docker.service\n\n\
             [Service]\nType=oneshot\nRemainAfterExit=yes\n{environment}ExecStart={program} agent boot\n\n\
             [Install]\nWantedBy=multi-user.target\n"
        ),
        "muster-netd" => format!(
            "[Unit]\nDescription=Muster: names and ports of this host's containers\n\
             After=muster-boot.service\nBefore=docker.service\nStartLimitIntervalSec=0\n\n\
             [Service]\n{environment}ExecStart={program} agent netd\nRestart=always\nRestartSec=100ms\n\n\
             [Install]\nWantedBy=multi-user.target\n"
        ),
        _ => format!(
            "[Unit]\nDescription=Muster: the agent of this host\n\
             After=muster-netd.service network-online.target\nWants=muster-netd.service network-online.target\n\
             StartLimitIntervalSec=0\n\n\
             [Service]\n{environment}ExecStart={program} agent run\nRestart=always\nRestartSec=2\nKillMode=process\n\n\
             [Install]\nWantedBy=multi-user.target\n"
        ),
    }
}

/// What differs from the usual, as variables that the commands of `muster agent` read.
fn environment(options: &Options) -> String {
    let line = |it: Setting| format!("Environment={}={}\n", it.variable, it.value);
    options.settings().into_iter().filter(|it| !it.is_usual).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_say_only_what_differs_from_the_usual_and_what_comes_before_the_engine() {
        let program = Path::new("/usr/local/bin/muster");
        let usual = text("muster-agent", program, &Options::default());
        assert!(
            usual.contains("\nExecStart=/usr/local/bin/muster agent run\n") && !usual.contains("Environment")
        );
        let moved = Options {
            data_dir: "/data".into(),
            allow_host_paths: vec!["/srv".into(), "/mnt".into()],
            ..Options::default()
        };
        let netd = text("muster-netd", program, &moved);
        // While it is away the host's ports refuse; and it must never be given up.
        assert!(netd.contains("\nRestartSec=100ms\n") && netd.contains("\nStartLimitIntervalSec=0\n"));
        let boot = text("muster-boot", program, &moved);
        assert!(boot.contains("\nBefore=docker.service\n"));
        assert!(boot.contains("\nEnvironment=MUSTER_AGENT_DATA_DIR=/data\n"));
        assert!(boot.contains("\nEnvironment=MUSTER_AGENT_ALLOW_HOST_PATHS=/srv,/mnt\n"));
    }
}
