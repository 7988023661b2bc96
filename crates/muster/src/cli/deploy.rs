//! The command line of `muster deploy`, `diff`, `deployments` and `projects`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::complete::{Noun, names};

use super::{Connection, Consent, Output};

/// Compose files, and what they are read with.
#[derive(Debug, Clone, Args)]
pub(crate) struct ComposeArgs {
    /// A Compose file, or - for standard input; each goes over those before it. If absent: compose.yaml, compose.yml,
    /// docker-compose.yaml or docker-compose.yml here or in a directory above, with its override file
    #[arg(long = "file", short = 'f', value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The project's name; if absent what the files say, else the name of their directory
    #[arg(long, short = 'p', value_name = "NAME", add = names(Noun::Project))]
    pub(crate) project: Option<String>,
    /// A file with values of variables instead of .env beside the Compose file; can be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Vec<PathBuf>,
    /// Also services with this profile; can be given several times, * stands for all
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Vec<String>,
    /// Replace replicas although nothing about them changed
    #[arg(long)]
    pub(crate) force: bool,
}

/// Whether to wait for a deployment: yes, unless somebody says otherwise.
#[derive(Debug, Clone, Args)]
pub(crate) struct Attending {
    /// Wait until the deployment is over, as is usual: exit code 1 when it went back, 6 when the time is over
    #[arg(long, overrides_with = "no_wait")]
    pub(crate) wait: bool,
    /// Do not wait
    #[arg(long, overrides_with = "wait")]
    pub(crate) no_wait: bool,
    /// How long to wait (90s, 15m, 12h)
    #[arg(long, value_name = "DURATION", default_value = "15m")]
    pub(crate) timeout: String,
}

/// `muster deploy`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DeployArgs {
    #[command(flatten)]
    pub(crate) compose: ComposeArgs,
    /// Why; the history shows it
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) attending: Attending,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster diff`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DiffArgs {
    #[command(flatten)]
    pub(crate) compose: ComposeArgs,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster deployments`.
#[derive(Debug, Args)]
pub(crate) struct DeploymentsArgs {
    #[command(subcommand)]
    pub(crate) verb: DeploymentsVerb,
}

/// What to do with deployments.
#[derive(Debug, Subcommand)]
pub(crate) enum DeploymentsVerb {
    /// List deployments, the newest first
    List(DeploymentsList),
    /// Show how a deployment goes or went
    Show(DeploymentsShow),
    /// Stop a deployment that is under way: the services go back to what they ran
    Abort(DeploymentsAbort),
}

/// `muster deployments list`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DeploymentsList {
    /// Only of this project
    #[arg(long, short = 'p', value_name = "NAME", add = names(Noun::Project))]
    pub(crate) project: Option<String>,
    /// At most so many
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub(crate) limit: u32,
    /// Print again whenever something changes
    #[arg(long, short)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster deployments show`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DeploymentsShow {
    /// The deployment's number
    #[arg(add = names(Noun::Deployment))]
    pub(crate) id: String,
    /// Wait until it is over: exit code 1 when it went back, 6 when the time is over
    #[arg(long)]
    pub(crate) wait: bool,
    /// How long to wait (90s, 15m, 12h)
    #[arg(long, value_name = "DURATION", default_value = "15m", requires = "wait")]
    pub(crate) timeout: String,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster deployments abort`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DeploymentsAbort {
    /// The deployment's number
    #[arg(add = names(Noun::Deployment))]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster projects`.
#[derive(Debug, Args)]
pub(crate) struct ProjectsArgs {
    #[command(subcommand)]
    pub(crate) verb: ProjectsVerb,
}

/// What to do with projects.
#[derive(Debug, Subcommand)]
pub(crate) enum ProjectsVerb {
    /// List projects
    List(ProjectsList),
    /// Show a project: its services, volumes and the deployment that is under way
    Show(ProjectsShow),
    /// Remove a project: its services stop; its volumes stay unless --volumes says otherwise
    Rm(ProjectsRm),
}

/// `muster projects list`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProjectsList {
    /// Print again whenever something changes
    #[arg(long, short)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster projects show`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProjectsShow {
    /// The project's name
    #[arg(add = names(Noun::Project))]
    pub(crate) project: String,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster projects rm`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProjectsRm {
    /// The project's name
    #[arg(add = names(Noun::Project))]
    pub(crate) project: String,
    /// Remove its volumes too, with all that is in them; nothing brings that back
    #[arg(long)]
    pub(crate) volumes: bool,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) attending: Attending,
    #[command(flatten)]
    pub(crate) connection: Connection,
}
