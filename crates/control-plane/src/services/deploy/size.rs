//! Whether what hosts would have to be told still goes into one message. A state that does not is never sent, and everybody
//! else's deployments on that host would wait for it too: such a plan is refused.

use std::collections::BTreeMap;

use host_proto::id::{FileId, HostId};
use model::hosting::{Host, ProjectWorld, Release};
use scheduler::HostView;
use scheduler::size::{MOST, replica_bytes};
use store::StoreError;

use super::{Outline, Planned, Services};

/// A plan that adds less than this to a host is not looked at: there is so much room at least.
const LITTLE: usize = 64 << 10;

/// What a deployment adds to the state of a host, in bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct Growth {
    host: String,
    comes: usize,
    goes: usize,
    /// The service that adds most: how much, with how many replicas, and its name.
    largest: (usize, usize, String),
}

impl Growth {
    /// As much as this comes in the end. What goes only does so when the last of it is replaced, one after another.
    fn bytes(&self) -> usize {
        self.comes.saturating_sub(self.goes)
    }
}

/// By host.
pub(super) type Growths = BTreeMap<HostId, Growth>;

/// Adds what a service adds to its hosts: `chosen` for each replica that comes, `sizes` of the files that came along.
pub(super) fn add(
    growths: &mut Growths,
    world: &ProjectWorld,
    planned: &Planned,
    release: &Release,
    chosen: &[&HostView],
    sizes: &BTreeMap<FileId, usize>,
) {
    let service = &planned.service;
    for view in chosen {
        let bytes = replica_bytes(world, service, release, &view.host);
        let growth = growths.entry(view.host.id.clone()).or_default();
        growth.host.clone_from(&view.host.name);
        growth.comes += bytes;
        let mine =
            if growth.largest.2 == service.name { growth.largest.clone() } else { (0, 0, String::new()) };
        let mine = (mine.0 + bytes, mine.1 + 1, service.name.clone());
        growth.largest = growth.largest.clone().max(mine);
    }
    for (id, growth) in growths.iter_mut().filter(|(id, _)| chosen.iter().any(|view| view.host.id == **id)) {
        // In base64.
        growth.comes += release.files.values().filter_map(|it| sizes.get(it)).sum::<usize>() / 3 * 4;
        growth.goes += going(world, planned, release, id, chosen);
    }
}

/// What replicas that are replaced there take.
fn going(world: &ProjectWorld, planned: &Planned, next: &Release, id: &HostId, hosts: &[&HostView]) -> usize {
    let host: Option<&Host> = hosts.iter().find(|view| view.host.id == *id).map(|view| &view.host);
    let old = world.replicas_of(&planned.service.id).filter(|it| it.host_id == *id && it.stays());
    let old = old.filter_map(|it| world.release_of(it)).filter(|it| it.container_hash != next.container_hash);
    old.filter_map(|it| Some(replica_bytes(world, &planned.service, it, host?))).sum()
}

impl Services {
    /// An outline with a refusal for each host whose state would be too large.
    pub(super) async fn weighed(&self, mut outline: Outline) -> Result<Outline, StoreError> {
        for (id, growth) in &outline.growths {
            if growth.bytes() < LITTLE {
                continue;
            }
            let now = self.desired(id).await?;
            let now = now.and_then(|(state, _)| serde_json::to_vec(&state).ok()).map_or(0, |text| text.len());
            let total = now + growth.bytes();
            if total > MOST {
                let (bytes, count, service) = &growth.largest;
                outline.refusals.push(format!(
                    "{service}: {} would have to be told {} in one message, {} of them for {count} replicas of this service, \
                     and {} is the most: fewer replicas, or less in their variables, labels and files",
                    growth.host,
                    mib(total),
                    mib(*bytes),
                    mib(MOST)
                ));
            }
        }
        Ok(outline)
    }
}

fn mib(bytes: usize) -> String {
    let tenths = bytes.saturating_mul(10) >> 20;
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}
