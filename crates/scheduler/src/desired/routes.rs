//! Ports of the host that lead to replicas. A port of a release that is on its way is opened at once, so that one which
//! is taken is known before anything is replaced; one that it gives up stays until all of its deployment is done.

use std::collections::BTreeMap;

use host_proto::desired::{DesiredState, Removals, Route, RouteKind, Upstream};
use host_proto::id::RouteId;
use model::hosting::{Host, Phase, ProjectWorld, Release, Replica, Service};
use model::service::{Port, Protocol};

use crate::hash::route_id;
use crate::judge::takes_traffic;
use crate::world::Routes;

/// The identifier of a port of a service.
pub fn route_of(service: &Service, port: &Port) -> Option<RouteId> {
    let ip = port.host_ip.map(|ip| ip.to_string()).unwrap_or_default();
    route_id(service.id.as_str(), port.host, port.protocol.as_str(), &ip)
}

/// Where the routes of a state lead to.
pub fn routes_of(state: &DesiredState) -> Routes {
    let led = |route: &Route| route.upstreams.iter().map(|upstream| upstream.replica_id.clone()).collect();
    state.routes.iter().map(|route| (route.id.clone(), led(route))).collect()
}

pub(super) fn add(project: &ProjectWorld, host: &Host, state: &mut DesiredState, removals: &mut Removals) {
    for service in &project.services {
        let here: Vec<&Replica> = project
            .replicas_of(&service.id)
            .filter(|it| it.host_id == host.id && it.phase != Phase::Removing)
            .collect();
        if here.is_empty() {
            continue;
        }
        let current = service.current.as_ref().and_then(|id| project.releases.get(id));
        let mut ports: BTreeMap<RouteId, (&Release, &Port)> = BTreeMap::new();
        for release in [current, project.wanted(service).release].into_iter().flatten() {
            let routed = |port| Some((route_of(service, port)?, (release, port)));
            ports.extend(release.spec.ports.iter().filter_map(routed));
        }
        for (id, (release, port)) in ports {
            let upstreams = upstreams(project, &here, release, port);
            state.routes.push(Route {
                id,
                kind: match port.protocol {
                    Protocol::Tcp => RouteKind::Tcp,
                    Protocol::Udp => RouteKind::Udp,
                },
                listen_ip: port.host_ip,
                listen_port: Some(port.host),
                hosts: Vec::new(),
                upstreams,
            });
        }
    }
    // Ports are cheap to open again, so their removal needs no budget of its own.
    removals.routes = u32::MAX;
}

/// The replicas that a port of a release leads to: those that work; if none does, those that did. One of another release
/// without the port has it all the same when its container is that of this release: nothing but ports came between.
fn upstreams(project: &ProjectWorld, here: &[&Replica], release: &Release, port: &Port) -> Vec<Upstream> {
    let to = |replica: &&Replica| {
        let of = project.release_of(replica)?;
        let its = of.spec.ports.iter().find(|its| its.collides(port));
        let its = its.or((of.container_hash == release.container_hash).then_some(port))?;
        let ip = replica.addresses.first()?.ip;
        Some(Upstream { replica_id: replica.id.clone(), ip: ip.into(), port: its.container })
    };
    let ready: Vec<Upstream> = here.iter().filter(|it| takes_traffic(it)).filter_map(to).collect();
    if !ready.is_empty() {
        return ready;
    }
    here.iter().filter(|it| it.phase == Phase::Serving).filter_map(to).collect()
}
