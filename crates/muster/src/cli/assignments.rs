//! The command line of `muster assignments`.

use clap::{Args, Subcommand};

use crate::complete::{Noun, names};

use super::{Connection, Consent, Output, Reach};

/// `muster assignments`.
#[derive(Debug, Args)]
pub(crate) struct AssignmentsArgs {
    #[command(subcommand)]
    pub(crate) verb: AssignmentsVerb,
}

/// What to do with assignments.
#[derive(Debug, Subcommand)]
pub(crate) enum AssignmentsVerb {
    /// List assignments, the strongest first
    List(AssignmentsList),
    /// Show an assignment and how far it is
    Show(AssignmentsShow),
    /// List the agents of an assignment
    Agents(AssignmentsAgents),
    /// Say who would get a configuration, and who would not and why
    Preview(AssignmentsPreview),
    /// Give a configuration to all agents of a selector, batch by batch
    Create(AssignmentsCreate),
    /// Bring an assignment's agents to another revision; an older one at once
    #[command(visible_alias = "rollback")]
    SetRevision(AssignmentsSetRevision),
    /// Change to whom an assignment applies, its priority, or the size of its batches; this is no rollout
    Set(AssignmentsSet),
    /// Stop a rollout until somebody resumes it
    Pause(AssignmentsPause),
    /// Go on with a paused rollout and forgive the faults seen so far
    Resume(AssignmentsResume),
    /// End a rollout: who has the new revision keeps it, nobody else gets it
    Abort(AssignmentsAbort),
    /// Remove an assignment; its agents run on with what they have, or with --clear are told to forget it
    Rm(AssignmentsRm),
}

/// `muster assignments list`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AssignmentsList {
    /// Only assignments of this configuration
    #[arg(long, value_name = "NAME", add = names(Noun::Config))]
    pub(crate) config: Option<String>,
    /// Only assignments in this state: rolling, paused, done, aborted or clearing
    #[arg(long, value_name = "STATE")]
    pub(crate) state: Option<String>,
    /// Print again whenever something changes
    #[arg(long, short)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster assignments show`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AssignmentsShow {
    /// The assignment's id, or its configuration's name if that has only one
    #[arg(add = names(Noun::Assignment))]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster assignments agents`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AssignmentsAgents {
    /// The assignment's id, or its configuration's name if that has only one
    #[arg(add = names(Noun::Assignment))]
    pub(crate) id: String,
    /// Only agents in this state: waiting, in sync, offered, applying, failed, drifted or not configurable
    #[arg(long, value_name = "STATE")]
    pub(crate) state: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// Who is to get what.
#[derive(Debug, Clone, Args)]
pub(crate) struct Target {
    /// The configuration's name
    #[arg(add = names(Noun::Config))]
    pub(crate) config: String,
    /// Its revision; the latest if absent
    #[arg(long, value_name = "NUMBER")]
    pub(crate) revision: Option<u32>,
    #[command(flatten)]
    pub(crate) reach: Reach,
    /// Of several assignments the one with the highest priority wins
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    pub(crate) priority: Option<i32>,
    /// How much of the agents one batch releases
    #[arg(long, visible_alias = "batch", value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) batch_percent: Option<u32>,
}

/// `muster assignments preview`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AssignmentsPreview {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Name so many agents
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=500))]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// Whether to wait for the agents.
#[derive(Debug, Clone, Args)]
pub(crate) struct Waiting {
    /// Wait for the outcome on the agents; exit code 5 when the rollout stops, 6 when the time is over
    #[arg(long)]
    pub(crate) wait: bool,
    /// How long to wait (90s, 15m, 12h)
    #[arg(long, value_name = "DURATION", default_value = "15m", requires = "wait")]
    pub(crate) timeout: String,
}

/// `muster assignments create`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AssignmentsCreate {
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) waiting: Waiting,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster assignments set-revision`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AssignmentsSetRevision {
    /// The assignment's id, or its configuration's name if that has only one
    #[arg(add = names(Noun::Assignment))]
    pub(crate) id: String,
    /// The revision's number
    pub(crate) revision: u32,
    /// How much of the agents one batch releases; as the assignment says if absent, and all for an older revision
    #[arg(long, visible_alias = "batch", value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) batch_percent: Option<u32>,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) waiting: Waiting,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster assignments set`.
#[derive(Debug, Clone, Args)]
#[command(group(clap::ArgGroup::new("change").multiple(true).required(true)
    .args(["selector", "all", "priority", "batch_percent"])))]
pub(crate) struct AssignmentsSet {
    /// The assignment's id, or its configuration's name if that has only one
    #[arg(add = names(Noun::Assignment))]
    pub(crate) id: String,
    /// The agents with these attributes and labels from now on
    #[arg(long, short = 'l', value_name = "SELECTOR")]
    pub(crate) selector: Option<String>,
    /// Every agent from now on
    #[arg(long, conflicts_with = "selector")]
    pub(crate) all: bool,
    /// Of several assignments the one with the highest priority wins
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    pub(crate) priority: Option<i32>,
    /// How much of the agents one batch releases
    #[arg(long, visible_alias = "batch", value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) batch_percent: Option<u32>,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster assignments pause`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AssignmentsPause {
    /// The assignment's id, or its configuration's name if that has only one
    #[arg(add = names(Noun::Assignment))]
    pub(crate) id: String,
    /// Why, for those who come later
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster assignments resume`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AssignmentsResume {
    /// The assignment's id, or its configuration's name if that has only one
    #[arg(add = names(Noun::Assignment))]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) waiting: Waiting,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster assignments abort`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AssignmentsAbort {
    /// The assignment's id, or its configuration's name if that has only one
    #[arg(add = names(Noun::Assignment))]
    pub(crate) id: String,
    /// Why, for those who come later
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster assignments rm`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AssignmentsRm {
    /// The assignment's id, or its configuration's name if that has only one
    #[arg(add = names(Noun::Assignment))]
    pub(crate) id: String,
    /// Tell the agents to forget the configuration
    #[arg(long)]
    pub(crate) clear: bool,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) waiting: Waiting,
    #[command(flatten)]
    pub(crate) connection: Connection,
}
