//! The rows of docs/CONFORMANCE.md: tables whose first column is an id and whose last two are state and reason.

use std::collections::BTreeMap;

use super::super::finding::Finding;
use super::ids::Ids;

/// What a row says about its id; the head of the page explains them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    Tested,
    ByDesign,
    NotYet,
    NotApplicable,
}

impl State {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Tested, "tested"),
        (Self::ByDesign, "by design"),
        (Self::NotYet, "not yet"),
        (Self::NotApplicable, "not applicable"),
    ];
}

/// One row.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) id: String,
    pub(super) state: State,
    pub(super) reason: String,
    /// What stands in backticks in the last column.
    pub(super) references: Vec<String>,
}

/// All rows, in the order of the page.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(super) rows: Vec<Row>,
}

impl Table {
    /// Reads every table with a column `state`; what cannot be read is a finding.
    pub(super) fn parse(page: &str, text: &str, ids: &Ids) -> (Self, Vec<Finding>) {
        let mut table = Self::default();
        let mut findings = Vec::new();
        let mut columns = None;
        for (index, line) in text.lines().enumerate() {
            let cells = cells(line);
            match cells.as_slice() {
                [] => columns = None,
                ["id", .., "state", _] => columns = Some(cells.len()),
                [first, ..] if first.starts_with("---") => {}
                _ if columns.is_none() => {}
                cells => match row(index + 1, cells, columns, ids) {
                    Ok(row) => table.rows.push(row),
                    Err((what, remedy)) => findings.push(Finding::new(page, index + 1, what, remedy)),
                },
            }
        }
        (table, findings)
    }

    /// How many rows have which state.
    pub(crate) fn summary(&self) -> String {
        let mut counts: BTreeMap<State, usize> = BTreeMap::new();
        for row in &self.rows {
            *counts.entry(row.state).or_default() += 1;
        }
        let parts =
            State::ALL.map(|(state, word)| format!("{} {word}", counts.get(&state).copied().unwrap_or(0)));
        format!("conformance: {} rows: {}", self.rows.len(), parts.join(", "))
    }
}

fn row(
    line: usize,
    cells: &[&str],
    columns: Option<usize>,
    ids: &Ids,
) -> Result<Row, (String, &'static str)> {
    if Some(cells.len()) != columns {
        return Err((format!("the row has {} columns", cells.len()), "give it as many as its table has"));
    }
    let (id, state, reason) = (cells[0], cells[cells.len() - 2], cells[cells.len() - 1]);
    if !ids.contains(id) {
        return Err((format!("`{id}` is no id"), "use an id of docs/conformance/ids.txt"));
    }
    let Some((state, _)) = State::ALL.into_iter().find(|(_, word)| *word == state) else {
        return Err((format!("`{state}` is no state"), "use tested, by design, not yet or not applicable"));
    };
    let references = reason.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    Ok(Row { line, id: id.to_owned(), state, reason: reason.to_owned(), references })
}

/// The cells of a line of a table; none for any other line.
fn cells(line: &str) -> Vec<&str> {
    let line = line.trim();
    let Some(inner) = line.strip_prefix('|').and_then(|line| line.strip_suffix('|')) else {
        return Vec::new();
    };
    inner.split('|').map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_with_their_tests() {
        let text = "| state | means |\n|---|---|\n| tested | x |\n\n| id | level | state | why |\n|---|---|---|---|\n\
                    | A-1 | MUST | tested | `m::a`, `m::b` and more |\n";
        let (table, findings) = Table::parse("p", text, &Ids::parse("A-1"));
        assert_eq!(findings, []);
        assert_eq!(table.rows[0].references, ["m::a", "m::b"]);
        assert_eq!(table.rows[0].line, 7);
        assert_eq!(
            table.summary(),
            "conformance: 1 rows: 1 tested, 0 by design, 0 not yet, 0 not applicable"
        );
    }

    #[test]
    fn unknown_ids_and_short_rows_are_found() {
        let text = "| id | state | why |\n|---|---|---|\n| B-1 | tested | `a` |\n| A-1 | tested |\n";
        let (_, findings) = Table::parse("p", text, &Ids::parse("A-1"));
        let found: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert!(found[0].contains("`B-1` is no id"), "{found:?}");
        assert!(found[1].contains("has 2 columns"), "{found:?}");
    }
}
