//! The command line of what runs: `muster services`, `ps`, `logs`, `secrets`, `registries`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::complete::{Noun, names};

use super::{Attending, Connection, Consent, Output};

/// `muster services`.
#[derive(Debug, Args)]
pub(crate) struct ServicesArgs {
    #[command(subcommand)]
    pub(crate) verb: ServicesVerb,
}

/// What to do with services.
#[derive(Debug, Subcommand)]
pub(crate) enum ServicesVerb {
    /// List services
    List(ServicesList),
    /// Show a service with its replicas
    Show(ServicesShow),
    /// Show the releases of a service, the newest first
    Releases(ServicesShow),
    /// Set how many replicas services have, until their files are deployed again
    Scale(ServicesScale),
    /// Go back to an older release
    Rollback(ServicesRollback),
    /// Remove a service; its volumes stay
    Rm(ServicesRm),
}

/// `muster services list` and `muster ps`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServicesList {
    /// Only of this project
    #[arg(value_name = "PROJECT", add = names(Noun::Project))]
    pub(crate) project: Option<String>,
    /// The same as PROJECT
    #[arg(long = "project", short = 'p', value_name = "NAME", conflicts_with = "project", add = names(Noun::Project))]
    pub(crate) project_flag: Option<String>,
    /// Print again whenever something changes
    #[arg(long, short)]
    pub(crate) watch: bool,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

impl ServicesList {
    /// The project that is meant, if only one is.
    pub(crate) fn project(&self) -> Option<&str> {
        self.project.as_deref().or(self.project_flag.as_deref())
    }
}

/// `muster services show` and `releases`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServicesShow {
    /// The service
    #[arg(value_name = "PROJECT/SERVICE", add = names(Noun::Service))]
    pub(crate) service: String,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster services scale`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServicesScale {
    /// Services with the number of their replicas
    #[arg(value_name = "PROJECT/SERVICE=COUNT", required = true, add = names(Noun::ServiceCount))]
    pub(crate) counts: Vec<String>,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) attending: Attending,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster services rollback`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServicesRollback {
    /// The service
    #[arg(value_name = "PROJECT/SERVICE", add = names(Noun::Service))]
    pub(crate) service: String,
    /// The release to go to; the newest one before the current one that served if absent
    #[arg(long, value_name = "NUMBER")]
    pub(crate) to: Option<u32>,
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

/// `muster services rm`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServicesRm {
    /// The service
    #[arg(value_name = "PROJECT/SERVICE", add = names(Noun::Service))]
    pub(crate) service: String,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) attending: Attending,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster logs`.
#[derive(Debug, Clone, Args)]
pub(crate) struct LogsArgs {
    /// A service, or a project for all its services
    #[arg(value_name = "PROJECT[/SERVICE]", add = names(Noun::ProjectOrService))]
    pub(crate) what: String,
    /// Go on with lines as they come, also from replicas that are started later
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// The last so many lines of each service
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=500))]
    pub(crate) tail: u32,
    /// Not before: how long ago (10m, 2h, 7d), or a moment such as 2026-11-30T03:04:05Z
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Only of the replica with this number
    #[arg(long, value_name = "NUMBER")]
    pub(crate) replica: Option<u32>,
    /// Only lines with this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) contains: Option<String>,
    /// Show when each line was printed
    #[arg(long, short = 't')]
    pub(crate) timestamps: bool,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster secrets`.
#[derive(Debug, Args)]
pub(crate) struct SecretsArgs {
    #[command(subcommand)]
    pub(crate) verb: SecretsVerb,
}

/// What to do with secrets. Nothing shows their contents again.
#[derive(Debug, Subcommand)]
pub(crate) enum SecretsVerb {
    /// List the secrets of a project
    List(SecretsList),
    /// Set a secret; services that run get it with their next deployment
    Set(SecretsSet),
    /// Remove a secret; replicas that have it keep it until they are replaced
    Rm(SecretsRm),
}

/// `muster secrets list`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SecretsList {
    /// The project's name
    #[arg(value_name = "PROJECT", add = names(Noun::Project))]
    pub(crate) project: Option<String>,
    /// The same as PROJECT
    #[arg(long = "project", short = 'p', value_name = "NAME", conflicts_with = "project", add = names(Noun::Project))]
    pub(crate) project_flag: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster secrets set`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SecretsSet {
    /// The secret; the project need not be deployed yet
    #[arg(value_name = "PROJECT/NAME", add = names(Noun::Secret))]
    pub(crate) secret: String,
    /// Take the content of this file as it is; if absent, it is read from standard input, or asked for on a terminal
    #[arg(long, value_name = "FILE")]
    pub(crate) from_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster secrets rm`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SecretsRm {
    /// The secret
    #[arg(value_name = "PROJECT/NAME", add = names(Noun::Secret))]
    pub(crate) secret: String,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster registries`.
#[derive(Debug, Args)]
pub(crate) struct RegistriesArgs {
    #[command(subcommand)]
    pub(crate) verb: RegistriesVerb,
}

/// What to do with credentials for registries. Nothing shows their passwords again.
#[derive(Debug, Subcommand)]
pub(crate) enum RegistriesVerb {
    /// List the registries that hosts have a credential for
    List(RegistriesList),
    /// Set what hosts pull images of a registry with
    Set(RegistriesSet),
    /// Remove the credential for a registry
    Rm(RegistriesRm),
}

/// `muster registries list`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RegistriesList {
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster registries set`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RegistriesSet {
    /// Host and port as they stand in an image's name; docker.io for names without one
    pub(crate) registry: String,
    /// Who pulls
    #[arg(long, short)]
    pub(crate) user: String,
    /// Read the password or token from standard input, not from the terminal
    #[arg(long)]
    pub(crate) password_stdin: bool,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster registries rm`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RegistriesRm {
    /// Host and port, as the list shows them
    #[arg(add = names(Noun::Registry))]
    pub(crate) registry: String,
    #[command(flatten)]
    pub(crate) consent: Consent,
    #[command(flatten)]
    pub(crate) connection: Connection,
}
