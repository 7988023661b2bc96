//! What was decided about each agent's configuration: written behind by the control plane, read by lists and counts.

use std::collections::HashMap;

use bytes::Bytes;
use model::{AssignmentId, ConfigState, Place, RevisionId};
use opamp_proto::InstanceUid;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::error::StoreError;
use crate::store::Store;
use crate::value::{signed, unsigned};
use crate::writer::Durability;

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
    pub async fn place_agents(&self, places: Vec<(InstanceUid, Place)>) -> Result<(), StoreError> {
        self.write(Durability::Behind, places.len(), move |db| {
            let mut put = db.conn.prepare_cached(
                "INSERT INTO agent_config (agent_id, state, assignment_id, revision_id, reason)
                 SELECT id, ?2, ?3, ?4, ?5 FROM agent WHERE uid = ?1
                 ON CONFLICT (agent_id) DO UPDATE SET state = excluded.state,
                     assignment_id = excluded.assignment_id, revision_id = excluded.revision_id,
                     reason = excluded.reason",
            )?;
            for (uid, place) in &places {
                put.execute((
                    uid.as_bytes(),
                    place.state.number(),
                    place.assignment.map(|id| id.0),
                    place.revision.map(|id| id.0),
                    &place.reason,
                ))?;
            }
            Ok(())
        })
        .await
    }

    /// How many agents are in each state; those about which nothing was decided are unmanaged. Replaced agents do
    /// not count.
    pub async fn config_counts(&self) -> Result<HashMap<ConfigState, u64>, StoreError> {
        self.read(|reader| {
            let mut statement = reader.conn.prepare_cached(
                "SELECT coalesce(c.state, 0), count(*) FROM agent a LEFT JOIN agent_config c ON c.agent_id = a.id
                 WHERE a.replaced_by IS NULL GROUP BY coalesce(c.state, 0)",
            )?;
            let rows = statement.query_map([], |row| Ok((row.get::<_, u8>(0)?, row.get::<_, i64>(1)?)))?;
            let mut counts = HashMap::new();
            for row in rows {
                let (number, count) = row?;
                let state = ConfigState::from_number(number).unwrap_or(ConfigState::Unmanaged);
                *counts.entry(state).or_default() += unsigned(count);
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
