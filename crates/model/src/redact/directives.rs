//! Forms of one directive on a line, as of nginx, Fluent Bit or Redis: `requirepass x`, `Header X-Key x`. Only for texts
//! that are not known to be YAML or JSON, where a line of words is a sentence.

use super::Marks;
use super::flow::line_end;
use super::names;

pub(super) fn scan(text: &str, marks: &mut Marks<'_>) {
    let mut at = 0;
    while at < text.len() {
        let end = line_end(text, at);
        line(text, at, end, marks);
        at = end + 1;
    }
}

fn line(text: &str, start: usize, end: usize, marks: &mut Marks<'_>) {
    // What was commented out counts, and a sentence of a comment does not.
    let content = text[start..end].trim_ascii_start();
    let content = content.trim_start_matches(['#', ';', '!']);
    let mut rest = content;
    let Some(first) = word(&mut rest) else { return };
    let is_value_secret = match first {
        name if is_secret(name) => true,
        name if names::holds_headers(name) || name.to_ascii_lowercase().ends_with("header") => {
            word(&mut rest).is_some_and(|header| !names::is_harmless_header(header))
        }
        // `set password x`, `env API_KEY x;`
        "set" | "env" | "export" | "setenv" | "SetEnv" | "define" => word(&mut rest).is_some_and(is_secret),
        _ => false,
    };
    let value = rest.trim_ascii_end().trim_end_matches(['{', ';', '>']).trim_ascii_end();
    if is_value_secret && !names::is_harmless_value(value) && !value.starts_with(['=', ':']) {
        let from = end - rest.len();
        marks.add(from..from + value.len());
    }
}

/// The next word, with what follows it left in `rest`.
fn word<'t>(rest: &mut &'t str) -> Option<&'t str> {
    let end = rest.find([' ', '\t'])?;
    let (word, after) = rest.split_at(end);
    *rest = after.trim_ascii_start();
    let is_word = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.$".contains(&byte));
    (is_word && !word.is_empty()).then_some(word)
}

/// Also where a short word for a secret ends the name: `requirepass`, `masterauth`.
fn is_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    names::is_secret(name) || ["pass", "passwd", "pwd", "auth"].iter().any(|end| lower.ends_with(end))
}
