//! Writes agents: enrolment and write-behind. What changed is found by comparing with the row, so that a
//! report of what is known already writes nothing but its session.

use std::sync::Arc;

use model::credential::{self, Validity};
use model::{AgentParts, CredentialId, Labels, UnixMillis};
use opamp_proto::{InstanceUid, Part};

use super::attributes;
use super::enrol::{EnrolOutcome, Enrolment};
use super::hot::Hot;
use super::labels;
use super::pending::Pending;
use super::replace;
use super::report::{self, Described};
use super::write::{AgentWrite, WriteReport};
use crate::error::StoreError;
use crate::store::Store;
use crate::value::signed;
use crate::writer::{Db, Durability};

impl Store {
    /// Enrols agents; one outcome for each, in the same order. Durable. Many calls at once share one fsync.
    pub async fn enrol(&self, batch: Vec<Enrolment>) -> Result<Vec<EnrolOutcome>, StoreError> {
        self.write_ahead_of_index(batch.len(), move |db| {
            batch.iter().map(|enrolment| enrol(db, enrolment)).collect()
        })
        .await
    }

    /// Writes changes of agents in one transaction. Written behind. Writes of one agent apply in their order.
    pub async fn write_agents(&self, batch: Vec<AgentWrite>) -> Result<WriteReport, StoreError> {
        self.write_shared(batch.into_iter().map(Arc::new).collect()).await
    }

    /// The same for changes that the caller keeps until they are written. Each has memory of its own: thousands in
    /// one piece would be megabytes that the system has to clear for each batch.
    pub async fn write_shared(&self, batch: Arc<[Arc<AgentWrite>]>) -> Result<WriteReport, StoreError> {
        let heartbeats = batch.iter().filter(|write| write.is_empty()).count();
        if heartbeats == batch.len() {
            return Ok(WriteReport { unchanged: heartbeats, ..WriteReport::default() });
        }
        self.write(Durability::Behind, batch.len(), move |db| {
            let mut report = WriteReport::default();
            // Neighbours share pages. A stable order: writes of one agent stay in theirs.
            let mut sorted: Vec<&AgentWrite> = batch.iter().map(Arc::as_ref).collect();
            sorted.sort_by_key(|write| write.uid);
            sorted.into_iter().try_for_each(|write| apply(db, &mut report, write))?;
            report.replaced = Pending::flush(db)?;
            Ok(report)
        })
        .await
    }

    /// Notes that this server is alive: agents that a crash cuts off read as disconnected since the last such
    /// note. Call it about once a minute. Written behind.
    pub async fn mark_alive(&self, now: UnixMillis) -> Result<(), StoreError> {
        self.write(Durability::Behind, 1, move |db| {
            db.conn
                .prepare_cached("UPDATE server_start SET alive_at = max(alive_at, ?2) WHERE epoch = ?1")?
                .execute((signed(db.epoch), now.0))?;
            Ok(())
        })
        .await
    }
}

fn enrol(db: &mut Db<'_>, enrolment: &Enrolment) -> Result<EnrolOutcome, StoreError> {
    let Enrolment { credential, now, first } = enrolment;
    let Some(validity) = validity(db, *credential, *now)? else {
        return Ok(EnrolOutcome::NoCredential);
    };
    if validity == Validity::Revoked {
        return Ok(EnrolOutcome::Revoked);
    }
    match db.statements.binding_of(first.uid)? {
        Some(binding) if binding.credential == *credential => Ok(EnrolOutcome::Known),
        Some(binding) if !binding.revoked => {
            Ok(EnrolOutcome::BoundToOther { credential: binding.credential })
        }
        _ if validity == Validity::KnownAgentsOnly => Ok(EnrolOutcome::Expired),
        Some(binding) => {
            db.statements.rebind.get()?.execute((first.uid.as_bytes(), credential.0, now.0))?;
            Ok(EnrolOutcome::Rebound { from: binding.credential })
        }
        None => insert(db, *credential, *now, first).map(|()| EnrolOutcome::Enrolled),
    }
}

fn validity(db: &mut Db<'_>, id: CredentialId, now: UnixMillis) -> Result<Option<Validity>, StoreError> {
    let marks = match db.pending.credential {
        Some((known, marks)) if known == id => marks,
        _ => {
            let marks = db.statements.credential_marks(id)?;
            db.pending.credential = Some((id, marks));
            marks
        }
    };
    Ok(marks.map(|(expires_at, revoked_at)| credential::validity(expires_at, revoked_at, now)))
}

/// The row of a new agent with its first state.
fn insert(
    db: &mut Db<'_>,
    credential: CredentialId,
    now: UnixMillis,
    first: &AgentWrite,
) -> Result<(), StoreError> {
    let attributes = attributes::decode(first.parts.get(Part::Description).map(|bytes| &bytes[..]));
    let facts = attributes::short_facts(&attributes);
    let mut hot = Hot::new(first.epoch, first.last_seen);
    hot.take(first);
    db.statements.insert_agent(first.uid, (credential, now), &hot, &facts)?;
    let id = db.conn.last_insert_rowid();
    report::insert(db, id, &first.parts)?;
    if db.index_later {
        Pending::defer(db, id)?;
    }
    for (key, value) in attributes::index_rows(&attributes) {
        let key = db.caches.key_id(db.conn, key)?;
        db.pending.index.add(key, &value, id);
    }
    if first.parts.get(Part::Description).is_some() {
        db.pending.came.push(replace::Came::New {
            id,
            uid: first.uid,
            first_seen: now,
            identity: (&facts).into(),
        });
    }
    Ok(())
}

fn apply(db: &mut Db<'_>, report: &mut WriteReport, write: &AgentWrite) -> Result<(), StoreError> {
    if write.is_empty() {
        report.unchanged += 1;
        return Ok(());
    }
    if report::put_only_status(db, write)? {
        report.written += 1;
        return Ok(());
    }
    let Some(stored) = db.statements.agent(write.uid)? else {
        report.unknown.push(write.uid);
        return Ok(());
    };
    if stored.hot.epoch > write.epoch {
        report.stale += 1;
        return Ok(());
    }
    let mut next = stored.hot.clone();
    next.take(write);
    let went = next.disconnected_at.is_some() && stored.hot.disconnected_at.is_none();
    let parts = apply_parts(db, (stored.id, write.uid), &write.parts)?;
    if next.differs(&stored.hot) {
        next.last_seen = next.last_seen.max(write.last_seen);
        db.statements.update_hot(stored.id, &next)?;
    } else if !parts {
        report.unchanged += 1;
        return Ok(());
    }
    if write.session.is_some() {
        replace::undo(db, write.uid, stored.replaced_by)?;
    }
    if went && stored.replaced_by.is_none() {
        db.pending.went.push(stored.id);
    }
    report.written += 1;
    Ok(())
}

/// Writes parts that differ from the stored ones; whether any did.
fn apply_parts(
    db: &mut Db<'_>,
    (id, uid): (i64, InstanceUid),
    parts: &AgentParts,
) -> Result<bool, StoreError> {
    let mut changed = false;
    for (part, bytes) in parts.iter() {
        if part == Part::Description {
            let Described::Otherwise(old) = report::other_description(db, id, bytes)? else { continue };
            description_changed(db, (id, uid), old.as_deref(), bytes)?;
        }
        changed |= report::update(db, id, part, bytes)?;
    }
    Ok(changed)
}

fn description_changed(
    db: &mut Db<'_>,
    (id, uid): (i64, InstanceUid),
    old: Option<&[u8]>,
    new: &[u8],
) -> Result<(), StoreError> {
    let (before, after) = (attributes::decode(old), attributes::decode(Some(new)));
    let facts = attributes::short_facts(&after);
    if old.is_none() || attributes::short_facts(&before) != facts {
        db.statements.update_facts(id, &facts)?;
    }
    let (before, after) = (attributes::index_rows(&before), attributes::index_rows(&after));
    let mut gone = before.iter().filter(|row| after.binary_search(row).is_err()).peekable();
    // A label of the same key and value keeps the agent in the index.
    let labels = if gone.peek().is_some() { labels::of(db.conn, uid)? } else { Labels::new() };
    for (key, value) in gone.filter(|(key, value)| labels.get(*key).is_none_or(|label| label != value)) {
        let key = db.caches.key_id(db.conn, key)?;
        db.pending.index.remove(key, value, id);
    }
    for (key, value) in after.iter().filter(|row| before.binary_search(row).is_err()) {
        let key = db.caches.key_id(db.conn, key)?;
        db.pending.index.add(key, value, id);
    }
    if old.is_none() {
        db.pending.came.push(replace::Came::Row(id));
    }
    Ok(())
}
