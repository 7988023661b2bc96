//! One tree over another by Compose's rules: maps are joined, lists are appended, commands are replaced, what is unique
//! is replaced where it stands; `!reset` takes away and `!override` replaces the whole.

use std::collections::HashMap;
use std::sync::Arc;

use super::problem::Problems;
use super::{mounts, ports};
use crate::config::tree::{Entry, Node, Place, Scalar, Value};

/// What tags of a file say about values.
#[derive(Debug, Default)]
pub(super) struct Tags(HashMap<Place, Tag>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    /// The value goes, that of earlier files too.
    Reset,
    /// The value replaces that of earlier files.
    Override,
}

/// How two values become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Maps are joined, lists appended, other things replaced.
    Plain,
    /// The later one.
    Replace,
    /// Lists of `KEY=value` are maps.
    Pairs,
    /// Lists of names are maps with nothing below.
    Names,
    /// Lists of names are maps with a condition below.
    Dependencies,
    /// Maps are lists of `name:value`, and an item occurs once.
    Hosts,
    /// A single value is a list, and an item occurs once.
    Once,
    /// Lists in which an item replaces that of the same key.
    Keyed(Key),
    /// Joined when the driver stays the same.
    Logging,
}

/// What makes items of a list the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Port,
    Target,
    File,
}

impl Tags {
    pub(super) fn read(tags: Vec<(Place, String)>, problems: &mut Problems<'_>) -> Self {
        let mut known = HashMap::new();
        for (place, tag) in tags {
            match tag.as_str() {
                "!reset" => {
                    known.insert(place, Tag::Reset);
                }
                "!override" => {
                    known.insert(place, Tag::Override);
                }
                _ => {
                    let tag: String = tag.chars().take(40).collect();
                    problems.error_at(
                        place,
                        "",
                        format!("the tag {tag} is not known; only !reset and !override"),
                    );
                }
            }
        }
        Self(known)
    }

    fn of(&self, node: &Node) -> Option<Tag> {
        self.0.get(&node.place).copied()
    }
}

/// `over` on top of `base`. `None` when nothing is left.
pub(super) fn merged(
    base: Option<&Arc<Node>>,
    over: &Arc<Node>,
    path: &mut Vec<String>,
    tags: &Tags,
    problems: &mut Problems<'_>,
) -> Option<Arc<Node>> {
    match tags.of(over) {
        Some(Tag::Reset) => return None,
        Some(Tag::Override) => return Some(Arc::clone(over)),
        None => {}
    }
    let Some(base) = base else { return cleaned(over, tags) };
    if is_null(over) {
        return Some(Arc::clone(base));
    }
    if is_null(base) {
        return cleaned(over, tags);
    }
    let rule = rule(path);
    let (base, over) = (in_one_syntax(base, rule), in_one_syntax(over, rule));
    match (rule, &base.value, &over.value) {
        (Rule::Replace, _, _) => Some(over),
        (Rule::Logging, _, _) if other_driver(&base, &over) => Some(over),
        (Rule::Keyed(key), Value::List(old), Value::List(new)) => Some(keyed(&base, old, new, key)),
        (Rule::Once | Rule::Hosts, Value::List(old), Value::List(new)) => Some(once(&base, old, new)),
        (_, Value::List(old), Value::List(new)) => {
            let items = old.iter().chain(new).map(Arc::clone).collect();
            Some(Arc::new(Node::new(over.place, Value::List(items))))
        }
        (_, Value::Map(old), Value::Map(new)) => {
            let entries = joined(old, new, path, tags, problems);
            Some(Arc::new(Node::new(over.place, Value::Map(entries))))
        }
        (_, Value::Scalar(_), Value::Scalar(_)) => Some(over),
        (_, _, _) => {
            let text = "cannot go over what an earlier file or the extended service has, since one is a list or map and \
                        the other is not";
            problems.error_at(over.place, &path.join("."), text);
            Some(over)
        }
    }
}

fn joined(
    old: &[Entry],
    new: &[Entry],
    path: &mut Vec<String>,
    tags: &Tags,
    problems: &mut Problems<'_>,
) -> Vec<Entry> {
    let over: HashMap<&str, &Entry> = new.iter().map(|entry| (entry.key.as_str(), entry)).collect();
    let known: HashMap<&str, &Entry> = old.iter().map(|entry| (entry.key.as_str(), entry)).collect();
    let added = new.iter().filter(|entry| !known.contains_key(entry.key.as_str()));
    let mut entries = Vec::new();
    for entry in old.iter().chain(added) {
        let Some(later) = over.get(entry.key.as_str()) else {
            entries.push(entry.clone());
            continue;
        };
        path.push(entry.key.chars().take(64).collect());
        let base = known.get(entry.key.as_str()).map(|entry| &entry.value);
        if let Some(value) = merged(base, &later.value, path, tags, problems) {
            entries.push(Entry { key: entry.key.clone(), place: later.place, value });
        }
        path.pop();
    }
    entries
}

/// A tree without what is tagged away.
fn cleaned(node: &Arc<Node>, tags: &Tags) -> Option<Arc<Node>> {
    if tags.0.is_empty() {
        return Some(Arc::clone(node));
    }
    match (tags.of(node), &node.value) {
        (Some(Tag::Reset), _) => None,
        (_, Value::Map(entries)) => {
            let kept = |entry: &Entry| Some(Entry { value: cleaned(&entry.value, tags)?, ..entry.clone() });
            let entries = entries.iter().filter_map(kept).collect();
            Some(Arc::new(Node::new(node.place, Value::Map(entries))))
        }
        (_, Value::List(items)) => {
            let items = items.iter().filter_map(|item| cleaned(item, tags)).collect();
            Some(Arc::new(Node::new(node.place, Value::List(items))))
        }
        (_, Value::Scalar(_)) => Some(Arc::clone(node)),
    }
}

fn rule(path: &[String]) -> Rule {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path.as_slice() {
        [.., last] if last.starts_with("x-") && *last != "x-muster" => Rule::Replace,
        ["services", _, below @ ..] => service_rule(below),
        ["networks" | "volumes", _, "labels"] => Rule::Pairs,
        _ => Rule::Plain,
    }
}

fn service_rule(below: &[&str]) -> Rule {
    match below {
        ["command" | "entrypoint" | "build"] | ["healthcheck", "test"] | ["ulimits", _] => Rule::Replace,
        ["environment" | "labels" | "sysctls" | "annotations"] | ["deploy", "labels"] => Rule::Pairs,
        ["networks"] => Rule::Names,
        ["depends_on"] => Rule::Dependencies,
        ["extra_hosts"] => Rule::Hosts,
        ["ports"] => Rule::Keyed(Key::Port),
        ["volumes"] => Rule::Keyed(Key::Target),
        ["secrets" | "configs"] => Rule::Keyed(Key::File),
        ["logging"] => Rule::Logging,
        [
            "env_file" | "tmpfs" | "dns" | "dns_search" | "dns_opt" | "cap_add" | "cap_drop" | "profiles"
            | "expose" | "links" | "security_opt",
        ]
        | ["networks", _, "aliases"] => Rule::Once,
        _ => Rule::Plain,
    }
}

/// Brings both ways of writing something to one, so that they can be joined.
fn in_one_syntax(node: &Arc<Node>, rule: Rule) -> Arc<Node> {
    let value = match (rule, &node.value) {
        (Rule::Pairs, Value::List(items)) => Value::Map(unique(items, |item| {
            let text = item.text()?;
            let (key, value) = match text.split_once('=') {
                Some((key, value)) => (key, text_node(item.place, value)),
                None => (text, null_node(item.place)),
            };
            Some(Entry { key: key.to_owned(), place: item.place, value })
        })),
        (Rule::Names, Value::List(items)) => Value::Map(unique(items, |item| {
            let key = item.text()?.to_owned();
            Some(Entry { key, place: item.place, value: null_node(item.place) })
        })),
        (Rule::Dependencies, Value::List(items)) => Value::Map(unique(items, |item| {
            let key = item.text()?.to_owned();
            let value = text_node(item.place, "service_started");
            let condition = Entry { key: "condition".to_owned(), place: item.place, value };
            let value = Arc::new(Node::new(item.place, Value::Map(vec![condition])));
            Some(Entry { key, place: item.place, value })
        })),
        (Rule::Hosts, Value::Map(entries)) => {
            let of = |entry: &Entry, value: &Arc<Node>| {
                value.text().map(|text| text_node(entry.place, &format!("{}={text}", entry.key)))
            };
            let items = entries.iter().flat_map(|entry| match &entry.value.value {
                Value::List(many) => many.iter().filter_map(|value| of(entry, value)).collect::<Vec<_>>(),
                Value::Scalar(_) | Value::Map(_) => of(entry, &entry.value).into_iter().collect(),
            });
            Value::List(items.collect())
        }
        (Rule::Once, Value::Scalar(_)) => Value::List(vec![Arc::clone(node)]),
        _ => return Arc::clone(node),
    };
    Arc::new(Node::new(node.place, value))
}

/// Entries of a map from a list; of the same key the last one stays.
fn unique(items: &[Arc<Node>], entry: impl Fn(&Arc<Node>) -> Option<Entry>) -> Vec<Entry> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut entries: Vec<Entry> = Vec::new();
    for entry in items.iter().filter_map(entry) {
        match places.get(&entry.key) {
            Some(index) => entries[*index] = entry,
            None => {
                places.insert(entry.key.clone(), entries.len());
                entries.push(entry);
            }
        }
    }
    entries
}

fn keyed(base: &Arc<Node>, old: &[Arc<Node>], new: &[Arc<Node>], key: Key) -> Arc<Node> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut items: Vec<Arc<Node>> = Vec::new();
    for item in old.iter().chain(new) {
        let key = match key {
            Key::Port => ports::merge_key(item),
            Key::Target => mounts::merge_key(item),
            Key::File => file_key(item),
        };
        match key.as_ref().and_then(|key| places.get(key)) {
            Some(index) => items[*index] = Arc::clone(item),
            None => {
                places.extend(key.map(|key| (key, items.len())));
                items.push(Arc::clone(item));
            }
        }
    }
    Arc::new(Node::new(base.place, Value::List(items)))
}

/// Where a secret or a configuration is mounted, or its name.
fn file_key(item: &Node) -> Option<String> {
    let text = item.get("target").or_else(|| item.get("source")).and_then(|node| node.text());
    text.or_else(|| item.text()).map(str::to_owned)
}

fn once(base: &Arc<Node>, old: &[Arc<Node>], new: &[Arc<Node>]) -> Arc<Node> {
    let mut seen = std::collections::HashSet::new();
    let is_new = |item: &&Arc<Node>| item.text().is_none_or(|text| seen.insert(text.to_owned()));
    let items = old.iter().chain(new).filter(is_new).map(Arc::clone).collect();
    Arc::new(Node::new(base.place, Value::List(items)))
}

fn other_driver(base: &Node, over: &Node) -> bool {
    let driver = |node: &Node| node.get("driver").and_then(|driver| driver.text()).map(str::to_owned);
    match (driver(base), driver(over)) {
        (Some(base), Some(over)) => base != over,
        (None, _) | (_, None) => false,
    }
}

fn is_null(node: &Node) -> bool {
    matches!(node.value, Value::Scalar(_)) && node.is_nothing()
}

fn text_node(place: Place, text: &str) -> Arc<Node> {
    Arc::new(Node::new(place, Value::Scalar(Scalar { text: text.to_owned(), is_text: true })))
}

fn null_node(place: Place) -> Arc<Node> {
    Arc::new(Node::new(place, Value::Scalar(Scalar { text: String::new(), is_text: false })))
}
