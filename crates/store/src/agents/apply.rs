//! Writes agents: enrolment and write-behind. What changed is found by comparing with the row, so that a
//! report of what is known already writes nothing but its session.

use model::credential::{self, Validity};
use model::{AgentParts, CredentialId, UnixMillis};
use opamp_proto::Part;

use super::attributes::{self, IndexChanges};
use super::enrol::{EnrolOutcome, Enrolment};
use super::hot::Hot;
use super::replace;
use super::report::{self, Compared, Old};
use super::statements::{CredentialMarks, Statements};
use super::write::{AgentWrite, WriteReport};
use crate::error::StoreError;
use crate::store::Store;
use crate::value::signed;
use crate::writer::{Db, Durability};

impl Store {
    /// Enrols agents; one outcome for each, in the same order. Durable. Many calls at once share one fsync.
    pub async fn enrol(&self, batch: Vec<Enrolment>) -> Result<Vec<EnrolOutcome>, StoreError> {
        self.write(Durability::Durable, batch.len(), move |db| {
            let mut work = Batch::new(db);
            let outcomes = batch.iter().map(|one| work.enrol(one)).collect::<Result<_, _>>()?;
            work.finish()?;
            Ok(outcomes)
        })
        .await
    }

    /// Writes changes of agents in one transaction. Written behind. Writes of one agent apply in their order.
    pub async fn write_agents(&self, batch: Vec<AgentWrite>) -> Result<WriteReport, StoreError> {
        let heartbeats = batch.iter().filter(|write| write.is_empty()).count();
        if heartbeats == batch.len() {
            return Ok(WriteReport { unchanged: heartbeats, ..WriteReport::default() });
        }
        self.write(Durability::Behind, batch.len(), move |db| {
            let mut work = Batch::new(db);
            batch.iter().try_for_each(|write| work.apply(write))?;
            work.finish()
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

/// One call's writes within the writer's transaction.
pub(super) struct Batch<'d, 'c> {
    pub(super) db: &'d mut Db<'c>,
    pub(super) statements: Statements<'c>,
    pub(super) report: WriteReport,
    index: IndexChanges,
    /// The credential asked for last: most batches name one.
    credential: Option<(CredentialId, Option<CredentialMarks>)>,
    /// New agents, which may be successors of old ones.
    came: Vec<replace::Came>,
    /// Agents that went, whose successors may be here already.
    went: Vec<i64>,
}

impl<'d, 'c> Batch<'d, 'c> {
    fn new(db: &'d mut Db<'c>) -> Self {
        let statements = Statements::new(db.conn);
        let (report, index) = (WriteReport::default(), IndexChanges::default());
        Self { db, statements, report, index, credential: None, came: Vec::new(), went: Vec::new() }
    }

    /// Writes the index of attributes, in its order, then looks for successors in it.
    fn finish(mut self) -> Result<WriteReport, StoreError> {
        self.index.write(&mut self.statements)?;
        for came in std::mem::take(&mut self.came) {
            replace::find_predecessor(&mut self, came)?;
        }
        for id in std::mem::take(&mut self.went) {
            replace::find_successor(&mut self, id)?;
        }
        Ok(self.report)
    }

    fn enrol(&mut self, enrolment: &Enrolment) -> Result<EnrolOutcome, StoreError> {
        let Enrolment { credential, now, first } = enrolment;
        let Some(validity) = self.validity(*credential, *now)? else {
            return Ok(EnrolOutcome::NoCredential);
        };
        if validity == Validity::Revoked {
            return Ok(EnrolOutcome::Revoked);
        }
        match self.statements.binding_of(first.uid)? {
            Some(binding) if binding.credential == *credential => Ok(EnrolOutcome::Known),
            Some(binding) if !binding.revoked => {
                Ok(EnrolOutcome::BoundToOther { credential: binding.credential })
            }
            _ if validity == Validity::KnownAgentsOnly => Ok(EnrolOutcome::Expired),
            Some(binding) => {
                self.statements.rebind.get()?.execute((first.uid.as_bytes(), credential.0, now.0))?;
                Ok(EnrolOutcome::Rebound { from: binding.credential })
            }
            None => self.insert(*credential, *now, first).map(|()| EnrolOutcome::Enrolled),
        }
    }

    fn validity(&mut self, id: CredentialId, now: UnixMillis) -> Result<Option<Validity>, StoreError> {
        let marks = match self.credential {
            Some((known, marks)) if known == id => marks,
            _ => {
                let marks = self.statements.credential_marks(id)?;
                self.credential = Some((id, marks));
                marks
            }
        };
        Ok(marks.map(|(expires_at, revoked_at)| credential::validity(expires_at, revoked_at, now)))
    }

    /// The row of a new agent with its first state.
    fn insert(
        &mut self,
        credential: CredentialId,
        now: UnixMillis,
        first: &AgentWrite,
    ) -> Result<(), StoreError> {
        let attributes = attributes::decode(first.parts.get(Part::Description).map(|bytes| &bytes[..]));
        let facts = attributes::short_facts(&attributes);
        let mut hot = Hot::new(first.epoch, first.last_seen);
        hot.take(first);
        self.statements.insert_agent(first.uid, (credential, now), &hot, &facts)?;
        let id = self.db.conn.last_insert_rowid();
        report::insert(self, id, &first.parts)?;
        for (key, value) in attributes::index_rows(&attributes) {
            let key = self.db.caches.key_id(self.db.conn, key)?;
            self.index.add(key, &value, id);
        }
        if first.parts.get(Part::Description).is_some() {
            self.came.push(replace::Came::New {
                id,
                uid: first.uid,
                first_seen: now,
                identity: (&facts).into(),
            });
        }
        Ok(())
    }

    fn apply(&mut self, write: &AgentWrite) -> Result<(), StoreError> {
        if write.is_empty() {
            self.report.unchanged += 1;
            return Ok(());
        }
        let Some(stored) = self.statements.agent(write.uid)? else {
            self.report.unknown.push(write.uid);
            return Ok(());
        };
        if stored.hot.epoch > write.epoch {
            self.report.stale += 1;
            return Ok(());
        }
        let mut next = stored.hot.clone();
        next.take(write);
        let went = next.disconnected_at.is_some() && stored.hot.disconnected_at.is_none();
        let parts = self.apply_parts(stored.id, &write.parts)?;
        if next.differs(&stored.hot) {
            next.last_seen = next.last_seen.max(write.last_seen);
            self.statements.update_hot(stored.id, &next)?;
        } else if !parts {
            self.report.unchanged += 1;
            return Ok(());
        }
        if write.session.is_some() {
            replace::undo(self, write.uid, stored.replaced_by)?;
        }
        if went && stored.replaced_by.is_none() {
            self.went.push(stored.id);
        }
        self.report.written += 1;
        Ok(())
    }

    /// Writes parts that differ from the stored ones; whether any did.
    fn apply_parts(&mut self, id: i64, parts: &AgentParts) -> Result<bool, StoreError> {
        let mut changed = false;
        for (part, bytes) in parts.iter() {
            let Compared::Changed { old } = report::compare(self, id, part, bytes)? else { continue };
            if part == Part::Description {
                let old = match &old {
                    Some(Old::Content(bytes)) => Some(&bytes[..]),
                    Some(Old::Blob(_)) | None => None,
                };
                self.description_changed(id, old, bytes)?;
            }
            report::update(self, id, part, (old.as_ref(), bytes))?;
            changed = true;
        }
        Ok(changed)
    }

    fn description_changed(&mut self, id: i64, old: Option<&[u8]>, new: &[u8]) -> Result<(), StoreError> {
        let (before, after) = (attributes::decode(old), attributes::decode(Some(new)));
        let facts = attributes::short_facts(&after);
        if old.is_none() || attributes::short_facts(&before) != facts {
            self.statements.update_facts(id, &facts)?;
        }
        let (before, after) = (attributes::index_rows(&before), attributes::index_rows(&after));
        for (key, value) in before.iter().filter(|row| after.binary_search(row).is_err()) {
            let key = self.db.caches.key_id(self.db.conn, key)?;
            self.index.remove(key, value, id);
        }
        for (key, value) in after.iter().filter(|row| before.binary_search(row).is_err()) {
            let key = self.db.caches.key_id(self.db.conn, key)?;
            self.index.add(key, value, id);
        }
        if old.is_none() {
            self.came.push(replace::Came::Row(id));
        }
        Ok(())
    }
}
