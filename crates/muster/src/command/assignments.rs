//! `muster assignments`: look at them, begin rollouts and stop them. Each change shows who is affected first.

use api::Client;
use api::assignments::{
    AssignedAgent, AssignedQuery, Assignment, AssignmentPage, AssignmentQuery, NewAssignment, Preview,
    PreviewRequest, Progress, SetRevision,
};
use api::configs::DiffQuery;

use super::configs::difference;
use super::consent::agree;
use super::rollout::{self, wait};
use super::runtime;
use crate::cli::{
    AssignmentsAbort, AssignmentsAgents, AssignmentsArgs, AssignmentsCreate, AssignmentsList,
    AssignmentsPause, AssignmentsPreview, AssignmentsResume, AssignmentsRm, AssignmentsSetRevision,
    AssignmentsShow, AssignmentsVerb, Target,
};
use crate::context::client;
use crate::failure::Failure;
use crate::output::{self, safe};

/// The longest page of the API.
const PAGE: u32 = 500;

/// Works on assignments.
pub(crate) fn assignments(args: AssignmentsArgs, debug: bool) -> Result<(), Failure> {
    let runtime = runtime()?;
    match args.verb {
        AssignmentsVerb::List(args) => runtime.block_on(list(args, debug)),
        AssignmentsVerb::Show(args) => runtime.block_on(show(args, debug)),
        AssignmentsVerb::Agents(args) => runtime.block_on(agents(args, debug)),
        AssignmentsVerb::Preview(args) => runtime.block_on(preview(args, debug)),
        AssignmentsVerb::Create(args) => runtime.block_on(create(args, debug)),
        AssignmentsVerb::SetRevision(args) => runtime.block_on(set_revision(args, debug)),
        AssignmentsVerb::Pause(args) => runtime.block_on(pause(args, debug)),
        AssignmentsVerb::Resume(args) => runtime.block_on(resume(args, debug)),
        AssignmentsVerb::Abort(args) => runtime.block_on(abort(args, debug)),
        AssignmentsVerb::Rm(args) => runtime.block_on(rm(args, debug)),
    }
}

async fn list(args: AssignmentsList, debug: bool) -> Result<(), Failure> {
    let client = client(&args.connection, debug)?;
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
    Ok(all)
}

fn print(args: &AssignmentsList, page: &AssignmentPage) -> Result<(), Failure> {
    let table = || {
        if page.items.is_empty() {
            return "There is no assignment. Make one: muster assignments create CONFIG -l SELECTOR"
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

/// A selector for people; none is everybody.
pub(super) fn selector_text(selector: &str) -> String {
    if selector.is_empty() { "(every agent)".to_owned() } else { safe(selector) }
}

async fn show(args: AssignmentsShow, debug: bool) -> Result<(), Failure> {
    let one = client(&args.connection, debug)?.assignment(&args.id).await?.value;
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

async fn agents(args: AssignmentsAgents, debug: bool) -> Result<(), Failure> {
    let client = client(&args.connection, debug)?;
    let mut query = AssignedQuery { state: args.state.clone(), limit: Some(PAGE), cursor: None };
    let mut all = client.assigned_agents(&args.id, &query).await?;
    while all.next_cursor.is_some() {
        query.cursor = all.next_cursor.take();
        let page = client.assigned_agents(&args.id, &query).await?;
        all.items.extend(page.items);
        all.next_cursor = page.next_cursor;
    }
    let table = || {
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

fn request(target: &Target, limit: u32) -> PreviewRequest {
    PreviewRequest {
        config: target.config.clone(),
        revision: target.revision,
        selector: target.selector.clone().unwrap_or_default(),
        priority: target.priority,
        batch_percent: target.batch_percent,
        assignment: None,
        limit: Some(limit),
    }
}

async fn preview(args: AssignmentsPreview, debug: bool) -> Result<(), Failure> {
    let client = client(&args.connection, debug)?;
    let preview = client.preview(&request(&args.target, args.limit)).await?;
    let names = || preview.agents.iter().map(|agent| agent.instance_uid.clone()).collect();
    output::value(args.output.format, &preview, || plan(&preview), names)
}

/// What would happen, in one sentence, and the agents that were asked for.
fn plan(preview: &Preview) -> String {
    let Preview { matched, gets, changes, offline, incapable, outranked, overridden, batches, agents, total } =
        preview;
    let mut text = format!(
        "{matched} agents match: {gets} get it, {changes} of them change, in {batches} batches. {offline} are offline \
         and get it when they come back, {incapable} cannot be configured, {outranked} get something stronger, \
         {overridden} are pinned."
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

async fn create(args: AssignmentsCreate, debug: bool) -> Result<(), Failure> {
    let client = client(&args.connection, debug)?;
    let limit = rollout::limit(&args.waiting)?;
    let target = &args.target;
    let latest = client.config(&target.config).await?.value.summary.revision;
    let revision = target.revision.unwrap_or(latest);
    let what = PreviewRequest { revision: Some(revision), ..request(target, 10) };
    let preview = client.preview(&what).await?;
    let head = format!(
        "Assign {} revision {revision} to {}.\n",
        safe(&target.config),
        selector_text(target.selector.as_deref().unwrap_or_default())
    );
    if !agree(args.consent, &(head + &plan(&preview)))? {
        return Ok(());
    }
    let PreviewRequest { config, revision, selector, priority, batch_percent, assignment: _, limit: _ } =
        what;
    let made = client
        .create_assignment(&NewAssignment { config, revision, selector, priority, batch_percent })
        .await?;
    let table = || format!("assignment/{} created: {}", made.id, rollout::progress(&made));
    output::value(args.output.format, &made, table, || vec![made.id.clone()])?;
    wait(&client, &made.id, limit).await
}

async fn set_revision(args: AssignmentsSetRevision, debug: bool) -> Result<(), Failure> {
    let client = client(&args.connection, debug)?;
    let limit = rollout::limit(&args.waiting)?;
    let answer = client.assignment(&args.id).await?;
    let one = &answer.value;
    let from = one.revision;
    // The server goes back all at once unless told otherwise.
    let is_back = args.revision < from;
    let percent = args.batch_percent.or(is_back.then_some(100)).unwrap_or(one.batch_percent);
    let asked = PreviewRequest {
        config: one.config.clone(),
        revision: Some(args.revision),
        selector: one.selector.clone(),
        priority: Some(one.priority),
        batch_percent: Some(percent),
        assignment: Some(one.id.clone()),
        limit: Some(10),
    };
    let preview = client.preview(&asked).await?;
    let diff =
        client.diff_revisions(&one.config, DiffQuery { from: Some(from), to: Some(args.revision) }).await?;
    let question = format!(
        "{} assignment {} ({}) from revision {from} to {}.\n{}\n\n{}",
        if is_back { "Roll back" } else { "Bring" },
        one.id,
        safe(&one.config),
        args.revision,
        difference(&diff),
        plan(&preview)
    );
    if !agree(args.consent, &question)? {
        return Ok(());
    }
    let set = SetRevision { revision: args.revision, batch_percent: Some(percent) };
    // Not for one version only: a rollout that moves changes it with each batch, and a roll back must not wait.
    let changed = client.set_revision(&args.id, None, &set).await?;
    let table = || format!("assignment/{} is {}: {}", changed.id, changed.state, rollout::progress(&changed));
    output::value(args.output.format, &changed, table, || vec![changed.id.clone()])?;
    wait(&client, &args.id, limit).await
}

async fn pause(args: AssignmentsPause, debug: bool) -> Result<(), Failure> {
    let one = client(&args.connection, debug)?.pause_assignment(&args.id, args.reason).await?;
    output::line(&format!("assignment/{} is {}: {}", one.id, one.state, rollout::progress(&one)))
}

async fn resume(args: AssignmentsResume, debug: bool) -> Result<(), Failure> {
    let client = client(&args.connection, debug)?;
    let limit = rollout::limit(&args.waiting)?;
    let one = client.assignment(&args.id).await?.value;
    let why = one
        .pause
        .as_ref()
        .map_or_else(String::new, |pause| format!(" It stopped: {}.", rollout::pause_text(pause)));
    let question = format!(
        "Go on with {} revision {} for {} waiting agents.{why}",
        safe(&one.config),
        one.revision,
        one.progress.waiting
    );
    if !agree(args.consent, &question)? {
        return Ok(());
    }
    let one = client.resume_assignment(&args.id).await?;
    output::line(&format!("assignment/{} is {}: {}", one.id, one.state, rollout::progress(&one)))?;
    wait(&client, &args.id, limit).await
}

async fn abort(args: AssignmentsAbort, debug: bool) -> Result<(), Failure> {
    let client = client(&args.connection, debug)?;
    let one = client.assignment(&args.id).await?.value;
    let question = format!(
        "Abort the rollout of {} revision {}: {} released agents keep it, {} waiting ones do not get it.",
        safe(&one.config),
        one.revision,
        one.progress.released,
        one.progress.waiting
    );
    if !agree(args.consent, &question)? {
        return Ok(());
    }
    let one = client.abort_assignment(&args.id, args.reason).await?;
    output::line(&format!("assignment/{} is {}: {}", one.id, one.state, rollout::progress(&one)))
}

async fn rm(args: AssignmentsRm, debug: bool) -> Result<(), Failure> {
    let client = client(&args.connection, debug)?;
    let answer = client.assignment(&args.id).await?;
    let one = &answer.value;
    let then = match args.clear {
        true => "are offered the empty configuration",
        false => {
            "get what the next assignment that matches them says, and without one run on with what they have"
        }
    };
    let question = format!(
        "Remove assignment {} ({}, {}): its {} agents {then}.",
        one.id,
        safe(&one.config),
        selector_text(&one.selector),
        one.progress.eligible
    );
    if !agree(args.consent, &question)? {
        return Ok(());
    }
    client.delete_assignment(&args.id, answer.tag.as_deref(), args.clear).await?;
    let word = if args.clear { "is clearing its agents" } else { "is removed" };
    output::line(&format!("assignment/{} {word}", args.id))
}
