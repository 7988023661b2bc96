//! What is wrong with Compose files, and the list where it is gathered.

use std::collections::HashSet;
use std::fmt;

use super::SourceFile;
use super::walk::At;
pub use crate::config::check::Severity;
use crate::config::tree::Place;

/// More problems than these are not told.
const MAX_PROBLEMS: usize = 200;

/// Something that is wrong or odd.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The name of the file; empty when it is about none.
    pub file: String,
    /// From 1; 0: it is about the whole file.
    pub line: u32,
    /// In characters from 1; 0: it is about the whole line.
    pub column: u32,
    /// Where in the tree, such as `services.web.ports[0]`; empty: the whole.
    pub path: String,
    /// How bad it is.
    pub severity: Severity,
    /// What it is and what to do.
    pub text: String,
}

/// `compose.yaml:3:5: error: services.web.build: …`
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, path, severity, text } = self;
        if !file.is_empty() {
            write!(f, "{file}:")?;
        }
        if *line > 0 {
            write!(f, "{line}:{column}:")?;
        }
        if !file.is_empty() || *line > 0 {
            write!(f, " ")?;
        }
        write!(f, "{severity}: ")?;
        if !path.is_empty() {
            write!(f, "{path}: ")?;
        }
        f.write_str(text)
    }
}

/// The list.
pub(super) struct Problems<'a> {
    files: &'a [SourceFile<'a>],
    list: Vec<(Place, Problem)>,
    said: HashSet<(Place, String)>,
    errors: usize,
    dropped: usize,
}

impl<'a> Problems<'a> {
    pub(super) fn new(files: &'a [SourceFile<'a>]) -> Self {
        Self { files, list: Vec::new(), said: HashSet::new(), errors: 0, dropped: 0 }
    }

    pub(super) fn error(&mut self, at: &At, text: impl Into<String>) {
        self.push(at.place, &at.path, Severity::Error, text.into());
    }

    pub(super) fn warn(&mut self, at: &At, text: impl Into<String>) {
        self.push(at.place, &at.path, Severity::Warning, text.into());
    }

    pub(super) fn error_at(&mut self, place: Place, path: &str, text: impl Into<String>) {
        self.push(place, path, Severity::Error, text.into());
    }

    pub(super) fn warn_at(&mut self, place: Place, path: &str, text: impl Into<String>) {
        self.push(place, path, Severity::Warning, text.into());
    }

    /// Something about the files as a whole.
    pub(super) fn error_of_all(&mut self, text: impl Into<String>) {
        let problem = Problem {
            file: String::new(),
            line: 0,
            column: 0,
            path: String::new(),
            severity: Severity::Error,
            text: text.into(),
        };
        self.errors += 1;
        self.list.push((Place::default(), problem));
    }

    pub(super) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Whether nothing more is told, so that nobody needs to think of good words.
    pub(super) fn is_full(&self) -> bool {
        self.list.len() >= MAX_PROBLEMS
    }

    pub(super) fn file_name(&self, place: Place) -> String {
        self.files.get(usize::from(place.file)).map(|file| file.name.to_owned()).unwrap_or_default()
    }

    /// `compose.yaml:3:5`
    pub(super) fn shown_place(&self, place: Place) -> String {
        format!("{}:{}:{}", self.file_name(place), place.line, place.column)
    }

    fn push(&mut self, place: Place, path: &str, severity: Severity, text: String) {
        if severity == Severity::Error {
            self.errors += 1;
        }
        if self.list.len() >= MAX_PROBLEMS {
            self.dropped += 1;
            return;
        }
        // What an anchor or `extends` brings to many services is wrong once.
        if !self.said.insert((place, text.clone())) {
            return;
        }
        let Place { line, column, .. } = place;
        let problem =
            Problem { file: self.file_name(place), line, column, path: path.to_owned(), severity, text };
        self.list.push((place, problem));
    }

    /// In the order of files and lines.
    pub(super) fn into_list(mut self) -> Vec<Problem> {
        self.list.sort_by_key(|(place, _)| *place);
        let mut list: Vec<Problem> = self.list.into_iter().map(|(_, problem)| problem).collect();
        if self.dropped > 0 {
            list.push(Problem {
                file: String::new(),
                line: 0,
                column: 0,
                path: String::new(),
                severity: if self.errors > 0 { Severity::Error } else { Severity::Warning },
                text: format!("{} more problems are not shown", self.dropped),
            });
        }
        list
    }
}
