//! Questions as containers send them: whatever comes, an answer carries the question's number, says that it is an answer,
//! and fits into the packet that it goes out in.
#![no_main]

use std::sync::LazyLock;

use host_drivers::dns::{Reply, Transport, Zone, answer};
use host_drivers::netd::Config;
use libfuzzer_sys::fuzz_target;

static ZONE: LazyLock<Zone> = LazyLock::new(|| {
    let config = serde_json::json!({
        "range": "10.208.0.0/12",
        "networks": [{
            "id": "net_1", "project_id": "prj_1", "project": "shop",
            "subnet": "10.208.1.0/24", "gateway": "10.208.1.1", "names": true,
        }],
        "members": {"10.208.1.2": ["net_1"]},
        "dns": {"domain": "internal", "ttl_s": 2, "records": [
            {"project_id": "prj_1", "name": "a", "type": "A", "values": [{"ip": "10.208.1.2", "network_id": "net_1"}]},
        ]},
        "routes": [],
    });
    Zone::new(&serde_json::from_value::<Config>(config).expect("a configuration"))
});

fuzz_target!(|packet: &[u8]| {
    for transport in [Transport::Udp, Transport::Tcp] {
        if let Reply::Answer(bytes, _) = answer(&ZONE, [10, 208, 1, 2].into(), packet, transport) {
            assert_eq!(bytes[..2], packet[..2]);
            assert!(bytes[2] & 0x80 != 0);
            assert!(bytes.len() <= if transport == Transport::Udp { 1232 } else { 65_535 });
        }
    }
});
