//! How large a replica is in what its host is told: a state is one message, which has a limit.

use host_proto::id::{NetworkId, ReplicaId};
use host_proto::limits::MAX_MESSAGE;
use model::UnixMillis;
use model::hosting::{Address, Host, Phase, ProjectWorld, Release, Replica, Service};

use crate::desired::bytes_of;

/// The largest state that a deployment may lead to, in bytes: an eighth of a message is left for names and ports, for
/// replicas that are replaced, and for what hosts add later.
pub const MOST: usize = MAX_MESSAGE - MAX_MESSAGE / 8;

/// For names, ports and the words around them.
const BESIDE: usize = 512;

/// About how many bytes one replica of a release takes in the state of a host.
pub fn replica_bytes(project: &ProjectWorld, service: &Service, release: &Release, host: &Host) -> usize {
    let address =
        || Address { network_id: NetworkId::generate(0, [0; 10]), ip: std::net::Ipv4Addr::BROADCAST };
    let replica = Replica {
        id: ReplicaId::generate(0, [0; 10]),
        service_id: service.id.clone(),
        release_id: release.id.clone(),
        host_id: host.id.clone(),
        number: model::service::MAX_REPLICAS,
        phase: Phase::Preparing,
        phase_since: UnixMillis(0),
        addresses: release.spec.shared.networks.iter().map(|_| address()).collect(),
        created_at: UnixMillis(0),
        report: None,
        reported_since: None,
    };
    bytes_of(project, service, release, &replica, host) + BESIDE
}
