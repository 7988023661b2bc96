//! How many agents each assignment misses because a stronger one decides about them.

use model::{AssignmentId, Selector};
use rusqlite::Connection;

use super::select::Selected;
use crate::error::StoreError;
use crate::store::Store;

/// What is known of an agent's row number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Row {
    /// No agent that counts: there is none, it was replaced, or it is pinned.
    Nobody,
    /// No assignment met so far matches it.
    Free,
    /// One does.
    Taken,
}

impl Store {
    /// For each assignment how many of the agents that it matches a stronger one decides about. The assignments come in
    /// the order of their precedence, the strongest first. Replaced and pinned agents do not count. Takes about a
    /// millisecond for each hundred thousand agents that are matched.
    pub async fn outranked_counts(
        &self,
        assignments: Vec<(AssignmentId, Selector)>,
    ) -> Result<Vec<(AssignmentId, u64)>, StoreError> {
        // The strongest is outranked by nobody.
        if let [alone] = &assignments[..] {
            return Ok(vec![(alone.0, 0)]);
        }
        self.read(move |reader| {
            let transaction = reader.conn.unchecked_transaction()?;
            let mut rows = rows(&transaction)?;
            assignments
                .iter()
                .map(|(id, selector)| Ok((*id, outranked(&Selected::of(&transaction, selector)?, &mut rows))))
                .collect()
        })
        .await
    }
}

/// Every row number up to the last agent's.
fn rows(conn: &Connection) -> Result<Vec<Row>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT id FROM agent WHERE replaced_by IS NULL AND uid NOT IN (SELECT uid FROM agent_override)",
    )?;
    let mut found = statement.query([])?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        let at = usize::try_from(row.get::<_, i64>(0)?).unwrap_or(0);
        if rows.len() <= at {
            rows.resize(at + 1, Row::Nobody);
        }
        rows[at] = Row::Free;
    }
    Ok(rows)
}

/// Takes the agents that are selected; how many of them were taken already.
fn outranked(selected: &Selected, rows: &mut [Row]) -> u64 {
    let mut count = 0;
    let mut take = |row: &mut Row| match *row {
        Row::Nobody => {}
        Row::Free => *row = Row::Taken,
        Row::Taken => count += 1,
    };
    match selected {
        Selected::Only(ids) => {
            for id in ids.iter() {
                if let Some(row) = usize::try_from(id).ok().and_then(|at| rows.get_mut(at)) {
                    take(row);
                }
            }
        }
        Selected::AllBut(_) => {
            for (id, row) in (0..).zip(rows.iter_mut()) {
                if *row != Row::Nobody && selected.contains(id) {
                    take(row);
                }
            }
        }
    }
    count
}
