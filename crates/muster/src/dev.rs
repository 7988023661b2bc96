//! `muster dev`: a server on loopback without TLS, one demo agent in the same process, this machine as a host when it has a
//! container engine, and a login for the command line, so that a newcomer sees something live with one command.

mod agent;
mod breath;
mod door;
mod host;

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use control_plane::{Config, RawConfig};

use tokio::sync::watch;

use crate::cli::DevArgs;
use crate::context::{Context, Contexts, Turn};
use crate::failure::{Failure, Kind};
use crate::server::{Started, runtime, stop_signal, with_common, wrong};
use crate::{logging, output};

/// The context that `muster dev` writes, and the one that it writes when the first name belongs to another server.
const CONTEXTS: [&str; 2] = ["dev", "muster-dev"];

/// How long the demo host may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(8);

/// Runs the server with its demo agent.
pub(crate) fn run(args: DevArgs, debug: bool) -> Result<(), Failure> {
    logging::start(args.common.log_format, debug);
    runtime()?.block_on(dev(args))
}

async fn dev(args: DevArgs) -> Result<(), Failure> {
    let config = config(&args)?;
    let started = Started::new(config, &args.common).await?;
    let token = demo_token(&args.data_dir, &started)?;
    let login = started.app.first_start().admin_password.clone();
    let stop = stop_signal()?;
    let (opamp, console) = (started.addresses.opamp.clone(), started.addresses.console.clone());
    let host = match args.no_demo_host {
        true => Err("none was wanted".to_owned()),
        false => host::options(&args.data_dir),
    };
    let greeting = greeting(&started, &args.data_dir, &host);
    let server = started.listeners.console.local_addr().map_err(|error| Failure::of(&error))?;
    let (ready, is_ready) = tokio::sync::oneshot::channel();
    let (stopping, stopped) = tokio::sync::watch::channel(false);
    let demo = {
        let (data_dir, wanted) = (args.data_dir.clone(), !args.no_demo_agent);
        tokio::spawn(async move {
            if is_ready.await.is_err() {
                return;
            }
            let context = remember(&console, login).await;
            let next = context.as_ref().map_or("Next: open the console.", |known| known.next.as_str());
            let end = if host.is_ok() {
                "Ctrl-C stops the server; what was deployed on this machine goes on."
            } else {
                "Ctrl-C stops the server."
            };
            let _ = output::line(&format!("{greeting}\n{next}\n{end}"));
            if let Err(error) = &context {
                tracing::warn!("the command line is not logged in: {error}");
            }
            let client = context.ok().and_then(|known| known.client);
            let host = show_host(host.ok(), server, client, stopped);
            let agent = async {
                match (wanted, token) {
                    (true, Some(token)) => agent::run(&opamp, &token, &data_dir.join("demo-agent")).await,
                    (true, None) => {
                        tracing::warn!(
                            "the demo agent has no token, its file is gone; make one in the console"
                        );
                    }
                    (false, _) => {}
                }
            };
            tokio::join!(host, agent);
        })
    };
    let stop = async move {
        stop.await;
        // The host says goodbye before its server goes.
        let _ = stopping.send(true);
        let _ = tokio::time::timeout(GOODBYE, stopping.closed()).await;
    };
    let served = started
        .serve(&args.common, stop, move || {
            let _ = ready.send(());
        })
        .await;
    demo.abort();
    served
}

/// Runs the demo host, where there can be one, until it is told to stop.
async fn show_host(
    options: Option<host_agent::Options>,
    server: SocketAddr,
    client: Option<api::Client>,
    mut stopped: watch::Receiver<bool>,
) {
    let Some(options) = options else { return };
    // The server is there until nobody has this any more.
    let _serving = stopped.clone();
    let stop = async move {
        let _ = stopped.wait_for(|stopped| *stopped).await;
    };
    if let Err(error) = host::run(options, server, client, stop).await {
        tracing::warn!("this machine is not shown as a host: {error:#}");
    }
}

fn config(args: &DevArgs) -> Result<Config, Failure> {
    let opamp_listen = free_or_other("--opamp-listen", &args.opamp_listen)?;
    let listen = free_or_other("--listen", &args.listen)?;
    let raw = RawConfig::new(args.data_dir.clone(), opamp_listen, listen, env!("CARGO_PKG_VERSION"));
    with_common(RawConfig { insecure_http: true, ..raw }, &args.common).check().map_err(wrong)
}

/// The address if its port is free, else one that the kernel chooses, and a word about it.
fn free_or_other(flag: &str, text: &str) -> Result<String, Failure> {
    let Ok(address) = text.parse::<SocketAddr>() else { return Ok(text.to_owned()) };
    match TcpListener::bind(address) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            output::line(&format!("{flag}: port {} is taken, another one is used", address.port()))?;
            Ok(SocketAddr::new(address.ip(), 0).to_string())
        }
        // Whatever else is wrong is told when the server listens.
        Err(_) => Ok(text.to_owned()),
    }
}

/// The enrolment token of the first start, kept for later starts of the demo agent. This is a trial on loopback;
/// a real server stores only the token's hash.
fn demo_token(data_dir: &Path, started: &Started) -> Result<Option<String>, Failure> {
    let path = data_dir.join("demo-token");
    match &started.app.first_start().enrolment_token {
        Some(token) => {
            write_secret(&path, token).map_err(|error| {
                Failure::new(Kind::Failed, format!("--data-dir: cannot write {}: {error}", path.display()))
            })?;
            Ok(Some(token.clone()))
        }
        None => Ok(std::fs::read_to_string(&path).ok().map(|text| text.trim().to_owned())),
    }
}

fn write_secret(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let _ = std::fs::remove_file(path);
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

/// Logs the command line in, on a first start, under a context of its own; says how to use it. The context that a
/// person works with stays the current one.
async fn remember(console: &str, password: Option<String>) -> Result<Known, String> {
    let mut contexts = Contexts::load().map_err(|failure| failure.to_string())?;
    let is_free = |name: &&str| contexts.contexts.get(*name).is_none_or(|known| is_here(&known.url));
    let name = CONTEXTS.into_iter().find(is_free).unwrap_or(CONTEXTS[1]);
    let token = match password {
        Some(password) => {
            let client =
                api::Client::new(console, &api::Trust::System, None).map_err(|error| error.to_string())?;
            let login = api::session::Login { username: "admin".to_owned(), password, want_token: true };
            client.login(&login).await.map_err(|error| error.to_string())?.token
        }
        None => contexts.contexts.get(name).and_then(|context| context.token.clone()),
    };
    let mut client = match &token {
        Some(token) => api::Client::new(console, &api::Trust::System, Some(token.clone())).ok(),
        None => None,
    };
    // It may be another data directory's, or have ended.
    if let Some(known) = &client
        && known.hosts().await.is_err()
    {
        client = None;
    }
    let context = Context { url: console.to_owned(), token, spki_sha256: None };
    let is_current = contexts.put(name, context, Turn::No);
    contexts.save().map_err(|failure| failure.to_string())?;
    let program = program();
    let next = match (is_current, &contexts.current) {
        _ if client.is_none() => format!(
            "Next: open the console, or log the command line in, which is not:  {program} login {console} --context {name}"
        ),
        (false, Some(current)) => format!(
            "Next: open the console, or run  {program} agents list --context {name}   (it is logged in already; your \
             current context stays {current})."
        ),
        _ => format!("Next: open the console, or run  {program} agents list   (it is logged in already)."),
    };
    Ok(Known { next, client })
}

/// What the command line knows of this server.
struct Known {
    /// What to do next, for people.
    next: String,
    /// The API as the command line uses it; absent when it is not logged in.
    client: Option<api::Client>,
}

/// Whether a URL is one of this machine's, as that of every `muster dev` is.
fn is_here(url: &str) -> bool {
    ["http://127.", "http://localhost:", "http://[::1]"].iter().any(|start| url.starts_with(start))
}

fn greeting(started: &Started, data_dir: &Path, host: &Result<host_agent::Options, String>) -> String {
    let first = started.app.first_start();
    let mut lines = vec![
        format!("Muster {} for a look around, on this machine only", env!("CARGO_PKG_VERSION")),
        format!("console   {}", started.addresses.console),
        format!("agents    {}", started.addresses.opamp),
    ];
    lines.push(match host {
        Ok(options) => format!("host      this machine, with the engine at {}", options.docker.display()),
        Err(why) => format!("host      none: {why}"),
    });
    match &first.admin_password {
        Some(password) => {
            lines.push(format!("login     admin / {password}   (shown once)"));
        }
        None => lines.push(format!(
            "login     admin, as before; {} admin reset-login --data-dir {} makes a new password",
            program(),
            data_dir.display()
        )),
    }
    if let Some(token) = &first.enrolment_token {
        lines.push(format!("token     {token}   (shown once; agents connect with it)"));
    }
    lines.push(String::new());
    lines.push(
        "Other machines reach a server that is started with  muster server --public-url https://NAME:5050"
            .to_owned(),
    );
    lines.join("\n")
}

/// This program as a person who stands here can call it.
fn program() -> String {
    let Ok(program) = std::env::current_exe() else { return "muster".to_owned() };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let here = std::env::current_dir().unwrap_or_default();
    called(&program, &here, std::env::split_paths(&path))
}

/// By its name where a shell finds it by that, else by its path.
fn called(program: &Path, here: &Path, mut path: impl Iterator<Item = PathBuf>) -> String {
    // The first of that name is the one that a shell runs.
    let first = path.find_map(|folder| folder.join("muster").canonicalize().ok());
    match first {
        Some(first) if first == program => "muster".to_owned(),
        _ => program.strip_prefix(here).unwrap_or(program).display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_called_by_its_name_only_where_a_shell_finds_it() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().canonicalize().unwrap();
        let (built, path) = (here.join("target/quick/muster"), here.join("bin"));
        std::fs::create_dir_all(&path).unwrap();
        let asked = |program: &Path, here: &Path| called(program, here, [path.clone()].into_iter());
        assert_eq!(asked(&built, &here), "target/quick/muster");
        assert_eq!(asked(&built, Path::new("/nowhere")), built.display().to_string());
        let installed = path.join("muster");
        std::fs::write(&installed, "").unwrap();
        assert_eq!(asked(&installed, &here), "muster");
        assert_eq!(asked(&built, &here), "target/quick/muster", "another one is installed");
    }
}
