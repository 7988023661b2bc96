//! What operators do with assignments, overrides and labels: written durably, then taken into the plan, then told to
//! the agents.

use model::assignment::{Fault, FaultKind, rollout::batch_size};
use model::{Assignment, AssignmentId, AssignmentState, ConfigId, LabelChange, Labels, RevisionId, Selector};
use opamp_proto::InstanceUid;
use opamp_server::Server;
use serde_json::{Value, json};
use store::{AssignmentChange, AuditEntry, Expected, LabelReport, LabelTarget, Override, StoreError};

use super::{Configs, Plan};
use crate::clock;
use crate::opamp::Endpoint;

/// Why an operator's change was not made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChangeError {
    /// The database did not take it.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no such assignment.
    #[error("there is no assignment {0}")]
    Unknown(AssignmentId),
    /// It was changed since the caller looked.
    #[error("the assignment was changed meanwhile, read it again")]
    Meanwhile,
    /// The assignment is in a state in which this makes no sense.
    #[error("{0}")]
    State(&'static str),
}

/// What is to be rolled out.
#[derive(Debug, Clone)]
pub(crate) struct NewRollout {
    pub(crate) config: ConfigId,
    pub(crate) revision: RevisionId,
    pub(crate) selector: Selector,
    pub(crate) priority: i32,
    pub(crate) batch_percent: u8,
    pub(crate) author: String,
}

impl Configs {
    /// Assigns a revision to agents that nobody assigned this way before: a rollout begins.
    pub(crate) async fn assign(
        &self,
        server: &Server<Endpoint>,
        new: NewRollout,
        by: AuditEntry,
    ) -> Result<Assignment, ChangeError> {
        let _changing = self.changing.lock().await;
        let plan = self.plan();
        let eligible = self.eligible(&plan, None, &new.selector, new.priority, new.revision).await?;
        let now = clock::now();
        let made = self
            .store
            .create_assignment(
                Assignment {
                    id: AssignmentId(0),
                    config: new.config,
                    selector: new.selector,
                    priority: new.priority,
                    state: AssignmentState::Rolling,
                    settled: all_at_once(new.batch_percent).then_some(new.revision),
                    target: Some(new.revision),
                    batch_percent: new.batch_percent,
                    batch_size: batch_size(eligible, new.batch_percent),
                    batches: 0,
                    pause: None,
                    created_by: new.author,
                    created_at: now,
                    updated_at: now,
                    version: 1,
                },
                by,
            )
            .await?;
        let mut next = Plan::clone(&plan);
        next.put(made.clone());
        self.take_over(server, next, made.id, Reach::Everybody).await?;
        Ok(made)
    }

    /// Brings an assignment to another revision, an older one too.
    pub(crate) async fn set_revision(
        &self,
        server: &Server<Endpoint>,
        id: AssignmentId,
        versions: Expected,
        revision: RevisionId,
        batch_percent: Option<u8>,
        by: AuditEntry,
    ) -> Result<Assignment, ChangeError> {
        let _changing = self.changing.lock().await;
        let plan = self.plan();
        let from = find(&plan, id, &versions)?;
        if from.state == AssignmentState::Clearing {
            return Err(ChangeError::State("the assignment is being cleared; make a new one instead"));
        }
        let percent = batch_percent.unwrap_or(from.batch_percent);
        let eligible = self.eligible(&plan, Some(id), &from.selector, from.priority, revision).await?;
        let at_once = all_at_once(percent);
        let to = Assignment {
            state: AssignmentState::Rolling,
            settled: if at_once { Some(revision) } else { from.settled },
            target: Some(revision),
            batch_size: batch_size(eligible, percent),
            batches: 0,
            pause: None,
            updated_at: clock::now(),
            ..from.clone()
        };
        self.change(server, &plan, AssignmentChange { settle: at_once, ..AssignmentChange::of(to) }, by).await
    }

    /// Changes to whom an assignment applies, or how it goes on.
    pub(crate) async fn amend(
        &self,
        server: &Server<Endpoint>,
        id: AssignmentId,
        versions: Expected,
        amend: impl FnOnce(&mut Assignment) + Send,
        by: AuditEntry,
    ) -> Result<Assignment, ChangeError> {
        let _changing = self.changing.lock().await;
        let plan = self.plan();
        let mut to = find(&plan, id, &versions)?.clone();
        amend(&mut to);
        if to.state == AssignmentState::Rolling || to.state == AssignmentState::Paused {
            let target = to.target.unwrap_or(RevisionId(0));
            let eligible = self.eligible(&plan, Some(id), &to.selector, to.priority, target).await?;
            to.batch_size = batch_size(eligible, to.batch_percent);
        }
        to.updated_at = clock::now();
        self.change(server, &plan, AssignmentChange::of(to), by).await
    }

    /// Stops a rollout until somebody resumes it.
    pub(crate) async fn pause(
        &self,
        server: &Server<Endpoint>,
        id: AssignmentId,
        versions: Expected,
        reason: String,
        by: AuditEntry,
    ) -> Result<Assignment, ChangeError> {
        let _changing = self.changing.lock().await;
        let plan = self.plan();
        let from = find(&plan, id, &versions)?;
        if from.state != AssignmentState::Rolling {
            return Err(ChangeError::State("only a rollout that is under way can be paused"));
        }
        let pause = Some(Fault { kind: FaultKind::Operator, agent: None, text: reason });
        let to =
            Assignment { state: AssignmentState::Paused, pause, updated_at: clock::now(), ..from.clone() };
        self.change(server, &plan, AssignmentChange::of(to), by).await
    }

    /// Goes on with a rollout that is paused. Faults that were seen so far do not stop it again.
    pub(crate) async fn resume(
        &self,
        server: &Server<Endpoint>,
        id: AssignmentId,
        versions: Expected,
        by: AuditEntry,
    ) -> Result<Assignment, ChangeError> {
        let _changing = self.changing.lock().await;
        let plan = self.plan();
        let from = find(&plan, id, &versions)?;
        if from.state != AssignmentState::Paused {
            return Err(ChangeError::State("only a rollout that is paused can be resumed"));
        }
        let forgive = self.faulty(server, &plan, from);
        let to = Assignment {
            state: AssignmentState::Rolling,
            pause: None,
            updated_at: clock::now(),
            ..from.clone()
        };
        self.change(server, &plan, AssignmentChange { forgive, ..AssignmentChange::of(to) }, by).await
    }

    /// Ends a rollout where it is: who has the new revision keeps it, nobody else gets it.
    pub(crate) async fn abort(
        &self,
        server: &Server<Endpoint>,
        id: AssignmentId,
        versions: Expected,
        reason: String,
        by: AuditEntry,
    ) -> Result<Assignment, ChangeError> {
        let _changing = self.changing.lock().await;
        let plan = self.plan();
        let from = find(&plan, id, &versions)?;
        if !matches!(from.state, AssignmentState::Rolling | AssignmentState::Paused) {
            return Err(ChangeError::State("there is no rollout under way"));
        }
        let (state, updated_at) = (AssignmentState::Aborted, clock::now());
        // What stopped it before is worth more than that it was stopped.
        let pause = Some(match from.pause.clone().filter(|fault| fault.kind != FaultKind::Operator) {
            Some(fault) => Fault { text: format!("{}; then: {reason}", fault.text), ..fault },
            None => Fault { kind: FaultKind::Operator, agent: None, text: reason },
        });
        let to = Assignment { state, pause, updated_at, ..from.clone() };
        self.change(server, &plan, AssignmentChange::of(to), by).await
    }

    /// Takes an assignment away. With `clear` its agents are offered the empty configuration first; without, they
    /// run on.
    pub(crate) async fn unassign(
        &self,
        server: &Server<Endpoint>,
        id: AssignmentId,
        versions: Expected,
        clear: bool,
        by: AuditEntry,
    ) -> Result<(), ChangeError> {
        let _changing = self.changing.lock().await;
        let plan = self.plan();
        let from = find(&plan, id, &versions)?;
        if clear {
            let (state, updated_at) = (AssignmentState::Clearing, clock::now());
            let to = Assignment { state, pause: None, updated_at, ..from.clone() };
            self.change(server, &plan, AssignmentChange::of(to), by).await?;
            return Ok(());
        }
        self.store.delete_assignment(id, by.with(Some(told(&plan, from)), None)).await?;
        let mut next = Plan::clone(&plan);
        next.remove(id);
        self.take_over(server, next, id, Reach::Everybody).await?;
        Ok(())
    }

    /// An agent was forgotten: what it alone was given went with its row.
    pub(crate) async fn forgotten(&self, uid: InstanceUid) {
        let _changing = self.changing.lock().await;
        let mut next = Plan::clone(&self.plan());
        next.pin(uid, None);
        self.set_plan(next);
    }

    /// Pins an agent to a revision, or lets it go; whether anything was there to let go.
    pub(crate) async fn pin(
        &self,
        server: &Server<Endpoint>,
        uid: InstanceUid,
        to: Option<Override>,
        by: AuditEntry,
    ) -> Result<bool, ChangeError> {
        let _changing = self.changing.lock().await;
        let was_pinned = match &to {
            Some(to) => self.store.set_override(to.clone(), by).await.map(|()| true)?,
            None => self.store.remove_override(uid, by).await?,
        };
        let mut next = Plan::clone(&self.plan());
        next.pin(uid, to);
        next.learn(&self.store).await?;
        self.set_plan(next);
        self.decide_some(server, &[uid]);
        Ok(was_pinned)
    }

    /// Changes labels of agents, and what follows for them.
    pub(crate) async fn label(
        &self,
        server: &Server<Endpoint>,
        target: LabelTarget,
        change: LabelChange,
        entry: AuditEntry,
    ) -> Result<LabelReport, StoreError> {
        let _changing = self.changing.lock().await;
        let report = self.store.label_agents(target, change, entry).await?;
        if !report.changed.is_empty() {
            let uids: Vec<_> = report.changed.iter().map(|(uid, _)| *uid).collect();
            let mut next = Plan::clone(&self.plan());
            next.label(report.changed.iter().cloned());
            self.set_plan(next);
            self.decide_some(server, &uids);
        }
        Ok(report)
    }

    /// Agents were forgotten, and their labels with them.
    pub(crate) async fn forget_labels(&self, uids: &[InstanceUid]) {
        let _changing = self.changing.lock().await;
        if self.plan().has_labels(uids) {
            let mut next = Plan::clone(&self.plan());
            next.label(uids.iter().map(|uid| (*uid, Labels::new())));
            self.set_plan(next);
        }
    }

    /// Writes a change of an assignment and takes it over.
    async fn change(
        &self,
        server: &Server<Endpoint>,
        plan: &Plan,
        change: AssignmentChange,
        by: AuditEntry,
    ) -> Result<Assignment, ChangeError> {
        let mut next = Plan::clone(plan);
        next.put(change.assignment.clone());
        next.learn(&self.store).await?;
        let before = plan.assignment(change.assignment.id).map(|from| told(plan, from));
        let entry = by.with(before, Some(told(&next, &change.assignment)));
        let changed =
            self.store.change_assignment(change.clone(), entry).await?.ok_or(ChangeError::Meanwhile)?;
        next.apply(&change, changed.clone());
        let before = plan.assignment(changed.id).map(|one| (&one.selector, one.priority));
        let reach = match before == Some((&changed.selector, changed.priority)) {
            true => Reach::ItsOwn,
            false => Reach::Everybody,
        };
        self.take_over(server, next, changed.id, reach).await?;
        Ok(changed)
    }

    async fn take_over(
        &self,
        server: &Server<Endpoint>,
        mut next: Plan,
        id: AssignmentId,
        reach: Reach,
    ) -> Result<(), StoreError> {
        next.learn(&self.store).await?;
        self.set_plan(next);
        self.hub.assignments_changed([id]);
        match reach {
            Reach::Everybody => Self::decide_all(server).await,
            Reach::ItsOwn => Self::refresh_all(server, id).await,
        }
        Ok(())
    }

    fn decide_some(&self, server: &Server<Endpoint>, uids: &[InstanceUid]) {
        for agent in uids.iter().filter_map(|uid| server.agents().get(*uid)) {
            self.decide(&agent, None);
        }
        self.wake.notify_one();
    }
}

/// An assignment in the audit trail.
pub(super) fn told(plan: &Plan, assignment: &Assignment) -> Value {
    let number = |id: Option<RevisionId>| id.and_then(|id| plan.revision(id)).map(|known| known.number);
    json!({
        "selector": assignment.selector.to_string(),
        "priority": assignment.priority,
        "state": assignment.state.as_str(),
        "revision": number(assignment.goal()),
        "settled_revision": number(assignment.settled),
        "batch_percent": assignment.batch_percent,
        "pause": assignment.pause.as_ref().map(|fault| json!({
            "kind": fault.kind.as_str(),
            "agent": fault.agent.map(|uid| uid.to_string()),
            "text": fault.text,
        })),
    })
}

/// Whether everybody is to get a revision at once. Then there is nobody to hold back, and nothing to write down agent by
/// agent: what is settled says it.
const fn all_at_once(batch_percent: u8) -> bool {
    batch_percent >= 100
}

/// Whom a change of an assignment concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Anybody: whom it matches changed.
    Everybody,
    /// The agents about which it decides already.
    ItsOwn,
}

fn find<'p>(plan: &'p Plan, id: AssignmentId, versions: &Expected) -> Result<&'p Assignment, ChangeError> {
    let found = plan.assignment(id).ok_or(ChangeError::Unknown(id))?;
    versions.check(found.version, "the assignment").map_err(|_| ChangeError::Meanwhile)?;
    Ok(found)
}
