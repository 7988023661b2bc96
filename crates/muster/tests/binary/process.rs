//! Starting the binary, waiting until it is ready, stopping it, and reading what it said.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;
use tempfile::TempDir;

/// How long anything that must happen may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Looks until there is something to be found, and gives it; `else_told` is said when it never is.
pub(crate) fn found<T>(else_told: impl Fn() -> String, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "waited {PATIENCE:?} in vain: {}", else_told());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What `--ready-file` holds.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Ready {
    pub(crate) opamp: String,
    pub(crate) console: String,
    pub(crate) admin_password: Option<String>,
    pub(crate) enrolment_token: Option<String>,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) pid: u32,
}

/// A directory of the test's own: data, configuration, output.
pub(crate) struct Place {
    pub(crate) dir: TempDir,
}

/// A running server.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) ready: Ready,
    log: PathBuf,
    out: PathBuf,
    copier: Option<std::thread::JoinHandle<()>>,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The command with an environment of its own.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_muster"));
        command.args(args);
        self.at_home(&mut command);
        command
    }

    /// Gives a command this directory as its home and nothing else of the environment.
    pub(crate) fn at_home<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env_clear().current_dir(self.dir.path());
        // The machine that runs the tests is nobody's host.
        command.env("MUSTER_NO_DEMO_HOST", "true");
        command.env("HOME", self.dir.path()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.stdin(Stdio::null())
    }

    /// `muster login` as the first user of a server.
    pub(crate) fn log_in(&self, server: &Server, extra: &[&str]) -> Output {
        let file = self.path("password");
        std::fs::write(&file, server.ready.admin_password.as_deref().unwrap()).unwrap();
        let args = [&["login", &server.ready.console, "--password-stdin"], extra].concat();
        self.command(&args).stdin(std::fs::File::open(file).unwrap()).output().unwrap()
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        // A server that starts although it must not would wait for ever.
        let mut command = Command::new("timeout");
        command.args(["--kill-after=1", "60", env!("CARGO_BIN_EXE_muster")]).args(args);
        self.at_home(&mut command).output().unwrap()
    }

    /// A server in `data` on ports that the kernel chooses, without TLS unless `args` say otherwise.
    pub(crate) fn server(&self, args: &[&str]) -> Server {
        let fixed =
            ["server", "--data-dir", "data", "--opamp-listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"];
        self.start(self.command(&[&fixed[..], args].concat()))
    }

    /// The same at these addresses (OpAMP, console), with a log of warnings only: for many agents.
    pub(crate) fn quiet_server(&self, addresses: &[&str; 2]) -> Server {
        let [opamp, console] = addresses;
        let args =
            ["server", "--data-dir", "data", "--opamp-listen", opamp, "--listen", console, "--insecure-http"];
        self.start_with(self.command(&args), "warn")
    }

    /// Starts a command that serves and waits until it is ready.
    pub(crate) fn start(&self, command: Command) -> Server {
        self.start_with(command, "trace,hyper=info,h2=info,mio=info")
    }

    fn start_with(&self, mut command: Command, log_filter: &str) -> Server {
        let number = std::fs::read_dir(self.dir.path()).unwrap().count();
        let [ready_file, log, out] =
            ["ready", "log", "out"].map(|name| self.path(&format!("{name}-{number}")));
        command.env("MUSTER_READY_FILE", &ready_file).env("RUST_LOG", log_filter);
        command.stdout(std::fs::File::create(&out).unwrap()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // Through this process: limits that a test sets for the server must not stop its log.
        let (mut pipe, mut file) = (child.stderr.take().unwrap(), std::fs::File::create(&log).unwrap());
        let copier = std::thread::spawn(move || drop(std::io::copy(&mut pipe, &mut file)));
        let logged = || std::fs::read_to_string(&log).unwrap();
        let ready = found(logged, || {
            if let Ok(text) = std::fs::read(&ready_file) {
                return Some(serde_json::from_slice(&text).unwrap());
            }
            if let Some(status) = child.try_wait().unwrap() {
                panic!("it ended with {status}: {}", logged());
            }
            None
        });
        Server { child, ready, log, out, copier: Some(copier) }
    }
}

impl Server {
    /// Everything that it logged so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Everything that it printed so far.
    pub(crate) fn out(&self) -> String {
        std::fs::read_to_string(&self.out).unwrap()
    }

    /// Host and port of the OpAMP endpoint.
    pub(crate) fn opamp(&self) -> std::net::SocketAddr {
        let rest = self.ready.opamp.split_once("://").unwrap().1;
        rest.split('/').next().unwrap().parse().unwrap()
    }

    /// Host and port of console and API.
    pub(crate) fn console(&self) -> std::net::SocketAddr {
        self.ready.console.split_once("://").unwrap().1.parse().unwrap()
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Stops it with SIGTERM; it must end in order.
    pub(crate) fn stop(mut self) -> (String, String) {
        self.signal("-TERM");
        let status = self.wait();
        assert!(status.success(), "{status}: {}", self.log());
        (self.log(), self.out())
    }

    /// Kills it.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn wait(&mut self) -> std::process::ExitStatus {
        let log = self.log.clone();
        let told = || format!("it does not stop: {}", std::fs::read_to_string(&log).unwrap_or_default());
        let status = found(told, || self.child.try_wait().unwrap());
        let _ = self.copier.take().map(std::thread::JoinHandle::join);
        status
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Text that a command printed.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether a file with this name is in a directory.
pub(crate) fn exists(path: &Path) -> bool {
    path.try_exists().unwrap()
}
