//! Every source file opens with a header of 1 to 10 lines: what it is, what it is not, where to go next.

use super::finding::Finding;
use super::tree::{Kind, SourceFile, Tree};

const MAX_LINES: usize = 10;
/// Fewer letters than this say nothing that the file's name does not.
const MIN_LETTERS: usize = 12;

/// Checks every source file.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    // A page of HTML is a frame for what is written elsewhere.
    tree.sources().filter(|file| file.kind != Kind::Html).filter_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Option<Finding> {
    let remedy = "open it with 1 to 10 lines of comment: what it is, what it is not, where to go next";
    let Some((first, header)) = header(file) else {
        return Some(Finding::new(&file.path, 1, "has no header", remedy));
    };
    let crate_root = file.path.ends_with("/src/lib.rs");
    let finding = |what: String| Some(Finding::new(&file.path, first, what, remedy));
    if crate_root && !header[0].starts_with("//!") {
        return finding("a crate's header is documentation and starts with //!".to_owned());
    }
    let letters = header.iter().flat_map(|line| line.chars()).filter(|c| c.is_alphabetic()).count();
    if letters < MIN_LETTERS {
        return finding("the header says nothing".to_owned());
    }
    // A crate's header is its front page in the documentation and may show an example.
    let length = header.len() - drawn(&header);
    if length > MAX_LINES && !crate_root {
        return finding(format!("the header has {length} lines"));
    }
    None
}

/// Lines of a drawing between fences, which may be as tall as it has to be.
fn drawn(header: &[&str]) -> usize {
    let fences = header.iter().enumerate().filter(|(_, line)| line.contains("```")).map(|(index, _)| index);
    let fences: Vec<usize> = fences.collect();
    fences.chunks_exact(2).map(|pair| pair[1] - pair[0] + 1).sum()
}

/// The first comment of the file and the line where it starts.
fn header(file: &SourceFile) -> Option<(usize, Vec<&str>)> {
    let mut lines = file.lines().skip_while(|(_, line)| is_preamble(file.kind, line)).peekable();
    let &(first, opening) = lines.peek()?;
    let block: Vec<&str> = match block_end(file.kind, opening.trim_start()) {
        Some(end) => {
            let mut block = Vec::new();
            for (_, line) in lines {
                // An opening and closing mark can be the same, as in Python.
                let done = if block.is_empty() { closes(line, end) } else { line.contains(end) };
                block.push(line);
                if done {
                    break;
                }
            }
            block
        }
        None => {
            let marks = line_marks(file.kind);
            let is_comment = |line: &str| marks.iter().any(|mark| line.trim_start().starts_with(mark));
            lines.map(|(_, line)| line).take_while(|line| is_comment(line)).collect()
        }
    };
    (!block.is_empty()).then_some((first, block))
}

fn closes(line: &str, end: &str) -> bool {
    let line = line.trim();
    line.len() > end.len() && line[1..].contains(end) && (end != PYTHON || line.matches(end).count() > 1)
}

const PYTHON: &str = "\"\"\"";

/// The mark that ends a block comment which starts with this line.
fn block_end(kind: Kind, line: &str) -> Option<&'static str> {
    match kind {
        Kind::Svelte | Kind::Html if line.starts_with("<!--") => Some("-->"),
        Kind::Python if line.starts_with(PYTHON) => Some(PYTHON),
        Kind::Script | Kind::Css | Kind::Go | Kind::Java | Kind::Proto | Kind::Svelte
            if line.starts_with("/*") =>
        {
            Some("*/")
        }
        _ => None,
    }
}

fn line_marks(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Rust | Kind::Script | Kind::Svelte | Kind::Proto | Kind::Go | Kind::Java => &["//"],
        Kind::Sql => &["--"],
        Kind::Shell | Kind::Python => &["#"],
        Kind::Css | Kind::Html | Kind::Prose | Kind::Other => &[],
    }
}

/// What has to come before the header by the rules of its language.
fn is_preamble(kind: Kind, line: &str) -> bool {
    let line = line.trim().to_lowercase();
    line.is_empty()
        || line.starts_with("#!")
        || line.starts_with("//go:build")
        || line.starts_with("<!doctype")
        || (kind == Kind::Svelte && line.starts_with("<script"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(path: &str, text: &str) -> Option<String> {
        check_file(&SourceFile::new(path, text)).map(|finding| finding.to_string())
    }

    #[test]
    fn a_header_is_found_in_every_language() {
        for (path, text) in [
            ("a.rs", "//! What this file is.\n\nfn a() {}\n"),
            ("a.ts", "// What this file is.\n"),
            ("a.go", "//go:build linux\n\n// What this file is.\npackage a\n"),
            ("a.java", "/* What this file is. */\nclass A {}\n"),
            ("a.py", "#!/usr/bin/env python3\n\"\"\"What this file is.\"\"\"\n"),
            ("a.py", "\"\"\"What this file is,\nin two lines.\n\"\"\"\nimport os\n"),
            ("a.sql", "-- What this file is.\nSELECT 1;\n"),
            ("a.sh", "#!/bin/sh\n# What this file is.\n"),
            ("a.svelte", "<!-- What this file is. -->\n<p></p>\n"),
            ("a.svelte", "<script lang=\"ts\">\n  // What this file is.\n</script>\n"),
            ("a.css", "/* What this file is. */\n"),
            ("Makefile", "# What this file is.\nall:\n"),
        ] {
            assert_eq!(finds(path, text), None, "{path}");
        }
    }

    #[test]
    fn a_file_without_a_header_is_found() {
        let found = finds("a.rs", "\nuse b;\n").unwrap();
        assert!(found.starts_with("a.rs:1: has no header; open it with 1 to 10 lines"), "{found}");
        assert!(finds("a.py", "import os\n").is_some());
        assert!(finds("a.css", "p {}\n").is_some());
    }

    #[test]
    fn an_empty_or_endless_header_is_found() {
        assert!(finds("a.rs", "//! A.\nfn a() {}\n").is_some());
        assert!(finds("a.rs", &"//! Another line of words.\n".repeat(11)).unwrap().contains("has 11 lines"));
        let drawing = format!("//! What it is.\n//! ```text\n{}//! ```\n", "//! a -> b\n".repeat(20));
        assert_eq!(finds("a.rs", &drawing), None);
        assert!(finds("crates/a/src/lib.rs", &"//! Another line of words.\n".repeat(11)).is_none());
    }

    #[test]
    fn a_crate_opens_with_documentation() {
        let found = finds("crates/a/src/lib.rs", "// What this crate is for.\n").unwrap();
        assert!(found.contains("starts with //!"), "{found}");
    }
}
