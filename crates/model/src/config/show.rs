//! Values of a configuration in one line for people, secrets masked and long ones cut. It is never read back.

use crate::redact::names::{Secrecy, holds_headers, is_harmless_header, secrecy};
use crate::redact::{MASK, redact};

use super::tree::{Meaning, Node, Scalar, Value};

/// The longest value that is shown, in characters.
pub const MAX_SHOWN: usize = 300;
/// How much of a value is written before it is masked and cut. A secret that begins behind it is not shown at all.
const MAX_WRITTEN: usize = 16 << 10;

/// The value at a path, without its secrets. `path` is every key above it.
pub fn masked(path: &[&str], node: &Node) -> String {
    let Some((key, above)) = path.split_last() else { return cut(&redact(&flow(node)).text) };
    let is_scalar = matches!(node.value, Value::Scalar(_));
    let is_secret = above.iter().any(|key| secrecy(key) == Secrecy::All)
        || match secrecy(key) {
            Secrecy::All => true,
            Secrecy::Scalar => is_scalar,
            Secrecy::None => false,
        }
        || above.last().is_some_and(|above| holds_headers(above) && !is_harmless_header(key));
    if is_secret && !node.is_nothing() {
        return MASK.to_owned();
    }
    // With its key before it, as the net for secrets expects it.
    let key = quoted(key) + ": ";
    let line = redact(&format!("{key}{}", flow(node))).text;
    cut(line.strip_prefix(&key).unwrap_or(MASK))
}

/// The keys of a path as one text.
pub fn path_text(path: &[&str]) -> String {
    let mut text = String::new();
    for key in path {
        if !text.is_empty() {
            text.push('.');
        }
        if key.is_empty() || key.contains(|c: char| c == '.' || c.is_control() || c.is_whitespace()) {
            text.push_str(&quoted(&key.chars().take(MAX_SHOWN).collect::<String>()));
        } else {
            text.extend(key.chars().take(MAX_SHOWN));
        }
    }
    text
}

/// A value in YAML's flow style. What comes after [`MAX_WRITTEN`] bytes is left out.
fn flow(node: &Node) -> String {
    let mut text = String::new();
    write(node, &mut text);
    text
}

fn write(node: &Node, out: &mut String) {
    if out.len() > MAX_WRITTEN {
        return;
    }
    match &node.value {
        Value::Scalar(scalar) => out.push_str(&scalar_text(scalar)),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if out.len() > MAX_WRITTEN {
                    break;
                }
                out.push_str(if index > 0 { ", " } else { "" });
                write(item, out);
            }
            out.push(']');
        }
        Value::Map(entries) => {
            out.push('{');
            for (index, entry) in entries.iter().enumerate() {
                if out.len() > MAX_WRITTEN {
                    break;
                }
                out.push_str(if index > 0 { ", " } else { "" });
                out.push_str(&key_text(&entry.key));
                out.push_str(": ");
                write(&entry.value, out);
            }
            out.push('}');
        }
    }
}

/// A text of several lines may be a configuration of its own, whose secrets only its lines show.
fn scalar_text(scalar: &Scalar) -> String {
    let text: &str = &scalar.text[..scalar.text.floor_char_boundary(MAX_WRITTEN)];
    if text.contains('\n') {
        return quoted(&redact(text).text);
    }
    let looks_like_another = Scalar { text: text.to_owned(), is_text: false };
    let needs_quotes = scalar.is_text && !matches!(looks_like_another.meaning(), Meaning::Text(_));
    if needs_quotes || !is_plain(text) { quoted(text) } else { text.to_owned() }
}

fn key_text(key: &str) -> String {
    let key = &key[..key.floor_char_boundary(MAX_WRITTEN)];
    if key.is_empty() || !is_plain(key) { quoted(key) } else { key.to_owned() }
}

/// Whether a text reads as itself without quotes inside a flow collection.
fn is_plain(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_whitespace() || "-?&*!|>'\"%@`#".contains(c))
        && !text.ends_with([' ', ':'])
        && !text.contains(|c: char| c.is_control() || ",[]{}\"".contains(c))
        && !text.contains(": ")
        && !text.contains(" #")
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// At most [`MAX_SHOWN`] characters.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::yaml::parse;
    use super::*;

    fn shown(key: &str, text: &str) -> String {
        let root = parse(text, 0, &mut Default::default()).unwrap().root.unwrap();
        masked(&["exporters", key], &root)
    }

    #[test]
    fn a_value_is_shown_in_one_line() {
        assert_eq!(shown("a", "{b: [1, '2', x y], c: {d: ~}}"), r#"{b: [1, "2", x y], c: {d: ~}}"#);
        assert_eq!(shown("a", "'a: b'"), r#""a: b""#);
        assert_eq!(shown("a", "|\n  x\n  y\n"), r#""x\ny\n""#);
        assert_eq!(shown("a", &format!("{:?}", "é".repeat(400))), "é".repeat(300) + "…");
    }

    #[test]
    fn s18_no_secret_is_shown() {
        assert_eq!(shown("api_key", "abc"), MASK);
        assert_eq!(shown("tokens", "[abc, def]"), MASK);
        assert_eq!(shown("auth", "abc"), MASK);
        assert_eq!(shown("auth", "{authenticator: x}"), "{authenticator: x}");
        assert_eq!(shown("a", "{headers: {authorization: abc}}"), "{headers: {authorization: <redacted>}}");
        assert_eq!(
            shown("a", "[{name: Authorization, value: abc}]"),
            "[{name: Authorization, value: <redacted>}]"
        );
        assert_eq!(shown("headers", "{x-custom: abc}"), "{x-custom: <redacted>}");
        let root = parse("abc", 0, &mut Default::default()).unwrap().root.unwrap();
        assert_eq!(masked(&["headers", "x-custom"], &root), MASK);
        assert_eq!(masked(&["headers", "accept"], &root), "abc");
        assert_eq!(shown("a", "https://user:abc@host"), "https://user:<redacted>@host");
        assert_eq!(shown("a", "|\n  password: abc\n  x: y\n"), r#""password: <redacted>\nx: y\n""#);
        assert_eq!(
            masked(
                &["credentials", "user"],
                &parse("abc", 0, &mut Default::default()).unwrap().root.unwrap()
            ),
            MASK
        );
    }

    #[test]
    fn a_path_reads_back_by_eye() {
        assert_eq!(
            path_text(&["exporters", "otlp/b", "a.b", ""]),
            r#"exporters.otlp/b."a.b".."#.replace("..", ".\"\"")
        );
    }
}
