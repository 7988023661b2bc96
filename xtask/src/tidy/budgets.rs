//! How long files and functions are. A limit is a reason to look, so it has a list of exceptions, each with its reason.

use super::finding::Finding;
use super::tree::{Kind, SourceFile, Tree};

const MAX_FILE: usize = 800;
const MAX_FUNCTION: usize = 80;

/// Files that may be longer, and why.
const LONG_FILES: &[(&str, &str)] = &[];

/// Functions that may be longer, as `path::name`, and why.
const LONG_FUNCTIONS: &[(&str, &str)] = &[];

/// One file or function.
#[derive(Debug, Clone)]
struct Piece {
    path: String,
    line: usize,
    name: Option<String>,
    length: usize,
}

/// What was measured.
#[derive(Debug, Default)]
pub(crate) struct Budgets {
    files: Vec<Piece>,
    functions: Vec<Piece>,
}

/// Measures source files, and functions of Rust.
pub(crate) fn measure(tree: &Tree) -> Budgets {
    let mut budgets = Budgets::default();
    for file in tree.sources() {
        let length = file.text.lines().count();
        budgets.files.push(Piece { path: file.path.clone(), line: 1, name: None, length });
        if file.kind == Kind::Rust {
            budgets.functions.extend(functions(file));
        }
    }
    budgets.files.sort_by_key(|piece| piece.length);
    budgets.functions.sort_by_key(|piece| piece.length);
    budgets
}

impl Budgets {
    /// What is over the limits without a reason, and reasons for what is not.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for file in self.files.iter().filter(|file| file.length > MAX_FILE) {
            if !LONG_FILES.iter().any(|(path, _)| *path == file.path) {
                let what = format!("the file has {} lines, the limit is {MAX_FILE}", file.length);
                findings.push(Finding::new(&file.path, 1, what, "split it by the nouns it owns"));
            }
        }
        for function in self.functions.iter().filter(|function| function.length > MAX_FUNCTION) {
            let name = function.name.as_deref().unwrap_or_default();
            let full = format!("{}::{name}", function.path);
            if !LONG_FUNCTIONS.iter().any(|(known, _)| *known == full) {
                let what = format!("`{name}` has {} lines, the limit is {MAX_FUNCTION}", function.length);
                findings.push(Finding::new(&function.path, function.line, what, "give its parts names"));
            }
        }
        findings
    }

    /// A line for people.
    pub(crate) fn summary(&self) -> String {
        format!("files: {}; Rust functions: {}", spread(&self.files), spread(&self.functions))
    }
}

/// Expects the pieces sorted by length.
fn spread(pieces: &[Piece]) -> String {
    let Some(longest) = pieces.last() else { return "none".to_owned() };
    let at = |percent: usize| pieces[(pieces.len() - 1) * percent / 100].length;
    let name = longest.name.as_ref().map(|name| format!("::{name}")).unwrap_or_default();
    let longest = format!("{} ({}{name})", longest.length, longest.path);
    format!("{}, median {} lines, 90 % up to {}, longest {longest}", pieces.len(), at(50), at(90))
}

/// Functions with their lengths. Leans on rustfmt: a body ends with a brace at the depth of its `fn`.
fn functions(file: &SourceFile) -> Vec<Piece> {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        if let Some(length) = body_length(&lines[index..], indent) {
            found.push(Piece {
                path: file.path.clone(),
                line: index + 1,
                name: Some(name.to_owned()),
                length,
            });
        }
    }
    found
}

/// The name of the function that this line begins to define.
pub(crate) fn function_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    loop {
        if let Some(name) = rest.strip_prefix("fn ") {
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_')?;
            return Some(&name[..end]);
        }
        let (word, after) = rest.split_once(' ')?;
        let before_fn = matches!(word, "pub" | "async" | "const" | "unsafe" | "extern" | "default" | "\"C\"");
        if !before_fn && !word.starts_with("pub(") {
            return None;
        }
        rest = after;
    }
}

fn body_length(lines: &[&str], indent: &str) -> Option<usize> {
    let end = format!("{indent}}}");
    let first = lines[0].trim_end();
    if first.ends_with(';') && !first.contains('{') {
        return None;
    }
    if first.ends_with('}') && first.contains('{') {
        return Some(1);
    }
    for (index, line) in lines.iter().enumerate().skip(1) {
        let line = line.trim_end();
        if line == end {
            return Some(index + 1);
        }
        let signature_ends = line.strip_prefix(indent).is_some_and(|line| line.starts_with(')'));
        if signature_ends && line.ends_with(';') {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(text: &str) -> Vec<(String, usize)> {
        let pieces = functions(&SourceFile::new("a.rs", text));
        pieces.into_iter().map(|piece| (piece.name.unwrap(), piece.length)).collect()
    }

    #[test]
    fn functions_are_measured_from_their_name_to_their_last_brace() {
        let text = "pub(crate) fn one() { 1 }\n\
                    impl A {\n    pub async fn two(\n        &self,\n    ) -> u8 {\n        if a {\n        }\n    }\n}\n\
                    trait B {\n    fn three(&self);\n    fn four(\n        &self,\n    ) -> u8;\n    fn five(&self) {}\n}\n";
        let expected = [("one", 1), ("two", 6), ("five", 1)].map(|(name, length)| (name.to_owned(), length));
        assert_eq!(lengths(text), expected);
    }

    #[test]
    fn what_is_over_a_limit_is_found() {
        let long = format!("//! A.\nfn long() {{\n{}}}\n", "    a();\n".repeat(79));
        let tree = Tree::of(&[("a.rs", &long), ("b.sql", &"-- x\n".repeat(801))]);
        let findings: Vec<String> = measure(&tree).findings().iter().map(ToString::to_string).collect();
        assert_eq!(
            findings,
            [
                "b.sql:1: the file has 801 lines, the limit is 800; split it by the nouns it owns",
                "a.rs:2: `long` has 81 lines, the limit is 80; give its parts names",
            ]
        );
    }

    #[test]
    fn the_summary_names_median_and_longest() {
        let tree =
            Tree::of(&[("a.rs", "//! A.\nfn a() {}\n"), ("b.rs", "//! B.\n"), ("c.rs", "//! C.\n\n\n")]);
        assert_eq!(
            measure(&tree).summary(),
            "files: 3, median 2 lines, 90 % up to 2, longest 3 (c.rs); \
             Rust functions: 1, median 1 lines, 90 % up to 1, longest 1 (a.rs::a)"
        );
    }
}
