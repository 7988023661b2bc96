//! Printing results: tables for people, JSON and YAML for programs, names for shells. Text that comes from agents is
//! made harmless for a terminal first.

use std::io::{self, IsTerminal, Write};

use api::configs::ConfigProblem;
use comfy_table::{ContentArrangement, Table};
use serde::Serialize;
use serde_json::Value;

use crate::cli::Format;
use crate::failure::{Failure, Kind};

/// Prints a line. A reader that went away (`| head`) is no error.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Kind::Failed, format!("cannot print: {error}")))
        }
        _ => Ok(()),
    }
}

/// Something that people should know and that stops nothing.
pub(crate) fn warning(text: &str) {
    note(&format!("warning: {text}"));
}

/// A line beside the result: on standard error, so that results stay clean.
/// Where nobody reads it, it is lost and ends nothing.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// A count with its noun.
pub(crate) fn counted<N: PartialEq + From<u8> + std::fmt::Display>(
    count: N,
    one: &str,
    more: &str,
) -> String {
    match count == N::from(1) {
        true => format!("1 {one}"),
        false => format!("{count} {more}"),
    }
}

/// Prints a value as the format asks; tables and names are made by the caller.
pub(crate) fn value<T: Serialize>(
    format: Format,
    value: &T,
    table: impl FnOnce() -> String,
    names: impl FnOnce() -> Vec<String>,
) -> Result<(), Failure> {
    match format {
        Format::Table => line(&table()),
        Format::Name => names().iter().try_for_each(|name| line(name)),
        Format::Json => line(&serde_json::to_string_pretty(value).map_err(|error| Failure::of(&error))?),
        Format::Yaml => {
            let value = serde_json::to_value(value).map_err(|error| Failure::of(&error))?;
            let mut text = String::new();
            yaml(&value, 0, &mut text);
            line(text.trim_end())
        }
    }
}

/// A table without lines, as wide as the terminal.
pub(crate) fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    if io::stdout().is_terminal() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
    }
    table.set_header(head.iter().map(|title| title.to_uppercase()).collect::<Vec<_>>());
    for row in rows {
        table.add_row(row);
    }
    // Each cell has a space on both sides; the first one would only shift everything.
    let lines = table.lines().map(|line| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

/// A problem of a file as compilers write it: `file:line:column: severity: message`.
pub(crate) fn problem(problem: &ConfigProblem) -> String {
    let ConfigProblem { file, line, column, severity, message } = problem;
    let file = if file.is_empty() { "(unnamed)".to_owned() } else { safe(file) };
    let place = match (line, column) {
        (0, _) => file,
        (line, 0) => format!("{file}:{line}"),
        (line, column) => format!("{file}:{line}:{column}"),
    };
    format!("{place}: {severity}: {}", safe(message))
}

/// Text of an agent's as one line that a terminal can be trusted with: no control characters, nothing that turns
/// text around.
pub(crate) fn safe(text: &str) -> String {
    text.chars().map(|c| if is_harmful(c) { '\u{fffd}' } else { c }).collect()
}

fn is_harmful(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

/// JSON as YAML. Strings are quoted as JSON quotes them, which every YAML reader takes.
fn yaml(value: &Value, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                text.push_str(&format!("{indent}{}:", key(name)));
                nested(value, depth, text);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                text.push_str(&format!("{indent}-"));
                nested(item, depth, text);
            }
        }
        scalar => text.push_str(&format!("{indent}{scalar}\n")),
    }
}

fn nested(value: &Value, depth: usize, text: &mut String) {
    let is_nested = match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    if is_nested {
        text.push('\n');
        yaml(value, depth + 1, text);
    } else {
        text.push_str(&format!(" {value}\n"));
    }
}

fn key(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !matches!(name, "y" | "n" | "yes" | "no" | "on" | "off" | "true" | "false" | "null");
    if plain { name.to_owned() } else { Value::String(name.to_owned()).to_string() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn yaml_has_the_shape_of_the_json() {
        let mut text = String::new();
        yaml(&json!({"a": [1, {"b": "x: y"}, []], "on": null, "s": "a\nb"}), 0, &mut text);
        assert_eq!(text, "a:\n  - 1\n  -\n    b: \"x: y\"\n  - []\n\"on\": null\ns: \"a\\nb\"\n");
    }

    #[test]
    fn s38_text_of_an_agent_cannot_drive_the_terminal() {
        assert_eq!(safe("a\u{1b}[31mb\nc\u{202e}d'`<"), "a\u{fffd}[31mb\u{fffd}c\u{fffd}d'`<");
    }
}
