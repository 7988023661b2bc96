//! `extends`: a service that begins as another one of the same file. Its own keys go over those of the other one by the
//! rules of [`merge`].

use std::collections::HashMap;
use std::sync::Arc;

use super::merge::{self, Tags};
use super::problem::Problems;
use super::read::Layer;
use super::walk::shown;
use crate::config::tree::{Entry, Node, Value};
use crate::config::yaml::MAX_NODES;

/// A file whose services are whole. `None` when they would be too large.
pub(super) fn resolved(layer: Layer, problems: &mut Problems<'_>) -> Option<Layer> {
    let is_extended = |entry: &Entry| entry.value.get("extends").is_some();
    let services = layer.root.get("services").map(Arc::clone);
    let Some(services) = services.filter(|services| services.entries().iter().any(is_extended)) else {
        return Some(layer);
    };
    let by_name: HashMap<&str, &Entry> =
        services.entries().iter().map(|entry| (entry.key.as_str(), entry)).collect();
    let mut resolver = Resolver { by_name, tags: &layer.tags, whole: HashMap::new(), nodes: 0 };
    let mut entries = Vec::new();
    for entry in services.entries() {
        let value = resolver.service(&entry.key, &mut Vec::new(), problems)?;
        entries.push(Entry { value, ..entry.clone() });
    }
    let services = Arc::new(Node::new(services.place, Value::Map(entries)));
    let with_services = |entry: &Entry| match entry.key.as_str() {
        "services" => Entry { value: Arc::clone(&services), ..entry.clone() },
        _ => entry.clone(),
    };
    let entries = layer.root.entries().iter().map(with_services).collect();
    let root = Arc::new(Node::new(layer.root.place, Value::Map(entries)));
    Some(Layer { root, tags: layer.tags })
}

struct Resolver<'a> {
    by_name: HashMap<&'a str, &'a Entry>,
    tags: &'a Tags,
    whole: HashMap<String, Arc<Node>>,
    /// Nodes of whole services so far.
    nodes: usize,
}

impl Resolver<'_> {
    /// A service with what it extends. `chain` are the services that lead to it.
    fn service(
        &mut self,
        name: &str,
        chain: &mut Vec<String>,
        problems: &mut Problems<'_>,
    ) -> Option<Arc<Node>> {
        if let Some(whole) = self.whole.get(name) {
            return Some(Arc::clone(whole));
        }
        let own = Arc::clone(&self.by_name.get(name)?.value);
        let extends = own.entries().iter().find(|entry| entry.key == "extends").cloned();
        let whole = match &extends {
            Some(extends) => {
                chain.push(name.to_owned());
                let base = self.base(extends, chain, problems);
                chain.pop();
                let path = &mut vec!["services".to_owned(), name.to_owned()];
                let rest = without_extends(&own);
                merge::merged(base.as_ref(), &rest, path, self.tags, problems).unwrap_or(rest)
            }
            None => own,
        };
        self.nodes = self.nodes.saturating_add(whole.weight());
        if self.nodes > MAX_NODES {
            problems.error_of_all("the services become too large when extends is followed");
            return None;
        }
        self.whole.insert(name.to_owned(), Arc::clone(&whole));
        Some(whole)
    }

    fn base(
        &mut self,
        extends: &Entry,
        chain: &mut Vec<String>,
        problems: &mut Problems<'_>,
    ) -> Option<Arc<Node>> {
        let path = format!("services.{}.extends", chain.last().map(String::as_str).unwrap_or_default());
        let value = &extends.value;
        if let Some(file) = value.entries().iter().find(|entry| entry.key == "file") {
            let text = "only services of the same file can be extended; give the other file as one more file, or copy \
                        the service";
            problems.error_at(file.place, &format!("{path}.file"), text);
            return None;
        }
        if let Some(other) = value.entries().iter().find(|entry| entry.key != "service") {
            problems.error_at(other.place, &path, format!("{} is no key of extends", shown(&other.key)));
        }
        let Some(name) = value.text().or_else(|| value.get("service").and_then(|node| node.text())) else {
            problems.error_at(extends.place, &path, "must be the name of a service");
            return None;
        };
        if chain.iter().any(|link| link == name) {
            let chain: Vec<&str> = chain.iter().map(String::as_str).chain([name]).take(8).collect();
            let text = format!("services extend each other in a circle: {}", chain.join(", "));
            problems.error_at(extends.place, &path, text);
            return None;
        }
        if !self.by_name.contains_key(name) {
            problems.error_at(extends.place, &path, format!("this file has no service {}", shown(name)));
            return None;
        }
        // Each link of a chain is a call upon another; a chain has at most as many links as a file has services.
        if chain.len() >= MAX_CHAIN {
            let text = format!("a chain of extends has at most {MAX_CHAIN} services");
            problems.error_at(extends.place, &path, text);
            return None;
        }
        self.service(name, chain, problems)
    }
}

/// How many services may extend each other in a row.
const MAX_CHAIN: usize = 32;

fn without_extends(node: &Arc<Node>) -> Arc<Node> {
    let entries = node.entries().iter().filter(|entry| entry.key != "extends").cloned().collect();
    Arc::new(Node::new(node.place, Value::Map(entries)))
}
