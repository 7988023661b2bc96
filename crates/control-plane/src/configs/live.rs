//! The live agents of an assignment: told anew what to run, and looked at for their faults.

use std::sync::Arc;
use std::time::Duration;

use model::assignment::rollout::ANSWER_WITHIN;
use model::assignment::{FaultKind, Rollout};
use model::{Assignment, AssignmentId, Grant, RevisionId};
use opamp_proto::InstanceUid;
use opamp_proto::wire::AgentCapabilities as Bit;
use opamp_server::Server;

use super::{Configs, Plan};
use crate::clock;
use crate::opamp::{Endpoint, LiveAgent};

impl Configs {
    /// Decides about every live agent anew: some milliseconds for each thousand.
    pub(super) async fn decide_all(server: &Server<Endpoint>) {
        let configs = server.handler().configs.clone();
        server.visit(live(server), move |agent| configs.decide(agent, None)).await;
    }

    /// The same for the agents about which an assignment decides, where it decides about the same ones as before.
    pub(super) async fn refresh_all(server: &Server<Endpoint>, id: AssignmentId) {
        Self::refresh_some(server, live(server), id).await;
    }

    /// The same for some of them.
    pub(super) async fn refresh_some(
        server: &Server<Endpoint>,
        agents: Vec<Arc<LiveAgent>>,
        id: AssignmentId,
    ) {
        let configs = server.handler().configs.clone();
        server.visit(agents, move |agent| configs.refresh(agent, id)).await;
    }

    /// The agents of a rollout whose faults are open: those that it released, or all when it was for all at once.
    pub(super) fn faulty(
        &self,
        server: &Server<Endpoint>,
        plan: &Plan,
        assignment: &Assignment,
    ) -> Vec<InstanceUid> {
        // Whose silence or absence stopped it is forgiven, although the pause began its time anew.
        let is_silence = assignment
            .pause
            .as_ref()
            .is_some_and(|fault| matches!(fault.kind, FaultKind::NoAnswer | FaultKind::Left));
        let now = clock::now().after(if is_silence { ANSWER_WITHIN } else { Duration::ZERO });
        let mut rollout = Rollout::new(assignment.batch_size, None);
        for (uid, grant) in
            plan.grants(assignment.id).filter(|(_, to)| Some(to.revision) == assignment.target)
        {
            rollout.release(uid, grant);
        }
        if let Some(target) = assignment.target.filter(|target| assignment.settled == Some(*target)) {
            for agent in live(server) {
                if let Some(grant) = at_once(&agent, assignment, target) {
                    rollout.release(agent.instance_uid(), &grant);
                }
            }
        }
        for uid in rollout.unsettled() {
            if let Some((standing, healthy)) =
                server.agents().get(uid).and_then(|agent| self.standing(&agent))
            {
                rollout.hear(uid, standing, healthy);
            }
        }
        rollout.forgive(now)
    }
}

/// What a rollout to all at once gave to an agent that was met on its way.
pub(super) fn met(revision: RevisionId, healthy: Option<bool>) -> Grant {
    Grant { revision, batch: 1, was_healthy: healthy != Some(false), forgiven: false, at: clock::now() }
}

/// What a rollout to all at once gave to an agent; `None` when it is not one of its agents.
pub(super) fn at_once(agent: &LiveAgent, assignment: &Assignment, target: RevisionId) -> Option<Grant> {
    let placed = agent.data().placed().as_ref().map(|placed| placed.desired)?;
    let is_its = placed.assignment() == Some(assignment.id) && placed.revision() == Some(target);
    let takes = agent.read(|session| session.capabilities().has(Bit::AcceptsRemoteConfig));
    let was_healthy = agent.data().health() != Some(false);
    let at = assignment.updated_at;
    (is_its && takes).then_some(Grant { revision: target, batch: 1, was_healthy, forgiven: false, at })
}

pub(super) fn live(server: &Server<Endpoint>) -> Vec<Arc<LiveAgent>> {
    let mut agents = Vec::with_capacity(server.agents().len());
    server.agents().for_each(|agent| agents.push(agent.clone()));
    agents
}
