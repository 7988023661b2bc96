//! The two hashes that say whether a container is another one: that of a release (container and files), and that of a
//! replica, which adds the networks that it really stands in.

use std::collections::BTreeMap;

use host_proto::id::{FileId, NetworkId, RouteId};
use model::hosting::FileKind;
use model::service::ContainerSpec;
use sha2::{Digest, Sha256};

/// The hash of what each replica of a release is. Two releases with the same one have the same replicas, and going from
/// one to the other touches no container.
pub fn container_hash(
    container: &ContainerSpec,
    files: &BTreeMap<(FileKind, String), FileId>,
) -> Result<String, serde_json::Error> {
    let mut hasher = Sha256::new();
    hasher.update(b"muster container 1\0");
    hasher.update(container.canonical()?.as_bytes());
    for ((kind, name), id) in files {
        for part in [kind.as_str(), name.as_str(), id.as_str()] {
            hasher.update([0]);
            hasher.update(part.as_bytes());
        }
    }
    Ok(hex::encode(hasher.finalize()))
}

/// The hash of a replica: its release's, and its networks, which an engine cannot change in place (R35).
pub fn spec_hash<'a>(container_hash: &str, networks: impl IntoIterator<Item = &'a NetworkId>) -> String {
    let mut hasher = Sha256::new();
    hasher.update(b"muster replica 1\0");
    hasher.update(container_hash.as_bytes());
    for network in networks {
        hasher.update([0]);
        hasher.update(network.as_str().as_bytes());
    }
    hex::encode(hasher.finalize())
}

/// The identifier of a port of a service on any host: the same as long as the port is the same.
pub fn route_id(service: &str, port: u16, protocol: &str, ip: &str) -> Option<RouteId> {
    let mut hasher = Sha256::new();
    hasher.update(format!("muster route 1\0{service}\0{port}\0{protocol}\0{ip}"));
    format!("{}{}", RouteId::PREFIX, &hex::encode(hasher.finalize())[..26]).parse().ok()
}
