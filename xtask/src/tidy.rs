//! `cargo xtask tidy`: rules of the house that neither the compiler nor clippy knows. One module per rule; each takes
//! what it looks at as an argument and returns findings, so that its tests need no files. A finding names the place
//! and what to do about it.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

mod budgets;
mod conformance;
mod finding;
mod floors;
mod headers;
mod map;
mod metadata;
mod reach;
mod signposts;
mod tests_index;
mod tree;
mod walls;
mod words;

use finding::Finding;
use tree::Tree;

/// How much is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Everything.
    Full,
    /// All but the freshness of generated code, which takes seconds.
    Quick,
}

/// Runs every check, prints what it finds, and fails when there is anything.
pub(crate) fn run(root: &Path, depth: Depth) -> Result<ExitCode> {
    let tree = Tree::read(root)?;
    let graph = metadata::Graph::read(root)?;
    let tests = tests_index::TestIndex::build(&tree);
    let budgets = budgets::measure(&tree);

    let mut findings = Vec::new();
    findings.extend(floors::check(&graph));
    findings.extend(reach::check(&graph));
    findings.extend(walls::check(&tree));
    findings.extend(headers::check(&tree));
    findings.extend(budgets.findings());
    findings.extend(words::check(&tree));
    findings.extend(map::check(&tree, &graph));
    findings.extend(signposts::check(&tree));
    let (table, about_conformance) = conformance::check(&tree, &tests);
    findings.extend(about_conformance);
    if depth == Depth::Full && !crate::generate::is_fresh()? {
        let file = "crates/opamp-proto/src/wire/generated.rs";
        findings.push(Finding::new(file, 1, "is not what proto/*.proto gives", "run `cargo xtask generate`"));
    }

    findings.sort();
    let mut out = std::io::stdout().lock();
    for finding in &findings {
        writeln!(out, "{finding}")?;
    }
    writeln!(out, "{}", budgets.summary())?;
    writeln!(out, "{}", table.summary())?;
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints the block that ARCHITECTURE.md holds.
pub(crate) fn print_map() -> Result<()> {
    let graph = metadata::Graph::read(&crate::generate::root())?;
    std::io::stdout().write_all(map::draw(&graph).as_bytes()).context("print the map")
}
