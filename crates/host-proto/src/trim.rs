//! What a host says, cut to the bounds of [`crate::limits`]: the server trusts a host to be itself and not to be sane. The
//! session does it with every message as soon as it is read, so nothing that keeps, stores or shows what a host says has
//! bounds of its own to remember. Texts end in an ellipsis where they were cut, lists just end; figures that contradict
//! each other are brought together. What cannot be seen, and what a terminal would obey, becomes a space or �.
//!
//! One list is not cut: a replica that is not in a hello is taken as gone, so the session refuses a hello with too many.

mod connection;
mod lines;
mod machine;
mod states;

use crate::message::ToServer;

/// Something that a host says.
pub trait Trim {
    /// Cuts it to what a host may say.
    fn trim(&mut self);
}

impl Trim for ToServer {
    fn trim(&mut self) {
        match self {
            Self::Hello(hello) => hello.trim(),
            Self::Goodbye(goodbye) => goodbye.trim(),
            Self::Error(error) => error.trim(),
            Self::TokenRotated(rotated) => rotated.trim(),
            Self::StateApplied(applied) => applied.trim(),
            Self::ReplicaStatus(status) => status.trim(),
            Self::LogsResult(result) => result.trim(),
            Self::LogLines(lines) => lines.trim(),
            Self::LogsEnded(ended) => ended.trim(),
            Self::Metrics(metrics) => metrics.trim(),
            Self::HostLogsTail(tail) => tail.trim(),
            // Numbers only.
            Self::Ping(_) | Self::Pong(_) => {}
        }
    }
}

impl<T: Trim> Trim for Option<T> {
    fn trim(&mut self) {
        if let Some(value) = self {
            value.trim();
        }
    }
}

/// A text of at most so many characters in one line: nothing in it moves a cursor, colours a terminal, begins a line of a
/// log or turns text around.
pub fn line(text: &mut String, most: usize) {
    cut(text, most);
    if text.chars().any(is_harmful) {
        *text = text.chars().map(|c| if c.is_whitespace() { ' ' } else { seen(c) }).collect();
    }
}

/// The same of a text that may be there.
fn maybe(text: &mut Option<String>, most: usize) {
    if let Some(text) = text {
        line(text, most);
    }
}

/// The first items of a list, each of them trimmed.
fn list<T: Trim>(items: &mut Vec<T>, most: usize) {
    shorten(items, most);
    items.iter_mut().for_each(Trim::trim);
}

/// The first items of a list. The room of the others is given back.
fn shorten<T>(items: &mut Vec<T>, most: usize) {
    if items.len() > most {
        items.truncate(most);
        items.shrink_to_fit();
    }
}

/// A text of at most so many characters, which ends in an ellipsis where it was cut.
fn cut(text: &mut String, most: usize) {
    // A text of so few bytes has no more characters.
    if text.len() <= most || text.chars().nth(most).is_none() {
        return;
    }
    let end = text.char_indices().nth(most.saturating_sub(1)).map_or(0, |(place, _)| place);
    text.truncate(end);
    text.push('…');
    text.shrink_to_fit();
}

fn seen(c: char) -> char {
    if is_harmful(c) { '\u{fffd}' } else { c }
}

fn is_harmful(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_says_so() {
        let cases = [
            ("", ""),
            ("four", "four"),
            ("fives", "fiv…"),
            ("äöüß", "äöüß"),
            ("äöüßx", "äöü…"),
            ("😀😀😀😀😀", "😀😀😀…"),
        ];
        for (given, wanted) in cases {
            let mut text = given.to_owned();
            line(&mut text, 4);
            assert_eq!(text, wanted);
            line(&mut text, 4);
            assert_eq!(text, wanted, "a text that was cut stays as it is");
        }
    }

    #[test]
    fn a_text_is_one_line_that_a_terminal_does_not_obey() {
        let mut text = "a\u{1b}[31mb\r\nc\td\u{202e}e\u{2028}f\u{9b}1m é".to_owned();
        line(&mut text, 100);
        assert_eq!(text, "a\u{fffd}[31mb  c d\u{fffd}e f\u{fffd}1m é");
    }
}
