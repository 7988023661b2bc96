//! `muster labels` and the changes of single agents: labels and pins to a revision.

use std::collections::BTreeMap;

use api::agents::{AgentConfig, AgentQuery, AgentSummary};
use api::assignments::NewOverride;
use api::labels::LabelChange;

use super::agents::{every_agent, whole_uid};
use super::consent::{agree, agree_as};
use super::reach::{self, selector_text};
use super::runtime;
use crate::cli::{
    AgentsLabel, AgentsOverride, AgentsUnset, Global, LabelsApply, LabelsArgs, LabelsList, LabelsVerb,
};
use crate::context::client;
use crate::failure::{Failure, Kind};
use crate::output::{self, safe};

/// Lists and changes labels.
pub(crate) fn labels(args: LabelsArgs, global: &Global) -> Result<(), Failure> {
    let runtime = runtime()?;
    match args.verb {
        LabelsVerb::List(args) => runtime.block_on(list(args, global)),
        LabelsVerb::Apply(args) => runtime.block_on(apply(args, global)),
    }
}

async fn list(args: LabelsList, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let query = AgentQuery { selector: args.selector.clone(), ..Default::default() };
    let agents = every_agent(&client, query, u32::MAX).await?.items;
    let labelled: Vec<_> = agents.into_iter().filter(|agent| !agent.labels.is_empty()).collect();
    let table = || {
        if labelled.is_empty() {
            return "No agent has labels.".to_owned();
        }
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
pub(super) fn change(words: &[String]) -> Result<LabelChange, Failure> {
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

async fn apply(args: LabelsApply, global: &Global) -> Result<(), Failure> {
    let selector = reach::selector(&args.reach)?;
    let client = client(&args.connection, global)?;
    let change = LabelChange { selector: Some(selector.clone()), ..change(&args.labels)? };
    let query = AgentQuery {
        selector: Some(selector.clone()),
        replaced: Some(true),
        limit: Some(1),
        ..Default::default()
    };
    let total = client.agents(&query).await?.total;
    if total == 0 {
        let text = format!("no agent matches {}: nothing was changed", selector_text(&selector));
        return Err(
            Failure::new(Kind::NotFound, text).hint("muster agents list -l SELECTOR shows who matches.")
        );
    }
    let plan = format!(
        "On {total} agents ({}): {}. Assignments that select by these labels may give them another configuration.",
        selector_text(&selector),
        told(&change)
    );
    if !agree_as(args.consent, args.output.format, &serde_json::json!({ "matched": total }), &plan)? {
        return Ok(());
    }
    let outcome = client.change_labels(&change).await?;
    let table = || format!("{} of {} agents have other labels now", outcome.changed, outcome.matched);
    output::value(args.output.format, &outcome, table, Vec::new)?;
    match outcome.full {
        0 => Ok(()),
        full => Err(Failure::new(Kind::Partly, format!("{full} agents would have had more than 64 labels"))),
    }
}

/// `muster agents label`.
pub(super) async fn label(args: AgentsLabel, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let uid = whole_uid(&client, &args.instance_uid).await?;
    let change = LabelChange { agents: Some(vec![uid.clone()]), ..change(&args.labels)? };
    let before = client.agent(&uid).await?.summary.labels;
    let has = if before.is_empty() { "no labels".to_owned() } else { labels_text(&before) };
    let plan = format!("On agent {uid} ({has}): {}.", told(&change));
    if !agree(args.consent, &plan)? {
        return Ok(());
    }
    let outcome = client.change_labels(&change).await?;
    if outcome.full > 0 {
        return Err(Failure::new(Kind::Conflict, "an agent has at most 64 labels: nothing was changed"));
    }
    let word = if outcome.changed > 0 { "labelled" } else { "unchanged" };
    output::line(&format!("agent/{uid} {word}"))
}

/// `muster agents override`.
pub(super) async fn pin(args: AgentsOverride, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let uid = whole_uid(&client, &args.instance_uid).await?;
    let revision = match args.revision {
        Some(revision) => revision,
        None => client.config(&args.config).await?.value.summary.revision,
    };
    let agent = client.agent(&uid).await?.summary;
    let warning = unreached(&agent);
    if let Some(text) = warning {
        output::warning(text);
    }
    let plan = format!(
        "Pin agent {uid} to {} revision {revision}; it has {} now.",
        safe(&args.config),
        given(&agent.config)
    );
    if !agree(args.consent, &plan)? {
        return Ok(());
    }
    let to = NewOverride { config: args.config, revision: Some(revision) };
    let pinned = client.pin_agent(&uid, &to).await?;
    output::line(&format!("agent/{uid} is pinned to {} revision {}", safe(&pinned.config), pinned.revision))
}

/// `muster agents unset`.
pub(super) async fn unpin(args: AgentsUnset, global: &Global) -> Result<(), Failure> {
    let client = client(&args.connection, global)?;
    let uid = whole_uid(&client, &args.instance_uid).await?;
    let agent = client.agent(&uid).await?.summary;
    if !agent.config.pinned {
        return Err(Failure::new(Kind::NotFound, format!("agent {uid} is not pinned")));
    }
    let plan = format!("Let agent {uid} follow its assignments again; it has {} now.", given(&agent.config));
    if !agree(args.consent, &plan)? {
        return Ok(());
    }
    client.unpin_agent(&uid).await?;
    output::line(&format!("agent/{uid} follows its assignments"))
}

/// What an agent is given, in words.
fn given(config: &AgentConfig) -> String {
    match (&config.config, config.revision) {
        (Some(name), Some(revision)) => format!("{} revision {revision} ({})", safe(name), config.state),
        _ => "no configuration of this server".to_owned(),
    }
}

/// What to warn of when a revision would not reach an agent now.
fn unreached(agent: &AgentSummary) -> Option<&'static str> {
    if !agent.capabilities.iter().any(|name| name == "AcceptsRemoteConfig") {
        return Some("this agent takes no configurations: nothing will reach it");
    }
    (agent.state == "disconnected")
        .then_some("this agent is not connected now: it gets the revision when it comes back")
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
