//! A network of a state as a request to the engine.
//!
//! Whether containers may reach the world is the firewall's business, not the engine's: its `internal` networks no longer
//! forward names to the server on the gateway (since Docker 26), and could not be opened again without making them anew.

use std::collections::HashMap;

use bollard::models::{Ipam, IpamConfig, NetworkCreateRequest};
use host_proto::desired::Network;
use host_proto::id::HostId;
use reconcile::firewall::Subnet;

use super::connect::ApiVersion;
use super::labels;

const BRIDGE_NAME: &str = "com.docker.network.bridge.name";
const MTU: &str = "com.docker.network.driver.mtu";
const TRUSTED: &str = "com.docker.network.bridge.trusted_host_interfaces";
const GATEWAY_MODE: &str = "com.docker.network.bridge.gateway_mode_ipv4";

/// What the engine is asked for.
pub(crate) fn request(host: &HostId, network: &Network, api: ApiVersion) -> NetworkCreateRequest {
    let config = IpamConfig {
        subnet: Some(network.subnet.clone()),
        gateway: Some(network.gateway.to_string()),
        // Where the engine gives addresses by itself: containers of others that somebody attaches must not get one that a
        // replica of ours is to have. The control plane gives addresses out of the rest first.
        ip_range: network.subnet.parse().ok().and_then(Subnet::last_quarter).map(|range| range.to_string()),
        ..IpamConfig::default()
    };
    let ipam = Ipam { config: Some(vec![config]), ..Ipam::default() };
    NetworkCreateRequest {
        name: network.name.clone(),
        driver: Some("bridge".to_owned()),
        ipam: Some(ipam),
        options: Some(options(network, api)),
        labels: Some(labels::of_network(host, network)),
        ..NetworkCreateRequest::default()
    }
}

fn options(network: &Network, api: ApiVersion) -> HashMap<String, String> {
    let mut options = HashMap::from([(BRIDGE_NAME.to_owned(), network.bridge.clone())]);
    if let Some(mtu) = network.mtu {
        options.insert(MTU.to_owned(), mtu.to_string());
    }
    // R47: from Docker 28 on packets for a container that do not come from its bridge are dropped. Before, nothing had to
    // be said; in 28.0 and 28.1 there was only the mode that allows them from everywhere, and our firewall stands before it.
    if let Some(interface) = &network.trusted_interface {
        if api >= ApiVersion::TRUSTED_INTERFACES {
            options.insert(TRUSTED.to_owned(), interface.clone());
        } else if api >= ApiVersion::GATEWAY_PRIORITY {
            options.insert(GATEWAY_MODE.to_owned(), "nat-unprotected".to_owned());
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network() -> Network {
        serde_json::from_value(serde_json::json!({
            "id": "net_1", "name": "muster-shop-back-000001", "bridge": "mst0123456789",
            "project_id": "prj_1", "project": "shop", "subnet": "10.208.4.0/24", "gateway": "10.208.4.1",
            "mtu": 1420, "egress": "deny", "trusted_interface": "mst-mesh",
        }))
        .unwrap()
    }

    #[test]
    fn r47_the_engine_is_told_whom_to_trust_in_the_way_that_it_knows() {
        let ask = |minor| options(&network(), ApiVersion { major: 1, minor });
        assert_eq!(ask(41).get(TRUSTED), None);
        assert_eq!(ask(41).get(GATEWAY_MODE), None);
        assert_eq!(ask(48)[GATEWAY_MODE], "nat-unprotected");
        assert_eq!(ask(50)[TRUSTED], "mst-mesh");
        assert_eq!(ask(50).get(GATEWAY_MODE), None);
        assert_eq!((&*ask(41)[BRIDGE_NAME], &*ask(41)[MTU]), ("mst0123456789", "1420"));
    }

    #[test]
    fn the_engine_gives_addresses_of_the_last_quarter_by_itself() {
        let host = "hst_1".parse().unwrap();
        let ipam = request(&host, &network(), ApiVersion::OLDEST).ipam.unwrap().config.unwrap();
        assert_eq!(ipam[0].ip_range.as_deref(), Some("10.208.4.192/26"));
        let small = Network { subnet: "10.208.4.0/30".to_owned(), ..network() };
        assert_eq!(
            request(&host, &small, ApiVersion::OLDEST).ipam.unwrap().config.unwrap()[0].ip_range,
            None
        );
    }

    #[test]
    fn a_network_without_a_way_out_is_not_internal_for_the_engine() {
        let host = "hst_1".parse().unwrap();
        let request = request(&host, &network(), ApiVersion::OLDEST);
        assert_eq!(request.internal, None);
        assert_eq!(request.labels.unwrap()[labels::NETWORK], "net_1");
    }
}
