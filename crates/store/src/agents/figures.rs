//! Figures about all agents: what they run, and what they say of themselves.

use std::collections::HashMap;

use crate::error::StoreError;
use crate::store::Store;
use crate::value;

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
            // Counted here: SQLite would sort a row for each agent, which takes it three times as long.
            let mut statement = reader
                .conn
                .prepare_cached("SELECT name, version FROM agent NOT INDEXED WHERE replaced_by IS NULL")?;
            let mut found: HashMap<String, HashMap<String, u64>> = HashMap::new();
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let text = |column| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_str()?);
                let (name, version) = (text(0)?, text(1)?);
                match found.get_mut(name).and_then(|versions| versions.get_mut(version)) {
                    Some(agents) => *agents += 1,
                    None => {
                        let versions = found.entry(name.to_owned()).or_default();
                        versions.insert(version.to_owned(), 1);
                    }
                }
            }
            let counts = found.into_iter().flat_map(|(name, versions)| {
                let count = move |(version, agents)| VersionCount { name: name.clone(), version, agents };
                versions.into_iter().map(count)
            });
            let mut counts: Vec<VersionCount> = counts.collect();
            counts.sort_unstable_by(|one, other| {
                let names = || (&one.name, &one.version).cmp(&(&other.name, &other.version));
                other.agents.cmp(&one.agents).then_with(names)
            });
            counts.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            Ok(counts)
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
