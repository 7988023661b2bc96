//! Block style: YAML line by line, by indentation. Lenient: a line that makes no sense is text, and comments
//! are read as if they were lines, since a password that was commented out is still one.

use std::ops::Range;

use super::Marks;
use super::flow::{self, Whole};
use super::names::{self, Secrecy};

/// What happens to scalars at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sink {
    /// They are shown.
    Show,
    /// They are masked.
    Mask,
    /// They are masked if a neighbour turns out to name a secret: kept by the mapping at this column.
    Hold(usize),
}

/// A value that goes on in the lines below its key.
#[derive(Debug, Clone, Copy)]
struct Below {
    /// The key's column: deeper lines belong to the value.
    column: usize,
    sink: Sink,
    /// Whether these lines are one text, as after `|`, and not keys or items.
    text: bool,
    /// Whether it may name its neighbour: `name: |`.
    names: bool,
}

/// A mapping whose keys stand at one column.
struct Mapping {
    column: usize,
    /// A name in it is that of a secret.
    names_secret: bool,
    /// Values that such a name would make secret.
    held: Vec<Range<usize>>,
    /// The column of the mapping whose name decides when this one names no secret: this one is part of its value.
    outer: Option<usize>,
}

pub(super) fn scan(text: &str, marks: &mut Marks<'_>) {
    let mut lines = Lines { text, marks, mappings: Vec::new(), below: Vec::new() };
    let mut at = 0;
    while at < text.len() {
        at = lines.line(at);
    }
    lines.leave(0);
}

struct Lines<'t, 'm, 'x> {
    text: &'t str,
    marks: &'m mut Marks<'x>,
    /// Open mappings, their columns growing.
    mappings: Vec<Mapping>,
    /// Open values, their columns growing.
    below: Vec<Below>,
}

impl Lines<'_, '_, '_> {
    /// Reads the line that begins at `start`; where the next begins.
    fn line(&mut self, start: usize) -> usize {
        let end = flow::line_end(self.text, start);
        let line = &self.text[start..end];
        let content = line.trim_ascii_start();
        let mut column = line.len() - content.len();
        if content.trim_ascii_end().is_empty() {
            return end + 1;
        }
        let mut at = start + column;
        if let Some(below) = self.below_of(column, content) {
            if below.names && names::is_secret(content.trim()) {
                self.name_secret(below.column);
            }
            if below.text && below.sink != Sink::Show {
                self.emit(at..end, below.sink);
                return end + 1;
            }
        }
        // Marks of a comment, of items and of explicit keys and values, in any number.
        loop {
            let rest = &self.text[at..end];
            let mark = rest.bytes().next().filter(|byte| matches!(byte, b'-' | b'?' | b'#'));
            let Some(mark) = mark else { break };
            let after = &rest[1..];
            let blanks = after.len() - after.trim_ascii_start().len();
            if after.is_empty() || (blanks == 0 && mark != b'#') {
                break;
            }
            let item = column;
            column += 1 + blanks;
            at += 1 + blanks;
            if mark == b'-' {
                // A new item is a new mapping, also at the column of the last item's.
                self.leave_from(item + 1);
            }
        }
        self.leave_from(column + 1);
        self.content(at, end, column).max(end.min(self.text.len())) + 1
    }

    /// The open value that a line at this column belongs to. Closes those that it does not.
    fn below_of(&mut self, column: usize, content: &str) -> Option<Below> {
        let item = content.starts_with("- ") || content == "-";
        // The items of a list may stand at the column of its key.
        self.below.retain(|below| below.column < column || (below.column == column && item && !below.text));
        self.below.last().copied()
    }

    /// Reads what stands on a line after its marks. Returns where it ended, which can be lines below.
    fn content(&mut self, at: usize, end: usize, column: usize) -> usize {
        let sink = self.below.last().map_or(Sink::Show, |below| below.sink);
        let Some((key, value)) = key(self.text, at, end) else {
            return self.value(at, end, sink);
        };
        if self.mappings.last().is_none_or(|mapping| mapping.column < column) {
            let outer = match sink {
                Sink::Hold(outer) => Some(outer),
                Sink::Show | Sink::Mask => None,
            };
            self.mappings.push(Mapping { column, names_secret: false, held: Vec::new(), outer });
        }
        let name = &self.text[key];
        let value_at = skip_properties(self.text, value, end);
        let content = self.text[value_at..end].trim_ascii_end();
        let bare = content.trim_matches(['"', '\'']);
        let names = names::names_its_neighbour(name);
        if names && names::is_secret(bare) {
            self.name_secret(column);
        }
        let scalar = !content.is_empty() && !content.starts_with(['{', '[', '#']);
        let own = match (sink, names::secrecy(name)) {
            (Sink::Mask, _) | (_, Secrecy::All) => Sink::Mask,
            (_, Secrecy::Scalar) if scalar => Sink::Mask,
            _ if names::is_named_by_neighbour(name) => Sink::Hold(column),
            (sink, _) => sink,
        };
        let block = content.starts_with(['|', '>']);
        let plain = scalar && !block && !content.starts_with(['"', '\'']);
        self.below.push(Below { column, sink: own, text: block || plain, names });
        if block || content.is_empty() {
            return end;
        }
        self.value(value_at, end, own)
    }

    /// Reads a value that begins on a line.
    fn value(&mut self, at: usize, end: usize, sink: Sink) -> usize {
        let content = &self.text[at..end];
        match content.bytes().next() {
            None | Some(b'#') => end,
            Some(b'{' | b'[') => {
                let whole = match sink {
                    Sink::Show => Whole::Show,
                    Sink::Mask => Whole::Mask,
                    Sink::Hold(_) => Whole::Hold,
                };
                let (after, held) = flow::scan(self.text, at, whole, self.marks);
                held.into_iter().for_each(|place| self.emit(place, sink));
                flow::line_end(self.text, after.min(self.text.len()))
            }
            Some(b'"' | b'\'') => {
                let (inner, after) = flow::quoted(self.text, at);
                if sink == Sink::Show {
                    // What looks like a quoted text over several lines may be a stray quote: its lines are read.
                    return end;
                }
                self.emit(inner, sink);
                flow::line_end(self.text, after.min(self.text.len()))
            }
            Some(_) => {
                self.emit(at..at + plain_length(content), sink);
                end
            }
        }
    }

    /// The mapping at this column has a name in it that is that of a secret.
    fn name_secret(&mut self, column: usize) {
        if let Some(mapping) = self.mappings.iter_mut().rev().find(|mapping| mapping.column == column) {
            mapping.names_secret = true;
        }
    }

    fn emit(&mut self, place: Range<usize>, sink: Sink) {
        if names::is_harmless_value(self.text[place.clone()].trim()) {
            return;
        }
        match sink {
            Sink::Show => {}
            Sink::Mask => self.marks.add(place),
            Sink::Hold(column) => {
                if let Some(mapping) = self.mappings.iter_mut().rev().find(|mapping| mapping.column == column)
                {
                    mapping.held.push(place);
                }
            }
        }
    }

    /// Ends the mappings and values whose keys stand at this column or deeper, but for a value's own key.
    fn leave_from(&mut self, column: usize) {
        self.below.retain(|below| below.column < column);
        self.leave(column);
    }

    fn leave(&mut self, column: usize) {
        while let Some(mapping) = self.mappings.pop_if(|mapping| mapping.column >= column) {
            if mapping.names_secret {
                mapping.held.into_iter().for_each(|place| self.marks.add(place));
            } else if let Some(outer) = mapping.outer {
                let outer = self.mappings.iter_mut().rev().find(|mapping| mapping.column == outer);
                outer.into_iter().for_each(|outer| outer.held.extend(mapping.held.iter().cloned()));
            }
        }
    }
}

/// The key of a line and where its value begins: `key: value`, `"key": value`, `key:`.
fn key(text: &str, at: usize, end: usize) -> Option<(Range<usize>, usize)> {
    let line = text[at..end].trim_ascii_end();
    let (inner, colon) = match line.bytes().next()? {
        b'"' | b'\'' => {
            let (inner, after) = flow::quoted(text, at);
            let colon = after + text.get(after..end)?.bytes().take_while(|byte| *byte == b' ').count();
            (inner, colon)
        }
        b'{' | b'[' | b'|' | b'>' => return None,
        _ => {
            let colon = line
                .bytes()
                .zip(line.bytes().skip(1).chain([b' ']))
                .position(|(byte, next)| byte == b':' && next.is_ascii_whitespace())?;
            (at..at + line[..colon].trim_ascii_end().len(), at + colon)
        }
    };
    let after = text.get(colon..end)?.strip_prefix(':')?;
    if !after.is_empty() && !after.starts_with([' ', '\t', '\r']) && !line.starts_with(['"', '\'']) {
        return None;
    }
    Some((inner, end - after.trim_ascii_start().len()))
}

/// Skips tags and anchors before a value: `!!binary`, `&name`.
fn skip_properties(text: &str, at: usize, end: usize) -> usize {
    let mut at = at;
    while text[at..end].starts_with(['!', '&']) {
        let rest = &text[at..end];
        let word = rest.find([' ', '\t']).unwrap_or(rest.len());
        let after = &rest[word..];
        at += word + (after.len() - after.trim_ascii_start().len());
    }
    at
}

/// The length of a plain scalar on a line, without a comment behind it.
fn plain_length(content: &str) -> usize {
    let comment = content.find(" #").unwrap_or(content.len());
    content[..comment].trim_ascii_end().len()
}
