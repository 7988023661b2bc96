//! Evaluates a selector on the index of attributes.

use std::borrow::Cow;

use model::Selector;
use model::selector::{Requirement, Test};
use rusqlite::{Connection, OptionalExtension, Rows};

use super::attributes::index_value;
use super::posting::{Chunk, IdSet};
use crate::error::StoreError;

/// The agents that a selector selects.
pub(super) enum Selected {
    /// These.
    Only(IdSet),
    /// All but these.
    AllBut(IdSet),
}

impl Selected {
    pub(super) fn of(conn: &Connection, selector: &Selector) -> Result<Self, StoreError> {
        let mut only: Option<IdSet> = None;
        let mut but = IdSet::default();
        for requirement in selector.requirements() {
            let (is_wanted, found) = agents_with(conn, requirement)?;
            if !is_wanted {
                but.union(found);
                continue;
            }
            only = Some(match only.take() {
                None => found,
                Some(mut both) => {
                    both.intersect(&found);
                    both
                }
            });
        }
        Ok(match only {
            Some(mut only) => {
                only.subtract(&but);
                Self::Only(only)
            }
            None => Self::AllBut(but),
        })
    }

    pub(super) fn contains(&self, id: i64) -> bool {
        match self {
            Self::Only(ids) => ids.contains(id),
            Self::AllBut(ids) => !ids.contains(id),
        }
    }
}

/// The agents that have a requirement's key, or one of its values; and whether it wants or refuses them.
fn agents_with(conn: &Connection, requirement: &Requirement) -> Result<(bool, IdSet), StoreError> {
    let (is_wanted, values) = match requirement.test() {
        Test::Is(value) => (true, std::slice::from_ref(value)),
        Test::IsNot(value) => (false, std::slice::from_ref(value)),
        Test::In(values) => (true, &values[..]),
        Test::NotIn(values) => (false, &values[..]),
        Test::Exists => (true, &[][..]),
        Test::Missing => (false, &[][..]),
    };
    let mut found = IdSet::default();
    let mut select_key = conn.prepare_cached("SELECT id FROM attribute_key WHERE name = ?1")?;
    let key = select_key.query_row([requirement.key()], |row| row.get::<_, i64>(0)).optional()?;
    let Some(key) = key else { return Ok((is_wanted, found)) };
    if values.is_empty() {
        let mut all = conn.prepare_cached("SELECT chunk, ids FROM agent_attribute WHERE key_id = ?1")?;
        collect(all.query([key])?, &mut found)?;
    }
    let mut one =
        conn.prepare_cached("SELECT chunk, ids FROM agent_attribute WHERE key_id = ?1 AND value = ?2")?;
    for value in values {
        collect(one.query((key, index_value(Cow::Borrowed(value))))?, &mut found)?;
    }
    Ok((is_wanted, found))
}

fn collect(mut rows: Rows<'_>, found: &mut IdSet) -> Result<(), StoreError> {
    while let Some(row) = rows.next()? {
        let bytes = row.get_ref(1)?.as_blob().map_err(|_| StoreError::Corrupt("set of agents"))?;
        found.add(row.get(0)?, Chunk::decode(bytes)?);
    }
    Ok(())
}
