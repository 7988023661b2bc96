//! Checks the files of a configuration before anybody gets them: syntax first, then, for a Collector's configuration,
//! whether its pipelines hold together. An error keeps it from being written; a warning is only said.

use std::fmt;

use super::files::{ConfigFile, ConfigFiles, Format, InvalidFiles};
use super::tree::{Node, ParseError, Place, Value};
use super::yaml::Budget;
use super::{collector, document};

/// More problems than these are not told.
pub const MAX_PROBLEMS: usize = 200;

/// Something that is wrong or odd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The name of the file.
    pub file: String,
    /// From 1; 0: it is about the whole file.
    pub line: u32,
    /// In characters from 1; 0: it is about the whole line.
    pub column: u32,
    /// How bad it is.
    pub severity: Severity,
    /// What it is.
    pub message: String,
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The configuration is not accepted.
    Error,
    /// It is accepted, and somebody should look.
    Warning,
}

impl Severity {
    /// The word in the API, the console and the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<&InvalidFiles> for Problem {
    fn from(error: &InvalidFiles) -> Self {
        let file = error.file().unwrap_or_default().to_owned();
        Self { file, line: 0, column: 0, severity: Severity::Error, message: error.to_string() }
    }
}

/// What is wrong with these files, by file and line; at most [`MAX_PROBLEMS`]. Places in JSON are known for errors of
/// its syntax only.
pub fn check(files: &ConfigFiles) -> Vec<Problem> {
    let files = files.as_slice();
    let mut found: Vec<(Place, Severity, String)> = Vec::new();
    let (mut roots, mut budget) = (Vec::new(), Budget::default());
    for (number, file) in files.iter().enumerate() {
        match read(file, number, &mut budget) {
            Ok(document) => {
                if let Some(place) = document.second {
                    let message = "a second document begins here; agents read the first one only";
                    found.push((place, Severity::Warning, message.to_owned()));
                }
                if let Some((place, message)) = no_map(file, number, document.root.as_deref()) {
                    found.push((place, Severity::Warning, message.to_owned()));
                }
                roots.extend(document.root);
            }
            Err(ParseError { place, reason }) => found.push((place, Severity::Error, reason)),
        }
    }
    // What a broken file would have defined is not known, so nothing is said about what is missing.
    if !found.iter().any(|(_, severity, _)| *severity == Severity::Error) {
        for remark in document::merge(roots).iter().flat_map(|root| collector::remarks(root)) {
            let severity = if remark.is_error { Severity::Error } else { Severity::Warning };
            found.push((remark.place, severity, remark.message));
        }
    }
    found.sort_by_key(|(place, severity, _)| (*place, *severity == Severity::Warning));
    found.into_iter().take(MAX_PROBLEMS).map(|found| problem(files, found)).collect()
}

/// What to say of a structured file that holds no sections. Only a warning: other agents than Collectors may read it.
fn no_map(file: &ConfigFile, number: usize, root: Option<&Node>) -> Option<(Place, &'static str)> {
    let whole = Place { file: u16::try_from(number).unwrap_or(u16::MAX), line: 0, column: 0 };
    let (place, what) = match (file.format(), root) {
        (Format::Other, _) => return None,
        (_, None) => return Some((whole, "the file is empty")),
        (_, Some(root)) => (root.place, &root.value),
    };
    match what {
        Value::Map(_) => None,
        _ if root.is_some_and(Node::is_nothing) => Some((whole, "the file is empty")),
        Value::List(_) => {
            Some((place, "this is a list; a Collector reads a map with sections such as receivers"))
        }
        Value::Scalar(_) => {
            Some((place, "this is a single value; a Collector reads a map with sections such as receivers"))
        }
    }
}

fn read(file: &ConfigFile, number: usize, budget: &mut Budget) -> Result<document::Document, ParseError> {
    document::read(file.format(), &file.body, u16::try_from(number).unwrap_or(u16::MAX), budget)
}

fn problem(files: &[ConfigFile], (place, severity, message): (Place, Severity, String)) -> Problem {
    let file = files.get(usize::from(place.file)).map(|file| file.name.clone()).unwrap_or_default();
    Problem { file, line: place.line, column: place.column, severity, message }
}

#[cfg(test)]
mod tests;
