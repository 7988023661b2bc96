//! What gives a secret away wherever it stands, also inside longer texts and broken files: `key=value` and
//! quoted `"key": "value"` pairs, passwords in URLs, bearer tokens, private keys in PEM.

use super::Marks;
use super::flow::{line_end, quoted};
use super::names;

pub(super) fn scan(text: &str, marks: &mut Marks<'_>) {
    pairs(text, marks);
    urls(text, marks);
    bearers(text, marks);
    private_keys(text, marks);
}

/// `key=value`, with or without blanks and quotes, as in TOML, connection strings and queries; and pairs with
/// a quoted key and a colon, as in JSON inside of a text.
fn pairs(text: &str, marks: &mut Marks<'_>) {
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate().filter(|(_, byte)| matches!(byte, b'=' | b':')) {
        let Some((name, is_quoted)) = name_before(text, at) else { continue };
        let follows = bytes.get(at + 1).copied().unwrap_or(b' ');
        let is_pair = match byte {
            b'=' => follows != b'=' && follows != b'~',
            _ => is_quoted,
        };
        if is_pair && names::is_secret(name) {
            value_after(text, at + 1, marks);
        }
    }
}

/// The word before a separator, and whether it stands in quotes.
fn name_before(text: &str, at: usize) -> Option<(&str, bool)> {
    let before = text[..at].trim_end_matches([' ', '\t']);
    let unquoted = before.trim_end_matches(['"', '\'', '\\']);
    let length = unquoted
        .bytes()
        .rev()
        .take(256)
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(byte))
        .count();
    (length > 0).then(|| (&unquoted[unquoted.len() - length..], unquoted.len() < before.len()))
}

fn value_after(text: &str, start: usize, marks: &mut Marks<'_>) {
    let rest = &text[start..];
    let value = rest.trim_start_matches([' ', '\t']);
    let at = text.len() - value.len();
    for fence in ["\"\"\"", "'''"] {
        if let Some(inside) = value.strip_prefix(fence) {
            let length = inside.find(fence).unwrap_or(inside.len());
            return marks.add(at + 3..at + 3 + length);
        }
    }
    // Quotes inside of a quoted text carry backslashes: they end at the next quote with as many.
    let escapes = value.len() - value.trim_start_matches('\\').len();
    let place = match value[escapes..].bytes().next() {
        Some(b'"' | b'\'') if escapes == 0 => quoted(text, at).0,
        Some(b'"' | b'\'') => {
            let inside = at + escapes + 1;
            let fence = &text[at..inside];
            let line = &text[inside..line_end(text, inside)];
            inside..inside + line.find(fence).unwrap_or(line.len())
        }
        // A collection: its own keys and scalars are read where it is.
        Some(b'{' | b'[' | b'(') => return,
        _ => {
            let end = value
                .find(|c: char| c.is_whitespace() || "&;,\"'`)}]<>|\\".contains(c))
                .unwrap_or(value.len());
            at..at + end
        }
    };
    if !names::is_harmless_value(text[place.clone()].trim()) {
        marks.add(place);
    }
}

/// `scheme://user:password@host`.
fn urls(text: &str, marks: &mut Marks<'_>) {
    for (at, separator) in text.match_indices("://") {
        let start = at + separator.len();
        // Up to the next URL, so that a list of them without blanks is read one by one.
        let rest = &text[start..];
        let rest = &rest[..rest.find("://").unwrap_or(rest.len())];
        let length = rest.find(|c: char| c.is_whitespace() || "\"'<>`".contains(c)).unwrap_or(rest.len());
        let Some(end) = rest[..length].rfind('@') else { continue };
        let Some(colon) = rest[..end].find(':') else { continue };
        let password = &rest[colon + 1..end];
        // A port and a path that has an @ in it: host:8080/path@2
        let port = password.split('/').next().unwrap_or_default();
        let is_port =
            password.contains('/') && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        if !password.is_empty() && !rest[..colon].contains(['/', '?', '#']) && !is_port {
            marks.add(start + colon + 1..start + end);
        }
    }
}

/// `Bearer abc…`, however it is spelt.
fn bearers(text: &str, marks: &mut Marks<'_>) {
    let bytes = text.as_bytes();
    let word = b"bearer ";
    for at in 0..bytes.len().saturating_sub(word.len()) {
        if !bytes[at..at + word.len()].eq_ignore_ascii_case(word)
            || (at > 0 && bytes[at - 1].is_ascii_alphanumeric())
        {
            continue;
        }
        let start = at + word.len();
        let is_token = |byte: &&u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(byte);
        let length = bytes[start..].iter().take_while(is_token).count();
        if length >= 8 {
            marks.add(start..start + length);
        }
    }
}

/// The lines between `-----BEGIN … PRIVATE KEY-----` and its end.
fn private_keys(text: &str, marks: &mut Marks<'_>) {
    const BEGIN: &str = "-----BEGIN ";
    const KIND: &str = "PRIVATE KEY-----";
    let mut done = 0;
    for (at, _) in text.match_indices(BEGIN).filter(|(at, _)| text[*at..].len() > BEGIN.len() + KIND.len()) {
        let head = &text[at..text.floor_char_boundary(at + 64)];
        let Some(kind) = head.find(KIND).filter(|_| at >= done) else { continue };
        let start = at + kind + KIND.len();
        done = text[start..].find("-----END ").map_or(text.len(), |length| start + length);
        marks.add(start..done);
    }
}
