//! What is counted of hosts and what runs on them: by state, never by name.

use std::sync::atomic::Ordering;

use scheduler::Presence;
use store::{ServiceMark, StoreError};

use crate::services::Services;

/// Words for states, each with a number.
type Counted<const N: usize> = [(&'static str, u64); N];

/// What is gathered of hosts and services.
#[derive(Debug)]
pub(super) struct Hosting {
    pub(super) hosts: Counted<3>,
    pub(super) adopting: u64,
    pub(super) without_engine: u64,
    pub(super) services: Counted<5>,
    pub(super) wanted: u64,
    pub(super) ready: u64,
    pub(super) deployments: Counted<2>,
}

impl Hosting {
    /// Looks at what is stored and at what is connected.
    pub(super) async fn look(services: &Services) -> Result<Self, StoreError> {
        let (marks, live) = (services.store.host_marks().await?, &services.live);
        let presences: Vec<Presence> = marks.iter().map(|mark| live.presence(&mark.id)).collect();
        let (mut online, mut offline, mut joining) = (0, 0, 0);
        for (mark, presence) in marks.iter().zip(&presences) {
            *match (presence, mark.was_here) {
                (Presence::Online, _) => &mut online,
                (_, true) => &mut offline,
                (_, false) => &mut joining,
            } += 1;
        }
        let blind = |id| live.presence(id) != Presence::Online || live.is_without_engine(id);
        let (mut wanted, mut ready) = (0, 0);
        let words = ["working", "degraded", "failed", "stranded", "stopped"];
        let mut states = words.map(|word| (word, 0));
        for mark in services.store.service_marks().await?.values() {
            let known = mark.on.iter().filter(|(host, _)| !blind(host));
            let works: u32 = known.map(|(_, (_, ready))| ready).sum();
            wanted += u64::from(mark.wanted);
            ready += u64::from(works.min(mark.wanted));
            let state = state(mark, works, mark.on.keys().all(blind));
            states.iter_mut().filter(|(word, _)| *word == state).for_each(|(_, count)| *count += 1);
        }
        let ended = &services.ended;
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        let without_engine = marks.iter().filter(|mark| live.is_without_engine(&mark.id)).count();
        Ok(Self {
            hosts: [("online", online), ("offline", offline), ("joining", joining)],
            adopting: marks.iter().filter(|mark| mark.adopting).count() as u64,
            without_engine: without_engine as u64,
            services: states,
            wanted,
            ready,
            deployments: [("done", count(&ended.done)), ("rolled_back", count(&ended.rolled_back))],
        })
    }
}

/// The word for a service of which so many replicas work. `blind`: of none of its hosts is known what runs there.
fn state(mark: &ServiceMark, works: u32, blind: bool) -> &'static str {
    match (mark.wanted, works) {
        (0, _) => "stopped",
        (wanted, works) if works >= wanted => "working",
        (_, 0) if blind && !mark.on.is_empty() => "stranded",
        (_, 0) => "failed",
        _ => "degraded",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_called_by_what_is_known_of_its_replicas() {
        let on = |wanted, hosts: &[&str]| ServiceMark {
            wanted,
            on: hosts.iter().map(|host| (host.parse().unwrap(), (1, 1))).collect(),
        };
        for (mark, works, blind, word) in [
            (on(0, &[]), 0, true, "stopped"),
            (on(2, &["hst_1", "hst_2"]), 2, false, "working"),
            (on(2, &["hst_1", "hst_2"]), 1, false, "degraded"),
            (on(2, &["hst_1"]), 0, false, "failed"),
            (on(2, &["hst_1"]), 0, true, "stranded"),
            // One that never came to serve is on no host.
            (on(2, &[]), 0, true, "failed"),
        ] {
            assert_eq!(state(&mark, works, blind), word, "{mark:?}");
        }
    }
}
