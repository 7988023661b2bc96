//! From texts to one tree: YAML, variables, `extends`, and each file over those before it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::interpolate::{self, Replacing};
use super::merge::{self, Tags};
use super::problem::Problems;
use super::walk::At;
use super::{Input, Lookup, MAX_EXPANDED, MAX_FILES, MAX_TEXT, extends};
use crate::config::tree::{Entry, Node, ParseError, Place, Scalar, Value};
use crate::config::yaml::{self, Budget, MAX_NODES, Yaml};

/// One file: its tree with variables replaced, and its tags.
pub(super) struct Layer {
    pub(super) root: Arc<Node>,
    pub(super) tags: Tags,
}

/// All files as one tree. `None` when there is none; the problems say why.
pub(super) fn tree(input: &Input<'_>, problems: &mut Problems<'_>) -> Option<At> {
    if input.files.is_empty() || input.files.len() > MAX_FILES {
        problems.error_of_all(format!("a project has 1 to {MAX_FILES} files"));
        return None;
    }
    let mut budget = Budget::default();
    let mut variables = Variables::new(input.env);
    let mut whole: Option<Arc<Node>> = None;
    for (number, file) in (0..).zip(input.files) {
        let layer = layer(file.text, number, &mut budget, &mut variables, problems)?;
        let layer = extends::resolved(layer, problems)?;
        whole = merge::merged(whole.as_ref(), &layer.root, &mut Vec::new(), &layer.tags, problems);
    }
    if problems.has_errors() {
        return None;
    }
    let Some(root) = whole else {
        problems.error_of_all("the files have no services");
        return None;
    };
    if root.weight() > MAX_NODES || expanded(&root) > MAX_EXPANDED {
        problems.error_of_all("the files become too large when anchors and extends are followed");
        return None;
    }
    Some(At::root(root))
}

/// Lists the variables that a file takes from outside: those in its values, those that `environment:` passes on, and
/// those that `configs:` are made of. A text that is no YAML has none.
pub fn variables(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    if text.len() > MAX_TEXT {
        return names;
    }
    let Ok(Yaml { root: Some(root), .. }) = yaml::parse(text, 0, &mut Budget::default()) else {
        return names;
    };
    let is_read = |entry: &&Entry| !entry.key.starts_with("x-") || entry.key == "x-muster";
    for entry in root.entries().iter().filter(is_read) {
        names_below(&entry.value, &mut names);
    }
    let environments = root.get("services").into_iter().flat_map(|services| services.entries());
    for environment in environments.filter_map(|service| service.value.get("environment")) {
        for item in environment.items().iter().filter_map(|item| item.text()).filter(|text| is_variable(text))
        {
            names.insert(item.to_owned());
        }
        for entry in environment.entries().iter().filter(|entry| is_null(&entry.value)) {
            names.insert(entry.key.clone());
        }
    }
    let configs = root.get("configs").into_iter().flat_map(|configs| configs.entries());
    let from_variable = configs.filter_map(|config| config.value.get("environment")?.text());
    names.extend(from_variable.filter(|name| !name.is_empty()).map(str::to_owned));
    names
}

/// Whether an item of `environment:` is a name alone.
fn is_variable(text: &str) -> bool {
    !text.is_empty() && !text.contains(['=', '$'])
}

fn is_null(node: &Node) -> bool {
    matches!(node.value, Value::Scalar(_)) && node.is_nothing()
}

fn names_below(node: &Node, names: &mut BTreeSet<String>) {
    match &node.value {
        Value::Scalar(scalar) => interpolate::names(&scalar.text, names),
        Value::List(items) => items.iter().for_each(|item| names_below(item, names)),
        Value::Map(entries) => entries.iter().for_each(|entry| names_below(&entry.value, names)),
    }
}

fn layer(
    text: &str,
    number: u16,
    budget: &mut Budget,
    variables: &mut Variables<'_>,
    problems: &mut Problems<'_>,
) -> Option<Layer> {
    let start = Place { file: number, line: 0, column: 0 };
    if text.len() > MAX_TEXT {
        problems.error_at(start, "", format!("the file has more than {} MiB", MAX_TEXT >> 20));
        return None;
    }
    let Yaml { root, second, tags } = match yaml::parse(text, number, budget) {
        Ok(yaml) => yaml,
        Err(ParseError { place, reason }) => {
            problems.error_at(place, "", format!("is no YAML: {reason}"));
            return None;
        }
    };
    if let Some(place) = second {
        problems.error_at(place, "", "a second document; give it as a file of its own");
    }
    let Some(root) = root.filter(|root| matches!(root.value, Value::Map(_))) else {
        problems.error_at(start, "", "must be a map with services:");
        return None;
    };
    if let Some(include) = root.entries().iter().find(|entry| entry.key == "include") {
        let text = "other files cannot be included; give them all with the command, each as a further file";
        problems.error_at(include.place, "include", text);
    }
    let tags = Tags::read(tags, problems);
    let root = variables.root(&root, problems);
    Some(Layer { root, tags })
}

/// Replaces the variables of trees.
struct Variables<'a> {
    replacing: Replacing<'a>,
    said: BTreeSet<String>,
}

/// What is done to one tree. Shared nodes stay shared, so that aliases cost nothing.
struct Pass<'v, 'a, 'p, 'f> {
    variables: &'v mut Variables<'a>,
    problems: &'p mut Problems<'f>,
    done: HashMap<*const Node, Arc<Node>>,
    path: Vec<String>,
}

impl<'a> Variables<'a> {
    fn new(env: &'a dyn Lookup) -> Self {
        Self {
            replacing: Replacing { env, unset: BTreeSet::new(), budget: MAX_EXPANDED },
            said: BTreeSet::new(),
        }
    }

    /// A file. Extensions at the top are only there to be aliased, and each alias is followed where it is used.
    fn root(&mut self, root: &Arc<Node>, problems: &mut Problems<'_>) -> Arc<Node> {
        let mut pass = Pass { variables: self, problems, done: HashMap::new(), path: Vec::new() };
        let entries = root.entries().iter().map(|entry| {
            if entry.key.starts_with("x-") && entry.key != "x-muster" {
                return entry.clone();
            }
            pass.entry(entry)
        });
        let entries = entries.collect();
        Arc::new(Node::new(root.place, Value::Map(entries)))
    }
}

impl Pass<'_, '_, '_, '_> {
    fn entry(&mut self, entry: &Entry) -> Entry {
        self.path.push(entry.key.chars().take(64).collect());
        let value = self.node(&entry.value);
        self.path.pop();
        Entry { key: entry.key.clone(), place: entry.place, value }
    }

    fn node(&mut self, node: &Arc<Node>) -> Arc<Node> {
        if let Some(done) = self.done.get(&Arc::as_ptr(node)) {
            return Arc::clone(done);
        }
        let replaced = match &node.value {
            Value::Scalar(scalar) => self.scalar(node, scalar),
            Value::List(items) => {
                let items = items.iter().map(|item| self.node(item)).collect();
                Arc::new(Node::new(node.place, Value::List(items)))
            }
            Value::Map(entries) => {
                let entries = entries.iter().map(|entry| self.entry(entry)).collect();
                Arc::new(Node::new(node.place, Value::Map(entries)))
            }
        };
        self.done.insert(Arc::as_ptr(node), Arc::clone(&replaced));
        replaced
    }

    fn scalar(&mut self, node: &Arc<Node>, scalar: &Scalar) -> Arc<Node> {
        if !scalar.text.contains('$') {
            return Arc::clone(node);
        }
        let Variables { replacing, said } = &mut *self.variables;
        let text = match replacing.text(&scalar.text) {
            Ok(text) => text,
            Err(reason) => {
                self.problems.error_at(node.place, &self.path.join("."), reason);
                String::new()
            }
        };
        for name in std::mem::take(&mut replacing.unset) {
            if said.insert(name.clone()) {
                let text = format!("the variable {name} is not set and becomes empty");
                self.problems.warn_at(node.place, &self.path.join("."), text);
            }
        }
        // An empty variable is an empty text, where nothing at all would be null.
        Arc::new(Node::new(node.place, Value::Scalar(Scalar { text, is_text: true })))
    }
}

/// How much text a walk meets.
fn expanded(node: &Node) -> usize {
    match &node.value {
        Value::Scalar(scalar) => scalar.text.len(),
        Value::List(items) => items.iter().map(|item| expanded(item)).sum(),
        Value::Map(entries) => entries.iter().map(|entry| entry.key.len() + expanded(&entry.value)).sum(),
    }
}
