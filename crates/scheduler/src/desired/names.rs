//! Names of a project on a host: `web`, `web-1` and what aliases say. They lead to the replicas that work; while none
//! does, to those that are there, so that what starts can be found by name.

use std::collections::BTreeMap;

use host_proto::desired::{DnsPolicy, DnsRecord, DnsValue, RecordType};
use model::hosting::{Phase, ProjectWorld, Replica};

use crate::judge::takes_traffic;

pub(super) fn add(project: &ProjectWorld, running: &[&Replica], records: &mut Vec<DnsRecord>) {
    let mut names: BTreeMap<String, Vec<DnsValue>> = BTreeMap::new();
    for service in &project.services {
        let all: Vec<&Replica> = running.iter().copied().filter(|it| it.service_id == service.id).collect();
        for replica in found(&all) {
            let aliases = project.release_of(replica).map_or(&[][..], |it| &it.spec.container.networks);
            for address in &replica.addresses {
                let place = project.networks.iter().find(|it| it.id == address.network_id);
                let Some(place) = place else { continue };
                let value = DnsValue {
                    ip: address.ip.into(),
                    network_id: address.network_id.clone(),
                    host_id: Some(replica.host_id.clone()),
                };
                let more = aliases.iter().find(|it| it.network == place.spec.name);
                let more = more.map_or(&[][..], |it| &it.aliases).iter().cloned();
                let own = [service.name.clone(), format!("{}-{}", service.name, replica.number)];
                for name in own.into_iter().chain(more) {
                    names.entry(name).or_default().push(value.clone());
                }
            }
        }
    }
    records.extend(names.into_iter().map(|(name, values)| DnsRecord {
        project_id: project.project.id.clone(),
        name,
        kind: RecordType::A,
        values,
        policy: DnsPolicy::Shuffle,
    }));
}

/// Those that names lead to.
fn found<'a>(all: &[&'a Replica]) -> Vec<&'a Replica> {
    let ready: Vec<&Replica> = all.iter().copied().filter(|it| takes_traffic(it)).collect();
    if !ready.is_empty() {
        return ready;
    }
    let serving: Vec<&Replica> = all.iter().copied().filter(|it| it.phase == Phase::Serving).collect();
    if !serving.is_empty() {
        return serving;
    }
    all.iter().copied().filter(|it| it.phase == Phase::Starting).collect()
}
