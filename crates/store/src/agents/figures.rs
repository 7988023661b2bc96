//! Figures about all agents: what they run, and what they say of themselves.

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

    /// The keys of attributes and labels that some agent has and that begin with a text, whatever its case, in their order,
    /// at most `limit`. Those of agents that came within the last second may be missing.
    pub async fn attribute_keys(&self, begin: String, limit: u32) -> Result<Vec<String>, StoreError> {
        self.read(move |reader| {
            // A pattern that begins with what is looked for: `%` stands only behind it.
            let pattern = value::like_pattern(&begin);
            let pattern = pattern.strip_prefix('%').unwrap_or(&pattern);
            let mut statement = reader.conn.prepare_cached(
                "SELECT k.name FROM attribute_key k WHERE k.name LIKE ?1 ESCAPE '\\'
                     AND EXISTS (SELECT 1 FROM agent_attribute a WHERE a.key_id = k.id)
                 ORDER BY k.name LIMIT ?2",
            )?;
            let rows = statement.query_map((pattern, limit), |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }
}
