//! `muster agent`: what runs on a host. The work is `host-agent`'s; here are flags, words and signals.

use std::io::Read as _;
use std::path::PathBuf;

use host_agent::{JoinFailure, JoinOptions, Options, Setting, units};
use host_proto::Secret;
use host_proto::join::TrustAnchor;

use super::consent;
use crate::cli::agent::{AgentArgs, AgentVerb, JoinArgs, LeaveArgs, Places, StatusArgs};
use crate::failure::{Failure, Kind};
use crate::logging::{self, LogFormat};
use crate::output::{self, counted};
use crate::server::stop_signal;

/// Longest join token that is read.
const MAX_TOKEN: u64 = 4096;

/// `muster agent`.
pub(crate) fn agent(args: AgentArgs, debug: bool) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| Failure::of(&error))?;
    match args.verb {
        AgentVerb::Join(args) => runtime.block_on(join(*args)),
        AgentVerb::Run(places) => {
            logging::start(LogFormat::Text, debug);
            let options = with_netd(options(places)?);
            let done =
                async { host_agent::run(options, stop_signal()?).await.map_err(|error| Failure::of(&error)) };
            runtime.block_on(done)
        }
        AgentVerb::Netd(places) => {
            logging::start(LogFormat::Text, debug);
            let options = options(places)?;
            let done = async {
                host_agent::serve_net(&options, stop_signal()?).await.map_err(|error| Failure::of(&error))
            };
            runtime.block_on(done)
        }
        AgentVerb::Boot(places) => {
            logging::start(LogFormat::Text, debug);
            runtime.block_on(boot(with_netd(options(places)?)))
        }
        AgentVerb::Status(args) => status(args),
        AgentVerb::Leave(args) => runtime.block_on(leave(args)),
    }
}

fn options(places: Places) -> Result<Options, Failure> {
    let Places { identity, data_dir, run_dir, docker, network_range, allow_host_path } = places;
    Ok(Options {
        identity,
        data_dir,
        run_dir,
        docker: socket_of(docker)?,
        network_range,
        allow_host_paths: allow_host_path,
        ..Options::default()
    })
}

/// The engine's socket: the one that was said, else that of `DOCKER_HOST`, else the usual one.
pub(crate) fn socket_of(said: Option<String>) -> Result<PathBuf, Failure> {
    let said = said.or_else(|| std::env::var("DOCKER_HOST").ok().filter(|host| !host.is_empty()));
    let Some(text) = said else { return Ok(Options::default().docker) };
    match (text.strip_prefix("unix://"), text.contains("://")) {
        (Some(path), _) => Ok(PathBuf::from(path)),
        (None, false) => Ok(PathBuf::from(text)),
        (None, true) => Err(Failure::usage(format!(
            "{text}: the agent reaches the container engine by a socket on this machine only"
        ))),
    }
}

/// Without systemd, which has a unit for it, netd is started by whoever needs it.
pub(crate) fn with_netd(options: Options) -> Options {
    if std::env::var_os("INVOCATION_ID").is_some() {
        return options;
    }
    let Ok(program) = std::env::current_exe() else { return options };
    let mut command = vec![program.display().to_string(), "agent".to_owned(), "netd".to_owned()];
    // Also what is usual: it may stand otherwise in the environment, which netd gets too.
    let settings = options.settings().into_iter().filter(|it| !it.value.is_empty());
    command.extend(settings.map(|it| format!("{}={}", it.flag, it.value)));
    Options { netd_command: Some(command), ..options }
}

/// A command line of this agent, to be pasted into a shell.
fn again(verb: &str, options: &Options) -> Result<String, Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::of(&error))?;
    let mut line = format!("{} agent {verb}", in_shell(&program.display().to_string()));
    for Setting { flag, value, .. } in options.settings().into_iter().filter(|it| !it.is_usual) {
        line.push_str(&format!(" {flag} {}", in_shell(&value)));
    }
    Ok(line)
}

/// A word as a shell reads it.
fn in_shell(word: &str) -> String {
    let plain = |it: char| it.is_ascii_alphanumeric() || "/.,:_-+@".contains(it);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

async fn join(args: JoinArgs) -> Result<(), Failure> {
    let agent = options(args.places.clone())?;
    let options = JoinOptions {
        agent: agent.clone(),
        server: args.server.clone(),
        token: token(&args)?,
        trust: trust(&args)?,
        name: args.name.clone(),
    };
    let joined = host_agent::join(&options).await.map_err(|error| {
        let failure = Failure::of(&error);
        match error {
            JoinFailure::Unreachable(_) => {
                failure.hint("Nothing is lost: the same command can be run again.")
            }
            JoinFailure::Already { .. } => match again("leave", &agent) {
                Ok(command) => failure.hint(format!("Run: {command}")),
                Err(_) => failure,
            },
            _ => failure,
        }
    })?;
    output::line(&format!("This machine is the host {} ({}).", joined.name, joined.host_id))?;
    match (args.start, units::has_systemd()) {
        (true, true) => {
            let program = std::env::current_exe().map_err(|error| Failure::of(&error))?;
            units::install(&program, &agent).await.map_err(|error| Failure::of(&error))?;
            output::line("Its agent runs, and is started at each boot: systemctl status muster-agent.")
        }
        (true, false) => output::line(&format!(
            "systemd does not run here, so nothing was started. Start the agent now and at each boot, and keep it running:\n\
             \x20   {}\n\
             At each boot, and only then, run this first, before the container engine starts:\n\
             \x20   {}",
            again("run", &agent)?,
            again("boot", &agent)?,
        )),
        (false, _) => output::line(&format!("This runs its agent:\n    {}", again("run", &agent)?)),
    }
}

fn token(args: &JoinArgs) -> Result<Secret, Failure> {
    let mut text = String::new();
    let read = match &args.token_file {
        Some(file) => {
            std::fs::File::open(file).and_then(|file| file.take(MAX_TOKEN).read_to_string(&mut text))
        }
        None => std::io::stdin().lock().take(MAX_TOKEN).read_to_string(&mut text),
    };
    read.map_err(|error| Failure::new(Kind::Usage, format!("the join token cannot be read: {error}")))?;
    if text.trim().is_empty() {
        return Err(Failure::usage("there is no join token"));
    }
    Ok(Secret::new(text.trim()))
}

/// What was given, or the system's authorities when nothing was.
fn trust(args: &JoinArgs) -> Result<Vec<TrustAnchor>, Failure> {
    let mut anchors = Vec::new();
    if let Some(file) = &args.ca_file {
        let pem = std::fs::read_to_string(file)
            .map_err(|error| Failure::new(Kind::Usage, format!("{}: {error}", file.display())))?;
        anchors.push(TrustAnchor::Ca { pem });
    }
    if let Some(pem) = std::env::var("MUSTER_CA_PEM").ok().filter(|pem| !pem.trim().is_empty()) {
        anchors.push(TrustAnchor::Ca { pem });
    }
    if let Some(sha256) = args.pin.clone() {
        anchors.push(TrustAnchor::Spki { sha256 });
    }
    if anchors.is_empty() {
        anchors.push(TrustAnchor::System);
    }
    Ok(anchors)
}

/// Nothing of it keeps a machine from booting: what failed is said, and the agent mends it.
async fn boot(options: Options) -> Result<(), Failure> {
    let booted = host_agent::boot(&options).await.map_err(|error| Failure::of(&error))?;
    for failed in &booted.failed {
        tracing::warn!("{failed}");
    }
    tracing::info!("in place: {}", booted.done.join(", "));
    Ok(())
}

fn status(args: StatusArgs) -> Result<(), Failure> {
    let status = host_agent::status(&options(args.places)?).map_err(|error| Failure::of(&error))?;
    let mut lines = vec![
        format!("host       {} ({})", status.name, status.host_id),
        format!("server     {}", status.server),
    ];
    match &status.running {
        None => lines.push("agent      does not run".to_owned()),
        Some(running) => {
            lines.push(format!("agent      runs as process {} (version {})", running.pid, running.version));
            let since = &running.since;
            lines.push(match (running.online, &running.reason) {
                (true, _) => format!("connected  since {since}"),
                (false, None) => format!("connected  not yet, since {since}"),
                (false, Some(reason)) => format!("connected  not since {since}: {reason}"),
            });
            let replicas = counted(running.replicas, "replica", "replicas");
            lines.push(format!("state      {} with {replicas}", running.generation));
            lines.extend(running.items.iter().map(|item| format!("trouble    {item}")));
        }
    }
    output::line(&lines.join("\n"))
}

async fn leave(args: LeaveArgs) -> Result<(), Failure> {
    let options = options(args.places)?;
    let known = host_agent::status(&options).map_err(|error| Failure::of(&error))?;
    let plan = if args.remove_containers {
        format!(
            "{} stops being a host: its agent ends, its containers and networks are removed, its volumes stay.",
            known.name
        )
    } else {
        format!(
            "{} stops being a host: its agent ends, its containers go on until somebody stops them. Their names and \
             published ports are served until the next boot.",
            known.name
        )
    };
    if !args.yes {
        consent::confirm(&plan)?;
    }
    let left =
        host_agent::leave(&options, args.remove_containers).await.map_err(|error| Failure::of(&error))?;
    output::line(&format!("{} is no host any more.", known.name))?;
    if args.remove_containers {
        output::line(&format!(
            "Removed: {}, {}.",
            counted(left.containers, "container", "containers"),
            counted(left.networks, "network", "networks")
        ))?;
    }
    if !left.volumes.is_empty() {
        output::line(&format!("Volumes that are left: {}.", left.volumes.join(", ")))?;
    }
    match known.running.is_some_and(|running| running.removed) {
        true => output::line("The control plane has removed it already."),
        false => output::line(&format!(
            "The control plane lists it until it is removed there: muster hosts rm {}",
            output::safe(&known.name)
        )),
    }
}
