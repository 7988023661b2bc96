//! Replicas of a service over hosts, or over the values of a label of hosts, as evenly as hosts can take them. It is a
//! preference: a host that has no such label gets one when no other can, and what runs is not moved.

use std::collections::BTreeMap;

use host_proto::id::HostId;
use model::hosting::{ProjectWorld, Release, Service};
use model::service::Spread;

use crate::world::HostView;

/// How many replicas there are of each value.
pub(crate) struct Counted<'a> {
    over: &'a Spread,
    counts: BTreeMap<&'a str, usize>,
}

impl Counted<'_> {
    /// Hosts of a lower rank come first.
    pub(crate) fn rank(&self, view: &HostView) -> (bool, usize) {
        match value(self.over, view) {
            Some(value) => (false, self.counts.get(value).copied().unwrap_or(0)),
            None => (true, 0),
        }
    }
}

/// Counts the replicas of a service, if it is to be spread. Only those of this release: others of it are replaced, and
/// would lead the new ones to where the old ones are not.
pub(crate) fn counted<'a>(
    world: &'a ProjectWorld,
    service: &Service,
    release: &'a Release,
    hosts: &'a [HostView],
    coming: &[HostId],
) -> Option<Counted<'a>> {
    let over = release.spec.placement.spread.as_ref()?;
    let is_same = |it: &&model::hosting::Replica| {
        world.release_of(it).is_some_and(|its| its.container_hash == release.container_hash)
    };
    let there = world.replicas_of(&service.id).filter(|it| it.stays()).filter(is_same).map(|it| &it.host_id);
    let mut counts = BTreeMap::new();
    for id in there.chain(coming) {
        let view = hosts.iter().find(|view| view.host.id == *id);
        if let Some(value) = view.and_then(|view| value(over, view)) {
            *counts.entry(value).or_default() += 1;
        }
    }
    Some(Counted { over, counts })
}

/// What a host has of what is spread over.
pub fn value<'a>(over: &Spread, view: &'a HostView) -> Option<&'a str> {
    match over {
        Spread::Hosts => Some(view.host.name.as_str()),
        Spread::Label(key) => view.host.labels.get(key).map(String::as_str),
    }
}
