//! A row of `agent` on its way to the model, and reading one agent whole.

use model::agent::CredentialRef;
use model::{
    AgentDetail, AgentFacts, AgentParts, AgentSummary, ConnectionState, CredentialId, Labels,
    RemoteConfigState, RemoteConfigStatus, Transport, UnixMillis,
};
use opamp_proto::{AgentCapabilities, InstanceUid, Part};
use rusqlite::{OptionalExtension, Row};

use super::labels;
use super::report::remote_config_status;
use crate::error::StoreError;
use crate::reader::Reader;
use crate::store::Store;
use crate::value::{self, unsigned};

/// Which credential an agent is bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentBinding {
    /// The credential.
    pub credential: CredentialId,
    /// Whether it was revoked.
    pub revoked: bool,
}

/// What a summary needs. `s` is the server start that owns the row.
pub(super) const COLUMNS: &str = "a.uid, a.owner_epoch, a.connected_since, a.silent_since, a.disconnected_at,
    s.alive_at, a.last_seen, a.transport, a.peer_address, a.capabilities, a.healthy, a.health_status,
    a.remote_config_status, a.remote_config_hash, a.remote_config_error, a.name, a.namespace, a.version,
    a.instance_id, a.host, a.host_id, a.os, a.replaced_by, a.replaces";

/// How many columns [`COLUMNS`] names.
pub(super) const COLUMN_COUNT: usize = 24;

/// Where [`COLUMNS`] come from.
pub(super) const FROM: &str = "agent a LEFT JOIN server_start s ON s.epoch = a.owner_epoch";

/// The summary of a row that begins with [`COLUMNS`], without its labels.
pub(super) fn summary(row: &Row<'_>, epoch: u64) -> Result<AgentSummary, StoreError> {
    let ended = end_of_session(row, epoch)?;
    let state = match (ended, value::optional_millis(row, 3)?) {
        (Some(_), _) => ConnectionState::Disconnected,
        (None, Some(_)) => ConnectionState::Silent,
        (None, None) => ConnectionState::Connected,
    };
    let connected_since = value::millis(row, 2)?;
    Ok(AgentSummary {
        uid: value::uid(row.get_ref(0)?.as_bytes().map_err(|_| StoreError::Corrupt("instance_uid"))?)?,
        facts: AgentFacts {
            name: row.get(15)?,
            namespace: row.get(16)?,
            version: row.get(17)?,
            instance_id: row.get(18)?,
            host: row.get(19)?,
            host_id: row.get(20)?,
            os: row.get(21)?,
        },
        state,
        transport: transport(row.get(7)?)?,
        peer_address: row.get(8)?,
        connected_since: ended.is_none().then_some(connected_since),
        last_seen: value::millis(row, 6)?,
        disconnected_at: ended,
        healthy: row.get(10)?,
        health_status: row.get(11)?,
        remote_config: remote_config(row)?,
        capabilities: AgentCapabilities::from_bits(unsigned(row.get(9)?)),
        replaced_by: value::optional_uid(row.get(22)?)?,
        replaces: value::optional_uid(row.get(23)?)?,
        labels: Labels::new(),
    })
}

/// When the session ended: by the row's own mark, or with the server start that owned it.
fn end_of_session(row: &Row<'_>, epoch: u64) -> Result<Option<UnixMillis>, StoreError> {
    if let Some(at) = value::optional_millis(row, 4)? {
        return Ok(Some(at));
    }
    if unsigned(row.get(1)?) == epoch {
        return Ok(None);
    }
    let last_seen = value::millis(row, 6)?;
    Ok(Some(value::optional_millis(row, 5)?.map_or(last_seen, |alive| alive.max(last_seen))))
}

fn remote_config(row: &Row<'_>) -> Result<Option<RemoteConfigState>, StoreError> {
    let Some(status) = row.get::<_, Option<i32>>(12)? else { return Ok(None) };
    let hash = row.get::<_, Option<Vec<u8>>>(13)?.unwrap_or_default();
    Ok(Some(RemoteConfigState { status: RemoteConfigStatus::from_wire(status), hash, error: row.get(14)? }))
}

pub(super) const fn transport_number(transport: Transport) -> i64 {
    match transport {
        Transport::WebSocket => 1,
        Transport::Http => 2,
    }
}

fn transport(number: i64) -> Result<Transport, StoreError> {
    match number {
        1 => Ok(Transport::WebSocket),
        2 => Ok(Transport::Http),
        _ => Err(StoreError::Corrupt("transport")),
    }
}

impl Store {
    /// Everything that is stored of an agent.
    pub async fn get_agent(&self, uid: InstanceUid) -> Result<Option<AgentDetail>, StoreError> {
        self.read(move |reader| detail(reader, uid)).await
    }

    /// Which credential an agent is bound to; `None` when it is not known.
    pub async fn agent_binding(&self, uid: InstanceUid) -> Result<Option<AgentBinding>, StoreError> {
        self.read(move |reader| {
            let mut statement = reader.conn.prepare_cached(
                "SELECT a.credential_id, c.revoked_at IS NOT NULL FROM agent a
                 JOIN credential c ON c.id = a.credential_id WHERE a.uid = ?1",
            )?;
            let binding = statement.query_row([uid.as_bytes()], |row| {
                Ok(AgentBinding { credential: value::credential_id(row, 0)?, revoked: row.get(1)? })
            });
            Ok(binding.optional()?)
        })
        .await
    }
}

fn detail(reader: &Reader, uid: InstanceUid) -> Result<Option<AgentDetail>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS}, a.sequence_num, a.first_seen, a.enrolled_at, a.credential_id, c.label,
             r.description, r.health, (SELECT content FROM blob WHERE id = r.effective_config),
             r.remote_config_status, (SELECT content FROM blob WHERE id = r.package_statuses),
             r.custom_capabilities, (SELECT content FROM blob WHERE id = r.available_components),
             r.connection_settings_status
         FROM {FROM} JOIN credential c ON c.id = a.credential_id JOIN agent_report r ON r.agent_id = a.id
         WHERE a.uid = ?1"
    );
    let mut statement = reader.conn.prepare_cached(&sql)?;
    let found = statement.query_row([uid.as_bytes()], |row| Ok(detail_of(row, reader.epoch))).optional()?;
    let Some(mut found) = found.transpose()? else { return Ok(None) };
    found.summary.labels = labels::of(&reader.conn, uid)?;
    Ok(Some(found))
}

fn detail_of(row: &Row<'_>, epoch: u64) -> Result<AgentDetail, StoreError> {
    let at = |offset: usize| COLUMN_COUNT + offset;
    let mut parts = AgentParts::default();
    for (index, part) in Part::ALL.into_iter().enumerate() {
        parts.set(part, row.get::<_, Option<Vec<u8>>>(at(5 + index))?.map(bytes::Bytes::from));
    }
    if let (None, Some(status)) = (parts.get(Part::RemoteConfigStatus), row.get::<_, Option<i32>>(12)?) {
        let hash = row.get::<_, Option<Vec<u8>>>(13)?.unwrap_or_default();
        parts.set(Part::RemoteConfigStatus, Some(remote_config_status(status, hash, row.get(14)?)));
    }
    Ok(AgentDetail {
        summary: summary(row, epoch)?,
        sequence_num: unsigned(row.get(at(0))?),
        first_seen: value::millis(row, at(1))?,
        enrolled_at: value::millis(row, at(2))?,
        credential: CredentialRef { id: value::credential_id(row, at(3))?, label: row.get(at(4))? },
        parts,
    })
}
