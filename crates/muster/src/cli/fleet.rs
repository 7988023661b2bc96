//! The command line of what operators say of agents: labels, pins to a revision, saved views.

use clap::{Args, Subcommand};

use crate::complete::{Noun, names};

use super::{Connection, Consent, Output};

/// Which agents a change is for. Nothing given, or an empty selector, never means everybody by accident.
#[derive(Debug, Clone, Args)]
pub(crate) struct Reach {
    /// The agents with these attributes and labels: `service.name=web,env in (prod,stage),!canary`
    #[arg(long, short = 'l', value_name = "SELECTOR", required_unless_present = "all")]
    pub(crate) selector: Option<String>,
    /// Every agent
    #[arg(long, conflicts_with = "selector")]
    pub(crate) all: bool,
}

/// `muster agents label`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AgentsLabel {
    /// The agent's instance_uid, or its beginning if that is unique
    #[arg(add = names(Noun::Agent))]
    pub(crate) instance_uid: String,
    /// Labels to set (KEY=VALUE) and to remove (KEY-)
    #[arg(required = true, value_name = "LABEL")]
    pub(crate) labels: Vec<String>,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster agents override`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AgentsOverride {
    /// The agent's instance_uid, or its beginning if that is unique
    #[arg(add = names(Noun::Agent))]
    pub(crate) instance_uid: String,
    /// The configuration's name
    #[arg(add = names(Noun::Config))]
    pub(crate) config: String,
    /// Its revision; the latest if absent
    #[arg(long, value_name = "NUMBER")]
    pub(crate) revision: Option<u32>,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster agents unset`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AgentsUnset {
    /// The agent's instance_uid, or its beginning if that is unique
    #[arg(add = names(Noun::Agent))]
    pub(crate) instance_uid: String,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster labels`.
#[derive(Debug, Args)]
pub(crate) struct LabelsArgs {
    #[command(subcommand)]
    pub(crate) verb: LabelsVerb,
}

/// What to do with labels.
#[derive(Debug, Subcommand)]
pub(crate) enum LabelsVerb {
    /// List the labels of agents
    List(LabelsList),
    /// Set and remove labels of all agents of a selector
    #[command(visible_alias = "set")]
    Apply(LabelsApply),
}

/// `muster labels list`.
#[derive(Debug, Clone, Args)]
pub(crate) struct LabelsList {
    /// Only agents with these attributes and labels
    #[arg(long, short = 'l', value_name = "SELECTOR")]
    pub(crate) selector: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster labels apply`.
#[derive(Debug, Clone, Args)]
pub(crate) struct LabelsApply {
    /// Labels to set (KEY=VALUE) and to remove (KEY-)
    #[arg(required = true, value_name = "LABEL")]
    pub(crate) labels: Vec<String>,
    #[command(flatten)]
    pub(crate) reach: Reach,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster views`.
#[derive(Debug, Args)]
pub(crate) struct ViewsArgs {
    #[command(subcommand)]
    pub(crate) verb: ViewsVerb,
}

/// What to do with saved views.
#[derive(Debug, Subcommand)]
pub(crate) enum ViewsVerb {
    /// List saved views
    List(ViewsList),
    /// Save a query of the list of agents under a name
    Create(ViewsCreate),
    /// Remove a view
    Rm(ViewsRm),
}

/// `muster views list`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ViewsList {
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster views create`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ViewsCreate {
    /// The view's name
    pub(crate) name: String,
    /// Agents with these attributes and labels
    #[arg(long, short = 'l', value_name = "SELECTOR")]
    pub(crate) selector: Option<String>,
    /// Agents whose name, host or ids hold this text
    #[arg(long, short = 'q', value_name = "TEXT")]
    pub(crate) query: Option<String>,
    /// Agents in this state: connected, silent or disconnected
    #[arg(long, value_name = "STATE")]
    pub(crate) state: Option<String>,
    /// Agents of this health: healthy, unhealthy or unknown
    #[arg(long, value_name = "HEALTH")]
    pub(crate) health: Option<String>,
    /// Agents whose configuration is in this state
    #[arg(long, value_name = "STATE")]
    pub(crate) config_state: Option<String>,
    /// Agents that are given this configuration
    #[arg(long, value_name = "NAME", add = names(Noun::Config))]
    pub(crate) config: Option<String>,
    /// Order
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub(crate) sort: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster views rm`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ViewsRm {
    /// The view's name or id
    #[arg(add = names(Noun::View))]
    pub(crate) view: String,
    #[command(flatten)]
    pub(crate) connection: Connection,
}
