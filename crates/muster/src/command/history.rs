//! `muster agents timeline` and `muster agents messages`: what happened to an agent, and what it says right now.

use std::time::Duration;

use api::history::{AgentMessage, TimelineItem};

use super::agents::whole_uid;
use crate::cli::{AgentsShow, Format, Global};
use crate::context::client;
use crate::failure::Failure;
use crate::output::{self, safe};

/// How often the server is asked for new messages. It keeps twenty, which an agent seldom sends in a second.
const PACE: Duration = Duration::from_secs(1);

/// Shows what happened to an agent.
pub(super) async fn timeline(args: AgentsShow, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let uid = whole_uid(&client, &args.instance_uid).await?;
    let timeline = client.timeline(&uid).await?;
    let table = || output::table(&["at", "by", "what", "object", "more"], timeline.items.iter().map(row));
    let names = || timeline.items.iter().map(|item| item.action.clone()).collect();
    output::value(args.output.format, &timeline, table, names)
}

fn row(item: &TimelineItem) -> Vec<String> {
    let json = |name: &str, value: &Option<serde_json::Value>| {
        value.as_ref().map(|value| format!("{name} {}", safe(&value.to_string())))
    };
    let parts = [item.text.as_deref().map(safe), json("before", &item.before), json("after", &item.after)];
    vec![
        item.at.clone(),
        item.actor.as_ref().map_or_else(|| "-".to_owned(), |actor| safe(&actor.name)),
        safe(&item.action),
        safe(&item.object),
        parts.into_iter().flatten().collect::<Vec<_>>().join(", "),
    ]
}

/// Prints an agent's messages as they pass, until the command is ended.
pub(super) async fn messages(args: AgentsShow, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let uid = whole_uid(&client, &args.instance_uid).await?;
    let mut seen: Vec<AgentMessage> = Vec::new();
    loop {
        let items = client.messages(&uid).await?.items;
        for message in items.iter().rev().filter(|message| !seen.contains(message)) {
            show(message, args.output.format)?;
        }
        seen = items;
        tokio::time::sleep(PACE).await;
    }
}

fn show(message: &AgentMessage, format: Format) -> Result<(), Failure> {
    let table = || {
        let head = format!("{} {}, {} bytes", message.at, message.direction, message.size);
        let body = message.body.as_ref().and_then(|body| serde_json::to_string_pretty(body).ok());
        let body = body.unwrap_or_else(|| "too long to be kept".to_owned());
        format!("{head}\n{}", body.lines().map(safe).collect::<Vec<_>>().join("\n"))
    };
    output::value(format, message, table, || vec![message.at.clone()])
}
