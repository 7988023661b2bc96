//! Files with environment variables, as `env_file:` and `.env` have them: `NAME=value` in each line, with comments,
//! quotes over several lines, and variables in values.

use std::collections::{BTreeMap, BTreeSet};

use super::interpolate::Replacing;
use super::{Lookup, MAX_EXPANDED, MAX_TEXT};

/// Why a text is no such file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct InvalidDotenv {
    /// From 1.
    pub line: usize,
    /// What is wrong there.
    pub reason: String,
}

/// How a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// With quotes and variables.
    Usual,
    /// All after the first `=` is the value.
    Raw,
}

/// Reads a file. Variables in values come from `env` and from earlier lines; a name without `=` takes its value from
/// `env`, or is left out.
pub fn parse(
    text: &str,
    format: Format,
    env: &dyn Lookup,
) -> Result<BTreeMap<String, String>, InvalidDotenv> {
    if text.len() > MAX_TEXT {
        return Err(InvalidDotenv { line: 1, reason: format!("more than {} MiB", MAX_TEXT >> 20) });
    }
    let mut reader =
        Reader { rest: text.strip_prefix('\u{feff}').unwrap_or(text), line: 1, budget: MAX_EXPANDED };
    let mut values = BTreeMap::new();
    while reader.skip_to_statement() {
        let (name, has_value) = reader.name()?;
        if !has_value {
            if let Some(value) = env.get(&name) {
                values.insert(name, value);
            }
            continue;
        }
        let value = match format {
            Format::Raw => reader.line_end().to_owned(),
            Format::Usual => reader.value(&Both { env, values: &values })?,
        };
        values.insert(name, value);
    }
    Ok(values)
}

/// Values from outside, then those of earlier lines.
struct Both<'a> {
    env: &'a dyn Lookup,
    values: &'a BTreeMap<String, String>,
}

impl Lookup for Both<'_> {
    fn get(&self, name: &str) -> Option<String> {
        self.env.get(name).or_else(|| self.values.get(name).cloned())
    }
}

struct Reader<'t> {
    rest: &'t str,
    line: usize,
    budget: usize,
}

impl<'t> Reader<'t> {
    /// Skips blanks and comments; whether anything follows.
    fn skip_to_statement(&mut self) -> bool {
        loop {
            let trimmed = self.rest.trim_start();
            self.advance(self.rest.len() - trimmed.len());
            if !trimmed.starts_with('#') {
                return !trimmed.is_empty();
            }
            self.advance(trimmed.find('\n').unwrap_or(trimmed.len()));
        }
    }

    /// A name, and whether a value follows.
    fn name(&mut self) -> Result<(String, bool), InvalidDotenv> {
        if let Some(after) = self.rest.strip_prefix("export").filter(|after| after.starts_with([' ', '\t'])) {
            self.advance(self.rest.len() - after.trim_start_matches([' ', '\t']).len());
        }
        let end = self.rest.find(['=', ':', '\n']).unwrap_or(self.rest.len());
        let name = self.rest[..end].trim().to_owned();
        let is_name_char = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '[' | ']');
        if name.is_empty() || !name.chars().all(is_name_char) {
            return Err(self.error("does not begin with a name and ="));
        }
        let has_value = !self.rest[end..].is_empty() && !self.rest[end..].starts_with('\n');
        self.advance(if has_value { end + 1 } else { end });
        Ok((name, has_value))
    }

    fn value(&mut self, env: &dyn Lookup) -> Result<String, InvalidDotenv> {
        let blanks = self.rest.len() - self.rest.trim_start_matches([' ', '\t']).len();
        self.advance(blanks);
        match self.rest.chars().next() {
            Some('\'') => {
                let raw = self.quoted('\'')?;
                Ok(raw.replace("\\'", "'"))
            }
            Some('"') => {
                let raw = self.quoted('"')?;
                self.replaced(&unescaped(raw), env)
            }
            _ => {
                let raw = self.line_end();
                let raw = if raw.starts_with('#') { "" } else { raw };
                let end = raw.find(" #").or_else(|| raw.find("\t#")).unwrap_or(raw.len());
                self.replaced(raw[..end].trim_end(), env)
            }
        }
    }

    /// What is between quotes, and past the end of that line.
    fn quoted(&mut self, quote: char) -> Result<&'t str, InvalidDotenv> {
        let inner = &self.rest[1..];
        let mut is_escaped = false;
        for (index, c) in inner.char_indices() {
            match c {
                c if c == quote && !is_escaped => {
                    self.advance(1 + index + 1);
                    let after = self.line_end().trim();
                    if !after.is_empty() && !after.starts_with('#') {
                        return Err(self.error(&format!("has text after the closing {quote}")));
                    }
                    return Ok(&inner[..index]);
                }
                c => is_escaped = c == '\\' && !is_escaped,
            }
        }
        Err(self.error(&format!("has no closing {quote}")))
    }

    /// The rest of the line, which is passed.
    fn line_end(&mut self) -> &'t str {
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        let line = &self.rest[..end];
        self.advance(end);
        line.strip_suffix('\r').unwrap_or(line)
    }

    fn replaced(&mut self, text: &str, env: &dyn Lookup) -> Result<String, InvalidDotenv> {
        let mut replacing = Replacing { env, unset: BTreeSet::new(), budget: self.budget };
        let replaced = replacing.text(text);
        self.budget = replacing.budget;
        replaced.map_err(|reason| self.error(&reason))
    }

    fn advance(&mut self, bytes: usize) {
        let (passed, rest) = self.rest.split_at(bytes);
        self.line += passed.bytes().filter(|byte| *byte == b'\n').count();
        self.rest = rest;
    }

    fn error(&self, reason: &str) -> InvalidDotenv {
        InvalidDotenv { line: self.line, reason: reason.to_owned() }
    }
}

/// Escapes within double quotes. `\$` is a dollar that begins no variable.
fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('$') => out.push_str("$$"),
            Some(c @ ('"' | '\\')) => out.push(c),
            Some(c) => out.extend(['\\', c]),
            None => out.push('\\'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env() -> BTreeMap<String, String> {
        BTreeMap::from([("HOST".to_owned(), "outer".to_owned())])
    }

    fn read(text: &str) -> Vec<(String, String)> {
        parse(text, Format::Usual, &env())
            .unwrap_or_else(|error| panic!("{text}: {error}"))
            .into_iter()
            .collect()
    }

    fn one(text: &str) -> String {
        let values = read(text);
        assert_eq!(values.len(), 1, "{text}");
        values[0].1.clone()
    }

    #[test]
    fn values_are_read_as_compose_reads_them() {
        for (text, value) in [
            ("A=b", "b"),
            ("A=", ""),
            ("A = b ", "b"),
            ("export A=b", "b"),
            ("A: b", "b"),
            ("A=b # c", "b"),
            ("A=b#c", "b#c"),
            ("A=# c", ""),
            ("A='b # c'", "b # c"),
            ("A=\"b # c\" # d", "b # c"),
            ("A=\"a\\nb\\t\\\"c\\\"\"", "a\nb\t\"c\""),
            ("A='a\\nb'", "a\\nb"),
            ("A='it\\'s'", "it's"),
            ("A='a\nb'\n", "a\nb"),
            ("A=$HOST/x", "outer/x"),
            ("A=\"${HOST}\"", "outer"),
            ("A='${HOST}'", "${HOST}"),
            ("A=${NONE:-d}", "d"),
            ("A=\"\\$HOST\"", "$HOST"),
            ("A=b=c", "b=c"),
            ("A=b\r\n", "b"),
            ("# c\n\n  A=b", "b"),
            ("HOST\n", "outer"),
        ] {
            assert_eq!(one(text), value, "{text:?}");
        }
        assert_eq!(read("NONE\n"), vec![]);
        assert_eq!(read("A=1\nB=${A}2\n")[1].1, "12");
        assert_eq!(read("HOST=inner\nB=$HOST\n")[0].1, "outer");
    }

    #[test]
    fn raw_files_are_taken_as_they_are() {
        let values = parse("A='$x' # y\nB=\n", Format::Raw, &env()).unwrap();
        assert_eq!(values["A"], "'$x' # y");
        assert_eq!(values["B"], "");
    }

    #[test]
    fn an_error_has_its_line() {
        let error = |text: &str| parse(text, Format::Usual, &env()).unwrap_err().to_string();
        assert_eq!(error("A=1\n=2"), "line 2: does not begin with a name and =");
        assert_eq!(error("A=1\nA B=2"), "line 2: does not begin with a name and =");
        assert_eq!(error("A='1\n"), "line 1: has no closing '");
        assert_eq!(error("A='1' 2"), "line 1: has text after the closing '");
        assert_eq!(error("\nA=${B"), "line 2: \"${B\" has no closing brace");
    }
}
