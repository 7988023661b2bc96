//! Files that the pages name in backticks exist, so that ARCHITECTURE.md and the decisions lead somewhere. A name may
//! leave out the folders before it.

use super::finding::Finding;
use super::tree::{SourceFile, Tree};

/// Endings of names that are meant as files.
const ENDINGS: &[&str] = &[".rs", ".toml", ".sql", ".proto", ".py", ".ts", ".svelte"];

/// Looks at ARCHITECTURE.md and the pages of decisions.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let is_page =
        |file: &&SourceFile| file.path == "ARCHITECTURE.md" || file.path.starts_with("docs/decisions/");
    tree.files.iter().filter(is_page).flat_map(|page| check_page(page, tree)).collect()
}

fn check_page(page: &SourceFile, tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (number, line) in page.lines() {
        for name in line.split('`').skip(1).step_by(2).filter(|name| is_file_name(name)) {
            if !exists(name, tree) {
                let what = format!("there is no file `{name}`");
                findings.push(Finding::new(&page.path, number, what, "name the file as it is called today"));
            }
        }
    }
    findings
}

fn is_file_name(name: &str) -> bool {
    ENDINGS.iter().any(|ending| name.len() > ending.len() && name.ends_with(ending))
        && !name.contains(['*', ' '])
}

fn exists(name: &str, tree: &Tree) -> bool {
    tree.files.iter().any(|file| match file.path.strip_suffix(name) {
        Some(before) => before.is_empty() || before.ends_with('/'),
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_a_page_names_exists() {
        let page =
            "# A\n`agents/apply.rs` and `apply.rs`, `x::y`, `proto/*.proto`, `pply.rs` and `gone.rs`\n";
        let tree = Tree::of(&[("ARCHITECTURE.md", page), ("crates/store/src/agents/apply.rs", "")]);
        let found: Vec<String> = check(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "ARCHITECTURE.md:2: there is no file `pply.rs`; name the file as it is called today",
                "ARCHITECTURE.md:2: there is no file `gone.rs`; name the file as it is called today",
            ]
        );
    }
}
