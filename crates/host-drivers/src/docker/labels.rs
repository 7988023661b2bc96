//! Labels: what is ours is known by them, never by a name alone.

use std::collections::HashMap;

use host_proto::desired::{Network, ReplicaSpec, Volume};
use host_proto::id::HostId;

/// Whose it is: the host's identifier. An object is ours exactly when this label has our identifier.
pub const HOST: &str = "muster.host";
/// What it is.
pub const KIND: &str = "muster.kind";
/// The value of [`KIND`] for containers of replicas.
pub const REPLICA_KIND: &str = "replica";
/// Which replica.
pub const REPLICA: &str = "muster.replica";
/// Of which service, by identifier.
pub const SERVICE: &str = "muster.service";
/// The service's name.
pub const SERVICE_NAME: &str = "muster.service_name";
/// The project's name.
pub const PROJECT: &str = "muster.project";
/// In which release.
pub const RELEASE: &str = "muster.release";
/// The replica's number within its service.
pub const NUMBER: &str = "muster.number";
/// The name that the container was made with. An image that is made of a container takes all labels along, and so does
/// every container of that image; the engine gives a name once.
pub const NAME: &str = "muster.name";
/// What the container was made from.
pub const SPEC_HASH: &str = "muster.spec_hash";
/// Which network.
pub const NETWORK: &str = "muster.network";
/// Which volume.
pub const VOLUME: &str = "muster.volume";
/// What all our labels begin with.
const PREFIX: &str = "muster.";

/// Labels of a container: those of its owner, and ours, which cannot be overridden.
pub(crate) fn of_replica(host: &HostId, spec: &ReplicaSpec) -> HashMap<String, String> {
    let theirs = spec.labels.iter().filter(|(name, _)| !name.starts_with(PREFIX));
    let mut labels: HashMap<String, String> =
        theirs.map(|(name, value)| (name.clone(), value.clone())).collect();
    let number = spec.number.to_string();
    let ours = [
        (HOST, host.as_str()),
        (KIND, REPLICA_KIND),
        (REPLICA, spec.replica_id.as_str()),
        (SERVICE, spec.service_id.as_str()),
        (SERVICE_NAME, spec.service.as_str()),
        (PROJECT, spec.project.as_str()),
        (RELEASE, spec.release_id.as_str()),
        (NUMBER, number.as_str()),
        (NAME, spec.name.as_str()),
        (SPEC_HASH, spec.spec_hash.as_str()),
    ];
    labels.extend(owned(ours));
    labels
}

/// Labels of a network.
pub(crate) fn of_network(host: &HostId, network: &Network) -> HashMap<String, String> {
    owned([(HOST, host.as_str()), (NETWORK, network.id.as_str()), (PROJECT, network.project.as_str())])
}

/// Labels of a volume.
pub(crate) fn of_volume(host: &HostId, volume: &Volume) -> HashMap<String, String> {
    owned([(HOST, host.as_str()), (VOLUME, volume.id.as_str())])
}

fn owned<const N: usize>(pairs: [(&str, &str); N]) -> HashMap<String, String> {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
