//! Drift: where an agent runs something else than it was given. What the agent adds is none, for supervisors and
//! agents have parts of their own; and nothing is said about values that it masks or that only it can resolve.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use opamp_proto::wire::{AgentConfigFile, AgentConfigMap};

use super::collector::is_template;
use super::document;
use super::files::{ConfigFile, ConfigFiles, Format};
use super::show::{MAX_SHOWN, masked, path_text};
use super::tree::{Node, Value, index};
use super::yaml::Budget;

#[cfg(test)]
mod tests;

/// More places than these are not told.
pub const MAX_DRIFTS: usize = 100;

/// A place where the agent runs something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drift {
    /// The keys that lead there, or the name of a file.
    pub path: String,
    /// What it was given there, secrets masked.
    pub offered: String,
    /// What it runs; `None` when it has nothing there.
    pub effective: Option<String>,
}

/// Where the effective configuration differs from the offered one; none: nowhere. `None`: it cannot be said, for the
/// agent reports nothing, or something that cannot be read.
///
/// When the agent reports every offered file by its name, they are compared one by one. Else both sides are merged in the order of
/// names, as supervisors do before they start an agent.
pub fn drift(offered: &ConfigFiles, effective: &AgentConfigMap) -> Option<Vec<Drift>> {
    let effective = &effective.config_map;
    if effective.is_empty() {
        return None;
    }
    let mut drifts = Vec::new();
    for (given, runs) in pairs(offered, effective)? {
        Comparison { drifts: &mut drifts, path: Vec::new() }.documents(given.as_deref(), runs.as_deref());
    }
    drifts.extend(plain_files(offered, effective));
    drifts.truncate(MAX_DRIFTS);
    Some(drifts)
}

/// What is to be compared with what, of the files that can be read.
fn pairs(offered: &ConfigFiles, effective: &BTreeMap<String, AgentConfigFile>) -> Option<Vec<(Root, Root)>> {
    let structured: Vec<_> = offered.iter().filter(|file| file.format() != Format::Other).collect();
    let (mut given, mut runs) = (Budget::default(), Budget::default());
    if structured.iter().all(|file| effective.contains_key(&file.name)) {
        let pair = |file: &&ConfigFile| {
            let given = read_offered(file, &mut given)?;
            Some((given, read_effective(&file.name, effective.get(&file.name)?, &mut runs)?))
        };
        return structured.iter().map(pair).collect();
    }
    if !structured.is_empty() && effective.iter().all(|(name, file)| is_other(name, file)) {
        return None;
    }
    let given: Option<Vec<_>> = structured.iter().map(|file| read_offered(file, &mut given)).collect();
    let runs: Option<Vec<_>> =
        effective.iter().map(|(name, file)| read_effective(name, file, &mut runs)).collect();
    Some(vec![(document::merge(given?.into_iter().flatten()), document::merge(runs?.into_iter().flatten()))])
}

type Root = Option<Arc<Node>>;

/// `None`: it cannot be read. It was checked when it was written, so this build knows less than that one.
fn read_offered(file: &ConfigFile, budget: &mut Budget) -> Option<Root> {
    document::read(file.format(), &file.body, 0, budget).ok().map(|document| document.root)
}

fn read_effective(name: &str, file: &AgentConfigFile, budget: &mut Budget) -> Option<Root> {
    let body = std::str::from_utf8(&file.body).ok()?;
    document::read(Format::of(name, &file.content_type), body, 0, budget).ok().map(|document| document.root)
}

fn is_other(name: &str, file: &AgentConfigFile) -> bool {
    Format::of(name, &file.content_type) == Format::Other
}

/// Files in other formats, byte for byte. One that is missing says something only about an agent that reports by name.
fn plain_files<'a>(
    offered: &'a ConfigFiles,
    effective: &'a BTreeMap<String, AgentConfigFile>,
) -> impl Iterator<Item = Drift> + 'a {
    let reports_by_name = offered.iter().any(|file| effective.contains_key(&file.name));
    offered.iter().filter(|file| file.format() == Format::Other).filter_map(move |file| {
        let runs = match effective.get(&file.name) {
            Some(runs) if runs.body == file.body.as_bytes() => return None,
            None if !reports_by_name => return None,
            runs => runs.map(|runs| format!("{} bytes", runs.body.len())),
        };
        let path = file.name.chars().take(MAX_SHOWN).collect();
        Some(Drift { path, offered: format!("{} bytes", file.body.len()), effective: runs })
    })
}

struct Comparison<'a, 'd> {
    drifts: &'d mut Vec<Drift>,
    path: Vec<&'a str>,
}

impl<'a> Comparison<'a, '_> {
    fn documents(&mut self, offered: Option<&'a Node>, effective: Option<&'a Node>) {
        match (offered, effective) {
            (Some(offered), Some(effective)) => self.nodes(offered, effective),
            (Some(offered), None) => self.found(offered, None),
            (None, _) => {}
        }
    }

    fn nodes(&mut self, offered: &'a Node, effective: &'a Node) {
        if self.drifts.len() >= MAX_DRIFTS || agrees(&self.path, offered, effective) {
            return;
        }
        let (Value::Map(given), Value::Map(runs)) = (&offered.value, &effective.value) else {
            return self.found(offered, Some(effective));
        };
        let runs = index(runs);
        for entry in given {
            self.path.push(&entry.key);
            match runs.get(entry.key.as_str()) {
                Some(found) => self.nodes(&entry.value, &found.value),
                None => self.found(&entry.value, None),
            }
            self.path.pop();
        }
    }

    fn found(&mut self, offered: &Node, effective: Option<&Node>) {
        if self.drifts.len() < MAX_DRIFTS {
            self.drifts.push(Drift {
                path: path_text(&self.path),
                offered: masked(&self.path, offered),
                effective: effective.map(|node| masked(&self.path, node)),
            });
        }
    }
}

/// Whether what runs is what was given, as far as the agent lets us see it.
fn agrees(path: &[&str], offered: &Node, effective: &Node) -> bool {
    if offered.is_nothing() && effective.is_nothing() {
        return true;
    }
    match (&offered.value, &effective.value) {
        (Value::Scalar(given), _) if is_template(&given.text) => true,
        (Value::Scalar(given), Value::Scalar(runs)) => {
            given.same(runs) || is_mask(&runs.text) || is_escape(&given.text, &runs.text)
        }
        (_, Value::Scalar(runs)) => is_mask(&runs.text),
        // A supervisor names extensions of its own beside those that it was given.
        (Value::List(given), Value::List(runs)) if path == ["service", "extensions"] => {
            let runs: HashSet<_> = runs.iter().filter_map(|id| id.text()).collect();
            given.iter().all(|id| id.text().is_some_and(|id| runs.contains(id) || is_template(id)))
        }
        (Value::List(given), Value::List(runs)) => {
            given.len() == runs.len() && given.iter().zip(runs).all(|(given, runs)| agrees(&[], given, runs))
        }
        // Inside a list there is no path to tell, so a map there is compared as a whole.
        (Value::Map(given), Value::Map(runs)) if path.is_empty() => {
            let index = index(runs);
            given.iter().all(|given| {
                index.get(given.key.as_str()).is_some_and(|runs| agrees(&[], &given.value, &runs.value))
            })
        }
        _ => false,
    }
}

/// Whether a Collector makes this of that: `$$` is a dollar sign for it.
fn is_escape(given: &str, runs: &str) -> bool {
    given.contains("$$") && given.replace("$$", "$") == runs
}

/// Whether a text stands for a secret that the agent does not show: a word for it in brackets, stars, or a URL whose
/// password is one of these or what Go writes there.
fn is_mask(text: &str) -> bool {
    let text = text.trim();
    let inner = text.trim_matches(|c: char| "<>[](){}*".contains(c));
    let is_word =
        ["redacted", "masked", "hidden", "sensitive"].iter().any(|word| inner.eq_ignore_ascii_case(word));
    let is_bare_word = inner.len() == text.len() && !inner.eq_ignore_ascii_case("redacted");
    let is_stars = text.chars().count() >= 3 && text.chars().all(|c| matches!(c, '*' | '•'));
    if (is_word && !is_bare_word) || is_stars {
        return true;
    }
    let user = text.split_once("://").and_then(|(_, rest)| rest.split_once('@')).map(|(user, _)| user);
    user.and_then(|user| user.split_once(':'))
        .is_some_and(|(_, password)| password == "xxxxx" || is_mask(password))
}
