//! The difference of two sets of files: of their lines, and of what it means to a Collector. Secrets are masked in
//! both, and that two secrets differ is shown all the same.

use crate::redact::redact_file;

use super::files::{ConfigFile, ConfigFiles};

mod lines;
mod meaning;
#[cfg(test)]
mod tests;

pub use meaning::MAX_CHANGES;

use super::collector::Area;

/// What differs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Difference {
    /// The files that differ, by name.
    pub files: Vec<FileDifference>,
    /// The components and pipelines that differ; none when neither side is a Collector's configuration, or when a
    /// side cannot be read.
    pub changes: Vec<ComponentChange>,
}

/// What happened to something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It is another.
    Changed,
}

/// One file that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDifference {
    /// Its name.
    pub name: String,
    /// What happened to it.
    pub change: Change,
    /// Every line of both sides, in order.
    pub lines: Vec<Line>,
}

/// A line of one side or of both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Where it is.
    pub kind: LineKind,
    /// The line without its end, secrets masked.
    pub text: String,
}

/// Where a line is, with its numbers from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// On both sides.
    Same {
        /// Its number on the old side.
        old: u32,
        /// Its number on the new side.
        new: u32,
    },
    /// On the new side.
    Added {
        /// Its number there.
        new: u32,
    },
    /// On the old side.
    Removed {
        /// Its number there.
        old: u32,
    },
}

/// A component or pipeline that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentChange {
    /// What it is.
    pub area: Area,
    /// Its name.
    pub name: String,
    /// What happened to it.
    pub change: Change,
    /// What differs in it, in words; empty unless it changed.
    pub detail: String,
}

impl Change {
    /// The word in the API, the console and the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

impl LineKind {
    /// The word in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Same { .. } => "same",
            Self::Added { .. } => "added",
            Self::Removed { .. } => "removed",
        }
    }
}

/// What differs between two sets of files.
pub fn diff(from: &ConfigFiles, to: &ConfigFiles) -> Difference {
    Difference { files: files(from.as_slice(), to.as_slice()), changes: meaning::changes(from, to) }
}

fn files(from: &[ConfigFile], to: &[ConfigFile]) -> Vec<FileDifference> {
    let find =
        |files: &[ConfigFile], name: &str| files.binary_search_by(|file| file.name.as_str().cmp(name)).ok();
    let mut names: Vec<&str> = from.iter().chain(to).map(|file| file.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut differences = Vec::new();
    for name in names {
        let (old, new) = (find(from, name).map(|at| &from[at]), find(to, name).map(|at| &to[at]));
        let change = match (old, new) {
            (Some(old), Some(new)) if old == new => continue,
            (Some(_), Some(_)) => Change::Changed,
            (Some(_), None) => Change::Removed,
            (None, _) => Change::Added,
        };
        let shown = |file: Option<&ConfigFile>| match file {
            Some(file) => redact_file(&file.content_type, &file.body).text,
            None => String::new(),
        };
        let (old_body, new_body) = (old.map_or("", |file| &file.body), new.map_or("", |file| &file.body));
        let lines = lines::lines((old_body, new_body), (&shown(old), &shown(new)));
        differences.push(FileDifference { name: name.to_owned(), change, lines });
    }
    differences
}
