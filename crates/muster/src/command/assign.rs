//! `muster assignments create|set-revision|set`: who gets what from now on. Each shows whom it reaches before anything is
//! changed, and says so when that is nobody.

use api::Client;
use api::assignments::{Assignment, AssignmentPatch, NewAssignment, Preview, PreviewRequest, SetRevision};
use api::configs::DiffQuery;
use model::Selector;

use super::assignments::{find, plan, request};
use super::configs::difference;
use super::consent::agree_as;
use super::reach::{self, selector_text};
use super::rollout::{self, finish};
use crate::cli::{AssignmentsCreate, AssignmentsSet, AssignmentsSetRevision, Global};
use crate::context::client;
use crate::failure::{Failure, Kind};
use crate::output::{self, safe};

/// Agents that a plan names.
const NAMED: u32 = 10;
/// A rollout changes its assignment with every batch: so often a change is tried on the newer version.
const TRIES: usize = 5;

async fn looked_at(client: &Client, asked: &PreviewRequest) -> Result<Preview, Failure> {
    let preview = client.preview(asked).await?;
    if let Some(text) = reach::nobody(&preview) {
        output::warning(&text);
    }
    Ok(preview)
}

pub(super) async fn create(args: AssignmentsCreate, global: &Global) -> Result<(), Failure> {
    let limit = rollout::limit(&args.waiting)?;
    let asked = request(&args.target, NAMED)?;
    let client = client(&args.connection, global)?;
    let latest = client.config(&asked.config).await?.value.summary.revision;
    let revision = asked.revision.unwrap_or(latest);
    let asked = PreviewRequest { revision: Some(revision), ..asked };
    let preview = looked_at(&client, &asked).await?;
    let to = selector_text(&asked.selector);
    let head = format!("Assign {} revision {revision} to {to}.\n", safe(&asked.config));
    if !agree_as(args.consent, args.output.format, &preview, &(head + &plan(&preview)))? {
        return Ok(());
    }
    let PreviewRequest { config, revision, selector, priority, batch_percent, assignment: _, limit: _ } =
        asked;
    let new = NewAssignment { config, revision, selector, priority, batch_percent };
    let made = client.create_assignment(&new).await?;
    finish(&client, args.output.format, "created", made, limit).await
}

pub(super) async fn set_revision(args: AssignmentsSetRevision, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let limit = rollout::limit(&args.waiting)?;
    let one = changeable(find(&client, &args.id).await?.value)?;
    let from = one.revision;
    // The server goes back all at once unless told otherwise.
    let is_back = args.revision < from;
    let percent = args.batch_percent.or(is_back.then_some(100)).unwrap_or(one.batch_percent);
    let asked =
        PreviewRequest { revision: Some(args.revision), batch_percent: Some(percent), ..as_it_is(&one) };
    let preview = looked_at(&client, &asked).await?;
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
    if !agree_as(args.consent, args.output.format, &preview, &question)? {
        return Ok(());
    }
    let set = SetRevision { revision: args.revision, batch_percent: Some(percent) };
    // Not for one version only: a rollout that moves changes it with each batch, and a roll back must not wait.
    let changed = client.set_revision(&one.id, None, &set).await?;
    let what = format!("is {}", changed.state);
    finish(&client, args.output.format, &what, changed, limit).await
}

/// What would happen if an assignment were made anew as it is.
fn as_it_is(one: &Assignment) -> PreviewRequest {
    PreviewRequest {
        config: one.config.clone(),
        revision: Some(one.revision),
        selector: one.selector.clone(),
        priority: Some(one.priority),
        batch_percent: Some(one.batch_percent),
        assignment: Some(one.id.clone()),
        limit: Some(NAMED),
    }
}

fn changeable(one: Assignment) -> Result<Assignment, Failure> {
    if one.state == "clearing" {
        let text = format!("assignment {} is being cleared and cannot be changed any more", one.id);
        return Err(Failure::new(Kind::Conflict, text).hint("Make a new one: muster assignments create"));
    }
    Ok(one)
}

pub(super) async fn set(args: AssignmentsSet, global: &Global) -> Result<(), Failure> {
    let selector = reach::chosen(args.selector.as_deref(), args.all)?;
    let client = client(&args.connection, global)?;
    let answer = find(&client, &args.id).await?;
    let (tag, one) = (answer.tag, changeable(answer.value)?);
    let patch = AssignmentPatch {
        selector: selector.filter(|text| !is_same(text, &one.selector)),
        priority: args.priority.filter(|priority| *priority != one.priority),
        batch_percent: args.batch_percent.filter(|percent| *percent != one.batch_percent),
    };
    if patch == AssignmentPatch::default() {
        return finish(&client, args.output.format, "unchanged", one, None).await;
    }
    let before = as_it_is(&one);
    let asked = PreviewRequest {
        selector: patch.selector.clone().unwrap_or(before.selector),
        priority: patch.priority.or(before.priority),
        batch_percent: patch.batch_percent.or(before.batch_percent),
        ..as_it_is(&one)
    };
    let preview = looked_at(&client, &asked).await?;
    let question = format!("{}\n{}", told(&one, &patch), plan(&preview));
    if !agree_as(args.consent, args.output.format, &preview, &question)? {
        return Ok(());
    }
    let changed = change(&client, &one, tag, &patch).await?;
    finish(&client, args.output.format, "changed", changed, None).await
}

fn is_same(text: &str, selector: &str) -> bool {
    Selector::parse(text).is_ok_and(|parsed| Selector::parse(selector) == Ok(parsed))
}

/// What an assignment was and is to be, a line for each.
fn told(one: &Assignment, patch: &AssignmentPatch) -> String {
    let AssignmentPatch { selector, priority, batch_percent } = patch;
    let mut lines = vec![format!("Change assignment {} ({}).", one.id, safe(&one.config))];
    if let Some(selector) = selector {
        lines.push(format!("selector: {} -> {}", selector_text(&one.selector), selector_text(selector)));
        lines.push("Agents that do not match any more run on, or get what another assignment gives.".into());
    }
    if let Some(priority) = priority {
        lines.push(format!("priority: {} -> {priority}", one.priority));
    }
    if let Some(percent) = batch_percent {
        lines.push(format!("batches: {} % -> {percent} %", one.batch_percent));
    }
    lines.join("\n")
}

/// Makes the change on the version that was shown. A rollout that went on meanwhile is no reason to refuse it, another
/// change by somebody is.
async fn change(
    client: &Client,
    shown: &Assignment,
    mut tag: Option<String>,
    patch: &AssignmentPatch,
) -> Result<Assignment, Failure> {
    for _ in 1..TRIES {
        match client.change_assignment(&shown.id, tag.as_deref(), patch).await {
            Err(error) if error.status() == Some(412) => {
                let now = client.assignment(&shown.id).await?;
                if !is_as_shown(shown, &now.value) {
                    return Err(error.into());
                }
                tag = now.tag;
            }
            other => return Ok(other?),
        }
    }
    Ok(client.change_assignment(&shown.id, tag.as_deref(), patch).await?)
}

fn is_as_shown(shown: &Assignment, now: &Assignment) -> bool {
    let said = |one: &Assignment| (one.selector.clone(), one.priority, one.batch_percent, one.revision);
    said(shown) == said(now)
}
