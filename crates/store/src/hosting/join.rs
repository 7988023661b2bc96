//! Join tokens, and the join itself: one transaction that makes a host, or says why not.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use host_proto::id::HostId;
use host_proto::join::JoinError;
use host_proto::message::Facts;
use host_proto::server::join::{Asking, JoinVerdict, Machine, TokenRecord, decide};
use model::hosting::{Host, HostMode, JoinToken, JoinTokenId, Subnet};
use model::{Labels, TokenHash, UnixMillis};
use rusqlite::{Connection, Row};
use serde_json::json;

use super::{hosts, json};
use crate::audit::{self, AuditEntry};
use crate::error::StoreError;
use crate::store::Store;
use crate::value::{hash, millis, optional_millis};
use crate::writer::{Db, Durability};

const COLUMNS: &str =
    "id, sha256, host_name, for_host, created_by, created_at, expires_at, revoked_at, used_at, used_by";

/// A join token to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJoinToken {
    /// SHA-256 of its text.
    pub sha256: TokenHash,
    /// The name that the host shall have; its hostname when empty.
    pub host_name: String,
    /// Whose place the machine takes (R3).
    pub for_host: Option<HostId>,
    /// Who makes it.
    pub created_by: String,
    /// When.
    pub created_at: UnixMillis,
    /// From when it is refused.
    pub expires_at: UnixMillis,
}

/// A machine that wants to be a host.
#[derive(Debug, Clone, PartialEq)]
pub struct JoinAttempt {
    /// SHA-256 of the token that it shows.
    pub token: TokenHash,
    /// `/etc/machine-id`.
    pub machine_id: String,
    /// Made by its agent.
    pub instance_id: String,
    /// WireGuard key.
    pub wg_public_key: String,
    /// What it is.
    pub facts: Facts,
    /// Its program.
    pub agent_version: String,
    /// The name that it would like.
    pub wished_name: String,
    /// Its identifier, if it is a new one.
    pub new_id: HostId,
    /// SHA-256 of the host token that it gets.
    pub host_token: TokenHash,
    /// Where mesh addresses come from.
    pub mesh: Subnet,
    /// When.
    pub now: UnixMillis,
}

/// What became of a join.
#[derive(Debug, Clone, PartialEq)]
pub enum Joined {
    /// It is a host; `again`: it was already, and its answer got lost (JOIN-8).
    Host {
        /// The host.
        host: Box<Host>,
        /// Whether it had joined before.
        again: bool,
    },
    /// No such token, or revoked.
    Invalid,
    /// Too late.
    Expired,
    /// The token, the machine or its key is this host's (JOIN-7).
    Duplicate(HostId),
    /// No address is left.
    Full,
}

impl Store {
    /// Makes a join token. Durable, with `entry` about it.
    pub async fn create_join_token(
        &self,
        new: NewJoinToken,
        entry: AuditEntry,
    ) -> Result<JoinToken, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let mut insert = db.conn.prepare_cached(
                "INSERT INTO join_token (sha256, host_name, for_host, created_by, created_at, expires_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6) RETURNING id",
            )?;
            let for_host = new.for_host.as_ref().map(HostId::as_str);
            let row =
                (new.sha256.0, &new.host_name, for_host, &new.created_by, new.created_at.0, new.expires_at.0);
            let id: i64 = insert.query_row(row, |row| row.get(0))?;
            let told =
                json!({ "host_name": new.host_name, "for_host": for_host, "expires_at": new.expires_at.0 });
            audit::record(db, &entry.about(format!("join-token/{id}")).with(None, Some(told)))?;
            by_number(db.conn, id)?.ok_or(StoreError::Missing("join token"))
        })
        .await
    }

    /// The newest join tokens, at most `limit`.
    pub async fn join_tokens(&self, limit: u32) -> Result<Vec<JoinToken>, StoreError> {
        self.read(move |reader| {
            let sql = format!("SELECT {COLUMNS} FROM join_token ORDER BY id DESC LIMIT ?1");
            json::rows(&mut reader.conn.prepare_cached(&sql)?, [limit], token)
        })
        .await
    }

    /// Takes a join token back; what it was. Durable, with `entry` about it.
    pub async fn revoke_join_token(
        &self,
        id: JoinTokenId,
        now: UnixMillis,
        entry: AuditEntry,
    ) -> Result<Option<JoinToken>, StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            let Some(token) = by_number(db.conn, id.0)? else { return Ok(None) };
            if token.revoked_at.is_none() {
                db.conn.execute("UPDATE join_token SET revoked_at = ?2 WHERE id = ?1", (id.0, now.0))?;
                audit::record(db, &entry)?;
            }
            Ok(Some(token))
        })
        .await
    }

    /// Makes a machine a host. Durable before the answer, with `entry` about it, as the token works once (JOIN-3).
    pub async fn join(&self, attempt: JoinAttempt, entry: AuditEntry) -> Result<Joined, StoreError> {
        self.write(Durability::Durable, 2, move |db| try_join(db, &attempt, &entry)).await
    }
}

fn try_join(db: &mut Db<'_>, attempt: &JoinAttempt, entry: &AuditEntry) -> Result<Joined, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM join_token WHERE sha256 = ?1");
    let found = json::first(&mut db.conn.prepare_cached(&sql)?, [attempt.token.0], token)?;
    let Some(token) = found else { return Ok(Joined::Invalid) };
    let used_by = used_by(db.conn, &token)?;
    let record = TokenRecord {
        // The token of a host that was removed joins nobody else.
        revoked: token.revoked_at.is_some() || token.used.is_some() && used_by.is_none(),
        expired: attempt.now >= token.expires_at,
        for_host: token.for_host.clone(),
        used_by,
    };
    let others = same_machine_or_key(db.conn, attempt)?;
    let asking = Asking {
        machine_id: &attempt.machine_id,
        wg_public_key: &attempt.wg_public_key,
        instance_id: &attempt.instance_id,
    };
    let (host, again) = match decide(&record, asking, &others) {
        JoinVerdict::Create => match new_host(db.conn, attempt, &token)? {
            Some(host) => {
                hosts::insert(db.conn, &host)?;
                (host, false)
            }
            None => return Ok(Joined::Full),
        },
        JoinVerdict::Rejoin(id) => (take_place(db, attempt, &id)?, false),
        // The same machine, whose answer got lost (JOIN-8).
        JoinVerdict::Repeat(id) => (hosts::by_id(db.conn, &id)?.ok_or(StoreError::Missing("host"))?, true),
        JoinVerdict::Refuse { error: JoinError::JoinTokenExpired, .. } => return Ok(Joined::Expired),
        JoinVerdict::Refuse { error: JoinError::DuplicateHost, existing: Some(id) } => {
            return Ok(Joined::Duplicate(id));
        }
        JoinVerdict::Refuse { .. } => return Ok(Joined::Invalid),
    };
    if !again {
        let used = (token.id.0, attempt.now.0, host.id.as_str());
        db.conn.execute("UPDATE join_token SET used_at = ?2, used_by = ?3 WHERE id = ?1", used)?;
    }
    give_token(db, attempt, &host.id)?;
    let told = if again { json!({ "again": true }) } else { hosts::told(&host) };
    audit::record(db, &entry.about(format!("host/{}", host.name)).with(None, Some(told)))?;
    Ok(Joined::Host { host: Box::new(host), again })
}

/// The host that used a token, while it is one.
fn used_by(conn: &Connection, token: &JoinToken) -> Result<Option<Machine>, StoreError> {
    let Some((_, id)) = &token.used else { return Ok(None) };
    let sql = format!("{MACHINE} WHERE id = ?1");
    json::first(&mut conn.prepare_cached(&sql)?, [id.as_str()], machine)
}

fn same_machine_or_key(conn: &Connection, attempt: &JoinAttempt) -> Result<Vec<Machine>, StoreError> {
    let sql = format!("{MACHINE} WHERE machine_id = ?1 OR wg_public_key = ?2");
    let row = (&attempt.machine_id, &attempt.wg_public_key);
    json::rows(&mut conn.prepare_cached(&sql)?, row, machine)
}

const MACHINE: &str = "SELECT id, machine_id, wg_public_key, instance_id FROM host";

fn machine(row: &Row<'_>) -> Result<Machine, StoreError> {
    Ok(Machine {
        host: json::parsed(row, 0, "host id")?,
        machine_id: row.get(1)?,
        wg_public_key: row.get(2)?,
        instance_id: row.get(3)?,
    })
}

/// A machine that was made anew takes the place of a host: the identifier, the mesh address and what runs there stay.
fn take_place(db: &mut Db<'_>, attempt: &JoinAttempt, id: &HostId) -> Result<Host, StoreError> {
    let mut host = hosts::by_id(db.conn, id)?.ok_or(StoreError::Missing("host"))?;
    host.machine_id.clone_from(&attempt.machine_id);
    host.instance_id.clone_from(&attempt.instance_id);
    host.wg_public_key.clone_from(&attempt.wg_public_key);
    host.facts = attempt.facts.clone();
    let facts = json::text(&host.facts, "fact")?;
    db.conn.execute(
        "UPDATE host SET machine_id = ?2, instance_id = ?3, wg_public_key = ?4, facts = ?5, ratchet = '{}', boot_id = ''
         WHERE id = ?1",
        (id.as_str(), &host.machine_id, &host.instance_id, &host.wg_public_key, facts),
    )?;
    db.conn.execute("DELETE FROM host_token WHERE host_id = ?1", [id.as_str()])?;
    Ok(host)
}

fn new_host(conn: &Connection, attempt: &JoinAttempt, token: &JoinToken) -> Result<Option<Host>, StoreError> {
    let wish = if token.host_name.is_empty() { &attempt.wished_name } else { &token.host_name };
    let Some(mesh_ip) = free_address(conn, attempt.mesh)? else { return Ok(None) };
    Ok(Some(Host {
        id: attempt.new_id.clone(),
        name: free_name(conn, wish)?,
        machine_id: attempt.machine_id.clone(),
        instance_id: attempt.instance_id.clone(),
        wg_public_key: attempt.wg_public_key.clone(),
        mesh_ip,
        labels: Labels::new(),
        facts: attempt.facts.clone(),
        agent_version: attempt.agent_version.clone(),
        mode: HostMode::Normal,
        allowed_paths: Vec::new(),
        adopting: false,
        epoch: None,
        generation: 0,
        joined_at: attempt.now,
        last_seen: None,
        version: 1,
    }))
}

/// The name, with a number behind it when another host has it.
fn free_name(conn: &Connection, wish: &str) -> Result<String, StoreError> {
    let mut taken = conn.prepare_cached("SELECT 1 FROM host WHERE name = ?1")?;
    let mut name = wish.to_owned();
    let mut number = 1;
    while taken.exists([&name])? {
        number += 1;
        name = format!("{wish}-{number}");
    }
    Ok(name)
}

fn free_address(conn: &Connection, mesh: Subnet) -> Result<Option<Ipv4Addr>, StoreError> {
    let mut statement = conn.prepare_cached("SELECT mesh_ip FROM host")?;
    let used: BTreeSet<Ipv4Addr> =
        json::rows(&mut statement, [], |row| json::parsed(row, 0, "address"))?.into_iter().collect();
    let first = mesh.first().saturating_add(1);
    let count = u32::try_from(mesh.size().saturating_sub(2)).unwrap_or(u32::MAX);
    Ok((0..count).map(|number| Ipv4Addr::from(first.saturating_add(number))).find(|ip| !used.contains(ip)))
}

fn give_token(db: &Db<'_>, attempt: &JoinAttempt, host: &HostId) -> Result<(), StoreError> {
    // The answers that got lost carried tokens that nobody has.
    db.conn.execute("DELETE FROM host_token WHERE host_id = ?1", [host.as_str()])?;
    db.conn.execute(
        "INSERT INTO host_token (sha256, host_id, created_at, confirmed_at) VALUES (?1, ?2, ?3, ?3)",
        (attempt.host_token.0, host.as_str(), attempt.now.0),
    )?;
    Ok(())
}

fn by_number(conn: &Connection, id: i64) -> Result<Option<JoinToken>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM join_token WHERE id = ?1");
    json::first(&mut conn.prepare_cached(&sql)?, [id], token)
}

fn token(row: &Row<'_>) -> Result<JoinToken, StoreError> {
    let used_by: Option<HostId> = json::maybe_parsed(row, 9, "host id")?;
    Ok(JoinToken {
        id: JoinTokenId(row.get(0)?),
        sha256: hash(row, 1)?,
        host_name: row.get(2)?,
        for_host: json::maybe_parsed(row, 3, "host id")?,
        created_by: row.get(4)?,
        created_at: millis(row, 5)?,
        expires_at: millis(row, 6)?,
        revoked_at: optional_millis(row, 7)?,
        used: optional_millis(row, 8)?.zip(used_by),
    })
}
