//! Labels of agents. A label is in the index of attributes as one more value of its key, so that one index answers
//! selectors over both; a row of the index goes when neither the label nor an attribute holds it any more.

use std::borrow::Cow;
use std::collections::HashMap;

use model::{LabelChange, Labels, Selector};
use opamp_proto::InstanceUid;
use rusqlite::{Connection, OptionalExtension};
use serde_json::json;

use super::attributes;
use super::select::Selected;
use crate::audit::{self, AuditEntry};
use crate::error::StoreError;
use crate::reader::Reader;
use crate::store::Store;
use crate::value;
use crate::version::Expected;
use crate::writer::{Db, Durability};

/// Agents that are labelled in one transaction. Agents report all the time and must not wait for a fleet.
const CHUNK: usize = 1000;

/// Whose labels are to change.
#[derive(Debug, Clone, PartialEq)]
pub enum LabelTarget {
    /// Those of the agents that meet a selector, replaced ones too.
    Selector(Selector),
    /// Those of these agents.
    Agents(Vec<InstanceUid>),
    /// Those of one agent, if their [`model::label::version`] is one of these.
    One(InstanceUid, Expected),
}

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabelReport {
    /// How many agents were meant and are there.
    pub matched: usize,
    /// The agents whose labels are others now, with all that they have.
    pub changed: Vec<(InstanceUid, Labels)>,
    /// Agents that would have had too many labels; theirs stay as they are.
    pub full: Vec<InstanceUid>,
}

impl Store {
    /// Changes labels. Durable; many agents are labelled in several transactions, so that a failure in the middle
    /// leaves some done: the same call again does the rest. `entry` is written once, with the first agent that changes;
    /// when one agent is meant, with its labels before and after.
    pub async fn label_agents(
        &self,
        target: LabelTarget,
        change: LabelChange,
        entry: AuditEntry,
    ) -> Result<LabelReport, StoreError> {
        let mut expected = Expected::Any;
        let uids = match target {
            LabelTarget::Agents(uids) => uids,
            LabelTarget::One(uid, versions) => {
                expected = versions;
                vec![uid]
            }
            LabelTarget::Selector(selector) => self.read(move |reader| selected(reader, &selector)).await?,
        };
        let mut whole = LabelReport::default();
        for chunk in uids.chunks(CHUNK) {
            let entry = whole.changed.is_empty().then(|| entry.clone());
            let (chunk, change, expected) = (chunk.to_vec(), change.clone(), expected.clone());
            let weight = chunk.len();
            let part = self
                .write(Durability::Durable, weight, move |db| {
                    label_chunk(db, &chunk, (&change, &expected), entry.as_ref())
                })
                .await?;
            whole.matched += part.matched;
            whole.changed.extend(part.changed);
            whole.full.extend(part.full);
        }
        Ok(whole)
    }

    /// The labels of an agent; none for one that is not known.
    pub async fn labels(&self, uid: InstanceUid) -> Result<Labels, StoreError> {
        self.read(move |reader| of(&reader.conn, uid)).await
    }

    /// Every agent that has labels.
    pub async fn labels_all(&self) -> Result<HashMap<InstanceUid, Labels>, StoreError> {
        self.read(all).await
    }
}

fn all(reader: &Reader) -> Result<HashMap<InstanceUid, Labels>, StoreError> {
    let mut statement = reader.conn.prepare_cached("SELECT uid, key, value FROM agent_label")?;
    let mut rows = statement.query([])?;
    let mut all: HashMap<InstanceUid, Labels> = HashMap::new();
    while let Some(row) = rows.next()? {
        let uid = row.get_ref(0)?.as_blob().map_err(|_| StoreError::Corrupt("instance_uid"))?;
        all.entry(value::uid(uid)?).or_default().insert(row.get(1)?, row.get(2)?);
    }
    Ok(all)
}

/// The agents that a selector selects, in the order of their rows.
fn selected(reader: &Reader, selector: &Selector) -> Result<Vec<InstanceUid>, StoreError> {
    let transaction = reader.conn.unchecked_transaction()?;
    let selected = Selected::of(&transaction, selector)?;
    let mut statement = transaction.prepare_cached("SELECT id, uid FROM agent ORDER BY id")?;
    let mut rows = statement.query([])?;
    let mut uids = Vec::new();
    while let Some(row) = rows.next()? {
        if selected.contains(row.get(0)?) {
            uids.push(value::uid(
                row.get_ref(1)?.as_blob().map_err(|_| StoreError::Corrupt("instance_uid"))?,
            )?);
        }
    }
    Ok(uids)
}

/// The labels of an agent.
pub(super) fn of(conn: &Connection, uid: InstanceUid) -> Result<Labels, StoreError> {
    let mut statement = conn.prepare_cached("SELECT key, value FROM agent_label WHERE uid = ?1")?;
    let rows = statement.query_map([uid.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn label_chunk(
    db: &mut Db<'_>,
    uids: &[InstanceUid],
    (change, expected): (&LabelChange, &Expected),
    entry: Option<&AuditEntry>,
) -> Result<LabelReport, StoreError> {
    let mut report = LabelReport::default();
    for uid in uids {
        let mut select = db.conn.prepare_cached("SELECT id FROM agent WHERE uid = ?1")?;
        let Some(id) = select.query_row([uid.as_bytes()], |row| row.get::<_, i64>(0)).optional()? else {
            continue;
        };
        report.matched += 1;
        let before = of(db.conn, *uid)?;
        expected.check(model::label::version(&before), "the labels")?;
        let Ok(after) = change.apply(&before) else {
            report.full.push(*uid);
            continue;
        };
        if after == before {
            continue;
        }
        write(db, (id, *uid), &before, &after)?;
        if let Some(entry) = entry.filter(|_| report.changed.is_empty()) {
            // Which one, where the request named it in another way.
            let one = (uids.len() == 1)
                .then(|| entry.about(format!("agent/{uid}")).with(Some(json!(before)), Some(json!(after))));
            audit::record(db, one.as_ref().unwrap_or(entry))?;
        }
        report.changed.push((*uid, after));
    }
    Ok(report)
}

/// Takes away the labels of an agent that is forgotten. Its attributes are gone already.
pub(super) fn remove_all(db: &mut Db<'_>, (id, uid): (i64, InstanceUid)) -> Result<(), StoreError> {
    let before = of(db.conn, uid)?;
    if before.is_empty() { Ok(()) } else { write(db, (id, uid), &before, &Labels::new()) }
}

fn write(
    db: &mut Db<'_>,
    (id, uid): (i64, InstanceUid),
    before: &Labels,
    after: &Labels,
) -> Result<(), StoreError> {
    let gone: Vec<_> = before.iter().filter(|(key, value)| after.get(*key) != Some(value)).collect();
    if !gone.is_empty() {
        let description = description(db.conn, id)?;
        let attributes = attributes::decode(description.as_deref());
        let said = attributes::index_rows(&attributes);
        for (key, value) in gone {
            if !after.contains_key(key) {
                let mut delete =
                    db.conn.prepare_cached("DELETE FROM agent_label WHERE uid = ?1 AND key = ?2")?;
                delete.execute((uid.as_bytes(), key))?;
            }
            if said.binary_search(&(key.as_str(), Cow::Borrowed(value.as_str()))).is_err() {
                let key = db.caches.key_id(db.conn, key)?;
                db.pending.index.remove(key, value, id);
            }
        }
    }
    for (key, value) in after.iter().filter(|(key, value)| before.get(*key) != Some(value)) {
        let mut put = db.conn.prepare_cached(
            "INSERT INTO agent_label (uid, key, value) VALUES (?1, ?2, ?3)
             ON CONFLICT (uid, key) DO UPDATE SET value = excluded.value",
        )?;
        put.execute((uid.as_bytes(), key, value))?;
        let key = db.caches.key_id(db.conn, key)?;
        db.pending.index.add(key, value, id);
    }
    Ok(())
}

fn description(conn: &Connection, id: i64) -> Result<Option<Vec<u8>>, StoreError> {
    let mut select = conn.prepare_cached("SELECT description FROM agent_report WHERE agent_id = ?1")?;
    Ok(select.query_row([id], |row| row.get(0)).optional()?.flatten())
}
