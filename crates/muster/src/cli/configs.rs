//! The command line of `muster configs`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::complete::{Noun, names};

use super::{Connection, Output};

/// `muster configs`.
#[derive(Debug, Args)]
pub(crate) struct ConfigsArgs {
    #[command(subcommand)]
    pub(crate) verb: ConfigsVerb,
}

/// What to do with configurations.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigsVerb {
    /// List configurations
    List(ConfigsList),
    /// Show a configuration with its files
    Show(ConfigsShow),
    /// Show a configuration's revisions, newest first
    History(ConfigsHistory),
    /// Write configurations from files: created, changed or unchanged. Nobody gets them until they are assigned
    Apply(ConfigsApply),
    /// Check files as the server does before it takes them
    Check(ConfigsCheck),
    /// Show what differs between two revisions, or between the latest and files
    Diff(ConfigsDiff),
    /// Remove a configuration that nothing uses
    Rm(ConfigsRm),
    /// Make a configuration of what an agent runs
    Import(ConfigsImport),
}

/// `muster configs list`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigsList {
    /// Only configurations whose name or description holds this text
    #[arg(long, short = 'q', value_name = "TEXT")]
    pub(crate) query: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster configs show`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigsShow {
    /// The configuration's name
    #[arg(add = names(Noun::Config))]
    pub(crate) name: String,
    /// The revision; the latest if absent
    #[arg(long, value_name = "NUMBER")]
    pub(crate) revision: Option<u32>,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster configs history`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigsHistory {
    /// The configuration's name
    #[arg(add = names(Noun::Config))]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// Files of configurations.
#[derive(Debug, Clone, Args)]
pub(crate) struct Sources {
    /// A file, a directory, or - for standard input; can be given several times
    #[arg(long = "file", short = 'f', value_name = "PATH", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// `muster configs apply`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigsApply {
    /// The configuration that all files belong to. If absent, each file and each directory is one of its own, named
    /// after it, and a directory's files and directories are taken one by one
    #[arg(add = names(Noun::Config))]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) sources: Sources,
    /// Name of the file in the configuration, if it is only one. If absent, it keeps the name that it has there, and
    /// is named as it is here in the first revision
    #[arg(long, value_name = "NAME")]
    pub(crate) file_name: Option<String>,
    /// Why; the history shows it
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    /// Say what would be done and stop
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster configs check`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigsCheck {
    #[command(flatten)]
    pub(crate) sources: Sources,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster configs diff`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigsDiff {
    /// The configuration's name
    #[arg(add = names(Noun::Config))]
    pub(crate) name: String,
    /// The old revision; the one before the new one if absent
    #[arg(long, value_name = "NUMBER")]
    pub(crate) from: Option<u32>,
    /// The new revision; the latest if absent
    #[arg(long, value_name = "NUMBER", conflicts_with = "files")]
    pub(crate) to: Option<u32>,
    /// Compare with these files instead: a file, a directory, or - for standard input
    #[arg(long = "file", short = 'f', value_name = "PATH")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster configs rm`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigsRm {
    /// The configuration's name
    #[arg(add = names(Noun::Config))]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) consent: super::Consent,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster configs import`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConfigsImport {
    /// The name of the new configuration
    pub(crate) name: String,
    /// The agent's instance_uid, or its beginning if that is unique
    #[arg(long, value_name = "INSTANCE_UID", add = names(Noun::Agent))]
    pub(crate) from_agent: String,
    /// Why; the history shows it
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}
