//! Every command and flag. Each flag of `server` and `dev` can also be set as an environment variable.

pub(crate) mod access;
pub(crate) mod agent;
pub(crate) mod contexts;
pub(crate) mod operations;

use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::bench;
use crate::complete::{Noun, names};
use crate::logging::LogFormat;

mod agents;
mod assignments;
mod configs;
mod deploy;
mod fleet;
mod hosts;
mod services;

pub(crate) use agents::*;
pub(crate) use assignments::*;
pub(crate) use configs::*;
pub(crate) use deploy::*;
pub(crate) use fleet::*;
pub(crate) use hosts::*;
pub(crate) use services::*;

/// Control plane for agents that speak OpAMP, and for hosts that run services
#[derive(Debug, Parser)]
#[command(name = "muster", version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that can stand anywhere on the command line.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Show more: the server's debug log, or a command's exchange with the server (secrets masked)
    #[arg(long, global = true, env = "MUSTER_DEBUG")]
    pub(crate) debug: bool,
    /// The context to use instead of the current one: see muster context
    #[arg(long, global = true, env = "MUSTER_CONTEXT", value_name = "NAME", add = names(Noun::Context))]
    pub(crate) context: Option<String>,
}

impl Cli {
    /// Reads the command line; help, and what makes no sense, end the program here.
    pub(crate) fn read() -> Self {
        let matches = Self::exact().get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }

    /// Every command and flag.
    pub(crate) fn exact() -> clap::Command {
        with_negative_numbers(Self::command())
    }
}

/// `-1` where a value belongs is a value that is out of range, and not a flag that nobody knows.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let allow = |argument: clap::Arg| match argument.get_action().takes_values() {
        true => argument.allow_negative_numbers(true),
        false => argument,
    };
    command.mut_args(allow).mut_subcommands(with_negative_numbers)
}

/// A count that can be 0.
fn count(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "it must be a whole number, 0 or more".to_owned())
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the server
    Server(ServerArgs),
    /// Run a server on this machine with a demo agent, to look around
    Dev(DevArgs),
    /// Log in to a server and remember it as a context: the one that --context names, or else the URL's host
    Login(LoginArgs),
    /// Show who you are to the server, and what you may do
    Whoami(WhoamiArgs),
    /// End the session of the current context and forget it
    Logout(Connection),
    /// The servers that you are logged in to, and which of them commands talk to
    #[command(visible_alias = "contexts")]
    Context(contexts::ContextArgs),
    /// Agents: list, show, label, pin to a configuration
    Agents(AgentsArgs),
    /// Configurations and their revisions
    Configs(ConfigsArgs),
    /// Which agents get which configuration, and rollouts
    Assignments(AssignmentsArgs),
    /// Labels of many agents at once
    Labels(LabelsArgs),
    /// Saved queries of the list of agents
    Views(ViewsArgs),
    /// Enrolment tokens: what agents connect with
    Tokens(TokensArgs),
    /// Hosts: machines that run services
    Hosts(HostsArgs),
    /// Deploy Compose files: show the plan, ask, and follow it to its end
    Deploy(DeployArgs),
    /// Show what deploying Compose files would do
    Diff(DiffArgs),
    /// Deployments: how they go, and stopping them
    Deployments(DeploymentsArgs),
    /// Projects: the services of one deployment, with their volumes
    Projects(ProjectsArgs),
    /// Services: list, show, scale, roll back, remove
    Services(ServicesArgs),
    /// List replicas
    Ps(ServicesList),
    /// Show what replicas print
    Logs(LogsArgs),
    /// Secrets of projects
    Secrets(SecretsArgs),
    /// Credentials that hosts pull images with
    Registries(RegistriesArgs),
    /// Users: who may sign in
    Users(access::UsersArgs),
    /// API tokens: what programs call the API with
    ApiTokens(access::ApiTokensArgs),
    /// Change your own password
    Passwd(access::PasswdArgs),
    /// Who changed what
    Audit(access::AuditArgs),
    /// Work on the server's data at its own machine
    Admin(AdminArgs),
    /// Write a back-up of a server's data to a file
    Backup(operations::BackupArgs),
    /// Restore a back-up into a new data directory
    Restore(operations::RestoreArgs),
    /// Look for what keeps a server on this machine from working, and say what to do
    Doctor(operations::DoctorArgs),
    /// Measure what agents cost a server
    Bench(bench::Args),
    /// What runs on a host: join, run, leave
    Agent(agent::AgentArgs),
    /// Print a completion script for a shell, which also completes names that the server knows
    ///
    /// For bash, in ~/.bashrc: source <(muster completion bash)
    Completion(CompletionArgs),
    /// Print the version
    Version,
}

/// `muster server`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServerArgs {
    /// Where everything is kept; made on the first start
    #[arg(long, env = "MUSTER_DATA_DIR", default_value = "./muster-data")]
    pub(crate) data_dir: PathBuf,
    /// Where agents connect
    #[arg(long, env = "MUSTER_OPAMP_LISTEN", default_value = "0.0.0.0:4320", value_name = "ADDRESS")]
    pub(crate) opamp_listen: String,
    /// Where console and API are
    #[arg(long, env = "MUSTER_LISTEN", default_value = "0.0.0.0:5050", value_name = "ADDRESS")]
    pub(crate) listen: String,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    /// No TLS; only with loopback addresses
    #[arg(long, env = "MUSTER_INSECURE_HTTP")]
    pub(crate) insecure_http: bool,
    /// The console's URL as people and agents see it, such as https://muster.example.org
    #[arg(long, env = "MUSTER_PUBLIC_URL", value_name = "URL")]
    pub(crate) public_url: Option<String>,
    /// Certificate chain of your own, PEM; read again when it changes
    #[arg(long, env = "MUSTER_TLS_CERT", value_name = "FILE")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Its private key, PEM
    #[arg(long, env = "MUSTER_TLS_KEY", value_name = "FILE")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Let everybody who reaches the console's port read /metrics, without a token
    #[arg(long, env = "MUSTER_PUBLIC_METRICS")]
    pub(crate) public_metrics: bool,
    /// Address or network of a reverse proxy whose X-Forwarded headers are believed; can be given several times
    #[arg(long, env = "MUSTER_TRUSTED_PROXY", value_name = "CIDR", value_delimiter = ',')]
    pub(crate) trusted_proxy: Vec<String>,
}

/// What `server` and `dev` share.
#[derive(Debug, Clone, Args)]
pub(crate) struct CommonArgs {
    /// Key that secrets are sealed with; master.key in the data directory if absent. Keep it off your back-ups
    #[arg(long, env = "MUSTER_KEY_FILE", value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Largest OpAMP message after decompression, up to 64MiB
    #[arg(long, env = "MUSTER_MAX_MESSAGE", default_value = "16MiB", value_name = "SIZE")]
    pub(crate) max_message: String,
    /// How many agents may be known; 0: as many as come
    #[arg(long, env = "MUSTER_MAX_AGENTS", default_value_t = 0, value_name = "COUNT", value_parser = count)]
    pub(crate) max_agents: u64,
    /// How long a disconnected agent is remembered (90s, 15m, 12h, 30d); 0: for ever
    #[arg(long, env = "MUSTER_AGENT_EXPIRY", default_value = "30d", value_name = "DURATION")]
    pub(crate) agent_expiry: String,
    /// How long a rollout waits for agents that left before they answered (90s, 15m, 12h); 0: without end
    #[arg(long, env = "MUSTER_ROLLOUT_PATIENCE", default_value = "5m", value_name = "DURATION")]
    pub(crate) rollout_patience: String,
    /// Addresses that networks of projects are made of, a /16 or larger
    #[arg(long, env = "MUSTER_NETWORK_RANGE", default_value = control_plane::config::DEFAULT_NETWORK_RANGE, value_name = "CIDR")]
    pub(crate) network_range: String,
    /// Addresses that are reserved for a network between hosts, which there is not yet, a /24 or larger
    #[arg(long, env = "MUSTER_MESH_RANGE", default_value = control_plane::config::DEFAULT_MESH_RANGE, value_name = "CIDR")]
    pub(crate) mesh_range: String,
    /// Threads that serve agents; as many as there are cores if absent
    #[arg(long, env = "MUSTER_AGENT_THREADS", value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) agent_threads: Option<u16>,
    /// Write addresses and first logins as JSON to this file (mode 0600) once the server listens
    #[arg(long, env = "MUSTER_READY_FILE", value_name = "FILE")]
    pub(crate) ready_file: Option<PathBuf>,
    /// How logs look
    #[arg(long, env = "MUSTER_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub(crate) log_format: LogFormat,
}

/// `muster dev`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DevArgs {
    /// Where everything is kept
    #[arg(long, env = "MUSTER_DATA_DIR", default_value = "./var/dev")]
    pub(crate) data_dir: PathBuf,
    /// Where agents connect; another port is taken if this one is not free
    #[arg(long, env = "MUSTER_OPAMP_LISTEN", default_value = "127.0.0.1:4320", value_name = "ADDRESS")]
    pub(crate) opamp_listen: String,
    /// Where console and API are; another port is taken if this one is not free
    #[arg(long, env = "MUSTER_LISTEN", default_value = "127.0.0.1:5050", value_name = "ADDRESS")]
    pub(crate) listen: String,
    /// Start no demo agent
    #[arg(long, env = "MUSTER_NO_DEMO_AGENT")]
    pub(crate) no_demo_agent: bool,
    /// Do not make this machine a host, even when it has a container engine (that of DOCKER_HOST, or the usual one)
    #[arg(long, env = "MUSTER_NO_DEMO_HOST")]
    pub(crate) no_demo_host: bool,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// Which server to talk to.
#[derive(Debug, Clone, Args)]
pub(crate) struct Connection {
    /// The server's URL; the current context's if absent
    #[arg(long, env = "MUSTER_URL", value_name = "URL")]
    pub(crate) url: Option<String>,
    /// API token; the context's if absent
    #[arg(long, env = "MUSTER_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// SHA-256 of the server's or its authority's public key, as the server prints it
    #[arg(long, env = "MUSTER_FINGERPRINT", value_name = "HEX")]
    pub(crate) fingerprint: Option<String>,
}

/// `muster login`.
#[derive(Debug, Clone, Args)]
pub(crate) struct LoginArgs {
    /// The server's URL, such as https://muster.example.org:5050
    #[arg(env = "MUSTER_URL", value_name = "URL")]
    pub(crate) url: String,
    /// User name
    #[arg(long, short, default_value = "admin")]
    pub(crate) user: String,
    /// Read the password from standard input, not from the terminal
    #[arg(long)]
    pub(crate) password_stdin: bool,
    /// SHA-256 of the server's or its authority's public key, as the server prints it
    #[arg(long, env = "MUSTER_FINGERPRINT", value_name = "HEX")]
    pub(crate) fingerprint: Option<String>,
    /// Leave the current context as it is; commands reach this server with --context
    #[arg(long)]
    pub(crate) keep_current: bool,
}

/// `muster whoami`.
#[derive(Debug, Clone, Args)]
pub(crate) struct WhoamiArgs {
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster admin`.
#[derive(Debug, Args)]
pub(crate) struct AdminArgs {
    #[command(subcommand)]
    pub(crate) verb: AdminVerb,
}

/// What to do at the machine.
#[derive(Debug, Subcommand)]
pub(crate) enum AdminVerb {
    /// Print a new password for a user and end the user's sessions
    ResetLogin(ResetLogin),
}

/// `muster admin reset-login`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ResetLogin {
    /// The server's data directory
    #[arg(long, env = "MUSTER_DATA_DIR", default_value = "./muster-data")]
    pub(crate) data_dir: PathBuf,
    /// The user
    #[arg(long, short, default_value = "admin")]
    pub(crate) user: String,
}

/// `muster completion`.
#[derive(Debug, Args)]
pub(crate) struct CompletionArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Whether a change is made, asked about, or only shown.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Consent {
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Show what would be done and stop
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// How to print.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Output {
    /// Table for people, json and yaml as the API has it, name for scripts
    #[arg(long = "output", short = 'o', value_enum, default_value_t = Format::Table)]
    pub(crate) format: Format,
}

/// A way to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people; may change.
    Table,
    /// The API's JSON; stable.
    Json,
    /// The same as YAML.
    Yaml,
    /// Ids only, one per line.
    Name,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::exact().debug_assert();
    }

    #[test]
    fn a_negative_number_is_a_value_out_of_range_and_not_an_unknown_flag() {
        for arguments in [
            &["muster", "server", "--max-agents", "-1"][..],
            &["muster", "server", "--agent-threads", "-1"],
            &["muster", "agents", "list", "--limit", "-1"],
        ] {
            let text = Cli::exact().try_get_matches_from(arguments).unwrap_err().to_string();
            assert!(text.contains("'-1'") && text.contains(arguments[arguments.len() - 2]), "{text}");
            assert!(!text.contains("unexpected argument"), "{text}");
        }
    }

    #[test]
    fn model_10_without_a_setting_agents_are_served_on_port_4320() {
        let command = Cli::command();
        for name in ["server", "dev"] {
            let sub = command.find_subcommand(name).unwrap();
            let flag =
                sub.get_arguments().find(|argument| argument.get_long() == Some("opamp-listen")).unwrap();
            let default = flag.get_default_values()[0].to_str().unwrap();
            assert!(default.ends_with(":4320"), "{name}: {default}");
        }
    }

    #[test]
    fn every_flag_of_the_server_has_an_environment_variable() {
        let command = Cli::command();
        for name in ["server", "dev"] {
            let sub = command.find_subcommand(name).unwrap();
            for argument in sub.get_arguments().filter(|argument| argument.get_long() != Some("help")) {
                let env = argument.get_env().unwrap_or_else(|| panic!("{argument} has none"));
                let expected =
                    format!("MUSTER_{}", argument.get_long().unwrap().replace('-', "_").to_uppercase());
                assert_eq!(env.to_str(), Some(expected.as_str()));
            }
        }
    }

    #[test]
    fn the_unit_of_the_guide_starts_a_server_with_flags_that_there_are() {
        let unit = include_str!("../../../docs/operations/muster.service");
        let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/")).unwrap();
        let cli = Cli::try_parse_from(start.split(' ')).unwrap();
        let Command::Server(server) = cli.command else { panic!("{start}") };
        assert_eq!(server.data_dir, PathBuf::from("/var/lib/muster"), "StateDirectory= makes this one");
        assert!(unit.contains("\nStateDirectory=muster\n") && server.public_url.is_some());
    }
}
