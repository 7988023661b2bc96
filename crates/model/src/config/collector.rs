//! What a configuration of an OpenTelemetry Collector means: components by kind, and the pipelines that use them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::tree::{Entry, Node, Place, Value};

/// What a part of the configuration is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Area {
    /// Takes data in.
    Receiver,
    /// Changes it.
    Processor,
    /// Sends it out.
    Exporter,
    /// Joins two pipelines.
    Connector,
    /// Serves the Collector itself.
    Extension,
    /// Data's way from receivers to exporters.
    Pipeline,
    /// The rest of `service`.
    Service,
    /// Any other key.
    Other,
}

impl Area {
    /// The kinds of components.
    pub const COMPONENTS: [Self; 5] =
        [Self::Receiver, Self::Processor, Self::Exporter, Self::Connector, Self::Extension];

    /// The word in the API, the console and the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Receiver => "receiver",
            Self::Processor => "processor",
            Self::Exporter => "exporter",
            Self::Connector => "connector",
            Self::Extension => "extension",
            Self::Pipeline => "pipeline",
            Self::Service => "service",
            Self::Other => "other",
        }
    }

    /// The key under which its components stand, in a configuration and in a pipeline.
    pub const fn section(self) -> Option<&'static str> {
        match self {
            Self::Receiver => Some("receivers"),
            Self::Processor => Some("processors"),
            Self::Exporter => Some("exporters"),
            Self::Connector => Some("connectors"),
            Self::Extension => Some("extensions"),
            Self::Pipeline | Self::Service | Self::Other => None,
        }
    }
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Something to say about a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Where.
    pub place: Place,
    /// Whether a Collector would not start with it.
    pub is_error: bool,
    /// What.
    pub message: String,
}

/// Whether this is a Collector's configuration: it has pipelines.
pub fn is_collector(root: &Node) -> bool {
    pipelines(root).is_some()
}

/// The pipelines by name.
pub(super) fn pipelines(root: &Node) -> Option<&[Entry]> {
    match &root.at(&["service", "pipelines"])?.value {
        Value::Map(entries) => Some(entries),
        Value::Scalar(_) | Value::List(_) => None,
    }
}

/// The components of an area; none when there is no such section.
pub(super) fn components(root: &Node, area: Area) -> &[Entry] {
    area.section().and_then(|section| root.get(section)).map_or(&[], |section| section.entries())
}

/// The ids in a list of a pipeline or of `service.extensions`. What only the agent can resolve (`${…}`) is left out.
pub(super) fn ids(list: Option<&Arc<Node>>) -> impl Iterator<Item = (&str, Place)> {
    let (one, many) = match list.map(|list| &list.value) {
        Some(Value::List(items)) => (None, items.as_slice()),
        Some(Value::Scalar(_)) => (list, [].as_slice()),
        Some(Value::Map(_)) | None => (None, [].as_slice()),
    };
    let nodes = one.into_iter().chain(many);
    nodes.filter_map(|item| Some((item.text()?.trim(), item.place))).filter(|(id, _)| !is_template(id))
}

/// Whether a text holds something that only the agent can resolve, such as `${env:HOST}`.
pub(super) fn is_template(text: &str) -> bool {
    text.contains("${")
}

/// What a Collector, or its operator, would have to say about this configuration.
pub fn remarks(root: &Node) -> Vec<Remark> {
    let Some(pipelines) = pipelines(root) else { return Vec::new() };
    let mut review = Review { root, used: BTreeMap::new(), remarks: Vec::new() };
    review.top_level();
    for pipeline in pipelines {
        review.pipeline(pipeline);
    }
    review.extensions();
    review.unused();
    review.remarks
}

struct Review<'a> {
    root: &'a Node,
    /// Where ids are used: in pipelines by the list's name, extensions by theirs.
    used: BTreeMap<&'static str, BTreeSet<&'a str>>,
    remarks: Vec<Remark>,
}

impl<'a> Review<'a> {
    fn error(&mut self, place: Place, message: String) {
        self.remarks.push(Remark { place, is_error: true, message });
    }

    fn warning(&mut self, place: Place, message: String) {
        self.remarks.push(Remark { place, is_error: false, message });
    }

    fn top_level(&mut self) {
        let is_known =
            |key: &str| key == "service" || Area::COMPONENTS.iter().any(|area| area.section() == Some(key));
        for entry in self.root.entries().iter().filter(|entry| !is_known(&entry.key)) {
            self.warning(entry.place, format!("{} is no section of a Collector", name(&entry.key)));
        }
    }

    fn pipeline(&mut self, pipeline: &'a Entry) {
        let title = format!("the pipeline {}", name(&pipeline.key));
        let signal = pipeline.key.split('/').next().unwrap_or_default().trim();
        if !["traces", "metrics", "logs", "profiles"].contains(&signal) {
            let message = format!("{title} has no known signal: traces, metrics, logs or profiles");
            self.warning(pipeline.place, message);
        }
        for area in [Area::Receiver, Area::Processor, Area::Exporter] {
            let section = area.section().unwrap_or_default();
            let list = pipeline.value.get(section);
            let is_empty = list.is_none_or(|list| list.is_nothing());
            if is_empty && area != Area::Processor && !pipeline.value.text().is_some_and(is_template) {
                self.error(pipeline.place, format!("{title} has no {section}"));
            }
            self.uses(&title, area, list);
        }
    }

    /// The components that a list names.
    fn uses(&mut self, title: &str, area: Area, list: Option<&'a Arc<Node>>) {
        let section = area.section().unwrap_or_default();
        let mut here = BTreeSet::new();
        for (id, place) in ids(list) {
            if !here.insert(id) {
                self.warning(place, format!("{title} names {} twice", name(id)));
            }
            if !self.is_defined(area, id) {
                // A warning: a supervisor may merge this with files of its own that define it.
                self.warning(place, format!("{title} uses the {area} {}, which is not defined", name(id)));
            }
        }
        self.used.entry(section).or_default().extend(here);
    }

    fn is_defined(&self, area: Area, id: &str) -> bool {
        let areas: &[Area] = match area {
            Area::Receiver => &[Area::Receiver, Area::Connector],
            Area::Exporter => &[Area::Exporter, Area::Connector],
            _ => &[area],
        };
        areas.iter().any(|area| {
            let section = area.section().and_then(|section| self.root.get(section));
            section.is_some_and(|section| {
                section.text().is_some_and(is_template)
                    || section.entries().iter().any(|entry| entry.key.trim() == id)
            })
        })
    }

    fn extensions(&mut self) {
        let list = self.root.at(&["service"]).and_then(|service| service.get("extensions"));
        for (id, place) in ids(list) {
            // A supervisor adds some of its own, so that this one may be right.
            if !self.is_defined(Area::Extension, id) {
                self.warning(place, format!("the extension {} is not defined", name(id)));
            }
            self.used.entry("extensions").or_default().insert(id);
        }
    }

    fn unused(&mut self) {
        for area in Area::COMPONENTS {
            for entry in components(self.root, area) {
                if let Some(message) = self.why_unused(area, &entry.key) {
                    self.warning(entry.place, message);
                }
            }
        }
    }

    fn why_unused(&self, area: Area, key: &str) -> Option<String> {
        let id = key.trim();
        let is_used = |section: &str| self.used.get(section).is_some_and(|ids| ids.contains(id));
        match area {
            Area::Connector => match (is_used("receivers"), is_used("exporters")) {
                (true, true) => None,
                (false, false) => Some(format!("no pipeline uses the connector {}", name(id))),
                (false, true) => Some(format!("no pipeline receives from the connector {}", name(id))),
                (true, false) => Some(format!("no pipeline exports to the connector {}", name(id))),
            },
            Area::Extension if is_used("extensions") => None,
            Area::Extension => Some(format!("service.extensions does not name the extension {}", name(id))),
            area if area.section().is_some_and(is_used) => None,
            area => Some(format!("no pipeline uses the {area} {}", name(id))),
        }
    }
}

/// A name in a message: short, and in quotes when it could be misread.
fn name(text: &str) -> String {
    let short: String = text.chars().take(64).collect();
    let is_plain = !short.is_empty() && short.chars().all(|c| c.is_alphanumeric() || "/_-.".contains(c));
    if is_plain { short } else { format!("{short:?}") }
}
