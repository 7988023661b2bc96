//! docs/CONFORMANCE.md is in step: every id has exactly one row, every row a known state and what that state needs,
//! every named test exists, and every test that carries an id is named by the row of that id.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Finding;
use super::tests_index::TestIndex;
use super::tree::Tree;

mod ids;
mod table;

use ids::Ids;
pub(crate) use table::Table;
use table::{Row, State};

const PAGE: &str = "docs/CONFORMANCE.md";
const LIST: &str = "docs/conformance/ids.txt";

/// Checks the page against the list of ids and the tests.
pub(crate) fn check(tree: &Tree, tests: &TestIndex) -> (Table, Vec<Finding>) {
    let (Some(page), Some(list)) = (tree.get(PAGE), tree.get(LIST)) else {
        let finding = Finding::new(
            PAGE,
            1,
            "is missing, or its list of ids",
            "restore docs/CONFORMANCE.md and ids.txt",
        );
        return (Table::default(), vec![finding]);
    };
    let ids = Ids::parse(&list.text);
    let (table, mut findings) = Table::parse(PAGE, &page.text, &ids);
    findings.extend(ids.repeated().map(|(line, id)| {
        Finding::new(LIST, line, format!("`{id}` is listed twice"), "keep one: an id is never used again")
    }));
    findings.extend(rows_per_id(&table, &ids));
    findings.extend(table.rows.iter().filter_map(|row| check_row(row, tests)));
    findings.extend(tests_with_ids(&table, &ids, tests));
    (table, findings)
}

fn rows_per_id(table: &Table, ids: &Ids) -> Vec<Finding> {
    let mut lines: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for row in &table.rows {
        lines.entry(&row.id).or_default().push(row.line);
    }
    let mut findings = Vec::new();
    for id in ids.all() {
        let lines = lines.get(id).map(Vec::as_slice).unwrap_or_default();
        if lines.is_empty() {
            findings.push(Finding::new(PAGE, 1, format!("`{id}` has no row"), "add its row"));
        }
        let again =
            |line: &usize| Finding::new(PAGE, *line, format!("`{id}` has a second row"), "merge the rows");
        findings.extend(lines.iter().skip(1).map(again));
    }
    findings
}

fn check_row(row: &Row, tests: &TestIndex) -> Option<Finding> {
    let finding = |what: String, remedy: &str| Some(Finding::new(PAGE, row.line, what, remedy));
    if row.state == State::Tested && row.references.is_empty() {
        return finding(format!("`{}` is tested, but by no test", row.id), "name the test in backticks");
    }
    if row.state != State::Tested && row.reason.is_empty() {
        return finding(
            format!("`{}` gives no reason", row.id),
            "say where, why or whom, as the head of the page asks",
        );
    }
    // Backticks hold a test only in rows that say so; elsewhere they hold code.
    let is_missing = |reference: &&String| row.state == State::Tested && tests.find(reference).is_none();
    let missing = row.references.iter().find(is_missing)?;
    finding(
        format!("`{}` names the test `{missing}`, which does not exist", row.id),
        "name the test that proves it today",
    )
}

fn tests_with_ids(table: &Table, ids: &Ids, tests: &TestIndex) -> Vec<Finding> {
    let named: BTreeSet<(&str, &str)> = table
        .rows
        .iter()
        .flat_map(|row| row.references.iter().map(|reference| (row.id.as_str(), reference.as_str())))
        .collect();
    let mut findings = Vec::new();
    for test in &tests.tests {
        for id in ids.carried_by(&test.name) {
            if !ids.contains(&id) {
                let what = format!("`{}` carries the id {id}, which does not exist", test.name);
                findings.push(Finding::new(
                    &test.path,
                    test.line,
                    what,
                    "use an id of docs/conformance/ids.txt",
                ));
                continue;
            }
            let reference = match &test.crate_name {
                Some(name) => format!("{name}::{}", test.name),
                None => format!("{}: {}", test.path, test.name),
            };
            if !named.contains(&(id.as_str(), reference.as_str())) {
                let what = format!("the row of {id} in {PAGE} does not name this test");
                findings.push(Finding::new(&test.path, test.line, what, format!("add `{reference}` to it")));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# C\n\n| id | what | state | test or reason |\n|---|---|---|---|\n";

    fn run(rows: &str, code: &str) -> Vec<String> {
        let page = format!("{HEAD}{rows}");
        let tree = Tree::of(&[(PAGE, &page), (LIST, "SEQ-4\nS34\n"), ("crates/model/src/a.rs", code)]);
        let (_, findings) = check(&tree, &TestIndex::build(&tree));
        findings.iter().map(ToString::to_string).collect()
    }

    const GOOD: &str = "| SEQ-4 | x | tested | `model::seq_4_it_asks` |\n| S34 | y | not yet | bombs |\n";
    const TEST: &str = "//! A.\n#[test]\nfn seq_4_it_asks() {}\n";

    #[test]
    fn a_page_in_step_is_fine() {
        assert_eq!(run(GOOD, TEST), Vec::<String>::new());
    }

    #[test]
    fn a_missing_and_a_double_row_are_found() {
        let found = run("| SEQ-4 | x | not yet | y |\n| SEQ-4 | x | not yet | y |\n", "");
        assert_eq!(
            found,
            [
                "docs/CONFORMANCE.md:1: `S34` has no row; add its row",
                "docs/CONFORMANCE.md:6: `SEQ-4` has a second row; merge the rows",
            ]
        );
    }

    #[test]
    fn a_named_test_has_to_exist() {
        let found = run(GOOD, "//! A.\nfn seq_4_it_asks() {}\n");
        assert!(
            found[0].contains("names the test `model::seq_4_it_asks`, which does not exist"),
            "{found:?}"
        );
    }

    #[test]
    fn states_are_known_and_have_reasons() {
        let found = run("| SEQ-4 | x | done | y |\n| S34 | y | by design | |\n", "");
        assert!(found[0].contains("`done` is no state"), "{found:?}");
        assert!(found.iter().any(|line| line.contains("`S34` gives no reason")), "{found:?}");
    }

    #[test]
    fn a_test_with_an_id_is_named_by_its_row() {
        let code = format!("{TEST}#[test]\nfn s34_a_bomb() {{}}\n#[test]\nfn seq_99_x() {{}}\n");
        let found = run(GOOD, &code);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].contains("the row of S34 in docs/CONFORMANCE.md does not name this test"),
            "{found:?}"
        );
        assert!(found[1].contains("carries the id SEQ-99, which does not exist"), "{found:?}");
    }
}
