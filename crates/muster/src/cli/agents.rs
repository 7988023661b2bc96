//! The command line of `muster agents` and of their enrolment tokens.

use clap::{Args, Subcommand};

use crate::complete::{Noun, names};

use super::{AgentsLabel, AgentsOverride, AgentsUnset, Connection, Output};

/// `muster agents`.
#[derive(Debug, Args)]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    pub(crate) verb: AgentsVerb,
}

/// What to do with agents.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsVerb {
    /// List agents
    List(AgentsList),
    /// Show one agent in full
    Show(AgentsShow),
    /// Show what happened to an agent, and who or what caused it
    Timeline(AgentsShow),
    /// Print what an agent and the server say to each other, from now on
    Messages(AgentsShow),
    /// Set and remove labels of an agent
    Label(AgentsLabel),
    /// Pin an agent to a revision, whatever is assigned to it
    Override(AgentsOverride),
    /// Let an agent follow its assignments again
    Unset(AgentsUnset),
}

/// `muster agents list`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AgentsList {
    /// Only agents with these attributes: `service.name=web,env in (prod,stage),!canary`
    #[arg(long, short = 'l', value_name = "SELECTOR")]
    pub(crate) selector: Option<String>,
    /// Only agents whose name, host or ids hold this text
    #[arg(long, short = 'q', value_name = "TEXT")]
    pub(crate) query: Option<String>,
    /// Only agents in this state: connected, silent or disconnected
    #[arg(long, value_name = "STATE")]
    pub(crate) state: Option<String>,
    /// Only agents of this health: healthy, unhealthy or unknown
    #[arg(long, value_name = "HEALTH")]
    pub(crate) health: Option<String>,
    /// Only agents whose configuration is in this state: in sync, offered, applying, failed, drifted, not configurable
    /// or unmanaged
    #[arg(long, value_name = "STATE")]
    pub(crate) config_state: Option<String>,
    /// Only agents that are given this configuration
    #[arg(long, value_name = "NAME", add = names(Noun::Config))]
    pub(crate) config: Option<String>,
    /// Also agents that others have replaced
    #[arg(long)]
    pub(crate) replaced: bool,
    /// Order: name, last_seen, state, health or connected_since; with - before it reversed
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub(crate) sort: Option<String>,
    /// At most so many agents
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
    /// Print again whenever something changes
    #[arg(long, short)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster agents show`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AgentsShow {
    /// The agent's instance_uid, or its beginning if that is unique
    #[arg(add = names(Noun::Agent))]
    pub(crate) instance_uid: String,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster tokens`.
#[derive(Debug, Args)]
pub(crate) struct TokensArgs {
    #[command(subcommand)]
    pub(crate) verb: TokensVerb,
}

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum TokensVerb {
    /// List tokens
    List(TokensList),
    /// Make a token and print it, once
    Create(TokensCreate),
    /// Revoke a token: its agents are disconnected at once
    Revoke(TokensRevoke),
}

/// `muster tokens list`.
#[derive(Debug, Clone, Args)]
pub(crate) struct TokensList {
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster tokens create`.
#[derive(Debug, Clone, Args)]
pub(crate) struct TokensCreate {
    /// What it is for
    pub(crate) label: String,
    /// After this time it enrols nobody new (90s, 15m, 12h, 30d); agents that it enrolled stay
    #[arg(long, value_name = "DURATION")]
    pub(crate) expires: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster tokens revoke`.
#[derive(Debug, Clone, Args)]
pub(crate) struct TokensRevoke {
    /// The token's id, as the list shows it
    #[arg(add = names(Noun::EnrolmentToken))]
    pub(crate) id: String,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) connection: Connection,
}
