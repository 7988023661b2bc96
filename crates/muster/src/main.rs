//! The muster binary: `muster server` and `muster dev`, and the operator's commands, which talk to a server's API.
//! Reading order: [`cli`] (every command and flag), [`failure`] (exit codes); then one module for each command.

mod bench;
mod cli;
mod command;
mod context;
mod dev;
mod failure;
mod logging;
mod output;
mod ready_file;
mod server;

use std::process::ExitCode;

use cli::{Cli, Command};
use failure::{Code, Failure};

/// Less memory than the system's allocator for many small sessions, and no slower.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::read();
    // Several parts of the program could bring a provider of their own: the choice is made here.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(cli: Cli) -> Result<(), Failure> {
    let debug = cli.debug;
    match cli.command {
        Command::Server(args) => server::run(args, debug),
        Command::Dev(args) => dev::run(args, debug),
        Command::Login(args) => command::login(args, debug),
        Command::Logout(args) => command::logout(&args, debug),
        Command::Agents(args) => command::agents(args, debug),
        Command::Configs(args) => command::configs(args, debug),
        Command::Assignments(args) => command::assignments(args, debug),
        Command::Labels(args) => command::labels(args, debug),
        Command::Views(args) => command::views(args, debug),
        Command::Tokens(args) => command::tokens(args, debug),
        Command::Users(args) => command::users(args, debug),
        Command::ApiTokens(args) => command::api_tokens(args, debug),
        Command::Passwd(args) => command::passwd(&args, debug),
        Command::Audit(args) => command::audit(args, debug),
        Command::Admin(args) => command::admin(args),
        Command::Backup(args) => command::backup(&args),
        Command::Restore(args) => command::restore(&args),
        Command::Doctor(args) => command::doctor(&args, debug),
        Command::Bench(args) => {
            bench::run(args).map_err(|error| Failure::new(Code::Failed, format!("{error:#}")))
        }
        Command::Completion(args) => command::completion(&args),
        Command::Version => command::version(),
    }
}
