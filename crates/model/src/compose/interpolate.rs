//! Variables in values, as Compose replaces them: `$VAR`, `${VAR}`, and in braces `:-` `-` (a default), `:?` `?` (an
//! error) and `:+` `+` (another text), each of which may hold variables itself. `$$` is a dollar. With the colon an
//! empty variable counts as not set.

use std::collections::BTreeSet;

use super::Lookup;

/// How deep defaults may lie in each other.
const MAX_DEPTH: usize = 32;
/// The longest name of a variable.
const MAX_NAME: usize = 256;

/// What replacing needs, and what it notes.
pub(super) struct Replacing<'a> {
    pub(super) env: &'a dyn Lookup,
    /// Variables that were not set and had no default.
    pub(super) unset: BTreeSet<String>,
    /// How many more bytes may be written.
    pub(super) budget: usize,
}

/// A text cut into what stands there and what is to be replaced.
#[derive(Debug, PartialEq, Eq)]
enum Part<'t> {
    Text(&'t str),
    Dollar,
    Variable { name: &'t str, then: Then<'t> },
}

/// What to do with a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then<'t> {
    /// Its value.
    Value,
    /// Its value, or this when it is not set.
    Default { word: &'t str, also_empty: bool },
    /// Its value, or an error with this text when it is not set.
    Require { word: &'t str, also_empty: bool },
    /// This when it is set, else nothing.
    Instead { word: &'t str, also_empty: bool },
}

impl Replacing<'_> {
    /// The text with its variables replaced. The error is a sentence.
    pub(super) fn text(&mut self, text: &str) -> Result<String, String> {
        self.nested(text, 0)
    }

    fn nested(&mut self, text: &str, depth: usize) -> Result<String, String> {
        if self.budget == 0 {
            return Err(too_long());
        }
        if depth > MAX_DEPTH {
            return Err(format!("variables lie more than {MAX_DEPTH} deep in each other"));
        }
        let mut out = String::new();
        let mut rest = text;
        while let Some((part, after)) = next(rest)? {
            match part {
                Part::Text(text) => self.write(&mut out, text)?,
                Part::Dollar => self.write(&mut out, "$")?,
                Part::Variable { name, then } => {
                    let value = self.value(name, then, depth)?;
                    self.write(&mut out, &value)?;
                }
            }
            rest = after;
        }
        Ok(out)
    }

    fn value(&mut self, name: &str, then: Then<'_>, depth: usize) -> Result<String, String> {
        let value = self.env.get(name);
        let counts = |value: &String, also_empty: bool| !(also_empty && value.is_empty());
        match then {
            Then::Value => Ok(value.unwrap_or_else(|| {
                self.unset.insert(name.to_owned());
                String::new()
            })),
            Then::Default { word, also_empty } => match value.filter(|value| counts(value, also_empty)) {
                Some(value) => Ok(value),
                None => self.nested(word, depth + 1),
            },
            Then::Require { word, also_empty } => match value.filter(|value| counts(value, also_empty)) {
                Some(value) => Ok(value),
                None => {
                    let reason = self.nested(word, depth + 1)?;
                    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
                    Err(format!("the variable {name} must be set{reason}"))
                }
            },
            Then::Instead { word, also_empty } => match value.filter(|value| counts(value, also_empty)) {
                Some(_) => self.nested(word, depth + 1),
                None => Ok(String::new()),
            },
        }
    }

    fn write(&mut self, out: &mut String, text: &str) -> Result<(), String> {
        // Once it is used up nothing more is read, so that hostile texts end quickly.
        self.budget = self.budget.saturating_sub(text.len());
        if self.budget == 0 && !text.is_empty() {
            return Err(too_long());
        }
        out.push_str(text);
        Ok(())
    }
}

fn too_long() -> String {
    format!("variables make more than {} bytes of text", super::MAX_EXPANDED)
}

/// Notes the variables that a text names, those in defaults too. What is no template is left to who replaces it.
pub(super) fn names(text: &str, into: &mut BTreeSet<String>) {
    let mut open = vec![(text, 0)];
    while let Some((mut rest, depth)) = open.pop() {
        while let Ok(Some((part, after))) = next(rest) {
            if let Part::Variable { name, then } = part {
                into.insert(name.to_owned());
                match then {
                    Then::Default { word, .. } | Then::Require { word, .. } | Then::Instead { word, .. }
                        if depth < MAX_DEPTH =>
                    {
                        open.push((word, depth + 1));
                    }
                    Then::Value | Then::Default { .. } | Then::Require { .. } | Then::Instead { .. } => {}
                }
            }
            rest = after;
        }
    }
}

/// The next part of a text and what follows it; `None` at its end.
fn next(text: &str) -> Result<Option<(Part<'_>, &str)>, String> {
    let Some(dollar) = text.find('$') else {
        return Ok((!text.is_empty()).then_some((Part::Text(text), "")));
    };
    if dollar > 0 {
        let (before, after) = text.split_at(dollar);
        return Ok(Some((Part::Text(before), after)));
    }
    let after = &text[1..];
    if let Some(after) = after.strip_prefix('$') {
        return Ok(Some((Part::Dollar, after)));
    }
    if after.starts_with('{') {
        return braced(text).map(Some);
    }
    match name(after) {
        ("", _) => Err(format!("{} begins no variable; write $$ for a dollar", start(text))),
        (name, after) => Ok(Some((Part::Variable { name: checked(name)?, then: Then::Value }, after))),
    }
}

/// A text that begins with `${`.
fn braced(text: &str) -> Result<(Part<'_>, &str), String> {
    let end = closing(text).ok_or_else(|| format!("{} has no closing brace", start(text)))?;
    let (inner, after) = (&text[2..end], &text[end + 1..]);
    let (name, operation) = name(inner);
    if name.is_empty() {
        return Err(format!("{} names no variable; write $$ for a dollar", start(text)));
    }
    let (also_empty, plain) = match operation.strip_prefix(':') {
        Some(plain) => (true, plain),
        None => (false, operation),
    };
    let word = plain.get(1..).unwrap_or("");
    let then = match plain.as_bytes().first() {
        None if !also_empty => Then::Value,
        Some(b'-') => Then::Default { word, also_empty },
        Some(b'?') => Then::Require { word, also_empty },
        Some(b'+') => Then::Instead { word, also_empty },
        None | Some(_) => {
            return Err(format!(
                "{} is no variable: after the name comes one of :- - :? ? :+ + or the closing brace",
                start(text)
            ));
        }
    };
    Ok((Part::Variable { name: checked(name)?, then }, after))
}

/// Where the brace closes that a text begins with. Only `${` opens another, as in Compose.
fn closing(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut depth, mut index) = (0_usize, 0);
    while index < bytes.len() {
        match bytes[index] {
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(index);
                }
            }
            b'$' if bytes.get(index + 1) == Some(&b'{') => {
                depth += 1;
                index += 1;
            }
            _ => {}
        }
        index += 1;
    }
    None
}

fn name(text: &str) -> (&str, &str) {
    let is_name = |index: usize, byte: u8| {
        byte.is_ascii_alphabetic() || byte == b'_' || (index > 0 && byte.is_ascii_digit())
    };
    let length = text.bytes().enumerate().take_while(|(index, byte)| is_name(*index, *byte)).count();
    text.split_at(length)
}

fn checked(name: &str) -> Result<&str, String> {
    if name.len() > MAX_NAME {
        return Err(format!("the name of a variable has more than {MAX_NAME} characters"));
    }
    Ok(name)
}

fn start(text: &str) -> String {
    let short: String = text.chars().take(24).collect();
    format!("{short:?}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn env() -> BTreeMap<String, String> {
        [("SET", "value"), ("EMPTY", ""), ("_a1", "x"), ("DOLLAR", "$SET")]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    fn tried(text: &str) -> Result<(String, Vec<String>), String> {
        let env = env();
        let mut replacing = Replacing { env: &env, unset: BTreeSet::new(), budget: 10_000 };
        let text = replacing.text(text)?;
        Ok((text, replacing.unset.into_iter().collect()))
    }

    fn replaced(text: &str) -> String {
        tried(text).unwrap_or_else(|error| panic!("{text}: {error}")).0
    }

    #[test]
    fn variables_are_replaced_as_compose_does() {
        for (text, result) in [
            ("", ""),
            ("plain", "plain"),
            ("$SET", "value"),
            ("${SET}", "value"),
            ("a${SET}b$SET.c", "avaluebvalue.c"),
            ("$_a1 ${_a1}2", "x x2"),
            ("$$SET $${SET} $$", "$SET ${SET} $"),
            ("$$$SET", "$value"),
            ("${SET:-d} ${EMPTY:-d} ${NONE:-d}", "value d d"),
            ("${SET-d} ${EMPTY-d} ${NONE-d}", "value  d"),
            ("${SET:+alt} ${EMPTY:+alt} ${NONE:+alt}", "alt  "),
            ("${SET+alt} ${EMPTY+alt} ${NONE+alt}", "alt alt "),
            ("${SET:?no} ${SET?no} ${EMPTY?no}", "value value "),
            ("${NONE:-${EMPTY:-${SET}}}", "value"),
            ("${NONE:-a${SET}b}c", "avaluebc"),
            ("${NONE:-$SET}", "value"),
            ("${NONE:-$$SET}", "$SET"),
            ("${NONE:-http://a:80/?b=c}", "http://a:80/?b=c"),
            ("${NONE-:-x}", ":-x"),
            ("${NONE:-a?b}", "a?b"),
            ("${NONE:-}", ""),
            ("${SET:+${NONE:-deep}}", "deep"),
            // A brace alone opens nothing.
            ("${NONE:-{}}", "{}"),
            ("${SET:-{}}", "value}"),
            // Values are not replaced again.
            ("$DOLLAR", "$SET"),
            ("ö$SET", "övalue"),
        ] {
            assert_eq!(replaced(text), result, "{text}");
        }
    }

    #[test]
    fn what_is_not_set_is_empty_and_noted() {
        assert_eq!(tried("a${NONE}b$OTHER"), Ok(("ab".to_owned(), vec!["NONE".into(), "OTHER".into()])));
        assert_eq!(tried("${EMPTY}${NONE:-}"), Ok((String::new(), vec![])));
    }

    #[test]
    fn what_is_required_is_asked_for_in_the_files_words() {
        let error = |text: &str| tried(text).unwrap_err();
        assert_eq!(error("${NONE:?say $SET}"), "the variable NONE must be set: say value");
        assert_eq!(error("${EMPTY:?}"), "the variable EMPTY must be set");
        assert_eq!(error("${NONE?x}"), "the variable NONE must be set: x");
    }

    #[test]
    fn what_is_no_variable_is_refused() {
        let error = |text: &str| tried(text).unwrap_err();
        assert_eq!(error("a $ b"), "\"$ b\" begins no variable; write $$ for a dollar");
        assert_eq!(error("$"), "\"$\" begins no variable; write $$ for a dollar");
        assert_eq!(error("$1"), "\"$1\" begins no variable; write $$ for a dollar");
        assert_eq!(error("${A"), "\"${A\" has no closing brace");
        assert_eq!(error("${}"), "\"${}\" names no variable; write $$ for a dollar");
        for text in ["${A b}", "${A!x}", "${A:}", "${A:x}", "${A.b}", "${Aö}"] {
            assert!(error(text).contains("after the name comes one of"), "{text}");
        }
    }

    #[test]
    fn hostile_texts_end_quickly() {
        let deep = "${A:-".repeat(100) + &"}".repeat(100);
        assert!(tried(&deep).unwrap_err().contains("32 deep"));
        assert!(tried(&"$SET".repeat(5_000)).unwrap_err().contains("bytes of text"));
        assert!(tried(&format!("${}", "A".repeat(300))).unwrap_err().contains("256"));
        let mut seen = BTreeSet::new();
        names(&deep, &mut seen);
        assert_eq!(seen.len(), 1);
    }

    #[test]
    fn names_are_found_in_defaults_too() {
        let mut seen = BTreeSet::new();
        names("$A ${B:-${C}} $$D ${E:+$F} ${G", &mut seen);
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["A", "B", "C", "E", "F"]);
    }
}
