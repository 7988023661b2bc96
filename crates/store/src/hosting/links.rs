//! Tokens and sessions of hosts: who may connect as which host, and what was agreed on last.

use host_proto::id::HostId;
use host_proto::message::{DockerFacts, Facts};
use host_proto::server::Ratchet;
use model::hosting::Host;
use model::{TokenHash, UnixMillis};
use rusqlite::OptionalExtension;

use super::{hosts, json};
use crate::error::StoreError;
use crate::store::Store;
use crate::value::{millis, signed};
use crate::writer::Durability;

/// A host that shows a good token.
#[derive(Debug, Clone, PartialEq)]
pub struct HostLink {
    /// The host.
    pub host: Host,
    /// When its token was made: tokens are replaced at an age (TOKEN-1).
    pub token_created_at: UnixMillis,
    /// Which boot of it was connected last; empty: none.
    pub boot_id: String,
    /// Hashes of its session secrets (R12).
    pub ratchet: Ratchet,
}

/// What a new session of a host leaves behind.
#[derive(Debug, Clone, PartialEq)]
pub struct HostSession {
    /// Which host.
    pub host_id: HostId,
    /// Which boot of it.
    pub boot_id: String,
    /// Hashes of its session secrets (R12).
    pub ratchet: Ratchet,
    /// What it said about itself.
    pub facts: Facts,
    /// Its program.
    pub agent_version: String,
    /// When.
    pub at: UnixMillis,
}

impl Store {
    /// The host that a token belongs to, when the token is good now (CONNECT-8).
    pub async fn host_of_token(
        &self,
        token: TokenHash,
        now: UnixMillis,
    ) -> Result<Option<HostLink>, StoreError> {
        self.read(move |reader| {
            let sql = "SELECT t.host_id, t.created_at, h.boot_id, h.ratchet FROM host_token t
                       JOIN host h ON h.id = t.host_id
                       WHERE t.sha256 = ?1 AND (t.valid_until IS NULL OR t.valid_until > ?2)";
            let row = |row: &rusqlite::Row<'_>| {
                let id: HostId = json::parsed(row, 0, "host id")?;
                let host = hosts::by_id(&reader.conn, &id)?.ok_or(StoreError::Corrupt("host token"))?;
                Ok(HostLink {
                    host,
                    token_created_at: millis(row, 1)?,
                    boot_id: row.get(2)?,
                    ratchet: json::read(row, 3, "session secret")?,
                })
            };
            json::first(&mut reader.conn.prepare_cached(sql)?, (token.0, now.0), row)
        })
        .await
    }

    /// Adds the token that a host is offered: it works from now on, beside the old one, until the host says that it has
    /// it (TOKEN-3). Durable.
    pub async fn offer_host_token(
        &self,
        id: HostId,
        token: TokenHash,
        now: UnixMillis,
    ) -> Result<(), StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            // One that was offered before and never confirmed nobody has.
            db.conn.execute(
                "DELETE FROM host_token WHERE host_id = ?1 AND confirmed_at IS NULL",
                [id.as_str()],
            )?;
            db.conn.execute(
                "INSERT INTO host_token (sha256, host_id, created_at) VALUES (?1, ?2, ?3)",
                (token.0, id.as_str(), now.0),
            )?;
            Ok(())
        })
        .await
    }

    /// The host has its new token: the others end at `old_until` (TOKEN-2). Durable. A connection with a token that was
    /// never confirmed confirms it.
    pub async fn confirm_host_token(
        &self,
        id: HostId,
        token: TokenHash,
        now: UnixMillis,
        old_until: UnixMillis,
    ) -> Result<bool, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let confirmed = db.conn.execute(
                "UPDATE host_token SET confirmed_at = ?3 WHERE host_id = ?1 AND sha256 = ?2 AND confirmed_at IS NULL",
                (id.as_str(), token.0, now.0),
            )?;
            if confirmed > 0 {
                db.conn.execute(
                    "UPDATE host_token SET valid_until = min(coalesce(valid_until, ?3), ?3)
                     WHERE host_id = ?1 AND sha256 <> ?2",
                    (id.as_str(), token.0, old_until.0),
                )?;
                db.conn.execute(
                    "DELETE FROM host_token WHERE host_id = ?1 AND valid_until <= ?2",
                    (id.as_str(), now.0),
                )?;
            }
            Ok(confirmed > 0)
        })
        .await
    }

    /// A host has connected. Durable before it is answered: the session secret must be known after a crash (R12).
    pub async fn host_connected(&self, session: HostSession) -> Result<(), StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let facts = json::text(&session.facts, "fact")?;
            let written = db.conn.execute(
                "UPDATE host SET boot_id = ?2, ratchet = ?3, facts = ?4, agent_version = ?5, last_seen = ?6 WHERE id = ?1",
                (
                    session.host_id.as_str(),
                    &session.boot_id,
                    json::text(&session.ratchet, "session secret")?,
                    facts,
                    &session.agent_version,
                    session.at.0,
                ),
            )?;
            if written == 0 { Err(StoreError::Missing("host")) } else { Ok(()) }
        })
        .await
    }

    /// The container engine of a host is this one now.
    pub async fn host_engine(&self, id: HostId, engine: DockerFacts) -> Result<(), StoreError> {
        self.write(Durability::Behind, 1, move |db| {
            let sql = "UPDATE host SET facts = json_set(facts, '$.docker', json(?2)) WHERE id = ?1";
            let engine = json::text(&engine, "engine")?;
            db.conn.prepare_cached(sql)?.execute((id.as_str(), engine))?;
            Ok(())
        })
        .await
    }

    /// The next state of a host has this generation: higher than every one before, and than what the host has
    /// (CONNECT-4). Durable before the state is sent.
    pub async fn raise_generation(&self, id: HostId, above: u64) -> Result<u64, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let sql =
                "UPDATE host SET generation = max(generation, ?2) + 1 WHERE id = ?1 RETURNING generation";
            let next = db
                .conn
                .prepare_cached(sql)?
                .query_row((id.as_str(), signed(above)), |row| row.get::<_, i64>(0))
                .optional()?;
            next.map(crate::value::unsigned).ok_or(StoreError::Missing("host"))
        })
        .await
    }
}
