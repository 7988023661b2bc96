//! One row of the list as JSON: the store's row, and over it what memory knows better.

use std::sync::Arc;

use api::agents::{AgentConfig, AgentSummary, RemoteConfig};
use model::{AgentFacts, ConnectionState, UnixMillis};

use crate::clock::{of_system, rfc3339};
use crate::opamp::{LiveAgent, transport_of};

/// The row of an agent. `live` is its session on this server.
pub(super) fn summary(row: model::AgentSummary, live: Option<&Arc<LiveAgent>>) -> AgentSummary {
    let model::AgentSummary {
        uid,
        facts,
        state: _,
        transport,
        peer_address,
        connected_since: _,
        last_seen,
        disconnected_at: _,
        healthy,
        health_status,
        remote_config,
        capabilities,
        replaced_by,
        replaces,
        labels,
    } = row;
    let AgentFacts { name, namespace, version, instance_id, host, host_id: _, os } = facts;
    let peer_address =
        live.and_then(|agent| agent.principal().address).map_or(peer_address, |address| address.to_string());
    AgentSummary {
        instance_uid: uid.to_string(),
        name: said(name),
        namespace: said(namespace),
        version: said(version),
        instance_id: said(instance_id),
        host: said(host),
        os: said(os),
        state: state(live).as_str().to_owned(),
        transport: Some(live.map_or(transport, |agent| transport_of(agent.transport())).as_str().to_owned()),
        peer_address: said(peer_address),
        connected_since: live.map(|agent| rfc3339(agent.data().since())),
        last_seen: Some(rfc3339(heard(last_seen, live))),
        healthy,
        health_status: healthy.and(said(health_status)),
        remote_config: remote_config
            .map(|state| RemoteConfig { status: state.status.as_str().to_owned(), error: said(state.error) }),
        capabilities: capabilities.names().map(str::to_owned).collect(),
        replaced_by: replaced_by.map(|uid| uid.to_string()),
        replaces: replaces.map(|uid| uid.to_string()),
        labels,
        config: AgentConfig::default(),
    }
}

fn state(live: Option<&Arc<LiveAgent>>) -> ConnectionState {
    match live {
        Some(agent) if agent.data().is_silent() => ConnectionState::Silent,
        Some(_) => ConnectionState::Connected,
        None => ConnectionState::Disconnected,
    }
}

/// A heartbeat is not written, so memory knows better.
fn heard(written: UnixMillis, live: Option<&Arc<LiveAgent>>) -> UnixMillis {
    live.map_or(written, |agent| of_system(agent.last_heard()).max(written))
}

/// Empty text means that nothing was said.
pub(super) fn said(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}
