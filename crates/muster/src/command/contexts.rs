//! `muster context`: the servers that are remembered, as kubectl has it. Nothing here talks to a server, and no token is
//! ever printed.

use serde::Serialize;

use crate::cli::Global;
use crate::cli::contexts::{ContextArgs, ContextList, ContextRm, ContextShow, ContextUse, ContextVerb};
use crate::context::{Context, Contexts};
use crate::failure::{Failure, Kind};
use crate::output::{self, safe};

/// A context without its secret.
#[derive(Debug, Serialize)]
struct Shown<'a> {
    name: &'a str,
    current: bool,
    url: &'a str,
    /// Whether a login is kept.
    logged_in: bool,
    /// The key that is trusted; `null`: what the system trusts.
    fingerprint: Option<&'a str>,
}

/// Lists, shows, chooses and forgets contexts.
pub(crate) fn contexts(args: ContextArgs, global: &Global) -> Result<(), Failure> {
    let contexts = Contexts::load()?;
    match args.verb {
        ContextVerb::List(args) => list(&args, &contexts),
        ContextVerb::Use(args) => turn_to(&args, contexts),
        ContextVerb::Show(args) => show(&args, &contexts, global),
        ContextVerb::Rm(args) => rm(&args, contexts),
    }
}

fn shown<'a>(contexts: &'a Contexts, name: &'a str, context: &'a Context) -> Shown<'a> {
    Shown {
        name,
        current: contexts.current.as_deref() == Some(name),
        url: &context.url,
        logged_in: context.token.is_some(),
        fingerprint: context.spki_sha256.as_deref(),
    }
}

fn list(args: &ContextList, contexts: &Contexts) -> Result<(), Failure> {
    let all: Vec<_> = contexts.contexts.iter().map(|(name, one)| shown(contexts, name, one)).collect();
    let table = || {
        if all.is_empty() {
            return "There is no context. Make one: muster login URL".to_owned();
        }
        let row = |one: &Shown<'_>| {
            let star = if one.current { "*" } else { "" };
            let login = if one.logged_in { "kept" } else { "none" };
            vec![star.to_owned(), safe(one.name), safe(one.url), login.to_owned()]
        };
        output::table(&["current", "name", "url", "login"], all.iter().map(row))
    };
    output::value(args.output.format, &all, table, || all.iter().map(|one| one.name.to_owned()).collect())
}

fn turn_to(args: &ContextUse, mut contexts: Contexts) -> Result<(), Failure> {
    let url = contexts.named(&args.name)?.url.clone();
    contexts.current = Some(args.name.clone());
    contexts.save()?;
    output::line(&format!("Commands talk to {} now (context {}).", safe(&url), safe(&args.name)))
}

fn show(args: &ContextShow, contexts: &Contexts, global: &Global) -> Result<(), Failure> {
    let name = args.name.as_deref().or(global.context.as_deref());
    let (name, context) = contexts.find(name)?.ok_or_else(|| {
        Failure::new(Kind::NotFound, "there is no current context")
            .hint("Choose one with muster context use NAME; muster context list shows them.")
    })?;
    let one = shown(contexts, name, context);
    let table = || {
        let lines = [
            ("name", safe(one.name)),
            ("current", if one.current { "yes" } else { "no" }.to_owned()),
            ("url", safe(one.url)),
            ("login", if one.logged_in { "kept" } else { "none" }.to_owned()),
            ("trusts", one.fingerprint.map_or_else(|| "what this system trusts".to_owned(), safe)),
        ];
        lines.map(|(name, value)| format!("{name:<8} {value}")).join("\n")
    };
    output::value(args.output.format, &one, table, || vec![one.name.to_owned()])
}

fn rm(args: &ContextRm, mut contexts: Contexts) -> Result<(), Failure> {
    contexts.named(&args.name)?;
    contexts.contexts.remove(&args.name);
    let was_current = contexts.current.take_if(|current| *current == args.name).is_some();
    contexts.save()?;
    let then = if was_current { " No context is the current one now: muster context use NAME." } else { "" };
    output::line(&format!("Context {} is forgotten.{then}", safe(&args.name)))
}
