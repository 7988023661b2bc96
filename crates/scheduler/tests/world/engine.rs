//! The networks of the made-up host, ours and those of others.

use std::collections::BTreeMap;

use host_proto::desired::Section;
use host_proto::id::NetworkId;
use host_proto::message::{TakenBlock, Taker};
use host_proto::report::{ItemResult, ItemState};
use model::hosting::{Address, NetworkPlace, Subnet};
use scheduler::Taken;
use scheduler::blocks::place_of;

use super::Sim;

/// The networks of the made-up engine.
pub(super) struct Engine {
    ours: BTreeMap<NetworkId, Subnet>,
    foreign: Vec<(Subnet, String)>,
    /// Whether the host says which blocks are taken: an older agent does not.
    tells: bool,
    /// It finds that everything overlaps with something.
    refuses_all: bool,
    refusals: usize,
}

impl Default for Engine {
    fn default() -> Self {
        Self { ours: BTreeMap::new(), foreign: Vec::new(), tells: true, refuses_all: false, refusals: 0 }
    }
}

impl Engine {
    /// Whether it has the networks of all these addresses.
    pub(super) fn has_all(&self, addresses: &[Address]) -> bool {
        addresses.iter().all(|it| self.ours.contains_key(&it.network_id))
    }
}

impl Sim {
    /// Somebody makes a network on the host that is not ours.
    pub(crate) fn foreign_network(&mut self, block: &str, name: &str) {
        self.engine.foreign.push((block.parse().unwrap(), name.to_owned()));
    }

    /// The host is of a time when agents did not tell what is taken.
    pub(crate) fn tells_no_blocks(&mut self) {
        self.engine.tells = false;
    }

    /// Whatever is asked for, the engine says that it overlaps.
    pub(crate) fn refuses_all_networks(&mut self) {
        self.engine.refuses_all = true;
    }

    /// How often the engine was asked for another network and said no.
    pub(crate) fn refusals(&self) -> usize {
        self.engine.refusals
    }

    /// The blocks of our networks that the engine has.
    pub(crate) fn blocks(&self) -> Vec<String> {
        self.engine.ours.values().map(ToString::to_string).collect()
    }

    /// The engine makes the networks that it is told to, unless they overlap with others; the host says how that went.
    pub(super) fn network(&mut self) {
        let wanted = self.desired().networks;
        self.engine.ours.retain(|id, _| wanted.iter().any(|it| it.id == *id));
        self.host.items.retain(|it| it.section != Section::Networks);
        for network in wanted {
            let block: Subnet = network.subnet.parse().unwrap();
            if self.engine.ours.contains_key(&network.id) {
                continue;
            }
            let same = self.engine.foreign.iter().any(|(it, _)| *it == block);
            let why = if same {
                format!("failed to allocate gateway ({}): Address already in use", network.gateway)
            } else {
                "Pool overlaps with other one on this address space".to_owned()
            };
            if !self.engine.refuses_all && !self.engine.foreign.iter().any(|(it, _)| it.overlaps(block)) {
                self.engine.ours.insert(network.id, block);
                continue;
            }
            self.engine.refusals += 1;
            self.host.items.push(ItemResult {
                section: Section::Networks,
                id: network.id.to_string(),
                name: format!("network {}", network.name),
                state: ItemState::Failed,
                error: Some(format!("create network: {why}")),
                attempts: 1,
                retry_in_ms: None,
            });
        }
        if self.engine.tells {
            let told = self.engine.foreign.iter().map(|(block, name)| TakenBlock {
                by: Taker::Network,
                block: block.to_string(),
                name: name.clone(),
            });
            self.host.blocks.taken = Taken::of(&told.collect::<Vec<_>>());
        }
    }

    /// The place of the network on the host, as the control plane gives it.
    pub(super) fn place(&mut self) -> NetworkPlace {
        let spec = self.world.project.networks[0].clone();
        if let Some(place) = place_of(&self.world, &self.host, &spec.name) {
            return place.clone();
        }
        let subnet = self.host.blocks.next().unwrap();
        let (ms, random) = self.random();
        let (project_id, host_id) = (self.world.project.id.clone(), self.host.host.id.clone());
        let place = NetworkPlace { id: NetworkId::generate(ms, random), project_id, host_id, spec, subnet };
        self.world.networks = vec![place.clone()];
        place
    }
}
