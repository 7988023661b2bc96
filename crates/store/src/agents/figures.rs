//! Figures about all agents: what they run, and why configurations failed.

use opamp_proto::InstanceUid;

use crate::error::StoreError;
use crate::store::Store;
use crate::value::{self, unsigned};

/// How many agents run a version of something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionCount {
    /// `service.name`.
    pub name: String,
    /// `service.version`.
    pub version: String,
    /// How many.
    pub agents: u64,
}

/// How many agents failed for the same reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureCount {
    /// What they said.
    pub reason: String,
    /// How many.
    pub agents: u64,
    /// One of them.
    pub example: InstanceUid,
}

impl Store {
    /// The most frequent versions, at most `limit`.
    pub async fn version_counts(&self, limit: u32) -> Result<Vec<VersionCount>, StoreError> {
        self.read(move |reader| {
            let mut statement = reader.conn.prepare_cached(
                "SELECT name, version, count(*) AS agents FROM agent WHERE replaced_by IS NULL
                 GROUP BY name, version ORDER BY agents DESC, name, version LIMIT ?1",
            )?;
            let rows = statement.query_map([limit], |row| {
                let agents = unsigned(row.get(2)?);
                Ok(VersionCount { name: row.get(0)?, version: row.get(1)?, agents })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// The most frequent reasons why configurations failed, at most `limit`.
    pub async fn failure_counts(&self, limit: u32) -> Result<Vec<FailureCount>, StoreError> {
        self.read(move |reader| {
            let mut statement = reader.conn.prepare_cached(
                "SELECT c.reason, count(*) AS agents, min(a.uid) FROM agent_config c
                 JOIN agent a ON a.id = c.agent_id WHERE c.state = 4 AND a.replaced_by IS NULL
                 GROUP BY c.reason ORDER BY agents DESC, c.reason LIMIT ?1",
            )?;
            let rows = statement.query_map([limit], |row| {
                Ok((row.get(0)?, unsigned(row.get(1)?), row.get::<_, Vec<u8>>(2)?))
            })?;
            rows.map(|row| {
                let (reason, agents, example) = row?;
                Ok(FailureCount { reason, agents, example: value::uid(&example)? })
            })
            .collect()
        })
        .await
    }
}
