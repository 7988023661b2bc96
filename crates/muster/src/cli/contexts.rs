//! The command line of `muster context`.

use clap::{Args, Subcommand};

use crate::complete::{Noun, names};

use super::Output;

/// `muster context`.
#[derive(Debug, Args)]
pub(crate) struct ContextArgs {
    #[command(subcommand)]
    pub(crate) verb: ContextVerb,
}

/// What to do with contexts.
#[derive(Debug, Subcommand)]
pub(crate) enum ContextVerb {
    /// List the contexts; the current one has a star
    List(ContextList),
    /// Make a context the current one
    Use(ContextUse),
    /// Show a context, without its token
    Show(ContextShow),
    /// Forget a context. Its login on the server goes on until it ends: muster logout --context NAME ends it first
    Rm(ContextRm),
}

/// `muster context list`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ContextList {
    #[command(flatten)]
    pub(crate) output: Output,
}

/// `muster context use`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ContextUse {
    /// The context's name
    #[arg(add = names(Noun::Context))]
    pub(crate) name: String,
}

/// `muster context show`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ContextShow {
    /// The context's name; the current one if absent
    #[arg(add = names(Noun::Context))]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// `muster context rm`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ContextRm {
    /// The context's name
    #[arg(add = names(Noun::Context))]
    pub(crate) name: String,
}
