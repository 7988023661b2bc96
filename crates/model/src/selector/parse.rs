//! Reads the text of a selector. Errors name the column, counted in characters from 1, so that a console or
//! a shell can point at it.

use super::{InvalidSelector, MAX_TEXT, Requirement, Selector, Test};

/// Why text is no selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {reason}")]
pub struct ParseError {
    /// Where, in characters from 1.
    pub column: usize,
    /// What is wrong there.
    pub reason: String,
}

/// Whether a character needs no quotes. Everything that the syntax does not use and that is neither space nor
/// control character.
pub(super) fn is_bare(c: char) -> bool {
    c.is_alphanumeric()
        || (c.is_ascii_punctuation() && !matches!(c, '!' | '=' | ',' | '(' | ')' | '"' | '\'' | '\\'))
}

pub(super) fn selector(text: &str) -> Result<Selector, ParseError> {
    if text.len() > MAX_TEXT {
        let reason = format!("a selector has at most {MAX_TEXT} bytes, this has {}", text.len());
        return Err(ParseError { column: 1, reason });
    }
    let mut reader = Reader { rest: text, column: 1 };
    let mut requirements = Vec::new();
    reader.skip_spaces();
    if reader.rest.is_empty() {
        return Ok(Selector::everything());
    }
    loop {
        requirements.push(reader.requirement()?);
        reader.skip_spaces();
        match reader.peek() {
            None => break,
            Some(',') => reader.bump(),
            Some(c) => return Err(reader.error(format!("expected a comma, found {c:?}"))),
        };
    }
    Selector::try_new(requirements).map_err(|invalid| reader.error(invalid.to_string()))
}

struct Reader<'a> {
    rest: &'a str,
    column: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        self.column += 1;
        Some(c)
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.bump();
        }
    }

    fn error(&self, reason: impl Into<String>) -> ParseError {
        ParseError { column: self.column, reason: reason.into() }
    }

    fn requirement(&mut self) -> Result<Requirement, ParseError> {
        self.skip_spaces();
        let start = self.column;
        if self.peek() == Some('!') {
            self.bump();
            self.skip_spaces();
            let key = self.word("a key")?;
            return located(start, Requirement::try_new(key, Test::Missing));
        }
        let key = self.word("a key")?;
        self.skip_spaces();
        let test = self.test()?;
        located(start, Requirement::try_new(key, test))
    }

    /// What comes after a key.
    fn test(&mut self) -> Result<Test, ParseError> {
        match self.peek() {
            None | Some(',') => Ok(Test::Exists),
            Some('=') => {
                self.bump();
                if self.peek() == Some('=') {
                    self.bump();
                }
                Ok(Test::Is(self.value()?))
            }
            Some('!') => {
                self.bump();
                if self.bump() != Some('=') {
                    return Err(ParseError { column: self.column - 1, reason: "expected \"!=\"".to_owned() });
                }
                Ok(Test::IsNot(self.value()?))
            }
            Some(c) => self.list_test(c),
        }
    }

    fn list_test(&mut self, found: char) -> Result<Test, ParseError> {
        let expected = "expected =, ==, !=, in, notin or a comma";
        if !is_bare(found) {
            return Err(self.error(format!("{expected}, found {found:?}")));
        }
        let column = self.column;
        let operator = self.word("an operator")?;
        match operator.as_str() {
            "in" => Ok(Test::In(self.list()?)),
            "notin" => Ok(Test::NotIn(self.list()?)),
            _ => Err(ParseError { column, reason: format!("{expected}, found {operator:?}") }),
        }
    }

    fn list(&mut self) -> Result<Vec<String>, ParseError> {
        self.skip_spaces();
        if self.peek() != Some('(') {
            return Err(self.error("expected a list in parentheses"));
        }
        self.bump();
        let mut values = Vec::new();
        loop {
            self.skip_spaces();
            values.push(self.word("a value")?);
            self.skip_spaces();
            match self.bump() {
                Some(',') => {}
                Some(')') => return Ok(values),
                Some(c) => {
                    let reason = format!("expected a comma or a closing parenthesis, found {c:?}");
                    return Err(ParseError { column: self.column - 1, reason });
                }
                None => return Err(self.error("the list is not closed")),
            }
        }
    }

    /// A value after an operator; nothing is the empty text, as in Kubernetes.
    fn value(&mut self) -> Result<String, ParseError> {
        self.skip_spaces();
        match self.peek() {
            None | Some(',') => Ok(String::new()),
            Some(_) => self.word("a value"),
        }
    }

    fn word(&mut self, what: &str) -> Result<String, ParseError> {
        match self.peek() {
            Some(quote @ ('"' | '\'')) => self.quoted(quote),
            Some(c) if is_bare(c) => {
                let mut word = String::new();
                while let Some(c) = self.peek().filter(|c| is_bare(*c)) {
                    word.push(c);
                    self.bump();
                }
                Ok(word)
            }
            Some(c) => Err(self.error(format!("expected {what}, found {c:?}"))),
            None => Err(self.error(format!("expected {what}, found the end"))),
        }
    }

    fn quoted(&mut self, quote: char) -> Result<String, ParseError> {
        let start = self.column;
        self.bump();
        let mut word = String::new();
        loop {
            match self.bump() {
                Some(c) if c == quote => return Ok(word),
                Some('\\') => match self.bump() {
                    Some(c @ ('"' | '\'' | '\\')) => word.push(c),
                    _ => {
                        let reason = "after a backslash comes a quote or a backslash".to_owned();
                        return Err(ParseError { column: self.column - 1, reason });
                    }
                },
                Some(c) => word.push(c),
                None => {
                    return Err(ParseError { column: start, reason: "the quote is not closed".to_owned() });
                }
            }
        }
    }
}

fn located(
    column: usize,
    requirement: Result<Requirement, InvalidSelector>,
) -> Result<Requirement, ParseError> {
    requirement.map_err(|invalid| ParseError { column, reason: invalid.to_string() })
}
