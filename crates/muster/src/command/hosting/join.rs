//! `muster hosts add`: the one command that makes a machine a host, and a list that is ticked off as that comes true.

use std::io::{self, IsTerminal};
use std::time::Duration;

use api::hosts::{CreatedJoinToken, Host, JoinToken, NewJoinToken};
use api::{Client, ClientError};
use tokio::time::Instant;

use super::or_dash;
use crate::cli::{Format, Global, HostsAdd};
use crate::command::progress::Shown;
use crate::command::rollout::duration;
use crate::context::client;
use crate::failure::{Failure, Kind};
use crate::output::{self, safe};

/// How often it is looked whether the machine is there.
const LOOK: Duration = Duration::from_millis(500);

pub(super) async fn add(args: HostsAdd, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let expires = duration("expires", &args.expires)?;
    let new = NewJoinToken {
        host_name: args.name.or(args.name_flag),
        expires_in_seconds: Some(expires.as_secs()),
        for_host: args.replace,
    };
    let created = client.create_join_token(&new).await?;
    let format = args.output.format;
    output::value(format, &created, || paste(&created), || vec![created.command.clone()])?;
    if ["//127.", "//localhost", "//[::1]"].iter().any(|here| created.command.contains(here)) {
        output::warning(
            "this command works on the server's own machine only. Start the server with --public-url \
             https://NAME-OR-ADDRESS:5050, as machines reach it, and add the host again",
        );
    }
    let is_for_people = format == Format::Table && io::stdout().is_terminal();
    if args.no_wait || !(args.wait || is_for_people) {
        return Ok(());
    }
    let host = until_host(&client, &created.item.id, Instant::now() + expires).await?;
    if format == Format::Table {
        output::line(&format!(
            "host/{} is ready. Next: muster deploy --file compose.yaml",
            safe(&host.name)
        ))?;
    }
    Ok(())
}

fn paste(created: &CreatedJoinToken) -> String {
    format!(
        "Run this on the machine, as root. It works once, until {}; it is shown only now.\n\n  {}\n",
        created.item.expires_at, created.command
    )
}

/// What is seen of a machine that joins.
enum Seen {
    Nothing,
    Joined(Box<Host>),
}

/// Waits until the machine is a host with an engine that answers.
async fn until_host(client: &Client, id: &str, until: Instant) -> Result<Host, Failure> {
    let mut shown = Shown::new();
    loop {
        match look(client, id).await {
            Ok(Seen::Joined(host)) => {
                shown.show_all(&checklist(Some(&host)));
                if host.state == "online" && host.engine.is_some() {
                    return Ok(*host);
                }
            }
            Ok(Seen::Nothing) => shown.show_all(&checklist(None)),
            Err(Lost::Server(error)) => shown.away(&error),
            Err(Lost::Token(failure)) => return Err(failure),
        }
        if Instant::now() >= until {
            let text = "the machine is no host with an engine that answers yet";
            return Err(Failure::new(Kind::TimedOut, text).hint("muster hosts list shows how far it is."));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Why nothing could be seen.
enum Lost {
    /// The server does not answer just now.
    Server(String),
    /// Nothing will come of it.
    Token(Failure),
}

impl From<ClientError> for Lost {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Unreachable { .. } => Self::Server(error.to_string()),
            _ => Self::Token(error.into()),
        }
    }
}

async fn look(client: &Client, id: &str) -> Result<Seen, Lost> {
    let tokens = client.join_tokens().await?;
    let token = tokens.items.into_iter().find(|token| token.id == id);
    let over =
        |kind, text: String| Lost::Token(Failure::new(kind, text).hint("Make another: muster hosts add"));
    match token {
        None => Err(over(Kind::NotFound, format!("there is no join token {id} any more"))),
        Some(JoinToken { used_by: Some(host), .. }) => {
            let host = client.host(&host).await?.value;
            Ok(Seen::Joined(Box::new(host)))
        }
        Some(token) => match token.state.as_str() {
            "revoked" => Err(over(Kind::Failed, format!("join token {id} was revoked"))),
            "expired" => Err(over(Kind::TimedOut, format!("no machine joined with token {id} in time"))),
            _ => Ok(Seen::Nothing),
        },
    }
}

fn checklist(host: Option<&Host>) -> Vec<String> {
    let step = |is_done: bool, done: String, open: &str| match is_done {
        true => format!("[x] {done}"),
        false => format!("[ ] {open}"),
    };
    let Some(host) = host else {
        return vec![
            step(false, String::new(), "the machine joins"),
            step(false, String::new(), "its agent connects"),
            step(false, String::new(), "its container engine answers"),
        ];
    };
    let is_online = host.state == "online";
    let from = or_dash(host.address.as_deref());
    let engine = host.engine.as_deref();
    let missing = match (is_online, engine) {
        (true, None) => "its container engine answers: none does yet, install Docker or start it",
        _ => "its container engine answers",
    };
    vec![
        step(true, format!("joined as {}", safe(&host.name)), ""),
        step(
            is_online,
            format!("connected from {from}, agent {}", safe(&host.agent_version)),
            "its agent connects; without systemd, run there what joining printed",
        ),
        step(is_online && engine.is_some(), format!("engine {} answers", or_dash(engine)), missing),
    ]
}
