//! Starts servers to be measured: Muster with a fresh data folder, and the yardstick, a server on opamp-go.
//! Both end, and their files go, when the value is dropped.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use serde::Deserialize;

use super::process::held;

/// A server that was started here.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    folder: PathBuf,
    /// Where agents connect.
    pub(super) opamp: String,
    pub(super) token: Option<String>,
    pub(super) ca: Option<PathBuf>,
    /// URL and password of the API, if it has one.
    pub(super) api: Option<(String, String)>,
    /// Where the yardstick is told to push.
    pub(super) control: Option<String>,
}

/// What `muster server --ready-file` writes.
#[derive(Debug, Deserialize)]
struct Ready {
    opamp: String,
    console: String,
    admin_password: Option<String>,
    enrolment_token: Option<String>,
    ca_file: Option<PathBuf>,
}

const START_LIMIT: Duration = Duration::from_secs(30);

impl Server {
    /// `muster server` on loopback, on ports that the kernel chooses.
    pub(super) fn muster(program: &Path, tls: bool) -> anyhow::Result<Self> {
        let folder = temporary_folder()?;
        let ready = folder.join("ready.json");
        let mut command = Command::new(program);
        command.args(["server", "--opamp-listen", "127.0.0.1:0", "--listen", "127.0.0.1:0", "--data-dir"]);
        command.arg(folder.join("data")).arg("--ready-file").arg(&ready);
        if !tls {
            command.arg("--insecure-http");
        }
        let mut server = Self::start(command, folder)?;
        let text = server.wait_for(|_| fs::read_to_string(&ready).ok())?;
        let ready: Ready =
            serde_json::from_str(&text).context("the ready file is not what this program writes")?;
        server.opamp = ready.opamp;
        server.token = ready.enrolment_token;
        server.ca = ready.ca_file;
        server.api = ready.admin_password.map(|password| (ready.console, password));
        Ok(server)
    }

    /// The yardstick: prints `listening on ADDRESS`, keeps no state, answers with the uid only.
    pub(super) fn yardstick(program: &Path) -> anyhow::Result<Self> {
        let mut server = Self::start(Command::new(program), temporary_folder()?)?;
        let address = server.wait_for(|log| {
            let (_, rest) = log.split_once("listening on ")?;
            rest.split_once('\n').map(|(address, _)| address.trim().to_owned())
        })?;
        server.opamp = format!("http://{address}/v1/opamp");
        Ok(server)
    }

    /// The yardstick that can push: it remembers its connections, which the other one need not.
    pub(super) fn pushing_yardstick(program: &Path) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.args(["-push", "127.0.0.1:0"]);
        let mut server = Self::start(command, temporary_folder()?)?;
        let address = |name: &'static str| {
            move |log: &str| {
                let (_, rest) = log.split_once(name)?;
                rest.split_once('\n').map(|(address, _)| address.trim().to_owned())
            }
        };
        server.control = Some(format!("http://{}", server.wait_for(address("pushing on "))?));
        server.opamp = format!("http://{}/v1/opamp", server.wait_for(address("listening on "))?);
        Ok(server)
    }

    /// Where Muster keeps its data.
    pub(super) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// A folder that only this user can look into, and that goes with the server.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn start(command: Command, folder: PathBuf) -> anyhow::Result<Self> {
        let log = File::create(folder.join("log"))?;
        let program = command.get_program().to_owned();
        let child = held(&command)?
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        Ok(Self { child, folder, opamp: String::new(), token: None, ca: None, api: None, control: None })
    }

    /// Looks until `found` finds what it looks for in the log or elsewhere.
    fn wait_for(&mut self, found: impl Fn(&str) -> Option<String>) -> anyhow::Result<String> {
        let end = Instant::now() + START_LIMIT;
        loop {
            let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            if let Some(text) = found(&log) {
                return Ok(text);
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("the server ended at once ({status}): {log}");
            }
            if Instant::now() > end {
                bail!("the server was not ready after {} s: {log}", START_LIMIT.as_secs());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Only for this user: the server's credentials will lie in it.
fn temporary_folder() -> anyhow::Result<PathBuf> {
    use std::os::unix::fs::DirBuilderExt;
    let folder = std::env::temp_dir().join(format!("muster-bench-{:016x}", getrandom::u64()?));
    fs::DirBuilder::new()
        .mode(0o700)
        .create(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}
