//! Which blocks of addresses a host has left, and what is in the way of one: networks of the engine that are not ours,
//! interfaces, routes. An engine makes no two networks that overlap, so a block that another network has is not to be had;
//! one that is only routed somewhere is avoided while there is any other.

use std::cmp::Reverse;
use std::fmt;
use std::sync::Arc;

use host_proto::desired::Section;
use host_proto::id::{HostId, ServiceId};
use host_proto::message::{TakenBlock, Taker};
use host_proto::report::{ItemResult, ItemState};
use model::hosting::{NetworkPlace, Phase, ProjectWorld, Replica, Subnet};

use crate::address::free_subnet;
use crate::world::{HostView, Presence};

/// After so many blocks in a row that the engine of a host refused, it is no matter of the block.
const REFUSALS: usize = 8;

/// What is known about the blocks of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocks {
    /// Where blocks come from.
    pub range: Subnet,
    /// Those of networks of ours on it.
    pub ours: Vec<Subnet>,
    /// Those around its own addresses.
    pub near: Vec<Subnet>,
    /// Those that it says are taken.
    pub taken: Arc<[Taken]>,
    /// Those that its engine refused since it connected.
    pub refused: Vec<Subnet>,
}

/// A block that is taken, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Which.
    pub subnet: Subnet,
    /// What uses it.
    pub by: Taker,
    /// The name of the network or interface.
    pub name: String,
}

impl Taken {
    /// What a host says; what is not understood is left out.
    pub fn of(told: &[TakenBlock]) -> Arc<[Self]> {
        let one = |it: &TakenBlock| {
            let subnet = it.block.parse().ok()?;
            Some(Self { subnet, by: it.by, name: it.name.clone() })
        };
        told.iter().take(host_proto::limits::TAKEN_BLOCKS).filter_map(one).collect()
    }

    /// Whether no network can be made there.
    fn is_hard(&self) -> bool {
        self.by == Taker::Network
    }
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subnet, by, name } = self;
        match by {
            Taker::Network => write!(f, "{subnet} of the engine's network {name}"),
            Taker::Interface => write!(f, "{subnet} of the interface {name}"),
            Taker::Route => write!(f, "{subnet}, which is routed to {name}"),
            Taker::Unknown => write!(f, "{subnet} of {name}"),
        }
    }
}

impl Blocks {
    /// Nothing is in use.
    pub fn new(range: Subnet) -> Self {
        Self { range, ours: Vec::new(), near: Vec::new(), taken: Arc::default(), refused: Vec::new() }
    }

    /// The block for another network; `None`: there is none left.
    pub fn next(&self) -> Option<Subnet> {
        let all = self.used(|_| true);
        let last =
            self.ours.iter().chain(&self.refused).copied().filter(|it| self.range.contains(it.base)).max();
        free_subnet(self.range, &all, last)
            .or_else(|| free_subnet(self.range, &self.used(Taken::is_hard), last))
    }

    fn used(&self, which: impl Fn(&Taken) -> bool) -> Vec<Subnet> {
        let taken = self.taken.iter().filter(|it| which(it)).map(|it| it.subnet);
        self.ours.iter().chain(&self.near).chain(&self.refused).copied().chain(taken).collect()
    }

    /// What a block overlaps with, what holds it hardest first.
    fn in_the_way(&self, block: Subnet) -> Option<&Taken> {
        let overlapping = self.taken.iter().filter(|it| it.subnet.overlaps(block));
        overlapping.min_by_key(|it| (it.by, it.subnet.prefix))
    }

    /// Why there is none left, after `has no block of addresses left`.
    pub(crate) fn why_none(&self) -> String {
        match self.in_the_way(self.range) {
            Some(taken) => format!("in {}, which overlaps with {taken}", self.range),
            None => format!("in {}", self.range),
        }
    }
}

/// The place of a network on a host, if there is one that it can have.
pub fn place_of<'a>(world: &'a ProjectWorld, view: &HostView, name: &str) -> Option<&'a NetworkPlace> {
    let place = known_place(world, &view.host.id, name)?;
    lost(world, view, place).is_none().then_some(place)
}

/// The place that a network has on a host, whatever its releases say of it: what is another about it is changed there, so
/// that all who name it stay together. Where there are several, which older versions made, the one that most stand in.
pub fn known_place<'a>(world: &'a ProjectWorld, host: &HostId, name: &str) -> Option<&'a NetworkPlace> {
    let its = world.networks.iter().filter(|it| it.spec.name == name && it.host_id == *host);
    its.min_by_key(|place| {
        let stands = |it: &&Replica| it.stays() && it.addresses.iter().any(|at| at.network_id == place.id);
        (Reverse(world.replicas.iter().filter(stands).count()), &place.id)
    })
}

/// Whether nothing outside of a network is reached from it: as the releases of those say that stand in it. While some say
/// so and others do not, on the way from one release to the next, it is open for those that need it.
pub fn is_internal(world: &ProjectWorld, place: &NetworkPlace) -> bool {
    let standing =
        || world.replicas.iter().filter(|it| it.addresses.iter().any(|at| at.network_id == place.id));
    let say = |replica: &Replica| {
        let spec = world.release_of(replica)?.spec.shared.network(&place.spec.name)?;
        Some(spec.internal)
    };
    let runs = |it: &&Replica| matches!(it.phase, Phase::Starting | Phase::Serving | Phase::Draining);
    let running: Vec<bool> = standing().filter(runs).filter_map(say).collect();
    let said = if running.is_empty() { standing().filter_map(say).collect() } else { running };
    if said.is_empty() { place.spec.internal } else { said.into_iter().all(|it| it) }
}

/// The first network of a service of which some of its replicas stand in another place than what comes to it would, and so
/// do not reach the others.
pub fn parted<'a>(world: &'a ProjectWorld, service: &ServiceId) -> Option<&'a str> {
    world.replicas_of(service).filter(|it| it.stays()).find_map(|replica| {
        let mut places = replica.addresses.iter().filter_map(|at| {
            let place = world.networks.iter().find(|it| it.id == at.network_id)?;
            let known = known_place(world, &place.host_id, &place.spec.name)?;
            (known.id != place.id).then_some(place.spec.name.as_str())
        });
        places.next()
    })
}

/// Why a network cannot be where it should: its host says that the engine refuses it there, or nothing of ours is there yet
/// and something else is. A network with a container on it stays where it is, whatever is said.
pub fn lost(world: &ProjectWorld, view: &HostView, place: &NetworkPlace) -> Option<String> {
    let mut users =
        world.replicas.iter().filter(|it| it.addresses.iter().any(|at| at.network_id == place.id));
    if view.presence != Presence::Online || users.clone().any(|it| it.is_made()) {
        return None;
    }
    let taken = view.blocks.in_the_way(place.subnet);
    let subnet = place.subnet;
    if let Some(item) = view.items.iter().find(|it| is_refusal(it, place, taken)) {
        return Some(match (taken, &item.error) {
            (Some(taken), _) => format!("{subnet} overlaps with {taken}"),
            (None, Some(error)) => format!("{subnet}: {error}"),
            (None, None) => format!("{subnet} is refused"),
        });
    }
    // What is on its way may be made in this moment: then the host says how that went.
    if users.any(|it| it.phase != Phase::Removing) {
        return None;
    }
    let better = |next: Subnet| view.blocks.in_the_way(next).is_none();
    let taken = taken.filter(|it| it.is_hard() || view.blocks.next().is_some_and(better))?;
    Some(format!("{subnet} overlaps with {taken}"))
}

/// Whether a host can go on to another block after this one was refused.
pub(crate) fn can_move(view: &HostView) -> bool {
    view.blocks.refused.len() < REFUSALS && view.blocks.next().is_some()
}

/// What engines say of a block that another network has: of one that overlaps, and of the very same one.
const REFUSED: [&str; 2] = ["overlap", "failed to allocate gateway"];

/// Whether a host says that its engine does not make a network, and that is because of its block: by the engine's words, or
/// since another network is there.
fn is_refusal(item: &ItemResult, place: &NetworkPlace, taken: Option<&Taken>) -> bool {
    let is_of_block = || {
        let error = item.error.as_deref().unwrap_or_default();
        taken.is_some_and(Taken::is_hard) || REFUSED.iter().any(|words| error.contains(words))
    };
    item.section == Section::Networks
        && item.id == place.id.as_str()
        && matches!(item.state, ItemState::Failed | ItemState::Refused)
        && is_of_block()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(taken: &[(&str, Taker)]) -> Blocks {
        let told = taken.iter().map(|(block, by)| TakenBlock {
            by: *by,
            block: (*block).to_owned(),
            name: "corp".to_owned(),
        });
        let taken = Taken::of(&told.collect::<Vec<_>>());
        Blocks { taken, ..Blocks::new("10.208.0.0/22".parse().unwrap()) }
    }

    fn next(blocks: &Blocks) -> Option<String> {
        blocks.next().map(|it| it.to_string())
    }

    #[test]
    fn blocks_keep_off_what_others_use_whatever_its_length() {
        let cases = [
            (&[][..], Some("10.208.0.0/24")),
            (&[("10.208.0.0/23", Taker::Network)], Some("10.208.2.0/24")),
            (&[("10.208.0.77/32", Taker::Interface)], Some("10.208.1.0/24")),
            (&[("10.208.0.0/16", Taker::Network)], None),
            (&[("10.0.0.0/8", Taker::Unknown), ("nonsense", Taker::Network)], Some("10.208.0.0/24")),
        ];
        for (taken, expected) in cases {
            assert_eq!(next(&blocks(taken)).as_deref(), expected, "{taken:?}");
        }
    }

    #[test]
    fn a_range_that_is_routed_somewhere_as_a_whole_is_used_all_the_same_and_one_of_a_network_is_not() {
        let routed = blocks(&[("10.0.0.0/8", Taker::Route), ("10.208.0.0/24", Taker::Network)]);
        assert_eq!(next(&routed).as_deref(), Some("10.208.1.0/24"));
        let whole = blocks(&[("10.0.0.0/8", Taker::Route), ("10.192.0.0/10", Taker::Network)]);
        assert_eq!(next(&whole), None);
        let why = "in 10.208.0.0/22, which overlaps with 10.192.0.0/10 of the engine's network corp";
        assert_eq!(whole.why_none(), why);
    }

    #[test]
    fn a_block_that_was_refused_does_not_come_again() {
        let mut blocks = blocks(&[]);
        blocks.ours.push("10.208.0.0/24".parse().unwrap());
        while let Some(next) = blocks.next() {
            blocks.refused.push(next);
        }
        let texts: Vec<String> = blocks.refused.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["10.208.1.0/24", "10.208.2.0/24", "10.208.3.0/24"]);
    }
}
