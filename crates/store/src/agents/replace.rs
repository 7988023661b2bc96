//! Finds which old agent a new one came in place of. The rule is the model's; here are the candidates: agents
//! that share the instance id or the host, found in the index of attributes.

use model::replacement::{Arrival, Departure};
use model::{Identity, UnixMillis};
use opamp_proto::InstanceUid;
use rusqlite::{OptionalExtension, Row};

use super::attributes::index_value;
use super::posting::{Chunk, IdSet, chunk_of};
use super::write::Replaced;
use crate::error::StoreError;
use crate::value::{self, unsigned};
use crate::writer::Db;

/// Candidates that are looked at for each shared attribute, the newest first. A fleet whose hosts are all called
/// `localhost` must not make every join read the whole fleet.
const MAX_CANDIDATES: usize = 32;

/// An agent whose description came for the first time.
pub(super) enum Came {
    /// Its row was made in this batch.
    New { id: i64, uid: InstanceUid, first_seen: UnixMillis, identity: Identity },
    /// Its row was there already.
    Row(i64),
}

/// An agent as the rule sees it.
struct Candidate {
    id: i64,
    uid: InstanceUid,
    first_seen: UnixMillis,
    last_seen: UnixMillis,
    disconnected: bool,
    replaced: bool,
    replaces: bool,
    identity: Identity,
}

impl Candidate {
    fn arrival(&self) -> Arrival<'_> {
        Arrival { identity: &self.identity, first_seen: self.first_seen }
    }

    fn departure(&self) -> Departure<'_> {
        Departure { identity: &self.identity, last_seen: self.last_seen }
    }
}

/// Looks for the agent that a new one replaces.
pub(super) fn find_predecessor(db: &mut Db<'_>, came: Came) -> Result<Option<Replaced>, StoreError> {
    let new = match came {
        Came::Row(id) => candidate(db, id)?.filter(|new| !new.replaces),
        Came::New { id, uid, first_seen, identity } => Some(Candidate {
            id,
            uid,
            first_seen,
            last_seen: first_seen,
            disconnected: false,
            replaced: false,
            replaces: false,
            identity,
        }),
    };
    let Some(new) = new else { return Ok(None) };
    let mut best: Option<(model::replacement::Replacement, Candidate)> = None;
    for other in sharing(db, &new, true)? {
        let Some(old) = candidate(db, other)?.filter(|old| old.disconnected && !old.replaced) else {
            continue;
        };
        let Some(why) = new.arrival().replaces(&old.departure()) else { continue };
        if best.as_ref().is_none_or(|(known, last)| (*known, last.last_seen) > (why, old.last_seen)) {
            best = Some((why, old));
        }
    }
    best.map(|(_, old)| link(db, &old, &new)).transpose()
}

/// Looks for the agent that came in place of one that has just gone: a program that starts anew is often here
/// before its old connection is known to be dead.
pub(super) fn find_successor(db: &mut Db<'_>, id: i64) -> Result<Option<Replaced>, StoreError> {
    let Some(old) = candidate(db, id)?.filter(|old| old.disconnected && !old.replaced) else {
        return Ok(None);
    };
    for other in sharing(db, &old, false)? {
        let Some(new) = candidate(db, other)?.filter(|new| !new.disconnected && !new.replaces) else {
            continue;
        };
        if new.arrival().replaces(&old.departure()).is_some() {
            return link(db, &old, &new).map(Some);
        }
    }
    Ok(None)
}

/// A replaced agent that comes back was not replaced.
pub(super) fn undo(
    db: &mut Db<'_>,
    uid: InstanceUid,
    replaced_by: Option<InstanceUid>,
) -> Result<(), StoreError> {
    let Some(successor) = replaced_by else { return Ok(()) };
    db.statements.clear_replaced_by.get()?.execute([uid.as_bytes()])?;
    db.statements.clear_replaces.get()?.execute([successor.as_bytes(), uid.as_bytes()])?;
    Ok(())
}

fn link(db: &mut Db<'_>, old: &Candidate, new: &Candidate) -> Result<Replaced, StoreError> {
    db.statements.set_replaced_by.get()?.execute((old.id, new.uid.as_bytes()))?;
    db.statements.set_replaces.get()?.execute((new.id, old.uid.as_bytes()))?;
    Ok(Replaced { old: old.uid, new: new.uid })
}

/// Agents with the same instance id or host, older or newer than this one.
fn sharing(db: &mut Db<'_>, agent: &Candidate, older: bool) -> Result<Vec<i64>, StoreError> {
    let Identity { instance_id, host_id, host, .. } = &agent.identity;
    let by_host = if host_id.is_empty() { ("host.name", host) } else { ("host.id", host_id) };
    let mut found = Vec::new();
    for (key, text) in [("service.instance.id", instance_id), by_host] {
        if text.is_empty() {
            continue;
        }
        let key = db.caches.key_id(db.conn, key)?;
        let statements = &mut db.statements;
        let select =
            if older { &mut statements.older_with_attribute } else { &mut statements.newer_with_attribute };
        let value = index_value(text.as_str().into());
        let mut rows = select.get()?.query((key, value, chunk_of(agent.id)))?;
        let mut set = IdSet::default();
        while let Some(row) = rows.next()? {
            let bytes = row.get_ref(1)?.as_blob().map_err(|_| StoreError::Corrupt("set of agents"))?;
            set.add(row.get(0)?, Chunk::decode(bytes)?);
        }
        let wanted = |id: &i64| if older { *id < agent.id } else { *id > agent.id };
        let ids: Vec<_> = set.iter().filter(wanted).collect();
        found.extend(ids.into_iter().rev().take(MAX_CANDIDATES));
    }
    found.dedup();
    Ok(found)
}

fn candidate(db: &mut Db<'_>, id: i64) -> Result<Option<Candidate>, StoreError> {
    let epoch = db.epoch;
    let select = db.statements.select_identity.get()?;
    select.query_row([id], |row| Ok(candidate_of(row, id, epoch))).optional()?.transpose()
}

fn candidate_of(row: &Row<'_>, id: i64, epoch: u64) -> Result<Candidate, StoreError> {
    Ok(Candidate {
        id,
        uid: value::uid(&row.get::<_, [u8; 16]>(0)?)?,
        first_seen: value::millis(row, 1)?,
        last_seen: value::millis(row, 2)?,
        disconnected: unsigned(row.get(3)?) != epoch || row.get::<_, Option<i64>>(4)?.is_some(),
        replaced: row.get::<_, Option<[u8; 16]>>(5)?.is_some(),
        replaces: row.get::<_, Option<[u8; 16]>>(6)?.is_some(),
        identity: Identity {
            name: row.get(7)?,
            namespace: row.get(8)?,
            instance_id: row.get(9)?,
            host: row.get(10)?,
            host_id: row.get(11)?,
        },
    })
}
