//! Assignments, what their rollouts granted to single agents, and overrides. Decisions are the control plane's: here
//! a decision is written whole, in one transaction, or not at all.

use model::assignment::{Fault, FaultKind};
use model::{Assignment, AssignmentId, ConfigId, Grant, RevisionId, Selector, UnixMillis};
use opamp_proto::InstanceUid;
use rusqlite::{Connection, OptionalExtension, Row};

use crate::audit::{self, AuditEntry};
use crate::error::StoreError;
use crate::store::Store;
use crate::value::{self, signed, unsigned};
use crate::writer::Durability;

/// A change of an assignment. `assignment` is how it is to be, with the version that it was made from.
#[derive(Debug, Clone, PartialEq)]
pub struct AssignmentChange {
    /// Everything about it.
    pub assignment: Assignment,
    /// What the rollout grants.
    pub grant: Vec<(InstanceUid, Grant)>,
    /// Whose faults an operator forgives.
    pub forgive: Vec<InstanceUid>,
    /// Whether all grants are done with: what is settled says it now.
    pub settle: bool,
}

impl AssignmentChange {
    /// A change of the assignment alone.
    pub const fn of(assignment: Assignment) -> Self {
        Self { assignment, grant: Vec::new(), forgive: Vec::new(), settle: false }
    }
}

/// An agent that is pinned to a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// Which agent.
    pub uid: InstanceUid,
    /// What it is to run.
    pub revision: RevisionId,
    /// Who wants it.
    pub created_by: String,
    /// Since when.
    pub created_at: UnixMillis,
}

const COLUMNS: &str =
    "id, config_id, selector, priority, state, settled_revision, target_revision, batch_percent,
    batch_size, batches, pause_kind, pause_agent, pause_text, created_by, created_at, updated_at, version";

impl Store {
    /// All assignments, the oldest first.
    pub async fn assignments(&self) -> Result<Vec<Assignment>, StoreError> {
        self.read(|reader| {
            let mut statement =
                reader.conn.prepare_cached(&format!("SELECT {COLUMNS} FROM assignment ORDER BY id"))?;
            let rows = statement.query_map([], |row| Ok(assignment(row)))?;
            rows.collect::<Result<Vec<_>, _>>()?.into_iter().collect()
        })
        .await
    }

    /// What rollouts granted.
    pub async fn grants(&self) -> Result<Vec<(AssignmentId, InstanceUid, Grant)>, StoreError> {
        self.read(|reader| {
            let mut statement = reader.conn.prepare_cached(
                "SELECT assignment_id, uid, revision_id, batch, was_healthy, forgiven, granted_at
                 FROM assignment_grant",
            )?;
            let rows = statement.query_map([], |row| {
                let grant = Grant {
                    revision: RevisionId(row.get(2)?),
                    batch: row.get(3)?,
                    was_healthy: row.get(4)?,
                    forgiven: row.get(5)?,
                    at: value::millis(row, 6)?,
                };
                Ok((AssignmentId(row.get(0)?), row.get::<_, Vec<u8>>(1)?, grant))
            })?;
            rows.map(|row| {
                row.map_err(StoreError::from).and_then(|(id, uid, grant)| Ok((id, value::uid(&uid)?, grant)))
            })
            .collect()
        })
        .await
    }

    /// All overrides.
    pub async fn overrides(&self) -> Result<Vec<Override>, StoreError> {
        self.read(|reader| {
            let mut statement = reader
                .conn
                .prepare_cached("SELECT uid, revision_id, created_by, created_at FROM agent_override")?;
            let rows = statement.query_map([], |row| {
                Ok((row.get::<_, Vec<u8>>(0)?, RevisionId(row.get(1)?), row.get(2)?, value::millis(row, 3)?))
            })?;
            rows.map(|row| {
                let (uid, revision, created_by, created_at) = row?;
                Ok(Override { uid: value::uid(&uid)?, revision, created_by, created_at })
            })
            .collect()
        })
        .await
    }

    /// Makes an assignment; its id and version are given by the store. Durable. [`StoreError::Missing`] when the
    /// configuration or a revision is not there any more.
    pub async fn create_assignment(
        &self,
        new: Assignment,
        entry: AuditEntry,
    ) -> Result<Assignment, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let sql = format!(
                "INSERT INTO assignment (config_id, selector, priority, state, settled_revision, target_revision,
                     batch_percent, batch_size, batches, pause_kind, pause_agent, pause_text, created_by,
                     created_at, updated_at, version)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, NULL, NULL, NULL, ?10, ?11, ?11, 1)
                 RETURNING {COLUMNS}"
            );
            let values = rusqlite::params![
                new.config.0,
                new.selector.to_string(),
                new.priority,
                new.state.as_str(),
                new.settled.map(|id| id.0),
                new.target.map(|id| id.0),
                new.batch_percent,
                signed(new.batch_size),
                new.batches,
                new.created_by,
                new.created_at.0,
            ];
            let made = db.conn.query_row(&sql, values, |row| Ok(assignment(row))).map_err(gone)??;
            audit::record(db, &entry.about(format!("assignment/{}", made.id)))?;
            Ok(made)
        })
        .await
    }

    /// Writes a change; `None` when the assignment is not of the change's version any more, and nothing is written.
    /// Durable.
    pub async fn change_assignment(
        &self,
        change: AssignmentChange,
        entry: AuditEntry,
    ) -> Result<Option<Assignment>, StoreError> {
        let weight = 1 + change.grant.len() + change.forgive.len();
        self.write(Durability::Durable, weight, move |db| {
            let Some(changed) = update(db.conn, &change.assignment)? else { return Ok(None) };
            audit::record(db, &entry)?;
            let id = changed.id.0;
            if change.settle {
                db.conn.execute("DELETE FROM assignment_grant WHERE assignment_id = ?1", [id])?;
            }
            let mut grant = db.conn.prepare_cached(
                "INSERT INTO assignment_grant (assignment_id, uid, revision_id, batch, was_healthy, forgiven,
                     granted_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                 ON CONFLICT (assignment_id, uid) DO UPDATE SET revision_id = excluded.revision_id,
                     batch = excluded.batch, was_healthy = excluded.was_healthy, forgiven = excluded.forgiven,
                     granted_at = excluded.granted_at",
            )?;
            for (uid, to) in &change.grant {
                let values =
                    (id, uid.as_bytes(), to.revision.0, to.batch, to.was_healthy, to.forgiven, to.at.0);
                grant.execute(values)?;
            }
            let mut forgive = db.conn.prepare_cached(
                "INSERT INTO assignment_grant (assignment_id, uid, revision_id, batch, was_healthy, forgiven,
                     granted_at) VALUES (?1, ?2, ?3, 1, 1, 1, ?4)
                 ON CONFLICT (assignment_id, uid) DO UPDATE SET forgiven = 1",
            )?;
            // A rollout to all at once has no grants: whom it forgives has the only ones.
            if let Some(target) = changed.target {
                for uid in &change.forgive {
                    forgive.execute((id, uid.as_bytes(), target.0, changed.updated_at.0))?;
                }
            }
            Ok(Some(changed))
        })
        .await
    }

    /// Removes an assignment with its grants; whether it was there. Durable.
    pub async fn delete_assignment(&self, id: AssignmentId, entry: AuditEntry) -> Result<bool, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let is_gone = db.conn.execute("DELETE FROM assignment WHERE id = ?1", [id.0])? > 0;
            if is_gone {
                audit::record(db, &entry)?;
            }
            Ok(is_gone)
        })
        .await
    }

    /// Pins an agent to a revision. Durable.
    pub async fn set_override(&self, new: Override, entry: AuditEntry) -> Result<(), StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            db.conn
                .execute(
                    "INSERT INTO agent_override (uid, revision_id, created_by, created_at) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (uid) DO UPDATE SET revision_id = excluded.revision_id,
                         created_by = excluded.created_by, created_at = excluded.created_at",
                    (new.uid.as_bytes(), new.revision.0, &new.created_by, new.created_at.0),
                )
                .map_err(gone)?;
            audit::record(db, &entry)
        })
        .await
    }

    /// Lets an agent go that was pinned; whether it was. Durable.
    pub async fn remove_override(&self, uid: InstanceUid, entry: AuditEntry) -> Result<bool, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let sql = "DELETE FROM agent_override WHERE uid = ?1";
            let was_pinned = db.conn.execute(sql, [uid.as_bytes()])? > 0;
            if was_pinned {
                audit::record(db, &entry)?;
            }
            Ok(was_pinned)
        })
        .await
    }
}

fn update(conn: &Connection, to: &Assignment) -> Result<Option<Assignment>, StoreError> {
    let sql = format!(
        "UPDATE assignment SET selector = ?3, priority = ?4, state = ?5, settled_revision = ?6,
             target_revision = ?7, batch_percent = ?8, batch_size = ?9, batches = ?10, pause_kind = ?11,
             pause_agent = ?12, pause_text = ?13, updated_at = ?14, version = version + 1
         WHERE id = ?1 AND version = ?2 RETURNING {COLUMNS}"
    );
    let pause = to.pause.as_ref();
    let values = rusqlite::params![
        to.id.0,
        signed(to.version),
        to.selector.to_string(),
        to.priority,
        to.state.as_str(),
        to.settled.map(|id| id.0),
        to.target.map(|id| id.0),
        to.batch_percent,
        signed(to.batch_size),
        to.batches,
        pause.map(|fault| fault.kind.as_str()),
        pause.and_then(|fault| fault.agent).map(|uid| uid.as_bytes().to_vec()),
        pause.map(|fault| fault.text.as_str()),
        to.updated_at.0,
    ];
    let mut statement = conn.prepare_cached(&sql)?;
    statement.query_row(values, |row| Ok(assignment(row))).optional().map_err(gone)?.transpose()
}

/// A foreign key that leads nowhere: what is referred to was removed meanwhile.
fn gone(error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::ConstraintViolation) => {
            StoreError::Missing("the configuration or its revision")
        }
        _ => error.into(),
    }
}

fn assignment(row: &Row<'_>) -> Result<Assignment, StoreError> {
    let selector: String = row.get(2)?;
    let state: String = row.get(4)?;
    Ok(Assignment {
        id: AssignmentId(row.get(0)?),
        config: ConfigId(row.get(1)?),
        selector: Selector::parse(&selector).map_err(|_| StoreError::Corrupt("selector"))?,
        priority: row.get(3)?,
        state: state.parse().map_err(|_| StoreError::Corrupt("state of an assignment"))?,
        settled: row.get::<_, Option<i64>>(5)?.map(RevisionId),
        target: row.get::<_, Option<i64>>(6)?.map(RevisionId),
        batch_percent: row.get(7)?,
        batch_size: unsigned(row.get(8)?),
        batches: row.get(9)?,
        pause: pause(row)?,
        created_by: row.get(13)?,
        created_at: value::millis(row, 14)?,
        updated_at: value::millis(row, 15)?,
        version: unsigned(row.get(16)?),
    })
}

fn pause(row: &Row<'_>) -> Result<Option<Fault>, StoreError> {
    let Some(kind) = row.get::<_, Option<String>>(10)? else { return Ok(None) };
    let kind = FaultKind::ALL
        .into_iter()
        .find(|known| known.as_str() == kind)
        .ok_or(StoreError::Corrupt("kind of a fault"))?;
    let text = row.get::<_, Option<String>>(12)?.unwrap_or_default();
    Ok(Some(Fault { kind, agent: value::optional_uid(row.get(11)?)?, text }))
}
