//! Answers to requests that carried an Idempotency-Key, kept so that a repetition gets the same one. A key is claimed
//! before the work begins, so that two equal requests at once do not both work.

use model::{UnixMillis, UserId};
use rusqlite::{Connection, OptionalExtension};

use crate::error::StoreError;
use crate::store::Store;
use crate::value::signed;
use crate::writer::{Db, Durability};

/// Keys of one caller that are kept; the oldest goes first.
const MAX_KEYS: i64 = 1000;

/// A request and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedRequest {
    /// Who sends it; see [`actor_of`].
    pub actor: String,
    /// The key.
    pub key: String,
    /// SHA-256 of all that makes it this request.
    pub hash: [u8; 32],
}

/// What a claim found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// Nobody was here: do the work, then keep or release.
    Yours,
    /// The work was done; this is the answer as it was kept.
    Done {
        /// The HTTP status.
        status: u16,
        /// Whatever was kept.
        answer: Vec<u8>,
    },
    /// Another request with the key is being worked on.
    Working,
    /// The key belongs to another request.
    OtherRequest,
}

/// The actor of a user's or an API token's requests. The role is a part of it: whoever has another role by now gets
/// no answer that was given to the former one.
pub fn actor_of(user: UserId, token: Option<model::ApiTokenId>, role: model::Role) -> String {
    match token {
        None => format!("user/{}/{role}", user.0),
        Some(token) => format!("token/{token}/{role}"),
    }
}

impl Store {
    /// Claims a key at `now`. A row from before `forgotten` counts as none. Work that began before `stale`, or under
    /// another start of the server, has died with it and may be done again. Durable.
    pub async fn claim_answer(
        &self,
        request: KeyedRequest,
        now: UnixMillis,
        forgotten: UnixMillis,
        stale: UnixMillis,
    ) -> Result<Claim, StoreError> {
        self.write(Durability::Durable, 1, move |db| claim(db, &request, now, forgotten, stale)).await
    }

    /// Keeps the answer to a claimed request. Durable.
    pub async fn keep_answer(
        &self,
        request: KeyedRequest,
        status: u16,
        answer: Vec<u8>,
    ) -> Result<(), StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            db.conn.execute(
                "UPDATE idempotency SET status = ?4, answer = ?5
                 WHERE actor = ?1 AND key = ?2 AND request = ?3 AND status = 0",
                (&request.actor, &request.key, request.hash, status, &answer),
            )?;
            Ok(())
        })
        .await
    }

    /// Gives a claimed key back: nothing was done. Durable.
    pub async fn release_answer(&self, request: KeyedRequest) -> Result<(), StoreError> {
        self.write(Durability::Durable, 1, move |db| {
            db.conn.execute(
                "DELETE FROM idempotency WHERE actor = ?1 AND key = ?2 AND request = ?3 AND status = 0",
                (&request.actor, &request.key, request.hash),
            )?;
            Ok(())
        })
        .await
    }

    /// Removes keys from before a moment; how many.
    pub async fn sweep_answers(&self, before: UnixMillis) -> Result<usize, StoreError> {
        self.write(Durability::Behind, 1, move |db| {
            Ok(db.conn.execute("DELETE FROM idempotency WHERE created_at <= ?1", [before.0])?)
        })
        .await
    }
}

fn claim(
    db: &mut Db<'_>,
    request: &KeyedRequest,
    now: UnixMillis,
    forgotten: UnixMillis,
    stale: UnixMillis,
) -> Result<Claim, StoreError> {
    let found = db
        .conn
        .prepare_cached(
            "SELECT request, status, answer, created_at FROM idempotency WHERE actor = ?1 AND key = ?2",
        )?
        .query_row((&request.actor, &request.key), |row| {
            Ok((row.get::<_, [u8; 32]>(0)?, row.get(1)?, row.get::<_, Vec<u8>>(2)?, row.get::<_, i64>(3)?))
        })
        .optional()?;
    // Who works on it writes the start of the server into the place of the answer.
    let worker = signed(db.epoch).to_be_bytes();
    match found {
        Some((.., at)) if at <= forgotten.0 => {}
        Some((hash, ..)) if hash != request.hash => return Ok(Claim::OtherRequest),
        Some((_, 0, by, at)) if by == worker && at > stale.0 => return Ok(Claim::Working),
        Some((_, status @ 1.., answer, _)) => return Ok(Claim::Done { status, answer }),
        Some((_, 0, ..)) | None => {}
    }
    make_room(db.conn, &request.actor)?;
    db.conn.execute(
        "INSERT INTO idempotency (actor, key, request, status, answer, created_at) VALUES (?1, ?2, ?3, 0, ?4, ?5)
         ON CONFLICT (actor, key) DO UPDATE SET request = ?3, status = 0, answer = ?4, created_at = ?5",
        (&request.actor, &request.key, request.hash, worker, now.0),
    )?;
    Ok(Claim::Yours)
}

fn make_room(conn: &Connection, actor: &str) -> Result<(), StoreError> {
    conn.prepare_cached(
        "DELETE FROM idempotency WHERE actor = ?1 AND key IN (
             SELECT key FROM idempotency WHERE actor = ?1 ORDER BY created_at DESC LIMIT -1 OFFSET ?2)",
    )?
    .execute((actor, MAX_KEYS - 1))?;
    Ok(())
}

/// Forgets what a user was answered: the number may be given to another one.
pub(crate) fn forget_user(conn: &Connection, user: UserId) -> Result<(), StoreError> {
    // '0' follows '/'.
    let (from, to) = (format!("user/{}/", user.0), format!("user/{}0", user.0));
    conn.execute("DELETE FROM idempotency WHERE actor >= ?1 AND actor < ?2", (from, to))?;
    Ok(())
}
