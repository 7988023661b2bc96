//! What a shell offers while a command is typed. Commands and flags come from `cli`; names of things come from the server
//! that the command would talk to, which is asked for a moment only. Whatever goes wrong then is nobody's concern: there is
//! nothing to offer.

use std::ffi::OsStr;
use std::io;
use std::time::Duration;

use api::Client;
use api::agents::AgentQuery;
use api::assignments::AssignmentQuery;
use api::client::ClientError;
use api::configs::ConfigQuery;
use clap_complete::env::{CompleteEnv, Shells};
use clap_complete::{ArgValueCompleter, CompletionCandidate, Shell};

use crate::cli::{Cli, Connection, Global};
use crate::context::{self, Contexts};

/// Set by the shell that asks, to its name.
const VARIABLE: &str = "MUSTER_COMPLETE";
/// Whoever types does not wait longer for a server.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// More names than this help nobody to choose.
const MOST: u32 = 200;

/// A kind of thing that a command names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Noun {
    Agent,
    ApiToken,
    Assignment,
    Config,
    Context,
    Deployment,
    EnrolmentToken,
    Host,
    JoinToken,
    Project,
    Registry,
    /// `PROJECT/NAME`
    Secret,
    /// `PROJECT/SERVICE`
    Service,
    /// `PROJECT/SERVICE=`
    ServiceCount,
    /// `PROJECT` or `PROJECT/SERVICE`
    ProjectOrService,
    User,
    View,
}

/// A name, and what else there is to say about it.
type Name = (String, String);

/// Offers the names of things of this kind.
pub(crate) fn names(noun: Noun) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        let typed = typed.to_string_lossy();
        let mut found = find(noun, &typed).unwrap_or_default();
        found.retain(|(name, _)| name.starts_with(&*typed));
        found.sort();
        found.dedup_by(|a, b| a.0 == b.0);
        let candidate = |(name, about): Name| {
            CompletionCandidate::new(name).help((!about.is_empty()).then(|| about.into()))
        };
        found.into_iter().map(candidate).collect()
    })
}

/// Answers a shell that asks, and ends the program then.
pub(crate) fn answer() {
    CompleteEnv::with_factory(Cli::exact).var(VARIABLE).complete();
}

/// The script that has a shell ask this program.
pub(crate) fn script(shell: Shell) -> io::Result<Vec<u8>> {
    let shells = Shells::builtins();
    let name = shell.to_string();
    let shell = shells.completer(&name).ok_or_else(|| io::Error::other(format!("{name} is not known")))?;
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, "muster", "muster", &program(), &mut script)?;
    Ok(script)
}

/// This program, as whoever called it did: what is found on the path stays so, also after it was updated.
fn program() -> String {
    let called = std::env::args_os().next().unwrap_or_else(|| "muster".into());
    let path = std::path::PathBuf::from(called);
    let is_path = path.components().count() > 1;
    let path = if is_path { std::path::absolute(&path).unwrap_or(path) } else { path };
    path.to_string_lossy().into_owned()
}

fn find(noun: Noun, typed: &str) -> Option<Vec<Name>> {
    let (connection, global) = typed_before();
    if noun == Noun::Context {
        let contexts = Contexts::load().ok()?.contexts;
        return Some(contexts.into_iter().map(|(name, context)| (name, context.url)).collect());
    }
    let client = context::client(&connection, &global).ok()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let asked = async { tokio::time::timeout(PATIENCE, ask(&client, noun, typed)).await };
    runtime.block_on(asked).ok()?.ok()
}

/// The flags of the command line that say which server is meant. What is typed is no whole command yet, so it is not parsed
/// as one.
fn typed_before() -> (Connection, Global) {
    let words: Vec<String> = std::env::args().skip_while(|word| word != "--").collect();
    let value = |flag: &str, variable: &str| {
        let given = words.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(flag)? {
            "" => words.get(at + 1).cloned(),
            rest => rest.strip_prefix('=').map(str::to_owned),
        });
        given.or_else(|| std::env::var(variable).ok()).filter(|value| !value.is_empty())
    };
    let connection = Connection {
        url: value("--url", "MUSTER_URL"),
        token: value("--token", "MUSTER_TOKEN"),
        fingerprint: value("--fingerprint", "MUSTER_FINGERPRINT"),
    };
    (connection, Global { debug: false, context: value("--context", "MUSTER_CONTEXT") })
}

async fn ask(client: &Client, noun: Noun, typed: &str) -> Result<Vec<Name>, ClientError> {
    fn named<T>(items: Vec<T>, name: impl Fn(T) -> Name) -> Vec<Name> {
        items.into_iter().map(name).collect()
    }
    Ok(match noun {
        Noun::Agent => agents(client, typed).await?,
        Noun::ApiToken => named(client.api_tokens().await?.items, |it| (it.id, it.label)),
        Noun::Assignment => {
            let query = AssignmentQuery { limit: Some(MOST), ..AssignmentQuery::default() };
            let page = client.assignments(&query).await?.items;
            // An identifier is for those whose configuration is not enough.
            let is_only = |config: &str| page.iter().filter(|it| it.config == config).count() == 1;
            let name = |it: &api::assignments::Assignment| {
                let reach = if it.selector.is_empty() { "all agents" } else { &it.selector };
                match is_only(&it.config) {
                    true => (it.config.clone(), reach.to_owned()),
                    false => (it.id.clone(), format!("{}, {reach}", it.config)),
                }
            };
            page.iter().map(name).collect()
        }
        Noun::Config => {
            let query = ConfigQuery { limit: Some(MOST), ..ConfigQuery::default() };
            named(client.configs(&query).await?.items, |it| (it.name, it.description))
        }
        Noun::Context => Vec::new(),
        Noun::Deployment => named(client.deployments(None, Some(MOST)).await?.items, |it| {
            (it.id.to_string(), format!("{}, {}", it.project, it.state))
        }),
        Noun::EnrolmentToken => named(client.tokens().await?.items, |it| (it.id, it.label)),
        Noun::Host => named(client.hosts().await?.items, |it| (it.name, it.state)),
        Noun::JoinToken => named(client.join_tokens().await?.items, |it| (it.id, it.host_name)),
        Noun::Project => projects(client).await?,
        Noun::Registry => named(client.registries().await?.items, |it| (it.registry, it.username)),
        Noun::Secret => match typed.split_once('/') {
            Some((project, _)) => named(client.secrets(project).await?.items, |it| {
                (format!("{project}/{}", it.name), format!("version {}", it.version))
            }),
            None => named(projects(client).await?, |(name, about)| (format!("{name}/"), about)),
        },
        Noun::Service => services(client).await?,
        Noun::ServiceCount => named(services(client).await?, |(name, about)| (format!("{name}="), about)),
        Noun::ProjectOrService => {
            let mut found = services(client).await?;
            let project = |(name, _): &Name| name.split('/').next().map(|it| (it.to_owned(), String::new()));
            found.extend(found.iter().filter_map(project).collect::<Vec<_>>());
            found
        }
        Noun::User => named(client.users().await?.items, |it| (it.name, it.role)),
        Noun::View => {
            named(client.views().await?.items, |it| (it.name, it.query.selector.unwrap_or_default()))
        }
    })
}

/// Agents by their name, if it is only theirs, and by their instance_uid. Of very many those are found that hold what is
/// typed.
async fn agents(client: &Client, typed: &str) -> Result<Vec<Name>, ClientError> {
    let text = (!typed.is_empty()).then(|| typed.to_owned());
    let query = AgentQuery { q: text, limit: Some(MOST), ..AgentQuery::default() };
    let found = client.agents(&query).await?.items;
    let mut names = Vec::new();
    for agent in &found {
        let name = agent.name.clone().unwrap_or_default();
        let is_only = found.iter().filter(|it| it.name == agent.name).count() == 1;
        if is_only && !name.is_empty() {
            names.push((name.clone(), format!("{}, {}", agent.instance_uid, agent.state)));
        } else {
            names.push((agent.instance_uid.clone(), format!("{name} {}", agent.state).trim().to_owned()));
        }
        if !typed.is_empty() && agent.instance_uid.starts_with(typed) {
            names.push((agent.instance_uid.clone(), format!("{name} {}", agent.state).trim().to_owned()));
        }
    }
    Ok(names)
}

async fn projects(client: &Client) -> Result<Vec<Name>, ClientError> {
    let found = client.projects().await?.items;
    Ok(found.into_iter().map(|it| (it.name, String::new())).collect())
}

async fn services(client: &Client) -> Result<Vec<Name>, ClientError> {
    let found = client.services(None).await?.items;
    Ok(found.into_iter().map(|it| (format!("{}/{}", it.project, it.name), it.state)).collect())
}
