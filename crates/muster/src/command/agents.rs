//! `muster agents`.

use api::agents::{AgentConfig, AgentDetail, AgentPage, AgentQuery, AgentSummary, Attribute, Health};
use api::{Client, ClientError};

use super::configs::known_config;
use super::{history, labels, runtime};
use crate::cli::{AgentsArgs, AgentsList, AgentsShow, AgentsVerb, Global};
use crate::context::client;
use crate::failure::{Failure, Kind};
use crate::output::{self, safe};

/// The longest page of the API.
const PAGE: u32 = 500;

/// Lists agents or shows one.
pub(crate) fn agents(args: AgentsArgs, global: &Global) -> Result<(), Failure> {
    let runtime = runtime()?;
    match args.verb {
        AgentsVerb::List(args) => runtime.block_on(list(args, global)),
        AgentsVerb::Show(args) => runtime.block_on(show(args, global)),
        AgentsVerb::Timeline(args) => runtime.block_on(history::timeline(args, global)),
        AgentsVerb::Messages(args) => runtime.block_on(history::messages(args, global)),
        AgentsVerb::Label(args) => runtime.block_on(labels::label(args, global)),
        AgentsVerb::Override(args) => runtime.block_on(labels::pin(args, global)),
        AgentsVerb::Unset(args) => runtime.block_on(labels::unpin(args, global)),
    }
}

async fn list(args: AgentsList, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    if !args.watch {
        let page = fetch(&client, &args).await?;
        return print(&args, &page);
    }
    loop {
        // The stream is opened first, so that nothing is missed between reading and listening.
        let mut events = client.events().await?;
        print(&args, &fetch(&client, &args).await?)?;
        while events.changed().await {
            output::line("")?;
            print(&args, &fetch(&client, &args).await?)?;
        }
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    }
}

async fn fetch(client: &Client, args: &AgentsList) -> Result<AgentPage, Failure> {
    let query = AgentQuery {
        selector: args.selector.clone(),
        q: args.query.clone(),
        state: args.state.clone(),
        health: args.health.clone(),
        config_state: args.config_state.clone(),
        config: args.config.clone(),
        replaced: args.replaced.then_some(true),
        sort: args.sort.clone(),
        ..Default::default()
    };
    let page = every_agent(client, query, args.limit.unwrap_or(u32::MAX)).await?;
    if let (true, Some(config)) = (page.items.is_empty(), &args.config) {
        known_config(client, config).await?;
    }
    Ok(page)
}

/// All pages, up to the limit.
pub(super) async fn every_agent(
    client: &Client,
    mut query: AgentQuery,
    limit: u32,
) -> Result<AgentPage, Failure> {
    query.limit = Some(limit.min(PAGE));
    let mut all = client.agents(&query).await.map_err(wrong_parameter)?;
    while all.next_cursor.is_some() && all.items.len() < limit as usize {
        query.cursor = all.next_cursor.take();
        query.limit = Some(PAGE.min(limit - all.items.len() as u32));
        let page = client.agents(&query).await?;
        all.items.extend(page.items);
        all.next_cursor = page.next_cursor;
    }
    Ok(all)
}

/// A problem with a parameter is one with the flag of the same name.
fn wrong_parameter(error: ClientError) -> Failure {
    let field = match &error {
        ClientError::Problem(problem) if problem.status == 400 => problem.field.clone(),
        _ => None,
    };
    match field.as_deref() {
        Some("q") => Failure::usage(format!("--query: {error}")),
        Some(field) => Failure::usage(format!("--{}: {error}", field.replace('_', "-"))),
        None => error.into(),
    }
}

fn print(args: &AgentsList, page: &AgentPage) -> Result<(), Failure> {
    let table = || {
        if page.items.is_empty() {
            return "No agents match.".to_owned();
        }
        let head = ["name", "version", "host", "state", "health", "config", "last seen", "instance_uid"];
        output::table(&head, page.items.iter().map(row))
    };
    let names = || page.items.iter().map(|agent| agent.instance_uid.clone()).collect();
    output::value(args.output.format, page, table, names)
}

fn row(agent: &AgentSummary) -> Vec<String> {
    let text = |value: &Option<String>| value.as_deref().map_or_else(|| "-".to_owned(), safe);
    vec![
        text(&agent.name),
        text(&agent.version),
        text(&agent.host),
        agent.state.clone(),
        health_word(agent.healthy).to_owned(),
        config_text(&agent.config),
        text(&agent.last_seen),
        agent.instance_uid.clone(),
    ]
}

/// What an agent is given and how far it is with it.
fn config_text(config: &AgentConfig) -> String {
    match (&config.config, config.revision) {
        (Some(name), Some(revision)) => format!("{} {revision} {}", safe(name), config.state),
        _ if config.state.is_empty() => "-".to_owned(),
        _ => config.state.clone(),
    }
}

const fn health_word(healthy: Option<bool>) -> &'static str {
    match healthy {
        Some(true) => "healthy",
        Some(false) => "unhealthy",
        None => "unknown",
    }
}

async fn show(args: AgentsShow, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let uid = whole_uid(&client, &args.instance_uid).await?;
    let agent = client.agent(&uid).await?;
    output::value(args.output.format, &agent, || page(&agent), || vec![uid.clone()])
}

/// Completes the beginning of an instance_uid, or finds the one agent of this name.
pub(super) async fn whole_uid(client: &Client, text: &str) -> Result<String, Failure> {
    if text.len() == 36 {
        return Ok(text.to_lowercase());
    }
    let query = AgentQuery {
        q: Some(text.to_owned()),
        replaced: Some(true),
        limit: Some(PAGE),
        ..Default::default()
    };
    let page = client.agents(&query).await?;
    let start = text.to_lowercase();
    let mut found = page.items.iter().filter(|agent| agent.instance_uid.starts_with(&start));
    let mut named = page.items.iter().filter(|agent| agent.name.as_deref() == Some(text));
    match (found.next(), found.next()) {
        (Some(agent), None) => Ok(agent.instance_uid.clone()),
        (None, _) => match (named.next(), named.next()) {
            (Some(agent), None) => Ok(agent.instance_uid.clone()),
            (None, _) => Err(Failure::new(
                Kind::NotFound,
                format!("no instance_uid begins with {text:?}, and no agent is called so"),
            )),
            (Some(_), Some(_)) => Err(Failure::usage(format!("several agents are called {text:?}"))
                .hint("Give the instance_uid; muster agents list shows them.")),
        },
        (Some(_), Some(_)) => Err(Failure::usage(format!("several instance_uids begin with {text:?}"))
            .hint("Give more of it; muster agents list -o name shows them.")),
    }
}

fn page(agent: &AgentDetail) -> String {
    let head = &agent.summary;
    let mut lines = Vec::new();
    let mut add = |name: &str, value: Option<String>| {
        lines.push(format!("{name:<20} {}", value.as_deref().map_or_else(|| "-".to_owned(), safe)));
    };
    add("instance_uid", Some(head.instance_uid.clone()));
    add("name", head.name.clone());
    add("version", head.version.clone());
    add("host", head.host.clone());
    add("state", Some(head.state.clone()));
    add("transport", head.transport.clone());
    add("address", head.peer_address.clone());
    add("connected since", head.connected_since.clone());
    add("last seen", head.last_seen.clone());
    add("first seen", agent.first_seen.clone());
    add("token", agent.credential.as_ref().map(|token| format!("{} (id {})", token.label, token.id)));
    add("capabilities", Some(head.capabilities.join(", ")));
    add("labels", Some(labels::labels_text(&head.labels)).filter(|text| !text.is_empty()));
    let pinned = if head.config.pinned { " (pinned)" } else { "" };
    add("config", Some(config_text(&head.config) + pinned));
    add("config reason", head.config.reason.clone());
    let config = agent.remote_config_status.as_ref();
    add("remote config", config.map(|config| with_error(&config.status, config.error.as_deref())));
    add("replaces", head.replaces.clone());
    add("replaced by", head.replaced_by.clone());
    lines.push("\nhealth".to_owned());
    match &agent.health {
        Some(tree) => health_lines("", tree, 1, &mut lines),
        None => lines.push("  not reported".to_owned()),
    }
    lines.push("\nattributes".to_owned());
    let description = &agent.description;
    lines.extend(description.identifying.iter().chain(&description.non_identifying).map(attribute_line));
    for drift in agent.drift.iter().flatten() {
        let runs = drift.effective.as_deref().unwrap_or("nothing");
        lines.push(format!(
            "\ndrift at {}: given {}, runs {}",
            safe(&drift.path),
            if drift.offered.is_empty() { "an empty value".to_owned() } else { safe(&drift.offered) },
            safe(runs)
        ));
    }
    for file in agent.effective_config.iter().flat_map(|config| &config.files) {
        lines.push(format!("\neffective config {:?} ({})", file.name, safe(&file.content_type)));
        lines.extend(file.body.lines().map(|line| format!("  {}", safe(line))));
    }
    lines.join("\n")
}

fn with_error(status: &str, error: Option<&str>) -> String {
    error.map_or_else(|| status.to_owned(), |error| format!("{status}: {error}"))
}

fn health_lines(name: &str, tree: &Health, depth: usize, lines: &mut Vec<String>) {
    let status = if tree.status.is_empty() { String::new() } else { format!(" ({})", safe(&tree.status)) };
    let error =
        if tree.last_error.is_empty() { String::new() } else { format!(": {}", safe(&tree.last_error)) };
    let name = if name.is_empty() { "agent".to_owned() } else { safe(name) };
    lines.push(format!("{}{name}: {}{status}{error}", "  ".repeat(depth), health_word(Some(tree.healthy))));
    for (name, component) in &tree.components {
        health_lines(name, component, depth + 1, lines);
    }
}

fn attribute_line(attribute: &Attribute) -> String {
    let value = match &attribute.value {
        serde_json::Value::String(text) => safe(text),
        other => other.to_string(),
    };
    format!("  {} = {value} ({})", safe(&attribute.key), attribute.kind)
}
