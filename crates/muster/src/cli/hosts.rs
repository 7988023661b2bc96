//! The command line of `muster hosts`.

use clap::{ArgAction, ArgGroup, Args, Subcommand};

use crate::complete::{Noun, names};

use super::{Connection, Consent, Output};

/// `muster hosts`.
#[derive(Debug, Args)]
pub(crate) struct HostsArgs {
    #[command(subcommand)]
    pub(crate) verb: HostsVerb,
}

/// What to do with hosts.
#[derive(Debug, Subcommand)]
pub(crate) enum HostsVerb {
    /// Print the one command that makes a machine a host, and wait until it is one
    #[command(visible_alias = "join")]
    Add(HostsAdd),
    /// List hosts
    List(HostsList),
    /// Show a host in full
    Show(HostsShow),
    /// Change a host: its name, labels, the paths that containers may see, whether it gets anything new
    Set(HostsSet),
    /// Remove a host on which nothing is meant to run any more; its containers are left alone
    Rm(HostsRm),
    /// Show the last errors and steps of deployments on a host, also of one that is away
    Log(HostsLog),
    /// Join tokens: what machines join with
    Tokens(HostTokensArgs),
}

/// `muster hosts add`.
#[derive(Debug, Clone, Args)]
pub(crate) struct HostsAdd {
    /// What the host shall be called; its hostname if absent
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The same as NAME
    #[arg(long = "name", value_name = "NAME", conflicts_with = "name")]
    pub(crate) name_flag: Option<String>,
    /// How long the command works, once (90s, 15m, 12h, 7d)
    #[arg(long, value_name = "DURATION", default_value = "1h")]
    pub(crate) expires: String,
    /// The machine takes the place of this host, whose own machine was lost or made anew
    #[arg(long, value_name = "HOST", conflicts_with_all = ["name", "name_flag"], add = names(Noun::Host))]
    pub(crate) replace: Option<String>,
    /// Wait until the machine is a host with an engine that answers, as is usual on a terminal; exit code 6 when the
    /// command has expired by then
    #[arg(long, overrides_with = "no_wait")]
    pub(crate) wait: bool,
    /// Only print the command
    #[arg(long, overrides_with = "wait")]
    pub(crate) no_wait: bool,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster hosts list`.
#[derive(Debug, Clone, Args)]
pub(crate) struct HostsList {
    /// Print again whenever something changes
    #[arg(long, short)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster hosts show`.
#[derive(Debug, Clone, Args)]
pub(crate) struct HostsShow {
    /// The host's name or id
    #[arg(add = names(Noun::Host))]
    pub(crate) host: String,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster hosts set`.
#[derive(Debug, Clone, Args)]
#[command(group(ArgGroup::new("change").multiple(true).required(true)
    .args(["name", "labels", "cordon", "uncordon", "allow_path", "forbid_path", "adopting"])))]
pub(crate) struct HostsSet {
    /// The host's name or id
    #[arg(add = names(Noun::Host))]
    pub(crate) host: String,
    /// Another name
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Set a label (KEY=VALUE) or remove it (KEY-); can be given several times
    #[arg(long = "label", short = 'l', value_name = "CHANGE")]
    pub(crate) labels: Vec<String>,
    /// Place nothing new there; what runs stays
    #[arg(long, conflicts_with = "uncordon")]
    pub(crate) cordon: bool,
    /// Place services there again
    #[arg(long)]
    pub(crate) uncordon: bool,
    /// Let containers see this path of the host and what is below it; can be given several times
    #[arg(long, value_name = "PATH")]
    pub(crate) allow_path: Vec<String>,
    /// Do not let new containers see it any more
    #[arg(long, value_name = "PATH")]
    pub(crate) forbid_path: Vec<String>,
    /// false: let the host remove containers that the server, restored from a back-up, does not know
    #[arg(long, value_name = "BOOL", action = ArgAction::Set)]
    pub(crate) adopting: Option<bool>,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster hosts rm`.
#[derive(Debug, Clone, Args)]
pub(crate) struct HostsRm {
    /// The host's name or id
    #[arg(add = names(Noun::Host))]
    pub(crate) host: String,
    /// Also when services or volumes are meant to be there, because it does not come back
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster hosts log`.
#[derive(Debug, Clone, Args)]
pub(crate) struct HostsLog {
    /// The host's name or id
    #[arg(add = names(Noun::Host))]
    pub(crate) host: String,
    /// The last so many lines
    #[arg(long, value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub(crate) tail: u32,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster hosts tokens`.
#[derive(Debug, Args)]
pub(crate) struct HostTokensArgs {
    #[command(subcommand)]
    pub(crate) verb: HostTokensVerb,
}

/// What to do with join tokens. `muster hosts add` makes them.
#[derive(Debug, Subcommand)]
pub(crate) enum HostTokensVerb {
    /// List join tokens, the newest first
    List(HostTokensList),
    /// Revoke a join token; a host that joined with it stays
    Revoke(HostTokensRevoke),
}

/// `muster hosts tokens list`.
#[derive(Debug, Clone, Args)]
pub(crate) struct HostTokensList {
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster hosts tokens revoke`.
#[derive(Debug, Clone, Args)]
pub(crate) struct HostTokensRevoke {
    /// The token's id, as the list shows it
    #[arg(add = names(Noun::JoinToken))]
    pub(crate) id: String,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) connection: Connection,
}
