//! What is known of the agents: the store's rows with what only this server's memory knows laid over them (who is
//! connected now, when it was heard last). Reads never load the whole fleet.

mod detail;
mod summary;

use std::sync::Arc;

use opamp_proto::InstanceUid;
use opamp_server::Server;
use store::{AgentQuery, AuditEntry, Forgotten, Store, StoreError};

use crate::events::Hub;
use crate::opamp::{Census, Endpoint, LiveAgent};

/// Reads the fleet.
#[derive(Debug, Clone)]
pub(crate) struct Fleet {
    store: Store,
    server: Server<Endpoint>,
    census: Arc<Census>,
    hub: Arc<Hub>,
}

impl Fleet {
    /// The fleet of this store and these live agents.
    pub(crate) const fn new(
        store: Store,
        server: Server<Endpoint>,
        census: Arc<Census>,
        hub: Arc<Hub>,
    ) -> Self {
        Self { store, server, census, hub }
    }

    /// A page of agents.
    pub(crate) async fn list(&self, query: AgentQuery) -> Result<api::agents::AgentPage, StoreError> {
        let page = self.store.list_agents(query).await?;
        Ok(api::agents::AgentPage {
            items: page.items.into_iter().map(|row| self.summary(row)).collect(),
            next_cursor: page.next.map(|cursor| cursor.to_string()),
            total: page.total,
        })
    }

    /// One agent in full.
    pub(crate) async fn detail(
        &self,
        uid: InstanceUid,
    ) -> Result<Option<api::agents::AgentDetail>, StoreError> {
        let row = self.store.get_agent(uid).await?;
        Ok(row.map(|row| {
            let live = self.live(uid);
            detail::detail(row, live.as_ref())
        }))
    }

    /// How many agents are in which state.
    pub(crate) async fn counts(&self) -> Result<api::overview::AgentCounts, StoreError> {
        let store::AgentCounts { connected, silent, disconnected, unhealthy, total, replaced: _ } =
            self.store.agent_counts().await?;
        Ok(api::overview::AgentCounts { connected, silent, disconnected, unhealthy, total })
    }

    /// Forgets a disconnected agent.
    pub(crate) async fn forget(&self, uid: InstanceUid, entry: AuditEntry) -> Result<Forgotten, StoreError> {
        if self.live(uid).is_some() {
            return Ok(Forgotten::Connected);
        }
        let outcome = self.store.forget_agent(uid, entry).await?;
        if outcome == Forgotten::Done {
            self.census.leave(1);
            self.hub.changed([uid]);
        }
        Ok(outcome)
    }

    fn summary(&self, row: model::AgentSummary) -> api::agents::AgentSummary {
        let live = self.live(row.uid);
        summary::summary(row, live.as_ref())
    }

    /// The live agent, unless its credential was revoked: a polling agent's session then only waits to end.
    fn live(&self, uid: InstanceUid) -> Option<Arc<LiveAgent>> {
        let agent = self.server.agents().get(uid)?;
        let counts = agent.data().session() != 0 && !agent.principal().credential.is_revoked();
        counts.then_some(agent)
    }
}
