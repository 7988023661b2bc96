//! The machines of rollouts: made when one begins or the server starts, told who is there, let go of when it ends.

use std::collections::HashMap;
use std::time::Instant;

use model::assignment::{Rollout, Standing};
use model::{AssignmentId, AssignmentState, ConfigState, Grant, RevisionId, UnixMillis};
use store::StoreError;

use super::super::Plan;
use super::super::live::{at_once, live};
use super::Rollouts;
use crate::clock;

impl Rollouts {
    /// Makes the machines of rollouts that began, and lets go of those that ended.
    pub(super) async fn meet_all(&mut self) -> Result<(), StoreError> {
        let plan = self.configs.plan();
        self.running.retain(|id, (target, _)| {
            plan.assignment(*id)
                .is_some_and(|one| one.state == AssignmentState::Rolling && one.target == Some(*target))
        });
        for assignment in plan.assignments() {
            if let (AssignmentState::Rolling, Some(target)) = (assignment.state, assignment.target) {
                self.meet(&plan, assignment.id, target).await?;
            }
        }
        Ok(())
    }

    /// Makes the machine of a rollout that was begun, perhaps by an earlier start of this server. Who had applied it
    /// then is not waited for; the others get their time anew, since nobody could answer while no server ran.
    async fn meet(&mut self, plan: &Plan, id: AssignmentId, target: RevisionId) -> Result<(), StoreError> {
        let Some(assignment) = plan.assignment(id) else { return Ok(()) };
        let known = self.running.contains_key(&id);
        let mut rollout = match self.running.remove(&id) {
            Some((_, rollout)) => rollout,
            None => Rollout::new(assignment.batch_size, self.absence),
        };
        let mut fresh = Vec::new();
        if !known && assignment.settled == Some(target) {
            let all = live(&self.server);
            let released = all
                .iter()
                .filter_map(|agent| Some((agent.instance_uid(), at_once(agent, assignment, target)?)));
            fresh.extend(released);
        }
        for (uid, grant) in plan.grants(id).filter(|(_, grant)| grant.revision == target) {
            match rollout.has(uid) {
                false => fresh.push((uid, *grant)),
                true if grant.forgiven => rollout.pardon(uid),
                true => {}
            }
        }
        let places = match known || assignment.settled == Some(target) {
            true => HashMap::new(),
            false => self.store.agent_places(fresh.iter().map(|(uid, _)| *uid).collect()).await?,
        };
        for (uid, grant) in fresh {
            rollout.release(uid, &Grant { at: UnixMillis(grant.at.0.max(self.started.0)), ..grant });
            let place = places.get(&uid).filter(|place| place.revision == Some(target));
            if place.is_some_and(|place| matches!(place.state, ConfigState::InSync | ConfigState::Drifted)) {
                rollout.hear(uid, Standing::Applied, None);
            }
            if let Some(agent) = self.server.agents().get(uid)
                && let Some((standing, healthy)) = self.configs.standing(&agent)
            {
                rollout.hear(uid, standing, healthy);
            }
        }
        self.running.insert(id, (target, rollout));
        Ok(())
    }

    /// Tells each machine which of the agents that it waits for are there, and how seldom they poll.
    pub(super) fn look_around(&mut self) {
        self.looked = Instant::now();
        let now = clock::now();
        for (_, rollout) in self.running.values_mut() {
            for uid in rollout.unsettled() {
                let agent = self.server.agents().get(uid);
                let is_there = agent.as_ref().is_some_and(|agent| !agent.data().is_silent());
                let gap = agent.and_then(|agent| agent.data().rhythm().gap.usual());
                rollout.look(uid, is_there, gap, now);
            }
        }
    }
}
