//! `muster assignments pause|resume|abort|rm`: stopping rollouts, and taking assignments away. What makes no sense in the
//! state of the assignment is refused before a plan is shown.

use api::Client;
use api::assignments::{AssignedQuery, Assignment};

use super::assignments::find;
use super::consent::agree;
use super::reach::selector_text;
use super::rollout::{self, finish};
use crate::cli::{AssignmentsAbort, AssignmentsPause, AssignmentsResume, AssignmentsRm, Global};
use crate::context::client;
use crate::failure::{Failure, Kind};
use crate::output::{self, safe};

/// Agents that the plan of a clearing names.
const NAMED: u32 = 20;

/// Refuses what only makes sense in other states.
fn only_when(one: &Assignment, states: &[&str], rule: &str) -> Result<(), Failure> {
    if states.contains(&one.state.as_str()) {
        return Ok(());
    }
    let text = format!("assignment {} ({}) is {}: {rule}", one.id, safe(&one.config), one.state);
    Err(Failure::new(Kind::Conflict, text))
}

pub(super) async fn pause(args: AssignmentsPause, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let one = find(&client, &args.id).await?.value;
    only_when(&one, &["rolling"], "only a rollout that is under way can be paused")?;
    let one = client.pause_assignment(&one.id, args.reason).await?;
    let what = format!("is {}", one.state);
    finish(&client, args.output.format, &what, one, None).await
}

pub(super) async fn resume(args: AssignmentsResume, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let limit = rollout::limit(&args.waiting)?;
    let one = find(&client, &args.id).await?.value;
    only_when(&one, &["paused"], "only a rollout that is paused can be resumed")?;
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
    let one = client.resume_assignment(&one.id).await?;
    let what = format!("is {}", one.state);
    finish(&client, args.output.format, &what, one, limit).await
}

pub(super) async fn abort(args: AssignmentsAbort, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let one = find(&client, &args.id).await?.value;
    only_when(&one, &["rolling", "paused"], "there is no rollout to abort")?;
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
    let one = client.abort_assignment(&one.id, args.reason).await?;
    let what = format!("is {}", one.state);
    finish(&client, args.output.format, &what, one, None).await
}

pub(super) async fn rm(args: AssignmentsRm, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let limit = rollout::limit(&args.waiting)?;
    let answer = find(&client, &args.id).await?;
    let one = &answer.value;
    if args.clear {
        let states = ["rolling", "paused", "done", "aborted"];
        only_when(one, &states, "without --clear the waiting for its agents ends")?;
    }
    let then = match args.clear {
        true => "are offered the empty configuration",
        false => {
            "get what the next assignment that matches them says, and without one run on with what they have"
        }
    };
    let mut question = format!(
        "Remove assignment {} ({}, {}): its {} agents {then}.",
        one.id,
        safe(&one.config),
        selector_text(&one.selector),
        one.progress.eligible
    );
    if args.clear {
        question.push_str(&named(&client, &one.id).await?);
    }
    if !agree(args.consent, &question)? {
        return Ok(());
    }
    client.delete_assignment(&one.id, answer.tag.as_deref(), args.clear).await?;
    match (args.clear, limit) {
        (true, Some(limit)) => rollout::until_gone(&client, &one.id, limit).await?,
        (true, None) => return output::line(&format!("assignment/{} is clearing its agents", one.id)),
        (false, _) => {}
    }
    output::line(&format!("assignment/{} is removed", one.id))
}

/// The first agents of an assignment, a line for each, and how many more there are.
async fn named(client: &Client, id: &str) -> Result<String, Failure> {
    let query = AssignedQuery { limit: Some(NAMED), ..AssignedQuery::default() };
    let page = client.assigned_agents(id, &query).await?;
    let mut text = String::new();
    for agent in &page.items {
        let shown = |text: &Option<String>| text.as_deref().map_or_else(|| "-".to_owned(), safe);
        let (name, host) = (shown(&agent.name), shown(&agent.host));
        text.push_str(&format!("\n  {} {name} on {host}, {}", agent.instance_uid, agent.connection));
    }
    let rest = page.total.saturating_sub(page.items.len() as u64);
    if rest > 0 {
        text.push_str(&format!("\n  and {rest} more"));
    }
    Ok(text)
}
