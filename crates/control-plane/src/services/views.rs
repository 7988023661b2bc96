//! What decisions look at: stored rows and the hosts as they are now, as `scheduler` wants them.

use std::collections::BTreeMap;

use host_proto::id::ProjectId;
use scheduler::{HostView, Presence};
use store::StoreError;

use super::Services;
use crate::hosts::OFFLINE_AFTER;

impl Services {
    /// Every host, with what other projects have on it.
    pub(crate) async fn host_views(&self, project: Option<&ProjectId>) -> Result<Vec<HostView>, StoreError> {
        let hosts = self.store.hosts().await?;
        let counts = self.store.replica_counts().await?;
        let used = self.store.ports_in_use().await?;
        let views = hosts.into_iter().map(|host| {
            let mut ports = BTreeMap::new();
            for other in used.iter().filter(|it| it.host_id == host.id && Some(&it.project_id) != project) {
                for port in &other.spec.ports {
                    ports.insert((port.host, port.protocol.into()), other.service.clone());
                }
            }
            let live = self.live.look(&host.id);
            HostView {
                presence: match live.online {
                    true => Presence::Online,
                    // The clocks start when the server is up (OFF-4).
                    false if self.live.uptime() < OFFLINE_AFTER => Presence::Awaited,
                    false => Presence::Gone,
                },
                replicas: counts.get(&host.id).copied().unwrap_or(0),
                ports,
                foreign_ports: live.foreign_ports,
                items: live.items,
                routes: live.routes,
                host,
            }
        });
        Ok(views.collect())
    }
}
