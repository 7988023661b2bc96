//! `muster assignments`: look at them. Changing them is [`super::assign`], stopping rollouts [`super::steer`].

use api::assignments::{
    AssignedAgent, AssignedPage, AssignedQuery, Assignment, AssignmentPage, AssignmentQuery, Preview,
    PreviewRequest, Progress,
};
use api::{Answer, Client};

use super::configs::known_config;
use super::reach::{self, selector_text};
use super::{assign, rollout, runtime, steer};
use crate::cli::{
    AssignmentsAgents, AssignmentsArgs, AssignmentsList, AssignmentsPreview, AssignmentsShow,
    AssignmentsVerb, Global, Target,
};
use crate::context::client;
use crate::failure::{Failure, Kind};
use crate::output::{self, counted, safe};

/// The longest page of the API.
const PAGE: u32 = 500;

/// Works on assignments.
pub(crate) fn assignments(args: AssignmentsArgs, global: &Global) -> Result<(), Failure> {
    let runtime = runtime()?;
    match args.verb {
        AssignmentsVerb::List(args) => runtime.block_on(list(args, global)),
        AssignmentsVerb::Show(args) => runtime.block_on(show(args, global)),
        AssignmentsVerb::Agents(args) => runtime.block_on(agents(args, global)),
        AssignmentsVerb::Preview(args) => runtime.block_on(preview(args, global)),
        AssignmentsVerb::Create(args) => runtime.block_on(assign::create(args, global)),
        AssignmentsVerb::SetRevision(args) => runtime.block_on(assign::set_revision(args, global)),
        AssignmentsVerb::Set(args) => runtime.block_on(assign::set(args, global)),
        AssignmentsVerb::Pause(args) => runtime.block_on(steer::pause(args, global)),
        AssignmentsVerb::Resume(args) => runtime.block_on(steer::resume(args, global)),
        AssignmentsVerb::Abort(args) => runtime.block_on(steer::abort(args, global)),
        AssignmentsVerb::Rm(args) => runtime.block_on(steer::rm(args, global)),
    }
}

async fn list(args: AssignmentsList, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    if !args.watch {
        return print(&args, &fetch(&client, &args).await?);
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

/// The assignment that is meant: by its id, or by its configuration if only one gives that.
pub(super) async fn find(client: &Client, text: &str) -> Result<Answer<Assignment>, Failure> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(client.assignment(text).await?);
    }
    let query = AssignmentQuery { config: Some(text.to_owned()), ..AssignmentQuery::default() };
    let found = client.assignments(&query).await?.items;
    match found.as_slice() {
        [one] => Ok(client.assignment(&one.id).await?),
        [] => {
            let text = format!("no assignment has the id {text:?} or gives a configuration of that name");
            Err(Failure::new(Kind::NotFound, text).hint("muster assignments list shows them."))
        }
        several => {
            let ids: Vec<_> = several.iter().map(|one| one.id.as_str()).collect();
            let text = format!("several assignments give {}: {}", safe(text), ids.join(", "));
            Err(Failure::usage(text).hint("Say which one by its id."))
        }
    }
}

async fn fetch(client: &Client, args: &AssignmentsList) -> Result<AssignmentPage, Failure> {
    let (config, state) = (args.config.clone(), args.state.clone());
    let mut query = AssignmentQuery { config, state, limit: Some(PAGE), cursor: None };
    let mut all = client.assignments(&query).await?;
    while all.next_cursor.is_some() {
        query.cursor = all.next_cursor.take();
        let page = client.assignments(&query).await?;
        all.items.extend(page.items);
        all.next_cursor = page.next_cursor;
    }
    if let (true, Some(config)) = (all.items.is_empty(), &args.config) {
        known_config(client, config).await?;
    }
    Ok(all)
}

fn print(args: &AssignmentsList, page: &AssignmentPage) -> Result<(), Failure> {
    let table = || {
        if page.items.is_empty() {
            return match (&args.config, &args.state) {
                (None, None) => {
                    "There is no assignment. Make one: muster assignments create CONFIG -l SELECTOR"
                }
                _ => "No assignments match.",
            }
            .to_owned();
        }
        let head =
            ["id", "config", "revision", "state", "applied", "failed", "offline", "priority", "selector"];
        output::table(&head, page.items.iter().map(row))
    };
    let names = || page.items.iter().map(|one| one.id.clone()).collect();
    output::value(args.output.format, page, table, names)
}

fn row(one: &Assignment) -> Vec<String> {
    let Progress { eligible, applied, failed, offline, .. } = one.progress;
    vec![
        one.id.clone(),
        safe(&one.config),
        one.revision.to_string(),
        one.state.clone(),
        format!("{applied}/{eligible}"),
        failed.to_string(),
        offline.to_string(),
        one.priority.to_string(),
        selector_text(&one.selector),
    ]
}

async fn show(args: AssignmentsShow, global: &Global) -> Result<(), Failure> {
    let one = find(&client(&args.connection, global)?, &args.id).await?.value;
    output::value(args.output.format, &one, || page(&one), || vec![one.id.clone()])
}

fn page(one: &Assignment) -> String {
    let settled = one.settled_revision.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let mut lines = vec![
        ("id", one.id.clone()),
        ("config", safe(&one.config)),
        ("selector", selector_text(&one.selector)),
        ("priority", one.priority.to_string()),
        ("state", one.state.clone()),
        ("revision", format!("{} (settled: {settled})", one.revision)),
        ("batches", format!("{} % each", one.batch_percent)),
        ("progress", rollout::progress(one)),
        ("created", format!("{} by {}", one.created_at, safe(&one.created_by))),
        ("updated", one.updated_at.clone()),
    ];
    if let Some(pause) = &one.pause {
        lines.insert(5, ("paused", rollout::pause_text(pause)));
    }
    lines.iter().map(|(name, value)| format!("{name:<10} {value}")).collect::<Vec<_>>().join("\n")
}

async fn agents(args: AssignmentsAgents, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let id = find(&client, &args.id).await?.value.id;
    let mut query = AssignedQuery { state: args.state.clone(), limit: Some(PAGE), cursor: None };
    let mut all: AssignedPage = client.assigned_agents(&id, &query).await?;
    while all.next_cursor.is_some() {
        query.cursor = all.next_cursor.take();
        let page = client.assigned_agents(&id, &query).await?;
        all.items.extend(page.items);
        all.next_cursor = page.next_cursor;
    }
    let table = || {
        if all.items.is_empty() {
            return "No agents match.".to_owned();
        }
        let head = ["name", "host", "connection", "state", "revision", "error", "instance_uid"];
        output::table(&head, all.items.iter().map(agent_row))
    };
    let names = || all.items.iter().map(|agent| agent.instance_uid.clone()).collect();
    output::value(args.output.format, &all, table, names)
}

fn agent_row(agent: &AssignedAgent) -> Vec<String> {
    let text = |value: &Option<String>| value.as_deref().map_or_else(|| "-".to_owned(), safe);
    vec![
        text(&agent.name),
        text(&agent.host),
        agent.connection.clone(),
        agent.state.clone(),
        agent.revision.map_or_else(|| "-".to_owned(), |number| number.to_string()),
        text(&agent.error),
        agent.instance_uid.clone(),
    ]
}

pub(super) fn request(target: &Target, limit: u32) -> Result<PreviewRequest, Failure> {
    Ok(PreviewRequest {
        config: target.config.clone(),
        revision: target.revision,
        selector: reach::selector(&target.reach)?,
        priority: target.priority,
        batch_percent: target.batch_percent,
        assignment: None,
        limit: Some(limit),
    })
}

async fn preview(args: AssignmentsPreview, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let preview = client.preview(&request(&args.target, args.limit)?).await?;
    if let Some(text) = reach::nobody(&preview) {
        output::warning(&text);
    }
    let names = || preview.agents.iter().map(|agent| agent.instance_uid.clone()).collect();
    output::value(args.output.format, &preview, || plan(&preview), names)
}

/// What would happen, in one sentence, and the agents that were asked for.
pub(super) fn plan(preview: &Preview) -> String {
    if preview.matched == 0 {
        return "It matches no agent now.".to_owned();
    }
    let Preview { matched, gets, changes, offline, incapable, outranked, overridden, batches, agents, total } =
        preview;
    let back = ("is offline and gets it when it comes back", "are offline and get it when they come back");
    let mut text = format!(
        "{}: {}, {}, in {}. {}, {incapable} cannot be configured, {}, {}.",
        counted(*matched, "agent matches", "agents match"),
        counted(*gets, "gets it", "get it"),
        counted(*changes, "of them changes", "of them change"),
        counted(*batches, "batch", "batches"),
        counted(*offline, back.0, back.1),
        counted(*outranked, "gets something stronger", "get something stronger"),
        counted(*overridden, "is pinned", "are pinned"),
    );
    if agents.is_empty() {
        return text;
    }
    let rows = agents.iter().map(|agent| {
        let text = |value: &Option<String>| value.as_deref().map_or_else(|| "-".to_owned(), safe);
        let now = agent
            .now
            .as_ref()
            .map_or_else(|| "-".to_owned(), |now| format!("{} {}", safe(&now.config), now.revision));
        let (name, host, reason) = (text(&agent.name), text(&agent.host), text(&agent.reason));
        vec![
            name,
            host,
            agent.connection.clone(),
            agent.outcome.clone(),
            now,
            reason,
            agent.instance_uid.clone(),
        ]
    });
    let head = ["name", "host", "connection", "outcome", "now", "reason", "instance_uid"];
    text.push_str(&format!("\n\n{}", output::table(&head, rows)));
    let rest = total.saturating_sub(agents.len() as u64);
    if rest > 0 {
        text.push_str(&format!("\n… and {rest} more"));
    }
    text
}
