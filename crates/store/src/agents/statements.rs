//! The statements that the writer runs for agents, prepared when first used and held for good.

use model::{AgentFacts, CredentialId, SessionEpoch, UnixMillis};
use opamp_proto::{InstanceUid, Part};
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};

use super::hot::{Hot, RemoteConfigColumns};
use super::row::AgentBinding;
use crate::error::StoreError;
use crate::value::{self, signed, unsigned};

/// A statement that is prepared when it is first used.
pub(crate) struct Lazy<'c> {
    conn: &'c Connection,
    sql: &'static str,
    statement: Option<CachedStatement<'c>>,
}

impl<'c> Lazy<'c> {
    fn new(conn: &'c Connection, sql: &'static str) -> Self {
        Self { conn, sql, statement: None }
    }

    pub(super) fn get(&mut self) -> Result<&mut CachedStatement<'c>, StoreError> {
        match self.statement {
            Some(ref mut statement) => Ok(statement),
            None => Ok(self.statement.insert(self.conn.prepare_cached(self.sql)?)),
        }
    }
}

macro_rules! statements {
    ($($name:ident = $sql:expr;)*) => {
        pub(crate) struct Statements<'c> {
            $(pub(super) $name: Lazy<'c>,)*
            pub(super) select_part: [Lazy<'c>; 8],
            pub(super) update_part: [Lazy<'c>; 8],
        }

        impl<'c> Statements<'c> {
            pub(crate) fn new(conn: &'c Connection) -> Self {
                Self {
                    $($name: Lazy::new(conn, $sql),)*
                    select_part: Part::ALL.map(|part| Lazy::new(conn, select_part(part))),
                    update_part: Part::ALL.map(|part| Lazy::new(conn, update_part(part))),
                }
            }
        }
    };
}

statements! {
    credential = "SELECT expires_at, revoked_at FROM credential WHERE id = ?1";
    binding = "SELECT a.credential_id, c.revoked_at IS NOT NULL FROM agent a
        JOIN credential c ON c.id = a.credential_id WHERE a.uid = ?1";
    rebind = "UPDATE agent SET credential_id = ?2, enrolled_at = ?3 WHERE uid = ?1";
    select_agent = "SELECT id, replaced_by, owner_epoch, session_epoch, last_seen, connected_since, silent_since,
        disconnected_at, transport, peer_address, sequence_num, capabilities, healthy, health_status,
        remote_config_status, remote_config_hash, remote_config_error FROM agent WHERE uid = ?1";
    insert_agent = "INSERT INTO agent (uid, credential_id, first_seen, enrolled_at, owner_epoch, session_epoch,
        last_seen, connected_since, silent_since, disconnected_at, transport, peer_address, sequence_num,
        capabilities, healthy, health_status, remote_config_status, remote_config_hash, remote_config_error,
        name, namespace, version, instance_id, host, host_id, os)
        VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21,
        ?22, ?23, ?24, ?25)";
    update_hot = "UPDATE agent SET owner_epoch = ?2, session_epoch = ?3, last_seen = ?4, connected_since = ?5,
        silent_since = ?6, disconnected_at = ?7, transport = ?8, peer_address = ?9, sequence_num = ?10,
        capabilities = ?11, healthy = ?12, health_status = ?13, remote_config_status = ?14,
        remote_config_hash = ?15, remote_config_error = ?16 WHERE id = ?1";
    update_facts = "UPDATE agent SET name = ?2, namespace = ?3, version = ?4, instance_id = ?5, host = ?6,
        host_id = ?7, os = ?8 WHERE id = ?1";
    insert_report = "INSERT INTO agent_report (agent_id, description, health, effective_config,
        remote_config_status, package_statuses, custom_capabilities, available_components,
        connection_settings_status) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    select_blob_hash = "SELECT sha256 FROM blob WHERE id = ?1";
    mark_unused = "INSERT INTO blob_unused (id) VALUES (?1) ON CONFLICT DO NOTHING";
    insert_posting = "INSERT INTO agent_attribute (key_id, value, chunk, ids) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT DO NOTHING";
    select_posting = "SELECT ids FROM agent_attribute WHERE key_id = ?1 AND value = ?2 AND chunk = ?3";
    update_posting = "INSERT INTO agent_attribute (key_id, value, chunk, ids) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (key_id, value, chunk) DO UPDATE SET ids = excluded.ids";
    delete_posting = "DELETE FROM agent_attribute WHERE key_id = ?1 AND value = ?2 AND chunk = ?3";
    select_identity = "SELECT uid, first_seen, last_seen, owner_epoch, disconnected_at, replaced_by, replaces,
        name, namespace, instance_id, host, host_id FROM agent WHERE id = ?1";
    older_with_attribute = "SELECT chunk, ids FROM agent_attribute WHERE key_id = ?1 AND value = ?2 AND chunk <= ?3
        ORDER BY chunk DESC LIMIT 2";
    newer_with_attribute = "SELECT chunk, ids FROM agent_attribute WHERE key_id = ?1 AND value = ?2 AND chunk >= ?3
        ORDER BY chunk DESC LIMIT 2";
    select_place = "SELECT a.id, c.state, c.assignment_id, c.revision_id, c.reason FROM agent a
        LEFT JOIN agent_config c ON c.agent_id = a.id WHERE a.uid = ?1";
    insert_place = "INSERT INTO agent_config (agent_id, state, assignment_id, revision_id, reason, config_id)
        VALUES (?1, ?2, ?3, ?4, ?5, (SELECT config_id FROM config_revision WHERE id = ?4))";
    update_place = "UPDATE agent_config SET state = ?2, assignment_id = ?3, revision_id = ?4, reason = ?5,
        config_id = (SELECT config_id FROM config_revision WHERE id = ?4) WHERE agent_id = ?1";
    update_place_state = "UPDATE agent_config SET state = ?2, assignment_id = ?3, reason = ?4 WHERE agent_id = ?1";
    move_place = "UPDATE agent_config SET assignment_id = ?3, revision_id = ?4, reason = ?5
        WHERE agent_id = (SELECT id FROM agent WHERE uid = ?1) AND state = ?2 AND revision_id IS NOT ?4
            AND config_id = (SELECT config_id FROM config_revision WHERE id = ?4)";
    update_status = "UPDATE agent SET last_seen = max(last_seen, ?4), sequence_num = ?5, remote_config_status = ?6,
        remote_config_hash = ?7, remote_config_error = ?8
        WHERE uid = ?1 AND owner_epoch = ?2 AND session_epoch = ?3 AND (remote_config_status IS NOT ?6
            OR remote_config_hash IS NOT ?7 OR remote_config_error <> ?8)
        RETURNING id";
    forget_status = "UPDATE agent_report INDEXED BY agent_report_by_status SET remote_config_status = NULL
        WHERE agent_id = ?1 AND remote_config_status IS NOT NULL";
    put_setting = "INSERT INTO setting (name, value) VALUES (?1, ?2)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    delete_setting = "DELETE FROM setting WHERE name = ?1";
    set_replaced_by = "UPDATE agent SET replaced_by = ?2 WHERE id = ?1";
    set_replaces = "UPDATE agent SET replaces = ?2 WHERE id = ?1";
    clear_replaced_by = "UPDATE agent SET replaced_by = NULL WHERE uid = ?1";
    clear_replaces = "UPDATE agent SET replaces = NULL WHERE uid = ?1 AND replaces = ?2";
}

const fn select_part(part: Part) -> &'static str {
    match part {
        Part::Description => "SELECT description FROM agent_report WHERE agent_id = ?1",
        Part::Health => "SELECT health FROM agent_report WHERE agent_id = ?1",
        Part::EffectiveConfig => "SELECT effective_config FROM agent_report WHERE agent_id = ?1",
        Part::RemoteConfigStatus => "SELECT remote_config_status FROM agent_report WHERE agent_id = ?1",
        Part::PackageStatuses => "SELECT package_statuses FROM agent_report WHERE agent_id = ?1",
        Part::CustomCapabilities => "SELECT custom_capabilities FROM agent_report WHERE agent_id = ?1",
        Part::AvailableComponents => "SELECT available_components FROM agent_report WHERE agent_id = ?1",
        Part::ConnectionSettingsStatus => {
            "SELECT connection_settings_status FROM agent_report WHERE agent_id = ?1"
        }
    }
}

/// Small parts are written only when they differ.
const fn update_part(part: Part) -> &'static str {
    match part {
        Part::Description => "UPDATE agent_report SET description = ?2 WHERE agent_id = ?1",
        Part::Health => {
            "UPDATE agent_report SET health = ?2 WHERE agent_id = ?1 AND health IS DISTINCT FROM ?2"
        }
        Part::EffectiveConfig => "UPDATE agent_report SET effective_config = ?2 WHERE agent_id = ?1",
        Part::RemoteConfigStatus => {
            "UPDATE agent_report SET remote_config_status = ?2
             WHERE agent_id = ?1 AND remote_config_status IS DISTINCT FROM ?2"
        }
        Part::PackageStatuses => "UPDATE agent_report SET package_statuses = ?2 WHERE agent_id = ?1",
        Part::CustomCapabilities => {
            "UPDATE agent_report SET custom_capabilities = ?2
             WHERE agent_id = ?1 AND custom_capabilities IS DISTINCT FROM ?2"
        }
        Part::AvailableComponents => "UPDATE agent_report SET available_components = ?2 WHERE agent_id = ?1",
        Part::ConnectionSettingsStatus => {
            "UPDATE agent_report SET connection_settings_status = ?2
             WHERE agent_id = ?1 AND connection_settings_status IS DISTINCT FROM ?2"
        }
    }
}

/// What the writer compares a write with.
pub(super) struct StoredAgent {
    pub(super) id: i64,
    pub(super) replaced_by: Option<InstanceUid>,
    pub(super) hot: Hot,
}

/// When a credential expires, and when it was revoked.
pub(super) type CredentialMarks = (Option<UnixMillis>, Option<UnixMillis>);

impl Statements<'_> {
    /// When a credential expires and was revoked; `None` when there is none.
    pub(super) fn credential_marks(
        &mut self,
        id: CredentialId,
    ) -> Result<Option<CredentialMarks>, StoreError> {
        let marks = self
            .credential
            .get()?
            .query_row([id.0], |row| Ok((value::optional_millis(row, 0)?, value::optional_millis(row, 1)?)));
        Ok(marks.optional()?)
    }

    pub(super) fn binding_of(&mut self, uid: InstanceUid) -> Result<Option<AgentBinding>, StoreError> {
        let binding = self.binding.get()?.query_row([uid.as_bytes()], |row| {
            Ok(AgentBinding { credential: value::credential_id(row, 0)?, revoked: row.get(1)? })
        });
        Ok(binding.optional()?)
    }

    pub(super) fn agent(&mut self, uid: InstanceUid) -> Result<Option<StoredAgent>, StoreError> {
        let found = self.select_agent.get()?.query_row([uid.as_bytes()], stored_agent).optional()?;
        let Some((id, replaced_by, hot)) = found else { return Ok(None) };
        Ok(Some(StoredAgent { id, replaced_by: value::optional_uid(replaced_by)?, hot }))
    }

    pub(super) fn insert_agent(
        &mut self,
        uid: InstanceUid,
        (credential, now): (CredentialId, UnixMillis),
        hot: &Hot,
        facts: &AgentFacts,
    ) -> Result<(), StoreError> {
        self.insert_agent.get()?.execute(params![
            uid.as_bytes(),
            credential.0,
            now.0,
            signed(hot.epoch.server.0),
            signed(hot.epoch.session),
            hot.last_seen.0,
            hot.connected_since,
            hot.silent_since,
            hot.disconnected_at,
            hot.transport,
            hot.peer_address,
            signed(hot.sequence_num),
            signed(hot.capabilities),
            hot.healthy,
            hot.health_status,
            hot.remote_config.status,
            hot.remote_config.hash,
            hot.remote_config.error,
            facts.name,
            facts.namespace,
            facts.version,
            facts.instance_id,
            facts.host,
            facts.host_id,
            facts.os,
        ])?;
        Ok(())
    }

    pub(super) fn update_hot(&mut self, id: i64, hot: &Hot) -> Result<(), StoreError> {
        self.update_hot.get()?.execute(params![
            id,
            signed(hot.epoch.server.0),
            signed(hot.epoch.session),
            hot.last_seen.0,
            hot.connected_since,
            hot.silent_since,
            hot.disconnected_at,
            hot.transport,
            hot.peer_address,
            signed(hot.sequence_num),
            signed(hot.capabilities),
            hot.healthy,
            hot.health_status,
            hot.remote_config.status,
            hot.remote_config.hash,
            hot.remote_config.error,
        ])?;
        Ok(())
    }

    pub(super) fn update_facts(&mut self, id: i64, facts: &AgentFacts) -> Result<(), StoreError> {
        let AgentFacts { name, namespace, version, instance_id, host, host_id, os } = facts;
        self.update_facts.get()?.execute((id, name, namespace, version, instance_id, host, host_id, os))?;
        Ok(())
    }
}

fn stored_agent(row: &Row<'_>) -> rusqlite::Result<(i64, Option<Vec<u8>>, Hot)> {
    let hot = Hot {
        epoch: SessionEpoch {
            server: model::ServerEpoch(unsigned(row.get(2)?)),
            session: unsigned(row.get(3)?),
        },
        last_seen: value::millis(row, 4)?,
        connected_since: row.get(5)?,
        silent_since: row.get(6)?,
        disconnected_at: row.get(7)?,
        transport: row.get(8)?,
        peer_address: row.get(9)?,
        sequence_num: unsigned(row.get(10)?),
        capabilities: unsigned(row.get(11)?),
        healthy: row.get(12)?,
        health_status: row.get(13)?,
        remote_config: RemoteConfigColumns { status: row.get(14)?, hash: row.get(15)?, error: row.get(16)? },
    };
    Ok((row.get(0)?, row.get(1)?, hot))
}
