//! `muster labels` and the changes of single agents: labels and pins to a revision.

use std::collections::BTreeMap;

use api::Client;
use api::agents::AgentQuery;
use api::assignments::NewOverride;
use api::labels::LabelChange;

use super::agents::{every_agent, whole_uid};
use super::assignments::selector_text;
use super::consent::agree;
use super::runtime;
use crate::cli::{AgentsLabel, AgentsOverride, AgentsUnset, LabelsApply, LabelsArgs, LabelsList, LabelsVerb};
use crate::context::client;
use crate::failure::{Code, Failure};
use crate::output::{self, safe};

/// Lists and changes labels.
pub(crate) fn labels(args: LabelsArgs, debug: bool) -> Result<(), Failure> {
    let runtime = runtime()?;
    match args.verb {
        LabelsVerb::List(args) => runtime.block_on(list(args, debug)),
        LabelsVerb::Apply(args) => runtime.block_on(apply(args, debug)),
    }
}

async fn list(args: LabelsList, debug: bool) -> Result<(), Failure> {
    let client = client(&args.connection, debug)?;
    let query = AgentQuery { selector: args.selector.clone(), ..Default::default() };
    let agents = every_agent(&client, query, u32::MAX).await?.items;
    let labelled: Vec<_> = agents.into_iter().filter(|agent| !agent.labels.is_empty()).collect();
    let table = || {
        let rows = labelled.iter().map(|agent| {
            let text = |value: &Option<String>| value.as_deref().map_or_else(|| "-".to_owned(), safe);
            vec![text(&agent.name), text(&agent.host), labels_text(&agent.labels), agent.instance_uid.clone()]
        });
        output::table(&["name", "host", "labels", "instance_uid"], rows)
    };
    let all: BTreeMap<_, _> = labelled.iter().map(|agent| (&agent.instance_uid, &agent.labels)).collect();
    output::value(args.output.format, &all, table, || all.keys().map(|uid| (*uid).clone()).collect())
}

/// Labels as one text.
pub(super) fn labels_text(labels: &BTreeMap<String, String>) -> String {
    let pairs: Vec<_> = labels.iter().map(|(key, value)| format!("{}={}", safe(key), safe(value))).collect();
    pairs.join(",")
}

/// Reads `KEY=VALUE` and `KEY-`.
fn change(words: &[String]) -> Result<LabelChange, Failure> {
    let mut change = LabelChange::default();
    for word in words {
        match (word.split_once('='), word.strip_suffix('-')) {
            (Some((key, value)), _) => drop(change.set.insert(key.to_owned(), value.to_owned())),
            (None, Some(key)) => change.remove.push(key.to_owned()),
            (None, None) => {
                let text = format!("{word:?} is no change of a label, write KEY=VALUE or KEY-");
                return Err(Failure::usage(text));
            }
        }
    }
    Ok(change)
}

fn told(change: &LabelChange) -> String {
    let set = (!change.set.is_empty()).then(|| format!("set {}", labels_text(&change.set)));
    let remove = change.remove.iter().map(|key| safe(key)).collect::<Vec<_>>().join(", ");
    let remove = (!remove.is_empty()).then(|| format!("remove {remove}"));
    set.into_iter().chain(remove).collect::<Vec<_>>().join(" and ")
}

async fn apply(args: LabelsApply, debug: bool) -> Result<(), Failure> {
    let client = client(&args.connection, debug)?;
    let selector = args.selector.clone().unwrap_or_default();
    let change = LabelChange { selector: Some(selector.clone()), ..change(&args.labels)? };
    let query = AgentQuery {
        selector: Some(selector.clone()),
        replaced: Some(true),
        limit: Some(1),
        ..Default::default()
    };
    let total = client.agents(&query).await?.total;
    let plan = format!(
        "On {total} agents ({}): {}. Assignments that select by these labels may give them another configuration.",
        selector_text(&selector),
        told(&change)
    );
    if !agree(args.consent, &plan)? {
        return Ok(());
    }
    let outcome = client.change_labels(&change).await?;
    let table = || format!("{} of {} agents have other labels now", outcome.changed, outcome.matched);
    output::value(args.output.format, &outcome, table, Vec::new)?;
    match outcome.full {
        0 => Ok(()),
        full => Err(Failure::new(Code::Partly, format!("{full} agents would have had more than 64 labels"))),
    }
}

/// `muster agents label`.
pub(super) async fn label(args: AgentsLabel, debug: bool) -> Result<(), Failure> {
    let client = client(&args.connection, debug)?;
    let uid = whole_uid(&client, &args.instance_uid).await?;
    let change = LabelChange { agents: Some(vec![uid.clone()]), ..change(&args.labels)? };
    let before = client.agent(&uid).await?.summary.labels;
    let plan = format!("On agent {uid} ({}): {}.", labels_text(&before), told(&change));
    if !agree(args.consent, &plan)? {
        return Ok(());
    }
    let outcome = client.change_labels(&change).await?;
    if outcome.full > 0 {
        return Err(Failure::usage("an agent has at most 64 labels"));
    }
    let word = if outcome.changed > 0 { "labelled" } else { "unchanged" };
    output::line(&format!("agent/{uid} {word}"))
}

/// `muster agents override`.
pub(super) async fn pin(args: AgentsOverride, debug: bool) -> Result<(), Failure> {
    let client = client(&args.connection, debug)?;
    let uid = whole_uid(&client, &args.instance_uid).await?;
    let revision = match args.revision {
        Some(revision) => revision,
        None => client.config(&args.config).await?.value.summary.revision,
    };
    let now = now(&client, &uid).await?;
    let plan = format!("Pin agent {uid} to {} revision {revision}; it has {now} now.", safe(&args.config));
    if !agree(args.consent, &plan)? {
        return Ok(());
    }
    let to = NewOverride { config: args.config, revision: Some(revision) };
    let pinned = client.pin_agent(&uid, &to).await?;
    output::line(&format!("agent/{uid} is pinned to {} revision {}", safe(&pinned.config), pinned.revision))
}

/// `muster agents unset`.
pub(super) async fn unpin(args: AgentsUnset, debug: bool) -> Result<(), Failure> {
    let client = client(&args.connection, debug)?;
    let uid = whole_uid(&client, &args.instance_uid).await?;
    let now = now(&client, &uid).await?;
    let plan = format!("Let agent {uid} follow its assignments again; it has {now} now.");
    if !agree(args.consent, &plan)? {
        return Ok(());
    }
    client.unpin_agent(&uid).await?;
    output::line(&format!("agent/{uid} follows its assignments"))
}

/// What an agent is given, in words.
async fn now(client: &Client, uid: &str) -> Result<String, Failure> {
    let config = client.agent(uid).await?.summary.config;
    Ok(match (config.config, config.revision) {
        (Some(name), Some(revision)) => format!("{} revision {revision} ({})", safe(&name), config.state),
        _ => "no configuration of this server".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_written_as_in_kubectl() {
        let words = ["team=a=b", "ring-", "empty="].map(str::to_owned);
        let read = change(&words).unwrap();
        assert_eq!(told(&read), "set empty=,team=a=b and remove ring");
        assert!(change(&["team".to_owned()]).is_err());
    }
}
