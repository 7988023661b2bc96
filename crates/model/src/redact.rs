//! Masks the secrets of a configuration before anyone sees it (S18). Effective configurations come in every
//! form an agent likes, so nothing is parsed to a tree and written again: the text keeps its shape, and only
//! the places of secret values are replaced.
//!
//! `lines` reads YAML's block style, `flow` its flow style and JSON, `xml` tags, `directives` lines of other forms,
//! [`names`] says which keys are secret, and `anywhere` is the net below them: what gives a secret away wherever it
//! stands. Junk is never an error. Not found: secrets under keys that do not sound like one.

use std::ops::Range;

mod anywhere;
mod directives;
mod flow;
mod lines;
pub mod names;
#[cfg(test)]
mod tests;
mod xml;

/// What a masked value reads as. A plain scalar of YAML, so that masked YAML stays YAML.
pub const MASK: &str = "<redacted>";

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted {
    /// The text; it has the same lines and the same keys.
    pub text: String,
    /// How many places were masked.
    pub masked: usize,
}

/// Masks the secrets of a configuration in YAML, JSON, XML or a `key = value` form, and of any text beside them.
pub fn redact(text: &str) -> Redacted {
    marks(text).apply()
}

/// Masks the secrets of a file. What its type does not call YAML or JSON is also read line by line, where the first
/// word may be a key.
pub fn redact_file(content_type: &str, text: &str) -> Redacted {
    let mut marks = marks(text);
    let content_type = content_type.to_ascii_lowercase();
    if !content_type.is_empty() && !content_type.contains("yaml") && !content_type.contains("json") {
        directives::scan(text, &mut marks);
    }
    marks.apply()
}

fn marks(text: &str) -> Marks<'_> {
    let mut marks = Marks::new(text);
    lines::scan(text, &mut marks);
    xml::scan(text, &mut marks);
    anywhere::scan(text, &mut marks);
    marks
}

/// The places to mask. They may overlap; a place of several lines is masked line by line.
struct Marks<'t> {
    text: &'t str,
    places: Vec<Range<usize>>,
}

impl<'t> Marks<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, places: Vec::new() }
    }

    /// Marks a place, without the blanks around each of its lines.
    fn add(&mut self, place: Range<usize>) {
        let mut start = place.start;
        for line in self.text[place].split_inclusive('\n') {
            let from = start + (line.len() - line.trim_start().len());
            let to = start + line.trim_end().len();
            if from < to {
                self.places.push(from..to);
            }
            start += line.len();
        }
    }

    fn apply(mut self) -> Redacted {
        self.places.sort_unstable_by_key(|place| (place.start, place.end));
        let (mut text, mut done, mut masked) = (String::with_capacity(self.text.len()), 0, 0);
        let mut places = self.places.into_iter().peekable();
        while let Some(mut place) = places.next() {
            while let Some(next) = places.next_if(|next| next.start <= place.end) {
                place.end = place.end.max(next.end);
            }
            text.push_str(&self.text[done..place.start]);
            text.push_str(MASK);
            done = place.end;
            masked += 1;
        }
        text.push_str(&self.text[done..]);
        Redacted { text, masked }
    }
}
