//! The demo host: this very machine, when it has a container engine and `muster dev` may change it. It is a host like any
//! other, with folders of its own, so that nothing meets a real agent.

use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use api::Client;
use api::hosts::NewJoinToken;
use host_agent::{Identity, JoinOptions, Options};
use host_proto::Secret;
use host_proto::join::{CONNECT_PATH, TrustAnchor};

use super::door::Door;
use crate::command::agent::{socket_of, with_netd};
use crate::output;

/// What the demo host would run with, or why there is none.
pub(super) fn options(data_dir: &Path) -> Result<Options, String> {
    let usual = Options::default();
    if Identity::read_joined(&usual.identity).is_ok() {
        return Err("this machine is a host already, of another control plane".to_owned());
    }
    let docker = socket_of(None).map_err(|failure| failure.to_string())?;
    if let Err(error) = UnixStream::connect(&docker) {
        return Err(format!("no container engine answers at {} ({error})", docker.display()));
    }
    if !nix::unistd::geteuid().is_root() {
        return Err("networks and firewall need root".to_owned());
    }
    let data_dir = std::path::absolute(data_dir).map_err(|error| error.to_string())?.join("host");
    Ok(with_netd(Options {
        identity: data_dir.join("agent.json"),
        run_dir: run_dir(&data_dir),
        data_dir,
        docker,
        ..usual
    }))
}

/// In memory, and another one for each data directory.
fn run_dir(data_dir: &Path) -> PathBuf {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let mut hasher = DefaultHasher::new();
    data_dir.hash(&mut hasher);
    PathBuf::from(format!("/run/muster-dev-{:016x}", hasher.finish()))
}

/// Makes this machine a host, if it is none yet, and runs its agent until `stop` is ready.
pub(super) async fn run(
    options: Options,
    server: SocketAddr,
    client: Option<Client>,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let door = Door::open().await?;
    let (address, authority) = (door.address, TrustAnchor::Ca { pem: door.authority_pem.clone() });
    let passing = tokio::spawn(door.serve(server));
    if Identity::read_joined(&options.identity).is_err() {
        let client = client.ok_or_else(|| anyhow::anyhow!("the command line is not logged in here"))?;
        let for_host = left_before(&client, &options).await?;
        let made = client.create_join_token(&NewJoinToken { for_host, ..NewJoinToken::default() }).await?;
        let wish = JoinOptions {
            agent: options.clone(),
            server: format!("https://{address}"),
            token: Secret::new(made.token),
            trust: vec![authority.clone()],
            name: None,
        };
        host_agent::join(&wish).await?;
    }
    // The door has another port and another certificate at each start.
    let (mut identity, joined) = Identity::read_joined(&options.identity)?;
    identity.joined = Some(host_agent::Joined {
        connect_url: format!("wss://{address}{CONNECT_PATH}"),
        trust_anchors: vec![authority],
        ..joined
    });
    identity.write(&options.identity)?;
    let ended = host_agent::run(options.clone(), stop).await;
    passing.abort();
    ended?;
    // What was deployed goes on, with all that it needs; without it nothing of the demo is left running.
    if !host_agent::rest(&options).await? {
        let _ = output::line(&farewell(&options));
    }
    Ok(())
}

/// The host that this machine was here before `muster agent leave`: it takes its own place again.
async fn left_before(client: &Client, options: &Options) -> anyhow::Result<Option<String>> {
    let machine_id = options.read_machine_id()?;
    let before = client.hosts().await?.items.into_iter().find(|host| host.machine_id == machine_id);
    Ok(before.map(|host| host.name))
}

/// What is said at the end when containers go on.
fn farewell(options: &Options) -> String {
    let Options { identity, data_dir, run_dir, .. } = options;
    format!(
        "What was deployed on this machine goes on. At the next muster dev it is there again: muster projects rm NAME ends it.\n\
         Or at once, all but volumes:  muster agent leave --remove-containers --identity {} --data-dir {} --run-dir {}",
        identity.display(),
        data_dir.display(),
        run_dir.display()
    )
}
