//! What is known of the agents: the store's rows with what only this server's memory knows laid over them (who is
//! connected now, when it was heard last). Reads never load the whole fleet.

mod config;
mod detail;
mod messages;
mod summary;
mod timeline;

use std::sync::Arc;
use std::time::Duration;

use api::agents::{AgentSummary, Drift, Offered};
use api::overview::ConfigCounts;
use bytes::Bytes;
use model::{ConfigState, RevisionId};
use opamp_proto::{InstanceUid, Part};
use opamp_server::Server;
use store::{AgentQuery, AuditEntry, Forgotten, Store, StoreError};

pub(crate) use messages::messages;

use crate::configs::Configs;
use crate::events::Hub;
use crate::opamp::{Census, Endpoint, LiveAgent};

/// How long the end of a session may take to be written: the database may take no writes.
const WRITTEN_WITHIN: Duration = Duration::from_secs(3);

/// Reads the fleet.
#[derive(Debug, Clone)]
pub(crate) struct Fleet {
    store: Store,
    server: Server<Endpoint>,
    census: Arc<Census>,
    hub: Arc<Hub>,
    configs: Arc<Configs>,
}

impl Fleet {
    /// The fleet of this store and these live agents.
    pub(crate) const fn new(
        store: Store,
        server: Server<Endpoint>,
        census: Arc<Census>,
        hub: Arc<Hub>,
        configs: Arc<Configs>,
    ) -> Self {
        Self { store, server, census, hub, configs }
    }

    /// A page of agents.
    pub(crate) async fn list(&self, query: AgentQuery) -> Result<api::agents::AgentPage, StoreError> {
        let page = self.store.list_agents(query).await?;
        let mut places = self.store.agent_places(page.items.iter().map(|row| row.uid).collect()).await?;
        let plan = self.configs.plan();
        let summary = |row: model::AgentSummary| {
            let (live, stored) = (self.live(row.uid), places.remove(&row.uid));
            let config = config::of(&plan, row.uid, live.as_ref(), stored);
            AgentSummary { config, ..summary::summary(row, live.as_ref()) }
        };
        Ok(api::agents::AgentPage {
            items: page.items.into_iter().map(summary).collect(),
            next_cursor: page.next.map(|cursor| cursor.to_string()),
            total: page.total,
        })
    }

    /// One agent in full.
    pub(crate) async fn detail(
        &self,
        uid: InstanceUid,
    ) -> Result<Option<api::agents::AgentDetail>, StoreError> {
        let Some(row) = self.store.get_agent(uid).await? else { return Ok(None) };
        let effective = row.parts.get(Part::EffectiveConfig).cloned();
        let stored = self.store.agent_place(uid).await?;
        let (live, plan) = (self.live(uid), self.configs.plan());
        let place = config::place(live.as_ref(), stored);
        let (offered, drift) = match place.revision {
            Some(id) => self.offered(id, effective).await?,
            None => (None, None),
        };
        let mut detail = detail::detail(row, live.as_ref());
        detail.summary.config = config::words(&plan, uid, place);
        Ok(Some(api::agents::AgentDetail { offered, drift, ..detail }))
    }

    /// What an agent is given, and where what it runs differs from it.
    async fn offered(
        &self,
        id: RevisionId,
        effective: Option<Bytes>,
    ) -> Result<(Option<Offered>, Option<Vec<Drift>>), StoreError> {
        let Some((config, row, files)) = self.store.revision_by_id(id).await? else {
            return Ok((None, None));
        };
        let compare = move || config::compare(config, row, files, effective);
        Ok(tokio::task::spawn_blocking(compare).await.unwrap_or_default())
    }

    /// How many agents are how far with their configuration.
    pub(crate) async fn config_counts(&self) -> Result<ConfigCounts, StoreError> {
        let counts = self.store.config_counts().await?;
        let of = |state| counts.get(&state).copied().unwrap_or(0);
        Ok(ConfigCounts {
            in_sync: of(ConfigState::InSync),
            offered: of(ConfigState::Offered),
            applying: of(ConfigState::Applying),
            failed: of(ConfigState::Failed),
            drifted: of(ConfigState::Drifted),
            not_configurable: of(ConfigState::NotConfigurable),
            unmanaged: of(ConfigState::Unmanaged),
        })
    }

    /// How many agents are in which state.
    pub(crate) async fn counts(&self) -> Result<api::overview::AgentCounts, StoreError> {
        let store::AgentCounts { connected, silent, disconnected, unhealthy, healthy: _, total, replaced: _ } =
            self.store.agent_counts().await?;
        Ok(api::overview::AgentCounts { connected, silent, disconnected, unhealthy, total })
    }

    /// Forgets a disconnected agent.
    pub(crate) async fn forget(&self, uid: InstanceUid, entry: AuditEntry) -> Result<Forgotten, StoreError> {
        if self.live(uid).is_some() {
            return Ok(Forgotten::Connected);
        }
        let mut outcome = self.store.forget_agent(uid, entry.clone()).await?;
        if outcome == Forgotten::Connected && self.live(uid).is_none() {
            // That it is gone is written behind: its row did not say so yet.
            let written = self.server.handler().outgoing.flush();
            if tokio::time::timeout(WRITTEN_WITHIN, written).await.is_ok() {
                outcome = self.store.forget_agent(uid, entry).await?;
            }
        }
        if outcome == Forgotten::Done {
            self.census.leave(1);
            self.configs.forgotten(uid).await;
            self.hub.changed([uid]);
        }
        Ok(outcome)
    }

    /// The live agent, unless its credential was revoked: a polling agent's session then only waits to end.
    fn live(&self, uid: InstanceUid) -> Option<Arc<LiveAgent>> {
        let agent = self.server.agents().get(uid)?;
        let counts = agent.data().session() != 0 && !agent.principal().credential.is_revoked();
        counts.then_some(agent)
    }
}
