//! The muster binary: `muster server` and `muster dev`, and the operator's commands, which talk to a server's API.
//! Reading order: [`cli`] (every command and flag), [`failure`] (exit codes); then one module for each command.

mod bench;
mod cli;
mod command;
mod complete;
mod context;
mod dev;
mod failure;
mod logging;
mod output;
mod ready_file;
mod server;

use std::process::ExitCode;

use cli::{Cli, Command};
use failure::{Failure, Kind};

/// Less memory than the system's allocator for many small sessions, and no slower.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Several parts of the program could bring a provider of their own: the choice is made here.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    complete::answer();
    let cli = Cli::read();
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(cli: Cli) -> Result<(), Failure> {
    let global = &cli.global;
    match cli.command {
        Command::Server(args) => server::run(args, global.debug),
        Command::Dev(args) => dev::run(args, global.debug),
        Command::Login(args) => command::login(args, global),
        Command::Whoami(args) => command::whoami(&args, global),
        Command::Logout(args) => command::logout(&args, global),
        Command::Context(args) => command::contexts(args, global),
        Command::Agents(args) => command::agents(args, global),
        Command::Configs(args) => command::configs(args, global),
        Command::Assignments(args) => command::assignments(args, global),
        Command::Labels(args) => command::labels(args, global),
        Command::Views(args) => command::views(args, global),
        Command::Tokens(args) => command::tokens(args, global),
        Command::Hosts(args) => command::hosting::hosts(args, global),
        Command::Deploy(args) => command::hosting::deploy(args, global),
        Command::Diff(args) => command::hosting::diff(args, global),
        Command::Deployments(args) => command::hosting::deployments(args, global),
        Command::Projects(args) => command::hosting::projects(args, global),
        Command::Services(args) => command::hosting::services(args, global),
        Command::Ps(args) => command::hosting::ps(&args, global),
        Command::Logs(args) => command::hosting::logs(&args, global),
        Command::Secrets(args) => command::hosting::secrets(args, global),
        Command::Registries(args) => command::hosting::registries(args, global),
        Command::Users(args) => command::users(args, global),
        Command::ApiTokens(args) => command::api_tokens(args, global),
        Command::Passwd(args) => command::passwd(&args, global),
        Command::Audit(args) => command::audit(args, global),
        Command::Admin(args) => command::admin(args),
        Command::Backup(args) => command::backup(&args),
        Command::Restore(args) => command::restore(&args),
        Command::Doctor(args) => command::doctor(&args, global),
        Command::Bench(args) => {
            bench::run(args).map_err(|error| Failure::new(Kind::Failed, format!("{error:#}")))
        }
        Command::Agent(args) => command::agent(args, global.debug),
        Command::Completion(args) => command::completion(&args),
        Command::Version => command::version(),
    }
}
