//! What is said of a state and its replicas: whole when a state was applied (STATE-2), and only what changed after that.

use std::collections::{BTreeMap, BTreeSet};

use host_proto::desired::{DesiredState, Section};
use host_proto::id::ReplicaId;
use host_proto::message::{LeftVolume, NetSelftest, ReplicaStatus, SectionResult, StateApplied, TakenBlock};
use host_proto::report::{ItemResult, ItemState, Outcome, RefusedReason, ReplicaReport, ReplicaState};

/// What the server was told, on this connection.
#[derive(Debug, Default)]
pub(crate) struct Reporter {
    replicas: BTreeMap<ReplicaId, ReplicaReport>,
    applied: Option<StateApplied>,
}

/// How a pass over a state ended.
#[derive(Debug)]
pub(crate) struct Pass<'a> {
    pub(crate) state: &'a DesiredState,
    /// What is not as it should be.
    pub(crate) items: Vec<ItemResult>,
    /// Why nothing is known of the containers.
    pub(crate) engine_error: Option<String>,
    /// Why the firewall is not in place.
    pub(crate) firewall_error: Option<String>,
    /// Why names and ports are not served as the state says.
    pub(crate) netd_error: Option<String>,
    /// More would have been removed than the state allows (R33).
    pub(crate) refused_removals: bool,
    pub(crate) selftest: NetSelftest,
    /// Blocks of addresses in use; `None` while the engine does not say.
    pub(crate) blocks: Option<Vec<TakenBlock>>,
    /// Volumes that the state does not list; `None` while the engine does not say.
    pub(crate) left_volumes: Option<Vec<LeftVolume>>,
    pub(crate) duration_ms: u64,
}

impl Reporter {
    /// A new connection: what was said in its hello is known, the rest is not.
    pub(crate) fn reset(&mut self, said: Option<&[ReplicaReport]>) {
        self.applied = None;
        self.replicas = said
            .unwrap_or_default()
            .iter()
            .map(|report| (report.replica_id.clone(), report.clone()))
            .collect();
    }

    /// The replicas that it was told of, and not that they are gone.
    pub(crate) fn known(&self) -> impl Iterator<Item = &ReplicaId> {
        self.replicas.keys()
    }

    /// What changed since the last message; `None` when nothing did. Of a replica that is `moving`, and was not seen, it
    /// is not known that it is gone: its container may be made this moment.
    pub(crate) fn changes(
        &mut self,
        reports: &[ReplicaReport],
        moving: impl Fn(&ReplicaId) -> bool,
    ) -> Option<ReplicaStatus> {
        let mut changed = Vec::new();
        for report in reports {
            if self.replicas.get(&report.replica_id) != Some(report) {
                self.replicas.insert(report.replica_id.clone(), report.clone());
                changed.push(report.clone());
            }
        }
        let there: BTreeSet<&ReplicaId> = reports.iter().map(|report| &report.replica_id).collect();
        let gone: Vec<ReplicaId> =
            self.replicas.keys().filter(|id| !there.contains(id) && !moving(id)).cloned().collect();
        for id in gone {
            changed.extend(self.replicas.remove(&id).map(removed));
        }
        (!changed.is_empty()).then_some(ReplicaStatus { replicas: changed })
    }

    /// The result of a pass; `None` when the same was said already.
    pub(crate) fn applied(&mut self, pass: Pass<'_>) -> Option<Box<StateApplied>> {
        let applied = applied(pass);
        let key = StateApplied { duration_ms: 0, items: without_clocks(&applied.items), ..applied.clone() };
        if self.applied.as_ref() == Some(&key) {
            return None;
        }
        self.applied = Some(key);
        Some(Box::new(applied))
    }
}

/// When something is tried again is no news.
fn without_clocks(items: &[ItemResult]) -> Vec<ItemResult> {
    items.iter().map(|item| ItemResult { attempts: 0, retry_in_ms: None, ..item.clone() }).collect()
}

fn removed(last: ReplicaReport) -> ReplicaReport {
    ReplicaReport { state: ReplicaState::Removed, container_id: None, ip: None, ..last }
}

fn applied(pass: Pass<'_>) -> StateApplied {
    let state = pass.state;
    let mut sections = BTreeMap::new();
    for section in Section::ALL {
        let error = error_of(section, &pass);
        let failing = |item: &ItemResult| item.section == section && item.state != ItemState::Applied;
        let ok = error.is_none() && !pass.items.iter().any(failing);
        let hash = state.section_hashes.get(&section).cloned().unwrap_or_default();
        sections.insert(section, SectionResult { ok, hash, error });
    }
    let result = if pass.engine_error.is_some() {
        Outcome::Failed
    } else if sections.values().all(|section| section.ok) && !pass.refused_removals {
        Outcome::Applied
    } else {
        Outcome::Partial
    };
    StateApplied {
        epoch: state.epoch.clone(),
        generation: state.generation,
        result,
        refused_reason: pass.refused_removals.then_some(RefusedReason::RefusedRemovals),
        sections,
        items: pass.items,
        replicas: Vec::new(),
        removed: Vec::new(),
        net_selftest: Some(pass.selftest),
        blocks: pass.blocks,
        left_volumes: pass.left_volumes,
        duration_ms: pass.duration_ms,
    }
}

fn error_of(section: Section, pass: &Pass<'_>) -> Option<String> {
    let later = "this version of the agent cannot";
    match section {
        Section::Networks => pass.engine_error.clone(),
        // Without the firewall nothing of them was begun (R34).
        Section::Volumes | Section::Replicas => {
            pass.engine_error.clone().or_else(|| pass.firewall_error.clone())
        }
        Section::Firewall => pass.firewall_error.clone(),
        Section::Routes | Section::Dns => pass.firewall_error.clone().or_else(|| pass.netd_error.clone()),
        Section::Peers => (!pass.state.peers.is_empty()).then(|| later.to_owned()),
        Section::Certificates => (!pass.state.certificates.is_empty()).then(|| later.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use host_proto::message::Taker;

    use super::*;

    fn report(last: &str, state: ReplicaState) -> ReplicaReport {
        let ids =
            (format!("rep_{last}").parse().unwrap(), "svc_1".parse().unwrap(), "rel_1".parse().unwrap());
        ReplicaReport { container_id: Some("c".to_owned()), ..ReplicaReport::of(ids, "h", state) }
    }

    fn pass(state: &DesiredState) -> Pass<'_> {
        Pass {
            state,
            items: Vec::new(),
            engine_error: None,
            firewall_error: None,
            netd_error: None,
            refused_removals: false,
            selftest: NetSelftest::default(),
            blocks: None,
            left_volumes: None,
            duration_ms: 5,
        }
    }

    fn item() -> ItemResult {
        ItemResult {
            section: Section::Replicas,
            id: "rep_1".to_owned(),
            name: "shop/web-1".to_owned(),
            state: ItemState::Failed,
            error: Some("no such image".to_owned()),
            attempts: 1,
            retry_in_ms: Some(1_000),
        }
    }

    #[test]
    fn state_2_a_result_says_how_each_section_went_and_is_said_once() {
        let mut state = DesiredState::empty("e", 3);
        state.seal();
        let mut reporter = Reporter::default();
        let first = reporter.applied(pass(&state)).unwrap();
        assert_eq!((first.result, first.generation), (Outcome::Applied, 3));
        assert!(first.sections.iter().all(|(section, result)| {
            result.ok && Some(&result.hash) == state.section_hashes.get(section)
        }));
        assert_eq!(reporter.applied(Pass { duration_ms: 9, ..pass(&state) }), None);
        reporter.reset(None);
        assert!(reporter.applied(pass(&state)).is_some(), "a new connection hears it anew");
    }

    #[test]
    fn state_10_a_failing_item_makes_it_partial_and_its_retries_are_no_news() {
        let state = DesiredState::empty("e", 3);
        let mut reporter = Reporter::default();
        let failed = reporter.applied(Pass { items: vec![item()], ..pass(&state) }).unwrap();
        assert_eq!(failed.result, Outcome::Partial);
        assert!(!failed.sections[&Section::Replicas].ok && failed.sections[&Section::Volumes].ok);
        let again = ItemResult { attempts: 2, retry_in_ms: Some(2_000), ..item() };
        assert_eq!(reporter.applied(Pass { items: vec![again], ..pass(&state) }), None);
        let engine = Pass { engine_error: Some("no answer".to_owned()), ..pass(&state) };
        assert_eq!(reporter.applied(engine).unwrap().result, Outcome::Failed);
        let open = Pass { firewall_error: Some("nft: no such file".to_owned()), ..pass(&state) };
        let sections = reporter.applied(open).unwrap().sections;
        for section in [Section::Firewall, Section::Volumes, Section::Replicas] {
            assert!(sections[&section].error.is_some(), "{section:?}: nothing of it was begun");
        }
        let budget = Pass { refused_removals: true, ..pass(&state) };
        let refused = reporter.applied(budget).unwrap();
        assert_eq!(
            (refused.result, refused.refused_reason),
            (Outcome::Partial, Some(RefusedReason::RefusedRemovals))
        );
    }

    #[test]
    fn blocks_of_addresses_that_others_took_meanwhile_are_news() {
        let state = DesiredState::empty("e", 3);
        let mut reporter = Reporter::default();
        let block =
            TakenBlock { by: Taker::Network, block: "10.208.0.0/24".to_owned(), name: "corp".to_owned() };
        assert!(reporter.applied(Pass { blocks: Some(Vec::new()), ..pass(&state) }).is_some());
        assert_eq!(reporter.applied(Pass { blocks: Some(Vec::new()), ..pass(&state) }), None);
        let told = reporter.applied(Pass { blocks: Some(vec![block.clone()]), ..pass(&state) }).unwrap();
        assert_eq!((told.result, told.blocks), (Outcome::Applied, Some(vec![block])));
    }

    #[test]
    fn r43_volumes_that_the_state_does_not_list_are_told_once() {
        let state = DesiredState::empty("e", 3);
        let mut reporter = Reporter::default();
        let left = LeftVolume { volume_id: "vol_1".parse().unwrap(), name: "v".to_owned(), host_id: None };
        let pass = || Pass { left_volumes: Some(vec![left.clone()]), ..pass(&state) };
        assert_eq!(reporter.applied(pass()).unwrap().left_volumes, Some(vec![left.clone()]));
        assert_eq!(reporter.applied(pass()), None);
        assert!(reporter.applied(Pass { left_volumes: Some(Vec::new()), ..pass() }).is_some());
    }

    #[test]
    fn only_replicas_that_changed_are_told_and_those_that_are_gone_once() {
        let mut reporter = Reporter::default();
        let (one, two) = (report("1", ReplicaState::Running), report("2", ReplicaState::Starting));
        reporter.reset(Some(std::slice::from_ref(&one)));
        assert_eq!(
            reporter.changes(&[one.clone(), two.clone()], |_| false).unwrap().replicas,
            std::slice::from_ref(&two)
        );
        assert_eq!(reporter.changes(&[one.clone(), two], |_| false), None);
        let gone = reporter.changes(std::slice::from_ref(&one), |_| false).unwrap().replicas;
        assert_eq!((gone.len(), gone[0].state), (1, ReplicaState::Removed));
        assert_eq!(reporter.changes(&[one], |_| false), None);
    }

    #[test]
    fn a_replica_whose_container_may_be_made_this_moment_is_not_called_removed() {
        let mut reporter = Reporter::default();
        let making = ReplicaReport { container_id: None, ..report("1", ReplicaState::Creating) };
        assert!(reporter.changes(std::slice::from_ref(&making), |_| true).is_some());
        assert_eq!(reporter.changes(&[], |id| *id == making.replica_id), None);
        let gone = reporter.changes(&[], |_| false).unwrap().replicas;
        assert_eq!(gone[0].state, ReplicaState::Removed);
        assert_eq!(reporter.changes(&[], |_| false), None);
    }

    #[test]
    fn names_and_ports_that_are_not_served_are_no_part_of_what_is_applied() {
        let state = DesiredState::empty("e", 3);
        let down = Pass { netd_error: Some("netd does not run".to_owned()), ..pass(&state) };
        let open = Pass { firewall_error: Some("nft: no such file".to_owned()), ..pass(&state) };
        for pass in [down, open] {
            let sections = Reporter::default().applied(pass).unwrap().sections;
            assert!(sections[&Section::Routes].error.is_some() && sections[&Section::Dns].error.is_some());
        }
    }
}
