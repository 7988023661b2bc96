//! What was decided about each agent's configuration: written behind by the control plane, read by lists and counts.

use std::collections::HashMap;

use bytes::Bytes;
use model::{AssignmentId, ConfigState, Place, RevisionId};
use opamp_proto::InstanceUid;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::error::StoreError;
use crate::store::Store;
use crate::value::{signed, unsigned};
use crate::writer::{Db, Durability};

/// How many agents of an assignment are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssignmentCount {
    /// The assignment that decides about them.
    pub assignment: AssignmentId,
    /// How far they are.
    pub state: ConfigState,
    /// What they are to run.
    pub revision: Option<RevisionId>,
    /// Whether they are connected.
    pub connected: bool,
    /// How many.
    pub agents: u64,
}

impl Store {
    /// How far the agents of all assignments are.
    pub async fn assignment_counts(&self) -> Result<Vec<AssignmentCount>, StoreError> {
        self.read(|reader| {
            let mut statement = reader.conn.prepare_cached(
                "SELECT c.assignment_id, c.state, c.revision_id,
                     a.owner_epoch = ?1 AND a.disconnected_at IS NULL AS connected, count(*)
                 FROM agent_config c JOIN agent a ON a.id = c.agent_id
                 WHERE c.assignment_id IS NOT NULL AND a.replaced_by IS NULL
                 GROUP BY c.assignment_id, c.state, c.revision_id, connected",
            )?;
            let rows = statement.query_map([signed(reader.epoch)], |row| {
                Ok(AssignmentCount {
                    assignment: AssignmentId(row.get(0)?),
                    state: ConfigState::from_number(row.get(1)?).unwrap_or(ConfigState::Unmanaged),
                    revision: row.get::<_, Option<i64>>(2)?.map(RevisionId),
                    connected: row.get(3)?,
                    agents: unsigned(row.get(4)?),
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// Notes what was decided about agents. Agents that are not known are passed over.
    pub async fn place_agents(&self, mut places: Vec<(InstanceUid, Place)>) -> Result<(), StoreError> {
        // Neighbours share pages.
        places.sort_unstable_by_key(|(uid, _)| *uid);
        self.write(Durability::Behind, places.len(), move |db| {
            places.iter().try_for_each(|(uid, place)| put_place(db, *uid, place))
        })
        .await
    }

    /// How many agents are in each state; those about which nothing was decided are unmanaged. Replaced agents do
    /// not count.
    pub async fn config_counts(&self) -> Result<HashMap<ConfigState, u64>, StoreError> {
        self.read(|reader| {
            // Counted here: SQLite would sort a row for each agent.
            let mut statement = reader.conn.prepare_cached(
                "SELECT coalesce(c.state, 0) FROM agent a LEFT JOIN agent_config c ON c.agent_id = a.id
                 WHERE a.replaced_by IS NULL",
            )?;
            let mut counts = HashMap::new();
            for number in statement.query_map([], |row| row.get(0))? {
                let state = ConfigState::from_number(number?).unwrap_or(ConfigState::Unmanaged);
                *counts.entry(state).or_default() += 1;
            }
            Ok(counts)
        })
        .await
    }

    /// What was decided about an agent.
    pub async fn agent_place(&self, uid: InstanceUid) -> Result<Option<Place>, StoreError> {
        self.read(move |reader| {
            let mut statement = reader.conn.prepare_cached(
                "SELECT c.state, c.assignment_id, c.revision_id, c.reason FROM agent a
                 JOIN agent_config c ON c.agent_id = a.id WHERE a.uid = ?1",
            )?;
            Ok(statement.query_row([uid.as_bytes()], |row| place(row, 0)).optional()?)
        })
        .await
    }

    /// The effective configuration that an agent reported last, encoded as it came.
    pub async fn effective_config(&self, uid: InstanceUid) -> Result<Option<Bytes>, StoreError> {
        self.read(move |reader| {
            let mut statement = reader.conn.prepare_cached(
                "SELECT b.content FROM agent a JOIN agent_report r ON r.agent_id = a.id
                 JOIN blob b ON b.id = r.effective_config WHERE a.uid = ?1",
            )?;
            let content = statement.query_row([uid.as_bytes()], |row| row.get::<_, Vec<u8>>(0)).optional()?;
            Ok(content.map(Bytes::from))
        })
        .await
    }

    /// What was decided about several agents.
    pub async fn agent_places(
        &self,
        uids: Vec<InstanceUid>,
    ) -> Result<HashMap<InstanceUid, Place>, StoreError> {
        self.read(move |reader| places(&reader.conn, &uids)).await
    }

    /// What several agents are called; one that is forgotten is missing.
    pub async fn agent_names(
        &self,
        uids: Vec<InstanceUid>,
    ) -> Result<HashMap<InstanceUid, AgentName>, StoreError> {
        if uids.is_empty() {
            return Ok(HashMap::new());
        }
        self.read(move |reader| {
            let mut statement = reader.conn.prepare_cached("SELECT name, host FROM agent WHERE uid = ?1")?;
            let mut found = HashMap::with_capacity(uids.len());
            for uid in uids {
                let name = |row: &Row<'_>| Ok(AgentName { name: row.get(0)?, host: row.get(1)? });
                if let Some(name) = statement.query_row([uid.as_bytes()], name).optional()? {
                    found.insert(uid, name);
                }
            }
            Ok(found)
        })
        .await
    }
}

/// What people call an agent by. Empty: it did not say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentName {
    /// `service.name`.
    pub name: String,
    /// `host.name`.
    pub host: String,
}

/// Writes a place where it differs, and only into the indexes whose columns do: a fleet that gets another revision of its
/// configuration is in sync before and after, and that is one statement.
fn put_place(db: &mut Db<'_>, uid: InstanceUid, new: &Place) -> Result<(), StoreError> {
    let (assignment, revision) = (new.assignment.map(|id| id.0), new.revision.map(|id| id.0));
    let (state, reason) = (new.state.number(), &new.reason);
    if revision.is_some() {
        let to = (uid.as_bytes(), state, assignment, revision, reason);
        if db.statements.move_place.get()?.execute(to)? > 0 {
            return Ok(());
        }
    }
    let found = db.statements.select_place.get()?.query_row([uid.as_bytes()], |row| {
        let old = row.get::<_, Option<u8>>(1)?.map(|_| place(row, 1)).transpose()?;
        Ok((row.get::<_, i64>(0)?, old))
    });
    let Some((id, old)) = found.optional()? else { return Ok(()) };
    match old {
        None => {
            let insert = db.statements.insert_place.get()?;
            insert.execute((id, state, assignment, revision, reason))?;
        }
        Some(old) if old == *new => {}
        Some(old) if old.revision == new.revision => {
            db.statements.update_place_state.get()?.execute((id, state, assignment, reason))?;
        }
        Some(_) => {
            let update = db.statements.update_place.get()?;
            update.execute((id, state, assignment, revision, reason))?;
        }
    }
    Ok(())
}

fn places(conn: &Connection, uids: &[InstanceUid]) -> Result<HashMap<InstanceUid, Place>, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT c.state, c.assignment_id, c.revision_id, c.reason FROM agent a
         JOIN agent_config c ON c.agent_id = a.id WHERE a.uid = ?1",
    )?;
    let mut found = HashMap::with_capacity(uids.len());
    for uid in uids {
        if let Some(place) = statement.query_row([uid.as_bytes()], |row| place(row, 0)).optional()? {
            found.insert(*uid, place);
        }
    }
    Ok(found)
}

/// The place in a row that begins with state, assignment, revision and reason.
pub(super) fn place(row: &Row<'_>, first: usize) -> rusqlite::Result<Place> {
    Ok(Place {
        state: ConfigState::from_number(row.get(first)?).unwrap_or(ConfigState::Unmanaged),
        assignment: row.get::<_, Option<i64>>(first + 1)?.map(AssignmentId),
        revision: row.get::<_, Option<i64>>(first + 2)?.map(RevisionId),
        reason: row.get(first + 3)?,
    })
}
