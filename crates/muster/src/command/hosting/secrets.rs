//! `muster secrets`: contents go in and never come out again.

use std::io::{self, IsTerminal, Read};

use api::Client;
use api::services::{Secret, SetSecret};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{or_dash, parts};
use crate::cli::{Global, SecretsArgs, SecretsList, SecretsRm, SecretsSet, SecretsVerb};
use crate::command::consent::agree;
use crate::command::runtime;
use crate::context::client;
use crate::failure::{Failure, Kind};
use crate::output::{self, safe};

/// The server takes no more.
const MAX_BYTES: u64 = 512 << 10;

/// Lists, sets and removes secrets.
pub(crate) fn secrets(args: SecretsArgs, global: &Global) -> Result<(), Failure> {
    let runtime = runtime()?;
    match args.verb {
        SecretsVerb::List(args) => runtime.block_on(list(&args, global)),
        SecretsVerb::Set(args) => runtime.block_on(set(&args, global)),
        SecretsVerb::Rm(args) => runtime.block_on(rm(&args, global)),
    }
}

async fn list(args: &SecretsList, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let Some(project) = args.project.as_deref().or(args.project_flag.as_deref()) else {
        return Err(which(&client).await?);
    };
    let list = client.secrets(project).await?;
    let table = || {
        if list.items.is_empty() {
            let project = safe(project);
            return format!("{project} has no secret. Set one: muster secrets set {project}/NAME");
        }
        let head = ["name", "version", "size", "used by", "set", "by"];
        output::table(&head, list.items.iter().map(row))
    };
    output::value(args.output.format, &list, table, || {
        list.items.iter().map(|one| one.name.clone()).collect()
    })
}

/// Secrets belong to projects, and none was named.
async fn which(client: &Client) -> Result<Failure, Failure> {
    let all: Vec<_> = client.projects().await?.items.iter().map(|project| safe(&project.name)).collect();
    let failure = Failure::usage("of which project?");
    Ok(match all.is_empty() {
        true => {
            failure.hint("There is none yet: muster secrets set PROJECT/NAME makes one with a secret in it.")
        }
        false => failure.hint(format!("muster secrets list PROJECT, with one of: {}", all.join(", "))),
    })
}

fn row(secret: &Secret) -> Vec<String> {
    vec![
        safe(&secret.name),
        secret.version.to_string(),
        format!("{} bytes", secret.size_bytes),
        or_dash(Some(&secret.used_by.join(", "))),
        secret.created_at.clone(),
        safe(&secret.created_by),
    ]
}

async fn set(args: &SecretsSet, global: &Global) -> Result<(), Failure> {
    let (project, name) = parts(&args.secret, "name")?;
    let client = client(&args.connection, global)?;
    let content = content(args)?;
    client.set_secret(project, name, &SetSecret { content: STANDARD.encode(content) }).await?;
    output::line(&format!(
        "secret/{project}/{name} is set; services that run get it with their next deployment"
    ))
}

/// The bytes as they are: a line end at the end of a file belongs to it. What is typed has none.
fn content(args: &SecretsSet) -> Result<Vec<u8>, Failure> {
    let failed = |what: &str, error: &io::Error| {
        let kind = if error.kind() == io::ErrorKind::NotFound { Kind::NotFound } else { Kind::Failed };
        Failure::new(kind, format!("cannot read {what}: {error}"))
    };
    let mut bytes = Vec::new();
    match &args.from_file {
        Some(path) => {
            let what = path.display().to_string();
            let file = std::fs::File::open(path).map_err(|error| failed(&what, &error))?;
            file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| failed(&what, &error))?;
        }
        None if io::stdin().is_terminal() => {
            let typed = rpassword::prompt_password(format!("Content of {}: ", args.secret));
            bytes = typed.map_err(|error| failed("the terminal", &error))?.into_bytes();
        }
        None => {
            let read = io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes);
            read.map_err(|error| failed("standard input", &error))?;
        }
    }
    match bytes.len() as u64 {
        0 => Err(Failure::usage("the content is empty, so nothing was set")),
        length if length > MAX_BYTES => Err(Failure::new(Kind::Content, "a secret has at most 512 KiB")),
        _ => Ok(bytes),
    }
}

async fn rm(args: &SecretsRm, global: &Global) -> Result<(), Failure> {
    let (project, name) = parts(&args.secret, "name")?;
    let client = client(&args.connection, global)?;
    let list = client.secrets(project).await?;
    let secret = list.items.iter().find(|secret| secret.name == name);
    let secret =
        secret.ok_or_else(|| Failure::new(Kind::NotFound, format!("there is no secret {project}/{name}")))?;
    let users = match secret.used_by.is_empty() {
        true => "no service uses it".to_owned(),
        false => format!(
            "what runs of {} keeps it, and a deployment that names it is refused until it is set again",
            secret.used_by.join(", ")
        ),
    };
    if agree(args.consent, &format!("Remove secret {project}/{name}: {users}."))? {
        client.remove_secret(project, name).await?;
        output::line(&format!("secret/{project}/{name} is removed: {users}"))?;
    }
    Ok(())
}
