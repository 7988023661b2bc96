//! Agents that change what they are to run by their own words, over and over: they are offered it seldom. The rule is
//! [`model::assignment::Damper`]; here is who is bound by it.

use std::sync::{MutexGuard, PoisonError};

use model::assignment::Damper;
use opamp_proto::InstanceUid;
use opamp_server::Server;

use super::Configs;
use crate::clock;
use crate::opamp::Endpoint;

type Dampers = std::collections::HashMap<InstanceUid, Damper>;

impl Configs {
    fn dampers(&self) -> MutexGuard<'_, Dampers> {
        self.dampers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether what an agent is to run may change now because of what it says of itself.
    pub(super) fn may_change(&self, uid: InstanceUid) -> bool {
        self.dampers().entry(uid).or_default().change(clock::now()).is_ok()
    }

    /// Decides about agents that had to wait and may change by now, and forgets those that rest.
    pub(super) fn decide_damped(&self, server: &Server<Endpoint>) {
        let now = clock::now();
        let due: Vec<_> = {
            let mut dampers = self.dampers();
            dampers.retain(|_, damper| !damper.is_over(now));
            dampers.iter().filter(|(_, damper)| damper.may_change(now)).map(|(uid, _)| *uid).collect()
        };
        for agent in due.into_iter().filter_map(|uid| server.agents().get(uid)) {
            let waits = agent.data().placed().as_ref().is_some_and(|placed| placed.is_damped);
            if waits && self.may_change(agent.instance_uid()) {
                self.decide(&agent, None);
            }
        }
    }
}
