//! What the steps of a rollout change, and how they stand in the audit trail and the log.

use model::assignment::rollout::ANSWER_WITHIN;
use model::assignment::{Fault, FaultKind};
use model::{Assignment, AssignmentId, AssignmentState, Grant, RevisionId, UnixMillis};
use opamp_proto::InstanceUid;
use store::{AssignmentChange, AuditEntry, StoreError};

use super::super::Plan;
use super::super::change::told;
use super::Rollouts;

/// So many of those who left are named.
const NAMED: usize = 5;

impl Rollouts {
    pub(super) async fn pause(
        &self,
        assignment: &Assignment,
        fault: Fault,
        now: UnixMillis,
    ) -> Result<AssignmentChange, StoreError> {
        let left = match fault.kind {
            FaultKind::Left => Some(self.left(assignment, now).await?),
            _ => None,
        };
        let live = |uid| {
            let agent = self.server.agents().get(uid)?;
            let placed = agent.data().placed();
            placed.as_ref().map(|placed| placed.place.reason.clone())
        };
        let said = left.or_else(|| {
            let uid = fault.agent?;
            self.faults.get(&uid).cloned().or_else(|| live(uid))
        });
        let text = said.filter(|text| !text.is_empty()).unwrap_or_else(|| match fault.kind {
            FaultKind::HealthLost => "it was healthy before, and is not any more".to_owned(),
            FaultKind::Failed => "it could not apply it, and gave no reason".to_owned(),
            _ => self.no_answer(assignment.id, fault.agent),
        });
        let state = AssignmentState::Paused;
        let pause = Some(Fault { text, ..fault });
        Ok(AssignmentChange::of(Assignment { state, pause, updated_at: now, ..assignment.clone() }))
    }

    /// Who left, by name.
    async fn left(&self, assignment: &Assignment, now: UnixMillis) -> Result<String, StoreError> {
        let rollout = self.running.get(&assignment.id);
        let left = rollout.map(|(_, rollout)| rollout.left(now)).unwrap_or_default();
        let mut names = Vec::new();
        for uid in left.iter().take(NAMED) {
            let facts = self.store.get_agent(*uid).await?.map(|agent| agent.summary.facts);
            let name = facts.and_then(|facts| [facts.host, facts.name].into_iter().find(|it| !it.is_empty()));
            names.push(name.unwrap_or_else(|| uid.to_string()));
        }
        let more = match left.len().saturating_sub(names.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Ok(format!(
            "nobody of batch {} has applied it, and its agents left before they answered: {}{more}",
            assignment.batches,
            names.join(", ")
        ))
    }

    fn no_answer(&self, id: AssignmentId, agent: Option<InstanceUid>) -> String {
        let rollout = self.running.get(&id).map(|(_, rollout)| rollout).zip(agent);
        let patience = rollout.map_or(ANSWER_WITHIN, |(rollout, agent)| rollout.patience(agent));
        format!("it gave no answer within {} minutes", patience.as_secs() / 60)
    }
}

pub(super) fn release(
    assignment: &Assignment,
    target: RevisionId,
    candidates: Vec<(InstanceUid, bool)>,
    count: u64,
    now: UnixMillis,
) -> AssignmentChange {
    let batch = assignment.batches + 1;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let grant = candidates.into_iter().take(count).map(|(uid, was_healthy)| {
        (uid, Grant { revision: target, batch, was_healthy, forgiven: false, at: now })
    });
    let grant = grant.collect();
    let assignment = Assignment { batches: batch, updated_at: now, ..assignment.clone() };
    AssignmentChange { grant, ..AssignmentChange::of(assignment) }
}

pub(super) fn finish(assignment: &Assignment, target: RevisionId, now: UnixMillis) -> AssignmentChange {
    let assignment = Assignment {
        state: AssignmentState::Done,
        settled: Some(target),
        target: None,
        pause: None,
        updated_at: now,
        ..assignment.clone()
    };
    AssignmentChange { settle: true, ..AssignmentChange::of(assignment) }
}

/// What the rollout itself does stands in the audit trail too.
pub(super) fn entry(plan: &Plan, change: &AssignmentChange) -> AuditEntry {
    let to = &change.assignment;
    let action = match to.state {
        AssignmentState::Done => "assignment.done",
        AssignmentState::Paused => "assignment.pause",
        _ => "assignment.release",
    };
    let before = plan.assignment(to.id).map(|from| told(plan, from));
    let mut after = told(plan, to);
    after["released"] = change.grant.len().into();
    AuditEntry::of_system(to.updated_at, action, format!("assignment/{}", to.id)).with(before, Some(after))
}

pub(super) fn in_words(assignment: &Assignment, released: usize) -> String {
    match (&assignment.state, &assignment.pause) {
        (AssignmentState::Rolling, _) => format!("batch {} with {released} agents", assignment.batches),
        (AssignmentState::Paused, Some(fault)) => {
            let agent = fault.agent.map(|uid| format!(" on agent {uid}")).unwrap_or_default();
            format!("paused, {}{agent}: {}", fault.kind.as_str(), fault.text)
        }
        (state, _) => state.to_string(),
    }
}
