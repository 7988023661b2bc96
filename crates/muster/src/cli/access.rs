//! The flags of commands about access: users, API tokens, the own password, the audit trail.

use clap::{Args, Subcommand, ValueEnum};

use crate::complete::{Noun, names};

use super::{Connection, Output};

/// `muster users`.
#[derive(Debug, Args)]
pub(crate) struct UsersArgs {
    #[command(subcommand)]
    pub(crate) verb: UsersVerb,
}

/// What to do with users.
#[derive(Debug, Subcommand)]
pub(crate) enum UsersVerb {
    /// List users
    List(UsersList),
    /// Make a user; without --password-stdin a password is made and printed, once
    Create(UsersCreate),
    /// Change a user's role or password, or whether the user may sign in
    Set(UsersSet),
    /// Remove a user: sessions end, API tokens are revoked
    Rm(UsersRm),
}

/// A role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// Look.
    Viewer,
    /// Change what agents get.
    Operator,
    /// Everything.
    Admin,
}

impl Role {
    /// The word in the API.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

/// `muster users list`.
#[derive(Debug, Clone, Args)]
pub(crate) struct UsersList {
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster users create`.
#[derive(Debug, Clone, Args)]
pub(crate) struct UsersCreate {
    /// The name to sign in with
    pub(crate) name: String,
    /// What the user may do
    #[arg(long, value_enum, default_value_t = Role::Viewer)]
    pub(crate) role: Role,
    /// Read the password from standard input
    #[arg(long)]
    pub(crate) password_stdin: bool,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster users set`.
#[derive(Debug, Clone, Args)]
#[command(group(clap::ArgGroup::new("change").multiple(true).required(true)
    .args(["role", "disable", "enable", "new_password", "password_stdin"])))]
pub(crate) struct UsersSet {
    /// The user
    #[arg(add = names(Noun::User))]
    pub(crate) name: String,
    /// What the user may do
    #[arg(long, value_enum)]
    pub(crate) role: Option<Role>,
    /// The user may not sign in; sessions end and API tokens do not work
    #[arg(long, conflicts_with = "enable")]
    pub(crate) disable: bool,
    /// The user may sign in again
    #[arg(long)]
    pub(crate) enable: bool,
    /// Make a new password and print it, once; sessions end
    #[arg(long, conflicts_with = "password_stdin")]
    pub(crate) new_password: bool,
    /// Read a new password from standard input; sessions end
    #[arg(long)]
    pub(crate) password_stdin: bool,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster users rm`.
#[derive(Debug, Clone, Args)]
pub(crate) struct UsersRm {
    /// The user
    #[arg(add = names(Noun::User))]
    pub(crate) name: String,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster api-tokens`.
#[derive(Debug, Args)]
pub(crate) struct ApiTokensArgs {
    #[command(subcommand)]
    pub(crate) verb: ApiTokensVerb,
}

/// What to do with API tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum ApiTokensVerb {
    /// List your API tokens; administrators see everybody's
    List(ApiTokensList),
    /// Make an API token and print it, once
    Create(ApiTokensCreate),
    /// Revoke an API token: it is worth nothing at once
    Revoke(ApiTokensRevoke),
}

/// `muster api-tokens list`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ApiTokensList {
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster api-tokens create`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ApiTokensCreate {
    /// What it is for
    pub(crate) label: String,
    /// What it may do, at most what you may
    #[arg(long, value_enum, default_value_t = Role::Viewer)]
    pub(crate) role: Role,
    /// How long it works (90s, 15m, 12h, 90d); until it is revoked if absent
    #[arg(long, value_name = "DURATION")]
    pub(crate) expires: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster api-tokens revoke`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ApiTokensRevoke {
    /// The token's id, as the list shows it
    #[arg(add = names(Noun::ApiToken))]
    pub(crate) id: String,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster passwd`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PasswdArgs {
    /// Read the current and the new password from standard input, a line each
    #[arg(long)]
    pub(crate) password_stdin: bool,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// `muster audit`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AuditArgs {
    /// Only what this user or API token did
    #[arg(long, value_name = "NAME", add = names(Noun::User))]
    pub(crate) actor: Option<String>,
    /// Only this action, such as config.create, or all of a noun: config
    #[arg(long)]
    pub(crate) action: Option<String>,
    /// Only this object, such as config/otel, or all of a noun: config
    #[arg(long)]
    pub(crate) object: Option<String>,
    /// Not before this moment: how long ago (30m, 2h, 7d), or such as 2026-11-30T03:04:05Z
    #[arg(long, value_name = "MOMENT")]
    pub(crate) since: Option<String>,
    /// Before this moment, written the same way
    #[arg(long, value_name = "MOMENT")]
    pub(crate) until: Option<String>,
    /// At most so many entries, the newest first
    #[arg(long, value_name = "COUNT", default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// Print all entries as a file instead, the oldest first; for administrators
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with_all = ["limit", "format"])]
    pub(crate) export: Option<ExportFormat>,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

/// What the file looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// For spreadsheets.
    Csv,
    /// A JSON object on each line.
    Ndjson,
}
