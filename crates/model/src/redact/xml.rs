//! XML wherever it stands: values of attributes, and texts of elements, whose names are those of secrets or whose
//! neighbours name one: `<add key="password" value="x"/>`, `<property name="token">x</property>`. Lenient: what is no
//! tag is text, and a tag that is never closed has no text. One pass, so junk costs no more than its length.

use std::collections::HashMap;
use std::ops::Range;

use super::Marks;
use super::flow::quoted;
use super::names;

/// The longest tag that is read, in bytes: junk of quotes could make every tag end only with the text.
const MAX_TAG: usize = 8 << 10;
/// Values of one tag that are kept until all its attributes were read.
const MAX_HELD: usize = 64;

pub(super) fn scan(text: &str, marks: &mut Marks<'_>) {
    if !text.contains("</") && !text.contains("/>") {
        return;
    }
    let ends = ends(text);
    // Texts before `secret_until` are masked; one begins at `from`.
    let (mut secret_until, mut from, mut at) = (0, 0, 0);
    while let Some(found) = text[at..].find('<') {
        let open = at + found;
        let is_secret = from < secret_until;
        if let Some(inside) = cdata(text, open) {
            if is_secret {
                content(text, from..open, marks);
                content(text, inside.clone(), marks);
            }
            (from, at) = (inside.end, inside.end);
            continue;
        }
        let Some(tag) = Tag::read(text, open, marks) else {
            // It belongs to the text.
            at = open + 1;
            continue;
        };
        if is_secret {
            content(text, from..open, marks);
        }
        (from, at) = (tag.end, tag.end);
        if tag.is_secret && !tag.is_empty {
            let end = ends.get(tag.name).and_then(|all| all.get(all.partition_point(|end| *end < at)));
            secret_until = secret_until.max(end.copied().unwrap_or(0));
        }
    }
}

/// What is in a section that holds markup as text.
fn cdata(text: &str, open: usize) -> Option<Range<usize>> {
    const BEGIN: &str = "<![CDATA[";
    let inside = text[open..].strip_prefix(BEGIN)?;
    let start = open + BEGIN.len();
    Some(start..start + inside.find("]]>").unwrap_or(inside.len()))
}

/// Where each element's closing tags begin.
fn ends(text: &str) -> HashMap<&str, Vec<usize>> {
    let mut ends: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, _) in text.match_indices("</") {
        ends.entry(name(text, at + 2)).or_default().push(at);
    }
    ends
}

/// The name of a tag that begins here; may be empty.
fn name(text: &str, at: usize) -> &str {
    let rest = &text.as_bytes()[at..];
    let length = rest
        .iter()
        .take(256)
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"_-.:".contains(byte))
        .count();
    &text[at..at + length]
}

/// A name without its prefix.
fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

fn content(text: &str, place: Range<usize>, marks: &mut Marks<'_>) {
    let end = place.start + text[place.clone()].trim_ascii_end().trim_end_matches("]]>").len();
    if !names::is_harmless_value(text[place.start..end].trim()) {
        marks.add(place.start..end);
    }
}

struct Tag<'t> {
    name: &'t str,
    /// Whether its text is a secret.
    is_secret: bool,
    /// Whether it closes itself.
    is_empty: bool,
    /// Where it ends.
    end: usize,
}

impl<'t> Tag<'t> {
    /// Reads the opening tag that begins here and masks its attributes. `None`: there is none.
    fn read(text: &'t str, open: usize, marks: &mut Marks<'_>) -> Option<Self> {
        let tag = name(text, open + 1);
        if !tag.starts_with(|c: char| c.is_ascii_alphabetic()) {
            // A closing tag says nothing, and is no text.
            let rest = text[open..].strip_prefix("</")?;
            let rest = rest[name(rest, 0).len()..].trim_ascii_start();
            let end = text.len() - rest.strip_prefix('>').unwrap_or(rest).len();
            return Some(Self { name: "", is_secret: false, is_empty: true, end });
        }
        let bytes = text.as_bytes();
        let (mut at, mut held, mut is_secret) =
            (open + 1 + tag.len(), Vec::new(), names::is_secret(local(tag)));
        let mut is_named = false;
        let is_empty = loop {
            if at > open + MAX_TAG {
                return None;
            }
            match bytes.get(at)? {
                b'>' => break false,
                b'/' if bytes.get(at + 1) == Some(&b'>') => break true,
                b'<' => return None,
                b'"' | b'\'' => at = quoted(text, at).1,
                byte if byte.is_ascii_alphabetic() => {
                    let key = name(text, at);
                    at += key.len();
                    let Some(value) = value(text, &mut at) else { continue };
                    let content = text[value.clone()].trim();
                    let key = local(key);
                    if names::names_its_neighbour(key) {
                        is_named |= names::is_secret(content);
                    } else if names::is_secret(key) && !names::is_harmless_value(content) {
                        marks.add(value);
                    } else if names::is_named_by_neighbour(key) && held.len() < MAX_HELD {
                        held.push(value);
                    }
                }
                _ => at += 1,
            }
        };
        is_secret |= is_named;
        if is_secret {
            held.into_iter().for_each(|place| content(text, place, marks));
        }
        Some(Self { name: tag, is_secret, is_empty, end: at + 1 + usize::from(is_empty) })
    }
}

/// The value behind a name, if an equals sign and a quote follow; moves behind it.
fn value(text: &str, at: &mut usize) -> Option<Range<usize>> {
    let rest = text[*at..].trim_ascii_start().strip_prefix('=')?.trim_ascii_start();
    let start = text.len() - rest.len();
    if !rest.starts_with(['"', '\'']) {
        return None;
    }
    let (inner, after) = quoted(text, start);
    *at = after;
    Some(inner)
}
