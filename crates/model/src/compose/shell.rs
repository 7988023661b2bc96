//! A command in one text, cut into words as Compose cuts it: blanks between words, quotes, backslashes. There is no
//! shell, so what only a shell understands is refused; Compose drops it with all that follows.

/// The words of a text. The error is a sentence.
pub(super) fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\r' | '\n' => words.extend(word.take()),
            '\\' => {
                let next = chars.next().ok_or("ends with a backslash")?;
                word.get_or_insert_default().push(next);
            }
            '\'' => {
                let word = word.get_or_insert_default();
                quoted(&mut chars, word, '\'')?;
            }
            '"' => {
                let word = word.get_or_insert_default();
                quoted(&mut chars, word, '"')?;
            }
            ';' | '&' | '|' | '<' | '>' => {
                return Err(format!(
                    "no shell runs it, so that {c} would mean nothing; write [\"sh\", \"-c\", \"…\"], or quote it"
                ));
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

/// Up to the closing quote. Within double quotes a backslash takes the next character as it is.
fn quoted(chars: &mut std::str::Chars<'_>, word: &mut String, quote: char) -> Result<(), String> {
    while let Some(c) = chars.next() {
        match c {
            c if c == quote => return Ok(()),
            '\\' if quote == '"' => match chars.next() {
                Some(next) => word.push(next),
                None => break,
            },
            c => word.push(c),
        }
    }
    Err(format!("has no closing {quote}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_at_blanks_outside_of_quotes() {
        for (text, result) in [
            ("", vec![]),
            ("  ", vec![]),
            ("nginx -g 'daemon off;'", vec!["nginx", "-g", "daemon off;"]),
            (r#"sh -c "echo \"a b\" && ls""#, vec!["sh", "-c", r#"echo "a b" && ls"#]),
            (r"a\ b c", vec!["a b", "c"]),
            ("a\n  b\tc", vec!["a", "b", "c"]),
            ("''", vec![""]),
            ("--x=\"1 2\"3", vec!["--x=1 23"]),
            (r"'a\b'", vec![r"a\b"]),
            ("$HOME `x` $(y)", vec!["$HOME", "`x`", "$(y)"]),
            ("a#b # c", vec!["a#b", "#", "c"]),
        ] {
            assert_eq!(words(text).unwrap(), result, "{text}");
        }
    }

    #[test]
    fn what_only_a_shell_understands_is_refused() {
        for text in ["a; b", "a && b", "a | b", "a > b", "a < b"] {
            assert!(words(text).unwrap_err().contains("no shell runs it"), "{text}");
        }
        assert_eq!(words("a 'b").unwrap_err(), "has no closing '");
        assert_eq!(words("a \"b\\").unwrap_err(), "has no closing \"");
        assert_eq!(words("a\\").unwrap_err(), "ends with a backslash");
    }
}
