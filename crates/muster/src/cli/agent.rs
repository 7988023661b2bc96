//! The flags of `muster agent`: what runs on a host.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `muster agent`.
#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    #[command(subcommand)]
    pub(crate) verb: AgentVerb,
}

/// What to do on this machine.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentVerb {
    /// Make this machine a host of a control plane; `muster hosts add` prints the whole command
    Join(Box<JoinArgs>),
    /// Run the agent: connect, and make this machine run what it should
    Run(Places),
    /// Put the network in place before the container engine starts, from the copy of the last state
    Boot(Places),
    /// Serve names and ports of this host's containers
    Netd(Places),
    /// Say how this host stands
    Status(StatusArgs),
    /// Stop being a host; containers stay unless their removal is asked for
    Leave(LeaveArgs),
}

/// Where the agent keeps its things.
#[derive(Debug, Clone, Args)]
pub(crate) struct Places {
    /// The identity of this host
    #[arg(long, env = "MUSTER_AGENT_IDENTITY", default_value = "/etc/5050/agent.json", value_name = "FILE")]
    pub(crate) identity: PathBuf,
    /// What survives a reboot
    #[arg(long, env = "MUSTER_AGENT_DATA_DIR", default_value = "/var/lib/5050", value_name = "FOLDER")]
    pub(crate) data_dir: PathBuf,
    /// What does not survive one; in memory
    #[arg(long, env = "MUSTER_AGENT_RUN_DIR", default_value = "/run/5050", value_name = "FOLDER")]
    pub(crate) run_dir: PathBuf,
    /// The container engine's socket; DOCKER_HOST is read when this is not set
    #[arg(long, env = "MUSTER_AGENT_DOCKER", value_name = "SOCKET")]
    pub(crate) docker: Option<String>,
    /// What the addresses of all networks of all hosts come from
    #[arg(long, env = "MUSTER_AGENT_NETWORK_RANGE", default_value = "10.208.0.0/12", value_name = "BLOCK")]
    pub(crate) network_range: String,
    /// Folders of this machine that services may mount, with all below them; repeatable
    #[arg(long, env = "MUSTER_AGENT_ALLOW_HOST_PATHS", value_delimiter = ',', value_name = "FOLDER")]
    pub(crate) allow_host_path: Vec<PathBuf>,
}

/// `muster agent join`.
#[derive(Debug, Args)]
pub(crate) struct JoinArgs {
    /// The control plane, such as https://muster.example.org:5050
    #[arg(long, env = "MUSTER_SERVER", value_name = "URL")]
    pub(crate) server: String,
    /// Read the join token from standard input
    #[arg(long, required_unless_present = "token_file")]
    pub(crate) token_stdin: bool,
    /// Read the join token from a file
    #[arg(long, value_name = "FILE", conflicts_with = "token_stdin")]
    pub(crate) token_file: Option<PathBuf>,
    /// The control plane's certificate authority, as a file in PEM; the environment variable MUSTER_CA_PEM holds its text
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// SHA-256 of the public key of the control plane's certificate authority, in hexadecimal
    #[arg(long, value_name = "HASH")]
    pub(crate) pin: Option<String>,
    /// What to call this host; its hostname by default
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Start the agent now and at each boot, where systemd runs
    #[arg(long)]
    pub(crate) start: bool,
    #[command(flatten)]
    pub(crate) places: Places,
}

/// `muster agent status`.
#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    pub(crate) places: Places,
}

/// `muster agent leave`.
#[derive(Debug, Args)]
pub(crate) struct LeaveArgs {
    /// Remove this host's containers and networks too; volumes always stay
    #[arg(long)]
    pub(crate) remove_containers: bool,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) places: Places,
}
