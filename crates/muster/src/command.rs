//! The operator's commands: each talks to the API of a server, except `admin`, which works on the data itself.

pub(crate) mod agent;
mod agents;
mod api_tokens;
mod apply;
mod archive;
mod assign;
mod assignments;
mod audit;
mod configs;
mod consent;
mod contexts;
mod doctor;
mod files;
mod history;
pub(crate) mod hosting;
mod labels;
mod login;
mod progress;
mod reach;
mod rollout;
mod steer;
mod tokens;
mod users;
mod views;

use tokio::runtime::Runtime;

use crate::cli::{AdminArgs, AdminVerb, CompletionArgs, ResetLogin};
use crate::failure::{Failure, Kind};
use crate::output;

pub(crate) use agent::agent;
pub(crate) use agents::agents;
pub(crate) use api_tokens::api_tokens;
pub(crate) use archive::{backup, restore};
pub(crate) use assignments::assignments;
pub(crate) use audit::audit;
pub(crate) use configs::configs;
pub(crate) use contexts::contexts;
pub(crate) use doctor::doctor;
pub(crate) use labels::labels;
pub(crate) use login::{login, logout, whoami};
pub(crate) use tokens::tokens;
pub(crate) use users::{passwd, users};
pub(crate) use views::views;

/// A runtime for one command.
fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| Failure::of(&error))
}

/// `muster admin`.
pub(crate) fn admin(args: AdminArgs) -> Result<(), Failure> {
    let AdminVerb::ResetLogin(ResetLogin { data_dir, user }) = args.verb;
    let reset = control_plane::admin::reset_login(&data_dir, Some(&user), env!("CARGO_PKG_VERSION"));
    let password = runtime()?.block_on(reset).map_err(|error| match error {
        control_plane::admin::ResetError::NoUser(_) => Failure::new(Kind::NotFound, error.to_string()),
        other => Failure::of(&other),
    })?;
    output::line(&format!(
        "user      {user}\npassword  {password}\nThe sessions of {user} have ended. This password is shown once."
    ))
}

/// `muster completion`.
pub(crate) fn completion(args: &CompletionArgs) -> Result<(), Failure> {
    let script = crate::complete::script(args.shell).map_err(|error| Failure::of(&error))?;
    output::line(&String::from_utf8_lossy(&script))
}

/// `muster version`.
pub(crate) fn version() -> Result<(), Failure> {
    output::line(&format!("muster {}", env!("CARGO_PKG_VERSION")))
}
