//! What a difference means to a Collector: components and pipelines that came, went or changed.

use std::sync::Arc;

use super::super::collector::{self, Area};
use super::super::document;
use super::super::files::ConfigFiles;
use super::super::show::{masked, path_text};
use super::super::tree::{Entry, Node, Value, index};
use super::super::yaml::Budget;
use super::{Change, ComponentChange};

/// More changes than these are not told.
pub const MAX_CHANGES: usize = 500;
/// The most places that are told of one component.
const MAX_DETAILS: usize = 6;

pub(super) fn changes(from: &ConfigFiles, to: &ConfigFiles) -> Vec<ComponentChange> {
    let (Some(from), Some(to)) = (root(from), root(to)) else { return Vec::new() };
    if !collector::is_collector(&from) && !collector::is_collector(&to) {
        return Vec::new();
    }
    let mut changes = Changes(Vec::new());
    for area in Area::COMPONENTS {
        let section = area.section().unwrap_or_default();
        let (old, new) = (collector::components(&from, area), collector::components(&to, area));
        changes.of_entries(area, &[section], old, new, |_| false);
    }
    let pipelines = |root: &Arc<Node>| collector::pipelines(root).unwrap_or_default().to_vec();
    changes.of_pipelines(&pipelines(&from), &pipelines(&to));
    let service =
        |root: &Arc<Node>| root.get("service").map(|node| node.entries().to_vec()).unwrap_or_default();
    changes.of_entries(Area::Service, &["service"], &service(&from), &service(&to), |key| key == "pipelines");
    let has_area =
        |key: &str| key == "service" || Area::COMPONENTS.iter().any(|area| area.section() == Some(key));
    changes.of_entries(Area::Other, &[], from.entries(), to.entries(), has_area);
    changes.0
}

/// All files as one document; `None` when one of them cannot be read.
fn root(files: &ConfigFiles) -> Option<Arc<Node>> {
    let mut budget = Budget::default();
    let roots: Result<Vec<_>, _> = files
        .iter()
        .map(|file| document::read(file.format(), &file.body, 0, &mut budget).map(|document| document.root))
        .collect();
    document::merge(roots.ok()?.into_iter().flatten())
}

struct Changes(Vec<ComponentChange>);

impl Changes {
    fn push(&mut self, area: Area, name: &str, change: Change, detail: String) {
        if self.0.len() < MAX_CHANGES {
            let name = name.chars().take(super::super::show::MAX_SHOWN).collect();
            self.0.push(ComponentChange { area, name, change, detail });
        }
    }

    /// Compares the entries of two maps. `above` is the path to them.
    fn of_entries(
        &mut self,
        area: Area,
        above: &[&str],
        old: &[Entry],
        new: &[Entry],
        skip: impl Fn(&str) -> bool,
    ) {
        self.pair(area, old, new, skip, |key, old, new| {
            let mut path = above.to_vec();
            path.push(key);
            let mut details = Vec::new();
            places(&mut path, above.len() + 1, old, new, &mut details);
            told(details)
        });
    }

    fn of_pipelines(&mut self, old: &[Entry], new: &[Entry]) {
        self.pair(Area::Pipeline, old, new, |_| false, |_, old, new| told(pipeline(old, new)));
    }

    /// Walks two maps: what went and changed in the old one's order, then what came in the new one's.
    fn pair(
        &mut self,
        area: Area,
        old: &[Entry],
        new: &[Entry],
        skip: impl Fn(&str) -> bool,
        detail: impl Fn(&str, &Node, &Node) -> String,
    ) {
        let (old_index, new_index) = (index(old), index(new));
        for Entry { key, value, .. } in old.iter().filter(|entry| !skip(&entry.key)) {
            match new_index.get(key.as_str()) {
                None => self.push(area, key, Change::Removed, String::new()),
                Some(other) if value.same(&other.value) => {}
                Some(other) => self.push(area, key, Change::Changed, detail(key, value, &other.value)),
            }
        }
        for Entry { key, .. } in new.iter().filter(|entry| !skip(&entry.key)) {
            if !old_index.contains_key(key.as_str()) {
                self.push(area, key, Change::Added, String::new());
            }
        }
    }
}

/// The places below a component that differ. `own` is the length of the path to the component itself.
fn places<'a>(path: &mut Vec<&'a str>, own: usize, old: &'a Node, new: &'a Node, details: &mut Vec<String>) {
    if details.len() > MAX_DETAILS || old.same(new) {
        return;
    }
    let both_maps = matches!((&old.value, &new.value), (Value::Map(_), Value::Map(_)));
    if !both_maps {
        let at = path_text(&path[own..]);
        let at = if at.is_empty() { at } else { format!("{at}: ") };
        details.push(format!("{at}{} → {}", masked(path, old), masked(path, new)));
        return;
    }
    let (old_index, new_index) = (index(old.entries()), index(new.entries()));
    for entry in old.entries() {
        path.push(&entry.key);
        match new_index.get(entry.key.as_str()) {
            Some(other) => places(path, own, &entry.value, &other.value, details),
            None => details.push(format!("{} removed", path_text(&path[own..]))),
        }
        path.pop();
    }
    for entry in new.entries().iter().filter(|entry| !old_index.contains_key(entry.key.as_str())) {
        path.push(&entry.key);
        details.push(format!("{} added", path_text(&path[own..])));
        path.pop();
    }
}

/// What differs in a pipeline: `receivers +otlp -jaeger`.
fn pipeline(old: &Node, new: &Node) -> Vec<String> {
    let mut details = Vec::new();
    for area in [Area::Receiver, Area::Processor, Area::Exporter] {
        let section = area.section().unwrap_or_default();
        let ids = |node: &Node| -> Vec<String> {
            let list = node.get(section).map(|list| list.items()).unwrap_or_default();
            list.iter().map(|item| masked(&[section], item)).collect()
        };
        let (old, new) = (ids(old), ids(new));
        let (had, has): (std::collections::HashSet<_>, std::collections::HashSet<_>) =
            (old.iter().collect(), new.iter().collect());
        let went = old.iter().filter(|id| !has.contains(id)).map(|id| format!(" -{id}"));
        let came = new.iter().filter(|id| !had.contains(id)).map(|id| format!(" +{id}"));
        let moved: String = went.chain(came).take(MAX_DETAILS).collect();
        if !moved.is_empty() {
            details.push(format!("{section}{moved}"));
        } else if old != new {
            details.push(format!("{section} in another order"));
        }
    }
    details
}

fn told(mut details: Vec<String>) -> String {
    let more = details.len() > MAX_DETAILS;
    details.truncate(MAX_DETAILS);
    let text = details.join("; ");
    if more { text + "; and more" } else { text }
}
