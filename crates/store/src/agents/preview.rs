//! Who would get a revision if it were assigned, and who would not and why: one pass over all rows, with the sets of
//! the selectors that matter beside it. The same rules as `model::assignment::desired`, which a test holds together.

use std::collections::HashSet;

use model::{AssignmentId, Place, RevisionId, Selector};
use opamp_proto::wire::AgentCapabilities as Bit;
use opamp_proto::{AgentCapabilities, InstanceUid};

use super::placing::place;
use super::select::Selected;
use crate::error::StoreError;
use crate::reader::Reader;
use crate::store::Store;
use crate::value::{self, unsigned};

/// A question for a preview.
#[derive(Debug, Clone)]
pub struct PreviewQuery {
    /// To whom the assignment would apply.
    pub selector: Selector,
    /// The assignments that win over it, the strongest first.
    pub stronger: Vec<(AssignmentId, Selector)>,
    /// What would be assigned; `None`: ask only who it would be.
    pub revision: Option<RevisionId>,
    /// How many agents to name, at most 500.
    pub limit: u32,
}

/// What would become of an agent that the selector selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PreviewOutcome {
    /// It gets the revision.
    Gets,
    /// It gets it when it comes back.
    Offline,
    /// It has it.
    Has,
    /// It takes no configurations.
    NotConfigurable,
    /// It is pinned to a revision of its own.
    Overridden,
    /// Another assignment wins.
    Outranked(AssignmentId),
}

/// An agent of a preview.
#[derive(Debug, Clone, PartialEq)]
pub struct PreviewAgent {
    /// Which.
    pub uid: InstanceUid,
    /// `service.name`.
    pub name: String,
    /// `host.name`.
    pub host: String,
    /// Whether it is connected.
    pub connected: bool,
    /// What it can do.
    pub capabilities: AgentCapabilities,
    /// What would become of it.
    pub outcome: PreviewOutcome,
    /// What was decided about it last.
    pub now: Option<Place>,
}

/// Who would get a revision.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Preview {
    /// How many agents the selector selects.
    pub matched: u64,
    /// How many would get it now.
    pub gets: u64,
    /// How many would get it when they come back.
    pub offline: u64,
    /// How many have it.
    pub has: u64,
    /// How many take no configurations.
    pub not_configurable: u64,
    /// How many are pinned.
    pub overridden: u64,
    /// How many another assignment wins.
    pub outranked: u64,
    /// Some of them, those first that would change.
    pub agents: Vec<PreviewAgent>,
}

impl Store {
    /// Who would get a revision.
    pub async fn preview(&self, query: PreviewQuery) -> Result<Preview, StoreError> {
        self.read(move |reader| preview(reader, &query)).await
    }
}

fn preview(reader: &Reader, query: &PreviewQuery) -> Result<Preview, StoreError> {
    let transaction = reader.conn.unchecked_transaction()?;
    let selected = Selected::of(&transaction, &query.selector)?;
    let stronger = query
        .stronger
        .iter()
        .map(|(id, selector)| Ok((*id, Selected::of(&transaction, selector)?)))
        .collect::<Result<Vec<_>, StoreError>>()?;
    let pinned = pinned(reader)?;
    let limit = query.limit.clamp(1, 500) as usize;
    let mut found = Preview::default();
    let mut named: Vec<(PreviewOutcome, i64)> = Vec::new();
    let mut statement = transaction.prepare_cached(
        "SELECT a.id, a.owner_epoch, a.disconnected_at, a.capabilities, c.revision_id
         FROM agent a LEFT JOIN agent_config c ON c.agent_id = a.id WHERE a.replaced_by IS NULL",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id = row.get(0)?;
        if !selected.contains(id) {
            continue;
        }
        found.matched += 1;
        let is_connected =
            unsigned(row.get(1)?) == reader.epoch && row.get_ref(2)? == rusqlite::types::ValueRef::Null;
        let capabilities = AgentCapabilities::from_bits(unsigned(row.get(3)?));
        let has = row.get::<_, Option<i64>>(4)?.map(RevisionId);
        let outcome = if pinned.contains(&id) {
            PreviewOutcome::Overridden
        } else if let Some((id, _)) = stronger.iter().find(|(_, selected)| selected.contains(id)) {
            PreviewOutcome::Outranked(*id)
        } else if !capabilities.has(Bit::AcceptsRemoteConfig) {
            PreviewOutcome::NotConfigurable
        } else if has.is_some() && has == query.revision {
            PreviewOutcome::Has
        } else if is_connected {
            PreviewOutcome::Gets
        } else {
            PreviewOutcome::Offline
        };
        found.count(outcome);
        keep(&mut named, (outcome, id), limit);
    }
    named.sort_unstable();
    named.truncate(limit);
    found.agents =
        named.into_iter().map(|(outcome, id)| agent(reader, id, outcome)).collect::<Result<_, _>>()?;
    Ok(found)
}

/// Keeps about the first of them all, without sorting each time.
fn keep(named: &mut Vec<(PreviewOutcome, i64)>, one: (PreviewOutcome, i64), limit: usize) {
    named.push(one);
    if named.len() >= 4 * limit {
        named.sort_unstable();
        named.truncate(limit);
    }
}

impl Preview {
    fn count(&mut self, outcome: PreviewOutcome) {
        let count = match outcome {
            PreviewOutcome::Gets => &mut self.gets,
            PreviewOutcome::Offline => &mut self.offline,
            PreviewOutcome::Has => &mut self.has,
            PreviewOutcome::NotConfigurable => &mut self.not_configurable,
            PreviewOutcome::Overridden => &mut self.overridden,
            PreviewOutcome::Outranked(_) => &mut self.outranked,
        };
        *count += 1;
    }
}

fn pinned(reader: &Reader) -> Result<HashSet<i64>, StoreError> {
    let mut statement =
        reader.conn.prepare_cached("SELECT a.id FROM agent_override o JOIN agent a ON a.uid = o.uid")?;
    let ids = statement.query_map([], |row| row.get(0))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

fn agent(reader: &Reader, id: i64, outcome: PreviewOutcome) -> Result<PreviewAgent, StoreError> {
    let mut statement = reader.conn.prepare_cached(
        "SELECT c.state, c.assignment_id, c.revision_id, c.reason, a.uid, a.name, a.host, a.owner_epoch,
             a.disconnected_at IS NULL, a.capabilities
         FROM agent a LEFT JOIN agent_config c ON c.agent_id = a.id WHERE a.id = ?1",
    )?;
    let row = statement.query_row([id], |row| {
        let now = row.get::<_, Option<u8>>(0)?.map(|_| place(row, 0)).transpose()?;
        let uid = row.get::<_, Vec<u8>>(4)?;
        let is_connected = unsigned(row.get(7)?) == reader.epoch && row.get(8)?;
        Ok((now, uid, row.get(5)?, row.get(6)?, is_connected, row.get::<_, i64>(9)?))
    })?;
    let (now, uid, name, host, connected, capabilities) = row;
    let capabilities = AgentCapabilities::from_bits(unsigned(capabilities));
    Ok(PreviewAgent { uid: value::uid(&uid)?, name, host, connected, capabilities, outcome, now })
}
