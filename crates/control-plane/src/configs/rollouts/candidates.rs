//! Whom a rollout could release next, and when a clearing is through.

use model::assignment::{Desired, Standing};
use model::{AssignmentId, ConfigState, RevisionId};
use opamp_proto::InstanceUid;
use opamp_proto::wire::AgentCapabilities as Bit;
use store::{AuditEntry, StoreError};

use super::super::{Configs, Plan};
use super::Rollouts;
use crate::clock;
use crate::opamp::LiveAgent;

impl Rollouts {
    /// The connected agents that the rollout could release, in an order that spreads a batch over the fleet.
    pub(super) async fn candidates(&self, id: AssignmentId, target: RevisionId) -> Vec<(InstanceUid, bool)> {
        let server = self.server.clone();
        let look = move || {
            let mut found = Vec::new();
            server.agents().for_each(|agent| {
                if let Some(is_well) = is_candidate(agent, id, target) {
                    found.push((spread(agent.instance_uid(), id), agent.instance_uid(), is_well));
                }
            });
            found.sort_unstable();
            found.into_iter().map(|(_, uid, is_well)| (uid, is_well)).collect()
        };
        tokio::task::spawn_blocking(look).await.unwrap_or_default()
    }

    /// Ends the clearing of an assignment once everybody who had something from it gave it back.
    pub(super) async fn clear(&self, id: AssignmentId) -> Result<(), StoreError> {
        let mut open = false;
        self.server.agents().for_each(|agent| {
            let desired = agent.data().placed().as_ref().map(|placed| placed.desired);
            if desired == Some(Desired::Clear(id)) {
                let standing = self.configs.standing(agent);
                open |= !matches!(
                    standing,
                    Some((Standing::Applied | Standing::Failed | Standing::Unanswered, _))
                );
            }
        });
        let away = self.store.assignment_counts().await?;
        // Who never had anything from it has nothing to give back.
        let has_nothing = |state| matches!(state, ConfigState::Unmanaged | ConfigState::NotConfigurable);
        let is_open = |count: &store::AssignmentCount| {
            count.assignment == id
                && !count.connected
                && !has_nothing(count.state)
                && (count.revision.is_some() || count.state != ConfigState::InSync)
        };
        if open || away.iter().any(is_open) {
            return Ok(());
        }
        let configs = &self.configs;
        let _changing = configs.changing.lock().await;
        let entry = AuditEntry::of_system(clock::now(), "assignment.cleared", format!("assignment/{id}"));
        self.store.delete_assignment(id, entry).await?;
        let mut next = Plan::clone(&configs.plan());
        next.remove(id);
        configs.set_plan(next);
        self.hub.assignments_changed([id]);
        Configs::decide_all(&self.server).await;
        Ok(())
    }
}

/// Whether a rollout could release an agent: it is this assignment's, takes configurations, is heard, and is to run
/// something else so far. The value: whether it is well.
fn is_candidate(agent: &LiveAgent, id: AssignmentId, target: RevisionId) -> Option<bool> {
    let data = agent.data();
    let desired = data.placed().as_ref().map(|placed| placed.desired)?;
    let is_its = desired.assignment() == Some(id) && desired.revision() != Some(target);
    let takes = agent.read(|session| session.capabilities().has(Bit::AcceptsRemoteConfig));
    (is_its && takes && !data.is_silent()).then(|| data.health() != Some(false))
}

/// A number that has nothing to do with where and when an agent was made.
fn spread(uid: InstanceUid, id: AssignmentId) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64 ^ id.0.cast_unsigned();
    for byte in uid.as_bytes() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}
