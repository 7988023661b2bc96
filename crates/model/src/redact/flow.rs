//! Flow style: JSON, and YAML's `{…}` and `[…]`. A lenient reader without recursion, so that a million open
//! brackets are as harmless as one.

use std::ops::Range;

use super::Marks;
use super::names::{self, Secrecy};

/// What happens to scalars at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sink {
    /// They are shown.
    Show,
    /// They are masked.
    Mask,
    /// They are masked if their neighbour turns out to name a secret: kept by the frame of this number.
    Hold(usize),
    /// They are masked if no neighbour turns out to be a name: kept by the frame of this number.
    Unnamed(usize),
}

/// What happens to the scalars of a whole collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    /// Their own keys decide.
    Show,
    /// They are masked.
    Mask,
    /// Their own keys decide, and the caller, who gets the places of the others.
    Hold,
}

/// What a collection is to the headers or variables that it may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    /// It has nothing to do with them.
    Nothing,
    /// A map of them, or a list of their texts or of maps with a name and a value.
    Pairs,
    /// One map of such a list.
    Item,
}

/// The number of no frame: what it holds is the caller's.
const CALLER: usize = usize::MAX;

/// Brackets that are told apart. What is deeper is read as if it were in the last of them: no configuration is
/// that deep, and junk must not cost memory.
const MAX_FRAMES: usize = 256;

/// One open bracket.
struct Frame {
    /// Whether it is a map: a scalar without a key before it is then a key.
    is_map: bool,
    /// For scalars that are directly in it.
    sink: Sink,
    /// The scalar read last, which a colon makes a key.
    last: Range<usize>,
    /// The key, between its colon and the next comma.
    key: Option<Range<usize>>,
    /// A name in this map is that of a secret.
    names_secret: bool,
    /// Values that such a name would make secret.
    held: Vec<Range<usize>>,
    around: Around,
    /// One of its keys says a name.
    named: bool,
    /// Values that are secret if none does.
    unnamed: Vec<Range<usize>>,
}

impl Frame {
    fn new(is_map: bool, sink: Sink, around: Around) -> Self {
        let (last, key, held, unnamed) = (0..0, None, Vec::new(), Vec::new());
        Self { is_map, sink, last, key, names_secret: false, held, around, named: false, unnamed }
    }

    /// What a collection in this one is.
    fn around_inner(&self, text: &str, is_map: bool) -> Around {
        match &self.key {
            Some(key) if names::holds_headers(&text[key.clone()]) => Around::Pairs,
            None if self.around == Around::Pairs && !self.is_map && is_map => Around::Item,
            _ => Around::Nothing,
        }
    }

    /// A key of this map says a name. A header that is not known to be harmless is a secret.
    fn name(&mut self, name: &str) {
        self.named = true;
        self.unnamed.clear();
        self.names_secret |= names::is_secret(name)
            || (self.around == Around::Item && !name.is_empty() && !names::is_harmless_header(name));
    }
}

/// Reads a flow collection that begins at `start`; where it ends, or the text, and the places held.
pub(super) fn scan(
    text: &str,
    start: usize,
    (whole, around): (Whole, Around),
    marks: &mut Marks<'_>,
) -> (usize, Vec<Range<usize>>) {
    let (frames, held) = (Vec::new(), Vec::new());
    let mut flow = Flow { text, at: start, around, frames, deeper: 0, held, marks };
    let end = flow.run(match whole {
        Whole::Show => Sink::Show,
        Whole::Mask => Sink::Mask,
        Whole::Hold => Sink::Hold(CALLER),
    });
    (end, flow.held)
}

struct Flow<'t, 'm, 'x> {
    text: &'t str,
    at: usize,
    /// What the outermost collection is.
    around: Around,
    frames: Vec<Frame>,
    /// Brackets that are open beyond [`MAX_FRAMES`].
    deeper: usize,
    /// For the caller to decide.
    held: Vec<Range<usize>>,
    marks: &'m mut Marks<'x>,
}

impl Flow<'_, '_, '_> {
    fn run(&mut self, outer: Sink) -> usize {
        while let Some(byte) = self.text.as_bytes().get(self.at).copied() {
            match byte {
                b'{' | b'[' => {
                    self.at += 1;
                    self.open(byte == b'{', outer);
                }
                b'}' | b']' => {
                    self.at += 1;
                    self.close();
                    if self.frames.is_empty() {
                        return self.at;
                    }
                }
                b',' => {
                    self.at += 1;
                    self.end_entry();
                }
                b':' => {
                    self.at += 1;
                    if let Some(frame) = self.frames.last_mut().filter(|frame| frame.key.is_none()) {
                        frame.key = Some(std::mem::take(&mut frame.last));
                    }
                }
                b'#' if self.after_blank() => self.at = line_end(self.text, self.at),
                byte if byte.is_ascii_whitespace() => self.at += 1,
                b'"' | b'\'' => {
                    let (inner, end) = quoted(self.text, self.at);
                    self.at = end;
                    self.scalar(inner);
                }
                _ => {
                    let plain = self.plain();
                    self.at = plain.end;
                    self.scalar(plain);
                }
            }
        }
        self.deeper = 0;
        while !self.frames.is_empty() {
            self.close();
        }
        self.at
    }

    fn after_blank(&self) -> bool {
        self.at == 0 || self.text.as_bytes()[self.at - 1].is_ascii_whitespace()
    }

    /// What happens to a value that comes now; `None` outside of all brackets.
    fn sink(&self, scalar: bool) -> Option<Sink> {
        let frame = self.frames.last()?;
        let Some(key) = frame.key.clone() else { return Some(frame.sink) };
        let key = &self.text[key];
        Some(match (frame.sink, names::secrecy(key)) {
            (Sink::Mask, _) | (_, Secrecy::All) => Sink::Mask,
            (_, Secrecy::Scalar) if scalar => Sink::Mask,
            (Sink::Show, _) if frame.around == Around::Pairs && !names::is_harmless_header(key) => Sink::Mask,
            _ if names::is_named_by_neighbour(key) => Sink::Hold(self.frames.len() - 1),
            (Sink::Show, _) if frame.around == Around::Item && is_unknown(frame, key) => {
                Sink::Unnamed(self.frames.len() - 1)
            }
            (sink, _) => sink,
        })
    }

    fn scalar(&mut self, place: Range<usize>) {
        let sink = self.sink(true).unwrap_or(Sink::Show);
        let content = &self.text[place.clone()];
        if let Some(frame) = self.frames.last_mut() {
            frame.last = place.clone();
            if frame.is_map && frame.key.is_none() {
                return;
            }
            if let Some(key) = frame.key.clone()
                && names::names_its_neighbour(&self.text[key])
            {
                frame.name(content);
            }
            if !frame.is_map
                && frame.around == Around::Pairs
                && let Some(pair) = names::value_of_pair(content)
            {
                return self.marks.add(place.start + pair.start..place.start + pair.end);
            }
        }
        if names::is_harmless_value(content) {
            return;
        }
        match sink {
            Sink::Show => {}
            Sink::Mask => self.marks.add(place),
            Sink::Hold(frame) => {
                self.frames.get_mut(frame).map_or(&mut self.held, |frame| &mut frame.held).push(place)
            }
            Sink::Unnamed(frame) => {
                self.frames.get_mut(frame).map_or(&mut self.held, |frame| &mut frame.unnamed).push(place)
            }
        }
    }

    /// At a comma or a closing bracket. A scalar of a map that no colon made a key is one after all.
    fn end_entry(&mut self) {
        let Some(frame) = self.frames.last_mut() else { return };
        let last = std::mem::take(&mut frame.last);
        let lone = frame.is_map && frame.key.take().is_none() && frame.sink == Sink::Mask;
        frame.key = None;
        if lone && !last.is_empty() {
            self.marks.add(last);
        }
    }

    fn open(&mut self, is_map: bool, outer: Sink) {
        if self.frames.len() == MAX_FRAMES {
            self.deeper += 1;
        } else {
            let sink = self.sink(false).unwrap_or(outer);
            let around =
                self.frames.last().map_or(self.around, |frame| frame.around_inner(self.text, is_map));
            self.frames.push(Frame::new(is_map, sink, around));
        }
    }

    fn close(&mut self) {
        if self.deeper > 0 {
            self.deeper -= 1;
            return;
        }
        self.end_entry();
        let Some(frame) = self.frames.pop() else { return };
        let is_unnamed = frame.around == Around::Item && !frame.named;
        if is_unnamed {
            frame.unnamed.into_iter().for_each(|place| self.marks.add(place));
        }
        if frame.names_secret || is_unnamed {
            frame.held.into_iter().for_each(|place| self.marks.add(place));
        } else if let Sink::Hold(outer) = frame.sink {
            // What an inner map did not decide is the outer map's.
            self.frames.get_mut(outer).map_or(&mut self.held, |outer| &mut outer.held).extend(frame.held);
        }
    }

    /// A plain scalar, never empty: up to a comma, a bracket, a comment, the end of the line or a colon that ends a key.
    fn plain(&self) -> Range<usize> {
        let bytes = self.text.as_bytes();
        let mut end = self.at;
        while let Some(byte) = bytes.get(end) {
            let next = bytes.get(end + 1).copied().unwrap_or(b' ');
            match byte {
                b',' | b'[' | b']' | b'{' | b'}' | b'\n' => break,
                b':' if next.is_ascii_whitespace()
                    || matches!(next, b',' | b'[' | b']' | b'{' | b'}' | b'"' | b'\'') =>
                {
                    break;
                }
                b'#' if end > self.at && bytes[end - 1].is_ascii_whitespace() => break,
                // An expansion such as ${env:TOKEN} has brackets of its own.
                b'$' if next == b'{' => end = expansion_end(bytes, end),
                _ => end += 1,
            }
        }
        let content = self.text.get(self.at..end).unwrap_or_default();
        self.at..self.at + content.trim_ascii_end().len()
    }
}

/// Whether a key of an item of headers is a header itself, as far as is known.
fn is_unknown(frame: &Frame, key: &str) -> bool {
    !frame.named && !names::names_its_neighbour(key) && !names::is_harmless_header(key)
}

fn expansion_end(bytes: &[u8], start: usize) -> usize {
    let rest = &bytes[start..];
    let end = rest.iter().position(|byte| matches!(byte, b'}' | b'\n'));
    match end {
        Some(end) if rest[end] == b'}' => start + end + 1,
        _ => start + 2,
    }
}

/// The content of a quoted scalar and where it ends. One that is not closed ends with its line.
pub(super) fn quoted(text: &str, start: usize) -> (Range<usize>, usize) {
    let bytes = text.as_bytes();
    let quote = bytes[start];
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match *byte {
            b'\\' if quote == b'"' => at += 2,
            byte if byte == quote && quote == b'\'' && bytes.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return (start + 1..at, at + 1),
            _ => at += 1,
        }
    }
    let end = line_end(text, start);
    (start + 1..end.max(start + 1), end.max(start + 1))
}

/// Where the line that `at` is on ends, without its line break.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    text.as_bytes()[at..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |length| at + length)
}
