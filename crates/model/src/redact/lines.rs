//! Block style: YAML line by line, by indentation. Lenient: a line that makes no sense is text, and comments
//! are read as if they were lines, since a password that was commented out is still one.

use std::ops::Range;

use super::Marks;
use super::flow::{self, Around, Whole};
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
    /// They are masked if no neighbour turns out to be a name: kept by the item at this column.
    Unnamed(usize),
}

/// A value that goes on in the lines below its key.
#[derive(Debug, Clone, Copy)]
struct Below {
    /// Whether its keys, or the names in its items, are those of headers or variables.
    pairs: bool,
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
    /// For an item of a list of headers or variables.
    item: Option<Item>,
}

/// An item of a list of headers or variables: `- name: x` with its value, or `- x: value` alone.
#[derive(Default)]
struct Item {
    /// One of its keys says the name.
    named: bool,
    /// What is secret if none does.
    unnamed: Vec<Range<usize>>,
}

pub(super) fn scan(text: &str, marks: &mut Marks<'_>) {
    let mut lines = Lines { text, marks, mappings: Vec::new(), below: Vec::new(), explicit: None };
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
    /// The column of the last `?`, and where the key behind it begins.
    explicit: Option<(usize, usize)>,
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
        let (mut at, mut is_item) = (start + column, false);
        if let Some(below) = self.below_of(column, content) {
            if below.names && below.text {
                self.name(below.column, content.trim());
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
            is_item |= mark == b'-';
            match mark {
                // A new item is a new mapping, also at the column of the last item's.
                b'-' => self.leave_from(item + 1),
                b'?' => self.explicit = Some((item, at)),
                _ => {}
            }
        }
        self.leave_from(column + 1);
        let ended = match self.explicit_value(at, end, column) {
            Some((key, value)) => {
                let name = explicit_name(&self.text[key]);
                self.leave_from(column);
                self.pair(&name, value..end, column, is_item)
            }
            None => self.content(at, end, column, is_item),
        };
        ended.max(end.min(self.text.len())) + 1
    }

    /// The key before a line that begins with a colon, and where the line's value begins: `? key` and below it
    /// `: value`.
    fn explicit_value(&mut self, at: usize, end: usize, column: usize) -> Option<(Range<usize>, usize)> {
        let after = self.text[at..end].strip_prefix(':')?;
        if !after.is_empty() && !after.starts_with([' ', '\t', '\r']) {
            return None;
        }
        let (_, key) = self.explicit.take_if(|(question, _)| *question == column)?;
        Some((key..at, end - after.trim_ascii_start().len()))
    }

    /// The open value that a line at this column belongs to. Closes those that it does not.
    fn below_of(&mut self, column: usize, content: &str) -> Option<Below> {
        let item = content.starts_with("- ") || content == "-";
        // The items of a list may stand at the column of its key.
        self.below.retain(|below| below.column < column || (below.column == column && item && !below.text));
        self.below.last().copied()
    }

    /// Reads what stands on a line after its marks. Returns where it ended, which can be lines below.
    fn content(&mut self, at: usize, end: usize, column: usize, is_item: bool) -> usize {
        let (sink, pairs) = self.around();
        if let Some((key, value)) = key(self.text, at, end) {
            return self.pair(&self.text[key], value..end, column, is_item);
        }
        match names::value_of_pair(&self.text[at..end]).filter(|_| pairs && sink == Sink::Show) {
            Some(place) => self.emit(at + place.start..at + place.end, Sink::Mask),
            None if !pairs => return self.value(at, end, sink, Around::Nothing),
            None if is_item && self.text[at..].starts_with('{') => {
                return self.value(at, end, sink, Around::Item);
            }
            None => return self.value(at, end, sink, Around::Pairs),
        }
        end
    }

    /// What the value that a line belongs to says of it: what happens to it, and whether it is one of headers.
    fn around(&self) -> (Sink, bool) {
        self.below.last().map_or((Sink::Show, false), |below| (below.sink, below.pairs))
    }

    /// Reads a key's value, which begins on this line.
    fn pair(&mut self, name: &str, value: Range<usize>, column: usize, is_item: bool) -> usize {
        let (sink, pairs) = self.around();
        self.enter(column, sink, pairs && is_item);
        let at = skip_properties(self.text, value.start, value.end);
        let content = self.text[at..value.end].trim_ascii_end();
        let scalar = !content.is_empty() && !content.starts_with(['{', '[', '#']);
        let names = names::names_its_neighbour(name);
        if names {
            self.name(column, content[..plain_length(content)].trim_matches(['"', '\'']));
        }
        let item = self.mappings.last().and_then(|mapping| mapping.item.as_ref());
        let is_unknown = pairs && !names::is_harmless_header(name);
        let own = match (sink, names::secrecy(name)) {
            (Sink::Mask, _) | (_, Secrecy::All) => Sink::Mask,
            (_, Secrecy::Scalar) if scalar => Sink::Mask,
            (Sink::Show, _) if is_unknown && item.is_none() => Sink::Mask,
            _ if names::is_named_by_neighbour(name) => Sink::Hold(column),
            (Sink::Show, _) if is_unknown && item.is_some_and(|item| !item.named) => Sink::Unnamed(column),
            (sink, _) => sink,
        };
        let block = content.starts_with(['|', '>']);
        let plain = scalar && !block && !content.starts_with(['"', '\'']);
        let pairs = (block || !scalar) && names::holds_headers(name);
        self.below.push(Below { column, pairs, sink: own, text: block || plain, names });
        if block || content.is_empty() {
            return value.end;
        }
        self.value(at, value.end, own, if pairs { Around::Pairs } else { Around::Nothing })
    }

    /// A key stands at this column: of a mapping that is open, or of a new one.
    fn enter(&mut self, column: usize, sink: Sink, is_item: bool) {
        if self.mappings.last().is_none_or(|mapping| mapping.column < column) {
            let outer = match sink {
                Sink::Hold(outer) => Some(outer),
                Sink::Show | Sink::Mask | Sink::Unnamed(_) => None,
            };
            let item = is_item.then(Item::default);
            self.mappings.push(Mapping { column, names_secret: false, held: Vec::new(), outer, item });
        }
    }

    /// The mapping at this column says its name. A header that is not known to be harmless is a secret.
    fn name(&mut self, column: usize, name: &str) {
        let mapping = self.mappings.iter_mut().rev().find(|mapping| mapping.column == column);
        let Some(mapping) = mapping else { return };
        mapping.names_secret |= names::is_secret(name);
        if let Some(item) = &mut mapping.item {
            item.named = true;
            item.unnamed.clear();
            mapping.names_secret |= !name.is_empty() && !names::is_harmless_header(name);
        }
    }

    /// Reads a value that begins on a line.
    fn value(&mut self, at: usize, end: usize, sink: Sink, around: Around) -> usize {
        let content = &self.text[at..end];
        match content.bytes().next() {
            None | Some(b'#') => end,
            Some(b'{' | b'[') => {
                let whole = match sink {
                    Sink::Show => Whole::Show,
                    Sink::Mask => Whole::Mask,
                    Sink::Hold(_) | Sink::Unnamed(_) => Whole::Hold,
                };
                let (after, held) = flow::scan(self.text, at, (whole, around), self.marks);
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
            Sink::Unnamed(column) => {
                let mapping = self.mappings.iter_mut().rev().find(|mapping| mapping.column == column);
                if let Some(item) = mapping.and_then(|mapping| mapping.item.as_mut()) {
                    item.unnamed.push(place);
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
        while let Some(mut mapping) = self.mappings.pop_if(|mapping| mapping.column >= column) {
            let item = mapping.item.take().filter(|item| !item.named);
            let is_unnamed = item.is_some();
            item.into_iter().flat_map(|item| item.unnamed).for_each(|place| self.marks.add(place));
            if mapping.names_secret || is_unnamed {
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

/// The name in the lines of an explicit key, without comments and marks of a block.
fn explicit_name(text: &str) -> String {
    text.lines()
        .map(|line| line[..plain_length(line)].trim_matches([' ', '"', '\'', '|', '>', '-', '\r']))
        .collect()
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
