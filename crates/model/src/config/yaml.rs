//! Reads YAML to a [`Node`]. What a hostile text could blow up is bounded: depth, number of nodes with aliases
//! followed, and the parser's look-ahead. Merge keys (`<<`) are followed, as agents written in Go do.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};

use super::tree::{Entry, Node, ParseError, Place, Scalar, Value};

/// How deep values may lie in each other.
pub const MAX_DEPTH: usize = 64;
/// The most nodes of all files together, aliases followed.
pub const MAX_NODES: usize = 200_000;
/// The most characters that could be commas and brackets of flow collections. The parser reads a flow collection to
/// its end before it says anything, so that its memory must be bounded before.
const MAX_FLOW_MARKS: usize = 200_000;

/// What a text says.
#[derive(Debug)]
pub struct Yaml {
    /// The first document; `None` when there is none.
    pub root: Option<Arc<Node>>,
    /// Where the second document begins, which most agents ignore.
    pub second: Option<Place>,
    /// Tags that are not of YAML itself, such as `!reset`, with the place of the value that has them.
    pub tags: Vec<(Place, String)>,
}

/// How many more nodes may be read; shared by all files of a configuration.
#[derive(Debug, Clone)]
pub struct Budget(usize);

impl Default for Budget {
    fn default() -> Self {
        Self(MAX_NODES)
    }
}

/// Reads a text. `file` goes into the places.
pub fn parse(text: &str, file: u16, budget: &mut Budget) -> Result<Yaml, ParseError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let marks = text.bytes().filter(|byte| b",[]{}".contains(byte)).count();
    if marks > MAX_FLOW_MARKS {
        let place = Place { file, line: 0, column: 0 };
        return Err(ParseError { place, reason: format!("more than {MAX_FLOW_MARKS} commas and brackets") });
    }
    let mut builder = Builder::new(file, budget);
    builder.read(&mut Parser::new_from_str(text))?;
    Ok(Yaml { root: builder.root, second: builder.second, tags: builder.tags })
}

/// A collection that is not closed yet.
struct Open {
    anchor: usize,
    place: Place,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Arc<Node>>),
    Map { entries: Vec<Entry>, seen: HashSet<String>, key: Option<(String, Place)>, merges: Vec<Arc<Node>> },
}

struct Builder<'b> {
    file: u16,
    budget: &'b mut Budget,
    open: Vec<Open>,
    anchors: HashMap<usize, Arc<Node>>,
    documents: usize,
    root: Option<Arc<Node>>,
    second: Option<Place>,
    tags: Vec<(Place, String)>,
}

impl<'b> Builder<'b> {
    fn new(file: u16, budget: &'b mut Budget) -> Self {
        let (open, anchors, tags) = (Vec::new(), HashMap::new(), Vec::new());
        Self { file, budget, open, anchors, documents: 0, root: None, second: None, tags }
    }

    fn read(&mut self, parser: &mut Parser<'_, StrInput<'_>>) -> Result<(), ParseError> {
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|error| self.scan_error(&error))?;
            self.event(event, span)?;
        }
        Ok(())
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), ParseError> {
        let place = self.place(span);
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd => Ok(()),
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents == 2 {
                    self.second = Some(place);
                }
                Ok(())
            }
            Event::DocumentEnd => {
                self.anchors.clear();
                Ok(())
            }
            Event::Alias(anchor) => self.alias(anchor, place),
            Event::Scalar(text, style, anchor, tag) => {
                self.note_tag(tag.as_deref(), place);
                let is_text = style != ScalarStyle::Plain || tag.is_some_and(|tag| is_text_tag(&tag));
                let scalar = Scalar { text: text.into_owned(), is_text };
                self.done(Node::new(place, Value::Scalar(scalar)), anchor)
            }
            Event::SequenceStart(anchor, tag) => {
                self.note_tag(tag.as_deref(), place);
                self.begin(anchor, place, OpenKind::List(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                self.note_tag(tag.as_deref(), place);
                let (entries, seen, merges) = (Vec::new(), HashSet::new(), Vec::new());
                self.begin(anchor, place, OpenKind::Map { entries, seen, key: None, merges })
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
        }
    }

    fn note_tag(&mut self, tag: Option<&Tag>, place: Place) {
        if let Some(tag) = tag.filter(|tag| !tag.is_yaml_core_schema()) {
            self.tags.push((place, tag.to_string()));
        }
    }

    fn begin(&mut self, anchor: usize, place: Place, kind: OpenKind) -> Result<(), ParseError> {
        self.open.push(Open { anchor, place, kind });
        if self.open.len() > MAX_DEPTH { Err(too_deep(place)) } else { Ok(()) }
    }

    fn end(&mut self) -> Result<(), ParseError> {
        let Some(Open { anchor, place, kind }) = self.open.pop() else { return Ok(()) };
        let value = match kind {
            OpenKind::List(items) => Value::List(items),
            OpenKind::Map { entries, seen, key: _, merges } => {
                Value::Map(with_merges(entries, seen, &merges))
            }
        };
        self.done(Node::new(place, value), anchor)
    }

    fn alias(&mut self, anchor: usize, place: Place) -> Result<(), ParseError> {
        let Some(node) = self.anchors.get(&anchor).map(Arc::clone) else {
            let reason = "an alias inside of what it stands for".to_owned();
            return Err(ParseError { place, reason });
        };
        // What is shared counts as often as a walk would meet it.
        self.spend(node.weight(), place)?;
        if self.open.len() + node.height() > MAX_DEPTH {
            return Err(too_deep(place));
        }
        self.put(node, place)
    }

    fn done(&mut self, node: Node, anchor: usize) -> Result<(), ParseError> {
        let place = node.place;
        let node = Arc::new(node);
        if anchor != 0 {
            self.anchors.insert(anchor, Arc::clone(&node));
        }
        self.spend(1, place)?;
        self.put(node, place)
    }

    fn spend(&mut self, nodes: usize, place: Place) -> Result<(), ParseError> {
        match self.budget.0.checked_sub(nodes) {
            Some(left) => self.budget.0 = left,
            None => {
                let reason = format!("more than {MAX_NODES} values, aliases followed");
                return Err(ParseError { place, reason });
            }
        }
        Ok(())
    }

    /// Takes a value to where it belongs: a list, a map's key, a map's value, or the top.
    fn put(&mut self, node: Arc<Node>, place: Place) -> Result<(), ParseError> {
        let Some(open) = self.open.last_mut() else {
            if self.documents == 1 {
                self.root = Some(node);
            }
            return Ok(());
        };
        match &mut open.kind {
            OpenKind::List(items) => items.push(node),
            OpenKind::Map { entries, seen, key, merges } => match key.take() {
                None => *key = Some((key_text(&node, place)?, place)),
                Some((text, _)) if text == "<<" => merge(merges, &node, place)?,
                Some((text, place)) => {
                    if !seen.insert(text.clone()) {
                        let reason = format!("the key {} occurs twice", quoted(&text));
                        return Err(ParseError { place, reason });
                    }
                    entries.push(Entry { key: text, place, value: node });
                }
            },
        }
        Ok(())
    }

    fn place(&self, span: Span) -> Place {
        place(self.file, span.start.line(), span.start.col())
    }

    fn scan_error(&self, error: &ScanError) -> ParseError {
        let marker = error.marker();
        ParseError { place: place(self.file, marker.line(), marker.col()), reason: error.info().to_owned() }
    }
}

fn place(file: u16, line: usize, column: usize) -> Place {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Place { file, line: number(line), column: number(column).saturating_add(1) }
}

fn too_deep(place: Place) -> ParseError {
    ParseError { place, reason: format!("values lie more than {MAX_DEPTH} deep in each other") }
}

fn is_text_tag(tag: &Tag) -> bool {
    tag.is_yaml_core_schema() && tag.suffix == "str"
}

fn key_text(node: &Node, place: Place) -> Result<String, ParseError> {
    match node.text() {
        Some(text) => Ok(text.to_owned()),
        None => Err(ParseError { place, reason: "a key must be a single value".to_owned() }),
    }
}

/// Notes the maps that a merge key names, the one that wins first.
fn merge(merges: &mut Vec<Arc<Node>>, node: &Arc<Node>, place: Place) -> Result<(), ParseError> {
    match &node.value {
        Value::Map(_) => merges.push(Arc::clone(node)),
        Value::List(items) if items.iter().all(|item| matches!(item.value, Value::Map(_))) => {
            merges.extend(items.iter().map(Arc::clone));
        }
        Value::Scalar(_) | Value::List(_) => {
            return Err(ParseError { place, reason: "\"<<\" takes a map or a list of maps".to_owned() });
        }
    }
    Ok(())
}

/// The entries of a map and those that merge keys add; its own ones win.
fn with_merges(mut entries: Vec<Entry>, mut seen: HashSet<String>, merges: &[Arc<Node>]) -> Vec<Entry> {
    for entry in merges.iter().flat_map(|map| map.entries()) {
        if seen.insert(entry.key.clone()) {
            entries.push(entry.clone());
        }
    }
    entries
}

/// A key in a message.
fn quoted(text: &str) -> String {
    let short: String = text.chars().take(64).collect();
    format!("{short:?}")
}

#[cfg(test)]
mod tests;
