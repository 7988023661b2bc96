//! What the writes of one transaction leave to be done at its end, once for all of them: the index of attributes,
//! and the search for replacements, which reads that index. Agents come one by one, each in a call of its own; a
//! value that hundreds of them share is then one row to write.

use model::CredentialId;

use super::attributes::IndexChanges;
use super::replace::{self, Came};
use super::statements::CredentialMarks;
use super::write::Replaced;
use crate::error::StoreError;
use crate::writer::Db;

#[derive(Default)]
pub(crate) struct Pending {
    pub(super) index: IndexChanges,
    /// The credential asked for last: agents that come together mostly bring the same.
    pub(super) credential: Option<(CredentialId, Option<CredentialMarks>)>,
    /// New agents, which may be successors of old ones.
    pub(super) came: Vec<Came>,
    /// Agents that went, whose successors may be here already.
    pub(super) went: Vec<i64>,
}

impl Pending {
    /// Does what is left; the replacements that were found.
    pub(crate) fn flush(db: &mut Db<'_>) -> Result<Vec<Replaced>, StoreError> {
        let Self { mut index, credential: _, came, went } = std::mem::take(&mut db.pending);
        index.write(&mut db.statements)?;
        let mut replaced = Vec::new();
        for came in came {
            replaced.extend(replace::find_predecessor(db, came)?);
        }
        for id in went {
            replaced.extend(replace::find_successor(db, id)?);
        }
        Ok(replaced)
    }

    /// Forgets what was read of a credential: it has just been changed.
    pub(crate) fn credential_changed(&mut self) {
        self.credential = None;
    }
}
