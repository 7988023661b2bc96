//! The tests of the repository by name, in every language that it has tests in. Found by the way they are written,
//! not by running anything.

use super::budgets::function_name;
use super::tree::{Kind, SourceFile, Tree};

/// One test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Test {
    pub(crate) path: String,
    pub(crate) line: usize,
    /// The crate, for tests in Rust.
    pub(crate) crate_name: Option<String>,
    /// The function in Rust, Python and Go; the sentence in TypeScript.
    pub(crate) name: String,
}

/// Every test.
#[derive(Debug, Default)]
pub(crate) struct TestIndex {
    pub(crate) tests: Vec<Test>,
}

impl TestIndex {
    /// Reads the tests out of the files.
    pub(crate) fn build(tree: &Tree) -> Self {
        Self { tests: tree.sources().flat_map(tests_of).collect() }
    }

    /// Finds `crate::function` or `path/to/file: name`.
    pub(crate) fn find(&self, reference: &str) -> Option<&Test> {
        if let Some((path, name)) = reference.split_once(": ") {
            return self.tests.iter().find(|test| test.path == path && test.name == name);
        }
        let (crate_name, name) = reference.split_once("::")?;
        self.tests.iter().find(|test| test.crate_name.as_deref() == Some(crate_name) && test.name == name)
    }
}

fn tests_of(file: &SourceFile) -> Vec<Test> {
    let names = match file.kind {
        Kind::Rust => rust_tests(file),
        Kind::Script => file.lines().filter_map(|(line, text)| Some((line, script_test(text)?))).collect(),
        Kind::Python => {
            file.lines().filter_map(|(line, text)| Some((line, prefixed(text, "def test_")?))).collect()
        }
        Kind::Go => {
            file.lines().filter_map(|(line, text)| Some((line, prefixed(text, "func Test")?))).collect()
        }
        _ => Vec::new(),
    };
    let test = |(line, name): (usize, &str)| Test {
        path: file.path.clone(),
        line,
        crate_name: file.crate_name().map(str::to_owned),
        name: name.to_owned(),
    };
    names.into_iter().map(test).collect()
}

/// Functions below an attribute that ends in `test`.
fn rust_tests(file: &SourceFile) -> Vec<(usize, &str)> {
    let mut marked = false;
    let mut found = Vec::new();
    for (number, line) in file.lines() {
        let line = line.trim();
        if line.starts_with("#[") {
            marked |= is_test_attribute(line);
        } else if let Some(name) = function_name(line) {
            if marked {
                found.push((number, name));
            }
            marked = false;
        } else if !line.starts_with("//") {
            marked = marked && line.is_empty();
        }
    }
    found
}

fn is_test_attribute(line: &str) -> bool {
    let inner = line.trim_start_matches("#[");
    let path = inner.split(['(', ']', ' ']).next().unwrap_or(inner);
    path.rsplit("::").next() == Some("test")
}

/// The sentence in `test("…"` or `it('…'`.
fn script_test(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = ["test(", "it(", "test.each", "it.each"].iter().find_map(|start| line.strip_prefix(start))?;
    let open = rest.find(['"', '\'', '`'])?;
    let quote = rest[open..].chars().next()?;
    rest[open + 1..].split(quote).next()
}

/// The name that `start` is the beginning of: `test_…` of Python, `Test…` of Go.
fn prefixed<'a>(line: &'a str, start: &str) -> Option<&'a str> {
    let line = line.trim_start();
    let keyword = start.split(' ').next()?;
    let name = line.strip_prefix("async ").unwrap_or(line);
    if !name.starts_with(start) {
        return None;
    }
    name[keyword.len() + 1..].split('(').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_found_in_every_language() {
        let rust = "//! A.\n#[test]\nfn one() {}\n\n#[tokio::test(flavor = \"multi_thread\")]\n// why\nasync fn two() {}\n\
                    fn helper() {}\nproptest! {\n    #[test]\n    fn three(a in 0..3u8) {}\n}\n#[cfg(test)]\nmod tests {}\n";
        let tree = Tree::of(&[
            ("crates/model/tests/a.rs", rust),
            ("console/a.test.ts", "// A.\n  it('shows a row', () => {\n"),
            ("interop/tests/a.py", "# A.\ndef test_go_agent(world):\n    def help(): pass\n"),
            ("interop/go/a_test.go", "// A.\nfunc TestAgent(t *testing.T) {\n"),
        ]);
        let index = TestIndex::build(&tree);
        let names: Vec<&str> = index.tests.iter().map(|test| test.name.as_str()).collect();
        assert_eq!(names, ["one", "two", "three", "shows a row", "test_go_agent", "TestAgent"]);
        assert!(index.find("model::three").is_some());
        assert!(index.find("store::three").is_none());
        assert!(index.find("console/a.test.ts: shows a row").is_some());
    }
}
