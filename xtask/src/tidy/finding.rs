//! What a check has to say: where, what, and what to do.

use std::fmt;

/// One broken rule at one place. Sorts by place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    file: String,
    line: usize,
    what: String,
    remedy: String,
}

impl Finding {
    /// `line` counts from 1.
    pub(crate) fn new(file: &str, line: usize, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, what: what.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.file, self.line, self.what, self.remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_names_the_place_and_what_to_do() {
        let finding = Finding::new("a.rs", 7, "is too long", "split it");
        assert_eq!(finding.to_string(), "a.rs:7: is too long; split it");
    }
}
