//! `muster login`, `muster whoami` and `muster logout`.

use std::io::{self, IsTerminal, Read, Write};

use api::client::presented_keys;
use api::session::Login;
use api::{Client, ClientError, Trust};
use serde::Serialize;

use super::runtime;
use crate::cli::{Connection, Global, LoginArgs, WhoamiArgs};
use crate::context::{self, Context, Contexts, Turn, trust};
use crate::failure::{Failure, Kind};
use crate::output::{self, safe};

/// Logs in and remembers the server.
pub(crate) fn login(args: LoginArgs, global: &Global) -> Result<(), Failure> {
    runtime()?.block_on(log_in(args, global))
}

async fn log_in(args: LoginArgs, global: &Global) -> Result<(), Failure> {
    let url = args.url.trim_end_matches('/').to_owned();
    let (client, pin) = trusted(&url, args.fingerprint.as_deref(), global).await?;
    let password = password(args.password_stdin, &args.user)?;
    let login = Login { username: args.user, password, want_token: true };
    let session = client.login(&login).await.map_err(refused)?;
    let name = global.context.clone().unwrap_or_else(|| host_of(&url));
    let mut contexts = Contexts::load()?;
    let before = contexts.current.clone();
    let turn = if args.keep_current { Turn::No } else { Turn::ToIt };
    let context = Context { url: url.clone(), token: session.token, spki_sha256: pin };
    let is_current = contexts.put(&name, context, turn);
    contexts.save()?;
    let told = match (is_current, before.filter(|before| *before != name)) {
        (true, Some(before)) => {
            format!("Context {name} is the current one now; muster context use {before} goes back.")
        }
        (true, None) => format!("Context {name} is the current one."),
        (false, _) => {
            format!("Context {name} is there and not the current one: use it with --context {name}.")
        }
    };
    output::line(&format!(
        "Logged in to {url} as {} until {}.\n{told}",
        session.user.name, session.expires_at
    ))
}

/// A wrong password is not a reason to "log in first".
fn refused(error: ClientError) -> Failure {
    match &error {
        ClientError::Problem(problem) if problem.status == 401 => {
            Failure::new(Kind::Refused, error.to_string())
                .hint(
                    "At the server's machine, muster admin reset-login --data-dir DIRECTORY makes a new password, with the \
                     data directory of the server.",
                )
        }
        _ => error.into(),
    }
}

/// A client that trusts the server, and the key that it pins. Without a fingerprint the system's roots decide; if
/// they do not know the server, a person compares.
async fn trusted(
    url: &str,
    fingerprint: Option<&str>,
    global: &Global,
) -> Result<(Client, Option<String>), Failure> {
    let trace = global.debug.then_some(context::show as api::client::Trace);
    let stored = Contexts::load()?.contexts.into_values().find(|context| context.url == url);
    let known = fingerprint.map(str::to_owned).or_else(|| stored.and_then(|context| context.spki_sha256));
    if let Some(pin) = known {
        let trust = trust(Some(&pin))?;
        let Trust::Pinned(bytes) = trust else { return Err(Failure::usage("--fingerprint is empty")) };
        let client = Client::new(url, &trust, None)?.with_trace(trace);
        probe(&client).await?;
        return Ok((client, Some(hex::encode(bytes))));
    }
    let client = Client::new(url, &Trust::System, None)?.with_trace(trace);
    match probe(&client).await {
        Err(ClientError::Untrusted { .. }) => {
            let pin = presented(url).await?;
            let client = Client::new(url, &Trust::Pinned(pin), None)?.with_trace(trace);
            // Nobody is asked to trust what is no console. The request holds nothing that is not public.
            probe(&client).await?;
            ask_about(url, &pin)?;
            Ok((client, Some(hex::encode(pin))))
        }
        Err(error) => Err(error.into()),
        Ok(()) => Ok((client, None)),
    }
}

/// Whether this is the API of a server, which does not know anybody yet.
async fn probe(client: &Client) -> Result<(), ClientError> {
    match client.session().await {
        Err(
            error @ (ClientError::Unreachable { .. }
            | ClientError::Unexpected { .. }
            | ClientError::Untrusted { .. }),
        ) => Err(error),
        _ => Ok(()),
    }
}

/// The key of the authority that the server presents, trusted by nobody yet.
async fn presented(url: &str) -> Result<[u8; 32], Failure> {
    let parsed = url.strip_prefix("https://").unwrap_or(url);
    let authority = parsed.split('/').next().unwrap_or_default();
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().unwrap_or(443)),
        _ => (authority, 443),
    };
    let keys = presented_keys(host, port).await;
    let keys = keys.map_err(|error| Failure::new(Kind::Failed, format!("cannot reach {url}: {error}")))?;
    keys.last().copied().ok_or_else(|| Failure::new(Kind::Failed, format!("{url} shows no certificate")))
}

/// Shows a key and asks whether it is the right one.
fn ask_about(url: &str, key: &[u8; 32]) -> Result<(), Failure> {
    let fingerprint = hex::encode(key);
    if !io::stdin().is_terminal() {
        return Err(Failure::new(
            Kind::Refused,
            format!("the certificate authority of {url} is not known here"),
        )
        .hint(format!(
            "If the server printed this fingerprint, run again with --fingerprint {fingerprint}"
        )));
    }
    prompt(&format!(
        "The certificate authority of {url} is not known here. Its fingerprint is\n  {fingerprint}\n\
         Is it the one that the server printed at its start? [y/N] "
    ))?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).map_err(|error| Failure::of(&error))?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Failure::new(Kind::Refused, "the server was not trusted")),
    }
}

pub(super) fn password(from_stdin: bool, user: &str) -> Result<String, Failure> {
    let failed = |error: io::Error| Failure::new(Kind::Usage, format!("no password: {error}"));
    if from_stdin {
        let mut text = String::new();
        io::stdin().take(4096).read_to_string(&mut text).map_err(failed)?;
        return Ok(text.trim_end_matches(['\r', '\n']).to_owned());
    }
    if !io::stdin().is_terminal() {
        return Err(Failure::new(Kind::Usage, "there is no terminal to ask for the password")
            .hint("Give it with --password-stdin."));
    }
    rpassword::prompt_password(format!("Password of {user}: ")).map_err(failed)
}

fn prompt(text: &str) -> Result<(), Failure> {
    let mut err = io::stderr().lock();
    err.write_all(text.as_bytes()).and_then(|()| err.flush()).map_err(|error| Failure::of(&error))
}

fn host_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest).to_owned()
}

/// Who the server takes somebody for.
#[derive(Debug, Serialize)]
struct Me<'a> {
    user: &'a str,
    role: &'a str,
    url: &'a str,
    /// The context that the login is kept in; `null`: a token was given.
    context: Option<&'a str>,
    /// `null`: an API token without an end.
    expires_at: Option<&'a str>,
}

/// Says who the caller is to the server.
pub(crate) fn whoami(args: &WhoamiArgs, global: &Global) -> Result<(), Failure> {
    let contexts = Contexts::load()?;
    let client = context::client(&args.connection, global)?;
    let session = runtime()?.block_on(client.session())?;
    let kept = context::stored(&contexts, &args.connection, global)?.map(|(name, _)| name);
    // A token without an end has the last moment that can be written.
    let ends = Some(session.expires_at.as_str()).filter(|at| !at.starts_with("9999-"));
    let me = Me {
        user: &session.user.name,
        role: &session.user.role,
        url: client.base(),
        context: kept.filter(|_| args.connection.token.is_none()),
        expires_at: ends,
    };
    let table = || {
        let lines = [
            ("user", safe(me.user)),
            ("role", safe(me.role)),
            ("server", safe(me.url)),
            ("context", me.context.map_or_else(|| "none, a token was given".to_owned(), safe)),
            ("until", me.expires_at.map_or_else(|| "no end".to_owned(), safe)),
        ];
        lines.map(|(name, value)| format!("{name:<9}{value}")).join("\n")
    };
    output::value(args.output.format, &me, table, || vec![me.user.to_owned()])
}

/// Ends the session and forgets it.
pub(crate) fn logout(connection: &Connection, global: &Global) -> Result<(), Failure> {
    let mut contexts = Contexts::load()?;
    let client = context::client(connection, global)?;
    let ended = runtime()?.block_on(client.logout());
    if connection.token.is_none() {
        let name = context::stored(&contexts, connection, global)?.map(|(name, _)| name.to_owned());
        if let Some(context) = name.and_then(|name| contexts.contexts.get_mut(&name)) {
            context.token = None;
            contexts.save()?;
        }
    }
    match ended {
        Ok(()) => output::line("Logged out."),
        // It had ended already: that is what was wanted.
        Err(error) if error.status() == Some(401) => output::line("Logged out."),
        Err(error) => Err(error.into()),
    }
}
